/**
 * `table.sort` instead of Lua's own, which is unbounded: comparisons of long
 * strings, and orders chosen to be quadratic. The same quicksort, so that equal
 * elements end up where Lua puts them; each comparison is counted.
 */
import type { HostFunctions, LuaHost } from "./host.ts";
import { type LuaPointer, LuaType } from "./instance.ts";

/** The charge for one comparison and its moves, beside the bytes of strings. */
const COMPARISON_WORK = 16;
/** `table.insert` moves at most this many elements; Lua would continue to 2^31. */
export const INSERT_MOVES_MAX = 10_000_000;

export function tableFunctions(host: LuaHost): HostFunctions {
  const { instance } = host;
  const { api } = instance;

  /** True if the value at stack index `first` orders before that at `second`; both negative. */
  function isLess(lua: LuaPointer, first: number, second: number): boolean {
    const length = api.lua_type(lua, first) === LuaType.string ? api.lua_objlen(lua, first) : 0;
    host.charge(COMPARISON_WORK + length);
    if (api.lua_type(lua, 2) <= LuaType.nil) return api.lua_lessthan(lua, first, second) !== 0;
    api.lua_pushvalue(lua, 2);
    api.lua_pushvalue(lua, first - 1);
    api.lua_pushvalue(lua, second - 2);
    api.lua_call(lua, 2, 1);
    const isBefore = api.lua_toboolean(lua, -1) !== 0;
    api.lua_settop(lua, -2);
    return isBefore;
  }

  /** Pops two values: the upper becomes element `first`, the lower `second`. */
  function putBack(lua: LuaPointer, first: number, second: number): void {
    api.lua_rawseti(lua, 1, first);
    api.lua_rawseti(lua, 1, second);
  }

  function sortRange(lua: LuaPointer, from: number, to: number): void {
    let lower = from;
    let upper = to;
    while (lower < upper) {
      // Sorts the lowest, the middle and the highest element; then the middle is the pivot.
      api.lua_rawgeti(lua, 1, lower);
      api.lua_rawgeti(lua, 1, upper);
      if (isLess(lua, -1, -2)) putBack(lua, lower, upper);
      else api.lua_settop(lua, -3);
      if (upper - lower === 1) return;
      const middle = Math.floor((lower + upper) / 2);
      api.lua_rawgeti(lua, 1, middle);
      api.lua_rawgeti(lua, 1, lower);
      if (isLess(lua, -2, -1)) putBack(lua, middle, lower);
      else {
        api.lua_settop(lua, -2);
        api.lua_rawgeti(lua, 1, upper);
        if (isLess(lua, -1, -2)) putBack(lua, middle, upper);
        else api.lua_settop(lua, -3);
      }
      if (upper - lower === 2) return;
      api.lua_rawgeti(lua, 1, middle);
      api.lua_pushvalue(lua, -1);
      api.lua_rawgeti(lua, 1, upper - 1);
      putBack(lua, middle, upper - 1);
      const border = partition(lua, lower, upper);
      // Recurses into the smaller side, so the depth is logarithmic.
      if (border - lower < upper - border) {
        sortRange(lua, lower, border - 1);
        lower = border + 1;
      } else {
        sortRange(lua, border + 1, upper);
        upper = border - 1;
      }
    }
  }

  /** Partitions the range from `lower` to `upper` by the pivot on the stack, and pops it; returns the pivot's index. */
  function partition(lua: LuaPointer, lower: number, upper: number): number {
    let left = lower;
    let right = upper - 1;
    for (;;) {
      for (;;) {
        left += 1;
        api.lua_rawgeti(lua, 1, left);
        if (!isLess(lua, -1, -2)) break;
        if (left > upper) instance.raise(lua, "invalid order function for sorting");
        api.lua_settop(lua, -2);
      }
      for (;;) {
        right -= 1;
        api.lua_rawgeti(lua, 1, right);
        if (!isLess(lua, -3, -1)) break;
        if (right < lower) instance.raise(lua, "invalid order function for sorting");
        api.lua_settop(lua, -2);
      }
      if (right < left) break;
      putBack(lua, left, right);
    }
    api.lua_settop(lua, -4);
    api.lua_rawgeti(lua, 1, upper - 1);
    api.lua_rawgeti(lua, 1, left);
    putBack(lua, upper - 1, left);
    return left;
  }

  return {
    sort: (lua) => {
      api.luaL_checktype(lua, 1, LuaType.table);
      if (api.lua_type(lua, 2) > LuaType.nil) api.luaL_checktype(lua, 2, LuaType.function);
      api.lua_settop(lua, 2);
      if (api.lua_checkstack(lua, 40) === 0) instance.raise(lua, "stack overflow (table too large)");
      sortRange(lua, 1, api.lua_objlen(lua, 1));
      return 0;
    },
  };
}
