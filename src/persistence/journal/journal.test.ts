import assert from "node:assert/strict";
import { test } from "node:test";
import { appendSafely, emptyDisk, filesOf, openOn, readOn, settle } from "../../../test/harness/persistence-fixture.ts";
import type { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { FileJournal } from "./journal.ts";

const frame = (text: string): Buffer => Buffer.from(text, "latin1");

/** Reports whether a position is safe yet. */
function follow(journal: FileJournal, position: number): { isSafe: boolean } {
  const followed = { isSafe: false };
  void journal.whenSafe(position).then(() => {
    followed.isSafe = true;
  });
  return followed;
}

interface HeldBack {
  /** Lets the operation continue. */
  readonly waiting: (() => void)[];
  start(): void;
  stop(): void;
}

/** Delays operations of one kind until each is released. */
function holdBack(disk: SimulatedDisk, kind: "write" | "sync"): HeldBack {
  const waiting: (() => void)[] = [];
  const original = disk.open.bind(disk);
  let isOn = false;
  disk.open = async (path, how) => {
    const file = await original(path, how);
    const { write, fdatasync } = file;
    const gate = (): Promise<void> => (isOn ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve());
    if (kind === "write") file.write = (bytes, offset) => gate().then(() => write(bytes, offset));
    if (kind === "sync") file.fdatasync = () => gate().then(() => fdatasync());
    return file;
  };
  const start = (): void => {
    isOn = true;
  };
  const stop = (): void => {
    isOn = false;
    for (const release of waiting.splice(0)) release();
  };
  return { waiting, start, stop };
}

test("positions count frames, and appended frames are read back in order", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const { journal } = opened.area;

  assert.deepEqual([journal.append(frame("a")), journal.append(frame("b")), journal.end], [1, 2, 2]);
  await journal.whenSafe(2);
  await appendSafely(opened, "c");

  const again = await openOn(disk);
  assert.deepEqual(again.frames, ["a", "b", "c"]);
  assert.deepEqual([again.area.journal.end, again.area.journal.safe, again.area.journal.synced], [3, 3, 3]);
});

test("append copies a frame of any length before it returns", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "no" });
  const texts: string[] = [];
  for (const length of [1, 7, 8, 191, 192, 193, 16_300, 70_000, 1_100_000, 3]) {
    const bytes = Buffer.alloc(length, length & 127);
    opened.area.journal.append(bytes);
    texts.push(bytes.toString("latin1"));
    bytes.fill(0);
  }
  await opened.area.journal.whenSafe(opened.area.journal.end);

  assert.deepEqual((await readOn(disk)).frames, texts);
});

test("frames of one turn of the event loop are one batch and one write, and waiters share a promise", async () => {
  const disk = await emptyDisk();
  const { area } = await openOn(disk, { mode: "everysec" });
  const { journal } = area;
  await settle();
  const writes = disk.countOf("write");

  const waits = [1, 2, 3].map(() => journal.whenSafe(journal.append(frame("x"))));

  assert.equal(journal.safe, 0);
  assert.equal(waits[0], waits[2]);
  await waits[0];
  assert.deepEqual([journal.counts.batches, journal.counts.frames, disk.countOf("write") - writes], [1, 3, 1]);
  assert.equal(journal.whenSafe(2), journal.whenSafe(3));
});

test("always: a frame is safe when it is synced, and frames that arrive meanwhile form the next batch", async () => {
  const disk = await emptyDisk();
  const held = holdBack(disk, "sync");
  const { area } = await openOn(disk, { mode: "always" });
  const { journal } = area;
  held.start();

  const first = follow(journal, journal.append(frame("a")));
  await settle();
  const second = follow(journal, journal.append(frame("b")));
  await settle();
  journal.append(frame("c"));
  await settle();

  assert.deepEqual([journal.written, journal.synced, journal.counts.batches], [1, 0, 1]);
  assert.deepEqual([first.isSafe, held.waiting.length], [false, 1]);
  held.waiting.shift()?.();
  await settle();
  assert.deepEqual([first.isSafe, second.isSafe, journal.written, journal.counts.batches], [true, false, 3, 2]);
  held.waiting.shift()?.();
  await settle();
  assert.deepEqual([second.isSafe, journal.safe, journal.synced], [true, 3, 3]);
});

