import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileDisk } from "./file-disk.ts";

const directory = mkdtempSync(join(tmpdir(), "larder-file-disk-"));
after(() => rmSync(directory, { recursive: true }));

test("a file is created once, written at offsets, read, cut, lengthened and closed", async () => {
  const path = join(directory, "a");
  const file = await fileDisk.open(path, "create");
  assert.equal(await file.write(Buffer.from("world"), 6), 5);
  assert.equal(file.writeNow(Buffer.from("hello "), 0), 6);
  await file.fdatasync();
  await file.fsync();
  assert.equal(await file.size(), 11);

  const target = Buffer.alloc(20);
  assert.equal(await file.read(target, 3), 8);
  assert.equal(target.toString("latin1", 0, 8), "lo world");
  assert.equal(await file.read(target, 11), 0);

  await file.truncate(5);
  await file.truncate(7);
  await file.close();
  assert.equal(readFileSync(path, "latin1"), "hello\0\0");
  await assert.rejects(fileDisk.open(path, "create"), { code: "EEXIST" });
  await assert.rejects(fileDisk.open(join(directory, "none"), "update"), { code: "ENOENT" });
  await assert.rejects(fileDisk.open(join(directory, "none"), "read"), { code: "ENOENT" });
});

test("only the owner can read files and directories, unless another mode is requested", async () => {
  const one = await fileDisk.open(join(directory, "one"), "create");
  const two = await fileDisk.open(join(directory, "two"), "create", 0o640);
  await one.close();
  await two.close();
  assert.equal(await fileDisk.mkdir(join(directory, "inner")), true);
  assert.equal(await fileDisk.mkdir(join(directory, "inner")), false);

  assert.equal(statSync(join(directory, "one")).mode & 0o777, 0o600);
  assert.equal(statSync(join(directory, "two")).mode & 0o777, 0o640);
  assert.equal(statSync(join(directory, "inner")).mode & 0o777, 0o700);
});

test("names are linked, replaced, removed, listed and synced", async () => {
  const inner = join(directory, "names");
  await fileDisk.mkdir(inner);
  for (const name of ["a", "b"]) {
    const file = await fileDisk.open(join(inner, name), "create");
    file.writeNow(Buffer.from(name), 0);
    await file.close();
  }
  await fileDisk.link(join(inner, "a"), join(inner, "c"));
  await fileDisk.rename(join(inner, "a"), join(inner, "b"));
  await fileDisk.syncDirectory(inner);

  assert.deepEqual((await fileDisk.list(inner)).sort(), ["b", "c"]);
  assert.equal(readFileSync(join(inner, "b"), "latin1"), "a");
  await assert.rejects(fileDisk.link(join(inner, "b"), join(inner, "c")), { code: "EEXIST" });
  await fileDisk.unlink(join(inner, "c"));
  assert.deepEqual(await fileDisk.list(inner), ["b"]);
  await assert.rejects(fileDisk.unlink(join(inner, "c")), { code: "ENOENT" });
});
