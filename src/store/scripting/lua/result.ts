/**
 * The result of a script as a reply, by Redis 7's rules (the table in `reply.ts`).
 *
 * (1) Tables may be nested as deeply as Lua's stack holds them, which is where Redis answers an error in place of a
 *     value: so the slots are used in the order of Redis' conversion. A level of arrays has one slot, of maps three.
 * (2) No call is nested for a level of tables: the levels are a list.
 * (3) The same table may occur many times, and in itself, so each value is charged and counted against a budget.
 */
import { type Bytes, onOneLine, withoutLastBreaks } from "../../../kernel/bytes.ts";
import { CommandError, replyTooLarge, StoppedUnit } from "../../errors.ts";
import { ReplyBudget } from "../../reply/budget.ts";
import { errorReply, type Reply } from "../../reply/reply.ts";
import type { LuaHost } from "./host.ts";
import { type LuaInstance, type LuaPointer, LuaType } from "./instance.ts";
import type { RespVersion } from "./reply.ts";

/** The charge for reading one value. */
const VALUE_WORK = 100;
/** Stack slots that Redis asks for before it converts a value; maps need most. */
const SLOTS_PER_VALUE = 4;
const tooDeep = errorReply(new CommandError("ERR reached lua stack limit"));

/** A table whose elements are being read. */
type Level =
  | { readonly kind: "array"; readonly items: Reply[] }
  | { readonly kind: "map"; readonly pairs: (readonly [Reply, Reply])[]; key: Reply | undefined }
  | { readonly kind: "set"; readonly members: Reply[] };

/** Reads the value on top of the stack, and pops it. Throws StoppedUnit if the reply is too large. */
export function readResult(host: LuaHost, lua: LuaPointer, version: RespVersion): Reply {
  try {
    return new ResultReader(host, lua, version).read();
  } catch (error) {
    throw error === replyTooLarge ? StoppedUnit.becauseOf(replyTooLarge) : error;
  }
}

class ResultReader {
  readonly #host: LuaHost;
  readonly #instance: LuaInstance;
  readonly #lua: LuaPointer;
  readonly #version: RespVersion;
  readonly #levels: Level[] = [];
  readonly #budget = new ReplyBudget();

  constructor(host: LuaHost, lua: LuaPointer, version: RespVersion) {
    this.#host = host;
    this.#instance = host.instance;
    this.#lua = lua;
    this.#version = version;
  }

  read(): Reply {
    let reply = this.#readTop();
    for (;;) {
      const level = this.#levels.at(-1);
      if (reply !== undefined) {
        if (level === undefined) return reply;
        addTo(level, reply);
      }
      // A table that was opened is a level, so there is one.
      reply = level === undefined ? undefined : this.#readNext(level);
    }
  }

