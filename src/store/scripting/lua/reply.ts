/**
 * Converts replies of commands to values of Lua, and the result of a script to a
 * reply, by Redis 7's rules.
 *
 *     reply          RESP2 in Lua       RESP3 in Lua
 *     bulk string    string             string
 *     integer        number             number
 *     simple         {ok=}              {ok=}
 *     error          {err=}             {err=}
 *     nil            false              nil
 *     array          table from 1       table from 1
 *     double         string             {double=}
 *     map            flat table         {map=}
 *     set            table              {set={member=true}}
 *     boolean        1 or 0             boolean
 *     verbatim       string             {verbatim_string={string=,format=}}
 */
import { type Bytes, onOneLine, withoutLastBreaks } from "../../../kernel/bytes.ts";
import { CommandError } from "../../errors.ts";
import { ReplyBudget } from "../../reply/budget.ts";
import { errorReply, pairsOf, type Reply } from "../../reply/reply.ts";
import { formatDouble } from "../../structures/numbers/number-text.ts";
import type { LuaHost } from "./host.ts";
import { type LuaInstance, type LuaPointer, LuaType } from "./instance.ts";

export type RespVersion = 2 | 3;

/** Deeper tables in the result of a script are an error: every encoder walks a reply recursively. */
export const RETURN_DEPTH_MAX = 128;
/** The charge for reading one value. */
const VALUE_WORK = 100;
const tooDeep = new CommandError("ERR reached lua stack limit");
/** Stack slots that a conversion reserves per level of nesting; a level takes fewer. */
const SLOTS_PER_LEVEL = 8;

export class LuaReplies {
  readonly #host: LuaHost;
  readonly #instance: LuaInstance;

  constructor(host: LuaHost) {
    this.#host = host;
    this.#instance = host.instance;
  }

  /** Pushes a reply as one value. Raises in Lua when its stack is full. */
  push(lua: LuaPointer, reply: Reply, version: RespVersion): void {
    const instance = this.#instance;
    const { api } = instance;
    if (typeof reply === "string") {
      instance.push(lua, reply);
      return;
    }
    if (typeof reply === "number" || typeof reply === "bigint") {
      api.lua_pushnumber(lua, Number(reply));
      return;
    }
    if (reply === null) {
      this.#pushNil(lua, version);
      return;
    }
    if (reply instanceof Uint8Array) {
      instance.pushBuffer(lua, reply);
      return;
    }
    if (api.lua_checkstack(lua, SLOTS_PER_LEVEL) === 0) instance.raise(lua, "reached lua stack limit");
    if (!("kind" in reply)) {
      this.#pushList(lua, reply, version);
      return;
    }
    switch (reply.kind) {
      case "simple":
        this.#pushSingleField(lua, "ok", reply.text);
        return;
      case "error":
        this.pushCommandError(lua, reply.error.text);
        return;
      case "nil array":
        this.#pushNil(lua, version);
        return;
      case "double":
        if (version === 2) instance.push(lua, reply.text ?? formatDouble(reply.value));
        else {
          api.lua_createtable(lua, 0, 1);
          api.lua_pushnumber(lua, reply.value);
          instance.setField(lua, -2, "double");
        }
        return;
      case "map":
        this.#pushMap(lua, reply.pairs, version);
        return;
      case "pairs":
        if (version === 2) this.#pushList(lua, reply.pairs, version);
        else this.#pushMap(lua, reply.pairs, version);
        return;
      case "flat pairs":
        this.#pushList(lua, version === 2 ? reply.items : pairsOf(reply.items), version);
        return;
      case "set":
        this.#pushSet(lua, reply.members, version);
        return;
      case "boolean":
        if (version === 2) api.lua_pushnumber(lua, reply.value ? 1 : 0);
        else api.lua_pushboolean(lua, reply.value ? 1 : 0);
        return;
      case "verbatim":
        if (version === 2) instance.push(lua, reply.text);
        else {
          api.lua_createtable(lua, 0, 1);
          api.lua_createtable(lua, 0, 2);
          instance.push(lua, reply.text);
          instance.setField(lua, -2, "string");
          instance.pushText(lua, "txt");
          instance.setField(lua, -2, "format");
          instance.setField(lua, -2, "verbatim_string");
        }
        return;
      case "push":
      case "later":
        throw new Error("a script never waits");
      default: {
        const never: never = reply;
        throw never;
      }
    }
  }

