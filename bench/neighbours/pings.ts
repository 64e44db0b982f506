/**
 * A good tenant: requests that are due at fixed times, whatever the state of those
 * before, so that fewer requests do not hide a wait. Each takes an idle
 * connection or opens one.
 */
import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";

export interface PingOptions {
  readonly port: number;
  /** A whole request, head and body. */
  readonly request: Buffer;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface PingResult {
  /** From the due time of each to its complete answer, in ms, in order. */
  readonly waitsMs: readonly number[];
  /** Answers other than 200 and 201, and closed connections. */
  readonly failedCount: number;
  /** The text of the first of them. */
  readonly firstFailure: string;
}

/** Requests without an answer by then count with that time. */
const LATE_MS = 60_000;

export async function ping({ port, request, perSecond, seconds }: PingOptions): Promise<PingResult> {
  const resting: Connection[] = [];
  const waitsMs: number[] = [];
  let failedCount = 0;
  let firstFailure = "";
  const all: Promise<void>[] = [];
  const startMs = performance.now();
  for (let index = 0; index < perSecond * seconds; index += 1) {
    const dueMs = startMs + (index * 1_000) / perSecond;
    await until(dueMs);
    const connection = resting.pop() ?? new Connection(port);
    // A timer may be early by a fraction of a millisecond.
    const fromMs = Math.min(dueMs, performance.now());
    const answered = connection.ask(request).then((failure) => {
      waitsMs.push(performance.now() - fromMs);
      if (failure === undefined) resting.push(connection);
      else {
        failedCount += 1;
        if (firstFailure === "") firstFailure = failure;
      }
    });
    all.push(answered);
  }
  await Promise.race([Promise.all(all), until(performance.now() + LATE_MS)]);
  for (let missing = perSecond * seconds - waitsMs.length; missing > 0; missing -= 1) waitsMs.push(LATE_MS);
  for (const connection of resting) connection.close();
  return { waitsMs: waitsMs.toSorted((left, right) => left - right), failedCount, firstFailure };
}

function until(atMs: number): Promise<void> {
  const waitMs = atMs - performance.now();
  return waitMs <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, waitMs));
}

/** A connection with at most one request in flight. */
class Connection {
  readonly #socket: Socket;
  #text = "";
  #done: (failure: string | undefined) => void = () => {};

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => this.#done("the connection was closed"));
  }

  /** Resolves with the error, if any. */
  ask(request: Buffer): Promise<string | undefined> {
    this.#text = "";
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#text += chunk.latin1Slice();
    const headEnd = this.#text.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1] ?? 0);
    if (this.#text.length < headEnd + 4 + length) return;
    const isGood = /^HTTP\/1\.1 20[01] /.test(this.#text);
    this.#done(isGood ? undefined : this.#text.slice(0, 200));
  }
}
