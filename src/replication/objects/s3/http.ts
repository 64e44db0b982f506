/**
 * HTTP as the client of S3 uses it: an interface that start-up implements, and one request over it with its time limits.
 *
 * (1) A request ends: after 30 s in which no byte moved in either direction, and after 15 min in any case.
 * (2) An answer is read to a bound, or its connection is closed.
 * (3) No redirect is followed: a signature is for one host.
 */
import type { Clock } from "../../../kernel/clock.ts";
import { ObjectStoreFailure } from "../object-store.ts";

export interface HttpRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Its length is in the header `content-length`. Undefined: no body. */
  readonly body: AsyncIterable<Buffer> | undefined;
  /** Aborted: the request is given up, and its connection is closed. */
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; values of equal names are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** Read to its end, or given up by the signal. Rejects if the connection ends before the body does. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Resolves with the head of the answer. Rejects if no answer comes. */
export type HttpSend = (request: HttpRequest) => Promise<HttpAnswer>;

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface ExchangeOptions {
  readonly send: HttpSend;
  readonly clock: Pick<Clock, "after">;
  /** The longest body of an answer with a status of 2xx. */
  readonly bytesMax: number;
  /** The store and the object, for errors. */
  readonly what: string;
  onSent(bytes: number): void;
  onReceived(bytes: number): void;
}

const IDLE_MS_MAX = 30_000;
const EXCHANGE_MS_MAX = 15 * 60_000;
const ERROR_BYTES_MAX = 64 * 1024;

/**
 * Sends a request and reads its answer. Rejects with an `ObjectStoreFailure`: `unavailable` without a whole answer,
 * `damaged` if it is too long. A fault of the body that is sent is thrown as it is.
 */
export async function exchange(
  request: Omit<HttpRequest, "signal">,
  { send, clock, bytesMax, what, onSent, onReceived }: ExchangeOptions,
): Promise<Received> {
  const controller = new AbortController();
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const giveUp = (failure: ObjectStoreFailure): void => {
    reject(failure);
    controller.abort();
  };
  let bodyFault: { readonly fault: unknown } | undefined;
  let cancelIdle = (): void => {};
  // keeps (1)
  const progress = (): void => {
    cancelIdle();
    cancelIdle = clock.after(IDLE_MS_MAX, () => giveUp(unavailable(what, "made no progress for 30 s")));
  };
  const cancelTotal = clock.after(EXCHANGE_MS_MAX, () => giveUp(unavailable(what, "did not end in 15 min")));
  const watched = async function* (body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    const iterator = body[Symbol.asyncIterator]();
    for (;;) {
      let next: IteratorResult<Buffer>;
      try {
        next = await iterator.next();
      } catch (fault) {
        bodyFault = { fault };
        throw fault;
      }
      progress();
      if (next.done === true) return;
      // A connection that ends throws here, which is no fault of the body.
      yield next.value;
      onSent(next.value.length);
    }
  };
  const transfer = async (): Promise<Received> => {
    const body = request.body === undefined ? undefined : watched(request.body);
    const answer = await send({ ...request, body, signal: controller.signal });
    progress();
    const { status, headers } = answer;
    const most = status >= 200 && status < 300 ? bytesMax : ERROR_BYTES_MAX;
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of answer.body) {
      progress();
      bytes += piece.length;
      onReceived(piece.length);
      // keeps (2)
      if (bytes > most) throw new ObjectStoreFailure("damaged", `${what}: the answer has more than ${most} bytes`);
      pieces.push(piece);
    }
    return { status, headers, body: Buffer.concat(pieces) };
  };
  progress();
  try {
    return await Promise.race([givenUp, transfer()]);
  } catch (fault) {
    controller.abort();
    if (bodyFault !== undefined) throw bodyFault.fault;
    if (fault instanceof ObjectStoreFailure) throw fault;
    throw unavailable(what, textOf(fault), fault);
  } finally {
    cancelIdle();
    cancelTotal();
  }
}

function unavailable(what: string, why: string, cause?: unknown): ObjectStoreFailure {
  return new ObjectStoreFailure("unavailable", `${what}: the request failed: ${why}`, { cause });
}

/** The code of a system error says more than its text, and has no address of a proxy in it. */
function textOf(fault: unknown): string {
  if (!(fault instanceof Error)) return "the connection failed";
  if ("code" in fault && typeof fault.code === "string") return fault.code;
  return fault.cause instanceof Error ? textOf(fault.cause) : fault.name;
}
