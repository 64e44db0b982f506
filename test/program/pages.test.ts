/**
 * The commands in the pages for users, in the order of each page, with a server on `/var/lib/larder`. `serve`, `dev` and the
 * commands that end it are tested as processes elsewhere; here they are only read (`test/pages.test.ts`).
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { start } from "../../src/mod.ts";
import { runHere } from "../harness/command-runner.ts";
import { linesOf, type PageLine } from "../harness/page-lines.ts";
import { pagesForUsers, snippetsOf } from "../harness/page-snippets.ts";

/** What goes on, or ends what the other commands need. */
const ONLY_READ = ["serve", "dev", "stop"];

function isRun({ words, snippet }: PageLine): boolean {
  return words[0] === "larder" && snippet.notRun === undefined && !ONLY_READ.includes(words[1] ?? "");
}

for (const page of pagesForUsers()) {
  const lines = snippetsOf(page).flatMap(linesOf).filter(isRun);
  if (lines.length === 0) continue;
  test(`${page}: ${lines.length} commands do what they say`, async (context) => {
    const root = mkdtempSync(join(tmpdir(), "larder-test-"));
    context.after(() => rmSync(root, { recursive: true, force: true }));
    const dataDir = join(root, "var/lib/larder");
    for (const folder of [dataDir, join(root, "backups")]) mkdirSync(folder, { recursive: true });
    await using _ = await start({ command: "serve", dataDir });
    for (const { snippet, text, words } of lines) {
      const given = words.slice(1).map((word) => word.replace(/^\/(?=backups\/|var\/)/, `${root}/`));
      const hasDirectory = given.includes("--data-dir");
      const { code, log } = await runHere(given, hasDirectory ? {} : { LARDER_DATA_DIR: dataDir });
      assert.equal(code, 0, `${snippet.page}:${snippet.line}: ${text}\n${log}`);
    }
  });
}
