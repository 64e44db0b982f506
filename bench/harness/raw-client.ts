/**
 * Requests over some connections, each with one in flight. Raw sockets; of
 * an answer only the end and the success are read.
 */
import { connect, type Socket } from "node:net";

export interface RawLoad {
  readonly port: number;
  readonly connections: number;
  /** Whole requests, head and body, sent cyclically. */
  readonly requests: readonly Buffer[];
  /** Ends when each request was answered once, not when it is stopped. */
  readonly isOnce?: boolean;
  /** The maximum rate of requests, all connections together; absent: unlimited. */
  readonly perSecondMax?: number | undefined;
}

export interface RawResult {
  readonly requests: number;
  readonly durationMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Connections that broke, and answers that are not 2xx or 3xx. */
  readonly failed: number;
  /** The start of the first invalid answer; absent: none occurred. */
  readonly failure?: string;
}

const FAILURE_LENGTH = 1_000;

export class RawClient {
  readonly #load: RawLoad;
  readonly #startMs = performance.now();
  readonly #takenMs: number[] = [];
  readonly #done = Promise.withResolvers<RawResult>();
  #nextIndex = 0;
  #open: number;
  #failed = 0;
  #failure: string | undefined;
  #isStopped = false;

  constructor(load: RawLoad) {
    this.#load = load;
    this.#open = load.connections;
    for (let i = 0; i < load.connections; i += 1) this.#drive(connect(load.port, "127.0.0.1"));
  }

  get done(): Promise<RawResult> {
    return this.#done.promise;
  }

  /** Requests in flight are still awaited. */
  stop(): void {
    this.#isStopped = true;
  }

  #drive(socket: Socket): void {
    let sentMs = 0;
    let chunks: Buffer[] = [];
    let missing: number | undefined;
    const send = (): void => {
      const { requests, isOnce } = this.#load;
      if (this.#isStopped || (isOnce === true && this.#nextIndex === requests.length)) {
        socket.end();
        return;
      }
      sentMs = performance.now();
      const dueMs = this.#startMs + (this.#nextIndex * 1_000) / (this.#load.perSecondMax ?? Number.POSITIVE_INFINITY);
      if (sentMs < dueMs) {
        setTimeout(send, dueMs - sentMs);
        return;
      }
      socket.write(requests[this.#nextIndex % requests.length] as Buffer);
      this.#nextIndex += 1;
    };
    socket.setNoDelay(true).on("connect", send);
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (missing === undefined) {
        const answer = Buffer.concat(chunks);
        const length = wholeLength(answer);
        if (length === undefined) return;
        if (!/^HTTP\/1\.1 [23]/.test(answer.toString("latin1", 0, 12)))
          this.#fail(answer.toString("latin1", 0, FAILURE_LENGTH));
        missing = length - answer.length;
      } else missing -= chunk.length;
      if (missing > 0) return;
      chunks = [];
      missing = undefined;
      this.#takenMs.push(performance.now() - sentMs);
      send();
    });
    socket.on("error", ({ message }) => this.#fail(message));
    socket.on("close", () => {
      this.#open -= 1;
      if (this.#open === 0) this.#done.resolve(this.#result());
    });
  }

  #fail(failure: string): void {
    this.#failed += 1;
    this.#failure ??= failure;
  }

  #result(): RawResult {
    const sorted = Float64Array.from(this.#takenMs).sort();
    const percentile = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
    return {
      requests: sorted.length,
      durationMs: performance.now() - this.#startMs,
      p50Ms: percentile(0.5),
      p99Ms: percentile(0.99),
      maxMs: percentile(1),
      failed: this.#failed,
      ...(this.#failure !== undefined && { failure: this.#failure }),
    };
  }
}

/** Bytes of the answer, or undefined while its head is incomplete. */
function wholeLength(answer: Buffer): number | undefined {
  const headEnd = answer.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const bodyBytes = /^content-length: *(\d+)/im.exec(answer.latin1Slice(0, headEnd))?.[1];
  return headEnd + 4 + Number(bodyBytes ?? 0);
}

/** Requests in a file: each its length in decimals, a newline, its bytes. */
export function readRequests(file: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const lineEnd = file.indexOf("\n", at);
    const length = Number(file.latin1Slice(at, lineEnd));
    found.push(file.subarray(lineEnd + 1, lineEnd + 1 + length));
    at = lineEnd + 1 + length;
  }
  return found;
}
