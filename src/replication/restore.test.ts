/** Restoring and verifying copies: moments, damage, progress, and what follows a restore. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AREA,
  advance,
  append,
  type CopiedServer,
  copiedServer,
  DATA,
  DIRECTORY_ID,
  dataDisk,
  namesWith,
  restoreFrom,
  START_MS,
  stop,
} from "../../test/harness/copy-fixture.ts";
import { SimulatedDisk } from "../../test/simulation/disk/simulated-disk.ts";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import { CopyKey } from "./copy-key.ts";
import { openDirectoryId } from "./directory-id.ts";
import { DamagedCopy, UnusableCopy } from "./errors.ts";
import type { ObjectStore } from "./objects/object-store.ts";
import { restoreCopy } from "./restore.ts";
import { verifyCopy } from "./verify.ts";

/** Frames of one second each, in two segments. */
async function twoSegments(): Promise<CopiedServer> {
  const server = await copiedServer(await dataDisk());
  for (const text of ["a", "b", "c", "d"]) {
    await append(server, text);
    await advance(server, 1_000);
    if (text === "b") await server.area.closeSegment();
  }
  await advance(server, 1_000);
  return server;
}

test("each moment has the frames of the last complete part", async () => {
  const { store } = await twoSegments();
  const expected: readonly (readonly [number, readonly string[]])[] = [
    [0, []],
    [999, []],
    [1_000, ["a"]],
    [1_999, ["a"]],
    [2_000, ["a", "b"]],
    [3_000, ["a", "b", "c"]],
    [4_000, ["a", "b", "c", "d"]],
    [1_000_000, ["a", "b", "c", "d"]],
  ];
  for (const [afterMs, frames] of expected)
    assert.deepEqual((await restoreFrom(store, { atMs: START_MS + afterMs })).frames, frames, `after ${afterMs} ms`);
});

test("a server that continues a restored directory begins a new segment, and its copy a new generation", async () => {
  const first = await twoSegments();
  const { disk } = await restoreFrom(first.store, { atMs: START_MS + 3_000 });
  assert.equal(await openDirectoryId(disk, DATA, () => Buffer.alloc(16)), DIRECTORY_ID);

  const second = await copiedServer(disk, { model: first.store, clock: new VirtualClock(START_MS + 60_000) });
  await append(second, "e");
  await stop(second);

  assert.equal(second.area.journal.segmentNumber, 3);
  assert.deepEqual((await restoreFrom(first.store)).frames, ["a", "b", "c", "e"]);
  assert.deepEqual((await restoreFrom(first.store, { atMs: START_MS + 59_000 })).frames, ["a", "b", "c", "d"]);
});

test("a restore reports its progress up to the last byte, and leaves an empty staging directory", async () => {
  const { store } = await twoSegments();
  const reports: (readonly [string, number, number])[] = [];

  const { disk } = await restoreFrom(store, { onBytes: (...report) => reports.push(report) });

  const files = reports.filter(([subject]) => subject === "files");
  const [, done, total] = files.at(-1) ?? [];
  assert.ok(done === total && (total ?? 0) > 300, `${done} of ${total} bytes`);
  assert.deepEqual(
    disk.paths.filter((path) => path.startsWith(`${DATA}/restoring-1/`)),
    [],
  );
  assert.deepEqual((await disk.list(DATA)).sort(), ["copy-id", "format", "restoring-1", "store"]);
});

