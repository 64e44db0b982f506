/** An area of the program on a disk that is given to it, as a shard of a cluster. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { noEvents } from "../../../test/harness/no-events.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { systemRandom } from "../../kernel/random.ts";
import { nextTurn } from "../../kernel/turn.ts";
import type { Disk } from "../../persistence/disk/disk.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { WrongFile } from "../../persistence/errors.ts";
import type { FileJournal } from "../../persistence/journal/journal.ts";
import { Store } from "../../store/mod.ts";
import { planArea } from "../settings/plan.ts";
import { readSettings } from "../settings/read-settings.ts";
import { resolveTenants } from "../tenants/tokens.ts";
import type { AreaPlan } from "./area.ts";
import { AreaPersistence } from "./area-persistence.ts";
import { areaPlace } from "./area-place.ts";
import { runSnapshot } from "./snapshot-role.ts";

function storePlan(dataDirectory: string): AreaPlan {
  const reading = readSettings({
    arguments: ["serve", "--data-dir", dataDirectory, "--fsync", "always"],
    environment: {},
    readFile: () => "",
  });
  assert.equal(reading.kind, "run");
  const { run } = reading as Extract<typeof reading, { kind: "run" }>;
  const { tenants } = resolveTenants(run, {});
  const others = { logFormat: "text", version: "0", deliveriesDisabled: false, memoryBytesMax: 2 ** 28 } as const;
  return planArea("store", { run, tenants, ...others });
}

interface Opened {
  readonly persistence: AreaPersistence;
  readonly journal: FileJournal;
  readonly frames: readonly string[];
}

async function openShardArea(
  dataDirectory: string,
  shard: number,
  disk: Disk = fileDisk,
  clock: Clock = systemClock,
): Promise<Opened> {
  const { directory, name } = areaPlace(dataDirectory, "store", shard);
  mkdirSync(directory, { recursive: true });
  const plan = { ...storePlan(dataDirectory), directory, nameInFiles: name };
  const fail = (fault: unknown): never => {
    throw fault;
  };
  const context = { plan, clock, metrics: new Metrics(), log: silentLog, events: noEvents, onFatal: fail };
  const persistence = new AreaPersistence(context);
  let journal: FileJournal | undefined;
  persistence.standOn({
    disk,
    mayRemove: () => true,
    opened: (opened) => {
      journal = opened;
    },
  });
  const frames: string[] = [];
  await persistence.recover({ apply: (frame) => frames.push(frame.toString("latin1")) });
  assert.ok(journal !== undefined);
  return { persistence, journal, frames };
}

function newDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-place-"));
  context.after(() => rmSync(path, { recursive: true }));
  return path;
}

const nameIn = (path: string): string => readFileSync(path).subarray(0, 64).toString("latin1");

test("the place of an area", () => {
  for (const [place, expected] of [
    [areaPlace("/data", "store"), { directory: "/data/store", name: "store" }],
    [areaPlace("/data", "store", 12), { directory: "/data/shards/12", name: "store.0012" }],
    [areaPlace("/data", "messaging", 2), { directory: "/data/shards/2", name: "messaging.0002" }],
  ] as const)
    assert.deepEqual(place, expected);
});

test("the plan of a single server has the directory and the name of the area", () => {
  const { directory, nameInFiles } = storePlan("/data");
  assert.deepEqual([directory, nameInFiles], ["/data/store", "store"]);
});

test("a shard has its own directory, its name in the headers, and a new segment at each recovery", async (context) => {
  const data = newDirectory(context);
  const opened: string[] = [];
  const disk: Disk = {
    ...fileDisk,
    open: (path, how, mode) => {
      opened.push(path);
      return fileDisk.open(path, how, mode);
    },
  };
  const first = await openShardArea(data, 12, disk);
  await first.journal.whenSafe(first.journal.append(Buffer.from("one")));
  await first.persistence.close();
  assert.ok(opened.length > 0, "the given disk was not used");
  assert.deepEqual(
    opened.filter((path) => !path.startsWith(join(data, "shards", "12"))),
    [],
  );

  const second = await openShardArea(data, 12);
  assert.deepEqual(second.frames, ["one"]);
  assert.equal(second.journal.segmentNumber, 2);
  await second.persistence.close();
  const segments = readdirSync(join(data, "shards", "12")).filter((name) => name.endsWith(".journal"));
  assert.equal(segments.length, 2);
  for (const name of segments) assert.match(nameIn(join(data, "shards", "12", name)), /store\.0012/);
});

test("files of one shard are refused in the directory of another", async (context) => {
  const data = newDirectory(context);
  const { persistence } = await openShardArea(data, 12);
  await persistence.close();
  mkdirSync(join(data, "shards", "13"), { recursive: true });
  const [name = ""] = readdirSync(join(data, "shards", "12")).filter((each) => each.endsWith(".journal"));
  await fileDisk.link(join(data, "shards", "12", name), join(data, "shards", "13", name));
  await assert.rejects(openShardArea(data, 13), WrongFile);
});

test("the snapshot process writes a snapshot of a shard under the name of the shard", async (context) => {
  const data = newDirectory(context);
  const { persistence } = await openShardArea(data, 12);
  const store = new Store({
    journal: persistence.journal,
    clock: systemClock,
    random: systemRandom,
    hashSeed: new Uint8Array(8),
  });
  store.database("main");
  await store.whenSafe();
  await persistence.prepareSnapshot();
  await runSnapshot([data, "store", "12"]);
  await persistence.finishSnapshot(true);
  const names = readdirSync(join(data, "shards", "12")).filter((name) => name.endsWith(".snapshot"));
  assert.equal(names.length, 1);
  for (const name of names) assert.match(nameIn(join(data, "shards", "12", name)), /store\.0012/);
  await persistence.close();
});

test("a snapshot that its store does not take is reported as failed, and adopted later", async (context) => {
  const data = newDirectory(context);
  const timers: (() => void)[] = [];
  const real: Clock = {
    ...systemClock,
    after(delayMs, task) {
      assert.equal(delayMs, 60_000);
      timers.push(task);
      return () => {};
    },
  };
  const failures = [new Error("the store is away"), new Error("the store is away")];
  const adopted = Promise.withResolvers<string>();
  const disk: Disk = {
    ...fileDisk,
    async adopt(path) {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      adopted.resolve(path);
    },
  };
  const { persistence, journal } = await openShardArea(data, 12, disk, { ...systemClock, real });
  const store = new Store({ journal, clock: systemClock, random: systemRandom, hashSeed: new Uint8Array(8) });
  store.database("main");
  await store.whenSafe();
  await persistence.prepareSnapshot();
  await runSnapshot([data, "store", "12"]);
  await assert.rejects(persistence.finishSnapshot(true), /the store is away/);
  assert.deepEqual([persistence.snapshots.hasFailed, persistence.snapshots.runningMs], [true, undefined]);
  while (failures.length > 0 || timers.length > 0) {
    timers.shift()?.();
    await nextTurn();
  }
  assert.match(await adopted.promise, /shards\/12\/.*\.snapshot$/);
  await persistence.close();
});
