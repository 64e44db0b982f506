/**
 * Where the files of the program are: in a checkout the sources, in the package
 * one flat folder of built files (`tools/build.ts`). Only this module knows.
 */
import { readFileSync } from "node:fs";

const isBuilt = !import.meta.url.endsWith(".ts");

/** The folder with package.json and `bin/`. */
export const packageRoot: URL = new URL(isBuilt ? "../" : "../../", import.meta.url);

/** The program that a user runs. */
export const programFile: URL = new URL("bin/larder.cjs", packageRoot);

/**
 * Modules that something starts or imports by the URL of their file: the name of the built file, and the source under
 * `src/`. The build makes an entry of each.
 */
export const entries = {
  main: "main.ts",
  mod: "mod.ts",
  "test-run": "testing/run-process.ts",
  "history-worker": "program/history/worker.ts",
  "history-copy-worker": "program/history/copy-worker.ts",
  "history-events": "messaging/history.ts",
  "model-worker": "program/workers/model-worker.ts",
  "graph-worker": "program/workers/graph-worker.ts",
  "search-worker": "program/workers/search-worker.ts",
  "copy-worker": "program/workers/copy-worker.ts",
} as const;

/** Modules for test runners. They are loaded into each test file, so they share no file with the program. */
export const testEntries = {
  "node-test": "testing/node-test.ts",
  vitest: "testing/vitest.ts",
  jest: "testing/jest.ts",
  "test-setup": "testing/setup.ts",
  "test-teardown": "testing/teardown.ts",
} as const;

/** The file to start or to import. */
export function entryFile(name: keyof typeof entries): URL {
  return new URL(isBuilt ? `./${name}.js` : `../${entries[name]}`, import.meta.url);
}

/** Reads the WebAssembly of Lua 5.1: 200 KB. */
export function readLuaCode(): Uint8Array {
  return readFileSync(new URL("vendor/lua5.1/liblua5.1.wasm", packageRoot));
}