test("a changed, a shortened and a missing object are named, and nothing gets its name in the directory", async () => {
  const { store } = await twoSegments();
  const [part = ""] = namesWith(store, "/part/0000000002");
  const bytes = store.objects.get(part) as Buffer;
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(70) ^ 1, 70);
  const disk = new SimulatedDisk({ seed: 1 });
  await disk.mkdir(DATA);
  let count = 0;
  const restore = (): Promise<unknown> => {
    count += 1;
    const where = { store: store.client(), disk, directory: DATA, staging: `${DATA}/restoring-${count}` };
    return restoreCopy({ ...where, areas: [AREA], historyFile: "history.sqlite" });
  };

  store.objects.set(part, changed);
  await assert.rejects(restore(), { name: "DamagedCopy", object: part, message: /are not those that were copied/ });
  const { damaged } = await verifyCopy(store.client());
  assert.deepEqual(damaged, [
    `The object ${part} of the copy is damaged: its bytes are not those that were copied. ` +
      "larder verify prints the moments that can be restored with --at",
  ]);

  store.objects.set(part, bytes.subarray(0, 10));
  await assert.rejects(restore(), {
    name: "DamagedCopy",
    message: /segment 2 of the copy is damaged: it is missing from byte 10 on/,
  });

  store.objects.delete(part);
  await assert.rejects(restore(), {
    name: "DamagedCopy",
    message: /segment 2 of the copy is damaged: it is missing from byte 0 on/,
  });
  assert.equal((await verifyCopy(store.client())).damaged.length, 1);
  assert.equal((await disk.list(DATA)).includes("format"), false);
  assert.deepEqual((await restoreFrom(store, { atMs: START_MS + 2_000 })).frames, ["a", "b"]);
});

test("a copy without a whole data directory, and one with another area, are refused", async () => {
  const server = await twoSegments();
  await assert.rejects(restoreFrom(server.store, { areas: ["vector"] }), {
    name: "UnusableCopy",
    message: "The copy cannot be used: it has an unknown area: store",
  });
  for (const name of namesWith(server.store, "/begin")) server.store.objects.delete(name);
  await assert.rejects(restoreFrom(server.store), {
    name: "UnusableCopy",
    message: "The copy cannot be used: no server has copied a whole data directory to it",
  });
});

/** A client during whose first read of a part the server closes the segment, and removes its parts. */
function closingMeanwhile(server: CopiedServer): ObjectStore {
  const client = server.store.client();
  let isClosed = false;
  return {
    ...client,
    async get(name, range) {
      if (name.includes("/part/") && !isClosed) {
        isClosed = true;
        await server.area.closeSegment();
        await append(server, "later");
        await advance(server, 61 * 60_000);
      }
      return client.get(name, range);
    },
  };
}

test("the parts of a segment may be replaced by the closed segment while a restore or a check reads them", async () => {
  const server = await twoSegments();
  const { damaged } = await verifyCopy(closingMeanwhile(server));
  assert.deepEqual(damaged, []);
  await append(server, "last");
  await advance(server, 1_000);
  const before = namesWith(server.store, "/part/0000000003");

  const { frames } = await restoreFrom(server.store, { store: closingMeanwhile(server) });

  assert.deepEqual(frames, ["a", "b", "c", "d", "later", "last"]);
  assert.deepEqual(
    before.filter((name) => server.store.objects.has(name)),
    [],
  );
});

test("notes that a server removes after a check has read them are no damage", async () => {
  const server = await twoSegments();
  await advance(server, 6 * 60_000);
  const expected = await verifyCopy(server.store.client());
  const client = server.store.client();
  const removed: string[] = [];
  const store: ObjectStore = {
    ...client,
    async get(name, range) {
      const bytes = await client.get(name, range);
      const kind = /\/(tick|times)\//.exec(name)?.[1];
      if (kind !== undefined && server.store.objects.delete(name)) removed.push(kind);
      return bytes;
    },
  };
  assert.deepEqual(await verifyCopy(store), expected);
  assert.deepEqual([...new Set(removed)].sort(), ["tick", "times"]);
});

