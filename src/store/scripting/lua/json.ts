/**
 * `cjson.*` as lua-cjson 2.1 in Redis: which tables are arrays, how numbers are
 * printed, and the texts of errors.
 *
 * The settings (`encode_max_depth`, …) apply only to the script that makes them;
 * in Redis they stay for all scripts of all users. A module of `cjson.new()` has
 * its own, in a table of Lua that is the upvalue of its functions, so that they
 * live as long as the module does.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { LuaLibrary } from "./globals.ts";
import type { HostFunctions, LuaHost } from "./host.ts";
import { type HostFunction, type LuaPointer, LuaType, upvalue } from "./instance.ts";
import { asInt, INT_MAX } from "./integers.ts";
import { JsonReader } from "./json-reader.ts";
import { formatSignificant } from "./number-text.ts";

type InvalidNumbers = "off" | "on" | "null";

export interface JsonSettings {
  encodeDepthMax: number;
  decodeDepthMax: number;
  precision: number;
  keepsBuffer: boolean;
  /** `true`: a sparse array becomes an object instead of an error. */
  sparseConverts: boolean;
  sparseRatio: number;
  sparseSafe: number;
  encodeInvalid: InvalidNumbers;
  decodeInvalid: InvalidNumbers;
}

const invalidNumberOptions: readonly InvalidNumbers[] = ["off", "on", "null"];

function defaults(): JsonSettings {
  return {
    encodeDepthMax: 1_000,
    decodeDepthMax: 1_000,
    precision: 14,
    keepsBuffer: true,
    sparseConverts: false,
    sparseRatio: 2,
    sparseSafe: 10,
    encodeInvalid: "off",
    decodeInvalid: "on",
  };
}

const PRECISION_MAX = 14;
/** Limit of the text of one document. */
export const DOCUMENT_BYTES_MAX = 32 * 1_024 * 1_024;
/** Longer strings are escaped in parts. */
const QUOTED_PART_BYTES = 16 * 1_024;
const STACK_SLOTS = 6;
/** The charge for a module of `cjson.new()`: its tables and functions. */
const MODULE_WORK = 1_000;

