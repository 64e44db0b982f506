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
  stop,
} from "../../../test/harness/copy-fixture.ts";
import { SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { ModelObjectStore } from "../../../test/simulation/replication/model-object-store.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { prepareDataDirectory } from "../../persistence/data-directory.ts";
import { writeSnapshot } from "../../persistence/snapshot.ts";
import { CopyKey } from "../copy-key.ts";
import { UnusableCopy } from "../errors.ts";
import { printNote } from "../notes.ts";
import { FollowedCopy, type FollowedCopyOptions } from "./followed-copy.ts";
import { NotFollowing, promoteDirectory } from "./promotion.ts";
import { readRecord } from "./record.ts";

const ADDRESS = "s3://bucket/copy";

async function emptyDisk(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed: 3 });
  await disk.mkdir(DATA);
  await disk.syncDirectory("/");
  return disk;
}

function open(disk: SimulatedDisk, options: Partial<FollowedCopyOptions> = {}): Promise<FollowedCopy> {
  return FollowedCopy.open({
    ...{ disk, directory: DATA, address: ADDRESS, clock: new VirtualClock(), areas: [AREA] },
    historyFile: "history.sqlite",
    ...options,
  });
}

/** The frames of a promotion that is made on a copy of the disk. */
async function promoted(disk: SimulatedDisk): Promise<readonly string[]> {
  const copy = disk.restarted({ seed: 4 });
  const record = await readRecord(copy, DATA);
  assert.ok(record !== undefined);
  await promoteDirectory({ disk: copy, directory: DATA, record });
  assert.ok(!copy.paths.includes(`${DATA}/follow.json`));
  await prepareDataDirectory(copy, DATA, [AREA]);
  return framesOn(copy);
}

function filesIn(disk: SimulatedDisk): readonly string[] {
  return disk.paths
    .filter((path) => path.startsWith(`${DATA}/${AREA}/`))
    .map((path) => path.slice(DATA.length + AREA.length + 2));
}

/** Calls of a kind that one more pass makes. */
async function listsOf(store: ModelObjectStore, work: () => Promise<unknown>): Promise<readonly number[]> {
  const before = { ...store.calls };
  await work();
  return [store.calls.list - before.list, store.calls.get - before.get];
}

test("a prefix without a copy is waited for, and cannot be promoted", async () => {
  const disk = await emptyDisk();
  const copy = await open(disk);
  assert.equal(await copy.fetchAll(new ModelObjectStore().client()), "waiting");
  await assert.rejects(promoteDirectory({ disk, directory: DATA, record: copy.record }), NotFollowing);
});

test("the first pass fetches everything, and later ones append parts with one list for each area and one for owners", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a", "b");
  await advance(server, 1_000);
  const disk = await emptyDisk();
  const copy = await open(disk);
  const store = server.store.client();
  assert.equal(await copy.fetchAll(store), "moved");
  assert.deepEqual(await promoted(disk), ["a", "b"]);
  assert.deepEqual(await listsOf(server.store, () => copy.fetchNew(store)), [2, 0]);
  await append(server, "c");
  await advance(server, 1_000);
  assert.deepEqual(await listsOf(server.store, () => copy.fetchNew(store)), [2, 1]);
  assert.deepEqual(await promoted(disk), ["a", "b", "c"]);
  assert.equal(copy.record.areas[0]?.completeToMs, server.copier.state.areas[0]?.completeToMs);
});

test("a start continues with what is there, and fetches only what is missing", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a".repeat(500));
  await advance(server, 1_000);
  const disk = await emptyDisk();
  const store = server.store.client();
  await (await open(disk)).fetchAll(store);
  await append(server, "b");
  await advance(server, 1_000);
  const again = await open(disk);
  const parts: string[] = [];
  const counting = {
    ...store,
    get: (name: string, range: { start: number; end: number }) => {
      if (name.includes("/part/")) parts.push(name);
      return store.get(name, range);
    },
  };
  await again.fetchAll(counting);
  assert.equal(parts.length, 1);
  assert.deepEqual(await promoted(disk), ["a".repeat(500), "b"]);
});

test("closed segments follow each other across passes, and covered ones go when the source has a snapshot", async () => {
  const server = await copiedServer(await dataDisk(), { segmentBytesMax: 300 });
  const disk = await emptyDisk();
  const copy = await open(disk);
  const store = server.store.client();
  await copy.fetchAll(store);
  for (const text of ["a", "b", "c"]) {
    await append(server, text.repeat(250));
    await advance(server, 1_000);
    await copy.fetchNew(store);
  }
  const texts = ["a", "b", "c"].map((text) => text.repeat(250));
  assert.deepEqual(await promoted(disk), texts);
  await server.area.closeSegment();
  const engine = { replay: () => {}, dump: () => [Buffer.from("state")] };
  const random = seededRandom(3);
  await writeSnapshot({ disk: server.disk, directory: `${DATA}/${AREA}`, area: AREA, engine, random });
  await server.area.adoptSnapshot();
  server.copier.filesChanged(AREA);
  await append(server, "d");
  await advance(server, 5 * 60_000);
  await copy.fetchAll(store);
  assert.deepEqual(filesIn(disk), filesIn(server.disk));
  assert.deepEqual(await promoted(disk), ["state", "d"]);
});

