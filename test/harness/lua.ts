/** The Lua runtime for the stores of tests. */
import { readLuaCode } from "../../src/program/lua-code.ts";
import type { LuaOptions } from "../../src/store/scripting/scripts.ts";

export const luaOptions: LuaOptions = { code: readLuaCode() };
