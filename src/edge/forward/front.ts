/**
 * An area that another node of the cluster serves: requests go on to that node,
 * and are held while no node serves it.
 *
 * (1) A request is sent again only if it was certainly not carried out: the node
 *     answered 421, or no connection was made, so that no byte was sent. Whatever
 *     happens after the first byte ends in the answer of that node, or in 502.
 * (2) A request waits at most `waitMs` in all, and at most HELD_MAX wait.
 * (3) The requests of a connection are sent one after the other, because those of
 *     two connections to the owner have no order.
 * (4) An owner that has not carried out a request gets no other one until it has
 *     answered a probe, which is sent each RETRY_MS while requests wait: its process
 *     may be about to end, and a request that is sent at that moment would end in 502.
 *     A change of the owner sends them all.
 * (5) When this node becomes the owner, they are handled here.
 * (6) A connection of a RESP client waits for its tunnel as a request does, and
 *     counts as one that waits.
 */
import type { Clock } from "../../kernel/clock.ts";
import { answerLost, busy, malformedHttp, noOwner, notOwner, type RequestFailure } from "../errors.ts";
import type { HttpReply, HttpRequest, HttpService, HttpStream, RequestHead } from "../handler.ts";
import { abandonedReply, refusalOf } from "../respond.ts";
import type { ByteStream } from "./byte-stream.ts";
import { CallerAccounts } from "./caller-accounts.ts";
import type { Caller } from "./forwarded-head.ts";

/** Where the node that serves an area accepts forwarded requests. */
export interface OwnerAddress {
  /** The name of the node. */
  readonly node: string;
  /** An IP address or a host name. */
  readonly host: string;
  readonly port: number;
}

/** Who serves the area, as far as this node knows. */
export type AreaOwner =
  /** Nobody who lives, or this node, which is about to. */
  | { readonly kind: "nobody" }
  /** A node without such a port. */
  | { readonly kind: "unreachable" }
  | { readonly kind: "node"; readonly at: OwnerAddress };

/** How sending a request to its owner ended. */
export type SendOutcome =
  | { readonly kind: "answered"; readonly reply: HttpReply | HttpStream }
  /** The node refused it with 421, or could not be connected to. */
  | { readonly kind: "not executed" }
  /** It cannot be written as a request of HTTP/1. */
  | { readonly kind: "unsendable" }
  /** Some of it was sent, and a complete answer did not come or had no room. */
  | { readonly kind: "lost" };

export interface Sender {
  /** Never rejects. */
  send(to: OwnerAddress, request: HttpRequest): Promise<SendOutcome>;
  /**
   * Opens a connection for a RESP client. Undefined: the node refused it, or could not be connected to, and nothing was sent.
   * Never rejects.
   */
  openTunnel(to: OwnerAddress, caller: Caller, abandoned: AbortSignal): Promise<ByteStream | undefined>;
  /** Asks whether the node serves the area. Never rejects. */
  probe(to: OwnerAddress): Promise<boolean>;
  /** Requests go to no other address from now on; undefined: to none. */
  follow(to: OwnerAddress | undefined): void;
  /** Resolves when every request under way has ended; those that take longer than `graceMs` end then. */
  close(graceMs: number): Promise<void>;
}

/** Where the connection of a RESP client goes on. */
export type TunnelOutcome =
  /** This node serves the area. */
  | { readonly kind: "here" }
  /** The stream is paused. */
  | { readonly kind: "open"; readonly stream: ByteStream }
  | { readonly kind: "refused"; readonly failure: RequestFailure };

export interface FrontOptions {
  /** The name of the area, for texts. */
  readonly area: string;
  /** The limits and the forms of errors of the area. */
  readonly service: Pick<HttpService, "bodyBytesMax" | "refusal">;
  readonly sender: Sender;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  /** 0: no request is held. */
  readonly waitMs: number;
  /** Counts the held requests of several fronts of an area together; absent: of this one. */
  readonly held?: HeldRequests;
  /** Where a request belongs that waits here, because its tenant lives on another shard since then; absent: nowhere else. */
  elsewhere?(head: RequestHead): HttpService | undefined;
}

/** The requests that wait for an owner. */
export interface HeldRequests {
  count: number;
}

export const HELD_MAX = 2_000;
export const RETRY_MS = 100;
/** An owner has at least so long to answer for a connection. */
const TUNNEL_MS_MIN = 2_000;

const NOBODY: AreaOwner = { kind: "nobody" };