test("everysec: a frame is safe when it is written, and synced within a second", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "everysec" });
  const { area, clock } = opened;
  const { journal } = area;

  await appendSafely(opened, "a");
  await settle();
  assert.deepEqual([journal.safe, journal.synced, journal.counts.syncs], [1, 1, 1]);

  await appendSafely(opened, "b");
  clock.advance(500);
  await appendSafely(opened, "c");
  clock.advance(499);
  await settle();
  assert.deepEqual([journal.safe, journal.synced, journal.counts.syncs], [3, 1, 1]);
  clock.advance(1);
  await settle();
  assert.deepEqual([journal.synced, journal.counts.syncs], [3, 2]);

  clock.advance(10_000);
  await settle();
  assert.equal(journal.counts.syncs, 2, "nothing is synced twice");
});

test("everysec: 16 MB do not wait for the second", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "everysec" });
  const { journal } = opened.area;
  await appendSafely(opened, "a");
  await settle();
  const long = "b".repeat(1024 * 1024);

  for (let i = 0; i < 15; i += 1) await appendSafely(opened, long);
  await settle();
  assert.deepEqual([journal.synced, journal.counts.syncs], [1, 1]);

  await appendSafely(opened, long);
  await settle();
  assert.deepEqual([journal.synced, journal.counts.syncs, journal.unsyncedBytes], [17, 2, 0]);
});

test("everysec: writes continue through the pool during a long sync", async () => {
  const disk = await emptyDisk();
  const held = holdBack(disk, "sync");
  const opened = await openOn(disk, { mode: "everysec" });
  held.start();
  await appendSafely(opened, "a");
  assert.equal(held.waiting.length, 1);

  await appendSafely(opened, "b");
  opened.clock.advance(5_000);
  await appendSafely(opened, "c");

  const { journal } = opened.area;
  assert.deepEqual([journal.safe, journal.synced, held.waiting.length], [3, 0, 1]);
  held.waiting.shift()?.();
  await settle();
  assert.deepEqual([journal.synced, held.waiting.length], [1, 1]);
});

test("no: nothing is synced before the end of a segment", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "no" });
  await settle();
  const syncs = disk.countOf("sync");

  await appendSafely(opened, "a", "b");
  opened.clock.advance(60_000);
  await settle();
  assert.deepEqual([opened.area.journal.safe, disk.countOf("sync") - syncs], [2, 0]);

  await opened.area.closeSegment();
  assert.equal(opened.area.journal.synced, 2);
});

test("S-04: a full disk loses nothing and refuses writes until there is space", async () => {
  for (const mode of ["always", "everysec", "no"] as const) {
    const disk = await emptyDisk();
    const opened = await openOn(disk, { mode });
    const { journal } = opened.area;
    await appendSafely(opened, "before");
    disk.freeBytes = 20;

    journal.append(frame("one that does not fit any more"));
    const waiting = follow(journal, journal.end);
    await settle();

    assert.equal(journal.refusal, "No space left on device", mode);
    assert.equal(waiting.isSafe, false, mode);
    assert.equal(disk.freeBytes, 20, `${mode}: torn bytes are cut off`);
    assert.equal(journal.synced, mode === "no" ? 0 : 1, mode);
    opened.clock.advance(1_000);
    await settle();
    assert.notEqual(journal.refusal, undefined, mode);

    journal.append(frame("two"));
    disk.freeBytes = 1_000;
    opened.clock.advance(999);
    await settle();
    assert.equal(waiting.isSafe, false, mode);
    opened.clock.advance(1);
    await settle();
    assert.deepEqual([waiting.isSafe, journal.refusal, journal.safe], [true, undefined, 3], mode);
    assert.deepEqual((await readOn(disk)).frames, ["before", "one that does not fit any more", "two"], mode);
    assert.deepEqual(opened.fatal, [], mode);
  }
});

