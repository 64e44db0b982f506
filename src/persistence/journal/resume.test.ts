/** Following a journal past damage: what is skipped, and that everything else is passed on once and unchanged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AREA, appendSafely, DIRECTORY, emptyDisk, openOn } from "../../../test/harness/persistence-fixture.ts";
import { seedFrom } from "../../../test/harness/seed.ts";
import type { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { DiskFile } from "../disk/disk.ts";
import { DamagedData, MissingData } from "../errors.ts";
import { FILE_HEADER_BYTES, FRAME_HEADER_BYTES, MARK_BYTES, type SyncedLocation } from "./file-format.ts";
import { FrameFollower } from "./frame-follower.ts";
import { withUnreadableAsZeros } from "./resume.ts";

const seed = seedFrom("LARDER_RESUME_SEED");

const pathOf = (segment: number): string => `${DIRECTORY}/000000000${segment}.journal`;
const ALL = ["1:aaaa", "2:bbbb", "3:cccc", "4:dddd", "5:eeee", "6:ffff", "7:gggg", "8:hhhh"];
const SHORT_FRAME_BYTES = FRAME_HEADER_BYTES + 4;
/** Offsets in the first segment: two batches, of three frames and of two. */
const FIRST_BATCH = FILE_HEADER_BYTES;
const FRAME_A = FIRST_BATCH + MARK_BYTES;
const FRAME_B = FRAME_A + SHORT_FRAME_BYTES;
const FRAME_C = FRAME_B + SHORT_FRAME_BYTES;
const SECOND_BATCH = FRAME_C + SHORT_FRAME_BYTES;
const FRAME_D = SECOND_BATCH + MARK_BYTES;
const FRAME_E = FRAME_D + SHORT_FRAME_BYTES;
const END_MARK = FRAME_E + SHORT_FRAME_BYTES;

/** Segments with the batches `abc de`, `f` and `gh`; the last one is open. */
async function journal(): Promise<{ disk: SimulatedDisk; to: SyncedLocation }> {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "aaaa", "bbbb", "cccc");
  await appendSafely(opened, "dddd", "eeee");
  await opened.area.closeSegment();
  await appendSafely(opened, "ffff");
  await opened.area.closeSegment();
  await appendSafely(opened, "gggg", "hhhh");
  return { disk: disk.restarted({ seed: 1 }), to: opened.area.journal.syncedLocation };
}

interface Followed {
  readonly frames: readonly string[];
  /** Such as `2-3 DamagedData`: the frames 2 and 3. */
  readonly skipped: readonly string[];
  readonly faults: readonly Error[];
}

async function follow(disk: SimulatedDisk, to: SyncedLocation, position = 0): Promise<Followed> {
  const frames: string[] = [];
  const skipped: string[] = [];
  const faults: Error[] = [];
  const follower = new FrameFollower({
    ...{ disk, directory: DIRECTORY, area: AREA, position },
    frame: (payload, at) => frames.push(`${at}:${payload.toString("latin1")}`),
    skipped: ({ from, to, fault }) => {
      skipped.push(`${from + 1}-${to} ${fault.name}`);
      faults.push(fault);
    },
  });
  try {
    await follower.follow(to);
    assert.equal(follower.position, Math.max(position, to.position));
  } finally {
    await follower.close();
  }
  assert.equal(disk.openCount, 0);
  return { frames, skipped, faults };
}

const without = (...numbers: number[]): string[] => ALL.filter((_, index) => !numbers.includes(index + 1));

test("skips a frame with a changed payload, checksum or length, and passes on all others", async () => {
  const cases: readonly (readonly [what: string, offset: number, skipped: string[], frames: string[]])[] = [
    ["the payload of a frame", FRAME_B + FRAME_HEADER_BYTES, ["2-2 DamagedData"], without(2)],
    ["the checksum of a frame", FRAME_B + 4, ["2-2 DamagedData"], without(2)],
    ["the payload of the last frame of a batch", FRAME_C + FRAME_HEADER_BYTES, ["3-3 DamagedData"], without(3)],
    // Where the next frame begins is unknown, but the mark of the next batch states its position.
    ["the length of a frame", FRAME_A, ["1-3 DamagedData"], without(1, 2, 3)],
    ["the length of a frame, which then looks like a mark", FRAME_A + 3, ["1-3 DamagedData"], without(1, 2, 3)],
    // No mark follows but the end mark.
    ["a length in the last batch", FRAME_D, ["4-5 DamagedData"], without(4, 5)],
    ["the mark of a batch", FIRST_BATCH + 8, [], ALL],
    ["the first byte of a mark", SECOND_BATCH, [], ALL],
    ["the last byte of a mark's first word", SECOND_BATCH + 3, [], ALL],
    ["the end mark", END_MARK + 5, [], ALL],
  ];
  for (const [what, offset, skipped, frames] of cases) {
    const { disk, to } = await journal();
    disk.flipBit(pathOf(1), offset, 7);
    const followed = await follow(disk, to);
    assert.deepEqual(followed.skipped, skipped, what);
    assert.deepEqual(followed.frames, frames, what);
  }
});

