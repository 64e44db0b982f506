/** What a node does while PostgreSQL is away, and when it is back. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { freePort } from "../../harness/free-port.ts";
import {
  initPostgres,
  openPostgresFolder,
  type PostgresFolder,
  postgresCommand,
  postgresConnection,
} from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread } from "../program-process.ts";
import { NodeClient, TestCluster } from "./cluster-program.ts";

const skip = missingProgram("postgres");

/** A PostgreSQL that can be killed and started again. */
class Restartable {
  readonly #folder: PostgresFolder = openPostgresFolder(tmpdir());
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(port: number) {
    this.#port = port;
    initPostgres(this.#folder);
  }

  static async make(): Promise<Restartable> {
    return new Restartable(await freePort());
  }

  get connectionString(): string {
    return postgresConnection(this.#port);
  }

  async start(): Promise<void> {
    const [program, ...args] = postgresCommand(this.#folder, { port: this.#port });
    const child = spawn(program, args, {
      cwd: this.#folder.directory,
      ...this.#folder.user,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    await new Promise<void>((resolve) => {
      let output = "";
      child.stderr.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes("ready to accept connections")) resolve();
      });
    });
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    child.kill("SIGQUIT");
    await once(child, "exit");
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder.directory, { recursive: true, force: true });
  }
}

let postgres: Restartable;
let cluster: TestCluster;

before(async () => {
  if (skip !== false) return;
  postgres = await Restartable.make();
  await postgres.start();
  cluster = TestCluster.on(postgres);
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
});

after(async () => {
  if (skip === false) await cluster.stop();
});

test("a node keeps its shards through an outage of PostgreSQL, and refuses writes meanwhile", { skip }, async () => {
  const node = await cluster.startNode("a", oneThread);
  const client = new NodeClient(node);
  await client.untilServing();
  assert.equal((await client.store("SET", "k", "before")).status, 200);
  const killed = postgres.kill();
  await node.untilPrinted(/"nodes and shards not read"/);
  // While the lease is fresh a write is accepted and waits: it is committed when PostgreSQL is back.
  const pending = client.store("SET", "pending", "1");
  await node.untilPrinted(/"writes are refused","area":"store","reason":"PostgreSQL does not answer"/);
  // Without a lease writes are refused at once.
  let reasons = "";
  while (!reasons.includes("messaging cannot write: PostgreSQL does not answer"))
    reasons = await (await fetch(`${node.adminUrl}/health/ready`)).text();
  const refused = await client.messaging("/v2/publish/https://example.com/hook", { body: "never" });
  assert.deepEqual(refused, {
    status: 503,
    body: { error: "Requests cannot be accepted now: PostgreSQL does not answer" },
  });
  await killed;
  await postgres.start();
  assert.deepEqual(await pending, { status: 200, body: { result: "OK" } });
  let answer = await client.store("SET", "k", "after");
  while (answer.status !== 200) answer = await client.store("SET", "k", "after");
  assert.deepEqual(await client.store("GET", "k"), { status: 200, body: { result: "after" } });
  assert.doesNotMatch(node.log, /node lost/);
  assert.deepEqual(await node.stop(), { code: 0, signal: null });
});

test("a node that cannot open a port of its shard releases it and ends with the reason", { skip }, async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const node = await cluster.startNode("b", [...oneThread, "--resp-port", String(port)]);
  assert.deepEqual(await node.ended, { code: 1, signal: null });
  assert.match(
    node.log,
    new RegExp(`"an area could not be opened; the node ends","area":"store","reason":"Port ${port} on`),
  );
  taken.close();
  const { stdout } = await cluster.larder(["cluster", "status"]);
  assert.match(stdout, /^shard 1 \(store\): free, last by b, epoch \d+, 1 claims without a recovery$/m);
});

test("a node that stops while PostgreSQL is away ends in time, with code 1", { skip }, async () => {
  const node = await cluster.startNode("a", [...oneThread, "--shutdown-grace", "1s"]);
  const client = new NodeClient(node);
  await client.untilServing();
  assert.deepEqual(await client.store("GET", "k"), {
    status: 200,
    body: { result: "after" },
  });
  await postgres.kill();
  assert.deepEqual(await node.stop(), { code: 1, signal: null });
  assert.match(node.log, /node could not leave the cluster: PostgreSQL does not answer/);
});
