/**
 * Random schedules of three sessions on the log store, in the model and in
 * PostgreSQL: the same calls wait, the same calls return the same, and both have
 * the same rows at the end.
 *
 * Run again: LARDER_CLUSTER_SEED=<seed> npm run t -- test/differential/cluster/log-store.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Client } from "pg";
import { PgSession } from "../../../src/cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../../src/cluster/postgres/postgres-log-store.ts";
import { SCHEMA } from "../../../src/cluster/postgres/schema.ts";
import type { SqlResult, SqlSession, SqlValue, Statement } from "../../../src/cluster/postgres/session.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { allowanceOf, spending } from "../../budget.ts";
import { startPostgres } from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { seedFrom } from "../../harness/seed.ts";
import { Aborted, ModelDatabase, ModelLogStore } from "../../simulation/cluster/model-log-store.ts";
import { contents, type Doing, runSchedule, type ScheduledSession, SESSIONS, SHARDS } from "./schedules.ts";

const seed = seedFrom("LARDER_CLUSTER_SEED");

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

/** Each statement that changes something stops in a transaction before its commit. */
class HeldSession implements SqlSession {
  readonly #client: Client;
  readonly #session: PgSession;
  readonly #gate: Gate;

  constructor(client: Client, gate: Gate) {
    this.#client = client;
    this.#session = new PgSession(() => Promise.resolve(client));
    this.#gate = gate;
  }

  async run<Row>(statement: Statement, values: readonly SqlValue[]): Promise<SqlResult<Row>> {
    if (statement.text.startsWith("SELECT")) return this.#session.run<Row>(statement, values);
    await this.#client.query("BEGIN");
    const result = await this.#session.run<Row>(statement, values);
    const how = await this.#gate.pass();
    await this.#client.query(how === "commit" ? "COMMIT" : "ROLLBACK");
    if (how === "abort") throw new Aborted("The transaction was undone");
    return result;
  }
}

async function realSession(client: Client, admin: Client): Promise<ScheduledSession> {
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
    store: counted(new PostgresLogStore(new HeldSession(client, gate)), calls),
    doing: async (): Promise<Doing> => {
      if (calls.running === 0) return "idle";
      if (gate.isReached) return "ready";
      return (await isWaiting()) ? "waiting" : "running";
    },
    end: (how) => gate.open(how),
  };
}

test(`PostgreSQL and its model answer the same schedules of sessions in the same way (seed ${seed})`, {
  skip: missingProgram("postgres"),
}, async (context) => {
  const postgres = await startPostgres(["fsync=off", "autovacuum=off"]);
  const clients: Client[] = [];
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: postgres.connectionString });
    await client.connect();
    clients.push(client);
    return client;
  };
  try {
    const admin = await connect();
    await admin.query(SCHEMA);
    const realAdmin = new PostgresLogStore(new PgSession(() => Promise.resolve(admin)));
    const real: ScheduledSession[] = [];
    for (let i = 0; i < SESSIONS; i += 1) real.push(await realSession(await connect(), admin));
    const isSpent = spending(allowanceOf("log-store-schedules"));
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
    context.diagnostic(`${schedules} schedules`);
  } finally {
    for (const client of clients) await client.end();
    await postgres.stop();
  }
});