  /** The value on top, which is popped. Undefined for a table that is now the last level, and stays. */
  #readTop(): Reply | undefined {
    const { api } = this.#instance;
    const lua = this.#lua;
    // keeps (3)
    this.#host.charge(VALUE_WORK);
    // keeps (1)
    if (api.lua_checkstack(lua, SLOTS_PER_VALUE) === 0) return this.#popped(tooDeep);
    switch (this.#instance.typeOfTop(lua)) {
      case LuaType.string: {
        const bytes = this.#instance.bytesAt(lua, -1);
        return this.#popped(bytes, bytes.length);
      }
      case LuaType.number:
        return this.#popped(truncated(this.#instance.numberOnTop(lua)));
      case LuaType.boolean: {
        const value = api.lua_toboolean(lua, -1) !== 0;
        return this.#popped(this.#version === 3 ? { kind: "boolean", value } : value ? 1 : null);
      }
      case LuaType.table: {
        // Most tables are arrays, which need no search for nine names.
        const mayHaveFields = this.#instance.mayHaveFields(lua, -1);
        const special = mayHaveFields ? this.#readSpecial() : undefined;
        if (special !== undefined) return this.#popped(special);
        this.#budget.take(0);
        if (mayHaveFields) this.#openTable();
        else this.#levels.push({ kind: "array", items: [] });
        return undefined;
      }
      default:
        return this.#popped(null);
    }
  }

  #popped(reply: Reply, bytes = 0): Reply {
    this.#budget.take(bytes);
    this.#instance.api.lua_settop(this.#lua, -2);
    return reply;
  }

  /** The reply of a table whose fields say that it is an error, a double or another scalar. */
  #readSpecial(): Reply | undefined {
    const { api } = this.#instance;
    const lua = this.#lua;
    const error = this.#findText("err");
    if (error !== undefined) return errorReply(new CommandError(errorLine(error)));
    const ok = this.#findText("ok");
    if (ok !== undefined) return { kind: "simple", text: oneLine(ok) };
    let reply: Reply | undefined;
    if (this.#pushField("double") === LuaType.number) reply = { kind: "double", value: api.lua_tonumber(lua, -1) };
    api.lua_settop(lua, -2);
    if (reply !== undefined || this.#hasTable("map") || this.#hasTable("set")) return reply;
    reply = this.#findText("big_number");
    if (reply !== undefined) return reply;
    if (this.#pushField("verbatim_string") === LuaType.table) {
      const format = this.#findText("format");
      const text = this.#findText("string");
      if (format !== undefined && text !== undefined) reply = { kind: "verbatim", text };
    }
    api.lua_settop(lua, -2);
    return reply;
  }

  /** Makes the table on top a level. Of a map or a set, the field and the first key follow it on the stack. */
  #openTable(): void {
    const { api } = this.#instance;
    const lua = this.#lua;
    for (const kind of ["map", "set"] as const) {
      if (this.#pushField(kind) === LuaType.table) {
        api.lua_pushnil(lua);
        this.#levels.push(kind === "map" ? { kind, pairs: [], key: undefined } : { kind, members: [] });
        return;
      }
      api.lua_settop(lua, -2);
    }
    this.#levels.push({ kind: "array", items: [] });
  }

  /** The next element of a level, or after its last one the reply of the level, whose table is popped. */
  #readNext(level: Level): Reply | undefined {
    const { api } = this.#instance;
    const lua = this.#lua;
    switch (level.kind) {
      case "array":
        api.lua_rawgeti(lua, -1, level.items.length + 1);
        if (this.#instance.typeOfTop(lua) !== LuaType.nil) return this.#readTop();
        return this.#close(level.items);
      case "map":
        // The value of the last key is on top.
        if (level.key !== undefined) return this.#readTop();
        if (api.lua_next(lua, -2) === 0) return this.#close({ kind: "map", pairs: level.pairs });
        // A copy: reading a number as text would change the key during the iteration.
        api.lua_pushvalue(lua, -2);
        return this.#readTop();
      case "set":
        if (api.lua_next(lua, -2) === 0) return this.#close({ kind: "set", members: level.members });
        api.lua_settop(lua, -2);
        api.lua_pushvalue(lua, -1);
        return this.#readTop();
      default: {
        const never: never = level;
        return never;
      }
    }
  }

  /** Pops the two values at the end of a level: an array and nil, or a table with its field. */
  #close(reply: Reply): Reply {
    this.#levels.pop();
    this.#instance.api.lua_settop(this.#lua, -3);
    return reply;
  }

  /** Pushes a field of the table on top; returns its type. */
  #pushField(name: string): number {
    this.#instance.pushText(this.#lua, name);
    this.#instance.api.lua_rawget(this.#lua, -2);
    return this.#instance.api.lua_type(this.#lua, -1);
  }

  #hasTable(name: string): boolean {
    const isTable = this.#pushField(name) === LuaType.table;
    this.#instance.api.lua_settop(this.#lua, -2);
    return isTable;
  }

  /** A field of the table on top if it is a string. */
  #findText(name: string): Bytes | undefined {
    const isText = this.#pushField(name) === LuaType.string;
    const text = isText ? this.#instance.bytesAt(this.#lua, -1) : undefined;
    this.#instance.api.lua_settop(this.#lua, -2);
    return text;
  }
}

function addTo(level: Level, reply: Reply): void {
  if (level.kind === "array") level.items.push(reply);
  else if (level.kind === "set") level.members.push(reply);
  else if (level.key === undefined) level.key = reply;
  else {
    level.pairs.push([level.key, reply]);
    level.key = undefined;
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
