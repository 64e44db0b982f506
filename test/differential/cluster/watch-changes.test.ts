/** How nodes follow nodes and shards, on a real PostgreSQL: what a poll returns, and what it reads for that. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";
import { Client } from "pg";
import type { ClusterChanges, ShardView } from "../../../src/cluster/log-store/log-store.ts";
import { PgSession } from "../../../src/cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../../src/cluster/postgres/postgres-log-store.ts";
import { SCHEMA, UPGRADES } from "../../../src/cluster/postgres/schema.ts";
import { type PostgresProcess, startPostgres } from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";

const skip = missingProgram("postgres");
const LIFE = "00000000-0000-4000-8000-000000000001";

let postgres: PostgresProcess;
let clients: Client[] = [];
let admin: Client;
/** Polls on a connection of its own. */
let reader: Client;
let store: PostgresLogStore;

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: postgres.connectionString });
  await client.connect();
  clients.push(client);
  return client;
}

before(async () => {
  if (skip === false) postgres = await startPostgres(["fsync=off", "autovacuum=off"]);
});

beforeEach(async () => {
  if (skip !== false) return;
  for (const client of clients) await client.end();
  clients = [];
  [admin, reader] = [await connect(), await connect()];
  await admin.query("DROP SCHEMA IF EXISTS larder CASCADE");
  store = new PostgresLogStore(new PgSession(() => Promise.resolve(reader)));
});

after(async () => {
  if (skip !== false) return;
  for (const client of clients) await client.end();
  await postgres.stop();
});

async function makeShards(count: number): Promise<void> {
  await admin.query(SCHEMA);
  await admin.query("INSERT INTO larder.cluster (id, branch, schema_version) VALUES ($1, $1, 7)", [LIFE]);
  await addShards(count);
}

async function addShards(count: number): Promise<void> {
  await admin.query(
    "INSERT INTO larder.shard (id, area, hash_seed) SELECT i, 'store', '' FROM generate_series(1, $1) i",
    [count],
  );
}

function numbers({ shards }: ClusterChanges): readonly number[] {
  return shards.map(({ shard }: ShardView) => shard);
}

test("a poll returns what was committed since the one before, in whatever order it was begun", { skip }, async () => {
  await makeShards(4);
  const [early, late] = [await connect(), await connect()];
  const { position: atFirst } = await store.watchChanges();
  await early.query("BEGIN");
  await early.query("UPDATE larder.shard SET pin = 'a' WHERE id = 1");
  await late.query("UPDATE larder.shard SET pin = 'a' WHERE id = 2");

  const second = await store.watchChanges(atFirst);
  assert.deepEqual([numbers(second), second.isWhole], [[2], false]);
  await late.query("UPDATE larder.shard SET pin = 'a' WHERE id = 3");
  await early.query("COMMIT");
  const third = await store.watchChanges(second.position);
  assert.deepEqual(numbers(third), [1, 3]);
  assert.deepEqual(numbers(await store.watchChanges(third.position)), []);

  // As if changes became visible in the order of their numbers: the planted bug of the simulation.
  const [server, snapshot = ""] = second.position.split(" ");
  const [, next] = snapshot.split(":");
  assert.deepEqual(numbers(await store.watchChanges(`${server} ${next}:${next}:`)), [3]);
});

test("a change that is undone is not returned, and one by a transaction that began before another is", {
  skip,
}, async () => {
  await makeShards(2);
  const [first, second] = [await connect(), await connect()];
  await first.query("BEGIN");
  await first.query("SELECT txid_current()");
  await second.query("UPDATE larder.shard SET pin = 'a' WHERE id = 1");
  const { position } = await store.watchChanges();
  await first.query("UPDATE larder.shard SET pin = 'b' WHERE id = 1");
  await first.query("UPDATE larder.shard SET pin = 'b' WHERE id = 2");
  assert.deepEqual(numbers(await store.watchChanges(position)), []);
  await first.query("COMMIT");
  assert.deepEqual(numbers(await store.watchChanges(position)), [1, 2]);
  await second.query("BEGIN");
  await second.query("UPDATE larder.shard SET pin = 'c'");
  const { position: later } = await store.watchChanges(position);
  await second.query("ROLLBACK");
  assert.deepEqual(numbers(await store.watchChanges(later)), []);
});

