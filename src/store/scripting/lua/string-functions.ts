/**
 * `string.find`, `match`, `gmatch`, `gsub` and `rep` instead of Lua's own, which
 * do unbounded work in one C call. Same results, same errors; work is counted,
 * and too much is an error.
 */
import type { HostFunctions, LuaHost } from "./host.ts";
import { type LuaPointer, LuaType, upvalue } from "./instance.ts";
import { asInt, asPosition } from "./integers.ts";
import { PatternError, PatternMatcher, POSITION_CAPTURE } from "./pattern.ts";

/** Steps of one call; some 50 ms. */
export const PATTERN_STEPS_MAX = 10_000_000;
/** Limit of a string made by one call. The memory limit of a state is of similar size. */
export const STRING_BYTES_MAX = 32 * 1_024 * 1_024;
const SPECIALS = new Set(Array.from("^$*+?.([%-", (character) => character.charCodeAt(0)));
const CARET = 94;
const ESCAPE = 37;

interface Span {
  readonly address: number;
  readonly length: number;
}

export function stringFunctions(host: LuaHost): HostFunctions & { readonly gmatchStep: (lua: LuaPointer) => number } {
  const { instance } = host;
  const { api } = instance;
  const matcher = new PatternMatcher();

  function argument(lua: LuaPointer, position: number): Span {
    const address = instance.addressOfArgument(lua, position);
    return { address, length: instance.lengthFound };
  }

  function prepare(subject: Span, pattern: Span): void {
    matcher.prepare(instance.memory, {
      start: subject.address,
      end: subject.address + subject.length,
      // For Lua 5.1 a pattern ends at its first zero byte, and Lua puts one after every string.
      patternEnd: instance.memory.indexOf(0, pattern.address),
    });
  }

  /** Runs `work` with the steps of one call; a faulty pattern becomes an error of the script. */
  function counted(lua: LuaPointer, work: () => number): number {
    matcher.stepsLeft = PATTERN_STEPS_MAX;
    try {
      return work();
    } catch (error) {
      if (error instanceof PatternError) return instance.raise(lua, error.message);
      throw error;
    } finally {
      host.charge(PATTERN_STEPS_MAX - Math.max(0, matcher.stepsLeft));
    }
  }

  /** Pushes capture `index`; without captures, the first is the whole match. */
  function pushCapture(lua: LuaPointer, index: number, match: { subject: Span; start: number; end: number }): void {
    if (index >= matcher.captureCount) {
      if (index !== 0) throw new PatternError("invalid capture index");
      api.lua_pushlstring(lua, match.start, match.end - match.start);
      return;
    }
    const length = matcher.captureLength[index] as number;
    const start = matcher.captureStart[index] as number;
    if (length === POSITION_CAPTURE) api.lua_pushnumber(lua, start - match.subject.address + 1);
    else if (length < 0) throw new PatternError("unfinished capture");
    else api.lua_pushlstring(lua, start, length);
  }

  /** Pushes all captures; with `orWhole` the whole match if the pattern has no captures. Returns how many. */
  function pushCaptures(
    lua: LuaPointer,
    match: { subject: Span; start: number; end: number },
    orWhole: boolean,
  ): number {
    const count = matcher.captureCount === 0 && orWhole ? 1 : matcher.captureCount;
    if (api.lua_checkstack(lua, count) === 0) instance.raise(lua, "stack overflow (too many captures)");
    for (let index = 0; index < count; index += 1) pushCapture(lua, index, match);
    return count;
  }

  function search(lua: LuaPointer, isFind: boolean): number {
    const subject = argument(lua, 1);
    const pattern = argument(lua, 2);
    const given = api.lua_type(lua, 3) <= LuaType.nil ? 1 : asPosition(api.luaL_checknumber(lua, 3));
    const from = Math.min(Math.max(given < 0 ? given + subject.length : given - 1, 0), subject.length);
    if (isFind && (api.lua_toboolean(lua, 4) !== 0 || !hasSpecials(pattern)))
      return findPlain(lua, subject, pattern, from);
    return counted(lua, () => {
      prepare(subject, pattern);
      const isAnchored = pattern.length > 0 && instance.memory[pattern.address] === CARET;
      const items = pattern.address + (isAnchored ? 1 : 0);
      const end = subject.address + subject.length;
      for (let start = subject.address + from; start <= end; start += 1) {
        const matchEnd = matcher.match(start, items);
        if (matchEnd >= 0) {
          const match = { subject, start, end: matchEnd };
          if (!isFind) return pushCaptures(lua, match, true);
          api.lua_pushnumber(lua, start - subject.address + 1);
          api.lua_pushnumber(lua, matchEnd - subject.address);
          return pushCaptures(lua, match, false) + 2;
        }
        if (isAnchored) break;
      }
      api.lua_pushnil(lua);
      return 1;
    });
  }

  function hasSpecials(pattern: Span): boolean {
    for (let at = pattern.address; instance.memory[at] !== 0; at += 1)
      if (SPECIALS.has(instance.memory[at] as number)) return true;
    return false;
  }

  function findPlain(lua: LuaPointer, subject: Span, pattern: Span, from: number): number {
    const { memory } = instance;
    host.charge(subject.length - from);
    const text = memory.subarray(subject.address + from, subject.address + subject.length);
    const found = text.indexOf(memory.subarray(pattern.address, pattern.address + pattern.length));
    if (found < 0) {
      api.lua_pushnil(lua);
      return 1;
    }
    api.lua_pushnumber(lua, from + found + 1);
    api.lua_pushnumber(lua, from + found + pattern.length);
    return 2;
  }

  function gmatchStep(lua: LuaPointer): number {
    const subject = { address: instance.addressOf(lua, upvalue(1)), length: instance.lengthFound };
    const pattern = { address: instance.addressOf(lua, upvalue(2)), length: instance.lengthFound };
    const from = api.lua_tonumber(lua, upvalue(3));
    return counted(lua, () => {
      prepare(subject, pattern);
      const end = subject.address + subject.length;
      for (let start = subject.address + from; start <= end; start += 1) {
        const matchEnd = matcher.match(start, pattern.address);
        if (matchEnd < 0) continue;
        // After an empty match the search continues one byte further.
        api.lua_pushnumber(lua, matchEnd - subject.address + (matchEnd === start ? 1 : 0));
        api.lua_replace(lua, upvalue(3));
        return pushCaptures(lua, { subject, start, end: matchEnd }, true);
      }
      return 0;
    });
  }

  function gsub(lua: LuaPointer): number {
    const subject = argument(lua, 1);
    const pattern = argument(lua, 2);
    const kind = api.lua_type(lua, 3);
    const countMax = api.lua_type(lua, 4) <= LuaType.nil ? subject.length + 1 : asInt(api.luaL_checknumber(lua, 4));
    if (kind < LuaType.number || kind > LuaType.function)
      instance.raiseArgument(lua, 3, "string/function/table expected");
    const replacement = kind === LuaType.number || kind === LuaType.string ? argument(lua, 3) : undefined;
    return counted(lua, () => {
      const isAnchored = pattern.length > 0 && instance.memory[pattern.address] === CARET;
      const items = pattern.address + (isAnchored ? 1 : 0);
      const end = subject.address + subject.length;
      const result = new ByteList(lua);
      let at = subject.address;
      let count = 0;
      while (count < countMax) {
        prepare(subject, pattern);
        const matchEnd = matcher.match(at, items);
        if (matchEnd >= 0) {
          count += 1;
          addReplacement(lua, result, { subject, start: at, end: matchEnd, kind, replacement });
        }
        if (matchEnd >= 0 && matchEnd > at) at = matchEnd;
        else if (at < end) {
          result.addByte(instance.memory[at] as number);
          at += 1;
        } else break;
        if (isAnchored) break;
      }
      result.add(at, end - at);
      instance.pushBuffer(lua, result.bytes());
      api.lua_pushnumber(lua, count);
      return 2;
    });
  }

  function addReplacement(
    lua: LuaPointer,
    result: ByteList,
    match: { subject: Span; start: number; end: number; kind: number; replacement: Span | undefined },
  ): void {
    if (match.replacement !== undefined) {
      addTemplate(lua, result, match, match.replacement);
      return;
    }
    if (match.kind === LuaType.table) {
      pushCapture(lua, 0, match);
      api.lua_gettable(lua, 3);
    } else {
      api.lua_pushvalue(lua, 3);
      const stepsLeft = matcher.stepsLeft;
      const count = pushCaptures(lua, match, true);
      // The function may match patterns too, with this same matcher.
      api.lua_call(lua, count, 1);
      matcher.stepsLeft = stepsLeft;
    }
    if (api.lua_toboolean(lua, -1) === 0) {
      api.lua_settop(lua, -2);
      result.add(match.start, match.end - match.start);
      return;
    }
    if (api.lua_isstring(lua, -1) === 0) {
      const type = api.lua_typename(lua, api.lua_type(lua, -1));
      instance.raise(lua, `invalid replacement value (a ${textAt(type)})`);
    }
    const address = instance.addressOf(lua, -1);
    result.add(address, instance.lengthFound);
    api.lua_settop(lua, -2);
  }

  function addTemplate(
    lua: LuaPointer,
    result: ByteList,
    match: { subject: Span; start: number; end: number },
    template: Span,
  ): void {
    const templateEnd = template.address + template.length;
    for (let at = template.address; at < templateEnd; at += 1) {
      const character = instance.memory[at] as number;
      if (character !== ESCAPE) {
        result.addByte(character);
        continue;
      }
      at += 1;
      const escaped = at < templateEnd ? (instance.memory[at] as number) : 0;
      if (escaped < 48 || escaped > 57) result.addByte(escaped);
      else if (escaped === 48) result.add(match.start, match.end - match.start);
      else {
        pushCapture(lua, escaped - 49, match);
        const address = instance.addressOf(lua, -1);
        result.add(address, instance.lengthFound);
        api.lua_settop(lua, -2);
      }
    }
  }

  function textAt(pointer: number): string {
    return instance.memory.latin1Slice(pointer, instance.memory.indexOf(0, pointer));
  }

  /** Bytes of a future Lua string: outside of Lua's memory, because that moves. */
  class ByteList {
    readonly #lua: LuaPointer;
    #buffer = Buffer.allocUnsafe(256);
    #length = 0;

    constructor(lua: LuaPointer) {
      this.#lua = lua;
    }

    addByte(byte: number): void {
      if (this.#length === this.#buffer.length) this.#makeRoom(1);
      this.#buffer[this.#length++] = byte;
    }

    /** Adds the bytes at an address of the instance. */
    add(address: number, length: number): void {
      if (this.#length + length > this.#buffer.length) this.#makeRoom(length);
      host.charge(length);
      instance.memory.copy(this.#buffer, this.#length, address, address + length);
      this.#length += length;
    }

    bytes(): Uint8Array {
      return this.#buffer.subarray(0, this.#length);
    }

    #makeRoom(length: number): void {
      const needed = this.#length + length;
      if (needed > STRING_BYTES_MAX) instance.raise(this.#lua, "resulting string too large");
      const larger = Buffer.allocUnsafe(Math.max(needed, Math.min(STRING_BYTES_MAX, this.#buffer.length * 2)));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
  }

  function rep(lua: LuaPointer): number {
    const text = argument(lua, 1);
    const count = Math.max(0, asInt(api.luaL_checknumber(lua, 2)));
    const length = text.length * count;
    if (length === 0) {
      api.lua_pushlstring(lua, text.address, 0);
      return 1;
    }
    if (length > STRING_BYTES_MAX) instance.raise(lua, "resulting string too large");
    host.charge(length);
    instance.pushFilled(lua, length, (memory, at) => {
      memory.copyWithin(at, text.address, text.address + text.length);
      for (let done = text.length; done < length; done *= 2)
        memory.copyWithin(at + done, at, at + Math.min(done, length - done));
    });
    return 1;
  }

  return {
    find: (lua) => search(lua, true),
    match: (lua) => search(lua, false),
    gsub,
    rep,
    gmatchStep,
  };
}
