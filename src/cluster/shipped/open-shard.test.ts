import assert from "node:assert/strict";
import { test } from "node:test";
import { DIRECTORY, emptyDisk, filesOf, settle } from "../../../test/harness/persistence-fixture.ts";
import { type OpenedShard, SHARD, snapshotOf, TestShard } from "../../../test/harness/shipped-shard.ts";
import { seededRandom } from "../../kernel/random.ts";
import { codeOf } from "../../persistence/disk/disk.ts";
import type { LogStore } from "../log-store/log-store.ts";
import { DamagedLog } from "./errors.ts";

const FIRST = `${DIRECTORY}/0000000001.journal`;

async function appendSafely({ area: { journal } }: OpenedShard, ...texts: string[]): Promise<void> {
  for (const text of texts) journal.append(Buffer.from(text, "latin1"));
  await journal.whenSafe(journal.end);
}

/** Counts the rows that are read of each segment, except the first row alone. */
function counting(store: LogStore): { store: LogStore; fetched: number[] } {
  const fetched: number[] = [];
  const proxy = new Proxy(store, {
    get: (target, name) => {
      if (name === "read") {
        return (shard: number, segment: number, start: number, bytesMax: number) => {
          if (bytesMax > 1) fetched.push(segment);
          return target.read(shard, segment, start, bytesMax);
        };
      }
      const method: unknown = Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
  return { store: proxy, fetched };
}

test("a takeover finds what was acknowledged, ends the open segment and begins the next", async () => {
  const shard = await TestShard.begin();
  await appendSafely(await shard.open(await emptyDisk()), "a", "b");
  const next = await shard.open(await emptyDisk());
  assert.deepEqual(next.frames, ["a", "b"]);
  assert.deepEqual(await shard.segments(), [
    [1, 1, 146],
    [2, 2, 64],
  ]);
});

test("an empty open segment is ended too", async () => {
  const shard = await TestShard.begin();
  await shard.open(await emptyDisk());
  await shard.open(await emptyDisk());
  assert.deepEqual(await shard.segments(), [
    [1, 1, 96],
    [2, 2, 64],
  ]);
});

test("an open segment of the cache is thrown away, and a closed one is not fetched again", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const opened = await shard.open(local);
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  await appendSafely(opened, "b");
  await opened.shipped.settled();
  const { store, fetched } = counting(shard.store);
  const next = await shard.open(local.afterPowerCut(seededRandom(1)), { store });
  assert.deepEqual(next.frames, ["a", "b"]);
  assert.deepEqual(fetched, [2]);
});

test("what a former owner wrote and did not ship is gone", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const opened = await shard.open(local);
  await appendSafely(opened, "a");
  await appendSafely(await shard.open(await emptyDisk()), "b");
  opened.area.journal.append(Buffer.from("never"));
  await settle();
  const next = await shard.open(local);
  assert.deepEqual(next.frames, ["a", "b"]);
});

test("the cache of another branch of the database is thrown away", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const opened = await shard.open(local);
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  await opened.shipped.settled();
  const { store, fetched } = counting(shard.store);
  assert.deepEqual((await shard.open(local, { store, branch: "branch-2" })).frames, ["a"]);
  assert.deepEqual(fetched, [1, 2]);
});

