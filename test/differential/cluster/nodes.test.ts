/** Three nodes on a real PostgreSQL, with clocks that the test moves. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { LEASE_MS } from "../../../src/cluster/node/bounds.ts";
import { ClusterNode, type NodeStores } from "../../../src/cluster/node/cluster-node.ts";
import type { ShardHost, TakenShard } from "../../../src/cluster/node/shard-host.ts";
import { PgSession } from "../../../src/cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../../src/cluster/postgres/postgres-log-store.ts";
import { SCHEMA } from "../../../src/cluster/postgres/schema.ts";
import type { SqlResult, SqlSession, SqlValue, Statement } from "../../../src/cluster/postgres/session.ts";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { readStandbyHistory } from "../../../src/program/cluster/standby/standby-report.ts";
import { type PostgresProcess, startPostgres } from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { emptyDirectory, nodeOptions } from "../../simulation/cluster/node-options.ts";

const skip = missingProgram("postgres");
const SHARDS = 48;

let postgres: PostgresProcess;
const sessions: PgSession[] = [];
const statements = { running: 0, sent: 0 };

class CountedSession implements SqlSession {
  readonly #session: PgSession;

  constructor() {
    this.#session = new PgSession(async () => {
      const client = new Client({ connectionString: postgres.connectionString });
      await client.connect();
      return client;
    });
    sessions.push(this.#session);
  }

  async run<Row>(statement: Statement, values: readonly SqlValue[]): Promise<SqlResult<Row>> {
    statements.running += 1;
    statements.sent += 1;
    try {
      return await this.#session.run<Row>(statement, values);
    } finally {
      statements.running -= 1;
    }
  }
}

class MemoryHost implements ShardHost {
  readonly loaded = new Set<number>();
  readonly reasons: string[] = [];

  async load({ shard }: TakenShard): Promise<void> {
    this.loaded.add(shard);
  }

  async unload({ shard }: TakenShard): Promise<void> {
    this.loaded.delete(shard);
  }

  mayMove(): boolean {
    return true;
  }

  lost(reason: string): void {
    this.reasons.push(reason);
  }
}

interface Started {
  readonly node: ClusterNode;
  readonly host: MemoryHost;
}

const openStore = (): PostgresLogStore => new PostgresLogStore(new CountedSession());

/** As if PostgreSQL had the clock of the test. */
function onClock(store: PostgresLogStore, clock: VirtualClock): NodeStores["renewals"] {
  return {
    renew: async (life, clockMs) => {
      const renewal = await store.renew(life, clockMs);
      return renewal && { ...renewal, storeClockMs: clock.nowMs() };
    },
  };
}

async function startNode(name: string, clock: VirtualClock): Promise<Started> {
  const host = new MemoryHost();
  const stores = { renewals: onClock(openStore(), clock), polls: openStore(), changes: openStore() };
  const directory = emptyDirectory();
  const drawLife = (): string => crypto.randomUUID();
  const node = await ClusterNode.start(nodeOptions({ stores, clock, host, name, directory, drawLife }));
  assert.ok(node !== undefined, `${name} was refused`);
  return { node, host };
}

/** Moves the clock, and waits after each step until PostgreSQL has answered everything. */
async function advance(clock: VirtualClock, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 250) {
    clock.advance(250);
    do {
      await nextTurn();
      await nextTurn();
    } while (statements.running > 0);
  }
}

before(async () => {
  if (skip === false) postgres = await startPostgres(["fsync=off"]);
});

after(async () => {
  if (skip !== false) return;
  for (const session of sessions) await session.close();
  await postgres.stop();
});

test("three nodes share 48 shards with at most 12 statements a second, and two of them take over those of a third", {
  skip,
}, async () => {
  const admin = new Client({ connectionString: postgres.connectionString });
  await admin.connect();
  await admin.query(SCHEMA);
  await admin.end();
  const store = openStore();
  await store.addShards(
    Array.from({ length: SHARDS }, (_, shard) => ({ shard, area: "store", hashSeed: Buffer.alloc(4) })),
  );
  const clock = new VirtualClock(Date.now());
  const nodes: Started[] = [];
  for (const name of ["a", "b", "c"]) nodes.push(await startNode(name, clock));
  const [stopped, ...others] = nodes as [Started, ...Started[]];
  await advance(clock, 30_000);
  const counts = nodes.map(({ host }) => host.loaded.size);
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    SHARDS,
  );
  assert.ok(Math.min(...counts) > 0, `${counts}`);

  const before = statements.sent;
  await advance(clock, 30_000);
  const perSecond = (statements.sent - before) / 30;
  assert.ok(perSecond <= 12, `${perSecond} statements a second`);

  stopped.node.stop();
  await advance(clock, LEASE_MS - 1_500);
  assert.equal(
    others.reduce((sum, { host }) => sum + host.loaded.size, 0),
    SHARDS - stopped.host.loaded.size,
  );
  await advance(clock, 20_000);
  assert.deepEqual(
    others.flatMap(({ host }) => [...host.loaded]).toSorted((a, b) => a - b),
    Array.from({ length: SHARDS }, (_, shard) => shard),
  );
  assert.deepEqual(
    others.flatMap(({ host }) => host.reasons),
    [],
  );
  for (const { node } of others) node.stop();
});

/** What happens to the node `b`, and the segment that the owner keeps then. */
const REPORTS: readonly (readonly [string, number | undefined])[] = [
  ["memory = NULL", 0],
  ["memory = json_build_object('life', life, 'standbys', '{}'::json)", undefined],
  ["memory = json_build_object('life', life)", undefined],
  [`memory = json_build_object('life', life, 'standbys', '{"90": {"bytes": null, "history": null}}'::json)`, 0],
  [`memory = json_build_object('life', life, 'standbys', '{"90": {"bytes": 0, "history": 7}}'::json)`, 7],
  ["life = gen_random_uuid()", 0],
  ["is_dead = true", undefined],
];

test("a living node that has not reported yet counts as a standby whose log of messages has nothing", {
  skip,
}, async () => {
  const admin = new Client({ connectionString: postgres.connectionString });
  await admin.connect();
  await admin.query(`DELETE FROM larder.node;
    INSERT INTO larder.node (name, life, address, format, clock_ms)
      SELECT name, gen_random_uuid(), '', 1, 0 FROM unnest(ARRAY['a', 'b']) AS name;
    INSERT INTO larder.shard (id, area, hash_seed, owner)
      SELECT 90, 'messaging', '', life FROM larder.node WHERE name = 'a'`);
  const session = new CountedSession();
  for (const [change, expected] of REPORTS) {
    await admin.query(`UPDATE larder.node SET ${change} WHERE name = 'b'`);
    assert.equal(await readStandbyHistory(session, 90), expected, change);
  }
  await admin.end();
});
