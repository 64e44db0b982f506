/** The WebAssembly of the program is the compiled form of its source. Files that passed are not compiled again. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { assemblyModules, compileAssembly } from "../tools/assembly.ts";
import { changedFiles } from "../tools/tests/passed-files.ts";

const changed = changedFiles([...globSync("assembly/*"), ...assemblyModules.map(({ target }) => target)], {
  list: "node_modules/.cache/assembly.json",
  settings: ["tools/assembly.ts", "node_modules/assemblyscript/package.json"],
});
const skip = changed.paths.length === 0 && "the compiler, the sources and the compiled forms are those of a pass";
const equal = new Set<string>();

after(() => {
  if (equal.size === assemblyModules.length) changed.pass();
});

for (const module of assemblyModules) {
  test(`${module.target} is the compiled form of assembly/${module.source}.ts`, { skip }, async () => {
    const text = await compileAssembly(module);

    assert.equal(readFileSync(module.target, "utf8"), text, "it is out of date: npm run assembly");
    equal.add(module.target);
  });
}
