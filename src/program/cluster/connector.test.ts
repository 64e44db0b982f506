/** Connections over several hosts, with a client that the test answers for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClientConfig } from "pg";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { parseSecretClusterUrl } from "./connection-plan.ts";
import { Connector, type ConnectorOptions, NoServer } from "./connector.ts";

interface ServerFacts {
  readonly reads?: "on" | "off";
  readonly commits?: string;
  readonly fault?: string;
}

/** Servers by host, and the connections that were made to them. */
class Servers {
  readonly servers: Record<string, ServerFacts>;
  readonly clock = new VirtualClock();
  readonly configs: ClientConfig[] = [];
  readonly ended: string[] = [];
  /** True: a statement is not answered. */
  isSilent = false;

  constructor(servers: Record<string, ServerFacts>) {
    this.servers = servers;
  }

  connector(url: string, options: Partial<ConnectorOptions> = {}): Connector {
    // The parts of the package that a connector uses.
    const load = async () => ({ Client: this.#client() }) as unknown as typeof import("pg");
    return new Connector({ plan: parseSecretClusterUrl(url), clock: this.clock, patienceMs: 1_000, load, ...options });
  }

  #client() {
    const all = this;
    return class {
      readonly host: string;
      #fail: (fault: Error) => void = () => {};

      constructor(config: ClientConfig) {
        all.configs.push(config);
        this.host = config.host ?? "";
      }

      on(): void {}

      async connect(): Promise<void> {
        const { fault } = all.servers[this.host] ?? {};
        if (fault !== undefined) throw new Error(fault);
      }

      query(text: unknown): Promise<unknown> {
        if (all.isSilent)
          return new Promise((_, reject) => {
            this.#fail = reject;
          });
        const { reads = "off", commits = "on" } = all.servers[this.host] ?? {};
        const isCheck = String(text).includes("transaction_read_only");
        return Promise.resolve({ rows: isCheck ? [{ reads, commits }] : [{ host: this.host }] });
      }

      async end(): Promise<void> {
        all.ended.push(this.host);
        this.#fail(new Error("Connection terminated"));
      }
    };
  }
}

const URL = "postgres://larder:hunter2@db1,db2,db3/larder";

test("the first host that accepts writes is used, and is the first to be tried again", async () => {
  const all = new Servers({ db1: { fault: "connect ECONNREFUSED" }, db2: { reads: "on" }, db3: {} });
  const connector = all.connector(URL);
  const connection = await connector.connect();
  assert.deepEqual((await connection.query("SELECT 1")).rows, [{ host: "db3" }]);
  assert.deepEqual(all.ended, ["db1", "db2"]);
  await connector.connect();
  assert.deepEqual(
    all.configs.map(({ host }) => host),
    ["db1", "db2", "db3", "db3"],
  );
});

test("without a usable host the error names each one with its reason, and no password", async () => {
  const all = new Servers({ db1: { fault: "connect ECONNREFUSED" }, db2: { reads: "on" }, db3: { commits: "local" } });
  await assert.rejects(all.connector(URL).connect(), (fault) => {
    assert.ok(fault instanceof NoServer);
    assert.equal(
      fault.message,
      "PostgreSQL cannot be used: db1:5432: connect ECONNREFUSED; db2:5432: it accepts no writes; db3:5432: its synchronous_commit is local",
    );
    return true;
  });
  assert.deepEqual(all.ended, ["db1", "db2", "db3"]);
});

test("certificates are verified, except where the URL or this machine says otherwise", async () => {
  for (const [url, ssl] of [
    ["postgres://db/larder", { rejectUnauthorized: true }],
    ["postgres://127.0.0.1/larder", false],
    ["postgres://db/larder?sslmode=require", { rejectUnauthorized: false }],
    ["postgres://db/larder?sslmode=disable", false],
  ] as const) {
    const all = new Servers({});
    await all.connector(url).connect();
    assert.deepEqual(all.configs[0]?.ssl, ssl, url);
  }
});

test("a statement that is not answered ends its connection, and each one in a row waits twice as long", async () => {
  const all = new Servers({});
  const connector = all.connector("postgres://db/larder");
  for (const patienceMs of [1_000, 2_000, 4_000]) {
    all.isSilent = false;
    // The check of a connection is answered, and does not count.
    const connection = await connector.connect();
    all.isSilent = true;
    let outcome = "waits";
    connection.query("SELECT 1").catch((fault: Error) => {
      outcome = fault.message;
    });
    all.clock.advance(patienceMs - 1);
    await nextTurn();
    assert.equal(outcome, "waits", `${patienceMs}`);
    all.clock.advance(1);
    await nextTurn();
    assert.equal(outcome, "Connection terminated", `${patienceMs}`);
  }
  all.isSilent = false;
  await (await connector.connect()).query("SELECT 1");
  all.isSilent = true;
});
