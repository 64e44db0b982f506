/** The users of the two tokens of every database. They are the same for all databases and never change. */
import type { Bytes } from "../../kernel/bytes.ts";
import { noPermission } from "../errors.ts";
import type { User } from "./user.ts";

/** The user of the standard token: may do everything. */
export const defaultUser: User = {
  name: "default",
  isUnrestricted: true,
  mayKeepFigures: true,
  refusalOf: () => undefined,
  mayReadAllKeys: () => true,
  mayReadPrefixes: () => true,
  mayKnow: () => true,
};

/** The user of the read-only token: may run what the row of a command allows (A.read-only-token). */
export const readOnlyUser: User = {
  name: "default_ro",
  isUnrestricted: false,
  mayKeepFigures: false,
  refusalOf: (command, words) =>
    command.isForReadOnlyToken && command.isPowerfulWith?.(words) !== true ? undefined : noPermission(command.fullName),
  mayReadAllKeys: () => false,
  // It may read every key whose name it knows, and an index shows those of the prefixes that its owner has chosen.
  mayReadPrefixes: () => true,
  mayKnow: () => true,
};

/** Names that no other user can have. */
export function isBuiltIn(name: Bytes): boolean {
  return name === defaultUser.name || name === readOnlyUser.name;
}
