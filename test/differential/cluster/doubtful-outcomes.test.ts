/**
 * Appends to a PostgreSQL whose commits wait for a standby that does not exist:
 * only what waited to the end counts as committed.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { type Append, DoubtfulOutcome } from "../../../src/cluster/log-store/log-store.ts";
import { PgSession } from "../../../src/cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../../src/cluster/postgres/postgres-log-store.ts";
import { SCHEMA } from "../../../src/cluster/postgres/schema.ts";
import { type PostgresProcess, startPostgres } from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";

const skip = missingProgram("postgres");
const APPEND: Append = { shard: 1, epoch: 0, segment: 1, start: 0, before: 0, bytes: Buffer.from("bytes") };

let postgres: PostgresProcess;
let admin: Client;
const sessions: PgSession[] = [];

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: postgres.connectionString, application_name: "store" });
  await client.connect();
  return client;
}

function openStore(): PostgresLogStore {
  const session = new PgSession(connect);
  sessions.push(session);
  return new PostgresLogStore(session);
}

/** Resolves when the backend of a store waits for the standby, or the number that do. */
async function untilWaiting(count: number): Promise<readonly number[]> {
  for (;;) {
    const { rows } = await admin.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'store' AND wait_event = 'SyncRep'",
    );
    if (rows.length === count) return rows.map(({ pid }) => pid);
  }
}

async function waitForStandbys(names: string): Promise<void> {
  await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await admin.query("SELECT pg_reload_conf()");
}

before(async () => {
  if (skip !== false) return;
  postgres = await startPostgres();
  admin = new Client({ connectionString: postgres.connectionString });
  await admin.connect();
  await admin.query(SCHEMA);
  // Commits of this connection must not wait.
  await admin.query("SET synchronous_commit = local");
});

after(async () => {
  if (skip !== false) return;
  for (const session of sessions) await session.close();
  await admin.end();
  await postgres.stop();
});

test("an append whose wait for the standby was cancelled is doubtful, and its repetition waits again", {
  skip,
}, async () => {
  await admin.query("TRUNCATE larder.shard, larder.log");
  const store = openStore();
  await store.addShards([{ shard: 1, area: "store", hashSeed: Buffer.alloc(4) }]);
  await waitForStandbys("missing");
  const isDoubtful = assert.rejects(store.append(APPEND), DoubtfulOutcome);
  const [pid] = await untilWaiting(1);
  await admin.query("SELECT pg_cancel_backend($1)", [pid]);
  await isDoubtful;
  const again = store.append(APPEND);
  await untilWaiting(1);
  await waitForStandbys("");
  assert.equal(await again, "committed");
});

test("an append whose connection ended is doubtful, and its repetition finds the row", { skip }, async () => {
  await admin.query("TRUNCATE larder.shard, larder.log");
  const store = openStore();
  await store.addShards([{ shard: 1, area: "store", hashSeed: Buffer.alloc(4) }]);
  await waitForStandbys("missing");
  const isDoubtful = assert.rejects(store.append(APPEND), DoubtfulOutcome);
  const [pid] = await untilWaiting(1);
  await admin.query("SELECT pg_terminate_backend($1)", [pid]);
  await isDoubtful;
  await waitForStandbys("");
  assert.equal(await store.append(APPEND), "committed");
  assert.deepEqual(await store.segments(1), [{ segment: 1, epoch: 0, bytes: 5 }]);
});

test("a statement that PostgreSQL refuses is undone and no doubt", { skip }, async () => {
  await admin.query("TRUNCATE larder.shard, larder.log");
  const store = openStore();
  await store.addShards([{ shard: 1, area: "store", hashSeed: Buffer.alloc(4) }]);
  await assert.rejects(store.append({ ...APPEND, shard: 2 ** 40 }), { name: "error", severity: "ERROR" });
  assert.equal(await store.append(APPEND), "committed");
});
