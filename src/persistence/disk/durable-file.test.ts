import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { emptyDisk } from "../../../test/harness/persistence-fixture.ts";
import { seededRandom } from "../../kernel/random.ts";
import { readFileIfThere, writeFileDurably } from "./durable-file.ts";

const PATH = "/store/tokens.json";
const MODE = 0o600;

test("on the real disk the file has the requested mode and leaves no other file", async () => {
  const directory = mkdtempSync(join(tmpdir(), "larder-durable-"));
  const path = join(directory, "tokens.json");

  await writeFileDurably(path, "one", { mode: MODE });
  await writeFileDurably(path, "zwei ä", { mode: MODE });

  assert.equal(readFileSync(path, "utf8"), "zwei ä");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory), ["tokens.json"]);
  rmSync(directory, { recursive: true });
});

test("S-07: a power cut leaves the old text or the new one, and the new one once the call has resolved", async () => {
  const random = seededRandom(1);
  const disk = await emptyDisk();
  await writeFileDurably(PATH, "old", { mode: MODE, disk });
  const found = new Set<string>();
  disk.onBoundary = () => {
    for (let i = 0; i < 20; i += 1) {
      const crashed = disk.afterPowerCut(random);
      found.add(crashed.bytesOf(PATH).toString());
    }
  };

  await writeFileDurably(PATH, "the new text", { mode: MODE, disk });

  assert.deepEqual([...found].sort(), ["old", "the new text"]);
  assert.equal(disk.afterPowerCut(random).bytesOf(PATH).toString(), "the new text");
});

test("leftovers of a crashed attempt do no harm", async () => {
  const disk = await emptyDisk();
  disk.put(`${PATH}.new`, Buffer.from("half a tex"));

  await writeFileDurably(PATH, "text", { mode: MODE, disk });

  assert.deepEqual(disk.paths, [PATH]);
});

test("S-05: if any operation fails, the call fails and the old text remains", async () => {
  for (const kind of ["create", "write", "sync", "close", "rename"] as const) {
    const disk = await emptyDisk();
    await writeFileDurably(PATH, "old", { mode: MODE, disk });
    disk.faultOf = (operation) => (operation.kind === kind ? { code: "EIO" } : undefined);

    await assert.rejects(writeFileDurably(PATH, "new", { mode: MODE, disk }), { code: "EIO" }, kind);

    assert.equal(disk.bytesOf(PATH).toString(), "old", kind);
  }
});

test("a missing file reads as undefined; any other failure is thrown", async () => {
  const disk = await emptyDisk();
  disk.put(PATH, Buffer.from("text"));

  assert.equal((await readFileIfThere(disk, PATH))?.toString(), "text");
  assert.equal(await readFileIfThere(disk, "/store/none"), undefined);
  disk.faultOf = () => ({ code: "EACCES" });
  await assert.rejects(readFileIfThere(disk, PATH), { code: "EACCES" });
});