test("renewals, clocks and snapshots change no row that others follow, and every other column does", {
  skip,
}, async () => {
  await makeShards(1);
  const node = { name: "a", life: LIFE, formerLife: undefined, address: "", format: 1, clockMs: 5 };
  assert.equal(await store.register(node), true);
  let { position } = await store.watchChanges();
  for (const [statement, rows] of [
    [`UPDATE larder.node SET beat = beat + 1, clock_ms = 9, memory = '{}', tenants_seen = 4`, 0],
    ["UPDATE larder.node SET is_drained = true", 1],
    ["UPDATE larder.node SET is_drained = true", 0],
    ["UPDATE larder.node SET key_number = 1", 1],
    ["UPDATE larder.node SET is_dead = true", 1],
    ["UPDATE larder.node SET address = 'http://a'", 1],
    ["UPDATE larder.node SET format = 2", 1],
    ["UPDATE larder.node SET life = gen_random_uuid()", 1],
    ["UPDATE larder.shard SET snapshot_number = 3, snapshot_epoch = 1, floor_ms = 7, are_tenants_known = true", 0],
    ["UPDATE larder.shard SET epoch = epoch + 1", 1],
    ["UPDATE larder.shard SET owner = gen_random_uuid()", 1],
    ["UPDATE larder.shard SET owner_name = 'a'", 1],
    ["UPDATE larder.shard SET heir = 'a'", 1],
    ["UPDATE larder.shard SET pin = 'a'", 1],
    ["UPDATE larder.shard SET tries = 1", 1],
    ["UPDATE larder.shard SET writer_format = 2", 1],
    ["INSERT INTO larder.shard (id, area, hash_seed) VALUES (9, 'vector', '')", 1],
  ] as const) {
    await admin.query(statement);
    const changes = await store.watchChanges(position);
    assert.equal(changes.nodes.length + changes.shards.length, rows, statement);
    ({ position } = changes);
  }
});

test("another server, or one that was started again, is read as a whole", { skip }, async () => {
  await makeShards(3);
  const { position, isWhole } = await store.watchChanges();
  assert.equal(isWhole, true);
  const [server, snapshot] = position.split(" ");
  for (const other of [`${server}1 ${snapshot}`, `0 ${snapshot}`]) {
    const changes = await store.watchChanges(other);
    assert.deepEqual([numbers(changes), changes.isWhole], [[1, 2, 3], true]);
  }
});

test("nodes of the version before go on with the new tables, and what they change is seen", { skip }, async () => {
  await admin.query(readFileSync(new URL("../../fixtures/cluster-tables-5.sql", import.meta.url), "utf8"));
  await addShards(3);
  const register = `INSERT INTO larder.node AS n (name, life, address, format, clock_ms, schema_version, tenants_seen)
    VALUES ($1::text, $2::uuid, '', 1, 5, 5, NULL)
    ON CONFLICT (name) DO UPDATE SET life = excluded.life, beat = 0, is_dead = false RETURNING 1`;
  const renew = "UPDATE larder.node SET beat = beat + 1 WHERE life = $1::uuid AND NOT is_dead RETURNING beat";
  const claim = `UPDATE larder.shard s SET epoch = $2::bigint + 1, owner = $3::uuid, heir = NULL, tries = tries + 1
    WHERE id = $1::int AND epoch = $2::bigint RETURNING epoch`;
  const older = await connect();
  // Prepared before the tables change, as those of a node that runs.
  const run = (name: string, text: string, values: readonly unknown[]): Promise<{ rowCount: number | null }> =>
    older.query({ name, text, values: [...values] });
  await run("register", register, ["old", LIFE]);
  await run("renew", renew, [LIFE]);
  await run("claim", claim, [1, 0, LIFE]);
  await admin.query(UPGRADES.get(5) ?? "");

  const whole = await store.watchChanges();
  assert.deepEqual(
    [whole.nodes.map(({ name, beat }) => [name, beat]), whole.beats.map(([, beat]) => beat), numbers(whole)],
    [[["old", 1]], [1], [1, 2, 3]],
  );
  assert.equal((await run("renew", renew, [LIFE])).rowCount, 1);
  assert.equal((await run("claim", claim, [2, 0, LIFE])).rowCount, 1);
  const changes = await store.watchChanges(whole.position);
  assert.deepEqual([changes.nodes, changes.beats.map(([, beat]) => beat), numbers(changes)], [[], [2], [2]]);
  await run("register", register, ["old", "00000000-0000-4000-8000-000000000002"]);
  await run("register", register, ["older", "00000000-0000-4000-8000-000000000003"]);
  const registered = await store.watchChanges(changes.position);
  const [again, other] = registered.nodes;
  assert.deepEqual([again?.name, again?.number, other?.name], ["old", whole.nodes[0]?.number, "older"]);
  assert.equal(registered.beats.length, 2);
});

