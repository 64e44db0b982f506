/**
 * The globals of a script: exactly those of Redis 7, and `server` of Valkey 8.
 * None of them can be changed.
 *
 * (1) A script sees guards: empty tables whose metatable reads from the real
 *     table and refuses writes. A script can never hold a real table.
 * (2) Functions that bypass metatables (rawset, next, table.insert, …) know the
 *     guards. Each is Lua's own, run in the same frame, so that errors and their
 *     positions are the same.
 * (3) Guards, their metatables and real tables live as long as the state, so
 *     their addresses identify them.
 * (4) Only KEYS and ARGV change, from outside.
 */
import type { LuaDice } from "./dice.ts";
import { conversionsOf, integerText, isBeyondLong } from "./format.ts";
import type { HostFunctions, LuaHost } from "./host.ts";
import { GLOBALS, type HostFunction, type LuaPointer, LuaType, REGISTRY } from "./instance.ts";
import { asInt, INT_MAX, isBeyondInt, readUnsigned } from "./integers.ts";
import { stringFunctions } from "./string-functions.ts";
import { INSERT_MOVES_MAX, tableFunctions } from "./table-functions.ts";

const READ_ONLY = "Attempt to modify a readonly table";

/** Lua's base library, without functions that read files or print, and without environments, which Redis lacks. */
const baseNames = [
  "assert",
  "error",
  "gcinfo",
  "getmetatable",
  "ipairs",
  "next",
  "pairs",
  "rawequal",
  "rawget",
  "rawset",
  "select",
  "setmetatable",
  "tonumber",
  "tostring",
  "type",
  "unpack",
  "xpcall",
  "coroutine",
  "table",
  "string",
  "math",
  "_VERSION",
];
const stringNames = ["byte", "char", "format", "len", "lower", "reverse", "sub", "upper"];
const tableNames = ["concat", "foreach", "foreachi", "getn", "insert", "maxn", "remove", "setn"];
const libraryBudgetBytes = 1_024 * 1_024;

/**
 * The arguments of Lua's functions that are read as C reads them where Redis runs (`integers.ts`): those that bound a
 * loop, and a base. `string.sub`, `string.byte` and `select` keep Lua's own reading, which no script should notice and which
 * would take them two to three times as long.
 */
const integerArguments = {
  unpack: [2, 3],
  concat: [3, 4],
  insert: [2],
  remove: [2],
  tonumber: [2],
} as const satisfies Readonly<Record<string, readonly number[]>>;

/** More tables of functions and constants for the globals: redis, cjson, … */
export type LuaLibraries = Readonly<Record<string, LuaLibrary>>;

export interface LuaLibrary {
  readonly functions: HostFunctions;
  /** Pushes each value. */
  readonly values?: Readonly<Record<string, (lua: LuaPointer) => void>>;
}

/** The result of `install`. */
export interface InstalledGlobals {
  /** The reference of the real globals in the registry. */
  readonly reference: number;
  /** Addresses of all guards of the state. */
  readonly guards: readonly number[];
}

/** Functions of an instance that all its states share, so that they are created once. */
export class LuaGlobals {
  readonly #host: LuaHost;
  readonly #libraries: LuaLibraries;
  readonly #pointers = new Map<HostFunction, number>();
  /** From the address of a guard to the reference of its real table, for all states: addresses differ. */
  readonly #guards = new Map<number, number>();
  /** Lua's functions that run in the frame of ours. */
  readonly #originals = new Map<string, number>();
  readonly #string: ReturnType<typeof stringFunctions>;
  readonly #table: HostFunctions;
  readonly #dice: LuaDice;

  constructor(host: LuaHost, libraries: LuaLibraries, dice: LuaDice) {
    this.#host = host;
    this.#libraries = libraries;
    this.#dice = dice;
    this.#string = stringFunctions(host);
    this.#table = tableFunctions(host);
  }

