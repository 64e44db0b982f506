/** What EVAL and FCALL have in common: their words, and what the flags of a script allow. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import type { Flag, KeyPositions } from "../command-facts.ts";
import type { CommandsOfScript } from "../command-host.ts";
import { type CommandError, diskRefusal, keyCountTooLarge, memoryUsedUp, outOfMemory } from "../errors.ts";
import { findError, type Reply } from "../reply/reply.ts";
import { keyCountNegative } from "../scripting/script-errors.ts";
import type { ScriptFlag } from "../scripting/script-header.ts";

/** Behind the script or the name of a function stands how many of the words that follow are keys. */
export const scriptKeys: KeyPositions = { first: 0, last: 0, step: 0, countAt: 2 };
/** They show themselves to monitors, in front of the commands that they run. */
const flagsOfAll: readonly Flag[] = ["noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys"];
export const scriptFlags: readonly Flag[] = [...flagsOfAll, "may-replicate"];
/** `powerful`: a token that only reads may not run them (A.read-only-token). */
export const readOnlyScriptFlags: readonly Flag[] = ["readonly", ...flagsOfAll, "powerful"];

export interface KeysAndArguments {
  readonly keys: readonly Bytes[];
  readonly args: readonly Bytes[];
}

/** The words behind the second one. Throws `notNumber` for a count that is none. */
export function readKeysAndArguments(call: Call, notNumber: CommandError): KeysAndArguments {
  const { argCount, argsFrom } = call;
  let count: number;
  try {
    count = call.count(2);
  } catch {
    throw notNumber;
  }
  if (count > argCount - 3) throw keyCountTooLarge;
  if (count < 0) throw keyCountNegative;
  if (argCount === 3) return { keys: [], args: [] };
  const words = argsFrom(3);
  return { keys: words.slice(0, count), args: words.slice(count) };
}

export interface FlaggedScript {
  /** Undefined: the script says nothing, and is held to each of its commands alone, as before there were flags. */
  readonly flags: readonly ScriptFlag[] | undefined;
  /** Run by a command that lets nothing be written. */
  readonly isReadOnly: boolean;
  readonly keys: readonly Bytes[];
}

/**
 * Runs a script by its flags. Throws CommandError for what they do not allow now, and for an error of the script that none of
 * its commands has answered, so that each error is counted once.
 */
export function runScript(call: Call, script: FlaggedScript, run: (commands: CommandsOfScript) => Reply): Reply {
  const { database, caller } = call;
  const { flags, keys } = script;
  const isReadOnly = script.isReadOnly || flags?.includes("no-writes") === true;
  const hasRoom = database.hasRoom && database.memory.mayGrow;
  const allowsGrowth = hasRoom || flags?.includes("allow-oom") === true;
  if (flags !== undefined && !isReadOnly) {
    const refusal = database.journalRefusal;
    if (refusal !== undefined) throw diskRefusal(refusal);
    if (!allowsGrowth) throw database.hasRoom ? memoryUsedUp : outOfMemory;
  }
  if (database.monitors.isWatched)
    database.monitors.notify({ words: call.argsFrom(0), address: caller.address, nowMs: call.nowMs });
  const lockedKeys = flags?.includes("allow-key-locking") === true ? new Set(keys) : undefined;
  return database.runScript({ isReadOnly, allowsGrowth, lockedKeys }, (commands) => {
    const reply = run(commands);
    const error = findError(reply);
    if (error !== undefined && !commands.isOfCommand(error)) throw error;
    return reply;
  });
}