test("S-04: the reserve frees space for the queue at once; writes stay refused until it is filled again", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "everysec", reserveBytes: 1_000 });
  const { journal } = opened.area;
  await appendSafely(opened, "before");
  disk.freeBytes = 5;

  journal.append(frame("more than five bytes"));
  const waiting = follow(journal, journal.end);
  await settle();

  assert.deepEqual([waiting.isSafe, journal.refusal], [true, "No space left on device"]);
  opened.clock.advance(3_000);
  await settle();
  assert.equal(journal.refusal, "No space left on device");
  disk.freeBytes = 2_000;
  opened.clock.advance(1_000);
  await settle();
  assert.equal(journal.refusal, undefined);
  assert.equal(disk.bytesOf("/store/reserve").length, 1_000);
});

test("S-04: on a tight disk a frame that fits nowhere is known before it is appended", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "everysec", reserveBytes: 1_000, isTight: true });
  const { journal } = opened.area;
  disk.freeBytes = 500;
  assert.deepEqual([journal.lackFor(1_100), journal.lackFor(2_000)], [undefined, "No space left on device"]);
  await settle();
  assert.equal(journal.lackFor(600), undefined);
  journal.append(frame("x".repeat(600)));
  // The queued frame needs the reserve too.
  assert.equal(journal.lackFor(800), "No space left on device");
  disk.freeBytes = 0;
  const waiting = follow(journal, journal.end);
  await settle();
  assert.deepEqual([waiting.isSafe, journal.refusal], [true, "No space left on device"]);
  journal.setTight(false);
  assert.equal(journal.lackFor(10_000), undefined);
});

test("S-04: a start without space for the reserve refuses writes, and an accepted one still becomes safe", async () => {
  const disk = await emptyDisk();
  await (await openOn(disk)).area.close();
  disk.freeBytes = 900;

  const opened = await openOn(disk, { mode: "everysec", reserveBytes: 1_000 });
  const { journal } = opened.area;

  assert.equal(journal.refusal, "No space left on device");
  await appendSafely(opened, "a frame of a sweep");
  assert.equal(journal.refusal, "No space left on device");
  disk.freeBytes = 2_000;
  opened.clock.advance(1_000);
  await settle();
  assert.equal(journal.refusal, undefined);
  assert.equal(disk.bytesOf("/store/reserve").length, 1_000);
});

test("S-04: a full disk at the end of a segment delays writes and loses none", async () => {
  for (const freeBytes of [0, 10, 40]) {
    const disk = await emptyDisk();
    const opened = await openOn(disk, { mode: "always" });
    const { journal } = opened.area;
    await appendSafely(opened, "a");
    disk.freeBytes = freeBytes;

    const closing = opened.area.closeSegment();
    await settle();
    journal.append(frame("b"));
    opened.clock.advance(2_000);
    await settle();
    assert.deepEqual([journal.safe, journal.refusal], [1, "No space left on device"]);
    disk.freeBytes = 10_000;
    opened.clock.advance(1_000);

    assert.equal(await closing, 2);
    await journal.whenSafe(2);
    assert.deepEqual([(await readOn(disk)).frames, journal.refusal], [["a", "b"], undefined]);
  }
});

test("S-04: a journal that closes on a full disk reports how many frames it could not write", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "always" });
  await appendSafely(opened, "a");
  disk.freeBytes = 0;
  opened.area.journal.append(frame("b"));
  opened.area.journal.append(frame("c"));
  await settle();

  assert.equal(await opened.area.close(), 2);
  assert.deepEqual((await readOn(disk)).frames, ["a"]);
  assert.equal(disk.openCount, 0);
});

