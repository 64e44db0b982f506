/**
 * Messaging behind a real socket on a free port of loopback, inside this
 * process. Time is virtual and destinations answer as the test specifies; only the
 * sockets live in real time.
 *
 *     await using server = await startMessagingServer();
 *     await server.send("POST /v2/publish/https://a.test", { body: "hello" });
 *     await server.advance(0);
 *     server.calls; // the requests to destinations
 */
import { TokenTable } from "../../src/edge/auth.ts";
import { IN_FLIGHT_BYTES_MAX, type Listener } from "../../src/edge/http/listener.ts";
import { ByteBudget } from "../../src/edge/limits/byte-budget.ts";
import { RateLimiter } from "../../src/edge/limits/rate-limit.ts";
import type { Rate } from "../../src/edge/limits/token-bucket.ts";
import { MessagingArea } from "../../src/edge/messaging/area.ts";
import { parseDestinations } from "../../src/edge/outbound/destination-policy.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLog } from "../../src/kernel/log.ts";
import { Turns } from "../../src/kernel/turns.ts";
import { defaultLimits, type MessagingLimits } from "../../src/messaging/limits.ts";
import { MemoryHistory } from "../../src/program/history/memory-history.ts";
import { messageLog } from "../../src/program/history/message-log.ts";
import { watchedSink } from "./canaries.ts";
import { listenForSuite } from "./cluster/suite-front.ts";
import { type Call, type Destination, MessagingHarness } from "./messaging-harness.ts";
import { type LineOptions, type LineReply, sendLine } from "./send-line.ts";

export const MESSAGING_TOKEN = "messaging-token";
export const MESSAGING_READ_ONLY_TOKEN = "messaging-read-only-token";

export type MessagingReply = LineReply;
export type MessagingSend = Partial<LineOptions>;

export interface MessagingServerOptions {
  readonly limits?: Partial<MessagingLimits>;
  /** Of requests; absent: not limited. */
  readonly rate?: Rate;
  readonly logRetentionMs?: number;
}

export class MessagingServer implements AsyncDisposable {
  readonly harness: MessagingHarness;
  /** Routes that answered, in order. */
  readonly routes: string[] = [];
  #listener: Listener | undefined;
  #history: MemoryHistory | undefined;
  /** The frames of the journal. */
  #historyPosition = 0;
  #logRetentionMs = LOG_RETENTION_MS;

  constructor(harness: MessagingHarness) {
    this.harness = harness;
  }

  async start({ limits, rate, logRetentionMs = LOG_RETENTION_MS }: MessagingServerOptions): Promise<void> {
    this.#logRetentionMs = logRetentionMs;
    const tokens = new TokenTable(Buffer.alloc(32, 5));
    tokens.replaceTenant("main", [
      { token: MESSAGING_TOKEN, access: "standard" },
      { token: MESSAGING_READ_ONLY_TOKEN, access: "read-only" },
    ]);
    const policy = parseDestinations("any", []);
    const { harness } = this;
    harness.logReader = messageLog(
      async (query) => (await this.#openHistory()).list(query),
      () => harness.journal.end,
    );
    this.#listener = await listenForSuite({
      ...{ name: "messaging", frontBytesMax: IN_FLIGHT_BYTES_MAX },
      area: new MessagingArea({
        messaging: { user: (name) => harness.messaging.user(name) },
        tokens,
        queryToken: true,
        ...(rate === undefined ? {} : { limiter: new RateLimiter(harness.clock, rate) }),
        limits: { ...defaultLimits, ...limits },
        clock: harness.clock,
        turns: new Turns({ clock: systemClock }),
        destinations: (url) => policy.refusalOf(url),
      }),
      host: "127.0.0.1",
      port: 0,
      clock: systemClock,
      log: createLog({
        level: "debug",
        format: "json",
        clock: systemClock,
        sink: watchedSink([MESSAGING_TOKEN, MESSAGING_READ_ONLY_TOKEN]),
      }),
      budget: new ByteBudget(IN_FLIGHT_BYTES_MAX),
      idPrefix: "test",
      observe: ({ route }) => this.routes.push(route),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listener?.port}`;
  }

  /** The requests to destinations. */
  get calls(): readonly Call[] {
    return this.harness.calls;
  }

  set destination(destination: Destination) {
    this.harness.destination = destination;
  }

  /** Advances time, and runs everything that is due. */
  advance(ms: number): Promise<void> {
    return this.harness.advance(ms);
  }

  /** `line` is method and target. */
  send(line: string, sent: MessagingSend = {}): Promise<MessagingReply> {
    return sendLine(this.url, line, { token: MESSAGING_TOKEN, ...sent });
  }

  /** Publishes and returns the id. */
  async publish(destination: string, options: MessagingSend = {}): Promise<string> {
    const { json } = await this.send(`POST /v2/publish/${destination}`, options);
    return (json as { messageId: string }).messageId;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.harness.stop();
    await this.#listener?.close(0);
    await this.harness.close();
    await this.#history?.close();
  }

  /** The history, up to the last frame. Most tests do not need it. */
  async #openHistory(): Promise<MemoryHistory> {
    const { clock, journal } = this.harness;
    const log = createLog({ level: "error", format: "json", clock, sink: () => {} });
    this.#history ??= await MemoryHistory.open({ retentionMs: this.#logRetentionMs, log, clock });
    for (let position = this.#historyPosition; position < journal.end; position += 1) {
      this.#history.append(journal.frames[position] ?? Buffer.alloc(0), position + 1);
    }
    this.#historyPosition = journal.end;
    return this.#history;
  }
}

const LOG_RETENTION_MS = 14 * 86_400_000;

export async function startMessagingServer(
  limits: Partial<MessagingLimits> = {},
  options: Omit<MessagingServerOptions, "limits"> = {},
): Promise<MessagingServer> {
  const server = new MessagingServer(await MessagingHarness.start(limits));
  await server.start({ ...options, limits });
  return server;
}