test("the report names the file and the place", async () => {
  const { disk, to } = await journal();
  disk.flipBit(pathOf(1), FRAME_B + FRAME_HEADER_BYTES, 0);
  const { faults } = await follow(disk, to);
  assert.deepEqual(faults, [new DamagedData(pathOf(1), FRAME_B, "position 1 is bad, and it was durable")]);
});

test("skips to the end of a segment that has no mark after the damage, and to the next readable segment", async () => {
  const cases: readonly (readonly [what: string, (disk: SimulatedDisk) => void, string[], string[]])[] = [
    [
      "a length and the end mark",
      (disk) => {
        disk.flipBit(pathOf(1), FRAME_E, 0);
        disk.flipBit(pathOf(1), END_MARK + 9, 0);
      },
      ["5-5 DamagedData"],
      without(5),
    ],
    [
      "a cut segment",
      (disk) => disk.put(pathOf(1), disk.bytesOf(pathOf(1)).subarray(0, FRAME_E)),
      ["5-5 DamagedData"],
      without(5),
    ],
    ["a header", (disk) => disk.flipBit(pathOf(2), 20, 0), ["6-6 DamagedData"], without(6)],
    [
      "the header of the first segment",
      (disk) => disk.flipBit(pathOf(1), 20, 0),
      ["1-5 DamagedData"],
      without(1, 2, 3, 4, 5),
    ],
    ["an empty file", (disk) => disk.put(pathOf(2), Buffer.alloc(0)), ["6-6 DamagedData"], without(6)],
    ["a removed segment", (disk) => disk.remove(pathOf(2)), ["6-6 MissingData"], without(6)],
    ["a removed first segment", (disk) => disk.remove(pathOf(1)), ["1-5 MissingData"], without(1, 2, 3, 4, 5)],
    [
      "all segments but the last",
      (disk) => {
        disk.remove(pathOf(1));
        disk.remove(pathOf(2));
      },
      ["1-6 MissingData"],
      without(1, 2, 3, 4, 5, 6),
    ],
    [
      "damage, and the next segment is removed",
      (disk) => {
        disk.flipBit(pathOf(1), FRAME_E, 0);
        disk.flipBit(pathOf(1), END_MARK + 9, 0);
        disk.remove(pathOf(2));
      },
      ["5-6 DamagedData"],
      without(5, 6),
    ],
    [
      "a segment with the name of another",
      (disk) => disk.put(pathOf(2), disk.bytesOf(pathOf(1))),
      ["6-6 WrongFile"],
      without(6),
    ],
  ];
  for (const [what, damage, skipped, frames] of cases) {
    const { disk, to } = await journal();
    damage(disk);
    const followed = await follow(disk, to);
    assert.deepEqual(followed.skipped, skipped, what);
    assert.deepEqual(followed.frames, frames, what);
  }
});

test("skips a segment of another journal that begins at another position", async () => {
  const other = await emptyDisk();
  const stranger = await openOn(other);
  await appendSafely(stranger, "xxxx", "yyyy");
  await stranger.area.closeSegment();
  await appendSafely(stranger, "zzzz", "uuuu", "vvvv", "wwww");
  await stranger.area.closeSegment();
  const { disk, to } = await journal();
  disk.put(pathOf(2), other.bytesOf(pathOf(2)));
  const { frames, skipped } = await follow(disk, to);
  assert.deepEqual([frames, skipped], [without(6), ["6-6 WrongFile"]]);
});

