/**
 * One WebAssembly instance of PUC Lua 5.1 (`vendor/lua5.1/`),
 * used through its raw C API, which is binary-safe.
 *
 * (1) The instance can reach nothing outside: its imports are the few functions
 *     below, and those for files, environment and processes fail.
 * (2) Its memory grows to `memoryBytesMax` and no further; each Lua state has its
 *     own lower limit, enforced by an allocator in WebAssembly.
 * (3) Lua's errors are longjmps, made of a thrown Infinity that only `invoke_vii`
 *     catches. Any other exception while Lua runs passes through all of Lua,
 *     which a script cannot catch; afterwards the instance is unusable.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { cutBytes, cutName, isAt } from "../../../kernel/short-bytes.ts";

/** A `lua_State *`: a state, or a coroutine of it. */
export type LuaPointer = number;
/** A function that Lua calls: takes its arguments from the stack, leaves results on it and returns their count. */
export type HostFunction = (lua: LuaPointer) => number;

/** Lua had no memory for its input, such as the arguments of a script. The instance is unusable. */
export class LuaOutOfMemory extends Error {
  override name = "LuaOutOfMemory";
}

/** A function of WebAssembly, as JavaScript sees it. */
type TableFunction = (...words: number[]) => number;

/** The C API of Lua 5.1 as exported; pointers and sizes are numbers. */
export interface LuaApi {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly __indirect_function_table: {
    get(index: number): TableFunction;
    set(index: number, value: unknown): void;
    grow(count: number): number;
  };
  __wasm_call_ctors(): void;
  stackSave(): number;
  stackRestore(pointer: number): void;
  setThrew(threw: number, value: number): void;
  malloc(size: number): number;
  free(pointer: number): void;
  realloc(pointer: number, size: number): number;
  lua_newstate(allocator: number, data: number): LuaPointer;
  lua_close(lua: LuaPointer): void;
  lua_checkstack(lua: LuaPointer, count: number): number;
  lua_gettop(lua: LuaPointer): number;
  lua_settop(lua: LuaPointer, index: number): void;
  lua_pushvalue(lua: LuaPointer, index: number): void;
  lua_insert(lua: LuaPointer, index: number): void;
  lua_replace(lua: LuaPointer, index: number): void;
  lua_type(lua: LuaPointer, index: number): number;
  lua_typename(lua: LuaPointer, type: number): number;
  lua_isnumber(lua: LuaPointer, index: number): number;
  lua_isstring(lua: LuaPointer, index: number): number;
  lua_tonumber(lua: LuaPointer, index: number): number;
  lua_toboolean(lua: LuaPointer, index: number): number;
  lua_tolstring(lua: LuaPointer, index: number, length: number): number;
  lua_objlen(lua: LuaPointer, index: number): number;
  lua_topointer(lua: LuaPointer, index: number): number;
  lua_tocfunction(lua: LuaPointer, index: number): number;
  lua_touserdata(lua: LuaPointer, index: number): number;
  lua_lessthan(lua: LuaPointer, first: number, second: number): number;
  lua_pushnil(lua: LuaPointer): void;
  lua_pushnumber(lua: LuaPointer, value: number): void;
  lua_pushlstring(lua: LuaPointer, text: number, length: number): void;
  lua_pushboolean(lua: LuaPointer, value: number): void;
  lua_pushlightuserdata(lua: LuaPointer, pointer: number): void;
  lua_pushcclosure(lua: LuaPointer, pointer: number, upvalueCount: number): void;
  lua_createtable(lua: LuaPointer, arrayCount: number, hashCount: number): void;
  lua_gettable(lua: LuaPointer, index: number): void;
  lua_settable(lua: LuaPointer, index: number): void;
  lua_setfield(lua: LuaPointer, index: number, name: number): void;
  lua_rawget(lua: LuaPointer, index: number): void;
  lua_rawset(lua: LuaPointer, index: number): void;
  lua_rawgeti(lua: LuaPointer, index: number, key: number): void;
  lua_rawseti(lua: LuaPointer, index: number, key: number): void;
  lua_next(lua: LuaPointer, index: number): number;
  lua_concat(lua: LuaPointer, count: number): void;
  lua_setmetatable(lua: LuaPointer, index: number): number;
  lua_getmetatable(lua: LuaPointer, index: number): number;
  lua_call(lua: LuaPointer, argumentCount: number, resultCount: number): void;
  lua_pcall(lua: LuaPointer, argumentCount: number, resultCount: number, handler: number): number;
  lua_error(lua: LuaPointer): number;
  lua_gc(lua: LuaPointer, what: number, data: number): number;
  lua_load(lua: LuaPointer, reader: number, data: number, name: number): number;
  lua_sethook(lua: LuaPointer, hook: number, mask: number, count: number): void;
  lua_gethookcount(lua: LuaPointer): number;
  lua_getstack(lua: LuaPointer, level: number, record: number): number;
  lua_getinfo(lua: LuaPointer, what: number, record: number): number;
  luaL_where(lua: LuaPointer, level: number): void;
  luaL_argerror(lua: LuaPointer, position: number, message: number): number;
  luaL_checklstring(lua: LuaPointer, position: number, length: number): number;
  luaL_checknumber(lua: LuaPointer, position: number): number;
  luaL_checktype(lua: LuaPointer, position: number, type: number): void;
  luaL_ref(lua: LuaPointer, table: number): number;
  luaL_unref(lua: LuaPointer, table: number, reference: number): void;
  luaopen_base(lua: LuaPointer): number;
  luaopen_table(lua: LuaPointer): number;
  luaopen_string(lua: LuaPointer): number;
  luaopen_math(lua: LuaPointer): number;
}

