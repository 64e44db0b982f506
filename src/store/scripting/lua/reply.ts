/**
 * Converts replies of commands to values of Lua, by Redis 7's rules; `result.ts`
 * converts the result of a script to a reply.
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
import type { Bytes } from "../../../kernel/bytes.ts";
import { pairsOf, type Reply } from "../../reply/reply.ts";
import { formatDouble } from "../../structures/numbers/number-text.ts";
import { type LuaInstance, type LuaPointer, LuaType } from "./instance.ts";

export type RespVersion = 2 | 3;

/** Stack slots that a conversion reserves per level of nesting; a level takes fewer. */
const SLOTS_PER_LEVEL = 8;

export class LuaReplies {
  readonly #instance: LuaInstance;

  constructor(instance: LuaInstance) {
    this.#instance = instance;
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
      case "array in resp3":
        if (version === 2) this.push(lua, reply.elsewhere, version);
        else this.#pushList(lua, reply.items, version);
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
}