test("skips damage in the open segment up to the durable end, and reads what follows later", async () => {
  const disk = await emptyDisk();
  const opened = await openOn(disk);
  await appendSafely(opened, "aaaa", "bbbb");
  const frames: string[] = [];
  const skipped: string[] = [];
  const follower = new FrameFollower({
    ...{ disk, directory: DIRECTORY, area: AREA, position: 0 },
    frame: (payload) => frames.push(payload.toString("latin1")),
    skipped: ({ from, to }) => skipped.push(`${from + 1}-${to}`),
  });
  disk.flipBit(pathOf(1), FRAME_A, 0);
  await follower.follow(opened.area.journal.syncedLocation);
  assert.deepEqual([frames, skipped, follower.position], [[], ["1-2"], 2]);

  await appendSafely(opened, "cccc");
  await follower.follow(opened.area.journal.syncedLocation);
  await opened.area.closeSegment();
  await appendSafely(opened, "dddd");
  await follower.follow(opened.area.journal.syncedLocation);

  assert.deepEqual([frames, skipped], [["cccc", "dddd"], ["1-2"]]);
  await follower.close();
});

test("damage in frames that were passed on before is not reported", async () => {
  const { disk, to } = await journal();
  disk.flipBit(pathOf(1), FRAME_B + FRAME_HEADER_BYTES, 0);
  assert.deepEqual(await follow(disk, to, 2), { frames: ALL.slice(2), skipped: [], faults: [] });
  assert.deepEqual((await follow(disk, to, 1)).skipped, ["2-2 DamagedData"]);
});

test("refuses a last segment that does not begin as it was written", async () => {
  for (const damage of [
    (disk: SimulatedDisk) => disk.remove(pathOf(3)),
    (disk: SimulatedDisk) => disk.flipBit(pathOf(3), 20, 0),
    (disk: SimulatedDisk) => disk.put(pathOf(3), disk.bytesOf(pathOf(2))),
  ]) {
    const { disk, to } = await journal();
    damage(disk);
    await assert.rejects(follow(disk, to), (error: Error) => error.message.startsWith(pathOf(3)));
  }
});

test("a copy of an earlier batch in a payload is never taken for a batch", async () => {
  const { disk } = await journal();
  const opened = await openOn(disk);
  // Even the salt is right.
  const copied = disk.bytesOf(pathOf(3)).subarray(FILE_HEADER_BYTES);
  await appendSafely(opened, `xyz${copied.toString("latin1")}`, "last");
  const to = opened.area.journal.syncedLocation;
  const damaged = disk.restarted({ seed: 1 });
  const bytes = damaged.bytesOf(pathOf(3));
  const length = bytes.lastIndexOf("xyz") - FRAME_HEADER_BYTES;
  bytes.writeUInt8(bytes.readUInt8(length) ^ 8, length);
  damaged.put(pathOf(3), bytes);
  const { frames, skipped } = await follow(damaged, to);
  assert.deepEqual([frames, skipped], [ALL, ["9-10 DamagedData"]]);
});

test("a flipped bit anywhere skips at most its batch; all other frames are passed on once, in order", async () => {
  const { disk, to } = await journal();
  for (const segment of [1, 2, 3]) {
    const size = segment === 3 ? to.offset : disk.bytesOf(pathOf(segment)).length;
    for (let offset = segment === 3 ? FILE_HEADER_BYTES : 0; offset < size; offset += 1) {
      const damaged = disk.restarted({ seed: 1 });
      damaged.put(pathOf(segment), damaged.bytesOf(pathOf(segment)));
      damaged.flipBit(pathOf(segment), offset, offset % 8);
      const { frames, skipped } = await follow(damaged, to);
      const where = `segment ${segment}, byte ${offset}: ${skipped}`;
      assert.ok(skipped.length <= 1, where);
      const [first = 0, last = -1] = (skipped[0] ?? "").split(/[- ]/).map(Number);
      assert.deepEqual(
        frames,
        ALL.filter((_, index) => index + 1 < first || index + 1 > last),
        where,
      );
      const countMax = offset < FILE_HEADER_BYTES ? 5 : 3;
      assert.ok(last - first + 1 <= countMax, where);
    }
  }
});

