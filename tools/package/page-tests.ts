/**
 * The examples of tests in README.md and docs/testing.md, in the folders that a reader would write them to, run with the
 * test runner that they name. `heading` is the section in which the example is, and `at` its place there.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { snippetsOf } from "../../test/harness/page-snippets.ts";

const REASON = "here, but by npm run package";

interface PageFile {
  readonly page?: "README.md";
  readonly heading: string;
  readonly at?: number;
  readonly path: string;
  /** What a reader would add. */
  readonly more?: string;
}

interface Folder {
  readonly name: string;
  readonly type: "commonjs" | "module";
  readonly files: readonly PageFile[];
  /** Files that the page describes and does not show, by path. */
  readonly described?: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

const vitest = ["npx", "--no", "--", "vitest", "run"];

export const folders: readonly Folder[] = [
  {
    name: "node-test",
    type: "module",
    files: [
      { heading: "Testing with larder", path: "session.test.mjs" },
      { heading: "node:test", path: "setup.mjs" },
    ],
    command: [process.execPath, "--test", "--test-global-setup=setup.mjs", "session.test.mjs"],
  },
  {
    name: "vitest",
    type: "module",
    files: [
      { heading: "Vitest", path: "vitest.config.ts" },
      { heading: "Vitest", at: 1, path: "visits.test.ts" },
      { page: "README.md", heading: "Using larder with your existing code", path: "session.test.ts" },
    ],
    command: vitest,
  },
  {
    name: "jest",
    type: "commonjs",
    files: [
      { heading: "Jest", path: "jest.config.js" },
      {
        heading: "Jest",
        at: 1,
        path: "larder.test.js",
        more: 'test("has the variables", () => expect(process.env.UPSTASH_REDIS_REST_URL).toBe(larder.store.url));',
      },
    ],
    command: ["npx", "--no", "--", "jest"],
  },
  {
    name: "own-setup",
    type: "module",
    files: [
      { heading: "Settings of the larder for all tests", path: "setup.ts" },
      { heading: "Vitest", at: 1, path: "visits.test.ts" },
    ],
    described: { "vitest.config.ts": 'export default { test: { globalSetup: ["./setup.ts"] } };\n' },
    command: vitest,
  },
];

/** The examples that a test runner runs. */
function examples(page: string): readonly { readonly heading: string; readonly text: string }[] {
  return snippetsOf(page)
    .filter(({ notRun }) => notRun === REASON)
    .map(({ heading, text }) => ({ heading: heading.replace(/^#+ /, ""), text }));
}

/** Writes the folders below `parent`, and calls `run` for each. Every example must be in one of them. */
export function tryPageTests(parent: string, run: (folder: string, command: readonly string[]) => void): void {
  const unused = new Set([...examples("README.md"), ...examples("docs/testing.md")].map(({ text }) => text));
  for (const { name, type, files, described = {}, command } of folders) {
    const folder = join(parent, `pages-${name}`);
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), `${JSON.stringify({ private: true, type })}\n`);
    for (const { page = "docs/testing.md", heading, at = 0, path, more = "" } of files) {
      const example = examples(page).filter((each) => each.heading === heading)[at];
      assert.ok(example !== undefined, `${page}: example ${at} of ${heading}`);
      writeFileSync(join(folder, path), `${example.text}\n${more}\n`);
      unused.delete(example.text);
    }
    for (const [path, text] of Object.entries(described)) writeFileSync(join(folder, path), text);
    run(folder, command);
  }
  assert.deepEqual([...unused], [], "each example of a test is run");
}
