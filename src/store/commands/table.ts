/** All commands, by family, and how one is found by its name. */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { Command } from "../command.ts";
import { bitmapCommands } from "./bitmap.ts";
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
  ...serverCommands,
  ...pubsubCommands,
  ...scriptingCommands,
  ...transactionCommands,
  ...debugCommands,
];

/** Places of the table of names: some times as many as there are names, so that few of them meet. */
const PLACE_COUNT = 2_048;
const PLACE_MASK = PLACE_COUNT - 1;
/** So many letters of a name decide on its place. */
const PLACING_LENGTH_MAX = 32;

interface Place {
  readonly upper: string;
  readonly lower: string;
  readonly command: Command;
}

const places: (Place | undefined)[] = new Array(PLACE_COUNT).fill(undefined);
for (const command of commands) {
  let at = placeOf(command.name);
  while (places[at] !== undefined) at = (at + 1) & PLACE_MASK;
  places[at] = { upper: command.name, lower: command.name.toLowerCase(), command };
}

/**
 * The command of this name in any case, or undefined. The name has just been cut from a request, and a `Map` would first
 * work out the hash that V8 keeps with each string: that takes longer than all of this.
 */
export function findCommand(name: Bytes): Command | undefined {
  const start = placeOf(name);
  return findSpelled(name, start) ?? findSpelled(upperCase(name), start);
}

/** The command whose name is spelled so, all in upper or all in lower case. */
function findSpelled(name: Bytes, start: number): Command | undefined {
  for (let at = start, place = places[at]; place !== undefined; at = (at + 1) & PLACE_MASK, place = places[at])
    if (place.upper === name || place.lower === name) return place.command;
  return undefined;
}

const byNumber: Command[] = [];
for (const command of commands) {
  byNumber[command.number] = command;
  for (const subcommand of command.subcommandByName?.values() ?? []) byNumber[subcommand.number] = subcommand;
}

/** The command or subcommand of a number, which must exist. */
export function commandOfNumber(number: number): Command {
  return byNumber[number] as Command;
}

/** Where the search for a name begins, the same for all ways to spell it. */
function placeOf(name: Bytes): number {
  let hash = name.length;
  const end = Math.min(hash, PLACING_LENGTH_MAX);
  for (let i = 0; i < end; i += 1) hash = (Math.imul(hash, 31) + (name.charCodeAt(i) | 0x20)) | 0;
  return (hash ^ (hash >>> 11)) & PLACE_MASK;
}