test("S-05: after any other failure of a write or sync nothing becomes safe, and onFatal is called once", async () => {
  for (const mode of ["always", "everysec"] as const) {
    for (const kind of ["write", "sync"] as const) {
      const disk = await emptyDisk();
      const opened = await openOn(disk, { mode });
      disk.faultOf = (operation) => (operation.kind === kind ? { code: "EIO" } : undefined);
      const { journal } = opened.area;

      journal.append(frame("a"));
      const waiting = follow(journal, journal.end);
      await settle();
      disk.faultOf = () => undefined;
      journal.append(frame("b"));
      opened.clock.advance(5_000);
      await settle();

      assert.equal(opened.fatal.length, 1, `${mode} ${kind}`);
      assert.equal(waiting.isSafe, mode === "everysec" && kind === "sync", `${mode} ${kind}`);
      assert.equal(follow(journal, journal.end).isSafe, false);
      assert.equal(journal.refusal, "The journal cannot be written");
      await opened.area.close();
    }
  }
});

test("S-05: an fdatasync that fails for lack of space is fatal", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "always" });
  disk.faultOf = ({ kind }) => (kind === "sync" ? { code: "ENOSPC" } : undefined);

  opened.area.journal.append(frame("a"));
  await settle();

  assert.deepEqual([opened.fatal.length, opened.area.journal.safe], [1, 0]);
});

test("S-05, S-06: whichever operation fails or is short, safe frames survive a restart", async () => {
  const random = seededRandom(5);
  let failures = 0;
  for (const fault of [{ code: "EIO" }, { code: "ENOSPC" }, { bytesMax: 1 }]) {
    for (let ordinal = 1; ordinal <= 45; ordinal += 1) {
      const disk = await emptyDisk();
      let count = 0;
      disk.faultOf = ({ kind }) => {
        count += ["read", "size", "list", "close"].includes(kind) ? 0 : 1;
        return count === ordinal ? fault : undefined;
      };
      const opened = await openOn(disk).catch(() => undefined);
      let safe = 0;
      if (opened !== undefined) {
        const { area, clock } = opened;
        for (let i = 0; i < 8; i += 1) {
          area.journal.append(frame(`frame ${i}`));
          if (i % 3 === 2) void area.closeSegment();
          for (let turn = 0; turn < 3; turn += 1) {
            await settle();
            clock.advance(1_000);
          }
        }
        safe = area.journal.safe;
        failures += opened.fatal.length;
        if (opened.fatal.length === 0) assert.equal(safe, 8);
      }
      disk.faultOf = () => undefined;
      for (const crashed of [disk.afterKill(random), disk.afterPowerCut(random), disk.afterPowerCut(random)]) {
        const { frames } = await openOn(crashed);
        assert.ok(frames.length >= safe, `operation ${ordinal} ${JSON.stringify(fault)}: ${frames.length} of ${safe}`);
        assert.deepEqual(
          frames,
          Array.from({ length: frames.length }, (_, i) => `frame ${i}`),
        );
      }
    }
  }
  assert.ok(failures > 20, `${failures} failures were fatal`);
});

test("a full segment is closed, and frames continue in the next one", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "everysec", segmentBytesMax: 200 });
  const texts = Array.from({ length: 30 }, (_, i) => `frame number ${i}`);

  for (const text of texts) {
    await appendSafely(opened, text);
    await settle();
  }

  const { ended, open, frames } = await readOn(disk);
  assert.deepEqual(frames, texts);
  assert.equal(open?.number, ended.length + 1);
  assert.ok(ended.length >= 5, `${ended.length} segments were closed`);
  for (const { bytes } of ended) assert.ok(bytes < 400, `${bytes} bytes`);
});

test("frames appended before closeSegment are in a lower segment, and an empty segment stays open", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "everysec" });
  const { journal } = opened.area;
  assert.equal(await opened.area.closeSegment(), 1);

  journal.append(frame("a"));
  const closing = opened.area.closeSegment();
  const position = journal.append(frame("b"));
  const closingAgain = opened.area.closeSegment();
  journal.append(frame("c"));

  assert.ok((await closing) >= 2);
  const openNumber = await closingAgain;
  await journal.whenSafe(3);
  const { ended, frames } = await readOn(disk);
  assert.deepEqual([frames, position], [["a", "b", "c"], 2]);
  assert.equal(ended.at(-1)?.number, openNumber - 1);
});

