/**
 * Dense embeddings from an OpenAI-compatible HTTP endpoint. The operator chose it
 * in the configuration, so the policy of destinations does not apply, and a
 * redirect is a failure.
 *
 * (1) At most REQUESTS_MAX requests run at the same time; others wait in the order
 *     of arrival, and a request keeps its permit during retries.
 * (2) A request is retried after transient failures: no connection, no answer in
 *     time, 408, 429 and 5xx. It has at most ATTEMPTS_MAX attempts, and none begins
 *     more than RETRY_MS_MAX after the first.
 * (3) When one batch of a call fails, the others of that call are aborted.
 * (4) A failure names the model and the status, never the URL, the key or the text
 *     of the endpoint: endpoints repeat keys in their error texts.
 */
import { Agent, type Dispatcher, request } from "undici";
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import { type DenseEmbedder, type TextRole, VectorFailure } from "../../vector/mod.ts";
import type { Address } from "../outbound/resolver.ts";
import { answerBytesMax, type ExpectedAnswer, parseAnswer, WrongAnswer } from "./answer.ts";
import { Semaphore } from "./semaphore.ts";

/** Plain data, sent between threads. */
export interface HttpProvider {
  /** The full URL, such as `https://host/v1/embeddings`. */
  readonly url: string;
  /** The endpoint's name of the model. */
  readonly modelName: string;
  /** Sent as a bearer token. */
  readonly key?: string;
  /** For one attempt. */
  readonly timeoutMs: number;
  readonly textsPerRequestMax: number;
  /** For endpoints that can shorten their vectors. */
  readonly dimensions?: number;
  /** Prefixes of queried and of stored texts. */
  readonly queryPrefix: string;
  readonly documentPrefix: string;
}

export interface HttpEmbedderOptions {
  /** The index's name of the model, for failures. */
  readonly model: string;
  readonly provider: HttpProvider;
  /** The dimension of the index; undefined if it is not known yet. */
  readonly dimension: number | undefined;
  readonly resolver: { resolve(name: string): Promise<readonly Address[]> };
  readonly clock: Clock;
  readonly random: Random;
}

export const REQUESTS_MAX = 4;
export const ATTEMPTS_MAX = 5;
export const RETRY_MS_MAX = 60_000;
/** The most waiting requests. */
const WAITING_MAX = 4_096;
/** Texts of one request, in code units. */
const REQUEST_LENGTH_MAX = 2 ** 20;
/** The wait before the second attempt; doubled before each further one. */
const BACKOFF_MS = 250;
const BACKOFF_MS_MAX = 10_000;
const HEADER_BYTES_MAX = 32 * 1_024;
const REFUSAL_BYTES_MAX = 64 * 1_024;

const closed = new VectorFailure("unavailable", "The embedding model is closing; try again");

/** The failure of one attempt. `isTransient`: a retry may succeed. */
interface Failure {
  readonly text: string;
  readonly isTransient: boolean;
  readonly retryAfterMs?: number;
}

export class HttpEmbedder implements DenseEmbedder {
  readonly #options: HttpEmbedderOptions;
  readonly #dispatcher: Agent;
  readonly #semaphore = new Semaphore(REQUESTS_MAX, WAITING_MAX); // keeps (1)
  /** Aborts the running calls. */
  readonly #calls = new Set<AbortController>();
  #isClosed = false;

