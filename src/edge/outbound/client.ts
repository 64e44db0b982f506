/**
 * The HTTP client of deliveries: one request for each call, one result for each
 * request.
 *
 * (1) Each call ends with exactly one result, at its deadline at the latest,
 *     whatever the destination does (C-13, C-14).
 * (2) It never connects to an address that the policy refuses (C-01 to C-05,
 *     C-09), by name or by number, also after a change of a name's address.
 * (3) Users share no connection (C-15). A user has at most `originsPerUserMax` open
 *     origins, where a new one closes the least recently used one, and at most
 *     `socketsPerOrigin` sockets to each.
 * (4) It does not follow redirects (C-06), does not decode bodies (C-16), and
 *     ignores proxies and environment variables.
 */
import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { AfterPoll } from "../../kernel/turn.ts";
import { Attempt, type AttemptServices } from "./attempt.ts";
import type { OutboundCall, OutboundDone } from "./call.ts";
import { type ConnectionServices, loadTls } from "./connection.ts";
import { Deadlines } from "./deadlines.ts";
import type { DestinationGuard } from "./destination-policy.ts";
import type { OutboundMap } from "./host-map.ts";
import { Origin } from "./origin.ts";
import type { Resolver } from "./resolver.ts";
import { ResponseBudget } from "./response-budget.ts";
import { type Target, TargetReader } from "./target.ts";

export type { OutboundAnswer, OutboundCall, OutboundDone, OutboundFailure, OutboundResult } from "./call.ts";

export interface OutboundOptions {
  readonly resolver: Pick<Resolver, "resolve">;
  readonly clock: Clock;
  readonly policy: DestinationGuard;
  readonly map: OutboundMap;
  /** The longest body that is read; after it the connection is destroyed. */
  readonly responseBytesMax: number;
  /** Memory for all bodies that are being read; one user gets half of it. */
  readonly responsesBytesMax?: number;
  readonly originsPerUserMax?: number;
  readonly socketsPerOrigin?: number;
  readonly log?: Log;
}

const ORIGINS_PER_USER_MAX = 256;
const SOCKETS_PER_ORIGIN = 50;
/** Room for six bodies of the default limit; with a larger limit, room for two. */
const RESPONSES_BYTES_MAX = 64 * 1_024 * 1_024;

/** Keys are origins. */
type UserOrigins = Map<string, Origin>;

export class OutboundClient {
  readonly #options: OutboundOptions;
  readonly #targets: TargetReader;
  readonly #services: ConnectionServices;
  readonly #budget: ResponseBudget;
  readonly #attempts: AttemptServices;
  readonly #originsPerUserMax: number;
  readonly #sockets = new Set<Socket>();
  readonly #users = new Map<string, UserOrigins>();
  /** Includes origins that were closed for newer ones and still have calls. */
  readonly #origins = new Set<{ readonly user: string; readonly origin: Origin }>();
  #callCount = 0;
  #useCount = 0;
  #secureContext: SecureContext | undefined;
  #isClosed = false;

