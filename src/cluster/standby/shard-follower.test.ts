import assert from "node:assert/strict";
import { test } from "node:test";
import { AREA, DIRECTORY, emptyDisk, filesOf } from "../../../test/harness/persistence-fixture.ts";
import { type OpenedShard, SHARD, snapshotOf, TestShard } from "../../../test/harness/shipped-shard.ts";
import type { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { silentLog } from "../../kernel/log.ts";
import type { SyncedLocation } from "../../persistence/journal/file-format.ts";
import type { LogStore, ShardHead } from "../log-store/log-store.ts";
import { NoRoom, ShardFollower, type ShardFollowerOptions } from "./shard-follower.ts";

const FIRST = `${DIRECTORY}/0000000001.journal`;
const SECOND = `${DIRECTORY}/0000000002.journal`;
const NOTES = `${DIRECTORY}/cache.json`;

async function appendSafely({ area: { journal } }: OpenedShard, ...texts: string[]): Promise<void> {
  for (const text of texts) journal.append(Buffer.from(text, "latin1"));
  await journal.whenSafe(journal.end);
}

/** Notes what is read: `rows 1`, `part`. */
function counting(store: LogStore): { readonly store: LogStore; readonly reads: string[] } {
  const reads: string[] = [];
  const proxy = new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (...args: unknown[]) => {
        // One byte: the header alone, to compare it.
        if (name === "read" && Number(args[3]) > 1) reads.push(`rows ${args[1]}`);
        if (name === "readSnapshotPart") reads.push("part");
        return method.apply(target, args);
      };
    },
  });
  return { store: proxy, reads };
}

async function headOf({ store }: TestShard): Promise<ShardHead> {
  const [head] = await store.heads([SHARD]);
  assert.ok(head !== undefined);
  return head;
}

function openFollower(
  shard: TestShard,
  local: SimulatedDisk,
  options: Partial<ShardFollowerOptions> = {},
): Promise<ShardFollower> {
  return ShardFollower.open({
    ...{ local, directory: DIRECTORY, area: AREA, shard: SHARD, branch: "branch-1", store: shard.store },
    ...{ clock: new VirtualClock(), log: silentLog, objects: shard.objectStores },
    hasRoom: () => Promise.resolve(true),
    isFull: () => Promise.resolve(false),
    ...options,
  });
}

interface OwnedShard {
  readonly shard: TestShard;
  readonly owner: OpenedShard;
  readonly ownerDisk: SimulatedDisk;
  /** The empty disk of a node that follows. */
  readonly local: SimulatedDisk;
}

/** A shard whose owner has closed a segment for each of the texts. */
async function shardWith(
  texts: readonly string[],
  options: Parameters<TestShard["open"]>[1] = {},
): Promise<OwnedShard> {
  const shard = await TestShard.begin();
  const ownerDisk = await emptyDisk();
  const owner = await shard.open(ownerDisk, options);
  for (const text of texts) {
    await appendSafely(owner, text);
    await owner.area.closeSegment();
  }
  return { shard, owner, ownerDisk, local: await emptyDisk(2) };
}

test("a takeover by a node that followed reads only the open segment", async () => {
  const { shard, owner, local } = await shardWith(["a"]);
  await appendSafely(owner, "b");
  const follower = await openFollower(shard, local);
  await follower.follow(await headOf(shard));
  await follower.close();
  assert.deepEqual(filesOf(local), [FIRST, NOTES]);
  const { store, reads } = counting(shard.store);
  const next = await shard.open(local, { store });
  assert.deepEqual(next.frames, ["a", "b"]);
  assert.deepEqual(reads, ["rows 2"]);
});

test("a snapshot is followed, and what it covers is removed", async () => {
  const { shard, owner, ownerDisk, local } = await shardWith(["a"], { partBytes: 50 });
  await appendSafely(owner, "b");
  const follower = await openFollower(shard, local);
  await follower.follow(await headOf(shard));
  await snapshotOf(owner, ownerDisk);
  await appendSafely(owner, "c");
  await follower.follow(await headOf(shard));
  assert.deepEqual(filesOf(local), [`${DIRECTORY}/0000000003.snapshot`, NOTES]);
  await follower.close();
  const { store, reads } = counting(shard.store);
  assert.deepEqual((await shard.open(local, { store })).frames, ["a", "b", "c"]);
  assert.deepEqual(reads, ["rows 3"]);
});

