/** Errors of scripts and for scripts, in the words of Redis 7.0. */
import { CommandError } from "../errors.ts";

export const noScript = new CommandError("NOSCRIPT No matching script. Please use EVAL.");
export const nothingRuns = new CommandError("NOTBUSY No scripts in execution right now.");
export const keyCountNegative = new CommandError("ERR Number of keys can't be negative");
export const keyCountInvalid = new CommandError("ERR Bad number of keys provided");
export const writesWithReadOnlyCommand = new CommandError(
  "ERR Can not execute a script with write flag using *_ro command.",
);
export const scriptFlushMode = new CommandError("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
export const scriptDebugMode = new CommandError("ERR Use SCRIPT DEBUG YES/SYNC/NO");
export const scriptDebugMissing = new CommandError("ERR The script debugger is not available");
export const functionFlushMode = new CommandError("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
export const libraryNotFound = new CommandError("ERR Library not found");
export const libraryNameMissing = new CommandError("ERR library name argument was not given");
export const restorePolicyUnknown = new CommandError(
  "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
);

export const restoredTypeTooOld = new CommandError("ERR Pre-GA function format not supported");
export const restoredTypeWrong = new CommandError("ERR given type is not a function");
export const restoredLibraryUnreadable = new CommandError("ERR failed loading the given functions payload");
export const scriptTooLarge = new CommandError("ERR Script is larger than 1 MiB");
/** A store that was opened without Lua runs no scripts. */
export const luaMissing = new CommandError("ERR Scripts are not available: this store was opened without Lua");

export const commandUnknown = new CommandError("ERR Unknown Redis command called from script");
export const commandWithWrongArity = new CommandError("ERR Wrong number of args calling Redis command from script");
export const commandNotForScripts = new CommandError("ERR This Redis command is not allowed from script");
export const writeInReadOnlyScript = new CommandError("ERR Write commands are not allowed from read-only scripts.");

/** Redis' texts in scripts for missing rights. */
export function noPermissionInScript({ denied }: CommandError): CommandError {
  if (denied?.reason === "key") return keyNotPermitted;
  return denied?.reason === "channel" ? channelNotPermitted : commandNotPermitted;
}

const commandNotPermitted = new CommandError("ERR The user executing the script can't run this command or subcommand");
const keyNotPermitted = new CommandError(
  "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
);
const channelNotPermitted = new CommandError(
  "ERR The user executing the script can't publish to the channel mentioned in the command",
);

/** `allow-key-locking`: text of the hosted service. */
export function dynamicKey(key: string): CommandError {
  return new CommandError(
    `ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set. Key was: ${key}`,
  );
}

export function unknownLoadOption(option: string): CommandError {
  return new CommandError(`ERR Unknown option given: ${option}`);
}

export function unknownListArgument(argument: string): CommandError {
  return new CommandError(`ERR Unknown argument ${argument}`);
}
