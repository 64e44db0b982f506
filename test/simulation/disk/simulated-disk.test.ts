import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { type DiskFile, writeFully } from "../../../src/persistence/disk/disk.ts";
import { SimulatedDisk } from "./simulated-disk.ts";

const CUTS = 400;
const PAGE = 4_096;

/** A disk with one durable open file `/f` of these bytes. */
async function withFileOf(text: string): Promise<{ disk: SimulatedDisk; file: DiskFile }> {
  const disk = new SimulatedDisk({ seed: 1 });
  const file = await disk.open("/f", "create");
  await writeFully(file, Buffer.from(text), 0);
  await file.fdatasync();
  await disk.syncDirectory("/");
  return { disk, file };
}

/** The outcomes of many power cuts, without duplicates. */
function outcomes(disk: SimulatedDisk, shown: (left: SimulatedDisk) => string): Set<string> {
  return new Set(Array.from({ length: CUTS }, (_, seed) => shown(disk.afterPowerCut(seededRandom(seed)))));
}

function textOf(disk: SimulatedDisk, path = "/f"): string {
  return disk.bytesOf(path).toString("latin1");
}

function namesOf(disk: SimulatedDisk): string {
  return [...disk.paths].sort().join(" ");
}

/** The runs of equal characters in a text, with their lengths. */
function runsOf(text: string): string {
  return [...text.matchAll(/(.)\1*/gs)].map(([run, letter]) => `${JSON.stringify(letter)}*${run.length}`).join(" ");
}

test("synced data survives every power cut", async () => {
  const { disk, file } = await withFileOf("old");
  await writeFully(file, Buffer.from("new and longer"), 0);
  await file.fdatasync();
  assert.deepEqual([...outcomes(disk, textOf)], ["new and longer"]);
});

test("a power cut leaves all, nothing or a part of an unsynced write", async () => {
  const { disk, file } = await withFileOf("aaaa");
  await writeFully(file, Buffer.from("bbbb"), 0);
  const left = outcomes(disk, textOf);
  for (const text of ["aaaa", "bbbb", "baaa", "abbb", "bbba"]) assert.ok(left.has(text), text);
  for (const text of left) assert.match(text, /^(?:a*b*|b*a*)$/);
});

test("pages are lost one by one, and missing pages before others read as zeros", async () => {
  const disk = new SimulatedDisk({ seed: 1 });
  const file = await disk.open("/f", "create");
  await disk.syncDirectory("/");
  await writeFully(file, Buffer.alloc(3 * PAGE, "x"), 0);
  const left = outcomes(disk, (cut) => runsOf(textOf(cut)));
  for (const runs of [
    "",
    `"x"*${3 * PAGE}`,
    `"\\u0000"*${3 * PAGE}`,
    `"\\u0000"*${PAGE} "x"*${2 * PAGE}`,
    `"x"*${PAGE} "\\u0000"*${PAGE} "x"*${PAGE}`,
  ])
    assert.ok(left.has(runs), runs);
});

test("a page is torn at sector boundaries or at any byte", async () => {
  const { disk, file } = await withFileOf("a".repeat(PAGE));
  await writeFully(file, Buffer.alloc(PAGE, "b"), 0);
  const left = [...outcomes(disk, (cut) => runsOf(textOf(cut)))];
  assert.ok(
    left.some((runs) => /^"a"\*512 "b"\*1024 "a"\*\d+ "b"/.test(runs)) ||
      left.some((runs) => runs.split(" ").length > 3),
  );
  assert.ok(
    left.some((runs) => /^"b"\*\d*[13579] "a"\*\d+$/.test(runs)),
    "an odd byte",
  );
});

test("two writes to one page may survive in part, but in one sector never the second without the first", async () => {
  const { disk, file } = await withFileOf("......");
  await writeFully(file, Buffer.from("1"), 0);
  await writeFully(file, Buffer.from("2"), 5);
  const left = outcomes(disk, textOf);
  for (const text of ["......", "1.....", "1....2"]) assert.ok(left.has(text), text);
});

test("an unsynced truncation is lost or kept", async () => {
  const { disk, file } = await withFileOf("abcdef");
  await file.truncate(2);
  const left = outcomes(disk, textOf);
  assert.ok(left.has("ab") && left.has("abcdef"), [...left].join());
  await file.fdatasync();
  assert.deepEqual([...outcomes(disk, textOf)], ["ab"]);
});

