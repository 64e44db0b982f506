/** The first line of a script or library, `#!lua …`, with the error texts of Redis 7.0. */
import type { Bytes } from "../../kernel/bytes.ts";
import { CommandError } from "../errors.ts";

/** The flags of Redis, and `allow-key-locking` of the hosted service. */
const scriptFlags = [
  "no-writes",
  "allow-oom",
  "allow-stale",
  "no-cluster",
  "allow-cross-slot-keys",
  "allow-key-locking",
] as const;

export type ScriptFlag = (typeof scriptFlags)[number];

export function isScriptFlag(text: string): text is ScriptFlag {
  return scriptFlags.some((flag) => flag === text);
}

export interface ScriptHeader {
  /** False for a script without a shebang, which Redis treats more leniently. */
  readonly isPresent: boolean;
  readonly flags: readonly ScriptFlag[];
  /** The script with a blank line in place of the shebang, so that line numbers stay. */
  readonly source: Bytes;
}

const NAME = /^[A-Za-z0-9_]+$/;
/** Redis has one text for names of libraries and of functions. */
export const invalidName =
  "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long";

/** True if it is a valid name of a library or a function. */
export function isFunctionName(name: Bytes): boolean {
  return NAME.test(name);
}

const invalidShebang = new CommandError("ERR Invalid script shebang");
const missingMetadata = new CommandError("ERR Missing library metadata");
const invalidMetadata = new CommandError("ERR Invalid library metadata");
const severalNames = new CommandError("ERR Invalid metadata value, name argument was given multiple times");
const noName = new CommandError("ERR Library name was not given");
const wrongName = new CommandError(invalidName);

/** Reads the shebang of a script for EVAL. Throws CommandError. */
export function parseScriptHeader(script: Bytes): ScriptHeader {
  if (!script.startsWith("#!")) return { isPresent: false, flags: [], source: script };
  const end = script.indexOf("\n");
  if (end < 0) throw invalidShebang;
  const [engine = "", ...options] = words(script.slice(0, end));
  if (engine !== "#!lua") throw new CommandError(`ERR Unexpected engine in script shebang: ${engine}`);
  const flags: ScriptFlag[] = [];
  for (const option of options) {
    if (!option.startsWith("flags=")) throw new CommandError(`ERR Unknown lua shebang option: ${option}`);
    const list = option.slice("flags=".length);
    if (list === "") continue;
    for (const flag of list.split(",")) {
      if (!isScriptFlag(flag)) throw new CommandError(`ERR Unexpected flag in script shebang: ${flag}`);
      flags.push(flag);
    }
  }
  return { isPresent: true, flags, source: script.slice(end) };
}

/** Reads the first line of a library for FUNCTION LOAD: its name, and its code without that line. Throws CommandError. */
export function parseLibraryHeader(code: Bytes): { readonly name: Bytes; readonly source: Bytes } {
  if (!code.startsWith("#!")) throw missingMetadata;
  const end = code.indexOf("\n");
  if (end < 0) throw invalidMetadata;
  const [engine = "", ...options] = words(code.slice(2, end));
  let name: Bytes | undefined;
  for (const option of options) {
    if (!option.startsWith("name=")) throw new CommandError(`ERR Invalid metadata value given: ${option}`);
    if (name !== undefined) throw severalNames;
    name = option.slice("name=".length);
  }
  if (name === undefined) throw noName;
  if (!isFunctionName(name)) throw wrongName;
  if (engine.toLowerCase() !== "lua") throw new CommandError(`ERR Engine '${engine}' not found`);
  return { name, source: code.slice(end) };
}

function words(line: string): string[] {
  return line
    .trim()
    .split(/\s+/)
    .map((word) => word.replaceAll('"', ""));
}
