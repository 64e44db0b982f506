/**
 * Sends requests to the node that serves an area, over connections that stay
 * open.
 *
 * (1) A request is sent at most once. The HTTP client reports the moment before
 *     its first byte is written; a failure before that moment is certain to have
 *     carried nothing out.
 * (2) An answer with a length is passed on when it is complete, so that a client
 *     never sees half of one. An answer without one is an event stream, whose
 *     bytes are passed on as they come, and as fast as the client reads them.
 * (3) An answer has no time limit, because a write may wait for PostgreSQL. A node
 *     that has lost its area has CUT_MS for the answers that it owes; then the
 *     connections to it are closed.
 */
import type { Socket } from "node:net";
import { type Dispatcher, errors, Pool } from "undici";
import type { Clock } from "../../kernel/clock.ts";
import type { HttpReply, HttpRequest, HttpStream, StreamSink } from "../handler.ts";
import { BUDGETED_REPLY_BYTES_MIN } from "../limits/held-bytes.ts";
import type { OwnerAddress, Sender, SendOutcome } from "./front.ts";
import { type Caller, endToEnd, findHeader, PROBE, probeOf, signatureOf, tunnelTo } from "./signature.ts";
import { Tunnels } from "./tunnels.ts";

export interface PoolSenderOptions {
  /** Of the cluster. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** Probes and connections ask for this shard of the area. Absent: 0, for which an area with one shard is asked as well. */
  readonly shard?: number;
}

/** The head of a CONNECT request, besides its target and its signature. */
const TUNNEL_HEADERS = ["Host", "larder"];

/** Longer than a packet that was lost once needs. */
const CONNECT_MS_MAX = 2_000;
/** An idle connection is closed before its peer would close it (edge/limits/listener.ts). */
const IDLE_MS_MAX = 30_000;
/** See (3). */
export const CUT_MS = 10_000;

const MISDIRECTED = 421;
const NO_CONTENT = 204;
const NO_CONTENT_STATUSES = [NO_CONTENT, 304];
/** Unsent bytes of an event stream above which its source is not read, and how often to look whether they were sent. */
const QUEUED_BYTES_MAX = 64 * 1024;
const QUEUE_LOOK_MS = 20;

const ABANDONED = new Error("The client has gone");

export class PoolSender implements Sender {
  readonly #options: PoolSenderOptions;
  /** By `host:port`: that of the owner, and those of former ones until they are closed. */
  readonly #pools = new Map<string, Pool>();
  readonly #tunnels: Tunnels;

  constructor(options: PoolSenderOptions) {
    this.#options = options;
    this.#tunnels = new Tunnels(options.clock);
  }

  send(to: OwnerAddress, request: HttpRequest): Promise<SendOutcome> {
    return this.#send(to, request, { address: request.remoteAddress, port: request.remotePort });
  }

  async probe(to: OwnerAddress): Promise<boolean> {
    const { shard } = this.#options;
    const outcome = await this.#send(to, PROBE_REQUEST, shard === undefined ? PROBE : probeOf(shard));
    return outcome.kind === "answered" && outcome.reply.status === NO_CONTENT;
  }

  openTunnel(to: OwnerAddress, caller: Caller, abandoned: AbortSignal): Promise<Socket | undefined> {
    const { key, clock, shard = 0 } = this.#options;
    const head = { method: "CONNECT", target: tunnelTo(shard), rawHeaders: TUNNEL_HEADERS, bodyBytes: 0 };
    const headers = [...TUNNEL_HEADERS, ...signatureOf(key, head, { caller, sentMs: clock.nowMs() })];
    return this.#tunnels.open(this.#poolOf(to), { place: placeOf(to), target: head.target, headers, abandoned });
  }

