import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { StartRefusal } from "../refusal.ts";
import { readSettings } from "../settings/read-settings.ts";
import { openDataDirectory } from "./data-directory.ts";

const FILES = [
  ...["format", "lock.sqlite", "tokens.json", "admin-address", "addresses.json", "follow.json", "cluster-node.json"],
  ...["store.high-water", "vector.high-water", "messaging.high-water"],
];

/** The refusal of a start on a directory, without its path. */
async function refusalOf(directory: string): Promise<string> {
  const words = ["serve", "--data-dir", directory];
  const reading = readSettings({ arguments: words, environment: {}, readFile: () => "" });
  assert.ok(reading.kind === "run");
  try {
    (await openDataDirectory(reading.run)).release();
    return "none";
  } catch (fault) {
    assert.ok(fault instanceof StartRefusal, String(fault));
    return fault.message.replaceAll(directory, "");
  }
}

test("a start names what is in place of a file, for each file of a data directory", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-directory-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const makers: readonly (readonly [what: string, make: (path: string) => void])[] = [
    ["a directory", (path) => mkdirSync(path)],
    ["a symbolic link that leads back to itself", (path) => symlinkSync(path, path)],
  ];
  for (const name of FILES)
    for (const [what, make] of makers) {
      const path = join(directory, name);
      make(path);
      const rest = "not a file: move it away, or restore the data directory from a backup";
      assert.equal(await refusalOf(directory), `/${name} is ${what}, ${rest}`);
      rmSync(path, { recursive: true });
    }
  writeFileSync(join(directory, "vector"), "");
  assert.equal(
    await refusalOf(directory),
    "/vector is not a directory: move it away, or restore the data directory from a backup",
  );
  rmSync(join(directory, "vector"));
  writeFileSync(join(directory, "format"), "larder data directory, format 1\n");
  // Without it the start would wait for another holder.
  writeFileSync(join(directory, "lock.sqlite"), "");
  writeFileSync(join(directory, "tokens.json"), Buffer.from('{"admin":"\xff"}', "latin1"));
  assert.equal(
    await refusalOf(directory),
    "/tokens.json is not UTF-8: byte 10 (0xff) is invalid. Restore it from a backup, or move it away to generate new tokens",
  );
});
