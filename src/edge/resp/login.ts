/**
 * Who comes in over TCP (A.tcp). Several databases
 * share one port, so the credentials name the database:
 *
 *     AUTH <standard token>                      the database that owns it
 *     AUTH default <standard token>              the same
 *     AUTH default_ro <read-only token>          its read-only user
 *     AUTH <user>@<database> <password>          a user of that database
 *     AUTH <user> <password>                     the same, where there is one database
 *
 * What the time of an answer tells of tokens and passwords is what TokenTable and
 * Users promise: nothing. Every way through asks one of them, whatever was given.
 */
import { type Bytes, textFromBytes } from "../../kernel/bytes.ts";
import {
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
  readonly tokens: TokenTable;
  /** Whether who says nothing comes in as `default`, where there is one database (`--redis-compat`). */
  readonly isOpenToAll: boolean;
}

/** The login of one connection. It knows which token the connection came in by. */
export class RespLogin implements SessionLogin {
  readonly #options: LoginOptions;
  /** What the last token opened; undefined for a user with a password. */
  #grant: Grant | undefined;

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  get grant(): Grant | undefined {
    return this.#grant;
  }

  logIn(
    { user, password }: { readonly user: Bytes | undefined; readonly password: Bytes },
    asker?: Session,
  ): LoggedIn | undefined {
    const access = accessOf(user);
    if (access === undefined) return this.#logInUser({ given: user ?? "", password }, asker);
    const grant = this.#options.tokens.find(password);
    if (grant === undefined || grant.access !== access) return undefined;
    this.#grant = grant;
    const database = this.#options.store.database(grant.tenant);
    return { database, user: access === "standard" ? defaultUser : readOnlyUser };
  }

  get anonymous(): LoggedIn | undefined {
    const database = this.#options.isOpenToAll ? this.#onlyDatabase() : undefined;
    return database === undefined ? undefined : { database, user: defaultUser };
  }

  #logInUser(
    { given, password }: { readonly given: Bytes; readonly password: Bytes },
    asker: Session | undefined,
  ): LoggedIn | undefined {
    const { name, database } = this.#readName(given);
    // Without such a database another one is asked for a user that cannot be: that takes as long.
    const asked = database ?? this.#anyDatabase();
    const user = asked?.users.authenticate(database === undefined ? "" : name, password);
    if (user === undefined) database?.noteFailedLogin(name, asker);
    if (user === undefined || database === undefined) return undefined;
    this.#grant = undefined;
    return { database, user };
  }

  /** What stands behind the last `@` may be a database; a name may hold that sign too. */
  #readName(given: Bytes): { name: Bytes; database: Database | undefined } {
    const at = given.lastIndexOf("@");
    if (at >= 0) {
      const database = this.#findDatabase(textFromBytes(given.slice(at + 1)));
      if (database !== undefined) return { name: given.slice(0, at), database };
    }
    return { name: given, database: this.#onlyDatabase() };
  }

  /** Never makes one, as `store.database` does. */
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

/** The two users whose passwords are tokens; undefined for every other. No name at all is `default`, as in Redis. */
function accessOf(user: Bytes | undefined): DefaultAccess | undefined {
  if (user === undefined || user === defaultUser.name) return "standard";
  return user === readOnlyUser.name ? "read-only" : undefined;
}
