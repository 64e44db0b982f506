/**
 * kill -9 of the source, of the import and of its target, midway, and then --resume:
 * a redis-server with every type of value is imported by the real program into a
 * server that runs. Each round kills some of the three, one after the other.
 *
 * (1) The import ends by itself, with 0 or with a text of `ends`.
 * (2) After the last resumption the target has all keys of the source, with their values and times of expiry.
 * (3) A kill comes after the import has opened both its ends: before, it would use its own server if the target is away.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../../../src/kernel/random.ts";
import { AreaClient } from "../../../../src/transfer/area-client.ts";
import { StoreCalls } from "../../../../src/transfer/store/calls.ts";
import { allowanceOf, drawsLess, spending } from "../../../budget.ts";
import { type RedisProcess, redisMissing, startRedis } from "../../../differential/redis-process.ts";
import { freePort } from "../../../harness/free-port.ts";
import { seedFrom } from "../../../harness/seed.ts";
import {
  anyPorts,
  oneThread,
  type RunningProgram,
  spawnProgram,
  startProgram,
} from "../../../program/program-process.ts";

const KEYS = 12_000;
const FILL_AT_ONCE = 1_000;
const COMPARED_AT_ONCE = 500;
const FAR_MS = 4_102_444_800_000;
const LOOK_MS = 10;
const KILLS_MAX = 3;
/** A kill that comes before the first stored progress makes one more import necessary; some may end before the first kill. */
const RUNS_MAX = 2 * KILLS_MAX + 6;
const TOKEN = "token-of-the-import-rounds";

const victims = ["source", "import", "target"] as const;
type Victim = (typeof victims)[number];

/** How an import may end before it is done, and how the next one begins. The first row that matches counts. */
const ends: readonly (readonly [text: RegExp, next: "resumes" | "begins" | "as before"])[] = [
  [/run the same command with --resume/, "resumes"],
  // Keys were stored, but no position: one is stored two seconds after it was reached.
  [/run the same command again/, "begins"],
  // The import before this one was killed before it stored a position.
  [/no interrupted import to resume/, "begins"],
  // The source or the target ended before a key was stored, or the target when all were.
  [/closed the connection|does not answer|ECONN|EPIPE/, "as before"],
  // The target was still recovering at the last attempt.
  [/store is not available/, "as before"],
];

const skip = drawsLess() ? "only in a proof and alone" : redisMissing;

test("an import resumes after kill -9 at either end, and the target has what the source has", {
  skip,
}, async (context) => {
  const seed = seedFrom("LARDER_IMPORT_KILL_SEED", 1_000_000);
  context.diagnostic(`SEED=${seed}`);
  const isSpent = spending(allowanceOf("import-kill-rounds"));
  for (let round = 0; !isSpent(round); round += 1) {
    const random = seededRandom(seed + round);
    const others = Array.from({ length: random.below(KILLS_MAX) }, () => victims[random.below(victims.length)]);
    const killed = [victims[round % victims.length], ...others].filter((victim) => victim !== undefined);
    const runs = await new ImportRound(context, random).run(killed);
    context.diagnostic(`killed ${killed.join(", ")}: ${runs} imports`);
  }
});

class ImportRound {
  readonly #random: Random;
  readonly #folder = mkdtempSync(join(tmpdir(), "larder-import-"));
  #source: RedisProcess | undefined;
  #target: RunningProgram | undefined;
  #targetPort = 0;