/**
 * Closes a segment. During each sync before its end a write of so many bytes comes. Returns how many writes did not wait
 * for the next segment.
 */
async function writesBeforeEnd(bytesBySync: readonly number[]): Promise<number> {
  const disk = await emptyDisk();
  const held = holdBack(disk, "sync");
  const opened = await openOn(disk, { mode: "no" });
  const { journal } = opened.area;
  await appendSafely(opened, "a");
  held.start();
  const closing = opened.area.closeSegment();
  for (const bytes of [...bytesBySync, 1]) {
    await settle();
    journal.append(Buffer.alloc(bytes));
    await settle();
    held.waiting.shift()?.();
  }
  const { safe } = journal;
  held.stop();
  await closing;
  await journal.whenSafe(journal.end);
  return safe - 1;
}

test("a segment is synced before its end until little is unsynced, at most four times", async () => {
  const [little, much] = [512 * 1024 - 100, 512 * 1024];
  assert.equal(await writesBeforeEnd([little]), 1);
  assert.equal(await writesBeforeEnd([much, little]), 2);
  assert.equal(await writesBeforeEnd([much, much, much, much]), 4);
});

test("the queue is bounded: writes are refused while the disk is too slow", async () => {
  const disk = await emptyDisk();
  const held = holdBack(disk, "write");
  const { area } = await openOn(disk, { mode: "no", queueBytesMax: 4 * 1024 * 1024 });
  const { journal } = area;
  held.start();
  const large = Buffer.alloc(1024 * 1024, 1);

  for (let i = 0; i < 4; i += 1) {
    assert.equal(journal.refusal, undefined);
    journal.append(large);
  }
  assert.equal(journal.refusal, "The disk cannot keep up with the writes");

  await settle();
  held.stop();
  await journal.whenSafe(journal.end);
  assert.deepEqual([journal.refusal, journal.queuedBytes], [undefined, 0]);
});

test("A-16: an owner with too many queued bytes is refused, and others continue up to a hard bound", async () => {
  const MB = 1024 * 1024;
  const disk = await emptyDisk();
  const held = holdBack(disk, "write");
  const { area } = await openOn(disk, { mode: "no", queueBytesMax: 4 * MB });
  const { journal } = area;
  held.start();
  const large = Buffer.alloc(MB, 1);
  const one = { journalBytes: 0 };
  const other = { journalBytes: 0 };
  const refusals = (): readonly boolean[] => [one, other].map((owner) => journal.refusalOf(owner) !== undefined);

  for (let i = 0; i < 4; i += 1) journal.append(large, one);
  assert.deepEqual(refusals(), [true, false]);
  assert.deepEqual([journal.refusal, one.journalBytes, other.journalBytes], [undefined, 4 * MB + 32, 0]);
  for (let i = 0; i < 2; i += 1) journal.append(large, other);
  assert.deepEqual(refusals(), [true, true]);
  for (let i = 0; i < 2; i += 1) journal.append(large, other);
  assert.equal(journal.refusal, "The disk cannot keep up with the writes");

  await settle();
  held.stop();
  await journal.whenSafe(journal.end);
  assert.deepEqual([one.journalBytes, other.journalBytes, journal.refusal], [0, 0, undefined]);
  assert.deepEqual(refusals(), [false, false]);
});

test("a clean stop leaves an ended segment in which every byte is known to be durable", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "no" });
  await appendSafely(opened, "a", "b");

  assert.equal(await opened.area.close(), 0);

  const crashed = disk.afterPowerCut(seededRandom(2));
  const { ended, open, frames } = await readOn(crashed);
  assert.deepEqual([ended.length, open, frames, disk.openCount], [1, undefined, ["a", "b"], 0]);
  assert.throws(() => opened.area.journal.append(frame("c")), /closed/);
});

test("a stop without frames adds no segment", async () => {
  const disk = await emptyDisk();
  for (let i = 0; i < 3; i += 1) await (await openOn(disk)).area.close();

  assert.deepEqual(filesOf(disk), ["/store/0000000001.journal"]);
});
