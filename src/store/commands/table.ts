/** All commands, by family, and how to find one by its name. */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { Command } from "../command.ts";
import type { CommandRequest } from "../command-facts.ts";
import { bitmapCommands } from "./bitmap.ts";
import { clusterCommands } from "./cluster.ts";
import { connectionCommands } from "./connection.ts";
import { debugCommands } from "./debug.ts";
import { genericCommands } from "./generic.ts";
import { geoCommands } from "./geo.ts";
import { hashCommands } from "./hash.ts";
import { hyperLogLogCommands } from "./hyperloglog.ts";
import { jsonCommands } from "./json.ts";
import { listCommands } from "./list.ts";
import { listBlockingCommands } from "./list-blocking.ts";
import { pubsubCommands } from "./pubsub.ts";
import { scriptingCommands } from "./scripting.ts";
import { searchCommands } from "./search.ts";
import { serverCommands } from "./server.ts";
import { setCommands } from "./set.ts";
import { sortedSetCommands } from "./sorted-set.ts";
import { sortedSetBlockingCommands } from "./sorted-set-blocking.ts";
import { streamCommands } from "./stream.ts";
import { stringCommands } from "./string.ts";
import { transactionCommands } from "./transaction.ts";

export const commands: readonly Command[] = [
  ...connectionCommands,
  ...genericCommands,
  ...stringCommands,
  ...bitmapCommands,
  ...hashCommands,
  ...listCommands,
  ...listBlockingCommands,
  ...setCommands,
  ...sortedSetCommands,
  ...sortedSetBlockingCommands,
  ...streamCommands,
  ...geoCommands,
  ...hyperLogLogCommands,
  ...jsonCommands,
  ...searchCommands,
  ...serverCommands,
  ...pubsubCommands,
  ...scriptingCommands,
  ...transactionCommands,
  ...clusterCommands,
  ...debugCommands,
];

/** Slots of the table of names: several times the number of names, so that few collide. */
const SLOT_COUNT = 2_048;
const SLOT_MASK = SLOT_COUNT - 1;
/** The letters of a name that determine its slot. */
const SLOT_LENGTH_MAX = 32;

interface NameSlot {
  readonly upper: string;
  readonly lower: string;
  readonly command: Command;
  /** The string that named it last: that of the next request is mostly the same one (kernel/short-bytes.ts). */
  last: string;
}

/** Shorter words share memory with no other string. */
const LAST_LENGTH_MAX = 12;

const slots: (NameSlot | undefined)[] = new Array(SLOT_COUNT).fill(undefined);
for (const command of commands) {
  let at = slotOf(command.name);
  while (slots[at] !== undefined) at = (at + 1) & SLOT_MASK;
  slots[at] = { upper: command.name, lower: command.name.toLowerCase(), command, last: command.name };
}

/** The name that was found last, and its command: requests mostly repeat a command. */
let lastName = "";
let lastCommand: Command | undefined;

/**
 * The command of this name in any case, or undefined. The name has just been cut from a request, and a `Map` would
 * first compute the hash that V8 stores with each string: that takes longer than this whole search.
 */
export function findCommand(name: Bytes): Command | undefined {
  if (name === lastName) return lastCommand;
  const start = slotOf(name);
  const command = findSpelled(name, start) ?? findSpelled(upperCase(name), start);
  if (command !== undefined && name.length <= LAST_LENGTH_MAX) {
    lastName = name;
    lastCommand = command;
  }
  return command;
}

/** The command with this spelling of its name, all in upper or all in lower case. */
function findSpelled(name: Bytes, start: number): Command | undefined {
  for (let at = start, slot = slots[at]; slot !== undefined; at = (at + 1) & SLOT_MASK, slot = slots[at]) {
    if (slot.last === name) return slot.command;
    if (slot.upper !== name && slot.lower !== name) continue;
    if (name.length <= LAST_LENGTH_MAX) slot.last = name;
    return slot.command;
  }
  return undefined;
}

const byNumber: Command[] = [];
for (const command of commands) {
  byNumber[command.number] = command;
  for (const subcommand of command.subcommandByName?.values() ?? []) byNumber[subcommand.number] = subcommand;
}

/** The command or subcommand with this number, which must exist. */
export function commandOfNumber(number: number): Command {
  return byNumber[number] as Command;
}

/** The slot where the search for a name begins, the same for all spellings. */
function slotOf(name: Bytes): number {
  let hash = name.length;
  const end = Math.min(hash, SLOT_LENGTH_MAX);
  for (let i = 0; i < end; i += 1) hash = (Math.imul(hash, 31) + (name.charCodeAt(i) | 0x20)) | 0;
  return (hash ^ (hash >>> 11)) & SLOT_MASK;
}

/** In place of the number of a command that does not exist. */
export const NO_COMMAND = -1;

/** The number of the command or subcommand of a request; a turn has it as its kind. */
export function numberOf([name = "", subcommand]: CommandRequest): number {
  const command = findCommand(name);
  if (command?.subcommandByName === undefined || subcommand === undefined) return command?.number ?? NO_COMMAND;
  return command.subcommandByName.get(upperCase(subcommand))?.number ?? NO_COMMAND;
}