test("a file that grew after a truncation reads as zeros, not as the data cut off", async () => {
  const { file, disk } = await withFileOf("abcdef");
  await file.truncate(2);
  await writeFully(file, Buffer.from("z"), 4);
  assert.equal(textOf(disk), "ab\0\0z");
});

test("a new name is lost or kept until its directory is synced, even if the file was synced", async () => {
  const disk = new SimulatedDisk({ seed: 1 });
  const file = await disk.open("/f", "create");
  await writeFully(file, Buffer.from("x"), 0);
  await file.fsync();
  assert.deepEqual([...outcomes(disk, namesOf)].sort(), ["", "/f"]);
  await disk.syncDirectory("/");
  assert.deepEqual([...outcomes(disk, namesOf)], ["/f"]);
});

test("a rename is lost or kept as a whole, with the file that it replaces", async () => {
  const disk = new SimulatedDisk({ seed: 1 });
  disk.put("/old", Buffer.from("old"));
  disk.put("/new", Buffer.from("new"));
  await disk.rename("/new", "/old");
  const shown = (cut: SimulatedDisk): string => `${namesOf(cut)} ${textOf(cut, "/old")}`;
  assert.deepEqual([...outcomes(disk, shown)].sort(), ["/new /old old", "/old new"]);
  await disk.syncDirectory("/");
  assert.deepEqual([...outcomes(disk, shown)], ["/old new"]);
});

test("changes of names reach the disk in any order", async () => {
  const disk = new SimulatedDisk({ seed: 1 });
  for (const path of ["/1", "/2"]) disk.put(path, Buffer.from(path));
  await disk.unlink("/1");
  await disk.unlink("/2");
  await disk.open("/3", "create");
  assert.deepEqual([...outcomes(disk, namesOf)].sort(), ["", "/1", "/1 /2", "/1 /2 /3", "/1 /3", "/2", "/2 /3", "/3"]);
});

test("a hard link shares the durable data of the file, and may itself be lost", async () => {
  const { disk } = await withFileOf("abc");
  await disk.link("/f", "/copy");
  assert.deepEqual([...outcomes(disk, namesOf)].sort(), ["/copy /f", "/f"]);
  await disk.unlink("/f");
  await disk.syncDirectory("/");
  assert.equal(textOf(disk.afterPowerCut(seededRandom(1)), "/copy"), "abc");
  await assert.rejects(disk.link("/copy", "/copy"), { code: "EEXIST" });
});

test("a lost directory takes its contents with it", async () => {
  const disk = new SimulatedDisk({ seed: 1 });
  assert.equal(await disk.mkdir("/d"), true);
  assert.equal(await disk.mkdir("/d"), false);
  const file = await disk.open("/d/f", "create");
  await file.fsync();
  await disk.syncDirectory("/d");
  assert.deepEqual([...outcomes(disk, namesOf)].sort(), ["", "/d/f"]);
  await disk.syncDirectory("/");
  assert.deepEqual([...outcomes(disk, namesOf)], ["/d/f"]);
});

test("a sync covers the operations completed before it was requested", async () => {
  const disk = new SimulatedDisk({ seed: 1, isStepped: true });
  const random = seededRandom(1);
  const opening = disk.open("/f", "create");
  disk.step(random);
  const file = await opening;
  file.writeNow(Buffer.from("a"), 0);
  const naming = disk.syncDirectory("/");
  const syncing = file.fdatasync();
  file.writeNow(Buffer.from("b"), 1);
  while (disk.step(random));
  await Promise.all([naming, syncing]);
  assert.deepEqual([...outcomes(disk, textOf)].sort(), ["a", "a\0", "ab"]);
});

test("an operation under way at a crash happens in full, in part or not at all", async () => {
  const disk = new SimulatedDisk({ seed: 1, isStepped: true });
  disk.put("/f", Buffer.alloc(0));
  const opening = disk.open("/f", "update");
  disk.step(seededRandom(1));
  const file = await opening;
  void file.write(Buffer.from("ab"), 0);
  const seen = new Set(Array.from({ length: CUTS }, (_, seed) => textOf(disk.afterKill(seededRandom(seed)))));
  assert.deepEqual([...seen].sort(), ["", "a", "ab"]);
  assert.equal(textOf(disk), "");
});