  constructor(options: HttpEmbedderOptions) {
    this.#options = options;
    this.#dispatcher = new Agent({
      connections: REQUESTS_MAX,
      pipelining: 1,
      // Each attempt has one deadline for everything.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: HEADER_BYTES_MAX,
      allowH2: false,
      connect: { timeout: 0, lookup: lookupBy(options.resolver) },
    });
  }

  async embed(texts: readonly string[], role: TextRole): Promise<readonly Float32Array[]> {
    if (this.#isClosed) throw closed;
    const batches = this.#batchesOf(texts, role);
    const call = new AbortController();
    this.#calls.add(call);
    try {
      const parts = await Promise.all(batches.map((batch) => this.#embedBatch(batch, call.signal)));
      return parts.flat();
    } catch (failure) {
      call.abort(); // keeps (3)
      throw failure;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Ends running calls with a failure. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#calls) call.abort();
    await this.#dispatcher.destroy();
  }

  #batchesOf(texts: readonly string[], role: TextRole): readonly (readonly string[])[] {
    const { queryPrefix, documentPrefix, textsPerRequestMax } = this.#options.provider;
    const prefix = role === "query" ? queryPrefix : documentPrefix;
    const batches: string[][] = [];
    let batch: string[] = [];
    let length = 0;
    for (const text of texts) {
      if (batch.length > 0 && (batch.length === textsPerRequestMax || length + text.length > REQUEST_LENGTH_MAX)) {
        batches.push(batch);
        batch = [];
        length = 0;
      }
      batch.push(prefix + text);
      length += text.length;
    }
    if (batch.length > 0) batches.push(batch);
    return batches;
  }

  async #embedBatch(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const permit = this.#semaphore.acquire(signal);
    if (permit === undefined) throw this.#failure("unavailable", "has too many texts waiting; try again");
    if (!(await permit)) throw closed;
    try {
      return await this.#request(texts, signal);
    } finally {
      this.#semaphore.release();
    }
  }

  /** Sends a request, with retries: keeps (2). */
  async #request(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const { clock, random } = this.#options;
    const lastStartMs = clock.monotonicMs() + RETRY_MS_MAX;
    for (let attempt = 1; ; attempt += 1) {
      if (signal.aborted) throw closed;
      const outcome = await this.#attempt(texts, signal);
      if (Array.isArray(outcome)) return outcome;
      const failure = outcome as Failure;
      const backoffMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** (attempt - 1)) * (0.5 + random.unit() / 2);
      const waitMs = Math.max(backoffMs, failure.retryAfterMs ?? 0);
      if (!failure.isTransient || attempt === ATTEMPTS_MAX || clock.monotonicMs() + waitMs > lastStartMs) {
        throw this.#failure("bad gateway", failure.text);
      }
      await pause(clock, waitMs, signal);
    }
  }

  async #attempt(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[] | Failure> {
    const { provider, clock, dimension } = this.#options;
    const { timeoutMs } = provider;
    const limit = new AbortController();
    const cancelLimit = clock.after(timeoutMs, () => limit.abort());
    try {
      const answer = await this.#send(texts, AbortSignal.any([signal, limit.signal]));
      const expected = { count: texts.length, dimension: dimension ?? provider.dimensions };
      if (answer.statusCode === 200) return parseAnswer(await readBody(answer.body, expected), expected);
      await answer.body.dump({ limit: REFUSAL_BYTES_MAX });
      return this.#refusal(answer);
    } catch (fault) {
      if (fault instanceof WrongAnswer) return { text: fault.text, isTransient: false };
      if (signal.aborted) throw closed;
      if (limit.signal.aborted) return { text: `did not answer within ${timeoutMs / 1_000} s`, isTransient: true };
      return { text: `cannot be reached (${nameOf(fault)})`, isTransient: true };
    } finally {
      cancelLimit();
    }
  }

  #send(texts: readonly string[], signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { url, modelName, key, dimensions } = this.#options.provider;
    return request(url, {
      dispatcher: this.#dispatcher,
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "user-agent": "larder",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ model: modelName, input: texts, ...(dimensions !== undefined && { dimensions }) }),
      signal,
    });
  }

  #refusal({ statusCode, headers }: Dispatcher.ResponseData): Failure {
    const isTransient = statusCode === 408 || statusCode === 429 || statusCode >= 500;
    const isRedirect = statusCode >= 300 && statusCode < 400;
    const retryAfterMs = this.#waitOf(headers["retry-after"]);
    return {
      text: `answered ${statusCode}${isRedirect ? ", and redirects are not followed" : ""}`,
      isTransient,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  }

  /** Seconds or a date (RFC 9110 §10.2.3). */
  #waitOf(retryAfter: string | string[] | undefined): number | undefined {
    if (typeof retryAfter !== "string") return undefined;
    const waitMs = /^\d{1,9}$/.test(retryAfter)
      ? Number(retryAfter) * 1_000
      : Date.parse(retryAfter) - this.#options.clock.nowMs();
    return Number.isFinite(waitMs) && waitMs > 0 ? waitMs : undefined;
  }

  #failure(kind: "bad gateway" | "unavailable", text: string): VectorFailure {
    return new VectorFailure(kind, `The embedding endpoint of the model ${this.#options.model} ${text}`);
  }
}

/** Reads a body up to the limit of the answer. Throws `WrongAnswer`. */
async function readBody(body: Dispatcher.ResponseData["body"], expected: ExpectedAnswer): Promise<Buffer> {
  const bytesMax = answerBytesMax(expected);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    // Leaving the loop closes the connection.
    if (bytes > bytesMax) throw new WrongAnswer(`answered more than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, bytes);
}

/** Resolves after a time, or at once if the call is aborted. */
function pause(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(waitMs, end);
    signal.addEventListener("abort", end);
  });
}

/** Our own look-ups, whose number is limited below the thread pool (threats S-16). */
function lookupBy(resolver: HttpEmbedderOptions["resolver"]) {
  return (
    name: string,
    options: { all?: boolean | undefined },
    callback: (error: NodeJS.ErrnoException | null, address: string | Address[], family?: number) => void,
  ): void => {
    resolver.resolve(name).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, [...addresses]);
        else if (first !== undefined) callback(null, first.address, first.family);
        else callback(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), "");
      },
      (fault: NodeJS.ErrnoException) => callback(fault, ""),
    );
  };
}

/** A system error code such as `ECONNREFUSED`. An answer contains no other part of an error. */
function nameOf(fault: unknown): string {
  if (!(fault instanceof Error)) return "unknown";
  return "code" in fault && typeof fault.code === "string" ? fault.code : fault.name;
}
