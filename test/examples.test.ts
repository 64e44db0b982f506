/** The quickstarts of `examples/`, and which of them a run of the CI tests. */
import assert from "node:assert/strict";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { examplesIn, namesOfTheDay } from "../tools/examples.ts";

const DAY_MS = 86_400_000;

test("the examples of the day are Next.js and two others, and each has its turn", () => {
  const names = ["bun", "express", "hono", "nextjs", "nuxt", "sveltekit", "testing"];
  assert.deepEqual(namesOfTheDay(names, 0), ["nextjs", "bun", "express"]);
  assert.deepEqual(namesOfTheDay(names, DAY_MS - 1), ["nextjs", "bun", "express"]);
  assert.deepEqual(namesOfTheDay(names, DAY_MS), ["nextjs", "hono", "sveltekit"]);
  assert.deepEqual(namesOfTheDay(names, 2 * DAY_MS), ["nextjs", "bun", "express"]);
  assert.deepEqual(namesOfTheDay([...names, "vue"], 2 * DAY_MS), ["nextjs", "vue", "bun"]);
  assert.deepEqual(namesOfTheDay(["hono", "nextjs"], 5 * DAY_MS), ["nextjs", "hono"]);
});

test("an example is a folder with a test, and misses the programs of its engines that are not on the machine", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "larder-examples-test-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const packages = {
    "a-web": { scripts: { test: "node --test", build: "tsc" }, engines: { node: ">=24" } },
    "b-go": { scripts: { test: "node --test" }, engines: { node: ">=24", sh: "*", "no-such-program": ">=1" } },
    "c-without-test": { scripts: { start: "node start.js" } },
  };
  for (const [name, content] of Object.entries(packages)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "package.json"), JSON.stringify(content));
  }
  assert.deepEqual(examplesIn(folder), [
    { name: "a-web", hasBuild: true, missing: [] },
    { name: "b-go", hasBuild: false, missing: ["no-such-program"] },
  ]);
});

test("each quickstart has the same checks, a page, and a row in the page about quickstarts", () => {
  const page = readFileSync("docs/quickstarts.md", "utf8");
  const checks = globSync("examples/*/checks.mjs").sort();
  assert.ok(checks.length >= 5);
  const texts = new Set(checks.map((path) => readFileSync(path, "utf8")));
  assert.equal(texts.size, 1, "copy the changed checks.mjs to the other quickstarts");
  for (const path of checks) {
    const folder = path.replace(/\/checks\.mjs$/, "");
    assert.ok(page.includes(`](../${folder}/README.md)`), `docs/quickstarts.md: link ${folder}/README.md`);
    assert.match(readFileSync(`${folder}/README.md`, "utf8"), /^# \S/);
  }
});