  constructor(context: TestContext, random: Random) {
    this.#random = random;
    context.after(async () => {
      await this.#source?.stop();
      await this.#target?.kill();
      rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  /** Resolves with the number of imports that it took. */
  async run(killed: readonly Victim[]): Promise<number> {
    this.#targetPort = await freePort();
    const source = await this.#startSource();
    for (let from = 0; from < KEYS; from += FILL_AT_ONCE)
      await source.pipeline(Array.from({ length: FILL_AT_ONCE }, (_, index) => commandOf(from + index)));
    await source.call(["SAVE"]);
    await this.#startTarget();
    const waiting = [...killed];
    let resumes = false;
    for (let runs = 1; runs <= RUNS_MAX; runs += 1) {
      const next = await this.#import(resumes, waiting);
      if (next === "done") {
        await this.#compare();
        // An import outlives the kill of its target, so it may be done before the next kill.
        if (waiting.length < killed.length) return runs;
        // On a busy machine it may also end before the first one.
        await this.#ours([["FLUSHALL"]]);
      }
      if (next !== "as before") resumes = next === "resumes";
    }
    assert.fail(`${RUNS_MAX} imports were not enough after kills of ${killed.join(", ")}`);
  }

  async #import(resumes: boolean, waiting: Victim[]): Promise<"done" | (typeof ends)[number][1]> {
    const clientsBefore = await this.#clients();
    const address = `redis://127.0.0.1:${this.#redis.port}`;
    const words = ["import", address, "--data-dir", join(this.#folder, "data"), "--log-level", "error"];
    const program = spawnProgram([...words, ...(resumes ? ["--resume"] : [])], { env: { LARDER_STORE_TOKEN: TOKEN } });
    const victim = waiting[0];
    const killed = victim === undefined ? undefined : this.#killMidway(victim, program, clientsBefore);
    const { code } = await program.ended;
    if (await killed) waiting.shift();
    if (code === 0) return "done";
    // It was killed itself.
    if (code === null) return "resumes";
    // keeps (1)
    const [, next] = ends.find(([text]) => text.test(program.log)) ?? assert.fail(`${program.output}${program.log}`);
    return next;
  }

  /** Whether the kill came before the end of the import. */
  async #killMidway(
    victim: Victim,
    program: ReturnType<typeof spawnProgram>,
    clientsBefore: ReadonlySet<string>,
  ): Promise<boolean> {
    const stored = await this.#size();
    const wanted = stored + this.#random.below(Math.max(1, (KEYS - stored) >> 1));
    let hasEnded = false;
    void program.ended.then(() => {
      hasEnded = true;
    });
    // keeps (3): a new key proves nothing, since requests of a killed import may still be at work in the target.
    let isReading = false;
    const isMidway = async (): Promise<boolean> => {
      isReading ||= [...(await this.#clients("dump"))].some((id) => !clientsBefore.has(id));
      return isReading && (await this.#size()) > wanted;
    };
    while (!hasEnded && !(await isMidway()))
      await new Promise<void>((resolve) => void systemClock.after(LOOK_MS, resolve));
    if (hasEnded) return false;
    switch (victim) {
      case "source":
        await this.#redis.stop();
        await this.#startSource(this.#redis.port);
        return true;
      case "import":
        await program.kill();
        return true;
      case "target":
        await this.#target?.kill();
        await this.#startTarget();
        return true;
      default: {
        const never: never = victim;
        return never;
      }
    }
  }

  /** keeps (2) */
  async #compare(): Promise<void> {
    const copy = await startRedis(["--enable-debug-command", "yes"]);
    try {
      const keys = (await this.#redis.call(["KEYS", "*"])) as readonly string[];
      assert.equal(keys.length, KEYS);
      assert.equal(await this.#size(), KEYS);
      for (let from = 0; from < KEYS; from += COMPARED_AT_ONCE) {
        const some = keys.slice(from, from + COMPARED_AT_ONCE);
        const expiries = await this.#redis.pipeline(some.map((key) => ["PEXPIRETIME", key]));
        const ours = await this.#ours(some.map((key) => ["PEXPIRETIME", key]));
        assert.deepEqual(ours, expiries);
        const dumps = await this.#ours(some.map((key) => ["DUMP", key]));
        const restored = some.map((key, index) => {
          const atMs = Number(expiries[index]);
          return ["RESTORE", key, `${Math.max(0, atMs)}`, String(dumps[index]), ...(atMs > 0 ? ["ABSTTL"] : [])];
        });
        await copy.pipeline(restored);
      }
      assert.deepEqual(await copy.call(["DEBUG", "DIGEST"]), await this.#redis.call(["DEBUG", "DIGEST"]));
    } finally {
      await copy.stop();
    }
  }

  /** The ids of the source's connections, or of those whose last command was this one. */
  async #clients(command = ""): Promise<ReadonlySet<string>> {
    const list = String(await this.#redis.call(["CLIENT", "LIST"]));
    const lines = list.split("\n").filter((line) => line.includes(` cmd=${command}`));
    return new Set(lines.map((line) => /^id=(\d+)/.exec(line)?.[1] ?? ""));
  }

  async #size(): Promise<number> {
    try {
      return Number((await this.#ours([["DBSIZE"]]))[0]);
    } catch {
      return -1;
    }
  }

  async #ours(commands: readonly (readonly string[])[]): Promise<readonly unknown[]> {
    const client = new AreaClient({ base: `http://127.0.0.1:${this.#targetPort}`, token: TOKEN, clock: systemClock });
    try {
      return await new StoreCalls(client).pipeline(commands);
    } finally {
      await client.close();
    }
  }

  get #redis(): RedisProcess {
    assert.ok(this.#source !== undefined);
    return this.#source;
  }

  async #startSource(port?: number): Promise<RedisProcess> {
    this.#source = await startRedis(["--enable-debug-command", "yes", "--dir", this.#folder], port);
    return this.#source;
  }

  /** On the same port, so that an import that waits for it goes on. */
  async #startTarget(): Promise<void> {
    this.#target = await startProgram("serve", {
      args: ["--data-dir", join(this.#folder, "data"), ...oneThread],
      env: { ...anyPorts, LARDER_STORE_PORT: `${this.#targetPort}`, LARDER_STORE_TOKEN: TOKEN },
    });
  }
}

/** A key of each type in turn; every third one expires. */
function commandOf(index: number): readonly string[] {
  const key = `key:${index}`;
  const values = Array.from({ length: 1 + (index % 40) }, (_, at) => `value ${at} of ${index}`);
  switch (index % 6) {
    case 0:
      return ["SET", key, "v".repeat(index % 300), "PXAT", `${FAR_MS + index}`];
    case 1:
      return ["HSET", key, ...values.flatMap((value) => [value, `${index}`])];
    case 2:
      return ["RPUSH", key, ...values];
    case 3:
      return ["SET", key, `${index}`, "PXAT", `${FAR_MS - index}`];
    case 4:
      return ["ZADD", key, ...values.flatMap((value, at) => [`${at / 4}`, value])];
    default:
      return ["SADD", key, ...values];
  }
}
