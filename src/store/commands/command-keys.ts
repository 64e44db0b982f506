/**
 * The keys among the words of a command, and how it uses each: for COMMAND
 * GETKEYS, for the rights of users and for scripts, which must agree.
 *
 * `findKeys` must find exactly the keys that the command uses, for all words: a
 * key that it misses would be open to all users. `command-keys.test.ts` watches
 * the keyspace while commands run.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { CommandFacts, KeyUse, OperandCounts, RowFacts } from "../command-facts.ts";

function use(...flags: readonly string[]): KeyUse {
  return {
    flags,
    isRead: flags.includes("access"),
    isWritten: ["insert", "update", "delete"].some((flag) => flags.includes(flag)),
  };
}

/** Whether it exists, its type, its length, whether it has a member, but none of its contents. */
export const looked = use("RO");
export const read = use("RO", "access");
/** Read, and perhaps stored in another form. */
export const readAndStored = use("RW", "access");
export const inserted = use("RW", "insert");
export const readAndInserted = use("RW", "access", "insert");
export const updated = use("RW", "update");
export const readAndUpdated = use("RW", "access", "update");
/** Parts of it are removed, but not returned. */
export const reduced = use("RW", "delete");
/** Parts of it are removed and returned. */
export const taken = use("RW", "access", "delete");
/** Whatever its old value. */
export const overwritten = use("OW", "update");
/** Created if it does not exist. */
export const created = use("OW", "insert");
export const removed = use("RM", "delete");

const READ: readonly KeyUse[] = [read];
const READ_AND_UPDATED: readonly KeyUse[] = [readAndUpdated];

/** How a row uses its first key, and its other keys if that differs. */
export function keyUsesOf({ keyUses, flags }: RowFacts): readonly KeyUse[] {
  if (keyUses !== undefined) return keyUses.filter((one) => one !== undefined);
  // What a script does with its keys is unknown, so assume the worst.
  return flags.includes("readonly") ? READ : READ_AND_UPDATED;
}

export interface FoundKey {
  readonly key: Bytes;
  readonly use: KeyUse;
  /** The index of the word. */
  readonly at: number;
}

export interface FoundKeys {
  readonly keys: readonly FoundKey[];
  /** True if the command will refuse these words before it looks at a key, because the number of keys is wrong. */
  readonly isMalformed: boolean;
}

export function hasKeys({ keys }: RowFacts): boolean {
  return keys.first !== 0 || keys.countAt !== undefined || keys.after !== undefined;
}

/** Assumes that the number of words matches the arity. */
export function findKeys(command: CommandFacts, words: readonly Bytes[]): FoundKeys {
  const { keys } = command;
  const uses = command.keyUsesWith?.(words) ?? keyUsesOf(command);
  const found: FoundKey[] = [];
  let isMalformed = false;
  const find = (at: number): void => {
    found.push({ key: words[at] as Bytes, use: uses[Math.min(found.length, uses.length - 1)] as KeyUse, at });
  };
  const end = Math.min(keys.last < 0 ? words.length + keys.last : keys.last, words.length - 1);
  for (let at = keys.first; at > 0 && at <= end; at += keys.step) find(at);
  if (keys.countAt !== undefined) {
    const count = Number.parseInt(words[keys.countAt] ?? "", 10);
    const countMin = command.flags.includes("no_mandatory_keys") ? 0 : 1;
    const step = keys.countStep ?? 1;
    if (count >= countMin && count * step < words.length - keys.countAt)
      for (let i = 0; i < count; i += 1) find(keys.countAt + 1 + i * step);
    else isMalformed = true;
  }
  if (keys.after !== undefined) {
    const { word, operandCounts } = keys.after;
    // If the word occurs only as an operand, the command is refused; yet its keys are reported, as in Redis.
    const place =
      optionIndexes(words, { word, operandCounts, from: 1 })[0] ?? words.findIndex((one) => upperCase(one) === word);
    const start = (place > 0 ? place : words.length) + 1;
    const count = (words.length - start) >> 1;
    for (let i = 0; i < count; i += 1) find(start + i);
    isMalformed ||= count < 1;
  }
  for (const at of keys.stored?.(words) ?? []) find(at);
  return { keys: found, isMalformed };
}

/** The indexes at which an option occurs as an option, not as the operand of another one. */
export function optionIndexes(
  words: readonly Bytes[],
  { word, operandCounts, from }: { word: string; operandCounts: OperandCounts; from: number },
): readonly number[] {
  const indexes: number[] = [];
  for (let at = from; at < words.length; at += 1) {
    const option = upperCase(words[at] as Bytes);
    if (option === word) indexes.push(at);
    at += operandCounts.get(option) ?? 0;
  }
  return indexes;
}