export const REGISTRY = -10_000;
export const GLOBALS = -10_002;
/** All results of a call. */
export const ALL_RESULTS = -1;

export const LuaType = {
  none: -1,
  nil: 0,
  boolean: 1,
  lightUserdata: 2,
  number: 3,
  string: 4,
  table: 5,
  function: 6,
  userdata: 7,
} as const;

/** Index of the upvalue `number`, counted from 1, of the running C function. */
export function upvalue(number: number): number {
  return GLOBALS - number;
}

/** Counters of a state: bytes in use, and the limit. The allocator reads and writes both. */
export interface StateBytes {
  readonly pointer: number;
}

declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ) => {
    readonly exports: unknown;
  };
};

/** Compiles `vendor/lua5.1/liblua5.1.wasm` for any number of instances. Takes about 5 ms. */
export function compileLua(code: Uint8Array): object {
  return new WebAssembly.Module(code);
}

const PAGE_BYTES = 65_536;
/** Strings up to this size reach Lua through a fixed buffer. */
const SCRATCH_BYTES = 65_536;
// Structures of Lua 5.1 with pointers of four bytes, as offsets in bytes.
/** lua_State: the end of the stack in use, and the first value of the running function. */
const TOP_OF_STATE = 8;
const BASE_OF_STATE = 12;
/** TValue: eight bytes of content, and the type. */
const VALUE_BYTES = 16;
const TYPE_OF_VALUE = 8;
/** TString: the length, and the bytes after the header. */
const LENGTH_OF_STRING = 12;
const STRING_HEADER_BYTES = 16;

/** Strings that are sought among the known ones: keys are few and short. */
const KNOWN_COUNT_MAX = 4;
const KNOWN_LENGTH_MAX = 64;

/** Lua gets its source in pieces of this size: a piece of the slowest accepted source takes some 10 ms. */
const PIECE_BYTES = 512;
/** From this length on, a native copy is cheaper than a loop: 42 and 31 ns for 8 bytes, 49 and 70 for 16. */
const NATIVE_COPY_MIN = 13;
const MASK_COUNT = 8;
/** An upper bound for the size of `lua_Debug`. */
const DEBUG_RECORD_BYTES = 256;

