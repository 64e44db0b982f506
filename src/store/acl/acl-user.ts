/** A user of a database, made by ACL SETUSER. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import { type CommandError, noPermission, noPermissionFor } from "../errors.ts";
import type { User } from "./user.ts";
import type { UserRights } from "./user-rights.ts";

/** One object for as long as the user exists: who holds it sees every change of its rights. */
export class AclUser implements User {
  readonly name: Bytes;
  #rights: UserRights;
  #isDeleted = false;
  /** A read may keep what it has worked out: that is no change that rights are about. */
  readonly mayKeepFigures = true;

  constructor(name: Bytes, rights: UserRights) {
    this.name = name;
    this.#rights = rights;
  }

  /** What it may do. Never changed itself, but replaced as a whole. */
  get rights(): UserRights {
    return this.#rights;
  }

  /** True from the moment when the user was deleted: another one of this name is another user. */
  get isDeleted(): boolean {
    return this.#isDeleted;
  }

  get isUnrestricted(): boolean {
    return this.#rights.isUnrestricted && !this.#isDeleted;
  }

  refusalOf(command: CommandFacts, words: readonly Bytes[]): CommandError | undefined {
    // Whoever still holds a user that is gone may do nothing.
    if (this.#isDeleted) return noPermission(command.fullName);
    const denial = this.#rights.denialOf(command, words);
    if (denial === undefined) return undefined;
    if (denial.reason === "command") return noPermission(command.fullName);
    return noPermissionFor(denial.reason, words[denial.at] ?? "");
  }

  mayReadAllKeys(command: CommandFacts, words: readonly Bytes[]): boolean {
    return !this.#isDeleted && this.#rights.mayReadAllKeys(command, words);
  }

  /** For `Users` alone. */
  change(rights: UserRights): void {
    this.#rights = rights;
  }

  /** For `Users` alone. */
  delete(): void {
    this.#isDeleted = true;
  }
}
