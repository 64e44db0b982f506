/** The WebAssembly of Lua 5.1, from `vendor/`. */
import { readFileSync } from "node:fs";
import { packageRoot } from "./facts.ts";

/** Reads it: 200 KB. */
export function readLuaCode(): Uint8Array {
  return readFileSync(new URL("vendor/lua5.1/liblua5.1.wasm", packageRoot));
}