export class Front implements HttpService {
  readonly #options: FrontOptions;
  readonly #accounts = new CallerAccounts();
  #owner: AreaOwner = NOBODY;
  /** See (4). */
  #isOwnerSilent = false;
  /** The owner that is asked; its answer counts only while it is the owner. */
  #probed: AreaOwner | undefined;
  /** Set when this node serves the area. */
  #local: HttpService | undefined;
  #isClosed = false;
  readonly #held: HeldRequests;
  /** Those that wait, in the order in which they began to. */
  readonly #waiting = new Set<() => void>();
  #cancelRetry: (() => void) | undefined;

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#held = options.held ?? { count: 0 };
  }

  /** Requests that wait for an owner. */
  get heldCount(): number {
    return this.#held.count;
  }

  /** The owner has changed. */
  follow(owner: AreaOwner): void {
    this.#owner = owner;
    this.#isOwnerSilent = false;
    this.#options.sender.follow(owner.kind === "node" ? owner.at : undefined);
    this.#wakeAll();
  }

  /** keeps (5). Undefined: this node serves the area no longer. */
  serve(local: HttpService | undefined): void {
    this.#local = local;
    this.#wakeAll();
  }

  /** Those that wait are refused; those that were sent have `graceMs` for their answers. */
  close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#wakeAll();
    this.#cancelRetry?.();
    return this.#options.sender.close(graceMs);
  }

  readonly handle = (request: HttpRequest): HttpReply | Promise<HttpReply | HttpStream> => {
    const refusal = this.refuseEarly(request);
    if (refusal !== undefined) return refusal;
    request.waitsForTurn?.(); // keeps (3)
    return this.#pass(request);
  };

  /** The first attempt, which is mostly the only one, without the objects that further ones need. */
  async #pass(request: HttpRequest): Promise<HttpReply | HttpStream> {
    const { sender, area, clock } = this.#options;
    const startMs = clock.monotonicMs();
    const owner = this.#ownerToAsk;
    try {
      if (owner === undefined) return await this.#forward(request, { startMs, isTried: false });
      const outcome = await sender.send(owner.at, request);
      if (outcome.kind === "answered") return outcome.reply;
      if (outcome.kind === "unsendable") return this.#worded(malformedHttp, request.target);
      if (outcome.kind === "lost") return this.#worded(answerLost(area), request.target);
      this.#hasNotExecuted(owner);
      return await this.#forward(request, { startMs, isTried: true });
    } finally {
      request.hadTurn?.();
    }
  }

  bodyBytesMax(target: string): number {
    return this.#options.service.bodyBytesMax(target);
  }

  /** The owner knows all tokens, this node does not: so a client's bytes count for its address. */
  refuseEarly(head: RequestHead): HttpReply | undefined {
    const failure = head.claim?.(this.#accounts.of(head.remoteAddress));
    return failure && this.#worded(failure, head.target);
  }

  refusal(failure: RequestFailure, target: string): HttpReply {
    return refusalOf(this.#options.service, failure, target);
  }

  /**
   * The connection of a client to the node that serves the area. The caller aborts `abandoned` if the client has gone. Never
   * rejects.
   */
  async tunnel(caller: Caller, abandoned: AbortSignal): Promise<TunnelOutcome> {
    const { area, sender, clock, waitMs } = this.#options;
    const unwanted: TunnelOutcome = { kind: "refused", failure: noOwner(area) };
    // Nothing was carried out before an answer comes, so an owner that makes none is waited for as one that is gone.
    const late = new AbortController();
    const cancel = clock.after(Math.max(waitMs, TUNNEL_MS_MIN), () => late.abort());
    const signal = AbortSignal.any([abandoned, late.signal]);
    const start = { startMs: clock.monotonicMs(), isTried: false };
    const outcome = await this.#attempt<TunnelOutcome>(start, {
      here: async () => ({ kind: "here" }),
      there: async (at) => {
        const stream = await sender.openTunnel(at, caller, signal);
        if (stream !== undefined) return { kind: "open", stream };
        return abandoned.aborted ? unwanted : undefined;
      },
      refused: (failure) => ({ kind: "refused", failure }),
      abandoned: unwanted,
      isAbandoned: () => abandoned.aborted,
      whenAbandoned(wake) {
        if (abandoned.aborted) queueMicrotask(wake);
        abandoned.addEventListener("abort", wake);
        return () => abandoned.removeEventListener("abort", wake);
      },
    });
    cancel();
    return outcome;
  }

  #forward(request: HttpRequest, start: Start): Promise<HttpReply | HttpStream> {
    const { sender, area } = this.#options;
    const refused = (failure: RequestFailure): HttpReply => this.#worded(failure, request.target);
    return this.#attempt<HttpReply | HttpStream>(start, {
      here: async (local) => local.handle(request),
      there: async (at) => {
        const outcome = await sender.send(at, request);
        if (outcome.kind === "not executed") return undefined;
        if (outcome.kind === "unsendable") return refused(malformedHttp);
        return outcome.kind === "lost" ? refused(answerLost(area)) : outcome.reply;
      },
      refused,
      moved: () => this.#options.elsewhere?.(request)?.handle(request),
      abandoned: abandonedReply,
      isAbandoned: () => request.isAbandoned === true,
    });
  }

  /** Tries until something came of it, the time is over, or the client has gone. keeps (2) */
  async #attempt<Result>({ startMs, isTried }: Start, attempt: Attempt<Result>): Promise<Result> {
    const { clock, waitMs, area } = this.#options;
    const deadlineMs = startMs + waitMs;
    const hold: Hold = { isCounted: false };
    try {
      for (let mustWait = isTried; ; mustWait = false) {
        if (!mustWait) {
          if (this.#local !== undefined) return await attempt.here(this.#local);
          if (this.#owner.kind === "unreachable") return attempt.refused(notOwner(area));
          const result = await this.#try(attempt);
          if (result !== undefined) return result;
        }
        const leftMs = deadlineMs - clock.monotonicMs();
        if (leftMs <= 0 || this.#isClosed) return attempt.refused(noOwner(area)); // keeps (2)
        if (!hold.isCounted) {
          if (this.#held.count >= HELD_MAX) return attempt.refused(busy); // keeps (2)
          hold.isCounted = true;
          this.#held.count += 1;
        }
        await this.#wait(leftMs, attempt.whenAbandoned);
        if (attempt.isAbandoned()) return attempt.abandoned;
        const moved = attempt.moved?.();
        if (moved !== undefined) return await moved;
      }
    } finally {
      if (hold.isCounted) this.#held.count -= 1;
    }
  }

  /** Undefined if it was not carried out. keeps (1) */
  async #try<Result>(attempt: Attempt<Result>): Promise<Result | undefined> {
    const owner = this.#ownerToAsk;
    if (owner === undefined) return undefined;
    const result = await attempt.there(owner.at);
    if (result === undefined) this.#hasNotExecuted(owner);
    return result;
  }

  /** Undefined: none, or none now. keeps (4) */
  get #ownerToAsk(): OwnerNode | undefined {
    const owner = this.#owner;
    if (owner.kind !== "node" || this.#isClosed || this.#local !== undefined) return undefined;
    return this.#isOwnerSilent && this.#options.waitMs > 0 ? undefined : owner;
  }

  /** keeps (4) */
  #hasNotExecuted(owner: OwnerNode): void {
    if (this.#owner === owner) this.#isOwnerSilent = true;
  }

  #wait(leftMs: number, whenAbandoned: Attempt<unknown>["whenAbandoned"]): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        forget?.();
        this.#waiting.delete(wake);
        resolve();
      };
      const cancel = this.#options.clock.after(leftMs, wake);
      this.#waiting.add(wake);
      const forget = whenAbandoned?.(wake);
      this.#retryLater();
    });
  }

  /** keeps (4) */
  #retryLater(): void {
    if (this.#cancelRetry !== undefined || this.#waiting.size === 0) return;
    this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => {
      this.#cancelRetry = undefined;
      void this.#probe();
      this.#retryLater();
    });
  }

  /** keeps (4) */
  async #probe(): Promise<void> {
    const owner = this.#owner;
    if (owner.kind !== "node" || owner === this.#probed || this.#waiting.size === 0) return;
    this.#probed = owner;
    const isServing = await this.#options.sender.probe(owner.at);
    if (this.#probed === owner) this.#probed = undefined;
    if (!isServing || this.#owner !== owner) return;
    this.#isOwnerSilent = false;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #worded(failure: RequestFailure, target: string): HttpReply {
    return { ...this.refusal(failure, target), route: "forwarded" };
  }
}

/** A request, or a connection of a RESP client, on its way. */
interface Attempt<Result> {
  /** This node serves the area. */
  here(local: HttpService): Promise<Result>;
  /** Undefined: nothing was carried out. */
  there(at: OwnerAddress): Promise<Result | undefined>;
  refused(failure: RequestFailure): Result;
  /** Asked after each wait: what comes of it elsewhere; undefined: it still belongs here. */
  moved?(): Result | Promise<Result> | undefined;
  readonly abandoned: Result;
  isAbandoned(): boolean;
  /** Calls once the client has gone, until the returned function is called. Absent: that is found out when the wait is over. */
  whenAbandoned?(wake: () => void): () => void;
}

type OwnerNode = Extract<AreaOwner, { readonly kind: "node" }>;

/** Of the attempts for a request: when they began, and whether the first one has been made. */
interface Start {
  readonly startMs: number;
  readonly isTried: boolean;
}

interface Hold {
  isCounted: boolean;
}