  /** Creates the globals of a new state. */
  install(lua: LuaPointer): InstalledGlobals {
    const before = new Set(this.#guards.keys());
    const reference = this.#installAll(lua);
    return { reference, guards: [...this.#guards.keys()].filter((guard) => !before.has(guard)) };
  }

  #installAll(lua: LuaPointer): number {
    const { instance } = this.#host;
    const { api } = instance;
    for (const open of [api.luaopen_base, api.luaopen_table, api.luaopen_string, api.luaopen_math]) {
      this.#pushFunction(lua, open);
      api.lua_call(lua, 0, 0);
    }
    api.lua_settop(lua, 0);
    // 1: Lua's globals; 2: ours.
    api.lua_pushvalue(lua, GLOBALS);
    api.lua_createtable(lua, 0, 64);
    for (const name of baseNames) this.#copyField(lua, name);
    this.#narrowLibrary(lua, "string", stringNames);
    this.#narrowLibrary(lua, "table", tableNames);
    this.#addBase(lua);
    this.#addLibraries(lua);
    for (const name of ["string", "table", "math", "coroutine"]) this.#guardField(lua, name);
    this.#guardStringMetatable(lua);
    this.#spellNull(lua);
    return this.#finish(lua);
  }

  /** Pushes a host function as a value of Lua. */
  #pushFunction(lua: LuaPointer, run: HostFunction, upvalueCount = 0): void {
    let pointer = this.#pointers.get(run);
    if (pointer === undefined) {
      pointer = this.#host.instance.addFunction(run);
      this.#pointers.set(run, pointer);
    }
    this.#host.instance.api.lua_pushcclosure(lua, pointer, upvalueCount);
  }

  #setFunction(lua: LuaPointer, table: number, entry: { name: string; run: HostFunction }): void {
    this.#pushFunction(lua, entry.run);
    this.#host.instance.setField(lua, table, entry.name);
  }

