/** `struct.*`: packing numbers and strings by a format, as Redis' library of that name does on 64-bit machines. */
import type { LuaLibrary } from "./globals.ts";
import type { LuaHost } from "./host.ts";
import { type LuaPointer, LuaType } from "./instance.ts";

const INTEGER_BYTES_MAX = 32;
const ALIGNMENT_MAX = 8;
const INT_MAX = 2_147_483_647;
const PACKED_BYTES_MAX = 32 * 1_024 * 1_024;
const INTEGERS = "bBhHlLTiI";
const fixedSizes: ReadonlyMap<string, number> = new Map([
  ["b", 1],
  ["B", 1],
  ["h", 2],
  ["H", 2],
  ["l", 8],
  ["L", 8],
  ["T", 8],
  ["f", 4],
  ["d", 8],
  ["x", 1],
]);

export function structLibrary(host: LuaHost): LuaLibrary {
  const { instance } = host;
  const { api } = instance;

  function pack(lua: LuaPointer): number {
    const format = new Format(host, lua);
    // The original has a mark after its arguments, and so reads the first one that is missing as nil.
    api.lua_pushnil(lua);
    let position = 2;
    let length = 0;
    const pieces: Buffer[] = [];
    const add = (piece: Buffer): void => {
      pieces.push(piece);
      length += piece.length;
      host.charge(piece.length + 8);
      if (length > PACKED_BYTES_MAX) instance.raise(lua, "resulting string too large");
    };
    for (let option = format.next(length); option !== undefined; option = format.next(length)) {
      if (option.padding > 0) add(Buffer.alloc(option.padding));
      const { letter, size } = option;
      if (INTEGERS.includes(letter)) add(integerBytes(api.luaL_checknumber(lua, position++), size, format.isLittle));
      else if (letter === "x") add(Buffer.alloc(1));
      else if (letter === "f" || letter === "d")
        add(floatBytes(api.luaL_checknumber(lua, position++), size, format.isLittle));
      else {
        const address = instance.addressOfArgument(lua, position++);
        const available = instance.lengthFound;
        const wanted = size === 0 ? available : size;
        // One too many, as in the original.
        if (available < wanted) instance.raiseArgument(lua, position, "string too short");
        add(Buffer.from(instance.memory.subarray(address, address + wanted)));
        if (letter === "s") add(Buffer.alloc(1));
      }
    }
    instance.pushBuffer(lua, Buffer.concat(pieces));
    return 1;
  }

  function unpack(lua: LuaPointer): number {
    const format = new Format(host, lua);
    const address = instance.addressOfArgument(lua, 2);
    const length = instance.lengthFound;
    const data = Buffer.from(instance.memory.subarray(address, address + length));
    host.charge(length);
    const given = api.lua_type(lua, 3) <= LuaType.nil ? 1 : Math.trunc(api.luaL_checknumber(lua, 3));
    if (given === 0) instance.raiseArgument(lua, 3, "offset must be 1 or greater");
    // C reads an offset without a sign, so one below zero is after every string.
    let at = given > 0 ? given - 1 : Number.POSITIVE_INFINITY;
    let count = 0;
    api.lua_settop(lua, 2);
    const expect = (size: number): void => {
      if (size > length || at > length - size) instance.raiseArgument(lua, 2, "data string too short");
    };
    // Before any option is read, even an unknown one.
    if (!format.isEmpty) expect(0);
    for (let option = format.next(at); option !== undefined; option = format.next(at)) {
      const { letter } = option;
      let { size } = option;
      at += option.padding;
      expect(size);
      if (api.lua_checkstack(lua, 2) === 0) instance.raise(lua, "stack overflow (too many results)");
      if (INTEGERS.includes(letter)) {
        api.lua_pushnumber(
          lua,
          readInteger(data.subarray(at, at + size), letter === letter.toLowerCase(), format.isLittle),
        );
        count += 1;
      } else if (letter === "f" || letter === "d") {
        api.lua_pushnumber(lua, readFloat(data, at, { size, isLittle: format.isLittle }));
        count += 1;
      } else if (letter === "c") {
        if (size === 0) {
          if (count === 0 || api.lua_isnumber(lua, -1) === 0) instance.raise(lua, "format 'c0' needs a previous size");
          size = Math.trunc(api.lua_tonumber(lua, -1));
          if (!(size >= 0)) instance.raiseArgument(lua, 2, "data string too short");
          api.lua_settop(lua, -2);
          count -= 1;
          expect(size);
        }
        instance.pushBuffer(lua, data.subarray(at, at + size));
        count += 1;
      } else if (letter === "s") {
        const end = data.indexOf(0, at);
        if (end < 0) instance.raise(lua, "unfinished string in data");
        instance.pushBuffer(lua, data.subarray(at, end));
        size = end - at + 1;
        count += 1;
      }
      at += size;
    }
    api.lua_pushnumber(lua, at + 1);
    return count + 1;
  }

  function size(lua: LuaPointer): number {
    const format = new Format(host, lua, { passesUnknown: true });
    let at = 0;
    for (let option = format.next(at); option !== undefined; option = format.next(at)) {
      if (option.letter === "s") instance.raiseArgument(lua, 1, "option 's' has no fixed size");
      if (option.letter === "c" && option.size === 0) instance.raiseArgument(lua, 1, "option 'c0' has no fixed size");
      at += option.padding + option.size;
    }
    api.lua_pushnumber(lua, at);
    return 1;
  }

  return { functions: { pack, unpack, size } };
}

