/**
 * The users of one database.
 *
 * (1) A user is one object from its creation to its deletion.
 * (2) Every change is a record of the running unit of work, and `onChange` is
 *     called once that unit is over.
 * (3) `default` and `default_ro` have no records: they belong to the tokens of
 *     the database, and no user can have their names.
 * (4) Neither passwords nor tokens are stored, only what is needed to check them.
 *     The secret is drawn for the first token.
 */
import { timingSafeEqual } from "node:crypto";
import { assert } from "../../kernel/assert.ts";
import { type Bytes, bufferFrom } from "../../kernel/bytes.ts";
import type { FrameWriter } from "../../kernel/frame.ts";
import { secretBytes } from "../../kernel/random.ts";
import type { CommandFacts } from "../command-facts.ts";
import {
  builtInUserFixed,
  ruleRefused,
  tooManyUsers,
  unmatchedParenthesis,
  userNameInvalid,
  userNameTooLong,
  userReserved,
  userRulesTooLong,
} from "../errors.ts";
import type { ClosureLog } from "../mutations/undo-log.ts";
import { AclLog } from "./acl-log.ts";
import { AclUser } from "./acl-user.ts";
import { defaultUser, isBuiltIn, readOnlyUser } from "./built-in-users.ts";
import { type CommandTable, commandTableOf } from "./command-table.ts";
import { hasSpaces } from "./selector.ts";
import { hashOf, RULES_BYTES_MAX, UserRights } from "./user-rights.ts";
import {
  ANY_PASSWORD,
  digestOf,
  generatedToken,
  isGeneratedToken,
  restTokenOf,
  SALT_BYTES,
  SECRET_BYTES,
  saltOf,
} from "./user-tokens.ts";

export const USERS_MAX = 10_000;
export const USER_NAME_BYTES_MAX = 256;
/** Memory of a user in the undo log. */
const SAVED_USER_BYTES = 200;

/** Codes of the records. They never change, because data directories contain them. */
export const SET_USER = 180;
export const DELETE_USER = 181;
export const SET_TOKEN_SECRET = 182;

export class Users {
  readonly log = new AclLog();
  /** Called, after a unit of work, for each user that it created, changed or deleted. Not called by replay. */
  onChange: ((name: Bytes) => void) | undefined;
  /** The inverses of the changes of the running unit of work, if it has more than one command. */
  undo: ClosureLog | undefined;
  readonly table: CommandTable;
  readonly #databaseNumber: number;
  readonly #frame: FrameWriter;
  readonly #byName = new Map<Bytes, AclUser>();
  #secret: Buffer | undefined;
  /** Users that the running unit of work has changed. */
  readonly #changed = new Set<Bytes>();

  constructor(options: { databaseNumber: number; frame: FrameWriter; commands: readonly CommandFacts[] }) {
    this.#databaseNumber = options.databaseNumber;
    this.#frame = options.frame;
    this.table = commandTableOf(options.commands);
  }

  /** The user of this name, except `default` and `default_ro`. */
  find(name: Bytes): AclUser | undefined {
    return this.#byName.get(name);
  }

