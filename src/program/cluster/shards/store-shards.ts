/**
 * The shards of the store that this node serves, as one store for the RESP port.
 * A login finds the database on the shard with its token or its name, and the
 * replies of the connection then wait for the journal of that shard.
 *
 * (1) A login for a database of another shard goes on to the node that serves that,
 *     if nodes forward. The configuration says on which shard a database is.
 * (2) Credentials of no database that is known here are judged here, or by another
 *     node while this one serves nothing. So wrong ones take as long as those of a
 *     database that is judged in the same place.
 */
import type { Grant, TokenTable } from "../../../edge/auth.ts";
import type { RespListener, RespStore } from "../../../edge/resp/listener.ts";
import {
  accessOf,
  type Credentials,
  databaseNameIn,
  type LoginRoute,
  type LoginRoutes,
  type RespLogin,
} from "../../../edge/resp/login.ts";
import type { ReplyJournal } from "../../../edge/resp/reply-queue.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Turns } from "../../../kernel/turns.ts";
import { CommandError, type Database, openSession, type Session, type SessionOptions } from "../../../store/mod.ts";
import type { StoreShard } from "../../services/service.ts";

export interface StoreShardsOptions {
  readonly turns: Turns;
  /** Of all tenants of the area, on whichever shard. */
  readonly tokens: Pick<TokenTable, "find">;
  /** Undefined: this node does not take part in forwarding. */
  readonly map?: ShardMap | undefined;
}

/** Where databases are. */
export interface ShardMap {
  /** Of all databases of the configuration. */
  readonly databaseNames: readonly string[];
  /** At least one. */
  readonly shards: readonly number[];
  /** Undefined: the configuration has no such database. */
  shardOf(database: string): number | undefined;
  /** The way to the node that serves a shard, or will. */
  routeTo(shard: number): LoginRoute;
}

const ELSEWHERE = "ERR this node does not serve the database: connect to the node that does";
const ELSEWHERE_FORWARDED = "ERR this node does not serve the database: log in to it on a new connection";

export class StoreShards {
  readonly #options: StoreShardsOptions;
  readonly #served = new Map<number, StoreShard>();
  readonly #listeners = new Set<(grant: Grant) => void>();
  /** Ends the notifications of a shard about removed tokens. */
  readonly #stops = new Map<StoreShard, () => void>();
  readonly #sessionNumbers = { last: 0 };
  #listener: RespListener | undefined;

  constructor(options: StoreShardsOptions) {
    this.#options = options;
  }

  /** The port is open. */
  listening(listener: RespListener): void {
    this.#listener = listener;
    for (const shard of this.#served.values()) shard.listening(listener);
  }

  /** A shard is served from now on. */
  add(number: number, shard: StoreShard): void {
    this.#served.set(number, shard);
    const notify = (grant: Grant): void => {
      for (const listener of [...this.#listeners]) listener(grant);
    };
    this.#stops.set(shard, shard.tokens.onRemoved(notify));
    shard.listening(this.#listener);
  }

  /** A shard is not served any more: its connections end. */
  async remove(number: number, graceMs: number): Promise<void> {
    const shard = this.#served.get(number);
    if (shard === undefined) return;
    this.#served.delete(number);
    this.#stops.get(shard)?.();
    this.#stops.delete(shard);
    await this.#listener?.release(shard.store.databases, graceMs);
  }

  async removeAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#served.keys()].map((number) => this.remove(number, graceMs)));
  }

  /** Whether clients get answers: of a node that forwards, always. */
  get isServing(): boolean {
    return this.#served.size > 0 || this.#options.map !== undefined;
  }

  isServed(number: number): boolean {
    return this.#served.has(number);
  }

  /** Undefined if this node does not take part in forwarding. keeps (1) */
  get routes(): LoginRoutes | undefined {
    const { map } = this.#options;
    if (map === undefined) return undefined;
    const routeTo = (shard: number): LoginRoute | undefined =>
      this.#served.has(shard) ? undefined : map.routeTo(shard);
    return {
      routeOf: (credentials) => {
        const shard = this.#shardOf(credentials, map) ?? this.#judgeOf(map);
        return shard === undefined ? undefined : routeTo(shard);
      },
      get onlyRoute() {
        const name = onlyOf(map.databaseNames);
        const shard = name === undefined ? undefined : map.shardOf(name);
        return shard === undefined ? undefined : routeTo(shard);
      },
    };
  }

  /** The shard of a database that the credentials name, as far as it is known here. */
  #shardOf({ user, password }: Credentials, map: ShardMap): number | undefined {
    const isToken = accessOf(user) !== undefined;
    for (const [number, { tokens, store }] of this.#served) {
      const isKnown = isToken ? tokens.find(password) : databaseNameIn(user, store.databaseNames);
      if (isKnown !== undefined) return number;
    }
    const name = isToken
      ? this.#options.tokens.find(password)?.tenant
      : (databaseNameIn(user, map.databaseNames) ?? onlyOf(map.databaseNames));
    return name === undefined ? undefined : map.shardOf(name);
  }

  /** keeps (2) */
  #judgeOf({ shards }: ShardMap): number | undefined {
    return this.#served.size > 0 ? undefined : shards[0];
  }

  readonly store: RespStore = this.#asStore();

  readonly tokens: Pick<TokenTable, "find" | "onRemoved"> = {
    find: (token) => this.#find(token),
    onRemoved: (listener) => {
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    },
  };

  /** Throws a CommandError for the token of a database that this node does not serve. */
  #find(token: Bytes): Grant | undefined {
    for (const { tokens } of this.#served.values()) {
      const grant = tokens.find(token);
      if (grant !== undefined) return grant;
    }
    if (this.#options.tokens.find(token) !== undefined) throw this.#elsewhere();
    return undefined;
  }

  #databaseOf(name: string): Database {
    for (const { store } of this.#served.values()) if (store.databaseNames.includes(name)) return store.database(name);
    throw this.#elsewhere();
  }

  #elsewhere(): CommandError {
    return new CommandError(this.#options.map === undefined ? ELSEWHERE : ELSEWHERE_FORWARDED);
  }

  #asStore(): RespStore {
    const served = this.#served;
    const turns = (): Turns => this.#options.turns;
    const configured = (): readonly string[] => this.#options.map?.databaseNames ?? [];
    return {
      get turns() {
        return turns();
      },
      get databaseNames() {
        return [...served.values()].flatMap(({ store }) => store.databaseNames);
      },
      get otherDatabaseNames() {
        const { databaseNames } = this;
        return configured().filter((name) => !databaseNames.includes(name));
      },
      database: (name) => this.#databaseOf(name),
      openSession: (options: Omit<SessionOptions, "store">): Session => openSession(options, this.#sessionNumbers),
      journalOf: (login) => new LoginJournal(login),
    };
  }
}

function onlyOf(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

/** The journal of the database of a login. Replies before it have seen nothing. */
class LoginJournal implements ReplyJournal {
  readonly #login: RespLogin;

  constructor(login: RespLogin) {
    this.#login = login;
  }

  get end(): number {
    return this.#login.database?.context.journal.end ?? 0;
  }

  get safe(): number {
    return this.#login.database?.context.journal.safe ?? 0;
  }

  whenSafe(position: number): Promise<void> {
    return this.#login.database?.context.journal.whenSafe(position) ?? Promise.resolve();
  }
}
