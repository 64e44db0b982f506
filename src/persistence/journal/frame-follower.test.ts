import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  AREA,
  appendSafely,
  DIRECTORY,
  emptyDisk,
  type OpenedArea,
  openOn,
} from "../../../test/harness/persistence-fixture.ts";
import type { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { fileDisk } from "../disk/file-disk.ts";
import { DamagedData, MissingData, WrongFile } from "../errors.ts";
import { FILE_HEADER_BYTES, FRAME_HEADER_BYTES, MARK_BYTES, type SyncedLocation } from "./file-format.ts";
import { FrameFollower, type FrameFollowerOptions } from "./frame-follower.ts";

const FIRST = "/store/0000000001.journal";
const SECOND = "/store/0000000002.journal";
/** The payload offset of the first frame in a segment. */
const FIRST_OFFSET = FILE_HEADER_BYTES + MARK_BYTES + FRAME_HEADER_BYTES;

interface Followed {
  readonly follower: FrameFollower;
  /** The frames received, such as `3:c`. */
  readonly followed: string[];
  readonly locations: string[];
}

function follower(disk: SimulatedDisk, options: Partial<FrameFollowerOptions> = {}): Followed {
  const followed: string[] = [];
  const locations: string[] = [];
  const made = new FrameFollower({
    disk,
    directory: DIRECTORY,
    area: AREA,
    position: 0,
    frame: (payload, position, { segment, offset }) => {
      followed.push(`${position}:${payload.toString("latin1")}`);
      locations.push(`${segment}/${offset}`);
    },
    ...options,
  });
  return { follower: made, followed, locations };
}

/** Segments with the frames `a b`, `c` and `d e`; the last one is open. */
async function threeSegments(): Promise<OpenedArea & { disk: SimulatedDisk }> {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "a", "b");
  await opened.area.closeSegment();
  await appendSafely(opened, "c");
  await opened.area.closeSegment();
  await appendSafely(opened, "d", "e");
  return { ...opened, disk };
}

test("the synced location is the end of the durable frames, and each move of it is reported", async () => {
  const disk = await emptyDisk();
  const locations: SyncedLocation[] = [];
  const opened = await openOn(disk, { onSyncedLocation: (location) => locations.push(location) });
  const { journal } = opened.area;
  assert.deepEqual(journal.syncedLocation, { segment: 1, offset: FILE_HEADER_BYTES, position: 0 });

  await appendSafely(opened, "a");
  const { segmentBytes: behindFirst } = journal;
  journal.append(Buffer.from("b"));
  assert.deepEqual(journal.syncedLocation, { segment: 1, offset: behindFirst, position: 1 });
  await journal.whenSafe(2);
  const { segmentBytes: behindSecond } = journal;
  await opened.area.closeSegment();

  const expected = [
    { segment: 1, offset: behindFirst, position: 1 },
    { segment: 1, offset: behindSecond, position: 2 },
    { segment: 2, offset: FILE_HEADER_BYTES, position: 2 },
  ];
  assert.deepEqual(locations, expected);
  assert.deepEqual((await openOn(disk)).area.journal.syncedLocation, expected[2]);
});

test("everysec: the synced location passes written frames only after their sync", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { mode: "everysec" });
  const { journal } = opened.area;
  await appendSafely(opened, "a");
  await journal.sync();
  const { segmentBytes: offset } = journal;
  await appendSafely(opened, "b");

  assert.deepEqual([journal.written, journal.syncedLocation], [2, { segment: 1, offset, position: 1 }]);
  await journal.sync();
  assert.deepEqual(journal.syncedLocation, { segment: 1, offset: journal.segmentBytes, position: 2 });
});

test("a follower passes on every frame once, with its position and location, across segments", async () => {
  const { area, disk } = await threeSegments();
  const { follower: following, followed, locations } = follower(disk);

  await following.follow(area.journal.syncedLocation);

  assert.deepEqual(followed, ["1:a", "2:b", "3:c", "4:d", "5:e"]);
  const second = FIRST_OFFSET + FRAME_HEADER_BYTES + 1;
  assert.deepEqual(locations, [
    `1/${FIRST_OFFSET}`,
    `1/${second}`,
    `2/${FIRST_OFFSET}`,
    `3/${FIRST_OFFSET}`,
    `3/${second}`,
  ]);
  assert.equal(following.position, 5);
});

test("a follower begins at any position whose segment exists", async () => {
  const { area, disk } = await threeSegments();
  const all = ["1:a", "2:b", "3:c", "4:d", "5:e"];
  for (let position = 0; position <= 5; position += 1) {
    const { follower: following, followed } = follower(disk, { position });
    await following.follow(area.journal.syncedLocation);
    assert.deepEqual(followed, all.slice(position), `from position ${position}`);
  }
});

test("a follower continues where it stopped, and never reads beyond the given location", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  const { journal } = opened.area;
  const { follower: following, followed } = follower(disk);
  const locations: SyncedLocation[] = [];
  for (const text of ["a", "b", "c", "d", "e", "f"]) {
    await appendSafely(opened, text);
    locations.push(journal.syncedLocation);
    if (text === "c") await opened.area.closeSegment();
  }

  for (const [index, location] of locations.entries()) {
    await following.follow(location);
    assert.deepEqual(followed.length, index + 1);
  }
  await following.follow(locations[0] as SyncedLocation);

  assert.deepEqual(followed, ["1:a", "2:b", "3:c", "4:d", "5:e", "6:f"]);
  await opened.area.close();
  await following.close();
  assert.equal(disk.openCount, 0);
});

