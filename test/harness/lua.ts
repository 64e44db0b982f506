/** The Lua runtime for the stores of tests. */
import { readLuaCode } from "../../src/program/package-files.ts";
import type { LuaOptions } from "../../src/store/scripting/scripts.ts";

export const luaOptions: LuaOptions = { code: readLuaCode() };
