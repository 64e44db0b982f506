import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyDisk, settle } from "../../../test/harness/persistence-fixture.ts";
import { SHARD, snapshotOf, TestShard } from "../../../test/harness/shipped-shard.ts";
import { DamagedObject } from "../shipped/errors.ts";
import { OBJECT_RETENTION_MS } from "./object-sweep.ts";
import type { ObjectStores } from "./objects.ts";

const ADDRESS = "file:///objects";
const NAME = /^cluster\/12\/1-2-[0-9a-f]{64}\.snapshot$/;

/** A shard with one snapshot, which is an object, and the name of that. */
async function shardWithObject(): Promise<{ readonly shard: TestShard; readonly name: string }> {
  const shard = await TestShard.begin();
  shard.database.files = ADDRESS;
  const disk = await emptyDisk();
  const opened = await shard.open(disk);
  await opened.area.journal.whenSafe(opened.area.journal.append(Buffer.from("one")));
  await snapshotOf(opened, disk);
  const [name = ""] = shard.objects.keys();
  return { shard, name };
}

test("a snapshot is an object with the cluster, shard, epoch, number and checksum in its name, and has no parts", async () => {
  const { shard, name } = await shardWithObject();
  assert.match(name, NAME);
  const [head] = await shard.store.heads([SHARD]);
  const bytes = shard.objects.get(name)?.length ?? 0;
  assert.deepEqual(head?.snapshot, { epoch: 1, number: 2, parts: 0, bytes, object: { address: ADDRESS, name } });
  assert.deepEqual((await shard.open(await emptyDisk())).frames, ["one"]);
});

test("without an address the next snapshot goes into parts, and the one before stays readable", async () => {
  const { shard } = await shardWithObject();
  shard.database.files = undefined;
  const disk = await emptyDisk();
  const opened = await shard.open(disk);
  assert.deepEqual(opened.frames, ["one"]);
  await opened.area.journal.whenSafe(opened.area.journal.append(Buffer.from("two")));
  await snapshotOf(opened, disk);
  const [head] = await shard.store.heads([SHARD]);
  assert.deepEqual([head?.snapshot?.parts, head?.snapshot?.object], [1, undefined]);
  assert.deepEqual((await shard.open(await emptyDisk())).frames, ["one", "two"]);
});

test("a takeover waits while the object store does not answer, says why, and goes on", async () => {
  const { shard } = await shardWithObject();
  let isAway = true;
  const stores: ObjectStores = {
    open: async (address) => {
      if (isAway) throw new Error("no answer");
      return shard.objectStores.open(address);
    },
  };
  const troubles: (string | undefined)[] = [];
  const { promise: waiting, resolve: waits } = Promise.withResolvers<void>();
  const clock = {
    monotonicMs: () => 0,
    after(ms: number, task: () => void) {
      const isRepetition = ms === 500 || ms === 1_000;
      if (isRepetition) setImmediate(task);
      return () => {};
    },
  };
  const opening = shard.open(await emptyDisk(), {
    clock,
    objects: {
      ...{ stores, cluster: "cluster" },
      trouble: (reason) => {
        troubles.push(reason);
        waits();
      },
    },
  });
  await waiting;
  assert.deepEqual(troubles, ["no answer"]);
  isAway = false;
  assert.deepEqual((await opening).frames, ["one"]);
  assert.deepEqual(troubles, ["no answer", undefined]);
});

test("a takeover refuses an object that is missing or was changed, and begins with no other state", async () => {
  const { shard, name } = await shardWithObject();
  const bytes = shard.objects.get(name) as Buffer;
  const changed = Buffer.from(bytes);
  changed[bytes.length - 1] = (changed[bytes.length - 1] ?? 0) ^ 1;
  for (const [found, text] of [
    [changed, "its bytes are not those that were written"],
    [bytes.subarray(0, 9), `it ends at byte 9 of ${bytes.length}`],
    [undefined, "it does not exist"],
  ] as const) {
    if (found === undefined) shard.objects.delete(name);
    else shard.objects.set(name, found);
    await assert.rejects(shard.open(await emptyDisk()), (fault: unknown) => {
      assert.ok(fault instanceof DamagedObject);
      assert.equal(
        fault.message,
        `The snapshot of shard 12 is damaged in the object store file:///objects: of ${name}, ${text}. Restore that object, or PostgreSQL and the object store from a backup`,
      );
      return true;
    });
  }
});

test("a replaced object is removed after an hour, and one that another owner may be writing is not", async () => {
  const { shard, name } = await shardWithObject();
  const disk = await emptyDisk();
  const opened = await shard.open(disk);
  await opened.area.journal.whenSafe(opened.area.journal.append(Buffer.from("two")));
  await snapshotOf(opened, disk);
  const later = name.replace("/1-2-", "/3-9-");
  shard.objects.set(later, Buffer.from("of a later owner"));
  const [latest = ""] = [...shard.objects.keys()].filter((each) => each !== name && each !== later);
  const pass = async (ms: number): Promise<void> => {
    opened.clock.advance(ms);
    await settle();
  };
  await pass(OBJECT_RETENTION_MS / 4);
  for (let quarter = 0; quarter < 3; quarter += 1) await pass(OBJECT_RETENTION_MS / 4);
  assert.deepEqual([...shard.objects.keys()].sort(), [name, later, latest].sort());
  await pass(OBJECT_RETENTION_MS / 4);
  assert.deepEqual([...shard.objects.keys()].sort(), [later, latest].sort());
  opened.shipped.end(new Error("The test is over"));
});