test("refuses a position in a removed segment by name", async () => {
  const { area, disk } = await threeSegments();
  disk.remove(FIRST);
  const why = (position: number): string =>
    `the frames after position ${position} begin in it or in an earlier segment`;

  const early = follower(disk, { position: 1 });
  await assert.rejects(early.follower.follow(area.journal.syncedLocation), new MissingData(FIRST, why(1)));
  const second = follower(disk, { position: 2 });
  await second.follower.follow(area.journal.syncedLocation);
  assert.deepEqual(second.followed, ["3:c", "4:d", "5:e"]);
  await second.follower.close();

  disk.remove(SECOND);
  const between = follower(disk, { position: 2 });
  await assert.rejects(between.follower.follow(area.journal.syncedLocation), new MissingData(SECOND, why(2)));
  const last = follower(disk, { position: 3 });
  await last.follower.follow(area.journal.syncedLocation);
  assert.deepEqual(last.followed, ["4:d", "5:e"]);
  await last.follower.close();
  await area.close();
  assert.equal(disk.openCount, 0);
});

test("a flipped bit anywhere before the durable location is refused, and no wrong frame is passed on", async () => {
  const { area, disk } = await threeSegments();
  const { syncedLocation } = area.journal;
  const all = ["1:a", "2:b", "3:c", "4:d", "5:e"];
  for (const path of [FIRST, SECOND, "/store/0000000003.journal"]) {
    for (let offset = 0; offset < disk.bytesOf(path).length; offset += 1) {
      const damaged = disk.restarted({ seed: 1 });
      damaged.put(path, damaged.bytesOf(path));
      damaged.flipBit(path, offset, 2);
      const { follower: following, followed } = follower(damaged);
      await assert.rejects(following.follow(syncedLocation), (error) => {
        assert.ok(error instanceof Error && error.message.startsWith(path), `${path} ${offset}: ${error}`);
        return true;
      });
      assert.deepEqual(followed, all.slice(0, followed.length), `${path} ${offset}`);
      assert.equal(damaged.openCount, 0);
    }
  }
});

test("refuses a truncated segment, and one that does not continue the previous one, by name", async () => {
  const { area, disk } = await threeSegments();
  const { syncedLocation } = area.journal;
  const first = disk.bytesOf(FIRST);
  const cut = disk.restarted({ seed: 1 });
  cut.put(FIRST, first.subarray(0, -MARK_BYTES));
  await assert.rejects(follower(cut).follower.follow(syncedLocation), DamagedData);

  const other = await emptyDisk();
  const stranger = await openOn(other);
  await appendSafely(stranger, "x");
  await stranger.area.closeSegment();
  await appendSafely(stranger, "y");
  await stranger.area.closeSegment();
  const mixed = disk.restarted({ seed: 1 });
  mixed.put(SECOND, other.bytesOf(SECOND));
  await assert.rejects(
    follower(mixed).follower.follow(syncedLocation),
    new WrongFile(SECOND, "begins at position 1, but the segment before it ends at 2"),
  );
});

test("if the receiver of a frame fails, the next call passes on the same frame again", async () => {
  const { area, disk } = await threeSegments();
  const followed: string[] = [];
  let fails = true;
  const { follower: following } = follower(disk, {
    frame: (payload) => {
      if (fails && payload.toString() === "c") throw new Error("full");
      followed.push(payload.toString());
    },
  });
  await assert.rejects(following.follow(area.journal.syncedLocation), new Error("full"));
  assert.equal(following.position, 2);

  fails = false;
  await following.follow(area.journal.syncedLocation);

  assert.deepEqual(followed, ["a", "b", "c", "d", "e"]);
});

test("waits for the receiver after each part of a long journal; close stops between two frames", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk, { segmentBytesMax: 2_500_000 });
  const body = "x".repeat(100_000);
  for (let i = 0; i < 50; i += 1) {
    opened.area.journal.append(Buffer.from(body));
    if (i % 10 === 9) await opened.area.journal.whenSafe(i + 1);
  }
  const parts: number[] = [];
  let running = 0;
  const { follower: whole } = follower(disk, {
    onPart: async (position) => {
      running += 1;
      assert.equal(running, 1);
      parts.push(position);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    },
  });
  await whole.follow(opened.area.journal.syncedLocation);
  assert.ok(parts.length >= 4, parts.join());
  assert.equal(parts.at(-1), 50);

  const { follower: stopped, followed } = follower(disk, {
    onPart: () => {
      void stopped.close();
    },
  });
  await stopped.follow(opened.area.journal.syncedLocation);
  assert.ok(followed.length > 0 && followed.length < 50, `${followed.length} frames`);
  assert.equal(stopped.position, followed.length);
  await stopped.follow(opened.area.journal.syncedLocation);
  assert.ok(followed.length < 50);
});

test("a follower keeps up with a journal on the real disk, and reaches its end", async () => {
  const directory = mkdtempSync(join(tmpdir(), "larder-follower-"));
  try {
    let next: Promise<void> = Promise.resolve();
    const onSyncedLocation = (location: SyncedLocation): void => {
      next = next.then(() => following.follow(location));
    };
    const { area, clock } = await openOn(await emptyDisk(), {
      ...{ disk: fileDisk, directory, segmentBytesMax: 5_000, onSyncedLocation },
    });
    const { follower: following, followed } = follower(await emptyDisk(), { disk: fileDisk, directory });
    const expected: string[] = [];
    for (let turn = 0; turn < 40; turn += 1) {
      for (let i = 0; i < 10; i += 1) {
        const text = `${turn}.${i} `.repeat(1 + ((turn * i) % 60));
        expected.push(`${area.journal.append(Buffer.from(text))}:${text}`);
      }
      await area.journal.whenSafe(area.journal.end);
      clock.advance(10);
    }
    await area.close();
    await next;
    assert.deepEqual(followed, expected);
    assert.ok(area.segments.length > 3);
    await following.close();
  } finally {
    rmSync(directory, { recursive: true });
  }
});