  #copyField(lua: LuaPointer, name: string): void {
    const { instance } = this.#host;
    instance.pushText(lua, name);
    instance.api.lua_rawget(lua, 1);
    instance.setField(lua, 2, name);
  }

  /** Replaces the library in ours by one with only these functions. */
  #narrowLibrary(lua: LuaPointer, library: string, names: readonly string[]): void {
    const { instance } = this.#host;
    const { api } = instance;
    instance.pushText(lua, library);
    api.lua_rawget(lua, 2);
    api.lua_createtable(lua, 0, 16);
    const [from, to] = [3, 4];
    for (const name of names) {
      instance.pushText(lua, name);
      api.lua_rawget(lua, from);
      instance.setField(lua, to, name);
    }
    if (library === "string") {
      for (const name of ["find", "match", "gsub", "rep"] as const)
        this.#setFunction(lua, to, { name, run: this.#string[name] as HostFunction });
      for (const name of ["gmatch", "gfind"]) this.#setFunction(lua, to, { name, run: this.#gmatch });
      this.#wrap(lua, { table: to, name: "format", run: this.#format });
    } else {
      this.#setFunction(lua, to, { name: "sort", run: this.#table["sort"] as HostFunction });
      this.#wrap(lua, { table: to, name: "setn", run: this.#onlyOpen("setn") });
      this.#wrap(lua, { table: to, name: "sort", run: this.#onlyOpen("sort") });
      this.#wrap(lua, { table: to, name: "insert", run: this.#insert });
      this.#wrap(lua, { table: to, name: "remove", run: this.#remove });
      this.#wrap(lua, { table: to, name: "concat", run: this.#concat, countMin: 3 });
    }
    instance.setField(lua, 2, library);
    api.lua_settop(lua, 2);
  }

  /**
   * Puts `run` in place of field `name`, and can delegate to the replaced function. With fewer arguments than `countMin`
   * that one runs.
   */
  #wrap(lua: LuaPointer, entry: { table: number; name: string; run: HostFunction; countMin?: number }): void {
    const { instance } = this.#host;
    instance.pushText(lua, entry.name);
    instance.api.lua_rawget(lua, entry.table);
    const pointer = instance.api.lua_tocfunction(lua, -1);
    instance.api.lua_settop(lua, -2);
    // A wrapper of a wrapper keeps the innermost function.
    if (!this.#originals.has(entry.name)) this.#originals.set(entry.name, pointer);
    const { run, countMin } = entry;
    if (countMin !== undefined && !this.#pointers.has(run))
      this.#pointers.set(run, instance.addReplacement(run, { original: pointer, countMin }));
    this.#setFunction(lua, entry.table, entry);
  }

  /** Runs Lua's own function with this name in the running frame. */
  #original(lua: LuaPointer, name: string): number {
    return this.#host.instance.delegate(lua, this.#originals.get(name) as number);
  }

  readonly #onlyOpenByName = new Map<string, HostFunction>();

  /** Lua's own function, refused if its first argument is a guard, which it would change. */
  #onlyOpen(name: string): HostFunction {
    let run = this.#onlyOpenByName.get(name);
    if (run === undefined) {
      run = (lua) => {
        this.#refuseGuard(lua);
        return this.#original(lua, name);
      };
      this.#onlyOpenByName.set(name, run);
    }
    return run;
  }

  /** Replaces the arguments that Lua would convert to other integers than C does where Redis runs. */
  #readIntegers(lua: LuaPointer, name: keyof typeof integerArguments): void {
    const { api } = this.#host.instance;
    for (const position of integerArguments[name]) {
      // 0 if it is not a number, which Lua's function refuses.
      const value = api.lua_tonumber(lua, position);
      if (!isBeyondInt(value)) continue;
      api.lua_pushnumber(lua, asInt(value));
      api.lua_replace(lua, position);
    }
  }

  /** Lua's own, whose check of the count overflows for a range of 2^31 elements. */
  readonly #unpack: HostFunction = (lua) => {
    const { api } = this.#host.instance;
    // Lua's function refuses anything but a table. The length of a number would make it a string.
    if (api.lua_type(lua, 1) === LuaType.table) {
      this.#readIntegers(lua, "unpack");
      const first = Math.trunc(api.lua_tonumber(lua, 2));
      const last = api.lua_type(lua, 3) > LuaType.nil ? api.lua_tonumber(lua, 3) : api.lua_objlen(lua, 1);
      if (last - first >= INT_MAX) {
        // It refuses this range as well.
        api.lua_settop(lua, 2);
        api.lua_pushnumber(lua, first + INT_MAX - 1);
      }
    }
    return this.#original(lua, "unpack");
  };

  readonly #concat: HostFunction = (lua) => {
    this.#readIntegers(lua, "concat");
    return this.#original(lua, "concat");
  };

  readonly #remove: HostFunction = (lua) => {
    this.#refuseGuard(lua);
    this.#readIntegers(lua, "remove");
    return this.#original(lua, "remove");
  };

  readonly #insert: HostFunction = (lua) => {
    const { api } = this.#host.instance;
    this.#refuseGuard(lua);
    if (api.lua_gettop(lua) === 3 && api.lua_type(lua, 1) === LuaType.table) {
      this.#readIntegers(lua, "insert");
      const moves = api.lua_objlen(lua, 1) - api.lua_tonumber(lua, 2);
      if (moves > INSERT_MOVES_MAX) this.#host.instance.raise(lua, "position is too far before the end");
      this.#host.charge(Math.max(0, moves));
    }
    return this.#original(lua, "insert");
  };

  readonly #gmatch: HostFunction = (lua) => {
    const { instance } = this.#host;
    instance.addressOfArgument(lua, 1);
    instance.addressOfArgument(lua, 2);
    instance.api.lua_settop(lua, 2);
    instance.api.lua_pushnumber(lua, 0);
    this.#pushFunction(lua, this.#string.gmatchStep, 3);
    return 1;
  };

  /** Lua's own function, with the text of integers that its `long` cannot represent. */
  readonly #format: HostFunction = (lua) => {
    const { instance } = this.#host;
    const { api } = instance;
    const format = instance.bytesOfArgument(lua, 1);
    this.#host.charge(format.length);
    const parts: string[] = [];
    let taken = 0;
    for (const [index, conversion] of conversionsOf(format).entries()) {
      const position = index + 2;
      if (api.lua_isnumber(lua, position) === 0) continue;
      const value = api.lua_tonumber(lua, position);
      if (!isBeyondLong(conversion.letter, value)) continue;
      parts.push(format.slice(taken, conversion.start), "%s");
      taken = conversion.end;
      instance.push(lua, integerText(conversion, value));
      api.lua_replace(lua, position);
    }
    if (parts.length > 0) {
      instance.push(lua, parts.join("") + format.slice(taken));
      api.lua_replace(lua, 1);
    }
    return this.#original(lua, "format");
  };

  #addBase(lua: LuaPointer): void {
    const wrappers: Readonly<Record<string, HostFunction>> = {
      rawset: this.#onlyOpen("rawset"),
      setmetatable: this.#onlyOpen("setmetatable"),
      getmetatable: this.#getMetatable,
      rawget: this.#rawGet,
      next: this.#next,
    };
    for (const [name, run] of Object.entries(wrappers)) this.#wrap(lua, { table: 2, name, run });
    // Mostly without a base, and scripts call tonumber often.
    this.#wrap(lua, { table: 2, name: "tonumber", run: this.#toNumber, countMin: 2 });
    this.#wrap(lua, { table: 2, name: "unpack", run: this.#unpack, countMin: 2 });
    this.#pairsOf(lua);
    this.#setFunction(lua, 2, { name: "pcall", run: this.#pcall });
    this.#setFunction(lua, 2, { name: "loadstring", run: this.#loadString });
    this.#setFunction(lua, 2, { name: "load", run: this.#load });
    this.#setFunction(lua, 2, { name: "collectgarbage", run: this.#collectGarbage });
    const { instance } = this.#host;
    instance.pushText(lua, "math");
    instance.api.lua_rawget(lua, 2);
    this.#setFunction(lua, 3, { name: "random", run: this.#mathRandom });
    this.#setFunction(lua, 3, { name: "randomseed", run: this.#mathRandomSeed });
    instance.api.lua_settop(lua, 2);
  }

  readonly #mathRandomSeed: HostFunction = (lua) => {
    this.#dice.seed(this.#host.instance.api.luaL_checknumber(lua, 1));
    return 0;
  };

  /** As Lua's, with our random numbers. */
  readonly #mathRandom: HostFunction = (lua) => {
    const { instance } = this.#host;
    const { api } = instance;
    const unit = this.#dice.unit();
    const count = api.lua_gettop(lua);
    if (count === 0) {
      api.lua_pushnumber(lua, unit);
      return 1;
    }
    if (count > 2) instance.raise(lua, "wrong number of arguments");
    const lower = count === 1 ? 1 : asInt(api.luaL_checknumber(lua, 1));
    const upper = asInt(api.luaL_checknumber(lua, count));
    if (lower > upper) instance.raiseArgument(lua, count, "interval is empty");
    api.lua_pushnumber(lua, Math.floor(unit * (upper - lower + 1)) + lower);
    return 1;
  };

  #refuseGuard(lua: LuaPointer): void {
    if (this.#isGuard(lua, 1)) this.#host.instance.raiseBare(lua, READ_ONLY);
  }

  #isGuard(lua: LuaPointer, index: number): boolean {
    const { api } = this.#host.instance;
    return api.lua_type(lua, index) === LuaType.table && this.#guards.has(api.lua_topointer(lua, index));
  }

  /** Replaces a guard at `index` by the real table, for a function that only reads. */
  #readAhead(lua: LuaPointer, index: number): boolean {
    const { api } = this.#host.instance;
    if (api.lua_type(lua, index) !== LuaType.table) return false;
    const reference = this.#guards.get(api.lua_topointer(lua, index));
    if (reference === undefined) return false;
    api.lua_rawgeti(lua, REGISTRY, reference);
    api.lua_replace(lua, index);
    return true;
  }

  readonly #getMetatable: HostFunction = (lua) => {
    const { api } = this.#host.instance;
    if (this.#isGuard(lua, 1) || api.lua_type(lua, 1) === LuaType.lightUserdata) {
      api.lua_pushnil(lua);
      return 1;
    }
    return this.#original(lua, "getmetatable");
  };

  readonly #rawGet: HostFunction = (lua) => {
    this.#readAhead(lua, 1);
    return this.#original(lua, "rawget");
  };

  /** Lua's own function, except with a base, for which its `long` is too small. */
  readonly #toNumber: HostFunction = (lua) => {
    const { instance } = this.#host;
    const { api } = instance;
    this.#readIntegers(lua, "tonumber");
    const base = api.lua_isnumber(lua, 2) === 0 ? 10 : Math.trunc(api.lua_tonumber(lua, 2));
    const count = this.#original(lua, "tonumber");
    if (base === 10 || api.lua_isnumber(lua, -1) === 0) return count;
    const read = readUnsigned(instance.bytesAt(lua, 1), base);
    if (read === undefined) api.lua_pushnil(lua);
    else api.lua_pushnumber(lua, read);
    return 1;
  };

  readonly #next: HostFunction = (lua) => {
    this.#readAhead(lua, 1);
    return this.#original(lua, "next");
  };

  /** `pairs` with two upvalues: Lua's `next`, and ours for guards. Loops over other tables are as fast as in Lua. */
  #pairsOf(lua: LuaPointer): void {
    const { instance } = this.#host;
    instance.pushText(lua, "next");
    instance.api.lua_rawget(lua, 1);
    this.#pushFunction(lua, this.#next);
    this.#pushFunction(lua, this.#pairs, 2);
    instance.setField(lua, 2, "pairs");
  }

  readonly #pairs: HostFunction = (lua) => {
    const { api } = this.#host.instance;
    api.luaL_checktype(lua, 1, LuaType.table);
    api.lua_pushvalue(lua, GLOBALS - (this.#isGuard(lua, 1) ? 2 : 1));
    api.lua_pushvalue(lua, 1);
    api.lua_pushnil(lua);
    return 3;
  };

  /** As in Redis: an error that is a table with a text `err`, such as from redis.call, is returned as that text. */
  readonly #pcall: HostFunction = (lua) => {
    const { instance } = this.#host;
    const { api } = instance;
    if (api.lua_gettop(lua) === 0) instance.raiseArgument(lua, 1, "value expected");
    const status = api.lua_pcall(lua, api.lua_gettop(lua) - 1, -1, 0);
    if (status === 0) {
      if (api.lua_checkstack(lua, 1) === 0) instance.raise(lua, "stack overflow");
      api.lua_pushboolean(lua, 1);
      api.lua_insert(lua, 1);
      return api.lua_gettop(lua);
    }
    if (api.lua_type(lua, -1) === LuaType.table) {
      instance.pushText(lua, "err");
      api.lua_rawget(lua, -2);
      if (api.lua_isstring(lua, -1) === 0) api.lua_settop(lua, -2);
    }
    api.lua_pushboolean(lua, 0);
    api.lua_insert(lua, -2);
    return 2;
  };

  readonly #loadString: HostFunction = (lua) => {
    const { instance } = this.#host;
    const source = instance.bytesOfArgument(lua, 1);
    const name = instance.api.lua_type(lua, 2) <= LuaType.nil ? source : instance.bytesOfArgument(lua, 2);
    return this.#loadSource(lua, source, name);
  };

  readonly #load: HostFunction = (lua) => {
    const { instance } = this.#host;
    const { api } = instance;
    api.luaL_checktype(lua, 1, LuaType.function);
    const name = api.lua_type(lua, 2) <= LuaType.nil ? "=(load)" : instance.bytesOfArgument(lua, 2);
    let source = "";
    for (;;) {
      api.lua_pushvalue(lua, 1);
      api.lua_call(lua, 0, 1);
      const type = api.lua_type(lua, -1);
      if (type !== LuaType.nil && type !== LuaType.string && type !== LuaType.number)
        instance.raise(lua, "reader function must return a string");
      const piece = type === LuaType.nil ? "" : instance.bytesAt(lua, -1);
      api.lua_settop(lua, -2);
      if (piece === "") return this.#loadSource(lua, source, name);
      source += piece;
      this.#host.charge(piece.length);
      if (source.length > libraryBudgetBytes) instance.raise(lua, "source text is too large");
    }
  };

  #loadSource(lua: LuaPointer, source: string, name: string): number {
    const { instance } = this.#host;
    if (source.length > libraryBudgetBytes) instance.raise(lua, "source text is too large");
    this.#host.charge(source.length);
    if (this.#host.compile(lua, source, name.slice(0, 256)) === 0) return 1;
    instance.api.lua_pushnil(lua);
    instance.api.lua_insert(lua, -2);
    return 2;
  }

  /** Only `count` is supported: a script must not control the collector, whose time no hook sees. */
  readonly #collectGarbage: HostFunction = (lua) => {
    const { instance } = this.#host;
    const what = instance.api.lua_type(lua, 1) <= LuaType.nil ? "collect" : instance.bytesOfArgument(lua, 1);
    const COUNT = 3;
    const COUNT_REST = 4;
    const used = instance.api.lua_gc(lua, COUNT, 0) + instance.api.lua_gc(lua, COUNT_REST, 0) / 1_024;
    if (what === "step") instance.api.lua_pushboolean(lua, 1);
    else instance.api.lua_pushnumber(lua, what === "count" ? used : 0);
    return 1;
  };

  #addLibraries(lua: LuaPointer): void {
    const { instance } = this.#host;
    for (const [library, { functions, values }] of Object.entries(this.#libraries)) {
      instance.api.lua_createtable(lua, 0, 16);
      for (const [name, run] of Object.entries(functions)) this.#setFunction(lua, 3, { name, run });
      for (const [name, pushValue] of Object.entries(values ?? {})) {
        pushValue(lua);
        instance.setField(lua, 3, name);
      }
      instance.setField(lua, 2, library);
      this.#guardField(lua, library);
    }
  }

  /** Replaces one of our tables by its guard. */
  #guardField(lua: LuaPointer, name: string): void {
    const { instance } = this.#host;
    instance.pushText(lua, name);
    instance.api.lua_rawget(lua, 2);
    this.#pushGuard(lua);
    instance.setField(lua, 2, name);
    instance.api.lua_settop(lua, 2);
  }

  /** Pushes a guard of the table on top of the stack; the table stays below it. Returns its reference. keeps (1) */
  #pushGuard(lua: LuaPointer): number {
    const { instance } = this.#host;
    const { api } = instance;
    api.lua_pushvalue(lua, -1);
    const reference = api.luaL_ref(lua, REGISTRY);
    api.lua_createtable(lua, 0, 0);
    api.lua_createtable(lua, 0, 2);
    api.lua_pushvalue(lua, -3);
    instance.setField(lua, -2, "__index");
    this.#pushFunction(lua, this.#refuseWrite);
    instance.setField(lua, -2, "__newindex");
    api.lua_setmetatable(lua, -2);
    this.#guards.set(api.lua_topointer(lua, -1), reference);
    // keeps (3)
    api.lua_pushvalue(lua, -1);
    api.luaL_ref(lua, REGISTRY);
    return reference;
  }

  readonly #refuseWrite: HostFunction = (lua) => this.#host.instance.raise(lua, READ_ONLY);

  readonly #noSuchGlobal: HostFunction = (lua) => {
    const { instance } = this.#host;
    const name = instance.bytesAt(lua, 2);
    return instance.raise(lua, `Script attempted to access nonexistent global variable '${name}'`);
  };

  /** Methods of strings are those of our library, and `getmetatable("")` is a guard. */
  #guardStringMetatable(lua: LuaPointer): void {
    const { instance } = this.#host;
    const { api } = instance;
    instance.pushText(lua, "");
    instance.pushText(lua, "string");
    api.lua_rawget(lua, 2);
    const library = 4;
    api.lua_getmetatable(lua, 3);
    api.lua_pushvalue(lua, library);
    instance.setField(lua, 5, "__index");
    api.lua_createtable(lua, 0, 1);
    api.lua_pushvalue(lua, library);
    instance.setField(lua, 6, "__index");
    this.#pushGuard(lua);
    instance.setField(lua, 5, "__metatable");
    api.lua_settop(lua, 2);
  }

  /**
   * `cjson.null` is a null pointer, which C libraries print differently. The metatable is that of all such pointers;
   * no script can get it.
   */
  #spellNull(lua: LuaPointer): void {
    const { instance } = this.#host;
    const { api } = instance;
    api.lua_pushlightuserdata(lua, 0);
    api.lua_createtable(lua, 0, 1);
    this.#setFunction(lua, 4, { name: "__tostring", run: this.#nullText });
    api.lua_setmetatable(lua, 3);
    api.lua_settop(lua, 2);
  }

  readonly #nullText: HostFunction = (lua) => {
    this.#host.instance.pushText(lua, "userdata: (nil)");
    return 1;
  };

  /** Makes the guard of our globals the globals of the state. */
  #finish(lua: LuaPointer): number {
    const { instance } = this.#host;
    const { api } = instance;
    api.lua_createtable(lua, 0, 1);
    this.#pushFunction(lua, this.#noSuchGlobal);
    instance.setField(lua, 3, "__index");
    api.lua_setmetatable(lua, 2);
    const reference = this.#pushGuard(lua);
    api.lua_pushvalue(lua, 3);
    instance.setField(lua, 2, "_G");
    api.lua_replace(lua, GLOBALS);
    api.lua_settop(lua, 0);
    return reference;
  }

  /** Drops the guards of a closed state: their addresses may be reused for other tables. */
  forget({ guards }: InstalledGlobals): void {
    for (const guard of guards) this.#guards.delete(guard);
  }
}
