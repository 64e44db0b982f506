/** FUNCTION and FCALL: libraries of functions, which are stored like keys but apart from them. */
import { bufferFrom } from "../../kernel/bytes.ts";
import { type Call, noKeys, type Row } from "../command.ts";
import { subcommandSyntax } from "../errors.ts";
import { deleteLibrary, flushLibraries, putLibrary } from "../mutations/state/functions.ts";
import { emptyArray, map, nil, ok, type Reply, set, simple } from "../reply/reply.ts";
import { FunctionLibraries, type FunctionLibrary } from "../scripting/function-libraries.ts";
import { functionNotFound } from "../scripting/lua/runtime.ts";
import {
  functionFlushMode,
  keyCountInvalid,
  libraryNameMissing,
  libraryNotFound,
  nothingRuns,
  restorePolicyUnknown,
  unknownListArgument,
  unknownLoadOption,
} from "../scripting/script-errors.ts";
import { matchesGlob } from "../structures/glob.ts";
import { readLibraries, writeLibraries } from "../structures/rdb/function-payload.ts";
import { helpRow } from "./help.ts";
import { readKeysAndArguments, readOnlyScriptFlags, runScript, scriptFlags, scriptKeys } from "./script-run.ts";

const helpLines: readonly string[] = [
  "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "DELETE <library-name>",
  "    Delete a library.",
  "DUMP",
  "    Return all libraries in the format of Redis, for FUNCTION RESTORE.",
  "FLUSH [ASYNC|SYNC]",
  "    Delete all libraries.",
  "KILL",
  "    Refused: no function is running when a command is executed.",
  "LIST [LIBRARYNAME <pattern>] [WITHCODE]",
  "    List the libraries and their functions.",
  "LOAD [REPLACE] <code>",
  "    Load a library. The first line of the code has its name.",
  "RESTORE <payload> [FLUSH|APPEND|REPLACE]",
  "    Load the libraries of a dump: replace all libraries, add to them, or replace those of the same names.",
  "STATS",
  "    Return the numbers of libraries and functions.",
];

export const functionCallRows: readonly Row[] = [
  {
    name: "FCALL",
    summary: "Calls a function of a library",
    arity: -3,
    flags: scriptFlags,
    keys: scriptKeys,
    run: (call) => callFunction(call, { isReadOnly: false }),
  },
  {
    name: "FCALL_RO",
    summary: "Calls a function of a library, without writing",
    arity: -3,
    flags: readOnlyScriptFlags,
    keys: scriptKeys,
    run: (call) => callFunction(call, { isReadOnly: true }),
  },
];

export const functionRow: Row = {
  name: "FUNCTION",
  summary: "Commands for libraries of functions",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "DELETE",
      summary: "Deletes a library",
      arity: 3,
      flags: ["write", "noscript"],
      keys: noKeys,
      run: ({ database, arg }) => {
        if (!deleteLibrary(database, arg(2))) throw libraryNotFound;
        database.scripts.closeStates();
        return ok;
      },
    },
    {
      name: "DUMP",
      summary: "Returns all libraries in the format of Redis",
      arity: 2,
      flags: ["noscript"],
      keys: noKeys,
      run: ({ database }) => writeLibraries(Array.from(database.scripts.libraries.libraries, ({ code }) => code)),
    },
    {
      name: "FLUSH",
      summary: "Deletes all libraries",
      arity: -2,
      flags: ["write", "noscript"],
      keys: noKeys,
      run: flush,
    },
    helpRow(helpLines),
    {
      name: "KILL",
      summary: "Refused: no function is running when a command is executed",
      arity: 2,
      flags: ["noscript", "allow_busy"],
      keys: noKeys,
      run: () => {
        throw nothingRuns;
      },
    },
    {
      name: "LIST",
      summary: "Lists the libraries and their functions",
      arity: -2,
      flags: ["noscript"],
      keys: noKeys,
      run: list,
    },
    {
      name: "LOAD",
      summary: "Loads a library of functions",
      arity: -3,
      flags: ["write", "denyoom", "noscript"],
      keys: noKeys,
      run: load,
    },
    {
      name: "RESTORE",
      summary: "Loads the libraries of a dump",
      arity: -3,
      flags: ["write", "denyoom", "noscript"],
      keys: noKeys,
      run: restore,
    },
    {
      name: "STATS",
      summary: "Returns the numbers of libraries and functions",
      arity: 2,
      flags: ["noscript", "allow_busy"],
      keys: noKeys,
      run: ({ database }) => {
        const { libraryCount, functionCount } = database.scripts.libraries;
        const counts = map([
          ["libraries_count", libraryCount],
          ["functions_count", functionCount],
        ]);
        return map([
          ["running_script", nil],
          ["engines", map([["LUA", counts]])],
        ]);
      },
    },
  ],
  run: () => ok,
};

