/** The copying of a data directory on a simulated disk: what is copied when, and what is said about it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AREA,
  advance,
  append,
  copiedServer,
  DATA,
  dataDisk,
  framesOn,
  namesWith,
  restoreFrom,
  START_MS,
  stop,
} from "../../test/harness/copy-fixture.ts";
import { interceptedDisk } from "../../test/simulation/disk/intercepted-disk.ts";
import { systemError } from "../../test/simulation/disk/simulated-disk.ts";
import { ModelObjectStore, type StoreTrouble } from "../../test/simulation/replication/model-object-store.ts";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import { seededRandom } from "../kernel/random.ts";
import { writeSnapshotFile } from "../persistence/snapshot-file.ts";
import { CopyKey } from "./copy-key.ts";

const PARTS = "/store/part/";

test("a part is copied a second after its first byte was durable", async () => {
  const server = await copiedServer(await dataDisk());
  assert.equal(server.copier.state.phase, "copying");
  const before = namesWith(server.store, PARTS).length;
  await append(server, "a");
  await advance(server, 500);
  await append(server, "b");
  await advance(server, 499);
  assert.equal(namesWith(server.store, PARTS).length, before);

  await advance(server, 1);

  assert.equal(namesWith(server.store, PARTS).length, before + 1);
  assert.deepEqual((await restoreFrom(server.store)).frames, ["a", "b"]);
});

test("a part of a megabyte is copied at once", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "x".repeat(1024 * 1024));
  assert.deepEqual(
    (await restoreFrom(server.store)).frames.map(({ length }) => length),
    [1024 * 1024],
  );
});

test("an idle server makes at most 60 requests in an hour", async () => {
  const server = await copiedServer(await dataDisk());
  const before = Object.values(server.store.calls).reduce((sum, count) => sum + count, 0);

  await advance(server, 60 * 60_000);

  const calls = Object.values(server.store.calls).reduce((sum, count) => sum + count, 0) - before;
  assert.ok(calls > 0 && calls <= 60, `${calls} requests`);
});

test("an idle area is complete up to the last proof, and each moment has its own state", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a");
  await advance(server, 10_000);
  await append(server, "b");
  await advance(server, 20 * 60_000);

  const { areas, frames } = await restoreFrom(server.store);
  assert.deepEqual(frames, ["a", "b"]);
  assert.deepEqual(
    areas.map(({ completeToMs }) => completeToMs - START_MS),
    [20 * 60_000],
  );
  const early = await restoreFrom(server.store, { atMs: START_MS + 5_000 });
  assert.deepEqual(early.frames, ["a"]);
  // The next part says nothing of the seconds before it.
  assert.deepEqual(
    early.areas.map(({ completeToMs }) => completeToMs - START_MS),
    [1_000],
  );
  assert.deepEqual((await restoreFrom(server.store, { atMs: START_MS + 500 })).frames, []);
  await assert.rejects(
    restoreFrom(server.store, { atMs: START_MS - 1 }),
    /it begins at 2026-01-01T00:00:00\.000Z, after that/,
  );
});

test("a store that fails makes the copy fall behind, in bytes and in time, and later it catches up", async () => {
  const model = new ModelObjectStore();
  let trouble: StoreTrouble = "none";
  const store = model.client(() => Promise.resolve(trouble));
  const server = await copiedServer(await dataDisk(), { model, store });
  trouble = "before";
  await append(server, "abcd");
  await advance(server, 90_000);
  const { areas, storeFault } = server.copier.state;
  // A batch mark, the head of a frame, and four bytes.
  assert.deepEqual(
    areas.map(({ behindBytes, behindMs }) => ({ behindBytes, behindMs })),
    [{ behindBytes: 44, behindMs: 90_000 }],
  );
  assert.equal(storeFault?.text, "The model store refused putNew");
  assert.deepEqual(server.logged, ["cannot copy to the store: The model store refused putNew"]);

  trouble = "none";
  await advance(server, 60_000);

  assert.deepEqual(
    server.copier.state.areas.map(({ behindBytes, behindMs }) => ({ behindBytes, behindMs })),
    [{ behindBytes: 0, behindMs: 0 }],
  );
  assert.equal(server.copier.state.storeFault, undefined);
  assert.deepEqual((await restoreFrom(server.store)).frames, ["abcd"]);
});

test("a closed segment is stored as one object, and its parts go when that is there", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a");
  await advance(server, 2_000);
  await append(server, "b");
  await advance(server, 2_000);
  await server.area.closeSegment();
  await append(server, "c");
  await advance(server, 60 * 60_000);

  assert.equal(namesWith(server.store, "/store/segment/").length, 1);
  assert.equal(namesWith(server.store, "/store/part/0000000001").length, 0);
  assert.deepEqual((await restoreFrom(server.store, { atMs: START_MS + 2_000 })).frames, ["a"]);
  assert.deepEqual((await restoreFrom(server.store)).frames, ["a", "b", "c"]);
});

test("a start takes over what earlier generations have, and stores nothing again", async () => {
  const disk = await dataDisk();
  const first = await copiedServer(disk);
  await append(first, "a".repeat(5_000));
  await first.area.closeSegment();
  await append(first, "b".repeat(5_000));
  await stop(first);
  const bytesBefore = [...first.store.objects.values()].reduce((sum, { length }) => sum + length, 0);

  const second = await copiedServer(disk, { model: first.store, clock: new VirtualClock(START_MS + 60_000) });

  assert.equal(second.copier.state.generation, 2);
  assert.equal(second.copier.state.phase, "copying");
  // The segment that was open at the stop is closed now.
  assert.deepEqual(namesWith(first.store, "g0000000000000002/store/segment/").length, 1);
  const bytes = [...first.store.objects.values()].reduce((sum, { length }) => sum + length, 0);
  assert.ok(bytes - bytesBefore < 7_000, `${bytes - bytesBefore} bytes more`);
  const restored = await restoreFrom(first.store);
  assert.deepEqual(
    restored.frames.map(({ length }) => length),
    [5_000, 5_000],
  );
  assert.equal(restored.generation, 2);
});

test("a closed segment whose parts are large stays in them, and a start takes them over", async () => {
  const disk = await dataDisk();
  const settings = { largePartBytes: 1_000 };
  const first = await copiedServer(disk, { settings });
  await append(first, "a".repeat(3_000));
  await advance(first, 2_000);
  await append(first, "b".repeat(3_000));
  await advance(first, 2_000);
  await first.area.closeSegment();
  await append(first, "c");
  await advance(first, 60 * 60_000);

  assert.deepEqual(namesWith(first.store, "/store/segment/"), []);
  const parts = namesWith(first.store, "/store/part/0000000001");
  // The file header, two frames, and the end mark.
  assert.equal(parts.length, 4);
  assert.deepEqual(
    (await restoreFrom(first.store, { atMs: START_MS + 2_000 })).frames.map(({ length }) => length),
    [3_000],
  );
  await stop(first);

  const second = await copiedServer(disk, {
    ...{ model: first.store, settings, clock: new VirtualClock(START_MS + 2 * 60 * 60_000) },
  });
  await advance(second, 60 * 60_000);

  assert.deepEqual(namesWith(first.store, "g0000000000000002/store/segment/0000000001"), []);
  assert.deepEqual(namesWith(first.store, "/store/part/0000000001"), parts);
  assert.deepEqual(
    (await restoreFrom(first.store)).frames.map(({ length }) => length),
    [3_000, 3_000, 1],
  );
});

test("the copy of another data directory is not continued", async () => {
  const first = await copiedServer(await dataDisk());
  await stop(first);
  const names = first.store.objects.size;

  const other = await copiedServer(await dataDisk(), {
    model: first.store,
    directoryId: "00000000000000000000000000000002",
  });

  assert.equal(other.copier.state.phase, "refused");
  assert.match(
    other.copier.state.reason ?? "",
    /^The copy belongs to another data directory: its id is 0{31}1, and this one has 0{31}2\. Restore the copy/,
  );
  assert.equal(first.store.objects.size, names);
});

test("a server that another one has replaced stops copying, and says so", async () => {
  const disk = await dataDisk();
  const first = await copiedServer(disk);
  const second = await copiedServer(disk.restarted({ seed: 3 }), { model: first.store });
  assert.equal(second.copier.state.generation, 2);
  await append(first, "lost");

  await advance(first, 5 * 60_000);
  await append(first, "lost too");
  const names = first.store.objects.size;
  await advance(first, 60 * 60_000);

  assert.equal(first.copier.state.phase, "replaced");
  assert.match(
    first.copier.state.reason ?? "",
    /^Another server has taken over the copy: it has generation 2, and this one 1\./,
  );
  assert.equal(first.store.objects.size, names);
  assert.deepEqual((await restoreFrom(first.store)).frames, []);
});

test("tokens are copied sealed, and only with a key", async () => {
  const disk = await dataDisk();
  disk.put(`${DATA}/tokens.json`, Buffer.from('{"token":"secret"}\n'));
  const without = await copiedServer(disk);
  assert.equal(without.copier.state.tokens, "not copied: no key");
  assert.deepEqual(namesWith(without.store, "/tokens/"), []);
  await stop(without);

  const key = new CopyKey(Buffer.alloc(32, 3).toString("base64"));
  const server = await copiedServer(disk, { key });
  assert.equal(server.copier.state.tokens, "copied");
  disk.put(`${DATA}/tokens.json`, Buffer.from('{"token":"newer"}\n'));
  server.copier.tokensChanged();
  await advance(server, 1_000);
  await append(server, "a");
  await advance(server, 1_000);

  const restored = await restoreFrom(server.store, { key });
  assert.equal(restored.tokens, "restored");
  assert.equal(restored.disk.bytesOf(`${DATA}/tokens.json`).toString(), '{"token":"newer"}\n');
  assert.equal((await restoreFrom(server.store)).tokens, "no key");
  const other = new CopyKey(Buffer.alloc(32, 4).toString("base64"));
  await assert.rejects(restoreFrom(server.store, { key: other }), /its tokens were sealed with another key/);
  for (const bytes of server.store.objects.values()) assert.equal(bytes.includes("secret"), false);
});

test("segments that the server removed before they were copied are replaced by the snapshot, and the loss is told", async () => {
  const model = new ModelObjectStore();
  let trouble: StoreTrouble = "none";
  const disk = await dataDisk();
  const server = await copiedServer(disk, { model, store: model.client(() => Promise.resolve(trouble)) });
  await append(server, "a");
  await advance(server, 2_000);
  trouble = "before";
  await append(server, "b");
  await server.area.closeSegment();
  await append(server, "c");
  await server.area.closeSegment();
  await append(server, "d");
  await advance(server, 2_000);
  const directory = `${DATA}/${AREA}`;
  await writeSnapshotFile(
    disk,
    { directory, area: AREA, number: 3, position: 3 },
    { frames: [Buffer.from("abc")], random: seededRandom(1) },
  );
  assert.equal(await server.area.adoptSnapshot(), true);

  trouble = "none";
  await advance(server, 60_000);

  assert.deepEqual((await restoreFrom(model)).frames, ["abc", "d"]);
  assert.deepEqual((await restoreFrom(model, { atMs: START_MS + 2_999 })).frames, ["a"]);
  const lost = server.copier.state.areas.flatMap((area) => area.lost);
  assert.deepEqual(lost, [{ fromMs: START_MS + 1_000, toMs: START_MS + 6_000 }]);
  assert.deepEqual(await framesOn(disk), ["abc", "d"]);
});

test("old objects go when newer ones have their place, and every kept moment can be restored", async () => {
  const keepMs = 60 * 60_000;
  const disk = await dataDisk();
  const server = await copiedServer(disk, { settings: { keepMs, sweepMs: 10 * 60_000 } });
  const directory = `${DATA}/${AREA}`;
  const counts: number[] = [];
  for (let round = 1; round <= 40; round += 1) {
    await append(server, `${round}`);
    await server.area.closeSegment();
    const snapshot = { directory, area: AREA, number: round + 1, position: round };
    await writeSnapshotFile(disk, snapshot, { frames: [Buffer.from(`up to ${round}`)], random: seededRandom(round) });
    assert.equal(await server.area.adoptSnapshot(), true);
    server.copier.filesChanged(AREA);
    await advance(server, 5 * 60_000);
    counts.push(server.store.objects.size);
  }

  // 14 rounds of a snapshot, a segment with its times, parts and a tick.
  assert.ok(Math.max(...counts.slice(20)) < 100, `${Math.max(...counts.slice(20))} objects`);
  const nowMs = server.clock.nowMs();
  assert.deepEqual((await restoreFrom(server.store, { atMs: nowMs })).frames, ["up to 40"]);
  assert.deepEqual((await restoreFrom(server.store, { atMs: nowMs - keepMs + 10 * 60_000 })).frames, ["up to 30"]);
  await assert.rejects(restoreFrom(server.store, { atMs: START_MS + 60_000 }), { name: "DamagedCopy" });
});

test("an earlier generation goes as a whole when all of its moments are too old, except objects that are still used", async () => {
  const disk = await dataDisk();
  const first = await copiedServer(disk);
  await append(first, "a");
  await first.area.closeSegment();
  await append(first, "b");
  await stop(first);
  const { store } = first;
  const settings = { keepMs: 60 * 60_000 };
  const second = await copiedServer(disk, { model: store, settings, clock: new VirtualClock(START_MS + 60_000) });

  await advance(second, 50 * 60_000);
  assert.deepEqual((await restoreFrom(store, { atMs: START_MS + 30_000 })).generation, 1);
  await advance(second, 3 * 60 * 60_000);

  const left = namesWith(store, "g0000000000000001/").map((name) => name.split("/")[2]);
  assert.deepEqual(left, ["segment"]);
  assert.deepEqual(namesWith(store, "owners/"), ["owners/0000000000000001", "owners/0000000000000002"]);
  assert.deepEqual((await restoreFrom(store)).frames, ["a", "b"]);
});

test("a file that cannot be read is named in the state and logged once, and is tried again", async () => {
  const disk = await dataDisk();
  let isBroken = false;
  const reading = interceptedDisk(disk, (operation, go) =>
    isBroken && operation.kind === "read" ? Promise.reject(systemError("EIO", operation.path)) : go(),
  );
  const server = await copiedServer(disk, { disk: reading });
  isBroken = true;
  await append(server, "a");
  await advance(server, 20_000);
  assert.deepEqual(
    server.copier.state.areas.map(({ fault }) => fault),
    ["EIO: /data/store/0000000001.journal"],
  );
  assert.deepEqual(server.logged, ["cannot copy a file"]);

  isBroken = false;
  await advance(server, 5_000);

  assert.deepEqual(
    server.copier.state.areas.map(({ fault }) => fault),
    [undefined],
  );
  assert.deepEqual((await restoreFrom(server.store)).frames, ["a"]);
});

test("a stop copies the rest, and a store that does not answer delays it only for the given time", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a");
  await stop(server);
  assert.equal(server.copier.state.phase, "ended");
  assert.deepEqual((await restoreFrom(server.store)).frames, ["a"]);

  const model = new ModelObjectStore();
  let isHanging = false;
  const store = model.client(() => (isHanging ? new Promise<StoreTrouble>(() => {}) : Promise.resolve("none")));
  const other = await copiedServer(await dataDisk(), { model, store });
  isHanging = true;
  await append(other, "b");
  await other.area.close();
  let isClosed = false;
  const closing = other.copier.close({ withinMs: 10_000 }).then(() => {
    isClosed = true;
  });
  await advance(other, 9_999);
  assert.equal(isClosed, false);
  await advance(other, 1);
  await closing;
});
