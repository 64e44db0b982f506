/** `cmsgpack.*` as lua-cmsgpack 0.4.0 in Redis packs and unpacks. */
import type { LuaLibrary } from "./globals.ts";
import type { LuaHost } from "./host.ts";
import { type LuaPointer, LuaType } from "./instance.ts";
import { asInt, asInt64 } from "./integers.ts";

/** Deeper tables are packed as nil. */
const NESTING_MAX = 16;
const PACKED_BYTES_MAX = 32 * 1_024 * 1_024;
const STACK_SLOTS = 6;
/** Limit of nested arrays and maps when unpacking. */
const UNPACK_DEPTH_MAX = 1_000;

export function messagePackLibrary(host: LuaHost): LuaLibrary {
  const { instance } = host;
  const { api } = instance;

  function pack(lua: LuaPointer): number {
    const count = api.lua_gettop(lua);
    if (count === 0) instance.raiseArgument(lua, 0, "MessagePack pack needs input.");
    if (api.lua_checkstack(lua, STACK_SLOTS) === 0) instance.raise(lua, "Too many arguments for MessagePack pack.");
    const packer = new Packer(host, lua);
    for (let index = 1; index <= count; index += 1) {
      api.lua_pushvalue(lua, index);
      packer.addTop(0);
      api.lua_settop(lua, count);
    }
    instance.pushBuffer(lua, packer.bytes());
    return 1;
  }

  function unpack(lua: LuaPointer, limit: number, offset: number): number {
    if (api.lua_gettop(lua) > 1) api.lua_settop(lua, 1);
    const address = instance.addressOfArgument(lua, 1);
    const length = instance.lengthFound;
    if (offset < 0 || limit < 0)
      instance.raise(lua, `Invalid request to unpack with offset of ${asInt(offset)} and limit of ${length}.`);
    if (offset > length) instance.raise(lua, `Start offset ${asInt(offset)} greater than input length ${length}.`);
    // A copy: the memory may move while values are pushed.
    const unpacker = new Unpacker(host, lua, Buffer.from(instance.memory.subarray(address + offset, address + length)));
    host.charge(length - offset);
    const isAll = limit === 0 && offset === 0;
    let count = 0;
    while (unpacker.left > 0 && (isAll || count < limit)) {
      unpacker.pushNext(0);
      count += 1;
    }
    if (isAll) return count;
    if (api.lua_checkstack(lua, 1) === 0) instance.raise(lua, "too many results");
    api.lua_pushnumber(lua, unpacker.left === 0 ? -1 : length - unpacker.left);
    api.lua_insert(lua, 2);
    return count + 1;
  }

  const whole = (lua: LuaPointer, position: number): number => asInt64(api.luaL_checknumber(lua, position));
  const wholeOrZero = (lua: LuaPointer, position: number): number =>
    api.lua_type(lua, position) <= LuaType.nil ? 0 : whole(lua, position);

  return {
    functions: {
      pack,
      unpack: (lua) => unpack(lua, 0, 0),
      unpack_one: (lua) => unpack(lua, 1, wholeOrZero(lua, 2)),
      unpack_limit: (lua) => {
        const limit = whole(lua, 2);
        return unpack(lua, limit, wholeOrZero(lua, 3));
      },
    },
    values: {
      _NAME: (lua) => instance.pushText(lua, "cmsgpack"),
      _VERSION: (lua) => instance.pushText(lua, "lua-cmsgpack 0.4.0"),
      _COPYRIGHT: (lua) => instance.pushText(lua, "Copyright (C) 2012, Salvatore Sanfilippo"),
      _DESCRIPTION: (lua) => instance.pushText(lua, "MessagePack C implementation for Lua"),
    },
  };
}

class Packer {
  readonly #host: LuaHost;
  readonly #lua: LuaPointer;
  #buffer = Buffer.allocUnsafe(256);
  #length = 0;

