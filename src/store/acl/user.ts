/**
 * The rights of a caller. They are checked after a command was found and its
 * arity was right, and before it runs.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { CommandError } from "../errors.ts";

export interface User {
  readonly name: Bytes;
  /** True once the user is deleted. */
  readonly isDeleted?: boolean;
  /** True if nothing is denied, so that no check is needed. */
  readonly isUnrestricted: boolean;
  /** True if a read may store what it computed, such as the estimate of PFCOUNT. */
  readonly mayKeepFigures: boolean;
  /** Why it may not run a command with these words (name first), or undefined. */
  refusalOf(command: CommandFacts, words: readonly Bytes[]): CommandError | undefined;
  /** Whether a command with these words may read keys that no word names, as BY and GET of SORT do. */
  mayReadAllKeys(command: CommandFacts, words: readonly Bytes[]): boolean;
  /**
   * Whether a command with these words may read every key that begins with one of these prefixes: for indexes, whose
   * answers have keys that no word names.
   */
  mayReadPrefixes(command: CommandFacts, words: readonly Bytes[], prefixes: readonly Bytes[]): boolean;
  /** Whether it has any right to a key of this name. */
  mayKnow(key: Bytes): boolean;
}
