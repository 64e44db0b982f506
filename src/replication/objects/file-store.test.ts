/** What a directory keeps through crashes, full disks and other processes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WRITER } from "../../../test/harness/object-stores/opened-stores.ts";
import { emptyDisk } from "../../../test/harness/persistence-fixture.ts";
import type { OperationKind, SimulatedDisk } from "../../../test/simulation/disk/simulated-disk.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { FileStore, type FileStoreOptions } from "./file-store.ts";
import { contentOf } from "./object-store.ts";

const ALL = { start: 0, end: 10_000_000 };
const CONTENT = contentOf(Buffer.from("0123456789".repeat(100)));
const PATH = "/store/a.d/b.d/c";

function openOn(disk: SimulatedDisk, options: Partial<FileStoreOptions> = {}): Promise<FileStore> {
  const clock = new VirtualClock();
  return FileStore.open({ directory: "/store", disk, clock, process: WRITER, access: "write", ...options });
}

const nextLife = { process: { ...WRITER, life: "next" } };

test("after a power cut or a kill at any moment a name has all of its object or does not exist", async () => {
  for (const isKill of [false, true]) {
    const random = seededRandom(1);
    const disk = await emptyDisk();
    const store = await openOn(disk);
    const crashes: SimulatedDisk[] = [];
    disk.onBoundary = () => {
      for (let i = 0; i < 10; i += 1) crashes.push(isKill ? disk.afterKill(random) : disk.afterPowerCut(random));
    };
    assert.equal(await store.putNew("a/b/c", CONTENT), "stored");
    disk.onBoundary = () => {};
    const outcomes = new Set<string>();
    for (const crashed of crashes) {
      const again = await openOn(crashed, nextLife);
      const found = await again.get("a/b/c", ALL);
      assert.deepEqual(await again.list(""), found === undefined ? [] : [{ name: "a/b/c", bytes: 1_000 }]);
      if (found !== undefined) assert.ok(found.equals(await CONTENT.read(0, 1_000)));
      assert.deepEqual(
        crashed.paths.filter((path) => path.includes("partial")),
        [],
      );
      // The name is free, or it is this object's: the same call ends well.
      const outcome = await again.putNew("a/b/c", CONTENT);
      assert.equal(outcome, found === undefined ? "stored" : "exists");
      outcomes.add(outcome);
    }
    assert.deepEqual([...outcomes].sort(), ["exists", "stored"]);
  }
});

test("what a call has answered survives a power cut: a new object, a taken name, a removal", async () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = seededRandom(seed);
    const disk = await emptyDisk(seed);
    const store = await openOn(disk);
    await store.putNew("a/b/c", CONTENT);
    assert.ok((await (await openOn(disk.afterPowerCut(random), nextLife)).get("a/b/c", ALL)) !== undefined);

    // Another process was killed between its link and the sync of the directory.
    disk.faultOf = ({ kind, path }) =>
      kind === "syncDirectory" && path === "/store/a.d" ? { code: "EIO" } : undefined;
    await assert.rejects(store.putNew("a/d", CONTENT), { kind: "unavailable" });
    disk.faultOf = () => undefined;
    const other = await openOn(disk, nextLife);
    assert.equal(await other.putNew("a/d", CONTENT), "exists");
    assert.ok((await (await openOn(disk.afterPowerCut(random), nextLife)).get("a/d", ALL)) !== undefined);

    await store.remove(["a/b/c", "a/d"]);
    assert.deepEqual(await (await openOn(disk.afterPowerCut(random), nextLife)).list(""), []);
  }
});

test("an operation that fails leaves no unfinished file, and the call can be repeated", async () => {
  for (const kind of ["mkdir", "create", "write", "sync", "close", "link", "syncDirectory"] as const) {
    for (const code of ["EIO", "ENOSPC"]) {
      const disk = await emptyDisk();
      const store = await openOn(disk);
      let isFaulty = true;
      disk.faultOf = (operation) => (isFaulty && operation.kind === kind ? { code } : undefined);
      const expected =
        code === "EIO"
          ? { kind: "unavailable", message: /EIO$/ }
          : { kind: "refused", message: /^\/store\/.*: No space left/ };
      await assert.rejects(store.putNew("a/b/c", CONTENT), { name: "ObjectStoreFailure", ...expected }, kind);
      isFaulty = false;
      assert.deepEqual(disk.paths, kind === "syncDirectory" && disk.paths.includes(PATH) ? [PATH] : [], kind);
      await store.putNew("a/b/c", CONTENT);
      assert.equal((await store.get("a/b/c", ALL))?.length, 1_000);
      assert.equal(disk.openCount, 0, kind);
    }
  }
});

const failures: readonly [OperationKind, string, string, RegExp][] = [
  ["list", "ENOENT", "refused", /the directory does not exist: create it, or mount its disk$/],
  ["list", "ENOTDIR", "refused", /it is not a directory$/],
  ["create", "EACCES", "refused", /permission denied: give the user of larder access$/],
  ["create", "EROFS", "refused", /the file system is read-only$/],
  ["link", "EPERM", "refused", /larder needs one with hard links, such as ext4 or XFS$/],
  ["link", "EOPNOTSUPP", "refused", /the file system has no hard links/],
  ["list", "EMFILE", "unavailable", /^\/store: EMFILE$/],
];

test("a directory that cannot be used is refused at the opening with the remedy", async () => {
  for (const [kind, code, failure, message] of failures) {
    const disk = await emptyDisk();
    disk.faultOf = (operation) => (operation.kind === kind ? { code } : undefined);
    await assert.rejects(openOn(disk), { name: "ObjectStoreFailure", kind: failure, message });
    assert.deepEqual(disk.paths, []);
  }
});

test("a store that is only read writes nothing", async () => {
  const disk = await emptyDisk();
  disk.put("/store/.partial-1-7-old-1-here", Buffer.from("x"));
  disk.put("/store/a", Buffer.from("object"));
  disk.faultOf = ({ kind }) =>
    ["open", "close", "read", "size", "list"].includes(kind) ? undefined : { code: "EROFS" };
  const store = await openOn(disk, { access: "read" });
  assert.deepEqual(await store.list(""), [{ name: "a", bytes: 6 }]);
});

test("the next opening removes unfinished files of processes that have ended, and of no other", async () => {
  const clock = new VirtualClock();
  const now = clock.nowMs();
  const old = now - 24 * 60 * 60_000 - 1;
  const kept = [
    [`.partial-${now}-7-now-0-here`, "this process"],
    [`.partial-${now}-8-now-1-here`, "a process that runs"],
    [`.partial-${now}-9-now-1-there-too`, "another host"],
  ] as const;
  const removed = [
    [`.partial-${now}-7-before-1-here`, "an earlier life of this process id"],
    [`.partial-${now}-9-now-1-here`, "a process that has ended"],
    [`.partial-${old}-8-now-1-here`, "another process with its id"],
    [`.partial-${old}-9-now-1-there`, "another host, a day ago"],
    [".partial-x", "nobody"],
  ] as const;
  const disk = await emptyDisk();
  for (const [name] of [...kept, ...removed]) disk.put(`/store/${name}`, Buffer.from("x"));
  await openOn(disk, { clock });
  assert.deepEqual([...disk.paths].sort(), kept.map(([name]) => `/store/${name}`).sort());
});

test("an unfinished file that another process removes is written again", async () => {
  const disk = await emptyDisk();
  const store = await openOn(disk);
  let removedCount = 0;
  const removing = (times: number) => {
    disk.faultOf = ({ kind, path }) => {
      if (kind === "link" && removedCount < times) {
        removedCount += 1;
        disk.remove(path);
      }
      return undefined;
    };
  };
  removing(2);
  assert.equal(await store.putNew("a", CONTENT), "stored");
  assert.equal((await store.get("a", ALL))?.length, 1_000);
  removing(100);
  await assert.rejects(store.putNew("b", CONTENT), { kind: "unavailable", message: /again and again$/ });
});

test("two processes that write one name at once: one has stored it", async () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const random = seededRandom(seed);
    const disk = (await emptyDisk(seed)).restarted({ seed, isStepped: true });
    const stepped = async <Result>(calls: readonly Promise<Result>[]): Promise<readonly Result[]> => {
      let isDone = false;
      const all = Promise.all(calls).finally(() => {
        isDone = true;
      });
      while (!isDone) {
        disk.step(random);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return all;
    };
    const stores = await stepped([openOn(disk), openOn(disk, { process: { ...WRITER, pid: 8 } })]);
    const texts = ["first", "second"];
    const outcomes = await stepped(
      stores.map((store, index) => store.putNew("a/lock", contentOf(Buffer.from(texts[index] ?? "")))),
    );
    assert.deepEqual([...outcomes].sort(), ["exists", "stored"], `seed ${seed}`);
    assert.equal(disk.bytesOf("/store/a.d/lock").toString(), texts[outcomes.indexOf("stored")]);
    assert.deepEqual(disk.paths, ["/store/a.d/lock"]);
  }
});

test("files that larder has not written are left out of lists", async () => {
  const disk = await emptyDisk();
  await disk.mkdir("/store/x.d");
  for (const name of [".DS_Store", "lost+found", "a%41", "x.d/%2e", "ä", "%25", "x.d/y"])
    disk.put(`/store/${name}`, Buffer.from("x"));
  const store = await openOn(disk);
  assert.deepEqual(
    (await store.list("")).map(({ name }) => name),
    ["%", "x/y"],
  );
});
