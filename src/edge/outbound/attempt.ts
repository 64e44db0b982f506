/**
 * One call under way: the handler that the HTTP client reports to, its
 * deadline and its one result.
 *
 * (1) `done` is called exactly once, on the microtask queue: never inside
 *     `send`, and never inside the HTTP client, which would take an error of
 *     the caller for one of its own.
 * (2) Whoever has the attempt (the waiting list of an origin, a connection) is
 *     its holder; when the attempt ends by itself the holder lets go of it.
 * (3) A connection whose answer was not read to its end is never used again.
 * (4) The body of an answer takes no more memory than its lease holds, but for
 *     its start and what the socket had read already: while the lease waits the
 *     socket is not read. The lease ends when `done` has no more use for the
 *     body.
 */
import type { Dispatcher } from "undici";
import type { Clock } from "../../kernel/clock.ts";
import { afterPoll } from "../../kernel/turn.ts";
import { AnswerBody } from "./answer-body.ts";
import type { OutboundCall, OutboundDone, OutboundResult } from "./call.ts";
import type { ResponseBudget, ResponseLease } from "./response-budget.ts";
import type { Target } from "./target.ts";

/** See (2). */
export interface Holder {
  /** The attempt has ended by itself: a waiting list forgets it, a connection is destroyed. */
  letGo(attempt: Attempt): void;
}

/** The connection that an attempt was given to. */
export interface Carrier extends Holder {
  /** The answer is complete. */
  answered(): void;
  /** The HTTP client gave the call up. */
  failed(attempt: Attempt, error: Error): void;
}

/** What an attempt waits for: the end of "Timeout after 5 s while …". */
export type Stage = "queued" | "resolving" | "connecting" | "sent" | "reading" | "full";

const STAGE_TEXTS: Readonly<Record<Stage, string>> = {
  queued: "waiting for a free connection to",
  resolving: "resolving the name of",
  connecting: "connecting to",
  sent: "waiting for the answer of",
  reading: "reading the answer of",
  full: "waiting for memory to read the answer of",
};

/** So much of a body needs no lease: as much as is read from a socket at once. */
export const FREE_BODY_BYTES = 64 * 1_024;

/** Interim answers (1xx) are of no use to us; more than a few of them are an attack (C-14). */
const INTERIM_ANSWERS_MAX = 16;
const SWITCHING_PROTOCOLS = 101;

/** The longest that a timer can be set to. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

const ABANDONED = new Error("The call has ended");

export class Attempt implements Dispatcher.DispatchHandler {
  readonly call: OutboundCall;
  readonly target: Target;
  stage: Stage = "queued";
  holder: Holder | undefined;
  carrier: Carrier | undefined;
  readonly #body: AnswerBody;
  readonly #budget: ResponseBudget;
  /** Of a body that needs one. */
  #lease: ResponseLease | undefined;
  readonly #done: OutboundDone;
  readonly #cancelDeadline: () => void;
  #isFinished = false;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #headers: readonly string[] = [];
  #interimCount = 0;

  constructor(options: {
    call: OutboundCall;
    target: Target;
    clock: Clock;
    bodyBytesMax: number;
    budget: ResponseBudget;
    done: OutboundDone;
  }) {
    this.call = options.call;
    this.target = options.target;
    this.#body = new AnswerBody(options.bodyBytesMax);
    this.#budget = options.budget;
    this.#done = options.done;
    const { timeoutMs } = options.call;
    this.#cancelDeadline = afterPoll(options.clock, Math.min(timeoutMs, TIMEOUT_MS_MAX), () => {
      this.end(`Timeout after ${printMs(timeoutMs)} while ${STAGE_TEXTS[this.stage]} ${this.target.label}`);
    });
  }

  /** Its first byte may have been sent: sending it again would be another attempt. */
  get isStarted(): boolean {
    return this.#controller !== undefined;
  }

  /** Ends the attempt as a failure, whatever it is doing. */
  end(text: string): void {
    if (this.#isFinished) return;
    const status = this.#status;
    this.#break(status === undefined ? { kind: "failure", text } : { kind: "failure", text, status });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.stage = "sent";
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#isFinished) return;
    // The client takes these for interim answers, and gives up over what comes after them.
    if (status < 100) {
      const shown = String(status).padStart(3, "0");
      this.end(`The destination answered with the status ${shown}, which is not one of HTTP: ${this.target.label}`);
      return;
    }
    if (status === SWITCHING_PROTOCOLS) {
      this.end(`The destination wants to change the protocol: ${this.target.label}`);
      return;
    }
    if (status < 200) {
      this.#interimCount += 1;
      if (this.#interimCount > INTERIM_ANSWERS_MAX) {
        this.end(`The destination sent more than ${INTERIM_ANSWERS_MAX} interim answers: ${this.target.label}`);
      }
      return;
    }
    this.stage = "reading";
    this.#status = status;
    this.#headers = textHeaders(controller.rawHeaders);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isFinished) return;
    if (!this.#body.add(piece)) this.#break(this.#answer(true));
    else if (this.#body.capacity > FREE_BODY_BYTES) this.#hold(controller);
  }

  onResponseEnd(): void {
    if (this.#isFinished) return;
    const result = this.#answer(false);
    this.#finish();
    queueMicrotask(() => {
      // First, so that a call which `done` makes finds the connection free.
      this.carrier?.answered();
      this.#report(result);
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (!this.#isFinished) this.carrier?.failed(this, error);
  }

  #answer(isBodyCut: boolean): OutboundResult {
    return { kind: "answer", status: this.#status ?? 0, headers: this.#headers, body: this.#body.take(), isBodyCut };
  }

  /** Ends in the middle: keeps (2) and (3). */
  #break(result: OutboundResult): void {
    this.#finish();
    this.#controller?.abort(ABANDONED);
    this.holder?.letGo(this);
    queueMicrotask(() => this.#report(result));
  }

  /** keeps (4) */
  #hold(controller: Dispatcher.DispatchController): void {
    this.#lease ??= this.#budget.lease(this.call.user);
    const isHeld = this.#lease.raise(this.#body.capacity, () => {
      this.stage = "reading";
      // The client must not be called from within one of its own calls.
      queueMicrotask(() => {
        if (!this.#isFinished) controller.resume();
      });
    });
    if (isHeld || this.stage === "full") return;
    this.stage = "full";
    controller.pause();
  }

  /** keeps (4) */
  #report(result: OutboundResult): void {
    const kept = this.#done(result);
    const lease = this.#lease;
    if (lease === undefined) return;
    if (kept instanceof Promise) void kept.finally(() => lease.release());
    else lease.release();
  }

  #finish(): void {
    this.#isFinished = true; // keeps (1)
    this.#cancelDeadline();
  }
}

function textHeaders(raw: Dispatcher.DispatchController["rawHeaders"]): readonly string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((part) => (typeof part === "string" ? part : part.latin1Slice(0, part.length)));
}

function printMs(ms: number): string {
  return ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`;
}
