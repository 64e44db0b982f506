/**
 * Keeps data commands from changing search indexes. Most values are replaced by a
 * write whatever their type, but an index would be lost with its documents, so a
 * command that writes is refused if one of its keys is an index.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type CommandFacts, SEVERAL_KEYS } from "../command-facts.ts";
import { findKeys } from "../commands/command-keys.ts";
import { wrongType } from "../errors.ts";
import type { SearchNames } from "./names.ts";

/** Throws `wrongType` if a key of a command that writes is an index, unless the row of the command takes indexes. */
export function checkIndexKeys(names: SearchNames, command: CommandFacts, words: readonly Bytes[]): void {
  const { protectedKeyAt } = command;
  if (protectedKeyAt === 0) return;
  if (protectedKeyAt !== SEVERAL_KEYS) {
    if (names.isIndex(words[protectedKeyAt] as Bytes)) throw wrongType;
    return;
  }
  for (const { key } of findKeys(command, words).keys) if (names.isIndex(key)) throw wrongType;
}