  names(): readonly Bytes[] {
    return [...this.#byName.keys()];
  }

  /**
   * The user with this name and password, if it may log in. The time taken reveals neither the password nor whether the
   * user exists. Never `default` or `default_ro`, whose passwords are tokens, which only the edge knows.
   */
  authenticate(name: Bytes, password: Bytes): AclUser | undefined {
    return this.#credentialOf(name, password)?.user;
  }

  /** SHA-256 in lower-case hexadecimal digits of each token that is valid for this user now. */
  tokenDigestsOf(name: Bytes): readonly string[] {
    const user = this.#byName.get(name);
    const secret = this.#secret;
    if (user === undefined || secret === undefined || !user.rights.isEnabled) return [];
    const { passwords, needsNoPassword } = user.rights;
    const hashes = needsNoPassword ? [ANY_PASSWORD] : passwords.map(({ hash }) => hash);
    return [
      ...hashes.map((hash) => digestOf(restTokenOf(secret, name, hash))),
      // The stored hash of a password is what the edge needs of a token.
      ...passwords.flatMap(({ hash, isToken }) => (isToken ? [hash] : [])),
    ];
  }

  /** The token of ACL RESTTOKEN, or undefined if the name or the password is wrong. */
  restTokenOf(name: Bytes, password: Bytes): string | undefined {
    const credential = this.#credentialOf(name, password);
    return credential === undefined ? undefined : restTokenOf(this.#needSecret(), name, credential.hash);
  }

  /** A token of ACL GENTOKEN: a new one each time, or the one of this password. */
  generateToken(name: Bytes, password: Bytes | undefined): string {
    checkName(name);
    const secret = this.#needSecret();
    const salt = password === undefined ? secretBytes(SALT_BYTES) : saltOf(secret, name, password);
    return generatedToken(secret, name, salt);
  }

  /**
   * Creates or changes a user by rules, in order: all of them or none.
   *
   * @throws {CommandError} naming the wrong rule.
   */
  set(name: Bytes, words: readonly Bytes[]): void {
    if (name === defaultUser.name) throw builtInUserFixed(name);
    checkName(name);
    const known = this.#byName.get(name);
    if (known === undefined && this.#byName.size >= USERS_MAX) throw tooManyUsers(USERS_MAX);
    const rights = known?.rights.copy() ?? new UserRights(this.table);
    const secret = this.#secret;
    const isToken = (password: Bytes): boolean => secret !== undefined && isGeneratedToken(secret, name, password);
    for (const rule of joinSelectors(words)) {
      const fault = rights.apply(rule, { isToken });
      if (fault !== undefined) throw ruleRefused(rule, fault);
    }
    const rules = rights.describe();
    if (rules.reduce((bytes, rule) => bytes + rule.length, 0) > RULES_BYTES_MAX)
      throw userRulesTooLong(RULES_BYTES_MAX);
    this.#willChange();
    this.#put(name, rights);
    writeUser(this.#frame.record(this.#databaseNumber, SET_USER), name, rights);
    this.#changed.add(name); // keeps (2)
  }

  /** Returns how many of them existed. */
  delete(names: readonly Bytes[]): number {
    for (const name of names) if (isBuiltIn(name)) throw builtInUserFixed(name, "removed");
    let count = 0;
    this.#willChange();
    for (const name of names) {
      if (!this.#remove(name)) continue;
      count += 1;
      this.#frame.record(this.#databaseNumber, DELETE_USER).bytes(name);
      this.#changed.add(name);
    }
    return count;
  }

  /** Deletes all users, as part of the running unit of work. The secret stays: without its user no token is valid. */
  clear(): void {
    this.delete(this.names());
  }

  /** The unit of work is over and its frame, if any, is in the journal. Returns the changed users. keeps (2) */
  commit(): readonly Bytes[] {
    if (this.#changed.size === 0) return [];
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const name of changed) this.onChange?.(name);
    return changed;
  }

  /** True after a unit of work that has changed users, until `commit`. */
  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  // For records (user-records.ts).

  /** Rules that this version does not know are ignored: a removed command needs no right. */
  replayUser(name: Bytes, { rules, tokenHashes }: { rules: readonly Bytes[]; tokenHashes: readonly string[] }): void {
    const rights = new UserRights(this.table);
    for (const rule of rules) rights.apply(rule, { isToken: () => false });
    for (const hash of tokenHashes) rights.markToken(hash);
    this.#put(name, rights);
  }

  replayDeletion(name: Bytes): void {
    assert(this.#remove(name), "a deleted user existed");
  }

  replaySecret(secret: Buffer): void {
    assert(secret.length === SECRET_BYTES, "the secret of tokens has 32 bytes");
    this.#secret = Buffer.from(secret);
  }

  /** Writes the records that rebuild all users. */
  describe(record: (code: number) => FrameWriter): void {
    if (this.#secret !== undefined) record(SET_TOKEN_SECRET).buffer(this.#secret);
    for (const [name, { rights }] of this.#byName) writeUser(record(SET_USER), name, rights);
  }

  /** All users are saved before their first change in a unit of work that can be undone: ACL is rare there. */
  #willChange(): void {
    const { undo } = this;
    if (undo === undefined || undo.owns(this)) return;
    const secret = this.#secret;
    const users = [...this.#byName.values()];
    const restorers = users.map((user) => user.restorer());
    undo.push(users.length * SAVED_USER_BYTES, () => {
      this.#secret = secret;
      // Users that the unit created are deleted: keeps (1).
      for (const user of this.#byName.values()) user.delete();
      for (const restore of restorers) restore();
      this.#byName.clear();
      for (const user of users) this.#byName.set(user.name, user);
    });
    undo.own(this);
  }

  #put(name: Bytes, rights: UserRights): void {
    const known = this.#byName.get(name);
    if (known === undefined) this.#byName.set(name, new AclUser(name, rights));
    else known.change(rights); // keeps (1)
  }

  #remove(name: Bytes): boolean {
    const user = this.#byName.get(name);
    user?.delete();
    return this.#byName.delete(name);
  }

  /** The user, and the hash of the password that it logged in with. */
  #credentialOf(name: Bytes, password: Bytes): { readonly user: AclUser; readonly hash: string } | undefined {
    const given = hashOf(password);
    const user = this.#byName.get(name);
    let found: string | undefined = user?.rights.needsNoPassword === true ? ANY_PASSWORD : undefined;
    // Compares all of them, whether or not one was right.
    for (const { hash } of user?.rights.passwords ?? [])
      if (timingSafeEqual(bufferFrom(hash), bufferFrom(given))) found = hash;
    if (user === undefined || found === undefined || !user.rights.isEnabled) return undefined;
    return { user, hash: found };
  }

  // keeps (4)
  #needSecret(): Buffer {
    if (this.#secret !== undefined) return this.#secret;
    this.#willChange();
    const secret = secretBytes(SECRET_BYTES);
    this.#secret = secret;
    this.#frame.record(this.#databaseNumber, SET_TOKEN_SECRET).buffer(secret);
    // Everyone has tokens from now on.
    for (const name of this.#byName.keys()) this.#changed.add(name);
    return secret;
  }
}

function checkName(name: Bytes): void {
  if (hasSpaces(name)) throw userNameInvalid;
  if (name.length > USER_NAME_BYTES_MAX) throw userNameTooLong(USER_NAME_BYTES_MAX);
  if (name === readOnlyUser.name || name === defaultUser.name) throw userReserved(name);
}

/** As in Redis, the words from an opening parenthesis to the closing one are one rule. */
function joinSelectors(words: readonly Bytes[]): readonly Bytes[] {
  const rules: Bytes[] = [];
  let open: Bytes[] = [];
  for (const word of words) {
    const isOpen = open.length > 0;
    if (!isOpen && !(word.startsWith("(") && !word.endsWith(")"))) {
      rules.push(word);
      continue;
    }
    open.push(word);
    if (!isOpen || !word.endsWith(")")) continue;
    rules.push(open.join(" "));
    open = [];
  }
  if (open[0] !== undefined) throw unmatchedParenthesis(open[0]);
  return rules;
}

function writeUser(record: FrameWriter, name: Bytes, rights: UserRights): void {
  const rules = rights.describe("stored");
  record.bytes(name).number(rules.length);
  for (const rule of rules) record.bytes(rule);
  const tokens = rights.passwords.filter(({ isToken }) => isToken);
  record.number(tokens.length);
  for (const { hash } of tokens) record.bytes(hash);
}