test("a wrong key is noticed before any file is fetched", async () => {
  const keyOf = (byte: number): CopyKey => new CopyKey(Buffer.alloc(32, byte).toString("base64"));
  const disk = await dataDisk();
  disk.put(`${DATA}/tokens.json`, Buffer.from("{}\n"));
  const server = await copiedServer(disk, { key: keyOf(9) });
  await append(server, "a");
  await stop(server);
  const client = server.store.client();
  const read: string[] = [];
  const store: ObjectStore = {
    ...client,
    get: (name, range) => {
      read.push(name);
      return client.get(name, range);
    },
  };
  await assert.rejects(restoreFrom(server.store, { store, key: keyOf(8) }), {
    name: "UnusableCopy",
    message: "The copy cannot be used: its tokens were sealed with another key",
  });
  assert.deepEqual(
    read.filter((name) => /\/(?:part|segment|snapshot)\//.test(name)),
    [],
  );
});

test("verifying reads every object, and says from when and up to when each area can be restored", async () => {
  const server = await twoSegments();
  const reports: (readonly [string, number, number])[] = [];

  const verified = await verifyCopy(server.store.client(), (...report) => reports.push(report));

  const [, done, total] = reports.at(-1) ?? [];
  assert.equal(done, total);
  assert.equal(verified.bytes, total);
  assert.equal(verified.objects, server.store.objects.size);
  const first = { fromMs: START_MS, completeToMs: START_MS + 4_000 };
  assert.deepEqual(verified.areas, [{ area: AREA, spans: [first], lost: [] }]);
  assert.deepEqual(verified.damaged, []);
  assert.equal(verified.generation, 1);

  await stop(server);
  const again = new VirtualClock(START_MS + 60_000);
  const second = await copiedServer(server.disk, { model: server.store, clock: again });
  await append(second, "e");
  await advance(second, 2_000);

  const both = await verifyCopy(server.store.client());

  assert.equal(both.objects, server.store.objects.size);
  assert.deepEqual(both.areas, [
    {
      ...{ area: AREA, lost: [] },
      spans: [
        { fromMs: START_MS, completeToMs: START_MS + 5_000 },
        { fromMs: START_MS + 60_000, completeToMs: START_MS + 61_000 },
      ],
    },
  ]);
});

test("a damaged note is named", async () => {
  const { store } = await twoSegments();
  const [name = ""] = namesWith(store, "/begin");
  const text = (store.objects.get(name) as Buffer).toString().replace("1.0.0", "1.0.1");
  store.objects.set(name, Buffer.from(text));
  await assert.rejects(restoreFrom(store), { name: "DamagedCopy", object: name, message: /its checksum differs/ });
});

test("with any object changed, cut, emptied or removed, a restore gives the right state or names the damage", async () => {
  const server = await twoSegments();
  const key = new CopyKey(Buffer.alloc(32, 9).toString("base64"));
  server.disk.put(`${DATA}/tokens.json`, Buffer.from("{}\n"));
  await stop(server);
  const second = await copiedServer(server.disk, {
    model: server.store,
    key,
    clock: new VirtualClock(START_MS + 60_000),
  });
  await append(second, "e");
  await stop(second);
  const { store } = server;
  const expected = (await restoreFrom(store, { key })).frames;
  assert.deepEqual(expected, ["a", "b", "c", "d", "e"]);

  let refused = 0;
  for (const [name, bytes] of [...store.objects]) {
    const changed = Buffer.from(bytes);
    const at = Math.floor(bytes.length / 2);
    changed.writeUInt8(bytes.readUInt8(at) ^ 0x10, at);
    for (const damaged of [changed, bytes.subarray(0, at), Buffer.alloc(0), Buffer.concat([bytes, bytes]), undefined]) {
      if (damaged === undefined) store.objects.delete(name);
      else {
        store.objects.set(name, damaged);
        assert.ok((await verifyCopy(store.client())).damaged.length > 0, `${name} is damaged`);
      }
      try {
        const { frames, generation } = await restoreFrom(store, { key });
        // Without the note that begins it, or its owner, a generation does not count.
        assert.deepEqual(frames, generation === 2 ? expected : ["a", "b", "c", "d"], name);
      } catch (fault) {
        assert.ok(fault instanceof DamagedCopy || fault instanceof UnusableCopy, `${name}: ${String(fault)}`);
        refused += 1;
      }
      store.objects.set(name, bytes);
    }
  }
  assert.ok(refused > 20, `${refused} restores are refused`);
});