test("a new generation is followed, and one that was restored to an earlier state replaces what came after it", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a");
  await advance(server, 1_000);
  const earlier = server.disk.restarted({ seed: 5 });
  await append(server, "b");
  await advance(server, 1_000);
  const disk = await emptyDisk();
  const copy = await open(disk);
  const store = server.store.client();
  await copy.fetchAll(store);
  assert.deepEqual(await promoted(disk), ["a", "b"]);
  const other = await copiedServer(earlier, { model: server.store, clock: server.clock });
  await append(other, "c");
  await advance(other, 1_000);
  assert.equal(await copy.fetchNew(store), "moved");
  assert.equal(copy.record.generation, 2);
  assert.deepEqual(await promoted(disk), ["a", "c"]);
});

test("a copy that has less than before changes nothing", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a");
  await advance(server, 1_000);
  const disk = await emptyDisk();
  const copy = await open(disk);
  const store = server.store.client();
  await append(server, "b");
  await advance(server, 1_000);
  await copy.fetchAll(store);
  const newest = [...server.store.objects.keys()].filter((name) => name.includes("/part/")).at(-1) ?? "";
  server.store.objects.delete(newest);
  await assert.rejects(copy.fetchAll(store), { name: "CopyBehind" });
  assert.deepEqual(await promoted(disk), ["a", "b"]);
});

test("bytes that came after the record do not count, and a promotion that was interrupted is continued", async () => {
  const server = await copiedServer(await dataDisk());
  await append(server, "a");
  await advance(server, 1_000);
  const disk = await emptyDisk();
  await (await open(disk)).fetchAll(server.store.client());
  const path = `${DATA}/${AREA}/0000000001.journal`;
  disk.put(path, Buffer.concat([disk.bytesOf(path), Buffer.from("half a frame")]));
  disk.put(`${DATA}/${AREA}/0000000002.journal`, Buffer.from("half a segment"));
  assert.deepEqual(await promoted(disk), ["a"]);
  const record = await readRecord(disk, DATA);
  assert.ok(record !== undefined);
  disk.faultOf = ({ kind, path: at }) =>
    kind === "rename" && at.endsWith("/format.new") ? { code: "EIO" } : undefined;
  await assert.rejects(promoteDirectory({ disk, directory: DATA, record }), { code: "EIO" });
  disk.faultOf = () => undefined;
  assert.deepEqual(await promoted(disk), ["a"]);
  await append(server, "b");
  await advance(server, 1_000);
  await (await open(disk)).fetchAll(server.store.client());
  assert.deepEqual(await promoted(disk), ["a", "b"]);
});

test("the copy of another data directory, and one of an unknown format, are refused by name", async () => {
  const server = await copiedServer(await dataDisk());
  const disk = await emptyDisk();
  await (await open(disk)).fetchAll(server.store.client());
  const id = "f".repeat(32);
  const other = await copiedServer(await dataDisk(), { directoryId: id });
  await assert.rejects((await open(disk)).fetchAll(other.store.client()), (error: unknown) => {
    assert.ok(error instanceof UnusableCopy);
    assert.match(
      error.message,
      /^The copy cannot be used: it is that of another data directory \(f{32}\), and \/data follows/,
    );
    return true;
  });
  const begin = { timeMs: 1, directory: id, version: "9", format: "larder data directory, format 9\n", areas: [] };
  const name = `g${"2".padStart(16, "0")}/begin`;
  other.store.objects.set(`owners/${"2".padStart(16, "0")}`, printNote({ ...begin, generation: 2, startedAtMs: 1 }));
  other.store.objects.set(name, printNote(begin));
  await assert.rejects((await open(await emptyDisk())).fetchAll(other.store.client()), { name: "NewerFormat" });
});

test("tokens are fetched with the key, and refused with another one", async () => {
  const keyOf = (byte: number): CopyKey => new CopyKey(Buffer.alloc(32, byte).toString("base64"));
  const source = await dataDisk();
  source.put(`${DATA}/tokens.json`, Buffer.from("secret"));
  const server = await copiedServer(source, { key: keyOf(1) });
  const store = server.store.client();
  const without = await open(await emptyDisk());
  await without.fetchAll(store);
  assert.equal(without.record.tokens, "no key");
  await assert.rejects((await open(await emptyDisk(), { key: keyOf(2) })).fetchAll(store), UnusableCopy);
  const disk = await emptyDisk();
  const copy = await open(disk, { key: keyOf(1) });
  await copy.fetchAll(store);
  assert.equal(disk.bytesOf(`${DATA}/tokens.json`).toString(), "secret");
  server.disk.put(`${DATA}/tokens.json`, Buffer.from("changed"));
  server.copier.tokensChanged();
  await advance(server, 1_000);
  await copy.fetchAll(store);
  assert.equal(disk.bytesOf(`${DATA}/tokens.json`).toString(), "changed");
  await stop(server);
});