  constructor(options: OutboundOptions) {
    this.#options = options;
    this.#originsPerUserMax = options.originsPerUserMax ?? ORIGINS_PER_USER_MAX;
    this.#targets = new TargetReader(options.policy, options.map);
    const { responseBytesMax, responsesBytesMax = RESPONSES_BYTES_MAX } = options;
    const bytesMax = Math.max(responsesBytesMax, 2 * responseBytesMax);
    this.#budget = new ResponseBudget({ bytesMax, bodyBytesMax: responseBytesMax });
    this.#attempts = {
      bodyBytesMax: responseBytesMax,
      budget: this.#budget,
      deadlines: new Deadlines(options.clock),
      ended: () => {
        this.#callCount -= 1;
      },
    };
    this.#services = {
      resolver: options.resolver,
      clock: options.clock,
      policy: options.policy,
      sockets: this.#sockets,
      sending: new AfterPoll(),
      // Shared by all connections, because creating one reads all root certificates.
      secureContext: () => {
        this.#secureContext ??= loadTls().createSecureContext();
        return this.#secureContext;
      },
    };
  }

  /** Calls without a result. */
  get callCount(): number {
    return this.#callCount;
  }

  /** Sockets that are open or opening. */
  get socketCount(): number {
    return this.#sockets.size;
  }

  /** Memory for bodies that are being read, without the start of each. */
  get responsesBytes(): number {
    return this.#budget.usedBytes;
  }

  /** Answers that wait for memory. */
  get waitingAnswerCount(): number {
    return this.#budget.waitingCount;
  }

  /** Origins with a call or a connection, counted for each user. */
  get originCount(): number {
    return this.#origins.size;
  }

  /** Why a publish to `url` is refused, before its name is looked up, as one sentence, or undefined. */
  refusalOf(url: URL): string | undefined {
    return this.#targets.refusalOf(url);
  }

  /** Calls `done` exactly once, never synchronously. */
  send(call: OutboundCall, done: OutboundDone): void {
    this.#callCount += 1;
    const reading = this.#targets.read(call.url);
    if (this.#isClosed) this.#refuse("The server is stopping", done);
    else if ("refusal" in reading) this.#refuse(reading.refusal, done);
    else this.#start(call, reading.target, done);
  }

  /** Ends the calls of a user with a failure and closes the user's connections. */
  dropUser(name: string): void {
    for (const { user, origin } of [...this.#origins]) if (user === name) origin.close("The user is deleted");
  }

  /** Ends all calls with a failure; resolves when every socket is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { origin } of [...this.#origins]) origin.close("The server is stopping");
    const closed = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    await Promise.all(closed);
  }

  #start(call: OutboundCall, target: Target, done: OutboundDone): void {
    const origin = this.#originOf(call.user, target);
    this.#useCount += 1;
    origin.usedAt = this.#useCount;
    const attempt = new Attempt({ call, target, done }, this.#attempts);
    origin.accept(attempt);
  }

  #refuse(text: string, done: OutboundDone): void {
    queueMicrotask(() => {
      this.#callCount -= 1;
      done({ kind: "failure", text });
    });
  }

  #originOf(user: string, target: Target): Origin {
    let origins = this.#users.get(user);
    if (origins === undefined) {
      origins = new Map();
      this.#users.set(user, origins);
    }
    return origins.get(target.origin) ?? this.#openOrigin(user, origins, target);
  }

  #openOrigin(user: string, origins: UserOrigins, target: Target): Origin {
    if (origins.size >= this.#originsPerUserMax) this.#closeOldest(user, origins);
    const origin = new Origin({
      target,
      services: this.#services,
      connectionsMax: this.#options.socketsPerOrigin ?? SOCKETS_PER_ORIGIN,
      onEmpty: () => {
        this.#origins.delete(entry);
        if (origins.get(target.origin) !== origin) return;
        origins.delete(target.origin);
        if (origins.size === 0) this.#users.delete(user);
      },
    });
    const entry = { user, origin };
    this.#origins.add(entry);
    origins.set(target.origin, origin);
    return origin;
  }

  /** Closes the least recently used origin, if possible one without calls. keeps (3) */
  #closeOldest(user: string, origins: UserOrigins): void {
    let oldest: { name: string; origin: Origin; hasCalls: boolean } | undefined;
    for (const [name, origin] of origins) {
      const { hasCalls } = origin;
      const isBetter =
        oldest === undefined ||
        (oldest.hasCalls && !hasCalls) ||
        (oldest.hasCalls === hasCalls && origin.usedAt < oldest.origin.usedAt);
      if (isBetter) oldest = { name, origin, hasCalls };
    }
    if (oldest === undefined) return;
    origins.delete(oldest.name);
    this.#options.log?.debug("outbound origin closed for another", { user, origin: oldest.name });
    oldest.origin.retire();
  }
}