  /** Pushes `{err=text}`, an error in the script's own calls. */
  pushError(lua: LuaPointer, text: Bytes): void {
    this.#pushSingleField(lua, "err", text);
  }

  /** Pushes a command's error in the form for scripts. */
  pushCommandError(lua: LuaPointer, text: Bytes): void {
    this.pushError(lua, text);
    this.#instance.api.lua_pushboolean(lua, 1);
    this.#instance.setField(lua, -2, "ignore_error_stats_update");
  }

  /** Reads the value on top of the stack as the reply of the script, and leaves it. Throws CommandError if too large. */
  read(lua: LuaPointer, version: RespVersion): Reply {
    return this.#read(lua, { version, depth: 0, budget: new ReplyBudget() });
  }

  #pushNil(lua: LuaPointer, version: RespVersion): void {
    if (version === 2) this.#instance.api.lua_pushboolean(lua, 0);
    else this.#instance.api.lua_pushnil(lua);
  }

  #pushSingleField(lua: LuaPointer, name: string, text: Bytes): void {
    this.#instance.api.lua_createtable(lua, 0, 1);
    this.#instance.push(lua, text);
    this.#instance.setField(lua, -2, name);
  }

  #pushList(lua: LuaPointer, items: readonly Reply[], version: RespVersion): void {
    const { api } = this.#instance;
    api.lua_createtable(lua, items.length, 0);
    for (let index = 0; index < items.length; index += 1) {
      this.push(lua, items[index] as Reply, version);
      api.lua_rawseti(lua, -2, index + 1);
    }
  }

  #pushMap(lua: LuaPointer, pairs: readonly (readonly [Reply, Reply])[], version: RespVersion): void {
    const instance = this.#instance;
    const { api } = instance;
    if (version === 2) {
      this.#pushList(lua, pairs.flat(), version);
      return;
    }
    api.lua_createtable(lua, 0, 1);
    api.lua_createtable(lua, 0, pairs.length);
    for (const [key, value] of pairs) {
      this.push(lua, key, version);
      this.push(lua, value, version);
      // A nil key cannot be in a table.
      if (api.lua_type(lua, -2) === LuaType.nil) api.lua_settop(lua, -3);
      else api.lua_rawset(lua, -3);
    }
    instance.setField(lua, -2, "map");
  }

  #pushSet(lua: LuaPointer, members: readonly Reply[], version: RespVersion): void {
    const instance = this.#instance;
    const { api } = instance;
    if (version === 2) {
      this.#pushList(lua, members, version);
      return;
    }
    api.lua_createtable(lua, 0, 1);
    api.lua_createtable(lua, 0, members.length);
    for (const member of members) {
      this.push(lua, member, version);
      if (api.lua_type(lua, -1) === LuaType.nil) {
        api.lua_settop(lua, -2);
        continue;
      }
      api.lua_pushboolean(lua, 1);
      api.lua_rawset(lua, -3);
    }
    instance.setField(lua, -2, "set");
  }

  #read(lua: LuaPointer, state: { version: RespVersion; depth: number; budget: ReplyBudget }): Reply {
    const instance = this.#instance;
    const { api } = instance;
    // Nested tables may be the same table many times: the reply can be far larger than the tables.
    this.#host.charge(VALUE_WORK);
    switch (api.lua_type(lua, -1)) {
      case LuaType.string: {
        const bytes = instance.bytesAt(lua, -1);
        state.budget.take(bytes.length);
        return bytes;
      }
      case LuaType.number:
        state.budget.take(0);
        return truncated(api.lua_tonumber(lua, -1));
      case LuaType.boolean: {
        state.budget.take(0);
        const value = api.lua_toboolean(lua, -1) !== 0;
        if (state.version === 3) return { kind: "boolean", value };
        return value ? 1 : null;
      }
      case LuaType.table:
        return this.#readTable(lua, state);
      default:
        state.budget.take(0);
        return null;
    }
  }

  #readTable(lua: LuaPointer, state: { version: RespVersion; depth: number; budget: ReplyBudget }): Reply {
    const instance = this.#instance;
    const { api } = instance;
    if (state.depth >= RETURN_DEPTH_MAX || api.lua_checkstack(lua, SLOTS_PER_LEVEL) === 0) return errorReply(tooDeep);
    state.budget.take(0);
    const error = this.#findText(lua, "err");
    if (error !== undefined) return errorReply(new CommandError(errorLine(error)));
    const ok = this.#findText(lua, "ok");
    if (ok !== undefined) return { kind: "simple", text: oneLine(ok) };
    const inner = { ...state, depth: state.depth + 1 };
    const special = this.#readSpecial(lua, inner);
    if (special !== undefined) return special;
    const items: Reply[] = [];
    for (let index = 1; ; index += 1) {
      api.lua_rawgeti(lua, -1, index);
      if (api.lua_type(lua, -1) === LuaType.nil) {
        api.lua_settop(lua, -2);
        return items;
      }
      items.push(this.#read(lua, inner));
      api.lua_settop(lua, -2);
    }
  }

  /** The reply of a field such as `double` or `map`. */
  #readSpecial(
    lua: LuaPointer,
    state: { version: RespVersion; depth: number; budget: ReplyBudget },
  ): Reply | undefined {
    const instance = this.#instance;
    const { api } = instance;
    let reply: Reply | undefined;
    if (this.#pushField(lua, "double") === LuaType.number) reply = { kind: "double", value: api.lua_tonumber(lua, -1) };
    api.lua_settop(lua, -2);
    if (reply !== undefined) return reply;
    if (this.#pushField(lua, "map") === LuaType.table) reply = { kind: "map", pairs: this.#readPairs(lua, state) };
    api.lua_settop(lua, -2);
    if (reply !== undefined) return reply;
    if (this.#pushField(lua, "set") === LuaType.table)
      reply = { kind: "set", members: this.#readPairs(lua, state).map(([member]) => member) };
    api.lua_settop(lua, -2);
    if (reply !== undefined) return reply;
    reply = this.#findText(lua, "big_number");
    if (reply !== undefined) return reply;
    if (this.#pushField(lua, "verbatim_string") === LuaType.table) {
      const format = this.#findText(lua, "format");
      const text = this.#findText(lua, "string");
      if (format !== undefined && text !== undefined) reply = { kind: "verbatim", text };
    }
    api.lua_settop(lua, -2);
    return reply;
  }

  #readPairs(
    lua: LuaPointer,
    state: { version: RespVersion; depth: number; budget: ReplyBudget },
  ): (readonly [Reply, Reply])[] {
    const { api } = this.#instance;
    const pairs: (readonly [Reply, Reply])[] = [];
    api.lua_pushnil(lua);
    while (api.lua_next(lua, -2) !== 0) {
      const value = this.#read(lua, state);
      api.lua_settop(lua, -2);
      // Reading a number as a string would change the key during the iteration, so a copy is read.
      api.lua_pushvalue(lua, -1);
      const key = this.#read(lua, state);
      api.lua_settop(lua, -2);
      pairs.push([key, value]);
    }
    return pairs;
  }

  /** Pushes a field of the table on top; returns its type. */
  #pushField(lua: LuaPointer, name: string): number {
    this.#instance.pushText(lua, name);
    this.#instance.api.lua_rawget(lua, -2);
    return this.#instance.api.lua_type(lua, -1);
  }

  /** A field of the table on top if it is a string. */
  #findText(lua: LuaPointer, name: string): Bytes | undefined {
    const isText = this.#pushField(lua, name) === LuaType.string;
    const text = isText ? this.#instance.bytesAt(lua, -1) : undefined;
    this.#instance.api.lua_settop(lua, -2);
    return text;
  }
}

const INTEGER_LEAST = -(2n ** 63n);

/** As C casts a double to a 64-bit integer on the machines of Redis: one that does not fit becomes the lowest. */
function truncated(value: number): number | bigint {
  const whole = Math.trunc(value);
  if (Number.isSafeInteger(whole)) return whole + 0;
  if (!(Math.abs(whole) < 2 ** 63)) return INTEGER_LEAST;
  return BigInt(whole);
}

/** As C reads it, up to its first zero byte. */
function oneLine(text: Bytes): Bytes {
  const end = text.indexOf("\0");
  return onOneLine(end < 0 ? text : text.slice(0, end));
}

/** The text of an error for the wire: on one line, without line breaks at its end. */
export function errorLine(text: Bytes): Bytes {
  return oneLine(withoutLastBreaks(text));
}
