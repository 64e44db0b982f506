/**
 * An HTTP client of one area, of larder or of a hosted service, for `larder
 * import` and `larder export`.
 *
 * (1) A request is repeated after a temporary failure: no connection, a timeout,
 *     429 and 502 to 504. So callers send only idempotent requests.
 * (2) A redirect is not followed: the token goes to no other address.
 * (3) A failure names the address and never the token.
 */
import { type Dispatcher, Pool } from "undici";
import type { Clock } from "../kernel/clock.ts";
import { unreachedText } from "../kernel/text/unreached.ts";
import { StartRefusal } from "../program/refusal.ts";

export interface AreaClientOptions {
  /** Base address without a slash at the end; it may have a path, as `http://host:8080/store`. */
  readonly base: string;
  /** Sent as a bearer token; absent: none. */
  readonly token?: string;
  /** The address is on this machine, so nothing leaves it: its certificate may have any name. */
  readonly isThisMachine?: boolean;
  /** Times the pauses between attempts. */
  readonly clock: Clock;
}

export interface AreaRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The part after the base address, from its slash on. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

export interface AreaAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Limit of one attempt, until the response begins and between two parts of it. */
const SILENCE_MS_MAX = 120_000;
const ATTEMPTS_MAX = 6;
/** Pause before the second attempt, doubled before each further one: about 15 s in all. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 30_000;
const CONNECTIONS_MAX = 4;
/** No valid response is larger. */
const ANSWER_BYTES_MAX = 512 * 1024 * 1024;

export class AreaClient {
  readonly #options: AreaClientOptions;
  readonly #pool: Pool;
  readonly #prefix: string;

  constructor(options: AreaClientOptions) {
    const { origin, pathname } = new URL(options.base);
    this.#options = options;
    this.#prefix = pathname.replace(/\/+$/, "");
    this.#pool = new Pool(origin, {
      connections: CONNECTIONS_MAX,
      ...(options.isThisMachine === true && { connect: { rejectUnauthorized: false } }),
      headersTimeout: SILENCE_MS_MAX,
      bodyTimeout: SILENCE_MS_MAX,
      maxResponseSize: ANSWER_BYTES_MAX,
    });
  }

  get base(): string {
    return this.#options.base;
  }

  /** Resolves with a response of any status. Rejects with a `StartRefusal` if there is no response. */
  async send(request: AreaRequest): Promise<AreaAnswer> {
    let pauseMs = PAUSE_MS;
    for (let attempt = 1; ; attempt += 1) {
      let retryAfterMs = 0;
      try {
        const answer = await this.#attempt(request);
        if (!mayPass(answer.status) || attempt === ATTEMPTS_MAX) return answer;
        retryAfterMs = Number(answer.headers["retry-after"] ?? 0) * 1_000;
      } catch (fault) {
        if (attempt === ATTEMPTS_MAX) throw unreachable(this.base, fault);
      }
      // keeps (1)
      await this.#pause(Math.min(Math.max(pauseMs, retryAfterMs > 0 ? retryAfterMs : 0), PAUSE_MS_MAX));
      pauseMs *= 2;
    }
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #attempt({ method, path, headers = {}, body }: AreaRequest): Promise<AreaAnswer> {
    const { token } = this.#options;
    const call: Dispatcher.RequestOptions = {
      method,
      path: `${this.#prefix}${path}`,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      ...(body !== undefined && { body }),
    };
    const response = await this.#pool.request(call);
    const bytes = Buffer.from(await response.body.arrayBuffer());
    return { status: response.statusCode, headers: response.headers, body: bytes };
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(ms, resolve));
  }
}

function mayPass(status: number): boolean {
  return status === 429 || (status >= 502 && status <= 504);
}

/** keeps (3) */
function unreachable(base: string, cause: unknown): StartRefusal {
  return new StartRefusal(`${base} does not answer: ${unreachedText(cause)}`, 1, { cause });
}
