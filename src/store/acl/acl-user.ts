/** A user of a database, created by ACL SETUSER. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import { type CommandError, noPermission, noPermissionFor } from "../errors.ts";
import type { User } from "./user.ts";
import type { UserRights } from "./user-rights.ts";

/** One object while the user exists: its holders see every change of its rights. */
export class AclUser implements User {
  readonly name: Bytes;
  #rights: UserRights;
  #isDeleted = false;
  /** A read may store what it computed: that is not a change that needs rights. */
  readonly mayKeepFigures = true;

  constructor(name: Bytes, rights: UserRights) {
    this.name = name;
    this.#rights = rights;
  }

  /** Its rights. Immutable; replaced as a whole. */
  get rights(): UserRights {
    return this.#rights;
  }

  /** True once the user is deleted: a later user with this name is another user. */
  get isDeleted(): boolean {
    return this.#isDeleted;
  }

  get isUnrestricted(): boolean {
    return this.#rights.isUnrestricted && !this.#isDeleted;
  }

  refusalOf(command: CommandFacts, words: readonly Bytes[]): CommandError | undefined {
    // A deleted user may do nothing, although objects may still hold it.
    if (this.#isDeleted) return noPermission(command.fullName);
    const denial = this.#rights.denialOf(command, words);
    if (denial === undefined) return undefined;
    if (denial.reason === "command") return noPermission(command.fullName);
    return noPermissionFor(denial.reason, words[denial.at] ?? "");
  }

  mayReadAllKeys(command: CommandFacts, words: readonly Bytes[]): boolean {
    return !this.#isDeleted && this.#rights.mayReadAllKeys(command, words);
  }

  mayReadPrefixes(command: CommandFacts, words: readonly Bytes[], prefixes: readonly Bytes[]): boolean {
    return !this.#isDeleted && this.#rights.mayReadPrefixes(command, words, prefixes);
  }

  mayKnow(key: Bytes): boolean {
    return !this.#isDeleted && this.#rights.mayKnow(key);
  }

  /** For `Users` only. */
  change(rights: UserRights): void {
    this.#rights = rights;
  }

  /** For `Users` only. */
  delete(): void {
    this.#isDeleted = true;
  }

  /** For `Users` only. Makes the user what it is now. */
  restorer(): () => void {
    const rights = this.#rights;
    const isDeleted = this.#isDeleted;
    return () => {
      this.#rights = rights;
      this.#isDeleted = isDeleted;
    };
  }
}
