/**
 * An upgrade of three nodes, one after the other, while clients write and
 * publish through each of them: the build of an earlier commit beside this one.
 *
 * `EARLIER` is the last release, or before the first one the last commit whose files
 * have format 1. After a release, set it to the commit of its tag. To begin from
 * another commit, such as the last one whose tables have version 4:
 *
 *     LARDER_EARLIER=7913684d npm run t -- test/failover/rolling-upgrade.test.ts
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { SCHEMA_VERSION } from "../../src/cluster/postgres/schema.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { buildCommit, type EarlierBuild, missingCommit } from "../harness/earlier-build.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { seedFrom } from "../harness/seed.ts";
import { secrets, TestCluster } from "../program/cluster/cluster-program.ts";
import { programFile, type RunningProgram } from "../program/program-process.ts";
import { moment } from "../simulation/kill/endings.ts";
import { Receiver } from "../simulation/kill/messaging/receiver.ts";
import { Ledger } from "../simulation/kill/store/ledger.ts";
import type { NodeAddress } from "./cluster-requests.ts";
import { urlsOf } from "./larder-nodes.ts";
import { Observers } from "./observers.ts";
import { Publisher } from "./publisher.ts";
import { checkStore, writeThrough } from "./store-writers.ts";

const EARLIER = { commit: "426172adee0fea1a129f44ae410b25d8fca1c5a7", tables: 5 } as const;
const commit = process.env["LARDER_EARLIER"] ?? EARLIER.commit;

const skip = missingProgram("postgres") || missingCommit(commit);
const NAMES = ["a", "b", "c"] as const;
type Name = (typeof NAMES)[number];
const STORE_TOKEN = secrets["LARDER_STORE_TOKEN"] ?? "";
const MESSAGING_TOKEN = secrets["LARDER_MESSAGING_TOKEN"] ?? "";
/** Through each node, before the next step. */
const ENOUGH = 20;
/** Longer than a stop with its grace and a takeover. */
const SILENCE_MS_MAX = 40_000;
const LOOK_MS = 20;

let cluster: TestCluster;
let earlier: EarlierBuild;

before(async () => {
  if (skip !== false) return;
  earlier = buildCommit(commit);
  cluster = await TestCluster.start();
});

after(async () => {
  await cluster?.stop();
  earlier?.stop();
});

