/**
 * The keys among the words of a command, and how it uses each: for COMMAND
 * GETKEYS, for the rights of users and for scripts, which must agree.
 *
 * What is found here has to be what the command takes for its keys, whatever
 * the words: a key that it uses and that is not found would be open to all.
 * `command-keys.test.ts` watches the keyspace while commands run.
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

/** That it exists, its type, its length, whether it has a member: nothing of what it holds. */
export const looked = use("RO");
export const read = use("RO", "access");
/** Read, and perhaps kept in another form. */
export const readAndStored = use("RW", "access");
export const inserted = use("RW", "insert");
export const readAndInserted = use("RW", "access", "insert");
export const updated = use("RW", "update");
export const readAndUpdated = use("RW", "access", "update");
/** Parts of it go, unseen. */
export const reduced = use("RW", "delete");
/** What goes is seen. */
export const taken = use("RW", "access", "delete");
/** Whatever it held. */
export const overwritten = use("OW", "update");
/** Made where there was nothing. */
export const created = use("OW", "insert");
export const removed = use("RM", "delete");

const READ: readonly KeyUse[] = [read];
const READ_AND_UPDATED: readonly KeyUse[] = [readAndUpdated];

/** How a row uses its first key, and all others if that differs. */
export function keyUsesOf({ keyUses, flags }: RowFacts): readonly KeyUse[] {
  if (keyUses !== undefined) return keyUses.filter((one) => one !== undefined);
  // What a script does with its keys cannot be known, so it is the worst.
  return flags.includes("readonly") ? READ : READ_AND_UPDATED;
}

export interface FoundKey {
  readonly key: Bytes;
  readonly use: KeyUse;
  /** Which word it is. */
  readonly at: number;
}

export interface FoundKeys {
  readonly keys: readonly FoundKey[];
  /** True where the command will refuse these words before it looks at a key, since it has no such number of keys. */
  readonly isMalformed: boolean;
}

export function hasKeys({ keys }: RowFacts): boolean {
  return keys.first !== 0 || keys.countAt !== undefined || keys.after !== undefined;
}

/** The words are as many as the arity asks for. */
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
    if (count >= countMin && count < words.length - keys.countAt)
      for (let i = 1; i <= count; i += 1) find(keys.countAt + i);
    else isMalformed = true;
  }
  if (keys.after !== undefined) {
    const { word, operandCounts } = keys.after;
    // Where it stands as what an option takes alone, the command is refused; yet its keys are told, as Redis does.
    const place =
      placesOf(words, { word, operandCounts, from: 1 })[0] ?? words.findIndex((one) => upperCase(one) === word);
    const start = (place > 0 ? place : words.length) + 1;
    const count = (words.length - start) >> 1;
    for (let i = 0; i < count; i += 1) find(start + i);
    isMalformed ||= count < 1;
  }
  for (const at of keys.stored?.(words) ?? []) find(at);
  return { keys: found, isMalformed };
}

/** Where an option stands as an option, and not as what another one takes. */
export function placesOf(
  words: readonly Bytes[],
  { word, operandCounts, from }: { word: string; operandCounts: OperandCounts; from: number },
): readonly number[] {
  const places: number[] = [];
  for (let at = from; at < words.length; at += 1) {
    const option = upperCase(words[at] as Bytes);
    if (option === word) places.push(at);
    at += operandCounts.get(option) ?? 0;
  }
  return places;
}