export function jsonLibrary(host: LuaHost): LuaLibrary {
  const { instance } = host;
  const { api } = instance;
  let current = defaults();
  let settingsOf = 0;

  /** The settings of the running function's module. */
  function settings(lua: LuaPointer): JsonSettings {
    if (api.lua_type(lua, upvalue(1)) === LuaType.table) return readSettings(lua);
    if (settingsOf !== host.runNumber) {
      settingsOf = host.runNumber;
      current = defaults();
    }
    return current;
  }

  /** Settings from the table that a module of `cjson.new()` has. */
  function readSettings(lua: LuaPointer): JsonSettings {
    const field = (index: number): number => {
      api.lua_rawgeti(lua, upvalue(1), index);
      const value = api.lua_tonumber(lua, -1);
      api.lua_settop(lua, -2);
      return value;
    };
    return {
      encodeDepthMax: field(1),
      decodeDepthMax: field(2),
      precision: field(3),
      keepsBuffer: field(4) !== 0,
      sparseConverts: field(5) !== 0,
      sparseRatio: field(6),
      sparseSafe: field(7),
      encodeInvalid: invalidNumberOptions[field(8)] ?? "off",
      decodeInvalid: invalidNumberOptions[field(9)] ?? "off",
    };
  }

  /** Stores settings in the table at a stack index or upvalue, in the order of `readSettings`. */
  function storeSettings(lua: LuaPointer, table: number, now: JsonSettings): void {
    const numbers = [
      now.encodeDepthMax,
      now.decodeDepthMax,
      now.precision,
      Number(now.keepsBuffer),
      Number(now.sparseConverts),
      now.sparseRatio,
      now.sparseSafe,
      invalidNumberOptions.indexOf(now.encodeInvalid),
      invalidNumberOptions.indexOf(now.decodeInvalid),
    ];
    for (const [index, number] of numbers.entries()) {
      api.lua_pushnumber(lua, number);
      api.lua_rawseti(lua, table, index + 1);
    }
  }

  /** A function that may change the settings, by at most `most` arguments, and pushes what they are now. */
  function setting(most: number, run: (lua: LuaPointer, now: JsonSettings) => number): HostFunction {
    return (lua) => {
      if (api.lua_gettop(lua) > most) instance.raiseArgument(lua, most + 1, "found too many arguments");
      const now = settings(lua);
      const count = run(lua, now);
      if (api.lua_type(lua, upvalue(1)) === LuaType.table) storeSettings(lua, upvalue(1), now);
      return count;
    };
  }

  /** Addresses of the functions of modules; the same for all of them. */
  const pointers = new Map<string, number>();

  /** `cjson.new`: another module, with the default settings. Its table is open: scripts may change it. */
  function newModule(lua: LuaPointer): number {
    host.charge(MODULE_WORK);
    api.lua_settop(lua, 0);
    api.lua_createtable(lua, 0, 16);
    api.lua_createtable(lua, 9, 0);
    storeSettings(lua, 2, defaults());
    for (const [name, run] of Object.entries(functions)) {
      let pointer = pointers.get(name);
      if (pointer === undefined) {
        pointer = instance.addFunction(run);
        pointers.set(name, pointer);
      }
      api.lua_pushvalue(lua, 2);
      api.lua_pushcclosure(lua, pointer, 1);
      instance.setField(lua, 1, name);
    }
    for (const [name, pushValue] of Object.entries(values)) {
      pushValue(lua);
      instance.setField(lua, 1, name);
    }
    api.lua_settop(lua, 1);
    return 1;
  }

  function encode(lua: LuaPointer): number {
    if (api.lua_gettop(lua) !== 1) instance.raiseArgument(lua, 1, "expected 1 argument");
    const text = new JsonWriter(host, settings(lua)).write(lua);
    instance.push(lua, text);
    return 1;
  }

  function decode(lua: LuaPointer): number {
    if (api.lua_gettop(lua) !== 1) instance.raiseArgument(lua, 1, "expected 1 argument");
    const text = instance.bytesOfArgument(lua, 1);
    host.charge(text.length * 2);
    const { decodeDepthMax, decodeInvalid } = settings(lua);
    new JsonReader(host, { lua, text, depthMax: decodeDepthMax, takesInvalidNumbers: decodeInvalid !== "off" }).read();
    return 1;
  }

  /** Sets an integer between bounds if one is given, and returns the current value. */
  function whole(name: "encodeDepthMax" | "decodeDepthMax" | "precision", most: number) {
    return setting(1, (lua, now) => {
      if (api.lua_type(lua, 1) > LuaType.nil) now[name] = wholeArgument(lua, 1, { least: 1, most });
      api.lua_pushnumber(lua, now[name]);
      return 1;
    });
  }

  /** The first argument: one of the options, or a boolean for "on" and "off"; `now` if it is absent. */
  function optionArgument<T extends string>(lua: LuaPointer, options: readonly T[], now: T): T {
    const type = api.lua_type(lua, 1);
    if (type <= LuaType.nil) return now;
    const text =
      type !== LuaType.boolean ? instance.bytesOfArgument(lua, 1) : api.lua_toboolean(lua, 1) === 0 ? "off" : "on";
    const option = options.find((option) => option === text);
    if (option === undefined) instance.raiseArgument(lua, 1, `invalid option '${text}'`);
    return option as T;
  }

  const switchArgument = (lua: LuaPointer, now: boolean): boolean =>
    optionArgument(lua, ["off", "on"], now ? "on" : "off") === "on";

  function wholeArgument(lua: LuaPointer, position: number, bounds: { least: number; most: number }): number {
    const value = asInt(api.luaL_checknumber(lua, position));
    if (!(value >= bounds.least && value <= bounds.most))
      instance.raiseArgument(lua, position, `expected integer between ${bounds.least} and ${bounds.most}`);
    return value;
  }

  function invalidNumbers(name: "encodeInvalid" | "decodeInvalid") {
    const options: readonly InvalidNumbers[] = name === "encodeInvalid" ? invalidNumberOptions : ["off", "on"];
    return setting(1, (lua, now) => {
      now[name] = optionArgument(lua, options, now[name]);
      if (now[name] === "null") instance.pushText(lua, "null");
      else api.lua_pushboolean(lua, now[name] === "on" ? 1 : 0);
      return 1;
    });
  }

  const functions: HostFunctions = {
    new: newModule,
    encode,
    decode,
    encode_max_depth: whole("encodeDepthMax", INT_MAX),
    decode_max_depth: whole("decodeDepthMax", INT_MAX),
    encode_number_precision: whole("precision", PRECISION_MAX),
    encode_invalid_numbers: invalidNumbers("encodeInvalid"),
    decode_invalid_numbers: invalidNumbers("decodeInvalid"),
    encode_keep_buffer: setting(1, (lua, now) => {
      now.keepsBuffer = switchArgument(lua, now.keepsBuffer);
      api.lua_pushboolean(lua, now.keepsBuffer ? 1 : 0);
      return 1;
    }),
    encode_sparse_array: setting(3, (lua, now) => {
      now.sparseConverts = switchArgument(lua, now.sparseConverts);
      if (api.lua_type(lua, 2) > LuaType.nil) now.sparseRatio = wholeArgument(lua, 2, { least: 0, most: INT_MAX });
      if (api.lua_type(lua, 3) > LuaType.nil) now.sparseSafe = wholeArgument(lua, 3, { least: 0, most: INT_MAX });
      api.lua_pushboolean(lua, now.sparseConverts ? 1 : 0);
      api.lua_pushnumber(lua, now.sparseRatio);
      api.lua_pushnumber(lua, now.sparseSafe);
      return 3;
    }),
  };
  const values: NonNullable<LuaLibrary["values"]> = {
    null: (lua) => api.lua_pushlightuserdata(lua, 0),
    _NAME: (lua) => instance.pushText(lua, "cjson"),
    _VERSION: (lua) => instance.pushText(lua, "2.1.0"),
  };
  return { functions, values };
}

