/** The WebAssembly that is in the program is what its source says. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assemblyModules, compileAssembly } from "../tools/assembly.ts";

for (const module of assemblyModules) {
  test(`${module.target} is what assembly/${module.source}.ts compiles to`, async () => {
    const text = await compileAssembly(module);

    assert.equal(readFileSync(module.target, "utf8"), text, "it is out of date: npm run assembly");
  });
}
