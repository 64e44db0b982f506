/** The WebAssembly of the program is the compiled form of its source. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assemblyModules, compileAssembly } from "../tools/assembly.ts";

for (const module of assemblyModules) {
  test(`${module.target} is the compiled form of assembly/${module.source}.ts`, async () => {
    const text = await compileAssembly(module);

    assert.equal(readFileSync(module.target, "utf8"), text, "it is out of date: npm run assembly");
  });
}
