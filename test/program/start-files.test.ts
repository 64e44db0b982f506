/** The files of the package are grouped by the starts that need them: tools/start-files.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { entries } from "../../src/program/package-files.ts";
import { builtinsByName, startFileGroups } from "../../tools/start-files.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("a module is in the file of the one start that needs it, in the shared file, or loaded on demand", async () => {
  const groups = await startFileGroups(root, Object.values(entries));
  const fileOf = (path: string): string | undefined => groups.find(({ test }) => test(`${root}src/${path}`))?.name;

  const expected: readonly [string, string | undefined][] = [
    ["store/database.ts", "store"],
    ["messaging/engine.ts", "messaging"],
    ["vector/index/vector-engine.ts", "vector"],
    ["program/settings/read-settings.ts", "program"],
    ["persistence/area-storage.ts", "storage"],
    ["persistence/history/database.ts", "history"],
    ["kernel/clock.ts", "shared"],
    ["edge/http/listener.ts", "shared"],
    // On demand.
    ["edge/http/node-transport.ts", undefined],
    ["edge/openapi/area-documents.ts", undefined],
    ["transfer/store/import.ts", undefined],
    // An entry, which would wait for itself.
    ["main.ts", undefined],
  ];
  assert.deepEqual(
    expected.map(([path]) => [path, fileOf(path)]),
    expected,
  );
});

test("names of Node's modules are taken without an import, and other imports stay", () => {
  const code = [
    'import { a, b as c$1 } from "node:fs";',
    'import * as d from "node:fs/promises";',
    'import e from "node:path";',
    'import { f } from "./other.js";',
    'import "node:test";',
  ].join("\n");
  const { renderChunk } = builtinsByName;
  assert.ok(typeof renderChunk === "function");
  assert.equal(
    Reflect.apply(renderChunk, undefined, [code]),
    [
      'const { a, b: c$1 } = process.getBuiltinModule("node:fs");',
      'const d = process.getBuiltinModule("node:fs/promises");',
      'const e = process.getBuiltinModule("node:path");',
      'import { f } from "./other.js";',
      'import "node:test";',
    ].join("\n"),
  );
});
