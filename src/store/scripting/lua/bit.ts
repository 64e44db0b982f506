/** `bit.*`: the functions of LuaBitOp, which Redis has, on 32-bit integers. */
import type { LuaLibrary } from "./globals.ts";
import type { LuaHost } from "./host.ts";
import type { LuaPointer } from "./instance.ts";

export function bitLibrary(host: LuaHost): LuaLibrary {
  const { api } = host.instance;
  const argument = (lua: LuaPointer, position: number): number => toBits(api.luaL_checknumber(lua, position));
  const answer = (lua: LuaPointer, value: number): number => {
    api.lua_pushnumber(lua, value | 0);
    return 1;
  };
  const unary = (work: (value: number) => number) => (lua: LuaPointer) => answer(lua, work(argument(lua, 1)));
  const shift = (work: (value: number, count: number) => number) => (lua: LuaPointer) =>
    answer(lua, work(argument(lua, 1), argument(lua, 2) & 31));
  const fold = (work: (sum: number, value: number) => number) => (lua: LuaPointer) => {
    let result = argument(lua, 1);
    for (let position = api.lua_gettop(lua); position > 1; position -= 1)
      result = work(result, argument(lua, position));
    return answer(lua, result);
  };
  return {
    functions: {
      tobit: unary((value) => value),
      bnot: unary((value) => ~value),
      bswap: unary(swapBytes),
      band: fold((sum, value) => sum & value),
      bor: fold((sum, value) => sum | value),
      bxor: fold((sum, value) => sum ^ value),
      lshift: shift((value, count) => value << count),
      rshift: shift((value, count) => value >>> count),
      arshift: shift((value, count) => value >> count),
      rol: shift((value, count) => (value << count) | (value >>> (32 - count))),
      ror: shift((value, count) => (value >>> count) | (value << (32 - count))),
      tohex: (lua) => {
        const value = argument(lua, 1);
        const given = api.lua_type(lua, 2) < 0 ? 8 : argument(lua, 2);
        const digitCount = Math.min(8, Math.abs(given));
        const hexadecimal = (value >>> 0)
          .toString(16)
          .padStart(8, "0")
          .slice(8 - digitCount);
        host.instance.push(lua, given < 0 ? hexadecimal.toUpperCase() : hexadecimal);
        return 1;
      },
    },
  };
}

function swapBytes(value: number): number {
  return (value << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24);
}

/** 2^52 + 2^51: added to a number, it moves the lowest 32 bits of its integer part to the end of the mantissa. */
const ALIGNING = 6_755_399_441_055_744;
const aligned = new Float64Array(1);
const alignedWords = new Uint32Array(aligned.buffer);

/** As LuaBitOp reads a number: rounded, modulo 2^32, and beyond 2^51 the last bits of the sum. */
function toBits(value: number): number {
  aligned[0] = value + ALIGNING;
  return (alignedWords[0] as number) | 0;
}
