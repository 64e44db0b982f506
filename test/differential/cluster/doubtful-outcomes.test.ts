/**
 * Appends to a PostgreSQL whose commits wait for a standby that does not exist:
 * only what waited to the end counts as committed.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
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

/** A store whose commits wait for the standby, or not. */
function openStore(synchronousCommit: "on" | "local"): PostgresLogStore {
  const session = new PgSession(async () => {
    const client = new Client({
      connectionString: postgres.connectionString,
      application_name: "store",
      options: `-c synchronous_commit=${synchronousCommit}`,
    });
    await client.connect();
    return client;
  });
  sessions.push(session);
  return new PostgresLogStore(session);
}

/** The process of the store that waits for the standby, when one does. */
async function untilWaiting(): Promise<number> {
  for (;;) {
    const { rows } = await admin.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'store' AND wait_event = 'SyncRep'",
    );
    const [waiting] = rows;
    if (waiting !== undefined) return waiting.pid;
  }
}

before(async () => {
  if (skip !== false) return;
  postgres = await startPostgres(["synchronous_standby_names=missing"]);
  admin = new Client({ connectionString: postgres.connectionString, options: "-c synchronous_commit=local" });
  await admin.connect();
  await admin.query(SCHEMA);
});

beforeEach(async () => {
  if (skip !== false) return;
  await admin.query("TRUNCATE larder.shard, larder.log");
  await openStore("local").addShards([{ shard: 1, area: "store", hashSeed: Buffer.alloc(4) }]);
});

after(async () => {
  if (skip !== false) return;
  for (const session of sessions) await session.close();
  await admin.end();
  await postgres.stop();
});

test("a statement that PostgreSQL refuses is undone and no doubt", { skip }, async () => {
  const store = openStore("local");
  await assert.rejects(store.append({ ...APPEND, shard: 2 ** 40 }), { name: "error", severity: "ERROR" });
  assert.equal(await store.append(APPEND), "committed");
});

test("an append whose connection ended is doubtful, and its repetition finds the row", { skip }, async () => {
  const isDoubtful = assert.rejects(openStore("on").append(APPEND), DoubtfulOutcome);
  await admin.query("SELECT pg_terminate_backend($1)", [await untilWaiting()]);
  await isDoubtful;
  const other = openStore("local");
  assert.equal(await other.append(APPEND), "committed");
  assert.deepEqual(await other.segments(1), [{ segment: 1, epoch: 0, bytes: 5 }]);
});

test("an append whose wait for the standby was cancelled is doubtful, and its repetition waits again", {
  skip,
}, async () => {
  const store = openStore("on");
  const isDoubtful = assert.rejects(store.append(APPEND), DoubtfulOutcome);
  await admin.query("SELECT pg_cancel_backend($1)", [await untilWaiting()]);
  await isDoubtful;
  const isAgainDoubtful = assert.rejects(store.append(APPEND), DoubtfulOutcome);
  await admin.query("SELECT pg_cancel_backend($1)", [await untilWaiting()]);
  await isAgainDoubtful;
});
