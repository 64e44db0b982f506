/**
 * The service of an area: its engine with everything that it needs in the
 * program, except the port. This file has the environment of all three services.
 */
import type { TokenOwner, TokenTable } from "../../edge/auth.ts";
import type { HttpService, RequestHead } from "../../edge/handler.ts";
import type { RateLimiter } from "../../edge/limits/rate-limit.ts";
import type { RespListener } from "../../edge/resp/listener.ts";
import type { Tracer } from "../../edge/tracing.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { MemoryGuard } from "../../kernel/memory-guard.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import type { Turns } from "../../kernel/turns.ts";
import type { Store } from "../../store/mod.ts";
import type { AreaClients, AreaData, AreaPlan } from "../areas/area.ts";
import type { AreaPersistence } from "../areas/area-persistence.ts";
import type { TenantsAtOpen } from "../areas/area-tenant.ts";
import type { EventReporter } from "../events/reporter.ts";
import type { ListenerEnvironment } from "../listeners/listener.ts";

export interface ServiceContext {
  readonly plan: AreaPlan;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Decides which tenant has the thread next; all areas of the thread share it. */
  readonly turns: Turns;
  readonly onFatal: (fault: unknown) => void;
  /** Decides which tenants may still allocate memory in this thread. */
  readonly guard: MemoryGuard;
  /** Undefined: nobody watches. */
  readonly events: EventReporter | undefined;
  /** Absent: no spans are made. */
  readonly tracer: Tracer | undefined;
  /** The tokens of the area's tenants; empty at first. */
  readonly tokens: TokenTable;
  /** Requests per second of each token; undefined: any number. */
  readonly limiter: RateLimiter | undefined;
  /** The journal of the engine, and the area's part of the data directory. */
  readonly persistence: AreaPersistence;
}

/** The HTTP interface of an area, which also finds the tenant of a request before it handles one. */
export interface AreaHttp extends HttpService {
  /** Whose token a request has, among those of a table. */
  tokenOwner(request: RequestHead, tokens: TokenTable): TokenOwner;
  /** The `UserID` in a path that needs no token; undefined: the path needs one. Absent: every path does. */
  userIdIn?(target: string): string | undefined;
}

/** A store with its tokens, which is a shard of the area. */
export interface StoreShard {
  readonly store: Store;
  readonly tokens: TokenTable;
  /** The port is open, or closed. */
  listening(listener: RespListener | undefined): void;
}

export interface AreaService extends AreaData {
  readonly http: AreaHttp;
  /** Of a store: for a RESP port that it shares with others. */
  readonly resp?: StoreShard;
  /** Of a store. */
  readonly clients?: AreaClients;
  /** Binds its port other than the HTTP port, reports there that it is opening, and returns the real port. */
  openOwnPort?(environment: ListenerEnvironment): Promise<number | undefined>;
  closeOwnPort?(graceMs: number): Promise<void>;
  /** Removes the tokens of a tenant, and those of its users. Its data stays. */
  forgetTokens(name: string): void;
  /** Recovers the stored data and starts background work. `tenants`: of a shard of a cluster. */
  open(tenants?: TenantsAtOpen): Promise<void>;
  /** Ends background work within `graceMs`, then writes and syncs the rest. No further requests come. */
  close(graceMs: number): Promise<void>;
}
