/**
 * The libraries of functions of a database: FUNCTION LOAD, DELETE, LIST and
 * FLUSH change them and FCALL reads them. It has texts and facts; the runtime
 * has compiled code (lua/runtime.ts), which it compiles again from the text.
 *
 * (1) No two libraries have a function of the same name; names of functions are
 *     compared without regard to case, names of libraries with it.
 * (2) A refused library has changed nothing.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { CommandError } from "../errors.ts";
import { FUNCTIONS_PER_LIBRARY_MAX } from "./function-registration.ts";
import type { LuaRuntime } from "./lua/runtime.ts";
import { parseLibraryHeader, type ScriptFlag } from "./script-header.ts";

export interface LibraryFunction {
  readonly name: Bytes;
  readonly description: Bytes | undefined;
  readonly flags: readonly ScriptFlag[];
}

export interface FunctionLibrary {
  readonly name: Bytes;
  /** As loaded, with its first line. */
  readonly code: Bytes;
  /** The code to run. */
  readonly source: Bytes;
  readonly functions: readonly LibraryFunction[];
}

export const LIBRARIES_MAX = 1_000;
const LIBRARY_BYTES_MAX = 1_024 * 1_024;
const noFunctions = new CommandError("ERR No functions registered");
const tooManyLibraries = new CommandError(`ERR No more than ${LIBRARIES_MAX} libraries can be loaded`);
const libraryTooLarge = new CommandError("ERR Library is larger than 1 MiB");

export class FunctionLibraries {
  readonly #libraries = new Map<Bytes, FunctionLibrary>();
  /** By the names of functions in lower case. */
  readonly #libraryOfFunction = new Map<Bytes, FunctionLibrary>();

  get libraryCount(): number {
    return this.#libraries.size;
  }

  get functionCount(): number {
    return this.#libraryOfFunction.size;
  }

  /** The bytes of their code. */
  get codeBytes(): number {
    let bytes = 0;
    for (const { code } of this.#libraries.values()) bytes += code.length;
    return bytes;
  }

  /** All libraries in the order of loading. */
  get libraries(): IterableIterator<FunctionLibrary> {
    return this.#libraries.values();
  }

  /**
   * Runs the code to collect and check its registrations; changes nothing yet. Throws CommandError. The result is for
   * `put`, also when it comes from a journal.
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
    this.#checkFunctions(registrations, replaced); // keeps (1)
    const functions = registrations
      .slice(0, FUNCTIONS_PER_LIBRARY_MAX)
      .map(({ name: functionName, description, flags }) => ({ name: functionName, description, flags }));
    return { name, code, source, functions };
  }

  /** Checks that libraries prepared elsewhere may all be put, and changes nothing. Throws CommandError. */
  checkJoining(others: FunctionLibraries, { isReplacing }: { isReplacing: boolean }): void {
    for (const { name } of others.libraries)
      if (!isReplacing && this.#libraries.has(name)) throw new CommandError(`ERR Library ${name} already exists`);
    for (const { functions } of others.libraries)
      for (const { name } of functions) {
        const other = this.#libraryOfFunction.get(name.toLowerCase());
        if (other !== undefined && !others.has(other.name))
          throw new CommandError(`ERR Function ${name} already exists`);
      }
    let count = this.#libraries.size;
    for (const { name } of others.libraries) if (!this.#libraries.has(name)) count += 1;
    if (count > LIBRARIES_MAX) throw tooManyLibraries;
  }

  has(name: Bytes): boolean {
    return this.#libraries.has(name);
  }

  /** Adds a prepared library, or replaces the one of the same name. */
  put(library: FunctionLibrary): void {
    this.delete(library.name);
    this.#libraries.set(library.name, library);
    for (const { name } of library.functions) this.#libraryOfFunction.set(name.toLowerCase(), library);
  }

  /** False if it does not exist. */
  delete(name: Bytes): boolean {
    const library = this.#libraries.get(name);
    if (library === undefined) return false;
    this.#libraries.delete(name);
    for (const { name: functionName } of library.functions) {
      const lowerName = functionName.toLowerCase();
      // Another library may have it by now: libraries that replace each other are put one after the other.
      if (this.#libraryOfFunction.get(lowerName) === library) this.#libraryOfFunction.delete(lowerName);
    }
    return true;
  }

  flush(): void {
    this.#libraries.clear();
    this.#libraryOfFunction.clear();
  }

  /** Makes the libraries what they are now. */
  restorer(): () => void {
    const libraries = [...this.#libraries];
    const libraryOfFunction = [...this.#libraryOfFunction];
    return () => {
      this.flush();
      for (const [name, library] of libraries) this.#libraries.set(name, library);
      for (const [name, library] of libraryOfFunction) this.#libraryOfFunction.set(name, library);
    };
  }

  /** The library of this function, and the function. */
  find(functionName: Bytes): { readonly library: FunctionLibrary; readonly found: LibraryFunction } | undefined {
    const lowerName = functionName.toLowerCase();
    const library = this.#libraryOfFunction.get(lowerName);
    const found = library?.functions.find(({ name }) => name.toLowerCase() === lowerName);
    return library === undefined || found === undefined ? undefined : { library, found };
  }

  #checkFunctions(functions: readonly { readonly name: Bytes }[], replaced: FunctionLibrary | undefined): void {
    for (const { name } of functions) {
      const other = this.#libraryOfFunction.get(name.toLowerCase());
      if (other !== undefined && other !== replaced) throw new CommandError(`ERR Function ${name} already exists`);
    }
  }
}
