import assert from "node:assert/strict";
import { test } from "node:test";
import { AREA, appendSafely, DIRECTORY, emptyDisk, openOn } from "../../test/harness/persistence-fixture.ts";
import { inspectArea } from "./inspection.ts";

const FIRST = "/store/0000000001.journal";

test("reports what a start would find, and changes nothing", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a", "b");
  await opened.area.closeSegment();
  await appendSafely(opened, "c");
  const open = "/store/0000000002.journal";
  const bytes = disk.bytesOf(open);
  disk.put(open, Buffer.concat([bytes, Buffer.alloc(100)]));

  const report = await inspectArea({ disk, directory: DIRECTORY, area: AREA });

  assert.deepEqual(report, {
    area: "store",
    format: 2,
    fault: undefined,
    snapshot: undefined,
    covered: [],
    damaged: [],
    segments: [
      { number: 1, bytes: disk.bytesOf(FIRST).length, isEnded: true },
      { number: 2, bytes: bytes.length, isEnded: false },
    ],
    position: 3,
    frames: 3,
    tail: { file: open, offset: bytes.length, bytes: 100 },
  });
  assert.equal(disk.bytesOf(open).length, bytes.length + 100);
});

test("reports damage with its file and byte", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a");
  await appendSafely(opened, "b");
  disk.flipBit(FIRST, 70, 3);

  const report = await inspectArea({ disk, directory: DIRECTORY, area: AREA });

  assert.equal(
    report.fault,
    "/store/0000000001.journal is damaged at byte 64: position 0 is bad, and everything before 1 was durable. Restore the data directory from a backup",
  );
});

test("an area that was never created is empty; system errors are thrown", async () => {
  const disk = await emptyDisk();

  const report = await inspectArea({ disk, directory: "/none", area: AREA });
  assert.deepEqual([report.fault, report.frames, report.segments], [undefined, 0, []]);

  disk.faultOf = () => ({ code: "EACCES" });
  await assert.rejects(inspectArea({ disk, directory: DIRECTORY, area: AREA }), { code: "EACCES" });
});
