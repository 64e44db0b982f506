/** The users of the two tokens that every database has. They are the same for all databases and never change. */
import type { Bytes } from "../../kernel/bytes.ts";
import { noPermission } from "../errors.ts";
import type { User } from "./user.ts";

/** Of the standard token: may do everything. */
export const defaultUser: User = {
  name: "default",
  isUnrestricted: true,
  mayKeepFigures: true,
  refusalOf: () => undefined,
  mayReadAllKeys: () => true,
};

/** Of the read-only token: may run what its row says (A.read-only-token). */
export const readOnlyUser: User = {
  name: "default_ro",
  isUnrestricted: false,
  mayKeepFigures: false,
  refusalOf: (command, words) =>
    command.isForReadOnlyToken && command.isPowerfulWith?.(words) !== true ? undefined : noPermission(command.fullName),
  mayReadAllKeys: () => false,
};

/** Names that nobody else can have. */
export function isBuiltIn(name: Bytes): boolean {
  return name === defaultUser.name || name === readOnlyUser.name;
}