  #send(to: OwnerAddress, request: HttpRequest, caller: Caller): Promise<SendOutcome> {
    const { key, clock } = this.#options;
    const { method, target, body } = request;
    const rawHeaders = endToEnd(request.rawHeaders);
    const signature = signatureOf(
      key,
      { method, target, rawHeaders, bodyBytes: body.length },
      { caller, sentMs: clock.nowMs() },
    );
    return new Promise((resolve) => {
      const transit = new Transit(request, { clock, done: resolve });
      try {
        this.#poolOf(to).dispatch(
          {
            path: target,
            method: method as Dispatcher.HttpMethod,
            headers: [...rawHeaders, ...signature],
            body: body.length === 0 ? null : body,
          },
          transit,
        );
      } catch (fault) {
        transit.failed(fault);
      }
    });
  }

  follow(to: OwnerAddress | undefined): void {
    const kept = to === undefined ? undefined : placeOf(to);
    this.#tunnels.endOthers(kept, CUT_MS);
    for (const [place, pool] of this.#pools) {
      if (place === kept) continue;
      this.#pools.delete(place);
      void this.#end(pool, CUT_MS); // keeps (3)
    }
  }

  async close(graceMs: number): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all([...pools.map((pool) => this.#end(pool, graceMs)), this.#tunnels.close(graceMs)]);
  }

  async #end(pool: Pool, graceMs: number): Promise<void> {
    const cut = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(graceMs, () => cut.resolve(pool.destroy()));
    await Promise.race([pool.close(), cut.promise]);
    cancel();
  }

  #poolOf(to: OwnerAddress): Pool {
    const place = placeOf(to);
    let pool = this.#pools.get(place);
    if (pool === undefined) {
      pool = new Pool(`http://${place}`, {
        connections: null,
        pipelining: 1,
        connect: { timeout: CONNECT_MS_MAX },
        keepAliveTimeout: IDLE_MS_MAX,
        keepAliveMaxTimeout: IDLE_MS_MAX,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      this.#pools.set(place, pool);
    }
    return pool;
  }
}

/** Its target has no meaning, because its signature says what it is. */
const PROBE_REQUEST: HttpRequest = {
  ...{ method: "GET", target: "/", rawHeaders: ["Host", "larder"], body: Buffer.alloc(0), id: "probe" },
  ...{ header: () => undefined, remoteAddress: "", remotePort: 0 },
};

function placeOf({ host, port }: OwnerAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A request on its way, and its answer. */
class Transit implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #clock: Clock;
  #done: ((outcome: SendOutcome) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: readonly string[] = [];
  readonly #pieces: Buffer[] = [];
  #bodyBytes = 0;
  /** Undefined for an event stream. */
  #announcedBytes: number | undefined = 0;
  #sink: StreamSink | undefined;
  #isOver = false;
  #cancelLook: () => void = () => {};

  constructor(
    request: HttpRequest,
    { clock, done }: { readonly clock: Clock; readonly done: (outcome: SendOutcome) => void },
  ) {
    this.#request = request;
    this.#clock = clock;
    this.#done = done;
  }

  /** keeps (1): called before the first byte is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return;
    const all = textHeaders(controller.rawHeaders);
    const length = findHeader(all, "content-length");
    this.#status = status;
    this.#headers = passedOn(all);
    this.#announcedBytes = length === undefined ? undefined : Number(length);
    const hasNoBody = this.#request.method === "HEAD" || NO_CONTENT_STATUSES.includes(status);
    if (hasNoBody) this.#announcedBytes ??= 0;
    if (status === MISDIRECTED) return;
    if (this.#announcedBytes === undefined) this.#beginStream(controller);
    else if (
      this.#announcedBytes >= BUDGETED_REPLY_BYTES_MIN &&
      this.#request.takeReply?.(this.#announcedBytes) === false
    )
      this.#break(controller);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isOver || this.#status === MISDIRECTED) return;
    if (this.#announcedBytes === undefined) this.#passOn(controller, piece);
    else {
      // The buffer belongs to the reader of the connection.
      this.#pieces.push(Buffer.from(piece));
      this.#bodyBytes += piece.length;
    }
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#status === MISDIRECTED) this.#settle({ kind: "not executed" });
    else if (this.#announcedBytes === undefined) {
      this.#cancelLook();
      this.#sink?.end();
    } else this.#settle({ kind: "answered", reply: this.#reply() });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, fault: Error): void {
    this.failed(fault);
  }

  /** Its connection has ended, or was never made, or the HTTP client refuses the request. */
  failed(fault: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelLook();
    const isSent = this.#controller !== undefined && this.#status !== MISDIRECTED;
    const isUnsendable = fault instanceof errors.InvalidArgumentError || fault instanceof errors.NotSupportedError;
    this.#settle({ kind: isSent ? "lost" : isUnsendable ? "unsendable" : "not executed" });
    // Its client sees that the stream has no end.
    this.#sink?.abort();
  }

  #reply(): HttpReply {
    const [first] = this.#pieces;
    const body =
      this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces, this.#bodyBytes);
    // The reply to HEAD has the length of a body that is not sent.
    const isHead = this.#request.method === "HEAD";
    const announced = isHead ? Buffer.alloc(this.#announcedBytes ?? 0) : body;
    return { status: this.#status, headers: this.#headers, body: announced, route: "forwarded" };
  }

  #beginStream(controller: Dispatcher.DispatchController): void {
    controller.pause();
    const reply: HttpStream = {
      status: this.#status,
      headers: this.#headers,
      route: "forwarded",
      open: (sink) => {
        this.#sink = sink;
        if (this.#isOver) sink.abort();
        else controller.resume();
        return () => this.#clientGone(controller);
      },
    };
    this.#settle({ kind: "answered", reply });
  }

  /** keeps (2) */
  #passOn(controller: Dispatcher.DispatchController, piece: Buffer): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    sink.write(Buffer.from(piece));
    if (sink.queuedBytes <= QUEUED_BYTES_MAX) return;
    controller.pause();
    const look = (): void => {
      if (this.#isOver) return;
      if (sink.queuedBytes > QUEUED_BYTES_MAX) this.#cancelLook = this.#clock.after(QUEUE_LOOK_MS, look);
      else controller.resume();
    };
    this.#cancelLook = this.#clock.after(QUEUE_LOOK_MS, look);
  }

  #clientGone(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelLook();
    controller.abort(ABANDONED);
  }

  /** The answer has no room. */
  #break(controller: Dispatcher.DispatchController): void {
    this.#isOver = true;
    controller.abort(ABANDONED);
    this.#settle({ kind: "lost" });
  }

  /** Later, because the HTTP client takes an error of the caller for its own. */
  #settle(outcome: SendOutcome): void {
    const done = this.#done;
    this.#done = undefined;
    if (done !== undefined) queueMicrotask(() => done(outcome));
  }
}

/** Headers that the listener writes itself. */
const WRITTEN_BY_LISTENER: readonly string[] = ["date"];

function passedOn(rawHeaders: readonly string[]): readonly string[] {
  const kept: string[] = [];
  const headers = endToEnd(rawHeaders);
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!WRITTEN_BY_LISTENER.includes(name.toLowerCase())) kept.push(name, headers[i + 1] as string);
  }
  return kept;
}

function textHeaders(raw: Dispatcher.DispatchController["rawHeaders"]): readonly string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((part) => (typeof part === "string" ? part : part.latin1Slice(0, part.length)));
}
