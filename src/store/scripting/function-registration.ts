/**
 * `redis.register_function`: registers the functions of a library while it is
 * loaded. Both forms, with the checks and texts of Redis 7.0.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type LuaInstance, type LuaPointer, LuaType, REGISTRY } from "./lua/instance.ts";
import type { LuaReplies } from "./lua/reply.ts";
import { invalidName, isFunctionName, isScriptFlag, type ScriptFlag } from "./script-header.ts";

/** A registered function of a library. */
export interface Registration {
  readonly name: Bytes;
  readonly description: Bytes | undefined;
  readonly flags: readonly ScriptFlag[];
  /** The reference of the callback in the registry of the state that loaded it. */
  readonly reference: number;
}

export const FUNCTIONS_PER_LIBRARY_MAX = 1_000;

/** Reads the arguments of `redis.register_function` and stores the callback. Returns a text if it is refused. */
export function readRegistration(instance: LuaInstance, lua: LuaPointer): Registration | string {
  const { api } = instance;
  const count = api.lua_gettop(lua);
  if (count < 1 || count > 2) return "ERR wrong number of arguments to redis.register_function";
  if (count === 1) {
    if (api.lua_type(lua, 1) !== LuaType.table)
      return "ERR calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).";
    return readNamed(instance, lua);
  }
  if (api.lua_isstring(lua, 1) === 0) return "ERR first argument to redis.register_function must be a string";
  if (api.lua_type(lua, 2) !== LuaType.function)
    return "ERR second argument to redis.register_function must be a function";
  return register(instance, lua, { name: instance.bytesAt(lua, 1), description: undefined, flags: [] });
}

/** Pops the callback from the stack. */
function register(
  instance: LuaInstance,
  lua: LuaPointer,
  said: { name: Bytes; description: Bytes | undefined; flags: readonly ScriptFlag[] },
): Registration | string {
  if (!isFunctionName(said.name)) return invalidName;
  return { ...said, reference: instance.api.luaL_ref(lua, REGISTRY) };
}

function readNamed(instance: LuaInstance, lua: LuaPointer): Registration | string {
  const { api } = instance;
  let name: Bytes | undefined;
  let description: Bytes | undefined;
  let flags: readonly ScriptFlag[] = [];
  let hasCallback = false;
  api.lua_pushnil(lua);
  while (api.lua_next(lua, 1) !== 0) {
    if (api.lua_type(lua, -2) !== LuaType.string)
      return "ERR named argument key given to redis.register_function is not a string";
    const key = instance.bytesAt(lua, -2).toLowerCase();
    const type = api.lua_type(lua, -1);
    if (key === "function_name") {
      if (type !== LuaType.string)
        return "ERR function_name argument given to redis.register_function must be a string";
      name = instance.bytesAt(lua, -1);
    } else if (key === "description") {
      if (type !== LuaType.string) return "ERR description argument given to redis.register_function must be a string";
      description = instance.bytesAt(lua, -1);
    } else if (key === "callback") {
      if (type !== LuaType.function) return "ERR callback argument given to redis.register_function must be a function";
      hasCallback = true;
    } else if (key === "flags") {
      if (type !== LuaType.table)
        return "ERR flags argument to redis.register_function must be a table representing function flags";
      const found = readFlags(instance, lua);
      if (found === undefined) return "ERR unknown flag given";
      flags = found;
    } else return "ERR unknown argument given to redis.register_function";
    api.lua_settop(lua, -2);
  }
  if (name === undefined) return "ERR redis.register_function must get a function name argument";
  if (!hasCallback) return "ERR redis.register_function must get a callback argument";
  instance.pushText(lua, "callback");
  api.lua_rawget(lua, 1);
  if (api.lua_type(lua, -1) !== LuaType.function) return "ERR redis.register_function must get a callback argument";
  return register(instance, lua, { name, description, flags });
}

/** The flags in the table on top of the stack; undefined if one is unknown. */
function readFlags(instance: LuaInstance, lua: LuaPointer): readonly ScriptFlag[] | undefined {
  const { api } = instance;
  const flags: ScriptFlag[] = [];
  for (let index = 1; index <= FUNCTIONS_PER_LIBRARY_MAX; index += 1) {
    api.lua_rawgeti(lua, -1, index);
    const type = api.lua_type(lua, -1);
    const text = type === LuaType.string ? instance.bytesAt(lua, -1) : "";
    api.lua_settop(lua, -2);
    if (type === LuaType.nil) break;
    if (!isScriptFlag(text)) return undefined;
    flags.push(text);
  }
  return flags;
}

/** Raises the reason of a refused registration, as redis.call raises an error. */
export function raiseRefusal(
  replies: LuaReplies,
  instance: LuaInstance,
  refusal: { lua: LuaPointer; text: string },
): number {
  replies.pushError(refusal.lua, refusal.text);
  return instance.api.lua_error(refusal.lua);
}