/** Writes the value on top of Lua's stack. */
class JsonWriter {
  readonly #host: LuaHost;
  readonly #settings: JsonSettings;
  #text = "";

  constructor(host: LuaHost, settings: JsonSettings) {
    this.#host = host;
    this.#settings = settings;
  }

  write(lua: LuaPointer): Bytes {
    this.#writeValue(lua, 0);
    return this.#text;
  }

  #add(lua: LuaPointer, text: string): void {
    this.#text += text;
    this.#host.charge(text.length + 4);
    if (this.#text.length > DOCUMENT_BYTES_MAX) this.#host.instance.raise(lua, "resulting string too large");
  }

  /** In parts, each of which is charged: escaping a byte takes a hundred times as long as copying one. */
  #addQuoted(lua: LuaPointer, bytes: Bytes): void {
    if (bytes.length <= QUOTED_PART_BYTES) {
      this.#add(lua, `"${escaped(bytes)}"`);
      return;
    }
    this.#text += '"';
    for (let start = 0; start < bytes.length; start += QUOTED_PART_BYTES)
      this.#add(lua, escaped(bytes.slice(start, start + QUOTED_PART_BYTES)));
    this.#add(lua, '"');
  }

  #writeValue(lua: LuaPointer, depth: number): void {
    const { instance } = this.#host;
    const { api } = instance;
    const type = api.lua_type(lua, -1);
    if (type === LuaType.string) this.#addQuoted(lua, instance.bytesAt(lua, -1));
    else if (type === LuaType.number) this.#add(lua, this.#number(lua));
    else if (type === LuaType.boolean) this.#add(lua, api.lua_toboolean(lua, -1) === 0 ? "false" : "true");
    else if (type === LuaType.table) this.#writeTable(lua, depth + 1);
    else if (type === LuaType.nil || (type === LuaType.lightUserdata && api.lua_touserdata(lua, -1) === 0))
      this.#add(lua, "null");
    else this.#refuse(lua, "type not supported");
  }

  #refuse(lua: LuaPointer, reason: string): never {
    const { instance } = this.#host;
    const name = instance.api.lua_typename(lua, instance.api.lua_type(lua, -1));
    const type = instance.memory.latin1Slice(name, instance.memory.indexOf(0, name));
    return instance.raise(lua, `Cannot serialise ${type}: ${reason}`);
  }

  #number(lua: LuaPointer): string {
    const value = this.#host.instance.api.lua_tonumber(lua, -1);
    const { encodeInvalid, precision } = this.#settings;
    if (!Number.isFinite(value)) {
      if (encodeInvalid === "off") this.#refuse(lua, "must not be NaN or Inf");
      if (encodeInvalid === "null") return "null";
      // As the C library prints it: the NaN of 0/0 is negative.
      return Number.isNaN(value) ? "-nan" : value > 0 ? "inf" : "-inf";
    }
    return formatSignificant(value, precision);
  }

  #writeTable(lua: LuaPointer, depth: number): void {
    const { instance } = this.#host;
    const { api } = instance;
    if (depth > this.#settings.encodeDepthMax || api.lua_checkstack(lua, STACK_SLOTS) === 0)
      instance.raise(lua, `Cannot serialise, excessive nesting (${depth})`);
    const length = this.#arrayLength(lua);
    if (length === 0) {
      this.#writeObject(lua, depth);
      return;
    }
    this.#add(lua, "[");
    for (let index = 1; index <= length; index += 1) {
      if (index > 1) this.#add(lua, ",");
      api.lua_rawgeti(lua, -1, index);
      this.#writeValue(lua, depth);
      api.lua_settop(lua, -2);
    }
    this.#add(lua, "]");
  }

  /** The greatest index if the table is an array, 0 if it is an object. */
  #arrayLength(lua: LuaPointer): number {
    const { api } = this.#host.instance;
    const { sparseRatio, sparseSafe, sparseConverts } = this.#settings;
    let greatest = 0;
    let count = 0;
    api.lua_pushnil(lua);
    while (api.lua_next(lua, -2) !== 0) {
      this.#host.charge(1);
      const isNumber = api.lua_type(lua, -2) === LuaType.number;
      const key = isNumber ? api.lua_tonumber(lua, -2) : 0;
      if (key < 1 || !Number.isInteger(key)) {
        api.lua_settop(lua, -3);
        return 0;
      }
      greatest = Math.max(greatest, key);
      count += 1;
      api.lua_settop(lua, -2);
    }
    if (sparseRatio > 0 && greatest > count * sparseRatio && greatest > sparseSafe) {
      if (!sparseConverts) this.#refuse(lua, "excessively sparse array");
      return 0;
    }
    return greatest;
  }

  #writeObject(lua: LuaPointer, depth: number): void {
    const { instance } = this.#host;
    const { api } = instance;
    this.#add(lua, "{");
    let isFirst = true;
    api.lua_pushnil(lua);
    while (api.lua_next(lua, -2) !== 0) {
      if (!isFirst) this.#add(lua, ",");
      isFirst = false;
      // A copy: reading a number as text would change the key.
      api.lua_pushvalue(lua, -2);
      const type = api.lua_type(lua, -1);
      if (type === LuaType.string) {
        this.#addQuoted(lua, instance.bytesAt(lua, -1));
        this.#add(lua, ":");
      } else if (type === LuaType.number) this.#add(lua, `"${this.#number(lua)}":`);
      else this.#refuse(lua, "table key must be a number or string");
      api.lua_settop(lua, -2);
      this.#writeValue(lua, depth);
      api.lua_settop(lua, -2);
    }
    this.#add(lua, "}");
  }
}

/** All characters except those printed unchanged: printable ones other than `"`, `/` and `\`, and bytes from 128 on. */
const ESCAPED = /[^ !#-.0-[\]-~\u0080-\u00ff]/g;
const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["/", "\\/"],
  ["\b", "\\b"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\f", "\\f"],
  ["\r", "\\r"],
]);

function escaped(bytes: Bytes): string {
  return bytes.replace(
    ESCAPED,
    (character) => escapes.get(character) ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