function callFunction(call: Call, { isReadOnly }: { isReadOnly: boolean }): Reply {
  const { scripts } = call.database;
  const function_ = scripts.libraries.find(call.arg(1));
  if (function_ === undefined) throw functionNotFound;
  const { keys, args } = readKeysAndArguments(call, keyCountInvalid);
  const { library, found } = function_;
  const owner = scripts.ownerOf(call.caller.user);
  // As in the hosted service, FCALL_RO calls every function; one that writes fails (A.particulars.fcall-ro).
  return runScript(call, { flags: found.flags, isReadOnly, keys }, (host) =>
    scripts.runtime.runFunction({ owner, library, name: found.name, keys, args, host }),
  );
}

function load({ database, caller, argCount, arg, word }: Call): Reply {
  const { scripts } = database;
  let isReplacing = false;
  for (let at = 2; at < argCount - 1; at += 1) {
    if (word(at) !== "REPLACE") throw unknownLoadOption(arg(at));
    isReplacing = true;
  }
  const owner = scripts.ownerOf(caller.user);
  const library = scripts.libraries.prepare(arg(argCount - 1), { runtime: scripts.runtime, owner, isReplacing });
  putLibrary(database, library);
  return library.name;
}

function flush({ database, argCount, arg, word }: Call): Reply {
  if (argCount > 3) throw subcommandSyntax("FUNCTION", arg(1));
  if (argCount === 3 && word(2) !== "SYNC" && word(2) !== "ASYNC") throw functionFlushMode;
  flushLibraries(database);
  database.scripts.closeStates();
  return ok;
}

function list({ database, argCount, arg, word }: Call): Reply {
  let pattern: string | undefined;
  let isWithCode = false;
  for (let at = 2; at < argCount; at += 1) {
    if (!isWithCode && word(at) === "WITHCODE") {
      isWithCode = true;
    } else if (pattern === undefined && word(at) === "LIBRARYNAME") {
      at += 1;
      if (at === argCount) throw libraryNameMissing;
      pattern = arg(at);
    } else {
      throw unknownListArgument(arg(at));
    }
  }
  const replies: Reply[] = [];
  for (const library of database.scripts.libraries.libraries)
    if (pattern === undefined || matchesGlob(pattern, library.name, { ignoreCase: true }))
      replies.push(factsOf(library, isWithCode));
  return replies;
}

function factsOf({ name, code, functions }: FunctionLibrary, isWithCode: boolean): Reply {
  const facts: [Reply, Reply][] = [
    ["library_name", name],
    ["engine", "LUA"],
    [
      "functions",
      functions.length === 0
        ? emptyArray
        : functions.map(({ name: functionName, description, flags }) =>
            map([
              ["name", functionName],
              ["description", description ?? nil],
              ["flags", set(flags.map(simple))],
            ]),
          ),
    ],
  ];
  if (isWithCode) facts.push(["library_code", code]);
  return map(facts);
}

const policies = ["FLUSH", "APPEND", "REPLACE"] as const;

function restore({ database, caller, argCount, arg, word }: Call): Reply {
  if (argCount > 4) throw subcommandSyntax("FUNCTION", arg(1));
  const policy = argCount === 4 ? policies.find((known) => known === word(3)) : "APPEND";
  if (policy === undefined) throw restorePolicyUnknown;
  const { scripts } = database;
  const options = { runtime: scripts.runtime, owner: scripts.ownerOf(caller.user), isReplacing: false };
  const restored = new FunctionLibraries();
  for (const code of readLibraries(bufferFrom(arg(2)))) restored.put(restored.prepare(code, options));
  if (policy !== "FLUSH") scripts.libraries.checkJoining(restored, { isReplacing: policy === "REPLACE" });
  else flushLibraries(database);
  for (const library of restored.libraries) putLibrary(database, library);
  scripts.closeStates();
  return ok;
}
