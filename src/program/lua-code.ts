/** The WebAssembly of Lua 5.1, as the package that brings it has it on disk. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Reads it: 200 KB. */
export function readLuaCode(): Uint8Array {
  return readFileSync(fileURLToPath(new URL("liblua5.1.wasm", import.meta.resolve("wasmoon-lua5.1"))));
}