  constructor(host: LuaHost, lua: LuaPointer) {
    this.#host = host;
    this.#lua = lua;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Packs the value on top of the stack, which stays. */
  addTop(depth: number): void {
    const { instance } = this.#host;
    const { api } = instance;
    const lua = this.#lua;
    const type = api.lua_type(lua, -1);
    if (type === LuaType.string) this.#addString();
    else if (type === LuaType.number) this.#addNumber(api.lua_tonumber(lua, -1));
    else if (type === LuaType.boolean) this.#byte(api.lua_toboolean(lua, -1) === 0 ? 0xc2 : 0xc3);
    else if (type === LuaType.table && depth < NESTING_MAX) this.#addTable(depth + 1);
    else this.#byte(0xc0);
  }

  #room(length: number): void {
    this.#host.charge(length);
    const needed = this.#length + length;
    if (needed <= this.#buffer.length) return;
    if (needed > PACKED_BYTES_MAX) this.#host.instance.raise(this.#lua, "resulting string too large");
    const larger = Buffer.allocUnsafe(Math.max(needed, Math.min(PACKED_BYTES_MAX, this.#buffer.length * 2)));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }

  #byte(value: number): void {
    this.#room(1);
    this.#buffer[this.#length++] = value;
  }

  /** A type byte and a number of `size` bytes after it. */
  #sized(mark: number, value: number, size: 1 | 2 | 4): void {
    this.#byte(mark);
    this.#room(size);
    this.#length = this.#buffer.writeUIntBE(value, this.#length, size);
  }

  #addString(): void {
    const { instance } = this.#host;
    const address = instance.addressOf(this.#lua, -1);
    const length = instance.lengthFound;
    if (length < 32) this.#byte(0xa0 | length);
    else if (length <= 0xff) this.#sized(0xd9, length, 1);
    else if (length <= 0xffff) this.#sized(0xda, length, 2);
    else this.#sized(0xdb, length, 4);
    this.#room(length);
    instance.memory.copy(this.#buffer, this.#length, address, address + length);
    this.#length += length;
  }

  #addNumber(value: number): void {
    if (!Number.isInteger(value) || value < -(2 ** 63) || value >= 2 ** 63) {
      this.#addDouble(value);
      return;
    }
    if (value >= 0) {
      if (value <= 127) this.#byte(value);
      else if (value <= 0xff) this.#sized(0xcc, value, 1);
      else if (value <= 0xffff) this.#sized(0xcd, value, 2);
      else if (value <= 0xffff_ffff) this.#sized(0xce, value, 4);
      else this.#addLong(0xcf, value);
      return;
    }
    if (value >= -32) this.#byte(value & 0xff);
    else if (value >= -128) this.#sized(0xd0, value & 0xff, 1);
    else if (value >= -32_768) this.#sized(0xd1, value & 0xffff, 2);
    else if (value >= -2_147_483_648) this.#sized(0xd2, value >>> 0, 4);
    else this.#addLong(0xd3, value);
  }

  #addLong(mark: number, value: number): void {
    this.#byte(mark);
    this.#room(8);
    this.#length = this.#buffer.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value)), this.#length);
  }

  #addDouble(value: number): void {
    if (Math.fround(value) === value) {
      this.#byte(0xca);
      this.#room(4);
      this.#length = this.#buffer.writeFloatBE(value, this.#length);
      return;
    }
    this.#byte(0xcb);
    this.#room(8);
    this.#length = this.#buffer.writeDoubleBE(value, this.#length);
  }

  #addTable(depth: number): void {
    const { instance } = this.#host;
    const { api } = instance;
    const lua = this.#lua;
    if (api.lua_checkstack(lua, STACK_SLOTS) === 0) instance.raise(lua, "Stack overflow in MessagePack pack.");
    const { isArray, count } = this.#shape();
    if (isArray) {
      this.#count(count, { small: 0x90, medium: 0xdc, large: 0xdd });
      for (let index = 1; index <= count; index += 1) {
        api.lua_rawgeti(lua, -1, index);
        this.addTop(depth);
        api.lua_settop(lua, -2);
      }
      return;
    }
    this.#count(count, { small: 0x80, medium: 0xde, large: 0xdf });
    api.lua_pushnil(lua);
    while (api.lua_next(lua, -2) !== 0) {
      api.lua_pushvalue(lua, -2);
      this.addTop(depth);
      api.lua_settop(lua, -2);
      this.addTop(depth);
      api.lua_settop(lua, -2);
    }
  }

  #count(count: number, marks: { small: number; medium: number; large: number }): void {
    if (count <= 15) this.#byte(marks.small | count);
    else if (count <= 0xffff) this.#sized(marks.medium, count, 2);
    else this.#sized(marks.large, count, 4);
  }

  /** An array has the keys 1 to n and no others. */
  #shape(): { isArray: boolean; count: number } {
    const { api } = this.#host.instance;
    const lua = this.#lua;
    let greatest = 0;
    let count = 0;
    let isArray = true;
    api.lua_pushnil(lua);
    while (api.lua_next(lua, -2) !== 0) {
      this.#host.charge(1);
      const key = api.lua_type(lua, -2) === LuaType.number ? api.lua_tonumber(lua, -2) : 0;
      if (key < 1 || !Number.isInteger(key)) isArray = false;
      greatest = Math.max(greatest, key);
      count += 1;
      api.lua_settop(lua, -2);
    }
    return { isArray: isArray && greatest === count, count };
  }
}

