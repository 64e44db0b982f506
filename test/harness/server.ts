/**
 * A server for the tests: the store behind a real socket on a free port of
 * loopback, inside this process. The store's time is virtual: `clock.advance`
 * moves it. Only the sockets, and the scheduling of the thread, run in real
 * time.
 *
 *     await using server = await startServer();
 *     const reply = await server.post("/", ["SET", "k", "v"]);
 */
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { type TokenFor, TokenTable } from "../../src/edge/auth.ts";
import type { HttpService, Observation } from "../../src/edge/handler.ts";
import type { StreamLimits } from "../../src/edge/http/event-streams.ts";
import { IN_FLIGHT_BYTES_MAX, type Listener } from "../../src/edge/http/listener.ts";
import type { TransportName } from "../../src/edge/http/transport.ts";
import { ByteBudget } from "../../src/edge/limits/byte-budget.ts";
import type { ListenerLimits } from "../../src/edge/limits/listener.ts";
import { RateLimiter } from "../../src/edge/limits/rate-limit.ts";
import type { Rate } from "../../src/edge/limits/token-bucket.ts";
import { REPLY_BYTES_MAX, REQUEST_BYTES_MAX, StoreArea } from "../../src/edge/store/routes.ts";
import { SyncTokens } from "../../src/edge/store/sync-token.ts";
import { followUsers } from "../../src/edge/store/user-tokens.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { createLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { Turns } from "../../src/kernel/turns.ts";
import { Store } from "../../src/store/mod.ts";
import { assertNoSecret, watchedSink } from "./canaries.ts";
import { listenForSuite } from "./cluster/suite-front.ts";
import { openSuiteShard, type SuiteShard, watched } from "./cluster/suite-shard.ts";
import { luaOptions } from "./lua.ts";
import { RecordingJournal } from "./recording-journal.ts";

export const TOKEN = "standard-token";
export const READ_ONLY_TOKEN = "read-only-token";

export interface ServerOptions {
  readonly cors?: boolean;
  readonly queryToken?: boolean;
  readonly requestBytesMax?: number;
  readonly replyBytesMax?: number;
  readonly inFlightBytesMax?: number;
  readonly dailyRequestsMax?: number;
  readonly rate?: Rate;
  readonly streams?: Partial<StreamLimits>;
  readonly limits?: Partial<ListenerLimits>;
  readonly transport?: TransportName;
  /** Replaces the store, or wraps it. */
  readonly area?: (store: HttpService) => HttpService;
}

export interface SendOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** A string or Buffer is sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  /** Sent as `Authorization: Bearer`; null sends none. */
  readonly token?: string | null;
}

export interface TestReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON; throws if it is not JSON. */
  readonly json: unknown;
}

export class TestServer implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly tokens = new TokenTable(Buffer.alloc(32, 7));
  readonly observations: Observation[] = [];
  readonly logLines: string[] = [];
  readonly budget: ByteBudget;
  readonly store: Store;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #options: ServerOptions;
  readonly #shard: SuiteShard | undefined = openSuiteShard();
  #listener: Listener | undefined;
  #area: StoreArea | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.budget = new ByteBudget(options.inFlightBytesMax ?? IN_FLIGHT_BYTES_MAX);
    this.store = new Store({
      journal: this.#shard === undefined ? new NullJournal() : new RecordingJournal(this.#shard),
      clock: this.clock,
      turns: new Turns({ clock: systemClock }),
      random: seededRandom(1),
      hashSeed: Buffer.alloc(8, 1),
      dailyRequestsMax: options.dailyRequestsMax ?? 0,
      lua: luaOptions,
    });
  }

  async start(): Promise<void> {
    const { rate, limits, area, ...options } = this.#options;
    await this.#shard?.open();
    const storeArea = new StoreArea({
      store: this.store,
      tokens: this.tokens,
      syncTokens: new SyncTokens("boot"),
      cors: options.cors ?? true,
      queryToken: options.queryToken ?? true,
      requestBytesMax: options.requestBytesMax ?? REQUEST_BYTES_MAX,
      replyBytesMax: options.replyBytesMax ?? REPLY_BYTES_MAX,
      clock: this.clock,
      ...(options.streams === undefined ? {} : { streams: options.streams }),
      ...(rate === undefined ? {} : { limiter: new RateLimiter(this.clock, rate) }),
    });
    this.#area = storeArea;
    this.addDatabase("main", [
      { token: TOKEN, access: "standard" },
      { token: READ_ONLY_TOKEN, access: "read-only" },
    ]);
    await this.store.whenSafe();
    this.#listener = await listenForSuite({
      name: "store",
      frontBytesMax: options.inFlightBytesMax ?? IN_FLIGHT_BYTES_MAX,
      area: area === undefined ? watched(storeArea, this.#shard) : area(storeArea),
      host: "127.0.0.1",
      port: 0,
      clock: systemClock,
      log: createLog({
        level: "debug",
        format: "json",
        clock: this.clock,
        sink: watchedSink([TOKEN, READ_ONLY_TOKEN], (line) => this.logLines.push(line)),
      }),
      budget: this.budget,
      idPrefix: "test",
      observe: (observation) => this.observations.push(observation),
      ...(limits === undefined ? {} : { limits }),
      transport: options.transport,
    });
  }

  /** A database with its tokens and users. */
  addDatabase(name: string, tokens: readonly TokenFor[]): void {
    if (this.#area === undefined) throw new Error("The server is not started");
    this.tokens.replaceTenant(name, tokens);
    followUsers(this.store.database(name), { tokens: this.tokens, streams: this.#area.streams });
  }

  get listener(): Listener {
    if (this.#listener === undefined) throw new Error("The server is not started");
    return this.#listener;
  }

  get url(): string {
    return `http://127.0.0.1:${this.listener.port}`;
  }

  get(path: string, options: SendOptions = {}): Promise<TestReply> {
    return this.send(path, options);
  }

  post(path: string, body: unknown, options: SendOptions = {}): Promise<TestReply> {
    return this.send(path, { method: "POST", body, ...options });
  }

  send(path: string, { method = "GET", headers = {}, body, token = TOKEN }: SendOptions): Promise<TestReply> {
    const payload =
      body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          agent: this.#agent,
          host: "127.0.0.1",
          port: this.listener.port,
          method,
          path,
          headers: {
            ...(token === null ? {} : { authorization: `Bearer ${token}` }),
            ...(payload === undefined ? {} : { "content-length": String(Buffer.byteLength(payload)) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const bytes = Buffer.concat(chunks);
            const text = bytes.toString("utf8");
            try {
              assertNoSecret(text, token === null ? [] : [token], `the answer to ${method} ${path}`);
            } catch (fault) {
              reject(fault as Error);
            }
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              bytes,
              text,
              get json() {
                return JSON.parse(text) as unknown;
              },
            });
          });
        },
      );
      sent.on("error", reject);
      sent.end(payload);
    });
  }

  /** Writes bytes to a fresh connection and resolves with all received bytes until the server closes it. */
  raw(bytes: string): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port: this.listener.port });
      let answer = "";
      socket.setEncoding("latin1");
      socket.on("data", (chunk) => {
        answer += chunk;
      });
      // A reset after the answer is an ordinary end.
      socket.on("error", () => {});
      socket.on("close", () => resolve(answer));
      socket.write(bytes, "latin1");
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#listener?.close(0);
    await this.#shard?.close();
  }
}

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const server = new TestServer(options);
  await server.start();
  return server;
}