test("after random damage, every frame of an undamaged batch is passed on, and none twice or changed", async (context) => {
  context.diagnostic(`LARDER_RESUME_SEED=${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 40; round += 1) {
    const disk = await emptyDisk();
    const opened = await openOn(disk);
    const texts: string[] = [];
    /** The segment and the bytes of each batch, with its mark. */
    const batches: { segment: number; from: number; to: number; first: number; last: number }[] = [];
    for (let batch = 0; batch < 12; batch += 1) {
      const before = { segment: opened.area.journal.segmentNumber, from: opened.area.journal.segmentBytes };
      const drawn = Array.from({ length: 1 + random.below(5) }, () => "x".repeat(1 + random.below(60)));
      const first = texts.length + 1;
      texts.push(...drawn.map((text, index) => `${first + index} ${text}`));
      await appendSafely(opened, ...texts.slice(first - 1));
      batches.push({ ...before, to: opened.area.journal.segmentBytes, first, last: texts.length });
      if (random.below(4) === 0) await opened.area.closeSegment();
    }
    const to = opened.area.journal.syncedLocation;
    const damaged = disk.restarted({ seed: 1 });
    const bad: { segment: number; from: number; to: number }[] = [];
    for (let part = random.below(4); part >= 0; part -= 1) {
      const segment = 1 + random.below(to.segment);
      const bytes = damaged.bytesOf(pathOf(segment));
      if (bytes.length <= FILE_HEADER_BYTES) continue;
      const from = FILE_HEADER_BYTES + random.below(bytes.length - FILE_HEADER_BYTES);
      const end = Math.min(bytes.length, from + 1 + random.below(150));
      for (let at = from; at < end; at += 1) bytes[at] = random.below(3) === 0 ? 0 : random.below(256);
      damaged.put(pathOf(segment), bytes);
      bad.push({ segment, from, to: end });
    }
    const { frames, skipped } = await follow(damaged, to);
    const numbers = frames.map((frame) => Number.parseInt(frame, 10));
    assert.deepEqual(
      frames,
      numbers.map((number) => `${number}:${texts[number - 1]}`),
      `round ${round}`,
    );
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
      `round ${round}`,
    );
    const lost = skipped.flatMap((range) => {
      const [first = 0, last = 0] = range.split(/[- ]/).map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
    assert.deepEqual(
      [...numbers, ...lost].sort((a, b) => a - b),
      texts.map((_, index) => index + 1),
    );
    for (const batch of batches) {
      if (bad.some((part) => part.segment === batch.segment && part.from < batch.to && part.to > batch.from)) continue;
      for (let number = batch.first; number <= batch.last; number += 1) {
        assert.ok(numbers.includes(number), `round ${round}: frame ${number} is undamaged`);
      }
    }
  }
});

test("blocks that the disk cannot read are zeros, and all others are read", async () => {
  const bytes = Buffer.alloc(20_000, "x");
  const file = {
    size: () => Promise.resolve(bytes.length),
    read: (target: Uint8Array, offset: number) => {
      if (offset < 8_192 && offset + target.length > 4_096) {
        return Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" }));
      }
      return Promise.resolve(bytes.copy(target, 0, offset));
    },
  } as Partial<DiskFile> as DiskFile;
  const target = Buffer.alloc(30_000, "-");
  assert.equal(await withUnreadableAsZeros(file).read(target.subarray(0, 25_000), 100), 19_900);
  const expected = Buffer.concat([Buffer.alloc(3_996, "x"), Buffer.alloc(4_096), Buffer.alloc(11_808, "x")]);
  assert.ok(target.subarray(0, 19_900).equals(expected));
  assert.ok(target.subarray(19_900).equals(Buffer.alloc(10_100, "-")));
});

test("a segment that the disk cannot read at all is skipped", async () => {
  const { disk, to } = await journal();
  disk.faultOf = ({ kind, path }) => (kind === "read" && path === pathOf(2) ? { code: "EIO" } : undefined);
  const { frames, faults } = await follow(disk, to);
  assert.deepEqual(frames, without(6));
  assert.deepEqual(faults, [new DamagedData(pathOf(2), 0, "the disk reported a read error")]);
});

test("a missing segment is reported by name", async () => {
  const { disk, to } = await journal();
  disk.remove(pathOf(2));
  const why = "the frames after position 5 begin in it or in an earlier segment";
  assert.deepEqual((await follow(disk, to)).faults, [new MissingData(pathOf(2), why)]);
});