/** Three nodes, and for each of them clients that use it alone. */
class Upgrade {
  readonly #nodes = new Map<Name, RunningProgram>();
  readonly #receiver: Receiver;
  readonly #publishers = NAMES.map(() => new Publisher());
  readonly #ledger = new Ledger(NAMES.length);
  readonly #observers = new Observers("seen");
  readonly #acknowledged = new Map<Name, number>();
  /** Of the clients of each node: when the last write was acknowledged, and the longest time between two. */
  readonly #lastMs = new Map<Name, number>();
  readonly longestMs = new Map<Name, number>();
  #work: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  async start(name: Name, program: string): Promise<void> {
    cluster.program = program;
    const args = ["--cluster-address", "127.0.0.1:0", "--destinations", "any", "--takeover-wait", "30s"];
    this.#nodes.set(name, await cluster.startNode(name, args));
  }

  /** As a service manager does. Its own clients wait until it starts again. */
  async stop(name: Name): Promise<void> {
    const node = this.#nodes.get(name);
    this.#nodes.delete(name);
    const end = await node?.stop();
    assert.deepEqual(end, { code: 0, signal: null }, node?.log.slice(-2_000) ?? "it runs");
  }

  begin(): void {
    const random = seededRandom(seedFrom("LARDER_UPGRADE_SEED"));
    const isOver = () => this.#isOver;
    const work = NAMES.flatMap((name, index) => {
      const clients = { nodes: () => this.#addresses([name]), isOver };
      const owner = this.#ledger.owners[index] ?? "";
      return [
        this.#publishers[index]?.publishThrough({ ...clients, receiver: this.#receiver, token: MESSAGING_TOKEN }),
        this.#observers.observeThrough({ ...clients, random, token: STORE_TOKEN }),
        writeThrough(owner, {
          ...{ ...clients, random, token: STORE_TOKEN, ledger: this.#ledger },
          acknowledged: () => this.#noteWrite(name),
        }),
      ];
    });
    this.#work = Promise.all(work);
  }

  /**
   * Resolves when writes through these nodes were acknowledged. A client ends when it does not know what became of a
   * write, so that this rejects if a step of the upgrade has cut one off.
   */
  async untilAcknowledged(names: readonly Name[]): Promise<void> {
    const before = new Map(this.#acknowledged);
    const endMs = systemClock.monotonicMs() + SILENCE_MS_MAX;
    const isEnough = (name: Name): boolean => (this.#acknowledged.get(name) ?? 0) - (before.get(name) ?? 0) >= ENOUGH;
    while (!names.every(isEnough)) {
      const silent = names.filter((name) => !isEnough(name));
      assert.ok(systemClock.monotonicMs() < endMs, `writes through ${silent.join(", ")} are acknowledged`);
      await Promise.race([this.#work, moment(LOOK_MS)]);
    }
  }

  /** Ends the clients and compares what is there with what was acknowledged. */
  async end(): Promise<{ readonly writes: number; readonly messages: number }> {
    this.#isOver = true;
    await this.#work;
    this.#ledger.closeOpenWrites();
    const nodes = () => this.#addresses(NAMES);
    assert.deepEqual(await checkStore(this.#ledger, { nodes, token: STORE_TOKEN }), []);
    assert.equal(this.#observers.check(), undefined);
    const missing = () => this.#publishers.flatMap((publisher) => publisher.missing(this.#receiver));
    const endMs = systemClock.monotonicMs() + SILENCE_MS_MAX;
    while (missing().length > 0 && systemClock.monotonicMs() < endMs) await moment(LOOK_MS);
    assert.deepEqual(missing(), [], "every acknowledged message has arrived");
    const messages = this.#publishers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
    return { writes: this.#ledger.ackedCount, messages };
  }

  #addresses(names: readonly Name[]): readonly NodeAddress[] {
    const running = names.map((name) => this.#nodes.get(name)).filter((node) => node !== undefined);
    return running.map((node) => ({ urls: urlsOf(node) }));
  }

  #noteWrite(name: Name): void {
    const nowMs = systemClock.monotonicMs();
    const pauseMs = nowMs - (this.#lastMs.get(name) ?? nowMs);
    this.#lastMs.set(name, nowMs);
    this.longestMs.set(name, Math.max(pauseMs, this.longestMs.get(name) ?? 0));
    this.#acknowledged.set(name, (this.#acknowledged.get(name) ?? 0) + 1);
  }
}

async function tablesVersion(): Promise<number> {
  const client = new Client({ connectionString: cluster.url });
  await client.connect();
  try {
    return (await client.query("SELECT schema_version AS version FROM larder.cluster")).rows[0].version;
  } finally {
    await client.end();
  }
}

/** The owner of each shard, as `larder cluster status` prints it. */
async function owners(): Promise<readonly string[]> {
  const { stdout } = await cluster.larder(["cluster", "status"]);
  return Array.from(stdout.matchAll(/^shard \d+ \(\w+\): (?:owned by (\w)|.*)/gm), ([line, owner]) => owner ?? line);
}

test("nodes of the last release are replaced one by one, and clients of each lose nothing", {
  skip,
}, async (context) => {
  const receiver = await Receiver.start();
  context.after(() => receiver.stop());
  cluster.program = earlier.program;
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
  if (commit === EARLIER.commit) assert.equal(await tablesVersion(), EARLIER.tables);
  const upgrade = new Upgrade(receiver);
  await upgrade.start("a", earlier.program);
  await upgrade.start("b", earlier.program);
  upgrade.begin();
  await upgrade.untilAcknowledged(["a", "b"]);

  // A newer front passes on to an earlier owner.
  await upgrade.start("c", programFile);
  assert.equal(await tablesVersion(), SCHEMA_VERSION);
  await upgrade.untilAcknowledged(NAMES);
  assert.deepEqual(await owners(), ["a", "a", "a"]);

  // An earlier front passes on to a newer owner.
  for (const shard of ["1", "2", "3"]) assert.equal((await cluster.larder(["cluster", "pin", shard, "c"])).code, 0);
  await upgrade.stop("a");
  await upgrade.untilAcknowledged(["b", "c"]);
  assert.deepEqual(await owners(), ["c", "c", "c"]);

  await upgrade.start("a", programFile);
  await upgrade.stop("b");
  await upgrade.start("b", programFile);
  await upgrade.untilAcknowledged(NAMES);
  const { writes, messages } = await upgrade.end();
  const status = await cluster.larder(["cluster", "status"]);
  assert.equal(status.code, 0, status.stdout);
  const pauses = NAMES.map((name) => `${name} ${Math.round(upgrade.longestMs.get(name) ?? 0)} ms`).join(", ");
  context.diagnostic(`acknowledged writes ${writes}, messages ${messages}; longest time between two writes: ${pauses}`);
});