interface Plan {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

/** The rows of a table that a prepared statement reads, whether it returns them or not. */
async function rowsRead(statement: string, values: readonly string[], relation: string): Promise<number> {
  const text = `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "${statement}"(${values.map((value) => `'${value}'`).join(", ")})`;
  const { rows } = await reader.query<{ "QUERY PLAN": readonly [{ Plan: Plan }] }>(text);
  const sum = (plan: Plan): number => {
    const read = (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"];
    const own = plan["Relation Name"] === relation ? read : 0;
    return (plan.Plans ?? []).reduce((total, each) => total + sum(each), own);
  };
  const [{ Plan: plan } = { Plan: undefined }] = rows[0]?.["QUERY PLAN"] ?? [];
  assert.ok(plan !== undefined);
  return sum(plan);
}

/** All bytes that the reader's connection has sent and got. */
function bytesOfReader(): number {
  const connection: unknown = Reflect.get(reader, "connection");
  const { bytesRead, bytesWritten } = Reflect.get(connection as object, "stream") as {
    bytesRead: number;
    bytesWritten: number;
  };
  return bytesRead + bytesWritten;
}

test("with 100 nodes and 10,000 shards PostgreSQL reads the rows that a poll returns, and those of one owner for a renewal", {
  skip,
}, async (context) => {
  await makeShards(10_000);
  const lifeOf = (number: number): string => `00000000-0000-4000-8000-${`${number}`.padStart(12, "0")}`;
  await admin.query(`INSERT INTO larder.node (name, life, beat, address, format, clock_ms)
    SELECT 'node-' || i, ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid, 40000 + i, 'http://10.0.0.1:8079', 1, 5
    FROM generate_series(1, 100) i`);
  await admin.query(`UPDATE larder.shard SET epoch = 7, owner_name = 'node-' || (id % 100 + 1),
    owner = ('00000000-0000-4000-8000-' || lpad((id % 100 + 1)::text, 12, '0'))::uuid`);
  let { position, shards } = await store.watchChanges();
  assert.equal(shards.length, 10_000);
  // The plan of a prepared statement may change after the fifth use.
  for (let poll = 0; poll < 8; poll += 1) ({ position, shards } = await store.watchChanges(position));
  assert.deepEqual(shards, []);
  const seen = position.split(" ");
  assert.equal(await rowsRead("larder-watch", seen, "shard"), 0);
  await admin.query("UPDATE larder.shard SET tries = 1 WHERE id IN (3, 5)");
  assert.equal(await rowsRead("larder-watch", seen, "shard"), 2);
  // Beats, and a look at each node for other changes.
  assert.equal(await rowsRead("larder-watch", seen, "node"), 200);

  await store.watchChanges(position);
  const before = bytesOfReader();
  ({ position } = await store.watchChanges(position));
  const bytes = bytesOfReader() - before;
  context.diagnostic(`a poll of 100 nodes and no change: ${bytes} bytes`);
  assert.ok(bytes <= 2_000, `${bytes} bytes`);

  for (let renewal = 0; renewal < 8; renewal += 1) {
    const renewed = await store.renew(lifeOf(7), 5);
    assert.equal(renewed?.owned.length, 100);
  }
  // The rows of the table may have dead versions, which only an index passes by.
  assert.equal(await rowsRead("larder-renew", [lifeOf(7), "5"], "shard"), 100);
  const beforeRenewal = bytesOfReader();
  await store.renew(lifeOf(7), 5);
  const renewalBytes = bytesOfReader() - beforeRenewal;
  context.diagnostic(`a renewal with 100 shards: ${renewalBytes} bytes`);
  assert.ok(renewalBytes <= 2_000, `${renewalBytes} bytes`);
});
