/**
 * Random schedules of three sessions on the log store, in the model and in
 * PostgreSQL: the same calls wait, the same calls return the same, and both have
 * the same rows at the end.
 *
 * Run again: LARDER_CLUSTER_SEED=<seed> npm run t -- test/differential/cluster/log-store.test.ts
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Client } from "pg";
import { PgSession } from "../../../src/cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../../src/cluster/postgres/postgres-log-store.ts";
import { SCHEMA } from "../../../src/cluster/postgres/schema.ts";
import type { SqlResult, SqlSession, SqlValue, Statement } from "../../../src/cluster/postgres/session.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { allowanceOf, spending } from "../../budget.ts";
import { type PostgresProcess, startPostgres } from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { seedFrom } from "../../harness/seed.ts";
import { Aborted, ModelDatabase, ModelLogStore } from "../../simulation/cluster/model-log-store.ts";
import { contents, type Doing, runSchedule, type ScheduledSession, SESSIONS, SHARDS } from "./schedules.ts";

const seed = seedFrom("LARDER_CLUSTER_SEED");
const skip = missingProgram("postgres");

type End = "commit" | "abort";

/** Where a call stops before its commit. */
class Gate {
  #open: ((how: End) => void) | undefined;

  get isReached(): boolean {
    return this.#open !== undefined;
  }

  pass(): Promise<End> {
    return new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(how: End): void {
    const open = this.#open;
    this.#open = undefined;
    open?.(how);
  }
}

/** Calls the store and notes how many calls have not returned. */
function counted(store: ModelLogStore | PostgresLogStore, calls: { running: number }): ScheduledSession["store"] {
  return new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (...args: unknown[]) => {
        calls.running += 1;
        return (method.apply(target, args) as Promise<unknown>).finally(() => {
          calls.running -= 1;
        });
      };
    },
  });
}

function modelSession(database: ModelDatabase): ScheduledSession {
  const gate = new Gate();
  const calls = { running: 0 };
  const store = new ModelLogStore({ database, mayCommit: async () => (await gate.pass()) === "commit" });
  return {
    store: counted(store, calls),
    doing: async () => {
      // Calls of the model await nothing but each other.
      await setImmediate();
      if (gate.isReached) return "ready";
      return calls.running === 0 ? "idle" : "waiting";
    },
    end: (how) => gate.open(how),
  };
}

/** What a statement says instead of its text. */
type Rewrite = (text: string) => string;

/** Each statement that changes something stops in a transaction before its commit. */
class HeldSession implements SqlSession {
  readonly #client: Client;
  readonly #session: PgSession;
  readonly #gate: Gate;
  readonly #rewrite: Rewrite;

  constructor(client: Client, { gate, rewrite }: { readonly gate: Gate; readonly rewrite: Rewrite }) {
    this.#client = client;
    this.#session = new PgSession(() => Promise.resolve(client));
    this.#gate = gate;
    this.#rewrite = rewrite;
  }

  async run<Row>({ name, text }: Statement, values: readonly SqlValue[]): Promise<SqlResult<Row>> {
    const statement: Statement = { name, text: this.#rewrite(text) };
    if (statement.text.startsWith("SELECT")) return this.#session.run<Row>(statement, values);
    await this.#client.query("BEGIN");
    const result = await this.#session.run<Row>(statement, values);
    const how = await this.#gate.pass();
    await this.#client.query(how === "commit" ? "COMMIT" : "ROLLBACK");
    if (how === "abort") throw new Aborted("The transaction was undone");
    return result;
  }
}

async function realSession(client: Client, admin: Client, rewrite: Rewrite): Promise<ScheduledSession> {
  const gate = new Gate();
  const calls = { running: 0 };
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const pid = rows[0]?.pid;
  const isWaiting = async (): Promise<boolean> => {
    const text = "SELECT cardinality(pg_blocking_pids($1)) > 0 AS waits";
    const { rows: found } = await admin.query<{ waits: boolean }>(text, [pid]);
    return found[0]?.waits === true;
  };
  return {
    store: counted(new PostgresLogStore(new HeldSession(client, { gate, rewrite })), calls),
    doing: async (): Promise<Doing> => {
      if (calls.running === 0) return "idle";
      if (gate.isReached) return "ready";
      return (await isWaiting()) ? "waiting" : "running";
    },
    end: (how) => gate.open(how),
  };
}

let postgres: PostgresProcess;

before(async () => {
  if (skip === false) postgres = await startPostgres(["fsync=off", "autovacuum=off"]);
});

after(async () => {
  await postgres?.stop();
});

/** Runs schedules on both stores, and returns their count. Rejects with the first difference. */
async function compareStores(isSpent: (count: number) => boolean, rewrite: Rewrite = (text) => text): Promise<number> {
  const clients: Client[] = [];
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: postgres.connectionString });
    await client.connect();
    clients.push(client);
    return client;
  };
  try {
    const admin = await connect();
    await admin.query("DROP SCHEMA IF EXISTS larder CASCADE");
    await admin.query(SCHEMA);
    const realAdmin = new PostgresLogStore(new PgSession(() => Promise.resolve(admin)));
    const real: ScheduledSession[] = [];
    for (let i = 0; i < SESSIONS; i += 1) real.push(await realSession(await connect(), admin, rewrite));
    let schedules = 0;
    for (; !isSpent(schedules); schedules += 1) {
      await admin.query("TRUNCATE larder.node, larder.shard, larder.log, larder.snapshot_part");
      const database = new ModelDatabase(() => 0);
      const shards = SHARDS.map((shard) => ({ shard, area: "store", hashSeed: Buffer.alloc(4, shard) }));
      const modelAdmin = new ModelLogStore({ database, mayCommit: () => Promise.resolve(true) });
      for (const store of [modelAdmin, realAdmin]) await store.addShards(shards);
      const model = Array.from({ length: SESSIONS }, () => modelSession(database));
      await runSchedule(seededRandom(seed + schedules), [model, real], [modelAdmin, realAdmin]);
      assert.equal(await contents(realAdmin), await contents(modelAdmin), `seed ${seed + schedules}`);
    }
    return schedules;
  } finally {
    for (const client of clients) await client.end();
  }
}

test(`PostgreSQL and its model answer the same schedules of sessions in the same way (seed ${seed})`, {
  skip,
}, async (context) => {
  const schedules = await compareStores(spending(allowanceOf("log-store-schedules")));
  context.diagnostic(`${schedules} schedules`);
});

/** Bugs of the statements: the name, and what the lock of the shard says instead. */
const planted: readonly (readonly [name: string, lock: string])[] = [
  ["a statement does not compare the epoch", "epoch >= 0 * $2::bigint FOR NO KEY UPDATE"],
  ["a statement locks the shard FOR KEY SHARE", "epoch = $2::bigint FOR KEY SHARE"],
  ["a statement does not lock the shard", "epoch = $2::bigint"],
];
const LOCK = "epoch = $2::bigint FOR NO KEY UPDATE";
/** A bug that needs more schedules than this has become hard to find. */
const FINDING_MAX = 40;

for (const [name, lock] of planted)
  test(`the schedules find: ${name}`, { skip }, async () => {
    await assert.rejects(
      compareStores(
        (count) => count >= FINDING_MAX,
        (text) => text.replace(LOCK, lock),
      ),
      /^Error: The stores differ after\n/,
    );
  });
