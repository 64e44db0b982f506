/** The shared code of EVAL and FCALL: their arguments, and what the flags of a script allow. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import type { Flag, KeyPositions } from "../command-facts.ts";
import type { CommandsOfScript } from "../command-host.ts";
import { type CommandError, diskRefusal, keyCountTooLarge, memoryUsedUp, outOfMemory, StoppedUnit } from "../errors.ts";
import { findError, type Reply } from "../reply/reply.ts";
import { keyCountNegative } from "../scripting/script-errors.ts";
import type { ScriptFlag } from "../scripting/script-header.ts";

/** The word after the script or the name of a function is the number of keys that follow. */
export const scriptKeys: KeyPositions = { first: 0, last: 0, step: 0, countAt: 2 };
/** Monitors see the script itself, before the commands that it runs. */
const flagsOfAll: readonly Flag[] = ["noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys"];
export const scriptFlags: readonly Flag[] = [...flagsOfAll, "may-replicate"];
/** `powerful`: a read-only token may not run them (A.read-only-token). */
export const readOnlyScriptFlags: readonly Flag[] = ["readonly", ...flagsOfAll, "powerful"];

export interface KeysAndArguments {
  readonly keys: readonly Bytes[];
  readonly args: readonly Bytes[];
}

/** The words after the second one. Throws `notNumber` for an invalid count. */
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
  /** Undefined: a script without flags, for which each command is checked alone, as before flags existed. */
  readonly flags: readonly ScriptFlag[] | undefined;
  /** True if a read-only command runs the script. */
  readonly isReadOnly: boolean;
  readonly keys: readonly Bytes[];
}

/**
 * Runs a script by its flags. Throws CommandError if they do not allow it now, and for an error that the script itself
 * raised, not one of its commands, so that each error is counted once.
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
    if (error === undefined) return reply;
    if (error instanceof StoppedUnit || !commands.isOfCommand(error)) throw error;
    // The script has failed too.
    database.countsOf(call.command).failed += 1;
    return reply;
  });
}