interface Option {
  readonly letter: string;
  /** 0: as long as its value. */
  readonly size: number;
  readonly padding: number;
}

/** The format at argument 1, one option at a time. */
class Format {
  isLittle = true;
  readonly #host: LuaHost;
  readonly #lua: LuaPointer;
  readonly #text: string;
  readonly #passesUnknown: boolean;
  #at = 0;
  #alignment = 1;

  /** `passesUnknown`: unknown letters and digits are skipped, as `struct.size` does in Redis. */
  constructor(host: LuaHost, lua: LuaPointer, { passesUnknown = false } = {}) {
    this.#host = host;
    this.#lua = lua;
    this.#passesUnknown = passesUnknown;
    this.#text = host.instance.bytesOfArgument(lua, 1);
  }

  get isEmpty(): boolean {
    return this.#text === "" || this.#text.startsWith("\0");
  }

  /** The next option with data at offset `at`; options that change settings are applied on the way. */
  next(at: number): Option | undefined {
    for (;;) {
      const letter = this.#text.charAt(this.#at);
      if (letter === "" || letter === "\0") return undefined;
      this.#at += 1;
      this.#host.charge(1);
      const fixed = fixedSizes.get(letter);
      if (fixed !== undefined) return this.#option(letter, fixed, at);
      if (letter === "c") return { letter, size: this.#number(1), padding: 0 };
      if (letter === "s") return { letter, size: 0, padding: 0 };
      if (letter === "i" || letter === "I") return this.#option(letter, this.#integerSize(), at);
      this.#control(letter);
    }
  }

  #option(letter: string, size: number, at: number): Option {
    const unit = Math.min(size, this.#alignment);
    return { letter, size, padding: unit > 1 ? (unit - (at % unit)) % unit : 0 };
  }

  #integerSize(): number {
    const size = this.#number(4);
    if (size > INTEGER_BYTES_MAX)
      this.#host.instance.raise(this.#lua, `integral size ${size} is larger than limit of ${INTEGER_BYTES_MAX}`);
    return size;
  }

  #number(otherwise: number): number {
    let value = -1;
    for (;;) {
      const digit = this.#text.charCodeAt(this.#at) - 48;
      if (!(digit >= 0 && digit <= 9)) return value < 0 ? otherwise : value;
      this.#at += 1;
      value = Math.max(0, value) * 10 + digit;
      if (value > INT_MAX) this.#host.instance.raise(this.#lua, "integral size overflow");
    }
  }

  #control(letter: string): void {
    if (letter === " ") return;
    if (letter === "<" || letter === ">") this.isLittle = letter === "<";
    else if (letter === "!") {
      const alignment = this.#number(ALIGNMENT_MAX);
      if (alignment === 0 || (alignment & (alignment - 1)) !== 0)
        this.#host.instance.raise(this.#lua, `alignment ${alignment} is not a power of 2`);
      this.#alignment = alignment;
    } else if (!this.#passesUnknown || !/[A-Za-z0-9]/.test(letter)) this.#refuseLetter(letter);
  }

  #refuseLetter(letter: string): never {
    const { instance } = this.#host;
    // As in luaL_argerror, whose message would have to be stored permanently.
    return instance.raise(
      this.#lua,
      `bad argument #1 to '${this.#functionName()}' (invalid format option '${letter}')`,
    );
  }

  #functionName(): string {
    return this.#host.instance.nameOfRunning(this.#lua) ?? "?";
  }
}

function integerBytes(value: number, size: number, isLittle: boolean): Buffer {
  let rest = BigInt.asUintN(64, Number.isFinite(value) ? BigInt(Math.trunc(value)) : 1n << 63n);
  const bytes = Buffer.alloc(size);
  for (let index = 0; index < size; index += 1) {
    bytes[isLittle ? index : size - 1 - index] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

function floatBytes(value: number, size: number, isLittle: boolean): Buffer {
  const bytes = Buffer.alloc(size);
  if (size === 4) bytes.writeFloatLE(value);
  else bytes.writeDoubleLE(value);
  return isLittle ? bytes : bytes.reverse();
}

function readInteger(bytes: Buffer, isSigned: boolean, isLittle: boolean): number {
  let value = 0n;
  for (let index = 0; index < bytes.length; index += 1)
    value = (value << 8n) | BigInt(bytes[isLittle ? bytes.length - 1 - index : index] as number);
  if (!isSigned) return Number(BigInt.asUintN(64, value));
  return Number(BigInt.asIntN(Math.min(64, bytes.length * 8), value));
}

function readFloat(data: Buffer, at: number, form: { size: number; isLittle: boolean }): number {
  if (form.size === 4) return form.isLittle ? data.readFloatLE(at) : data.readFloatBE(at);
  return form.isLittle ? data.readDoubleLE(at) : data.readDoubleBE(at);
}
