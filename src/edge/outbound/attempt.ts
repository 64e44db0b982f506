/**
 * A call in progress: the handler of the HTTP client's events, the deadline and
 * the result.
 *
 * (1) `done` is called exactly once: never inside `send`, and never inside the HTTP
 *     client, which would take an error of the caller for its own.
 * (2) The holder of an attempt is the waiting list of an origin or a connection.
 *     When the attempt ends early, it calls `release` of its holder.
 * (3) A connection whose answer was not read to its end is never used again.
 * (4) The body of an answer takes no more memory than its lease, except its start
 *     and the bytes that the socket has read already: while the lease waits, the
 *     socket is not read. The lease ends when `done` no longer needs the body.
 */
import type { Dispatcher } from "undici";
import { AnswerBody } from "./answer-body.ts";
import type { OutboundAnswer, OutboundCall, OutboundDone, OutboundResult } from "./call.ts";
import type { Deadlines, Timed } from "./deadlines.ts";
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

/** What all attempts of a client share. */
export interface AttemptServices {
  readonly bodyBytesMax: number;
  readonly budget: ResponseBudget;
  readonly deadlines: Deadlines;
  /** An attempt has its result, and calls its `done` now. */
  readonly ended: () => void;
}

export class Attempt implements Dispatcher.DispatchHandler, Timed {
  readonly call: OutboundCall;
  readonly target: Target;
  stage: Stage = "queued";
  holder: Holder | undefined = undefined;
  carrier: Carrier | undefined = undefined;
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  readonly #services: AttemptServices;
  /** Absent while nothing is read in pieces. */
  #body: AnswerBody | undefined;
  /** For a body longer than `FREE_BODY_BYTES`. */
  #lease: ResponseLease | undefined;
  readonly #done: OutboundDone;
  #isFinished = false;
  #isStarted = false;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #headers: readonly string[] = NO_HEADERS;
  #interimCount = 0;

  constructor(
    { call, target, done }: { readonly call: OutboundCall; readonly target: Target; readonly done: OutboundDone },
    services: AttemptServices,
  ) {
    this.call = call;
    this.target = target;
    this.#services = services;
    this.#done = done;
    services.deadlines.add(this, this.#timeoutMs);
  }

  get #timeoutMs(): number {
    return Math.min(this.call.timeoutMs, TIMEOUT_MS_MAX);
  }

  expire(): void {
    this.end(`Timeout after ${printMs(this.call.timeoutMs)} while ${STAGE_TEXTS[this.stage]} ${this.target.label}`);
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

  /** The whole answer, outside the HTTP client. */
  answered({ status, headers, body }: Pick<OutboundAnswer, "status" | "headers" | "body">): void {
    if (this.#isFinished) return;
    this.#status = status;
    this.#headers = headers;
    const { bodyBytesMax } = this.#services;
    if (body.length > bodyBytesMax) this.#break(this.#answer(body.subarray(0, bodyBytesMax), true));
    else this.#complete(this.#answer(body, false));
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
    this.#body ??= new AnswerBody(this.#services.bodyBytesMax);
    if (!this.#body.add(piece)) this.#break(this.#answer(this.#body.take(), true));
    else if (this.#body.capacity > FREE_BODY_BYTES) this.#hold(controller, this.#body);
  }

  onResponseEnd(): void {
    if (this.#isFinished) return;
    const result = this.#answer(this.#body?.take() ?? NO_BYTES, false);
    this.#finish();
    queueMicrotask(() => this.#pass(result));
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (!this.#isFinished) this.carrier?.failed(this, error);
  }

  #answer(body: Buffer, isBodyCut: boolean): OutboundResult {
    return { kind: "answer", status: this.#status ?? 0, headers: this.#headers, body, isBodyCut };
  }

  /** The answer is complete. */
  #complete(result: OutboundResult): void {
    this.#finish();
    this.#pass(result);
  }

  #pass(result: OutboundResult): void {
    // First, so that the connection is free for a call inside `done`.
    this.carrier?.answered();
    this.#report(result);
  }

  /** Ends before the end of the answer: keeps (2) and (3). */
  #break(result: OutboundResult): void {
    this.#finish();
    this.#controller?.abort(ABANDONED);
    this.holder?.release(this);
    queueMicrotask(() => this.#report(result));
  }

  /** keeps (4) */
  #hold(controller: Dispatcher.DispatchController, body: AnswerBody): void {
    this.#lease ??= this.#services.budget.lease(this.call.user);
    const isHeld = this.#lease.raise(body.capacity, () => {
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
    this.#services.ended();
    const inUse = this.#done(result);
    const lease = this.#lease;
    if (lease === undefined) return;
    if (inUse instanceof Promise) void inUse.finally(() => lease.release());
    else lease.release();
  }

  #finish(): void {
    this.#isFinished = true; // keeps (1)
    this.#services.deadlines.remove(this, this.#timeoutMs);
  }
}

const NO_BYTES = Buffer.alloc(0);
const NO_HEADERS: readonly string[] = [];

function textHeaders(raw: Dispatcher.DispatchController["rawHeaders"]): readonly string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((part) => (typeof part === "string" ? part : part.latin1Slice(0, part.length)));
}

function printMs(ms: number): string {
  return ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`;
}
