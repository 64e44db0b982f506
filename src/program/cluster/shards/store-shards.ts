/**
 * The shards of the store that this node serves, as one store for the RESP port.
 * A login finds the database on the shard with its token or its name, and the
 * replies of the connection then wait for the journal of that shard.
 */
import type { Grant, TokenTable } from "../../../edge/auth.ts";
import type { RespListener, RespStore } from "../../../edge/resp/listener.ts";
import type { RespLogin } from "../../../edge/resp/login.ts";
import type { ReplyJournal } from "../../../edge/resp/reply-queue.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Turns } from "../../../kernel/turns.ts";
import { CommandError, type Database, openSession, type Session, type SessionOptions } from "../../../store/mod.ts";
import type { StoreShard } from "../../services/service.ts";

export interface StoreShardsOptions {
  readonly turns: Turns;
  /** Of all tenants of the area, on whichever shard. */
  readonly tokens: Pick<TokenTable, "find">;
}

export class StoreShards {
  readonly #options: StoreShardsOptions;
  readonly #served = new Set<StoreShard>();
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
    for (const shard of this.#served) shard.listening(listener);
  }

  /** A shard is served from now on. */
  add(shard: StoreShard): void {
    this.#served.add(shard);
    const notify = (grant: Grant): void => {
      for (const listener of [...this.#listeners]) listener(grant);
    };
    this.#stops.set(shard, shard.tokens.onRemoved(notify));
    shard.listening(this.#listener);
  }

  /** A shard is not served any more: its connections end. */
  async remove(shard: StoreShard, graceMs: number): Promise<void> {
    this.#served.delete(shard);
    this.#stops.get(shard)?.();
    this.#stops.delete(shard);
    await this.#listener?.release(shard.store.databases, graceMs);
  }

  get isServing(): boolean {
    return this.#served.size > 0;
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
    for (const { tokens } of this.#served) {
      const grant = tokens.find(token);
      if (grant !== undefined) return grant;
    }
    if (this.#options.tokens.find(token) !== undefined)
      throw new CommandError("ERR this node does not serve the database: connect to the node that does");
    return undefined;
  }

  #databaseOf(name: string): Database {
    for (const { store } of this.#served) if (store.databaseNames.includes(name)) return store.database(name);
    throw new CommandError("ERR this node does not serve the database: connect to the node that does");
  }

  #asStore(): RespStore {
    const served = this.#served;
    const turns = (): Turns => this.#options.turns;
    return {
      get turns() {
        return turns();
      },
      get databaseNames() {
        return [...served].flatMap(({ store }) => store.databaseNames);
      },
      database: (name) => this.#databaseOf(name),
      openSession: (options: Omit<SessionOptions, "store">): Session => openSession(options, this.#sessionNumbers),
      journalOf: (login) => new LoginJournal(login),
    };
  }
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
