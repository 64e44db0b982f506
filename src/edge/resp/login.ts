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

export interface LoginOptions {
  readonly store: Pick<Store, "database" | "databaseNames">;
  readonly tokens: Pick<TokenTable, "find">;
  /** Whether clients without a login are `default`, if there is only one database (`--redis-compat`). */
  readonly isOpenToAll: boolean;
}

/** The login of one connection, with its token. */
export class RespLogin implements SessionLogin {
  readonly #options: LoginOptions;
  /** The grant of the last token; undefined for a user with a password. */
  #grant: Grant | undefined;
  #database: Database | undefined;

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

  logIn(
    { user, password }: { readonly user: Bytes | undefined; readonly password: Bytes },
    asker?: Session,
  ): LoggedIn | undefined {
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
    const at = login.lastIndexOf("@");
    if (at >= 0) {
      const database = this.#findDatabase(textFromBytes(login.slice(at + 1)));
      if (database !== undefined) return { name: login.slice(0, at), database };
    }
    return { name: login, database: this.#onlyDatabase() };
  }

  /** Unlike `store.database`, never creates a database. */
  #findDatabase(name: string): Database | undefined {
    const { store } = this.#options;
    return store.databaseNames.includes(name) ? store.database(name) : undefined;
  }

  #onlyDatabase(): Database | undefined {
    return this.#options.store.databaseNames.length === 1 ? this.#anyDatabase() : undefined;
  }

  #anyDatabase(): Database | undefined {
    const [name] = this.#options.store.databaseNames;
    return name === undefined ? undefined : this.#options.store.database(name);
  }
}

/** The access of the two users whose passwords are tokens; undefined for others. No name is `default`, as in Redis. */
function accessOf(user: Bytes | undefined): DefaultAccess | undefined {
  if (user === undefined || user === defaultUser.name) return "standard";
  return user === readOnlyUser.name ? "read-only" : undefined;
}
