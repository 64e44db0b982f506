/**
 * Libraries of functions as records. A record contains what its library
 * registered, so that replay runs no Lua.
 *
 *     170 put      | name bytes | code bytes | count | function | function | …
 *     171 delete   | name bytes |
 *     172 flush
 *     function     | name bytes | 0, or 1 and description bytes | flags |
 *
 * Flags are a sum of the bits below, which never change.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../../kernel/frame.ts";
import type { FunctionLibraries, FunctionLibrary, LibraryFunction } from "../../scripting/function-libraries.ts";
import { parseLibraryHeader, type ScriptFlag } from "../../scripting/script-header.ts";
import type { StateMutation } from "../mutation.ts";
import type { ClosureLog } from "../undo-log.ts";

const PUT_LIBRARY = 170;
const DELETE_LIBRARY = 171;
const FLUSH_LIBRARIES = 172;

const bitOfFlag: Readonly<Record<ScriptFlag, number>> = {
  "no-writes": 1,
  "allow-oom": 2,
  "allow-stale": 4,
  "no-cluster": 8,
  "allow-cross-slot-keys": 16,
  "allow-key-locking": 32,
};
const flagRows = Object.entries(bitOfFlag) as [ScriptFlag, number][];

/** What a change of libraries needs of a database. */
export interface FunctionHost {
  readonly keyspace: { record(code: number): FrameWriter; readonly undo: ClosureLog | undefined };
  readonly scripts: { readonly libraries: FunctionLibraries };
}

/** Adds a library, or replaces the one of the same name. */
export function putLibrary({ keyspace, scripts }: FunctionHost, library: FunctionLibrary): void {
  describeLibrary(keyspace.record(PUT_LIBRARY), library);
  willChange({ keyspace, scripts });
  scripts.libraries.put(library);
}

/** Removes a library; false if it does not exist. */
export function deleteLibrary({ keyspace, scripts }: FunctionHost, name: Bytes): boolean {
  if (!scripts.libraries.has(name)) return false;
  keyspace.record(DELETE_LIBRARY).bytes(name);
  willChange({ keyspace, scripts });
  return scripts.libraries.delete(name);
}

export function flushLibraries({ keyspace, scripts }: FunctionHost): void {
  if (scripts.libraries.libraryCount === 0) return;
  keyspace.record(FLUSH_LIBRARIES);
  willChange({ keyspace, scripts });
  scripts.libraries.flush();
}

export const functionMutations: readonly StateMutation[] = [
  {
    code: PUT_LIBRARY,
    name: "put-library",
    apply: ({ scripts }, record) => scripts.libraries.put(readLibrary(record)),
    describe: ({ scripts }, record) => {
      for (const library of scripts.libraries.libraries) describeLibrary(record(PUT_LIBRARY), library);
    },
  },
  {
    code: DELETE_LIBRARY,
    name: "delete-library",
    apply: ({ scripts }, record) => scripts.libraries.delete(record.bytes()),
  },
  { code: FLUSH_LIBRARIES, name: "flush-libraries", apply: ({ scripts }) => scripts.libraries.flush() },
];

/** Memory of a library or function in the undo log. */
const NAMED_BYTES = 64;

/** All libraries are saved before their first change in a unit of work that can be undone: there are few. */
function willChange({ keyspace: { undo }, scripts: { libraries } }: FunctionHost): void {
  if (undo === undefined || undo.owns(libraries)) return;
  undo.push((libraries.libraryCount + libraries.functionCount) * NAMED_BYTES, libraries.restorer());
  undo.own(libraries);
}

function describeLibrary(record: FrameWriter, { name, code, functions }: FunctionLibrary): void {
  record.bytes(name).bytes(code).number(functions.length);
  for (const { name: functionName, description, flags } of functions) {
    record.bytes(functionName);
    if (description === undefined) record.number(0);
    else record.number(1).bytes(description);
    record.number(flags.reduce((bits, flag) => bits | bitOfFlag[flag], 0));
  }
}

function readLibrary(record: FrameReader): FunctionLibrary {
  const name = record.bytes();
  const code = record.bytes();
  const functions: LibraryFunction[] = [];
  for (let left = record.number(); left > 0; left -= 1) functions.push(readFunction(record));
  return { name, code, source: parseLibraryHeader(code).source, functions };
}

function readFunction(record: FrameReader): LibraryFunction {
  const name = record.bytes();
  const description = record.number() === 0 ? undefined : record.bytes();
  const bits = record.number();
  return { name, description, flags: flagRows.filter(([, bit]) => (bits & bit) !== 0).map(([flag]) => flag) };
}
