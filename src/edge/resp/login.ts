/**
 * Logins over TCP (A.tcp). Several databases share one port, so the credentials
 * name the database:
 *
 *     AUTH <standard token>                      the database that owns it
 *     AUTH default <standard token>              the same
 *     AUTH default_ro <read-only token>          its read-only user
 *     AUTH <user>@<database> <password>          a user of that database
 *     AUTH <user> <password>                     the same, if there is only one database
 *
 * TokenTable and Users compare in constant time, so response times reveal nothing
 * of tokens and passwords. Every code path calls one of them, for any credentials.
 *
 * In a cluster the database may be on another node, which then checks the
 * credentials: a first login finds the way to it (`RespLogin.route`).
 */
import { type Bytes, textFromBytes } from "../../kernel/bytes.ts";
import {
  CommandError,
  type Database,
  defaultUser,
  type LoggedIn,
  readOnlyUser,
  type Session,
  type SessionLogin,
  type Store,
} from "../../store/mod.ts";
import type { DefaultAccess, Grant, TokenTable } from "../auth.ts";
import type { Caller } from "../forward/forwarded-head.ts";
import type { TunnelOutcome } from "../forward/front.ts";

export interface Credentials {
  readonly user: Bytes | undefined;
  readonly password: Bytes;
}

/** The way to the node that serves a database, or will. */
export interface LoginRoute {
  /** The connection to it, for this client. The caller aborts `abandoned` if the client has gone. Never rejects. */
  tunnel(caller: Caller, abandoned: AbortSignal): Promise<TunnelOutcome>;
}

/** Of a node that passes connections on. */
export interface LoginRoutes {
  /** Undefined: the login is decided here. */
  routeOf(credentials: Credentials): LoginRoute | undefined;
  /** The way to the only database; undefined if this node serves it, or there are several. */
  readonly onlyRoute: LoginRoute | undefined;
}

/** The databases that a login may name. */
export interface LoginStore extends Pick<Store, "databaseNames"> {
  /** Those that other nodes serve; absent: none. */
  readonly otherDatabaseNames?: readonly string[];
  /** Throws a CommandError for one of those. */
  database(name: string): Database;
}

export interface LoginOptions {
  readonly store: LoginStore;
  readonly tokens: Pick<TokenTable, "find">;
  /** Whether clients without a login are `default`, if there is only one database (`--redis-compat`). */
  readonly isOpenToAll: boolean;
  /** Absent: every login is decided here. */
  readonly routes?: LoginRoutes | undefined;
}

/** The login of one connection, with its token. */
export class RespLogin implements SessionLogin {
  readonly #options: LoginOptions;
  /** The grant of the last token; undefined for a user with a password. */
  #grant: Grant | undefined;
  #database: Database | undefined;
  #route: LoginRoute | undefined;
  #isDecidedHere = false;

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  get grant(): Grant | undefined {
    return this.#grant;
  }

  /** The database of the last login. */
  get database(): Database | undefined {
    return this.#database;
  }

  /** The way that the last login has found, which was not decided here. */
  get route(): LoginRoute | undefined {
    return this.#route;
  }

  /** Returns it, and forgets it. */
  takeRoute(): LoginRoute | undefined {
    const route = this.#route;
    this.#route = undefined;
    return route;
  }

  /** The way of a client that needs no login; undefined: it needs one, or its database is here. */
  get openRoute(): LoginRoute | undefined {
    const { isOpenToAll, routes } = this.#options;
    return isOpenToAll && !this.#isDecidedHere ? routes?.onlyRoute : undefined;
  }

  /** The connection has left this node, with any login that it had before. */
  end(): void {
    this.#grant = undefined;
    this.#database = undefined;
  }

  /** A way has ended at this node: no login leaves it until `decideAnywhere`. */
  decideHere(): void {
    this.#isDecidedHere = true;
  }

  decideAnywhere(): void {
    this.#isDecidedHere = false;
  }

  logIn({ user, password }: Credentials, asker?: Session): LoggedIn | undefined {
    // A session with a login stays, because its state cannot follow it.
    const mayLeave = asker?.isAuthenticated !== true && !this.#isDecidedHere;
    this.#route = mayLeave ? this.#options.routes?.routeOf({ user, password }) : undefined;
    if (this.#route !== undefined) throw new CommandError("ERR the database is on another node");
    const access = accessOf(user);
    if (access === undefined) return this.#logInUser({ login: user ?? "", password }, asker);
    const grant = this.#options.tokens.find(password);
    if (grant === undefined || grant.access !== access) return undefined;
    const database = this.#entered(this.#options.store.database(grant.tenant));
    this.#grant = grant;
    return { database, user: access === "standard" ? defaultUser : readOnlyUser };
  }

  get anonymous(): LoggedIn | undefined {
    const database = this.#options.isOpenToAll ? this.#onlyDatabase() : undefined;
    return database === undefined ? undefined : { database: this.#entered(database), user: defaultUser };
  }

  /** Replies of a connection wait for one journal: throws a CommandError if the database has another. */
  #entered(database: Database): Database {
    if (this.#database !== undefined && this.#database.context.journal !== database.context.journal)
      throw new CommandError("ERR the database is on another shard: log in to it on a new connection");
    this.#database = database;
    return database;
  }

  #logInUser(
    { login, password }: { readonly login: Bytes; readonly password: Bytes },
    asker: Session | undefined,
  ): LoggedIn | undefined {
    const { name, database } = this.#readName(login);
    // If the database does not exist, another one looks for an impossible user, which takes the same time.
    const searched = database ?? this.#anyDatabase();
    const user = searched?.users.authenticate(database === undefined ? "" : name, password);
    if (user === undefined) database?.noteFailedLogin(name, asker);
    if (user === undefined || database === undefined) return undefined;
    this.#entered(database);
    this.#grant = undefined;
    return { database, user };
  }

  /** The part after the last `@` may be a database; user names may contain `@` too. */
  #readName(login: Bytes): { name: Bytes; database: Database | undefined } {
    const { store } = this.#options;
    const { databaseNames, otherDatabaseNames = [] } = store;
    const database = databaseNameIn(login, databaseNames) ?? databaseNameIn(login, otherDatabaseNames);
    if (database === undefined) return { name: login, database: this.#onlyDatabase() };
    return { name: login.slice(0, login.lastIndexOf("@")), database: store.database(database) };
  }

  #onlyDatabase(): Database | undefined {
    const { databaseNames, otherDatabaseNames = [] } = this.#options.store;
    return databaseNames.length === 1 && otherDatabaseNames.length === 0 ? this.#anyDatabase() : undefined;
  }

  #anyDatabase(): Database | undefined {
    const [name] = this.#options.store.databaseNames;
    return name === undefined ? undefined : this.#options.store.database(name);
  }
}

/** The access of the two users whose passwords are tokens; undefined for others. No name is `default`, as in Redis. */
export function accessOf(user: Bytes | undefined): DefaultAccess | undefined {
  if (user === undefined || user === defaultUser.name) return "standard";
  return user === readOnlyUser.name ? "read-only" : undefined;
}

/** The database that a user names after the last `@`, if it is one of these. */
export function databaseNameIn(user: Bytes | undefined, names: readonly string[]): string | undefined {
  const at = user?.lastIndexOf("@") ?? -1;
  if (user === undefined || at < 0) return undefined;
  const name = textFromBytes(user.slice(at + 1));
  return names.includes(name) ? name : undefined;
}
