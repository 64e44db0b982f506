/**
 * Planned moves of shards, with official clients as they are by default on nodes that serve other shards: no request
 * fails, and none waits long. The longest one is printed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { isProof } from "../budget.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { TestCluster } from "../program/cluster/cluster-program.ts";
import { configOf, storeToken, untilServed } from "../program/cluster/shard-clients.ts";
import { oneThread, type RunningProgram } from "../program/program-process.ts";

const skip = missingProgram("postgres");
const ADDRESS = ["--cluster-address", "127.0.0.1:0", ...oneThread];
const NAMES = ["one", "two", "three"];
const NODES = ["a", "b", "c"];
const SHARDS = [1, 2, 3, 4, 5, 6];
const KEYS = isProof() ? 100_000 : 10_000;
const KEYS_PER_CALL = 5_000;
/** A planned move waits for no lease, which takes 6 s. */
const LONGEST_MS_MAX = 5_000;

/** Clients that count one after the other until they are stopped, each on the database of its own. */
class Counters {
  longestMs = 0;
  count = 0;
  readonly #expected: Map<string, number>;
  readonly #running: Promise<unknown>;
  #isOver = false;

  /** `expected` has the count of each database, and is changed. */
  constructor(nodes: readonly RunningProgram[], expected: Map<string, number>) {
    this.#expected = expected;
    this.#running = Promise.all(
      NAMES.map((name, index) => this.#countOn(nodes[index % nodes.length] as RunningProgram, name)),
    );
    this.#running.catch(() => {}); // `stop` reports it.
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #countOn({ storeUrl }: RunningProgram, name: string): Promise<void> {
    const redis = new Redis({ url: storeUrl, token: storeToken(name) });
    while (!this.#isOver) {
      const expected = (this.#expected.get(name) ?? 0) + 1;
      const startMs = performance.now();
      assert.equal(await redis.incr("count"), expected, name);
      this.longestMs = Math.max(this.longestMs, performance.now() - startMs);
      this.count += 1;
      this.#expected.set(name, expected);
    }
  }
}

test("a drain, and a restart of each node in turn, cost the clients of other nodes no error", {
  skip,
}, async (context) => {
  const cluster = await TestCluster.start();
  context.after(() => cluster.stop());
  assert.equal((await cluster.larder(["cluster", "init", "--shards", "2"])).code, 0);
  const args = [...ADDRESS, ...configOf(cluster, NAMES)];
  const running = new Map<string, RunningProgram>();
  const start = async (name: string): Promise<void> => void running.set(name, await cluster.startNode(name, args));
  const others = (name: string): readonly RunningProgram[] =>
    NODES.filter((each) => each !== name).map((each) => running.get(each) as RunningProgram);
  await start("a");
  await untilServed(running.get("a") as RunningProgram, SHARDS);
  for (const name of ["b", "c"]) await start(name);
  const expected = new Map<string, number>();
  for (const name of NAMES) {
    const redis = new Redis({ url: running.get("a")?.storeUrl ?? "", token: storeToken(name) });
    for (let from = 0; from < KEYS; from += KEYS_PER_CALL) {
      const values = Array.from({ length: KEYS_PER_CALL }, (_, key) => [`key:${from + key}`, "v".repeat(100)]);
      await redis.mset(Object.fromEntries(values));
    }
  }
  const measure = async (what: string, moved: string, move: () => Promise<void>): Promise<void> => {
    const counters = new Counters(others(moved), expected);
    await move();
    await counters.stop();
    const { longestMs, count } = counters;
    context.diagnostic(`${what} with ${KEYS} keys: the longest of ${count} requests took ${Math.round(longestMs)} ms`);
    assert.ok(longestMs < LONGEST_MS_MAX, `${what}: ${longestMs} ms`);
  };

  await measure("drain of a", "a", async () => {
    const drained = await cluster.larder(["cluster", "drain", "a"]);
    assert.deepEqual([drained.code, drained.stderr], [0, ""]);
  });
  assert.equal((await cluster.larder(["cluster", "undrain", "a"])).code, 0);
  for (const name of NODES)
    await measure(`restart of ${name}`, name, async () => {
      assert.deepEqual(await running.get(name)?.stop(), { code: 0, signal: null });
      await start(name);
    });
});
