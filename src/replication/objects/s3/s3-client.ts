/**
 * Signed requests to one bucket: their URLs, signatures, credentials and counts. What they mean is in s3-store.ts.
 *
 * (1) A body cannot change on its way unnoticed: its SHA-256 is signed, and TLS protects it. Without TLS it has an MD5
 *     too, unless the store is known to compare signed bodies.
 * (2) A store that wants an MD5 over TLS too (buckets with Object Lock) answers 400 once, and gets it from then on.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../../kernel/clock.ts";
import type { S3Address } from "../address.ts";
import type { RequestKind, StoreRequestObserver } from "../store-requests.ts";
import { errorCode, saysExpired } from "./answers.ts";
import type { CredentialsSource } from "./credentials.ts";
import { exchange, type HttpRequest, type HttpSend, type Received } from "./http.ts";
import type { Sign } from "./signing.ts";

/** A body with its checksums, which can be sent several times. */
export interface Payload {
  readonly bytes: number;
  /** SHA-256 in hexadecimal digits: signed, so every store that checks signatures checks it. */
  readonly hash: string;
  pieces(): AsyncIterable<Buffer>;
}

export interface S3Request {
  readonly kind: RequestKind;
  readonly method: HttpRequest["method"];
  /** Undefined: a request for the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: Payload;
  /** The longest body of a good answer. The default is enough for answers about one object. */
  readonly answerBytesMax?: number;
  /** The store and the object, for errors. */
  readonly what: string;
}

export interface S3ClientOptions {
  readonly address: S3Address;
  readonly credentials: CredentialsSource;
  readonly sign: Sign;
  readonly send: HttpSend;
  readonly clock: Pick<Clock, "after" | "nowMs">;
  readonly onRequest?: StoreRequestObserver | undefined;
}

const ANSWER_BYTES_MAX = 64 * 1024;
/** Pieces show that a body moves. Sending costs 1.0 ns a byte with 64 KiB, 0.6 with these. */
const PIECE_BYTES = 256 * 1024;
export const EMPTY_HASH = createHash("sha256").digest("hex");

export class S3Client {
  readonly #options: S3ClientOptions;
  /** Whether new objects are sent with an MD5. */
  #sendsMd5: boolean;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    this.#sendsMd5 = !options.address.endpoint.startsWith("https:"); // keeps (1)
  }

  /** The store has refused a body that was not the signed one: an MD5 would only cost time. */
  trustSignedBodies(): void {
    this.#sendsMd5 = false;
  }

  /**
   * Resolves with any answer. With expired credentials they are read again, and the request is sent once more. Rejects
   * with an `ObjectStoreFailure`, or with the fault of the body.
   */
  async send(request: S3Request): Promise<Received> {
    // DeleteObjects requires one, and the bodies of POST are small.
    const hasMd5 = request.payload !== undefined && (this.#sendsMd5 || request.method === "POST");
    const answer = await this.#sendFresh(request, hasMd5);
    if (request.payload === undefined || hasMd5 || !mayWantMd5(answer)) return answer;
    const second = await this.#sendFresh(request, true);
    if (second.status !== 400) this.#sendsMd5 = true; // keeps (2)
    return second;
  }

  async #sendFresh(request: S3Request, hasMd5: boolean): Promise<Received> {
    const answer = await this.#sendOnce(request, hasMd5);
    if (!saysExpired(answer)) return answer;
    this.#options.credentials.forget();
    return this.#sendOnce(request, hasMd5);
  }

  async #sendOnce(
    { kind, method, key, query, headers, payload, answerBytesMax, what }: S3Request,
    hasMd5: boolean,
  ): Promise<Received> {
    const { address, credentials, sign, send, clock, onRequest } = this.#options;
    const url = urlOf(address, key, query);
    const signed = await sign(
      {
        method,
        url,
        headers: { ...headers, ...(payload !== undefined && hasMd5 && { "content-md5": await md5Of(payload) }) },
        bodyHash: payload?.hash ?? EMPTY_HASH,
      },
      { credentials: await credentials.get(), region: address.region, nowMs: clock.nowMs() },
    );
    const needsLength = method === "PUT" || method === "POST";
    let sentBytes = 0;
    let receivedBytes = 0;
    let hasFailed = true;
    try {
      const received = await exchange(
        {
          method,
          url,
          headers: { ...signed, ...(needsLength && { "content-length": String(payload?.bytes ?? 0) }) },
          body: payload === undefined || payload.bytes === 0 ? undefined : payload.pieces(),
        },
        {
          send,
          clock,
          bytesMax: answerBytesMax ?? ANSWER_BYTES_MAX,
          what,
          onSent: (bytes) => {
            sentBytes += bytes;
          },
          onReceived: (bytes) => {
            receivedBytes += bytes;
          },
        },
      );
      hasFailed = received.status >= 500;
      return received;
    } finally {
      onRequest?.({ kind, sentBytes, receivedBytes, hasFailed });
    }
  }
}

/** The payload of bytes in memory, whose SHA-256 may be known. */
export function payloadOf(bytes: Buffer, sha256?: string): Payload {
  return {
    bytes: bytes.length,
    hash: sha256 ?? createHash("sha256").update(bytes).digest("hex"),
    async *pieces() {
      for (let start = 0; start < bytes.length; start += PIECE_BYTES) yield bytes.subarray(start, start + PIECE_BYTES);
    },
  };
}

async function md5Of(payload: Payload): Promise<string> {
  const hash = createHash("md5");
  for await (const piece of payload.pieces()) hash.update(piece);
  return hash.digest("base64");
}

/** Stores have several codes for a missing MD5. `RequestTimeout` is for a body that came too slowly. */
function mayWantMd5(answer: Received): boolean {
  return answer.status === 400 && errorCode(answer) !== "RequestTimeout";
}

/** The URL of an object or of the bucket, escaped as signatures need it. */
export function urlOf(address: S3Address, key?: string, query: Readonly<Record<string, string>> = {}): string {
  const { endpoint, bucket, style } = address;
  const base = style === "path" ? `${endpoint}/${bucket}` : endpoint.replace("://", `://${bucket}.`);
  const path = key === undefined ? "" : key.split("/").map(escaped).join("/");
  const search = Object.entries(query).map(([name, value]) => `${escaped(name)}=${escaped(value)}`);
  return `${base}/${path}${search.length === 0 ? "" : `?${search.join("&")}`}`;
}

/** RFC 3986, as Signature Version 4 prescribes. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