export class LuaInstance {
  readonly api: LuaApi;
  /** All memory; a new object after growth, which any call into Lua may cause. */
  memory: Buffer = Buffer.alloc(0);
  /** The same as 32-bit words, and as doubles. */
  words = new Uint32Array(0);
  doubles = new Float64Array(0);
  /** The address of four bytes where the API stores lengths. */
  readonly #length: number;
  readonly #scratch: number;
  readonly #debugRecord: number;
  readonly #allocator: number;
  readonly #memoryBytesMax: number;
  readonly #texts = new Map<string, number>();
  /** Entries of the table of functions by index, which do not change: reading one there costs as much as a short string. */
  readonly #functions: (TableFunction | undefined)[] = [];
  /** The hash part of every table that has none. */
  #noFields: number | undefined;
  /** A `lua_Reader`, and the source that it reads. */
  readonly #reader: number;
  #reading: { at: number; readonly end: number; readonly mayGoOn: () => boolean } | undefined;
  /** Called before Lua takes a block of 64 KiB or more. */
  onLargeBlock: () => void = () => undefined;

  constructor(options: { module: object; memoryBytesMax: number }) {
    this.#memoryBytesMax = options.memoryBytesMax;
    const exports: unknown = new WebAssembly.Instance(options.module, this.#imports()).exports;
    // The binary is pinned, and a test calls every function of the interface.
    this.api = exports as LuaApi;
    this.#refresh();
    this.api.__wasm_call_ctors();
    this.#length = this.api.malloc(8);
    this.#scratch = this.api.malloc(SCRATCH_BYTES);
    this.#debugRecord = this.api.malloc(DEBUG_RECORD_BYTES);
    const glue: unknown = new WebAssembly.Instance(allocatorModule, {
      e: {
        m: this.api.memory,
        r: this.api.realloc,
        f: this.api.free,
        g: () => this.onLargeBlock(),
      },
    }).exports;
    this.#allocator = this.#addToTable((glue as { a: unknown }).a);
    const readerGlue: unknown = new WebAssembly.Instance(readerModule, {
      e: { f: (_lua: number, _data: number, length: number) => this.#readPiece(length) },
    }).exports;
    this.#reader = this.#addToTable((readerGlue as { f: unknown }).f);
    this.#refresh();
  }

  /** A new state that may use `bytesMax`. Undefined if there is no memory for it. */
  newState(bytesMax: number): { lua: LuaPointer; bytes: StateBytes } | undefined {
    const pointer = this.api.malloc(8);
    if (pointer === 0) return undefined;
    this.words[pointer >> 2] = 0;
    this.words[(pointer >> 2) + 1] = bytesMax;
    const lua = this.api.lua_newstate(this.#allocator, pointer);
    if (lua === 0) return undefined;
    this.#learnNoFields(lua);
    return { lua, bytes: { pointer } };
  }

  #learnNoFields(lua: LuaPointer): void {
    if (this.#noFields !== undefined) return;
    this.api.lua_createtable(lua, 0, 0);
    this.#noFields = this.#fieldsOf(lua, -1);
    this.api.lua_settop(lua, -2);
  }

  /** Closes a state. */
  closeState(lua: LuaPointer, bytes: StateBytes): void {
    this.api.lua_close(lua);
    this.api.free(bytes.pointer);
  }

  bytesUsed({ pointer }: StateBytes): number {
    return this.words[pointer >> 2] as number;
  }

  /** Makes a function callable from Lua; the number is the argument of `lua_pushcclosure`. Never freed. */
  addFunction(run: HostFunction): number {
    const glue: unknown = new WebAssembly.Instance(functionModule, { e: { f: run } }).exports;
    return this.#addToTable((glue as { f: unknown }).f);
  }

  /**
   * As `addFunction`, for a function that replaces the C function at `original`. With fewer arguments than `countMin`
   * that one runs in its place, in the same frame and without a call into JavaScript.
   */
  addReplacement(run: HostFunction, { original, countMin }: { original: number; countMin: number }): number {
    const glue: unknown = new WebAssembly.Instance(replacementModule(countMin), {
      e: { g: this.api.lua_gettop, o: this.#functionAt(original), f: run },
    }).exports;
    return this.#addToTable((glue as { f: unknown }).f);
  }

  /** As `addFunction`, for `lua_sethook`. */
  addHook(run: (lua: LuaPointer) => void): number {
    const glue: unknown = new WebAssembly.Instance(hookModule, { e: { f: run } }).exports;
    return this.#addToTable((glue as { f: unknown }).f);
  }

  /** Calls `hook` after every `count` instructions. */
  hookEvery(lua: LuaPointer, hook: number, count: number): void {
    this.api.lua_sethook(lua, hook, MASK_COUNT, count);
  }

  /** Runs the C function at `pointer` in place of the running one: same arguments, same results. */
  delegate(lua: LuaPointer, pointer: number): number {
    return this.#functionAt(pointer)(lua);
  }

  #functionAt(pointer: number): TableFunction {
    let run = this.#functions[pointer];
    if (run === undefined) {
      run = this.api.__indirect_function_table.get(pointer);
      this.#functions[pointer] = run;
    }
    return run;
  }

  /** The string at `index`, or "" if it is not one. A number there becomes a string in place, as in Lua. */
  bytesAt(lua: LuaPointer, index: number): Bytes {
    const pointer = this.api.lua_tolstring(lua, index, this.#length);
    if (pointer === 0) return "";
    return cutBytes(this.memory, pointer, pointer + this.lengthFound);
  }

  /**
   * The arguments of the running function as the words of a command: strings as they are, numbers as `print` does.
   * Undefined if there is an argument of another type. `known`: strings that are probably among them, which are not made
   * again. Reads the stack of Lua itself, which spares two calls into WebAssembly for each word.
   */
  wordsOfArguments(lua: LuaPointer, known: readonly Bytes[], print: (value: number) => Bytes): Bytes[] | undefined {
    const { memory, words } = this;
    const end = words[(lua + TOP_OF_STATE) >> 2] as number;
    const found: Bytes[] = [];
    for (let at = words[(lua + BASE_OF_STATE) >> 2] as number; at < end; at += VALUE_BYTES) {
      const type = words[(at + TYPE_OF_VALUE) >> 2] as number;
      if (type === LuaType.string) {
        const string = words[at >> 2] as number;
        const start = string + STRING_HEADER_BYTES;
        const stop = start + (words[(string + LENGTH_OF_STRING) >> 2] as number);
        found.push(found.length === 0 ? cutName(memory, start, stop) : knownOrCut(memory, { start, stop, known }));
      } else if (type === LuaType.number) {
        found.push(print(this.doubles[at >> 3] as number));
      } else return undefined;
    }
    return found;
  }

  /** The type of the value on top of the stack, which must not be empty. */
  typeOfTop(lua: LuaPointer): number {
    return this.words[((this.words[(lua + TOP_OF_STATE) >> 2] as number) - VALUE_BYTES + TYPE_OF_VALUE) >> 2] as number;
  }

  /** The value on top of the stack, which must be a number. */
  numberOnTop(lua: LuaPointer): number {
    return this.doubles[((this.words[(lua + TOP_OF_STATE) >> 2] as number) - VALUE_BYTES) >> 3] as number;
  }

  /** False if the table at `index` has no field with a name. True for most others. */
  mayHaveFields(lua: LuaPointer, index: number): boolean {
    return this.#fieldsOf(lua, index) !== this.#noFields;
  }

  /** The address of the hash part of a table. */
  #fieldsOf(lua: LuaPointer, index: number): number {
    // Table of 5.1: next, marks, metatable, array, node, …
    return this.words[(this.api.lua_topointer(lua, index) >> 2) + 4] as number;
  }

  /** The address of the string at `index`, or 0; its length is `lengthFound`. Valid while Lua refers to it. */
  addressOf(lua: LuaPointer, index: number): number {
    return this.api.lua_tolstring(lua, index, this.#length);
  }

  /** As `addressOf` for an argument: raises Lua's error unless it is a string or a number. */
  addressOfArgument(lua: LuaPointer, position: number): number {
    return this.api.luaL_checklstring(lua, position, this.#length);
  }

  /** The argument as a string; raises Lua's error unless it is a string or a number. */
  bytesOfArgument(lua: LuaPointer, position: number): Bytes {
    const pointer = this.addressOfArgument(lua, position);
    return this.memory.latin1Slice(pointer, pointer + this.lengthFound);
  }

  get lengthFound(): number {
    return this.words[this.#length >> 2] as number;
  }

  push(lua: LuaPointer, bytes: Bytes): void {
    const { length } = bytes;
    if (length > SCRATCH_BYTES) {
      this.#pushLarge(lua, Buffer.from(bytes, "latin1"));
      return;
    }
    const scratch = this.#scratch;
    const memory = this.memory;
    if (length < NATIVE_COPY_MIN) {
      for (let at = 0; at < length; at += 1) memory[scratch + at] = bytes.charCodeAt(at);
    } else {
      memory.latin1Write(bytes, scratch, length);
    }
    this.api.lua_pushlstring(lua, scratch, length);
  }

  pushBuffer(lua: LuaPointer, buffer: Uint8Array): void {
    if (buffer.length > SCRATCH_BYTES) {
      this.#pushLarge(lua, buffer);
      return;
    }
    this.memory.set(buffer, this.#scratch);
    this.api.lua_pushlstring(lua, this.#scratch, buffer.length);
  }

  /**
   * Pushes a string of `length` bytes that `fill` writes into the given memory, from the address on. Raises "not enough
   * memory" in Lua if it has no room.
   */
  pushFilled(lua: LuaPointer, length: number, fill: (memory: Buffer, at: number) => void): void {
    if (length <= SCRATCH_BYTES) {
      fill(this.memory, this.#scratch);
      this.api.lua_pushlstring(lua, this.#scratch, length);
      return;
    }
    const pointer = this.api.malloc(length);
    if (pointer === 0) this.raise(lua, "not enough memory");
    try {
      fill(this.memory, pointer);
      this.api.lua_pushlstring(lua, pointer, length);
    } finally {
      this.api.free(pointer);
    }
  }

  /** Pushes a constant text, which stays in the memory of the instance. */
  pushText(lua: LuaPointer, text: string): void {
    this.api.lua_pushlstring(lua, this.text(text), text.length);
  }

  /** Address of a constant, zero-terminated. Only for our own texts: they are never freed. */
  text(text: string): number {
    let pointer = this.#texts.get(text);
    if (pointer === undefined) {
      pointer = this.api.malloc(text.length + 1);
      this.memory.latin1Write(text, pointer, text.length);
      this.memory[pointer + text.length] = 0;
      this.#texts.set(text, pointer);
    }
    return pointer;
  }

  /**
   * Compiles source text, never bytecode. 0: the function is pushed; otherwise the error is. `mayGoOn` is called before
   * each piece of the source; after it returned false, the pushed value has no meaning.
   */
  load(lua: LuaPointer, source: Bytes, name: string, mayGoOn: () => boolean = () => true): number {
    const buffer = Buffer.from(source, "latin1");
    const pointer = this.api.malloc(buffer.length + 1);
    const namePointer = this.api.malloc(name.length + 1);
    if (pointer === 0 || namePointer === 0) {
      if (pointer !== 0) this.api.free(pointer);
      this.push(lua, "not enough memory");
      return 1;
    }
    try {
      this.memory.set(buffer, pointer);
      this.memory.latin1Write(name, namePointer, name.length);
      this.memory[namePointer + name.length] = 0;
      // Lua 5.1 does not check bytecode, which can escape the sandbox. It starts with an escape byte, sources do not.
      if (buffer[0] === BYTECODE_MARK) {
        this.push(lua, `${chunkLabel(name)}:1: unexpected symbol near 'char(27)'`);
        return 1;
      }
      this.#reading = { at: pointer, end: pointer + buffer.length, mayGoOn };
      return this.api.lua_load(lua, this.#reader, 0, namePointer);
    } finally {
      this.#reading = undefined;
      this.api.free(pointer);
      this.api.free(namePointer);
    }
  }

  /** The address of the next piece of the source; its length goes to `lengthAt`. Zero ends the source for Lua. */
  #readPiece(lengthAt: number): number {
    const reading = this.#reading;
    if (reading === undefined || reading.at === reading.end || !reading.mayGoOn()) return 0;
    const { at } = reading;
    const length = Math.min(PIECE_BYTES, reading.end - at);
    reading.at += length;
    this.words[lengthAt >> 2] = length;
    return at;
  }

  /** Raises an error in Lua: the message follows the position in the calling script. */
  raise(lua: LuaPointer, message: Bytes): never {
    this.api.luaL_where(lua, 1);
    this.push(lua, message);
    this.api.lua_concat(lua, 2);
    this.api.lua_error(lua);
    throw new Error("lua_error returned");
  }

  /** Raises an error without a position. */
  raiseBare(lua: LuaPointer, message: Bytes): never {
    this.push(lua, message);
    this.api.lua_error(lua);
    throw new Error("lua_error returned");
  }

  /** Raises `bad argument #position to 'name' (message)`. */
  raiseArgument(lua: LuaPointer, position: number, message: string): never {
    this.api.luaL_argerror(lua, position, this.text(message));
    throw new Error("luaL_argerror returned");
  }

  /** Source name and line of the function at `level` of the call stack, and whether it is in C, or undefined. */
  placeAt(lua: LuaPointer, level: number): { source: Bytes; line: number; isC: boolean } | undefined {
    const record = this.#debugRecord;
    if (this.api.lua_getstack(lua, level, record) === 0) return undefined;
    this.api.lua_getinfo(lua, this.text("nSl"), record);
    // lua_Debug of 5.1: event, name, namewhat, what, source, currentline, …
    const word = (index: number): number => this.words[(record >> 2) + index] as number;
    return {
      isC: this.#textAt(word(3)) === "C",
      source: this.#textAt(word(4)),
      line: word(5) | 0,
    };
  }

  /** The name by which the running function was called. */
  nameOfRunning(lua: LuaPointer): Bytes | undefined {
    if (this.api.lua_getstack(lua, 0, this.#debugRecord) === 0) return undefined;
    this.api.lua_getinfo(lua, this.text("n"), this.#debugRecord);
    const name = this.words[(this.#debugRecord >> 2) + 1] as number;
    return name === 0 ? undefined : this.#textAt(name);
  }

  /** The value at `index` of the stack becomes field `name` of the table below: pops it. */
  setField(lua: LuaPointer, table: number, name: string): void {
    this.pushText(lua, name);
    this.api.lua_insert(lua, -2);
    this.api.lua_rawset(lua, table < 0 && table > REGISTRY ? table - 1 : table);
  }

  #textAt(pointer: number): Bytes {
    let end = pointer;
    while (this.memory[end] !== 0) end += 1;
    return this.memory.latin1Slice(pointer, end);
  }

  #pushLarge(lua: LuaPointer, buffer: Uint8Array): void {
    this.pushFilled(lua, buffer.length, (memory, at) => memory.set(buffer, at));
  }

  #addToTable(exported: unknown): number {
    const index = this.api.__indirect_function_table.grow(1);
    this.api.__indirect_function_table.set(index, exported);
    return index;
  }

  #refresh(): void {
    const { buffer } = this.api.memory;
    this.memory = Buffer.from(buffer);
    this.words = new Uint32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }

  // keeps (1), (3)
  #imports(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
    const refuse = (): number => -1;
    const env = {
      // Called by Lua when memory runs out outside of a protected call.
      exit: () => {
        throw new LuaOutOfMemory("Lua called exit");
      },
      invoke_vii: (pointer: number, first: number, second: number): void => {
        const { api } = this;
        const stack = api.stackSave();
        try {
          this.#functionAt(pointer)(first, second);
        } catch (thrown) {
          api.stackRestore(stack);
          if (thrown !== Infinity) throw thrown;
          api.setThrew(1, 0);
        }
      },
      _emscripten_throw_longjmp: (): never => {
        throw Infinity;
      },
      emscripten_memcpy_js: (to: number, from: number, length: number): void => {
        this.memory.copyWithin(to, from, from + length);
      },
      emscripten_resize_heap: (bytes: number): number => this.#grow(bytes >>> 0),
      emscripten_date_now: () => 0,
      _emscripten_get_now_is_monotonic: () => 1,
      _emscripten_system: refuse,
      _tzset_js: () => undefined,
      strftime: () => 0,
      _mktime_js: refuse,
      _localtime_js: () => undefined,
      _gmtime_js: () => undefined,
      __syscall_openat: refuse,
      __syscall_fcntl64: refuse,
      __syscall_ioctl: refuse,
      __syscall_dup3: refuse,
      __syscall_unlinkat: refuse,
      __syscall_rmdir: refuse,
      __syscall_renameat: refuse,
      __syscall_readlinkat: refuse,
    };
    const noEnvironment = (countAt: number, sizeAt: number): number => {
      this.words[countAt >> 2] = 0;
      this.words[sizeAt >> 2] = 0;
      return 0;
    };
    const wasi = {
      environ_sizes_get: noEnvironment,
      environ_get: () => 0,
      fd_write: refuse,
      fd_read: refuse,
      fd_close: refuse,
      fd_seek: refuse,
    };
    return { env, wasi_snapshot_preview1: wasi };
  }

  // keeps (2)
  #grow(bytes: number): number {
    const now = this.memory.length;
    if (bytes > this.#memoryBytesMax) return 0;
    // A quarter more than needed, so that a growing string does not come here each time.
    const wanted = Math.min(this.#memoryBytesMax, Math.max(bytes, Math.ceil(now * 1.25)));
    try {
      this.api.memory.grow(Math.ceil((wanted - now) / PAGE_BYTES));
    } catch {
      // The system has no more memory: the allocation fails in Lua, which raises "not enough memory".
      return 0;
    }
    this.#refresh();
    return 1;
  }
}

/** The bytes from `start` up to `stop`: the same string as one of the first known ones that equals them, or a new one. */
function knownOrCut(
  memory: Buffer,
  { start, stop, known }: { readonly start: number; readonly stop: number; readonly known: readonly Bytes[] },
): Bytes {
  const length = stop - start;
  if (length <= KNOWN_LENGTH_MAX)
    for (let i = 0; i < known.length && i < KNOWN_COUNT_MAX; i += 1) {
      const each = known[i] as Bytes;
      if (each.length === length && isAt(each, memory, start)) return each;
    }
  return cutBytes(memory, start, stop);
}

/** First byte of compiled Lua. */
const BYTECODE_MARK = 27;

/** The name of a chunk in Lua's messages; ours begin with `@` or `=`, others are the text itself. */
export function chunkLabel(name: string): string {
  return /^[@=]/.test(name) ? name.slice(1) : `[string "${name.split("\n")[0]}"]`;
}

const HEADER = [0, 97, 115, 109, 1, 0, 0, 0];
const I32 = 0x7f;

function section(id: number, ...contents: number[]): number[] {
  return [id, contents.length, ...contents];
}

/** A module that exports the function `f` that it imports: it turns a JavaScript function into one of WebAssembly. */
function passThrough(type: readonly number[]): object {
  return new WebAssembly.Module(
    Uint8Array.from([
      ...HEADER,
      ...section(1, 1, ...type),
      ...section(2, 1, 1, 101, 1, 102, 0, 0),
      ...section(7, 1, 1, 102, 0, 0),
    ]),
  );
}

const functionModule = passThrough([0x60, 1, I32, 1, I32]);
const readerModule = passThrough([0x60, 3, I32, I32, I32, 1, I32]);
const hookModule = passThrough([0x60, 2, I32, I32, 0]);

/** A module for `addReplacement`: exports `f`, which calls `o` or the imported `f`, as the result of `g` says. */
function replacementModule(countMin: number): object {
  const body = [
    ...[0, ...get(0), 0x10, 0, 0x41, countMin, 0x48, ...IF],
    ...[...get(0), 0x10, 1, 0x0f, END],
    ...[...get(0), 0x10, 2, END],
  ];
  return new WebAssembly.Module(
    Uint8Array.from([
      ...HEADER,
      ...section(1, 1, 0x60, 1, I32, 1, I32),
      ...section(2, 3, ...[1, 101, 1, 103, 0, 0], ...[1, 101, 1, 111, 0, 0], ...[1, 101, 1, 102, 0, 0]),
      ...section(3, 1, 0),
      ...section(7, 1, 1, 102, 0, 3),
      ...section(10, 1, body.length, ...body),
    ]),
  );
}

const CALL_REALLOC = [0x10, 0];
const CALL_FREE = [0x10, 1];
const CALL_LARGE_BLOCK = [0x10, 2];
const get = (local: number): number[] => [0x20, local];
const DATA = 0;
const POINTER = 1;
const OLD_SIZE = 2;
const NEW_SIZE = 3;
const USED = 4;
const RESULT = 5;
const LOAD_USED = [0x28, 2, 0];
const LOAD_MAX = [0x28, 2, 4];
const STORE_USED = [0x36, 2, 0];
const RETURN_ZERO = [0x41, 0, 0x0f];
const IF = [0x04, 0x40];
const END = 0x0b;

/**
 * Lua's allocator, `(data, pointer, oldSize, newSize)`: realloc, with the sum of all blocks at `data` and its limit
 * after it. In WebAssembly because Lua calls it for each string and table.
 */
const allocatorBody = [
  ...[1, 2, I32], // two more locals: used and result
  ...[...get(DATA), ...LOAD_USED, ...get(OLD_SIZE), 0x6b, ...get(NEW_SIZE), 0x6a, 0x21, USED],
  // newSize = 0: free
  ...[...get(NEW_SIZE), 0x45, ...IF],
  ...[...get(POINTER), ...CALL_FREE, ...get(DATA), ...get(USED), ...STORE_USED, ...RETURN_ZERO, END],
  // grows: refuse above the limit, report large blocks
  ...[...get(NEW_SIZE), ...get(OLD_SIZE), 0x4b, ...IF],
  ...[...get(USED), ...get(DATA), ...LOAD_MAX, 0x4b, ...IF, ...RETURN_ZERO, END],
  ...[...get(NEW_SIZE), 0x41, 0x80, 0x80, 0x04, 0x4f, ...IF, ...CALL_LARGE_BLOCK, END],
  END,
  ...[...get(POINTER), ...get(NEW_SIZE), ...CALL_REALLOC, 0x22, RESULT, 0x45, ...IF, ...RETURN_ZERO, END],
  ...[...get(DATA), ...get(USED), ...STORE_USED, ...get(RESULT), END],
];

const allocatorModule = new WebAssembly.Module(
  Uint8Array.from([
    ...HEADER,
    ...section(
      1,
      4,
      ...[0x60, 2, I32, I32, 1, I32],
      ...[0x60, 1, I32, 0],
      ...[0x60, 0, 0],
      ...[0x60, 4, I32, I32, I32, I32, 1, I32],
    ),
    ...section(
      2,
      4,
      ...[1, 101, 1, 109, 2, 0, 0], // memory
      ...[1, 101, 1, 114, 0, 0], // realloc
      ...[1, 101, 1, 102, 0, 1], // free
      ...[1, 101, 1, 103, 0, 2], // large block
    ),
    ...section(3, 1, 3),
    ...section(7, 1, 1, 97, 0, 3),
    ...section(10, 1, allocatorBody.length, ...allocatorBody),
  ]),
);
