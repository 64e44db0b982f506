/**
 * A call in progress: the handler of the HTTP client's events, the deadline and
 * the result.
 *
 * (1) `done` is called exactly once, on the microtask queue: never inside `send`,
 *     and never inside the HTTP client, which would take an error of the caller
 *     for its own.
 * (2) The holder of an attempt is the waiting list of an origin or a connection.
 *     When the attempt ends early, it calls `release` of its holder.
 * (3) A connection whose answer was not read to its end is never used again.
 * (4) The body of an answer takes no more memory than its lease, except its start
 *     and the bytes that the socket has read already: while the lease waits, the
 *     socket is not read. The lease ends when `done` no longer needs the body.
 */
import type { Dispatcher } from "undici";
import type { Clock } from "../../kernel/clock.ts";
import { afterPoll } from "../../kernel/turn.ts";
import { AnswerBody } from "./answer-body.ts";
import type { OutboundAnswer, OutboundCall, OutboundDone, OutboundResult } from "./call.ts";
import type { ResponseBudget, ResponseLease } from "./response-budget.ts";
import type { Target } from "./target.ts";

/** See (2). */
export interface Holder {
  /** The attempt has ended early: a waiting list removes it, a connection is destroyed. */
  release(attempt: Attempt): void;
}

/** The connection of an attempt. */
export interface Carrier extends Holder {
  /** The answer is complete. */
  answered(): void;
  /** The HTTP client has failed the call. */
  failed(attempt: Attempt, error: Error): void;
}

/** What an attempt waits for, for "Timeout after 5 s while …". */
export type Stage = "queued" | "resolving" | "connecting" | "sent" | "reading" | "full";

const STAGE_TEXTS: Readonly<Record<Stage, string>> = {
  queued: "waiting for a free connection to",
  resolving: "resolving the name of",
  connecting: "connecting to",
  sent: "waiting for the answer of",
  reading: "reading the answer of",
  full: "waiting for memory to read the answer of",
};

/** The start of a body, which needs no lease: the size of one read from a socket. */
export const FREE_BODY_BYTES = 64 * 1_024;

/** Interim answers (1xx) are ignored; more than a few are an attack (C-14). */
const INTERIM_ANSWERS_MAX = 16;
const SWITCHING_PROTOCOLS = 101;

/** The longest possible timer. */
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
  /** For a body longer than `FREE_BODY_BYTES`. */
  #lease: ResponseLease | undefined;
  readonly #done: OutboundDone;
  readonly #cancelDeadline: () => void;
  #isFinished = false;
  #isStarted = false;
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

  /** Its first byte may have been sent, so sending it again would be another attempt. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Ends the attempt with a failure, in any stage. */
  end(text: string): void {
    if (this.#isFinished) return;
    const status = this.#status;
    this.#break(status === undefined ? { kind: "failure", text } : { kind: "failure", text, status });
  }

  /** The request is being sent. */
  sent(): void {
    this.#isStarted = true;
    this.stage = "sent";
  }

  /** The whole answer. */
  answered({ status, headers, body }: Pick<OutboundAnswer, "status" | "headers" | "body">): void {
    if (this.#isFinished) return;
    this.#status = status;
    this.#headers = headers;
    if (this.#body.add(body)) this.onResponseEnd();
    else this.#break(this.#answer(true));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.sent();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#isFinished) return;
    // The client takes these for interim answers, and fails on the bytes after them.
    if (status < 100) {
      const shown = String(status).padStart(3, "0");
      this.end(`The destination answered with the status ${shown}, which is not an HTTP status: ${this.target.label}`);
      return;
    }
    if (status === SWITCHING_PROTOCOLS) {
      this.end(`The destination switched to another protocol: ${this.target.label}`);
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
      // First, so that the connection is free for a call inside `done`.
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

  /** Ends before the end of the answer: keeps (2) and (3). */
  #break(result: OutboundResult): void {
    this.#finish();
    this.#controller?.abort(ABANDONED);
    this.holder?.release(this);
    queueMicrotask(() => this.#report(result));
  }

  /** keeps (4) */
  #hold(controller: Dispatcher.DispatchController): void {
    this.#lease ??= this.#budget.lease(this.call.user);
    const isHeld = this.#lease.raise(this.#body.capacity, () => {
      this.stage = "reading";
      // The client is not reentrant.
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
    const inUse = this.#done(result);
    const lease = this.#lease;
    if (lease === undefined) return;
    if (inUse instanceof Promise) void inUse.finally(() => lease.release());
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
