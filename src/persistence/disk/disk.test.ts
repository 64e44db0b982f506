import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyDisk } from "../../../test/harness/persistence-fixture.ts";
import { codeOf, noSpaceText, readFully, writeFully, writeFullyNow } from "./disk.ts";

test("S-06: short writes are continued where they stopped", async () => {
  const disk = await emptyDisk();
  disk.faultOf = ({ kind }) => (kind === "write" ? { bytesMax: 3 } : undefined);
  const file = await disk.open("/store/a", "create");

  await writeFully(file, Buffer.from("0123456789"), 0);
  writeFullyNow(file, Buffer.from("abcdefg"), 10);

  assert.equal(disk.bytesOf("/store/a").toString(), "0123456789abcdefg");
  assert.equal(disk.countOf("write"), 7);
});

test("S-06: a write that takes no bytes fails instead of being retried without end", async () => {
  const file = {
    write: async () => 0,
    writeNow: () => 0,
  };
  const disk = await emptyDisk();
  const stuck = Object.assign(await disk.open("/store/a", "create"), file);

  await assert.rejects(writeFully(stuck, Buffer.from("x"), 0), { code: "EIO" });
  assert.throws(() => writeFullyNow(stuck, Buffer.from("x"), 0), { code: "EIO" });
});

test("reading stops at the end of the file", async () => {
  const disk = await emptyDisk();
  disk.put("/store/a", Buffer.from("0123456789"));
  const file = await disk.open("/store/a", "read");
  const target = Buffer.alloc(8);

  assert.equal(await readFully(file, target, 4), 6);
  assert.equal(target.toString("latin1", 0, 6), "456789");
});

test("only errors that mean a full disk have a text", () => {
  const failure = (code: string): Error => Object.assign(new Error(code), { code });

  assert.equal(noSpaceText(failure("ENOSPC")), "No space left on device");
  assert.equal(noSpaceText(failure("EDQUOT")), "Disk quota exceeded");
  assert.equal(noSpaceText(failure("EIO")), undefined);
  assert.equal(codeOf(failure("EIO")), "EIO");
  assert.equal(codeOf(new Error("plain")), undefined);
  assert.equal(codeOf("ENOSPC"), undefined);
});
