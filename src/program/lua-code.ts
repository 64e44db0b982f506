/** The WebAssembly of Lua 5.1, from the files of its package. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Reads it: 200 KB. */
export function readLuaCode(): Uint8Array {
  return readFileSync(fileURLToPath(new URL("liblua5.1.wasm", import.meta.resolve("wasmoon-lua5.1"))));
}