class Unpacker {
  readonly #host: LuaHost;
  readonly #lua: LuaPointer;
  readonly #input: Buffer;
  #at = 0;

  constructor(host: LuaHost, lua: LuaPointer, input: Buffer) {
    this.#host = host;
    this.#lua = lua;
    this.#input = input;
  }

  get left(): number {
    return this.#input.length - this.#at;
  }

  pushNext(depth: number): void {
    const { instance } = this.#host;
    const { api } = instance;
    const lua = this.#lua;
    if (depth > UNPACK_DEPTH_MAX || api.lua_checkstack(lua, STACK_SLOTS) === 0)
      instance.raise(lua, "too many return values at once; use unpack_one or unpack_limit instead.");
    const mark = this.#input[this.#take(1)] as number;
    if (mark <= 0x7f) api.lua_pushnumber(lua, mark);
    else if (mark >= 0xe0) api.lua_pushnumber(lua, mark - 256);
    else if (mark <= 0x8f) this.#pushMap(mark & 15, depth);
    else if (mark <= 0x9f) this.#pushArray(mark & 15, depth);
    else if (mark <= 0xbf) this.#pushString(mark & 31);
    else this.#pushMarked(mark, depth);
  }

  #pushMarked(mark: number, depth: number): void {
    const { api } = this.#host.instance;
    const lua = this.#lua;
    const input = this.#input;
    switch (mark) {
      case 0xc0:
        api.lua_pushnil(lua);
        return;
      case 0xc2:
      case 0xc3:
        api.lua_pushboolean(lua, mark - 0xc2);
        return;
      case 0xc4:
      case 0xd9:
        this.#pushString(this.#number(1));
        return;
      case 0xc5:
      case 0xda:
        this.#pushString(this.#number(2));
        return;
      case 0xc6:
      case 0xdb:
        this.#pushString(this.#number(4));
        return;
      case 0xca:
        api.lua_pushnumber(lua, input.readFloatBE(this.#take(4)));
        return;
      case 0xcb:
        api.lua_pushnumber(lua, input.readDoubleBE(this.#take(8)));
        return;
      case 0xcc:
        api.lua_pushnumber(lua, this.#number(1));
        return;
      case 0xcd:
        api.lua_pushnumber(lua, this.#number(2));
        return;
      case 0xce:
        api.lua_pushnumber(lua, this.#number(4));
        return;
      case 0xcf:
        // As in Redis, where an unsigned integer of 64 bits becomes a signed one.
        api.lua_pushnumber(lua, Number(input.readBigInt64BE(this.#take(8))));
        return;
      case 0xd0:
        api.lua_pushnumber(lua, input.readInt8(this.#take(1)));
        return;
      case 0xd1:
        api.lua_pushnumber(lua, input.readInt16BE(this.#take(2)));
        return;
      case 0xd2:
        api.lua_pushnumber(lua, input.readInt32BE(this.#take(4)));
        return;
      case 0xd3:
        api.lua_pushnumber(lua, Number(input.readBigInt64BE(this.#take(8))));
        return;
      case 0xdc:
        this.#pushArray(this.#number(2), depth);
        return;
      case 0xdd:
        this.#pushArray(this.#number(4), depth);
        return;
      case 0xde:
        this.#pushMap(this.#number(2), depth);
        return;
      case 0xdf:
        this.#pushMap(this.#number(4), depth);
        return;
      default:
        this.#host.instance.raise(lua, "Bad data format in input.");
    }
  }

  /** The start of the next `length` bytes, which are consumed. */
  #take(length: number): number {
    if (length > this.left) this.#host.instance.raise(this.#lua, "Missing bytes in input.");
    const at = this.#at;
    this.#at += length;
    return at;
  }

  #number(size: 1 | 2 | 4): number {
    return this.#input.readUIntBE(this.#take(size), size);
  }

  #pushString(length: number): void {
    const at = this.#take(length);
    this.#host.instance.pushBuffer(this.#lua, this.#input.subarray(at, at + length));
  }

  #pushArray(count: number, depth: number): void {
    const { api } = this.#host.instance;
    api.lua_createtable(this.#lua, 0, 0);
    for (let index = 1; index <= count; index += 1) {
      this.#host.charge(1);
      this.pushNext(depth + 1);
      api.lua_rawseti(this.#lua, -2, index);
    }
  }

  #pushMap(count: number, depth: number): void {
    const { api } = this.#host.instance;
    api.lua_createtable(this.#lua, 0, 0);
    for (let index = 0; index < count; index += 1) {
      this.#host.charge(1);
      this.pushNext(depth + 1);
      this.pushNext(depth + 1);
      // settable raises for a key that is nil or NaN, as in Redis.
      api.lua_settable(this.#lua, -3);
    }
  }
}
