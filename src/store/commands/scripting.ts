/** EVAL and its variants, SCRIPT, and the rows of functions, which have their own file. */
import { type Call, family, noKeys, type Row } from "../command.ts";
import { notInteger } from "../errors.ts";
import { ok, type Reply } from "../reply/reply.ts";
import { DIGEST_LENGTH } from "../scripting/script-cache.ts";
import {
  noScript,
  nothingRuns,
  scriptDebugMissing,
  scriptDebugMode,
  scriptFlushMode,
  writesWithReadOnlyCommand,
} from "../scripting/script-errors.ts";
import type { FoundScript } from "../scripting/scripts.ts";
import { functionCallRows, functionRow } from "./function.ts";
import { helpRow } from "./help.ts";
import { readKeysAndArguments, readOnlyScriptFlags, runScript, scriptFlags, scriptKeys } from "./script-run.ts";

const helpLines: readonly string[] = [
  "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "DEBUG (YES|SYNC|NO)",
  "    Accepts only NO: larder has no debugger.",
  "EXISTS <sha1> [<sha1> ...]",
  "    Return whether each of these scripts is cached.",
  "FLUSH [ASYNC|SYNC]",
  "    Remove all scripts of this database from the cache.",
  "KILL",
  "    Refused: no script is running when a command is executed.",
  "LOAD <script>",
  "    Cache a script without running it, and return its digest.",
  "SHOW <sha1>",
  "    Return the text of a cached script.",
];

const scriptRow: Row = {
  name: "SCRIPT",
  summary: "Commands for cached scripts",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "DEBUG",
      summary: "Accepts only NO: larder has no debugger",
      arity: 3,
      flags: ["noscript"],
      keys: noKeys,
      run: ({ word }) => {
        const mode = word(2);
        if (mode === "NO") return ok;
        throw mode === "YES" || mode === "SYNC" ? scriptDebugMissing : scriptDebugMode;
      },
    },
    {
      name: "EXISTS",
      summary: "Returns which scripts are cached",
      arity: -3,
      flags: ["noscript"],
      keys: noKeys,
      run: ({ database, argsFrom }) => argsFrom(2).map((digest) => (database.scripts.cache.has(digest) ? 1 : 0)),
    },
    {
      name: "FLUSH",
      summary: "Removes all scripts of this database from the cache",
      arity: -2,
      flags: ["noscript"],
      keys: noKeys,
      run: ({ database, argCount, word }) => {
        if (argCount > 3 || (argCount === 3 && word(2) !== "SYNC" && word(2) !== "ASYNC")) throw scriptFlushMode;
        database.scripts.cache.flush();
        database.scripts.closeStates();
        return ok;
      },
    },
    helpRow(helpLines),
    {
      name: "KILL",
      summary: "Refused: no script is running when a command is executed",
      arity: 2,
      flags: ["noscript", "allow_busy"],
      keys: noKeys,
      run: () => {
        throw nothingRuns;
      },
    },
    {
      name: "LOAD",
      summary: "Caches a script without running it",
      arity: 3,
      flags: ["noscript", "stale"],
      keys: noKeys,
      run: ({ database, caller, arg }) => database.scripts.scriptOf(arg(2), caller.user).script.digest,
    },
    {
      name: "SHOW",
      summary: "Returns the text of a cached script",
      arity: 3,
      flags: ["noscript"],
      keys: noKeys,
      run: ({ database, arg }) => {
        const text = database.scripts.cache.textOf(arg(2));
        if (text === undefined) throw noScript;
        return text;
      },
    },
  ],
  run: () => ok,
};

export const scriptingCommands = family("scripting", [
  {
    name: "EVAL",
    summary: "Runs a Lua script",
    arity: -3,
    flags: scriptFlags,
    keys: scriptKeys,
    run: (call) => evaluate(call, { isReadOnly: false }, textOf),
  },
  {
    name: "EVALSHA",
    summary: "Runs a cached Lua script",
    arity: -3,
    flags: scriptFlags,
    keys: scriptKeys,
    run: (call) => evaluate(call, { isReadOnly: false }, digestOf),
  },
  {
    name: "EVALSHA_RO",
    summary: "Runs a cached Lua script that does not write",
    arity: -3,
    flags: readOnlyScriptFlags,
    keys: scriptKeys,
    run: (call) => evaluate(call, { isReadOnly: true }, digestOf),
  },
  {
    name: "EVAL_RO",
    summary: "Runs a Lua script that does not write",
    arity: -3,
    flags: readOnlyScriptFlags,
    keys: scriptKeys,
    run: (call) => evaluate(call, { isReadOnly: true }, textOf),
  },
  ...functionCallRows,
  functionRow,
  scriptRow,
]);

function textOf({ database, caller, arg }: Call): FoundScript {
  return database.scripts.scriptOf(arg(1), caller.user);
}

function digestOf({ database, arg }: Call): FoundScript {
  return database.scripts.scriptOfDigest(arg(1));
}

function evaluate(call: Call, { isReadOnly }: { isReadOnly: boolean }, find: (call: Call) => FoundScript): Reply {
  if (find === digestOf && call.arg(1).length !== DIGEST_LENGTH) throw noScript;
  const { keys, args } = readKeysAndArguments(call, notInteger);
  const { script, spent } = find(call);
  const { digest, source, flags, isPresent } = script;
  if (isReadOnly && isPresent && !flags.includes("no-writes")) throw writesWithReadOnlyCommand;
  const { scripts } = call.database;
  const owner = scripts.ownerOf(call.caller.user);
  return runScript(call, { flags: isPresent ? flags : undefined, isReadOnly, keys }, (host) =>
    scripts.runtime.run({ owner, name: digest, source, keys, args, host, spent }),
  );
}
