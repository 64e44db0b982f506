/**
 * The libraries of functions of a database: what FUNCTION LOAD, DELETE, LIST and
 * FLUSH change and FCALL reads. It holds texts and facts; compiled code is the
 * runtime's (lua-runtime.ts), which makes it again from the text.
 *
 * (1) No two libraries have a function of the same name.
 * (2) A library that is refused has changed nothing.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { CommandError } from "../errors.ts";
import { FUNCTIONS_PER_LIBRARY_MAX } from "./function-registration.ts";
import type { LuaRuntime } from "./lua-runtime.ts";
import { parseLibraryHeader, type ScriptFlag } from "./script-header.ts";

export interface LibraryFunction {
  readonly name: Bytes;
  readonly description: Bytes | undefined;
  readonly flags: readonly ScriptFlag[];
}

export interface FunctionLibrary {
  readonly name: Bytes;
  /** As it was loaded, with its first line. */
  readonly code: Bytes;
  /** What is run. */
  readonly source: Bytes;
  readonly functions: readonly LibraryFunction[];
}

export const LIBRARIES_MAX = 1_000;
const LIBRARY_BYTES_MAX = 1_024 * 1_024;
const noFunctions = new CommandError("ERR No functions registered");
const libraryNotFound = new CommandError("ERR Library not found");
const tooManyLibraries = new CommandError(`ERR No more than ${LIBRARIES_MAX} libraries can be loaded`);
const libraryTooLarge = new CommandError("ERR Library is larger than 1 MiB");

export class FunctionLibraries {
  readonly #libraries = new Map<Bytes, FunctionLibrary>();
  readonly #libraryOfFunction = new Map<Bytes, FunctionLibrary>();

  get libraryCount(): number {
    return this.#libraries.size;
  }

  get functionCount(): number {
    return this.#libraryOfFunction.size;
  }

  /** All libraries in the order they were loaded. */
  get libraries(): IterableIterator<FunctionLibrary> {
    return this.#libraries.values();
  }

  /**
   * Runs the code for what it registers and checks that; nothing is changed yet. Throws CommandError. What is returned goes
   * to `put`, also when it comes from a journal.
   */
  prepare(code: Bytes, options: { runtime: LuaRuntime; owner: string; isReplacing: boolean }): FunctionLibrary {
    const { name, source } = parseLibraryHeader(code);
    const replaced = this.#libraries.get(name);
    if (replaced !== undefined && !options.isReplacing) throw new CommandError(`ERR Library '${name}' already exists`);
    if (code.length > LIBRARY_BYTES_MAX) throw libraryTooLarge;
    if (replaced === undefined && this.#libraries.size >= LIBRARIES_MAX) throw tooManyLibraries;
    const registrations = options.runtime.loadLibrary(options.owner, { name, source });
    if (registrations instanceof CommandError) throw registrations;
    if (registrations.length === 0) throw noFunctions;
    // keeps (1)
    for (const registration of registrations) {
      const other = this.#libraryOfFunction.get(registration.name);
      if (other !== undefined && other !== replaced)
        throw new CommandError(`ERR Function ${registration.name} already exists`);
    }
    const functions = registrations
      .slice(0, FUNCTIONS_PER_LIBRARY_MAX)
      .map(({ name: functionName, description, flags }) => ({ name: functionName, description, flags }));
    return { name, code, source, functions };
  }

  /** Takes a prepared library in, in place of one of the same name. */
  put(library: FunctionLibrary): void {
    if (this.#libraries.has(library.name)) this.delete(library.name);
    this.#libraries.set(library.name, library);
    for (const { name } of library.functions) this.#libraryOfFunction.set(name, library);
  }

  /** Throws CommandError if there is none of this name. */
  delete(name: Bytes): void {
    const library = this.#libraries.get(name);
    if (library === undefined) throw libraryNotFound;
    this.#libraries.delete(name);
    for (const { name: functionName } of library.functions) this.#libraryOfFunction.delete(functionName);
  }

  flush(): void {
    this.#libraries.clear();
    this.#libraryOfFunction.clear();
  }

  /** The library that has this function, and the function. */
  find(functionName: Bytes): { readonly library: FunctionLibrary; readonly found: LibraryFunction } | undefined {
    const library = this.#libraryOfFunction.get(functionName);
    const found = library?.functions.find(({ name }) => name === functionName);
    return library === undefined || found === undefined ? undefined : { library, found };
  }
}