test("nothing is read twice, and nothing is read while nothing has ended", async () => {
  const { shard, owner, local } = await shardWith(["a"]);
  const { store, reads } = counting(shard.store);
  const follower = await openFollower(shard, local, { store });
  await follower.follow(await headOf(shard));
  await appendSafely(owner, "b");
  await follower.follow(await headOf(shard));
  await follower.close();
  const again = await openFollower(shard, local, { store });
  await again.follow(await headOf(shard));
  assert.deepEqual(reads, ["rows 1"]);
});

test("the end of a former owner's segment is not taken before the next owner has begun its own", async () => {
  const { shard, local } = await shardWith(["a"]);
  await shard.claim();
  const follower = await openFollower(shard, local);
  await follower.follow(await headOf(shard));
  assert.deepEqual(filesOf(local), []);
});

test("what is missing counts the open segment, and the time since nothing was missing", async () => {
  const { shard, owner, local } = await shardWith([]);
  const clock = new VirtualClock();
  const follower = await openFollower(shard, local, { clock });
  await follower.follow(await headOf(shard));
  assert.deepEqual(follower.missing, { bytes: 0, ms: 0 });
  await appendSafely(owner, "abcd");
  clock.advance(2_000);
  await follower.follow(await headOf(shard));
  // Header, mark, and a frame of 8 + 4 bytes.
  assert.deepEqual(follower.missing, { bytes: 108, ms: 2_000 });
  await owner.area.closeSegment();
  await follower.follow(await headOf(shard));
  assert.deepEqual(follower.missing, { bytes: 0, ms: 0 });
});

test("the end of the last segment that is here is reported with its position", async () => {
  const { shard, owner, local } = await shardWith([]);
  await appendSafely(owner, "a", "b");
  await owner.area.closeSegment();
  const ends: (readonly [SyncedLocation, number])[] = [];
  const follower = await openFollower(shard, local, { ended: (end, next) => ends.push([end, next]) });
  await follower.follow(await headOf(shard));
  assert.deepEqual(ends, [[{ segment: 1, offset: 146, position: 2 }, 2]]);
});

test("a disk without room gets no file, and a nearly full one gives all of them up", async () => {
  const { shard, local } = await shardWith(["a"]);
  let [hasRoom, isFull] = [false, false];
  const asked: number[] = [];
  const follower = await openFollower(shard, local, {
    hasRoom: (bytes) => {
      asked.push(bytes);
      return Promise.resolve(hasRoom);
    },
    isFull: () => Promise.resolve(isFull),
  });
  await assert.rejects(follower.follow(await headOf(shard)), NoRoom);
  assert.deepEqual([asked, filesOf(local)], [[137], []]);
  hasRoom = true;
  await follower.follow(await headOf(shard));
  assert.deepEqual(filesOf(local), [FIRST, NOTES]);
  isFull = true;
  await assert.rejects(follower.follow(await headOf(shard)), NoRoom);
  assert.deepEqual(filesOf(local), [NOTES]);
  isFull = false;
  await follower.follow(await headOf(shard));
  assert.deepEqual(filesOf(local), [FIRST, NOTES]);
});

test("a file of another epoch is replaced, and one that is not noted is removed", async () => {
  const { shard, local } = await shardWith(["a"]);
  local.put(SECOND, Buffer.from("the tail of a former owner"));
  const follower = await openFollower(shard, local);
  await follower.follow(await headOf(shard));
  assert.deepEqual(filesOf(local), [FIRST, NOTES]);
  await follower.close();
  const notes = JSON.parse(local.bytesOf(NOTES).toString()) as { segments: { epoch: number }[] };
  for (const segment of notes.segments) segment.epoch += 1;
  local.put(NOTES, Buffer.from(JSON.stringify(notes)));
  const { store, reads } = counting(shard.store);
  const again = await openFollower(shard, local, { store });
  await again.follow(await headOf(shard));
  assert.deepEqual(reads, ["rows 1"]);
});

test("a closed follower writes nothing more", async () => {
  const { shard, local } = await shardWith(["a", "b", "c"]);
  const follower = await openFollower(shard, local);
  const following = follower.follow(await headOf(shard));
  await follower.close();
  const left = filesOf(local);
  await following;
  assert.ok(!left.includes(`${DIRECTORY}/0000000003.journal`), `${left}`);
  assert.deepEqual(filesOf(local), left);
});
