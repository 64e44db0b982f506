/**
 * What a caller may do. A command is asked about after it was found and its
 * arity was right, and before anything has happened.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { CommandError } from "../errors.ts";

export interface User {
  readonly name: Bytes;
  /** True once there is no such user any more. */
  readonly isDeleted?: boolean;
  /** Nothing is refused to it, so nothing has to be looked at. */
  readonly isUnrestricted: boolean;
  /** True where a read may keep what it has worked out, such as the estimate of PFCOUNT. */
  readonly mayKeepFigures: boolean;
  /** Why it may not run a command with these words (name first), or undefined. */
  refusalOf(command: CommandFacts, words: readonly Bytes[]): CommandError | undefined;
  /** Whether a command with these words may read keys that no word names, as BY and GET of SORT do. */
  mayReadAllKeys(command: CommandFacts, words: readonly Bytes[]): boolean;
}