test("a snapshot that is noted stays, and one that is not is fetched", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const opened = await shard.open(local, { partBytes: 50 });
  await appendSafely(opened, "a", "b");
  await snapshotOf(opened, local);
  await opened.shipped.settled();
  let parts = 0;
  const store = new Proxy<LogStore>(shard.store, {
    get: (target, name) => {
      if (name === "readSnapshotPart") parts += 1;
      const method: unknown = Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
  assert.deepEqual((await shard.open(local, { store })).frames, ["a", "b"]);
  assert.equal(parts, 0);
  assert.deepEqual((await shard.open(await emptyDisk(), { store })).frames, ["a", "b"]);
  assert.equal(parts, 3);
});

test("a damaged cached segment is fetched again", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const opened = await shard.open(local);
  await appendSafely(opened, "a");
  await appendSafely(opened, "b");
  await opened.area.closeSegment();
  await opened.shipped.settled();
  for (const offset of [100, 150, 170]) {
    const damaged = local.restarted({ seed: 1 });
    damaged.flipBit(FIRST, offset, 3);
    assert.deepEqual((await shard.open(damaged)).frames, ["a", "b"], `byte ${offset}`);
  }
});

test("damaged bytes in the store are refused by name", async () => {
  for (const offset of [30, 70, 100, 120, 140]) {
    const shard = await TestShard.begin();
    const opened = await shard.open(await emptyDisk());
    await appendSafely(opened, "a");
    await appendSafely(opened, "b");
    const row = (await shard.store.read(SHARD, 1, 0, 1_000)).findLast(({ start }) => start <= offset);
    assert.ok(row !== undefined);
    row.bytes[offset - row.start] = 0xff ^ (row.bytes[offset - row.start] ?? 0);
    await assert.rejects(shard.open(await emptyDisk()), DamagedLog, `byte ${offset}`);
  }
});

test("a missing segment in the store is refused", async () => {
  const shard = await TestShard.begin();
  const opened = await shard.open(await emptyDisk());
  await opened.area.closeSegment();
  await appendSafely(opened, "a");
  await opened.area.closeSegment();
  await shard.store.cut(opened.owner, 1, 0);
  await assert.rejects(shard.open(await emptyDisk()), {
    name: "DamagedLog",
    message:
      "Shard 12 is damaged in PostgreSQL: segment 1 is missing, and segment 2 needs it. Restore the database from a backup",
  });
});

test("a torn batch leaves the store before the segment is ended", async () => {
  const shard = await TestShard.begin();
  const opened = await shard.open(await emptyDisk(), { rowBytesMax: 100 });
  await appendSafely(opened, "a");
  const { commits } = shard.database;
  await appendSafely(opened, "b".repeat(250));
  shard.database.failOver(commits + 2);
  assert.deepEqual(await shard.rows(1), [
    [0, 64],
    [64, 41],
    [105, 100],
    [205, 100],
  ]);
  const next = await shard.open(await emptyDisk(), { rowBytesMax: 100 });
  assert.deepEqual(next.frames, ["a"]);
  // The mark of the torn batch is whole, so it stays.
  assert.deepEqual(await shard.rows(1), [
    [0, 64],
    [64, 41],
    [105, 32],
    [137, 32],
  ]);
  await appendSafely(next, "c");
  assert.deepEqual((await shard.open(await emptyDisk())).frames, ["a", "c"]);
});

test("a covered segment that is only in the store is listed with its size, and fetched when it is first read", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const mayRemove = (): boolean => false;
  const opened = await shard.open(local, { mayRemove });
  await appendSafely(opened, "a");
  await snapshotOf(opened, local);
  const { store, fetched } = counting(shard.store);
  const other = await emptyDisk();
  const next = await shard.open(other, { store, mayRemove });
  assert.deepEqual(next.area.segments[0], { number: 1, bytes: 137, isCovered: true });
  assert.deepEqual(fetched, [2]);
  const [one, two] = await Promise.all([next.area.read(1, 104, 1), next.area.read(1, 104, 1)]);
  assert.deepEqual([one.toString(), two.toString()], ["a", "a"]);
  assert.deepEqual(fetched, [2, 1]);
  assert.ok(filesOf(other).includes(FIRST));
});

test("covered segments are fetched at once if they have few bytes", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const mayRemove = (): boolean => false;
  const opened = await shard.open(local, { mayRemove });
  await appendSafely(opened, "a");
  await snapshotOf(opened, local);
  for (const [coveredBytesMax, isHere] of [
    [137, true],
    [136, false],
  ] as const) {
    const other = await emptyDisk();
    await shard.open(other, { mayRemove, coveredBytesMax });
    assert.equal(filesOf(other).includes(FIRST), isHere);
  }
});

test("a segment that is only in the store can be removed", async () => {
  const shard = await TestShard.begin();
  const local = await emptyDisk();
  const opened = await shard.open(local, { mayRemove: () => false });
  await appendSafely(opened, "a");
  await snapshotOf(opened, local);
  const next = await shard.open(await emptyDisk(), { mayRemove: () => true });
  await next.area.removeUnneeded();
  assert.deepEqual(
    (await shard.segments()).map(([number]) => number),
    [2, 3],
  );
  await assert.rejects(next.shipped.open(FIRST, "read"), (error) => codeOf(error) === "ENOENT");
});