test("a kill keeps all written data and makes none of it more durable", async () => {
  const { disk, file } = await withFileOf("aa");
  await writeFully(file, Buffer.from("bb"), 0);
  const killed = disk.afterKill(seededRandom(1));
  assert.equal(textOf(killed), "bb");
  assert.ok(outcomes(killed, textOf).has("aa"));
});

test("after a failed sync the next one does not repair it", async () => {
  const { disk, file } = await withFileOf("aa");
  await writeFully(file, Buffer.from("bb"), 0);
  disk.faultOf = ({ kind }) => (kind === "sync" ? { code: "EIO" } : undefined);
  await assert.rejects(file.fdatasync(), { code: "EIO" });
  disk.faultOf = () => undefined;
  await file.fdatasync();
  assert.equal(textOf(disk), "bb");
  assert.equal(outcomes(disk, textOf).size, 1);
  const lefts = new Set<string>();
  for (let seed = 0; seed < CUTS; seed += 1) {
    const again = new SimulatedDisk({ seed });
    again.put("/f", Buffer.from("aa"));
    again.faultOf = ({ kind }) => (kind === "sync" ? { code: "EIO" } : undefined);
    const open = await again.open("/f", "update");
    open.writeNow(Buffer.from("bb"), 0);
    await assert.rejects(open.fdatasync(), { code: "EIO" });
    lefts.add(textOf(again.afterPowerCut(seededRandom(seed))));
  }
  assert.ok(lefts.has("aa") && lefts.has("bb"), [...lefts].join());
});

test("a full disk writes what fits, then nothing, and everything once space is free", async () => {
  const { disk, file } = await withFileOf("");
  disk.freeBytes = 3;
  assert.equal(await file.write(Buffer.from("abcde"), 0), 3);
  await assert.rejects(file.write(Buffer.from("de"), 3), { code: "ENOSPC" });
  await assert.rejects(disk.open("/g", "create"), { code: "ENOSPC" });
  assert.equal(await file.write(Buffer.from("xyz"), 0), 3);
  await file.truncate(1);
  assert.equal(await file.write(Buffer.from("bcdef"), 1), 2);
  disk.freeBytes = 100;
  assert.equal(await file.write(Buffer.from("def"), 3), 3);
  assert.equal(textOf(disk), "xbcdef");
});

test("a fault hits the chosen operation", async () => {
  const { disk, file } = await withFileOf("");
  disk.faultOf = ({ kind, ordinal }) => {
    if (kind === "write" && ordinal === 2) return { bytesMax: 1 };
    return kind === "rename" && ordinal === 1 ? { code: "EIO" } : undefined;
  };
  assert.equal(await file.write(Buffer.from("abc"), 0), 3);
  assert.equal(file.writeNow(Buffer.from("de"), 3), 1);
  assert.equal(await file.write(Buffer.from("e"), 4), 1);
  disk.faultOf = ({ kind, ordinal }) => {
    if (kind === "read") return { bytesMax: 2 };
    return kind === "rename" && ordinal === 1 ? { code: "EIO" } : undefined;
  };
  assert.equal(await file.read(Buffer.alloc(5), 1), 2);
  await assert.rejects(disk.rename("/f", "/g"), { code: "EIO" });
  await disk.rename("/f", "/g");
  assert.equal(textOf(disk, "/g"), "abcde");
});

test("a buffer that changes while it is written is reported as a fault of the caller", async () => {
  const disk = new SimulatedDisk({ seed: 1, isStepped: true });
  disk.put("/f", Buffer.alloc(0));
  const opening = disk.open("/f", "update");
  disk.step(seededRandom(1));
  const file = await opening;
  const bytes = Buffer.from("ab");
  const writing = file.write(bytes, 0);
  bytes[0] = 0;
  disk.step(seededRandom(1));
  await assert.rejects(writing, /changed while it was written/);
});

test("the same seed leaves the same files", async () => {
  const { disk, file } = await withFileOf("aaaa");
  await writeFully(file, Buffer.alloc(3 * PAGE, "x"), 2);
  for (let seed = 0; seed < 20; seed += 1) {
    const [one, other] = [0, 1].map(() => disk.afterPowerCut(seededRandom(seed)));
    assert.equal(one && textOf(one), other && textOf(other));
  }
});

test("a flipped bit is in the durable data", async () => {
  const { disk } = await withFileOf("a");
  disk.flipBit("/f", 0, 1);
  assert.equal(textOf(disk), "c");
  assert.deepEqual([...outcomes(disk, textOf)], ["c"]);
});
