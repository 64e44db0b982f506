/** A journal on a disk whose log is in a real PostgreSQL: lost connections, a snapshot, takeovers. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { PgSession } from "../../../src/cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../../src/cluster/postgres/postgres-log-store.ts";
import { SCHEMA } from "../../../src/cluster/postgres/schema.ts";
import { openShard, recoverShard } from "../../../src/cluster/shipped/open-shard.ts";
import type { ShippedDisk } from "../../../src/cluster/shipped/shipped-disk.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { systemRandom } from "../../../src/kernel/random.ts";
import { type AreaStorage, openAreaStorage } from "../../../src/persistence/area-storage.ts";
import { fileDisk } from "../../../src/persistence/disk/file-disk.ts";
import { writeSnapshot } from "../../../src/persistence/snapshot.ts";
import { type PostgresProcess, startPostgres } from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { FrameEngine } from "../../harness/shipped-shard.ts";
import { noObjects } from "../../simulation/cluster/model-objects.ts";

const skip = missingProgram("postgres");
const SHARD = 3;
const AREA = "store";
const LIVES = [1, 2, 3].map((life) => `00000000-0000-4000-8000-00000000000${life}`);

let postgres: PostgresProcess;
let admin: Client;
let directories: string;
const sessions: PgSession[] = [];
const disks: ShippedDisk[] = [];

function openStore(): PostgresLogStore {
  const session = new PgSession(async () => {
    const client = new Client({ connectionString: postgres.connectionString, application_name: "node" });
    await client.connect();
    return client;
  });
  sessions.push(session);
  return new PostgresLogStore(session);
}

interface Node {
  readonly area: AreaStorage;
  readonly frames: readonly string[];
  readonly directory: string;
  /** Resolves when the node has learned that it is not the owner. */
  readonly deposed: Promise<string>;
}

/** A new life with this number claims the shard, after all others are dead. */
async function takeOver(number: number, name: string): Promise<Node> {
  const store = openStore();
  const life = LIVES[number - 1] as string;
  const { nodes, shards } = await store.watch();
  for (const node of nodes) await store.declareDead(node.life, node.beat);
  await store.register({ name: life, life, formerLife: undefined, address: "127.0.0.1:1", format: 1, clockMs: 0 });
  const claimed = await store.claim({ shard: SHARD, epoch: shards[0]?.epoch ?? 0, life, format: 1 });
  assert.ok(claimed !== undefined);
  const directory = join(directories, name);
  mkdirSync(directory, { recursive: true });
  const owner = { shard: SHARD, epoch: claimed.epoch };
  const deposed = Promise.withResolvers<string>();
  const disk = await openShard({
    ...{ local: fileDisk, directory, area: AREA, store, fileStore: openStore(), owner, branch: "branch" },
    objects: { stores: noObjects, cluster: "cluster", trouble: () => {} },
    ...{ snapshot: claimed.snapshot, clock: systemClock, log: silentLog, partBytes: 1_000, rowBytesMax: 10_000 },
    refuse: () => {},
    deposed: ({ message }) => deposed.resolve(message),
  });
  disks.push(disk);
  let frames: string[] = [];
  const area = await recoverShard(disk, { owner, log: silentLog }, () => {
    frames = [];
    return openAreaStorage({
      ...{ disk, directory, area: AREA, mode: "always", clock: systemClock, random: systemRandom, log: silentLog },
      ...{ beginsSegment: true, reserveBytes: 0, onFatal: () => {} },
      apply: (frame) => frames.push(frame.toString("latin1")),
    });
  });
  return { area, frames, directory, deposed: deposed.promise };
}

async function appendSafely({ area: { journal } }: Node, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) journal.append(Buffer.from(text, "latin1"));
  await journal.whenSafe(journal.end);
}

before(async () => {
  if (skip !== false) return;
  postgres = await startPostgres(["fsync=off"]);
  admin = new Client({ connectionString: postgres.connectionString });
  await admin.connect();
  await admin.query(SCHEMA);
  await openStore().addShards([{ shard: SHARD, area: AREA, hashSeed: Buffer.alloc(4) }]);
  directories = mkdtempSync(join(tmpdir(), "shipped-"));
});

after(async () => {
  if (skip !== false) return;
  for (const disk of disks) disk.end(new Error("The test is over"));
  for (const session of sessions) await session.close();
  await admin.end();
  await postgres.stop();
  rmSync(directories, { recursive: true });
});

test("frames survive lost connections, a snapshot and takeovers, and a former owner adds nothing", {
  skip,
}, async () => {
  const first = await takeOver(1, "a");
  const long = "long".repeat(10_000);
  await appendSafely(first, "one", long);
  const cut = appendSafely(first, "two");
  await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'node'");
  await cut;
  await first.area.closeSegment();
  const { directory } = first;
  await writeSnapshot({ disk: fileDisk, directory, area: AREA, engine: new FrameEngine(), random: systemRandom });
  assert.equal(await first.area.adoptSnapshot(), true);
  const late = { shard: SHARD, epoch: 1, segment: 1, start: 0, before: 0, bytes: Buffer.from("late") };
  assert.equal(await openStore().append(late), "missing");
  await appendSafely(first, "three");

  const second = await takeOver(2, "b");
  assert.deepEqual(second.frames, ["one", long, "two", "three"]);
  await appendSafely(second, "four");
  first.area.journal.append(Buffer.from("never"));
  assert.equal(await first.deposed, "Another node has claimed shard 3 after epoch 1");
  assert.equal(await second.area.close(), 0);

  const third = await takeOver(3, "a");
  assert.deepEqual(third.frames, ["one", long, "two", "three", "four"]);
  assert.equal(await third.area.close(), 0);
  const { rows } = await admin.query<{ segment: number; epoch: number }>(
    "SELECT segment::int, min(epoch)::int AS epoch FROM larder.log GROUP BY segment ORDER BY segment",
  );
  assert.deepEqual(rows, [
    { segment: 2, epoch: 1 },
    { segment: 3, epoch: 2 },
    { segment: 4, epoch: 3 },
  ]);
});
