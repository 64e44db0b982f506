/**
 * The long value of a command that stands beside its words, as a Buffer: a caller
 * that has it as bytes makes no string of it (`RequestWithValue`). The word in its
 * place is empty, and only the row reads it, by `Call.storedWord`.
 */
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";

export class ValueBesideWords {
  /** Undefined while the running command has none. */
  bytes: Buffer | undefined;

  /** Runs `work`, in which one command runs that has this value. */
  during<T>(bytes: Buffer, work: () => T): T {
    this.bytes = bytes;
    try {
      return work();
    } finally {
      this.bytes = undefined;
    }
  }

  /** All words of a command that has just run, with the value in its place: for the slow log and for monitors. */
  wordsWith({ valueAt }: CommandFacts, words: readonly Bytes[]): readonly Bytes[] {
    return this.bytes === undefined || valueAt === undefined ? words : words.with(valueAt, bytesFrom(this.bytes));
  }
}
