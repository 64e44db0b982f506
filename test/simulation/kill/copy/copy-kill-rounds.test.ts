/**
 * kill -9 against a real server that copies its data directory. Each round goes on
 * from what the copy restored, or what a follower of it was promoted to. So the server
 * of the next round shows what a round has saved, and each saved directory is also
 * served, written and copied again.
 *
 * (1) A restored or promoted area has every write that was acknowledged before the time to which the copy calls it complete.
 * (2) It has the first writes of the journal without a gap: what came later is lost as a whole.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../../../src/kernel/random.ts";
import { generationPrefix } from "../../../../src/replication/names.ts";
import { allowanceOf, spending } from "../../../budget.ts";
import { runHere } from "../../../harness/command-runner.ts";
import { seedFrom } from "../../../harness/seed.ts";
import {
  anyPorts,
  oneThread,
  type ProgramProcess,
  type RunningProgram,
  spawnProgram,
  startProgram,
} from "../../../program/program-process.ts";

const TOKEN = "token-of-the-kill-rounds";
const WRITERS = 4;
/** Some parts are copied in this time: one every 100 ms. */
const KILL_MS_MAX = 800;
/** One round in so many counts it from the start on, when the new generation has perhaps not begun. */
const EARLY_ONE_IN = 4;
/** One round in so many has a follower. */
const FOLLOWED_ONE_IN = 3;
const LOOK_MS = 20;
/** A writer rests for at most this long between two writes, because a round is about times, and not about load. */
const REST_MS_MAX = 8;
/** Then another copy begins, because each round restores all writes of those before it. */
const ROUNDS_PER_COPY = 25;
/** While one server waits for its kill, others start. */
const COPIES_AT_ONCE = 3;

/** The last acknowledged write of a writer at some times. Each writer counts up in a list of its own. */
type Acknowledged = { readonly count: number; readonly atMs: number }[];

/** What a restored or promoted directory must have. */
interface Restored {
  readonly completeToMs: number;
  readonly ledger: readonly Acknowledged[];
}

async function command(server: RunningProgram, words: readonly string[]): Promise<unknown> {
  const answer = await fetch(server.storeUrl, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify(words),
  });
  const { result, error } = (await answer.json()) as { result?: unknown; error?: string };
  assert.equal(error, undefined);
  return result;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}

/** The newest generation of a copy that has begun; 0: none has. */
function begunGeneration(copy: string): number {
  const found = readdirSync(copy).map((name) => Number(/^g(\d{16})\.d$/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...found.filter((number) => existsSync(join(copy, generationDirectory(number), "begin"))));
}

async function untilBegun(copy: string, before: number): Promise<void> {
  while (begunGeneration(copy) === before) await pause(LOOK_MS);
}

function generationDirectory(number: number): string {
  return `${generationPrefix(number).slice(0, -1)}.d`;
}

/** The settings of a server that copies to `copy`. */
function settingsOf(copy: string): string[] {
  return ["--replicate", addressOf(copy), "--replicate-interval", "100ms", "--fsync", "always"];
}

function addressOf(copy: string): string {
  return `file://${copy}`;
}

function startServer(copy: string, directory: string): Promise<RunningProgram> {
  const args = ["--data-dir", directory, ...settingsOf(copy)];
  return startProgram("serve", { args, env: { LARDER_STORE_TOKEN: TOKEN, LARDER_THREADS: oneThread[1] } });
}

/** A follower that copies too when it is promoted. */
async function startFollower(copy: string, directory: string): Promise<ProgramProcess> {
  const follower = spawnProgram(["follow", addressOf(copy), directory, "--interval", "1s", ...settingsOf(copy)], {
    env: { ...anyPorts, LARDER_STORE_TOKEN: TOKEN, LARDER_THREADS: oneThread[1] },
  });
  await follower.untilPrinted(/^following /m);
  return follower;
}

/** Writes until the server is killed, which is some time after `copying` has resolved. */
async function writeUntilKilled(
  server: RunningProgram,
  counts: readonly number[],
  { copying, random }: { readonly copying: Promise<void>; readonly random: Random },
): Promise<readonly Acknowledged[]> {
  const ledger = counts.map((count) => [{ count, atMs: 0 }]);
  let isKilled = false;
  const writers = ledger.map(async (acknowledged, writer) => {
    for (let count = (acknowledged[0]?.count ?? 0) + 1; !isKilled; count += 1) {
      try {
        await command(server, ["RPUSH", `list-${writer}`, String(count)]);
      } catch (fault) {
        if (isKilled) return;
        throw fault;
      }
      acknowledged.push({ count, atMs: systemClock.nowMs() });
      await pause(random.below(REST_MS_MAX + 1));
    }
  });
  await copying;
  await pause(random.below(KILL_MS_MAX));
  isKilled = true;
  await server.kill();
  await Promise.allSettled(writers);
  return ledger;
}

/** Rounds of one copy, with what they found. */
class CopyRounds {
  written = 0;
  lost = 0;
  readonly #random: Random;
  readonly #seed: number;
  readonly #root: string;

  constructor(context: TestContext, seed: number, random: Random) {
    this.#seed = seed;
    this.#random = random;
    this.#root = mkdtempSync(join(tmpdir(), "larder-copy-kills-"));
    context.after(() => rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 }));
  }

  /** A first round, and others while `takeRound`; the last server only shows what was restored. */
  async run(takeRound: () => boolean): Promise<void> {
    const copy = join(this.#root, "copy");
    mkdirSync(copy);
    let directory = join(this.#root, "0");
    let begun = 0;
    let server = await startServer(copy, directory);
    let restored: Restored | undefined;
    await using ends = new AsyncDisposableStack();
    ends.defer(async () => void (await server.stop()));
    for (let round = 0; ; round += 1) {
      const next = join(this.#root, String(round + 1));
      const isFollowed = round > 0 && this.#random.below(FOLLOWED_ONE_IN) === 0;
      // Before the first request: a connection that waits for its start might be closed when it is used again.
      const follower = isFollowed ? ends.use(await startFollower(copy, next)) : undefined;
      const counts = await this.#countsOn(server, restored, round);
      if (round === ROUNDS_PER_COPY || (round > 0 && !takeRound())) return;
      // Before a first copy has begun, nothing can be restored.
      const isEarly = round > 0 && this.#random.below(EARLY_ONE_IN) === 0;
      const copying = isEarly ? Promise.resolve() : untilBegun(copy, begun);
      const ledger = await writeUntilKilled(server, counts, { copying, random: this.#random });
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
      directory = next;
      begun = begunGeneration(copy);
      const words = isFollowed ? ["promote", next] : ["restore", addressOf(copy), next];
      const { code, output, log } = await runHere(words);
      assert.equal(code, 0, `SEED=${this.#seed}, round ${round}: ${log}`);
      const completeToMs = Date.parse(/^store: .*; complete to (\S+)$/m.exec(output)?.[1] ?? "");
      assert.ok(completeToMs > 0, output);
      server = follower === undefined ? await startServer(copy, next) : await follower.untilRunning();
      restored = { completeToMs, ledger };
    }
  }

  /** The lengths of the lists, which have what was restored. */
  async #countsOn(server: RunningProgram, restored: Restored | undefined, round: number): Promise<readonly number[]> {
    const counts: number[] = [];
    for (let writer = 0; writer < WRITERS; writer += 1) {
      const list = (await command(server, ["LRANGE", `list-${writer}`, "0", "-1"])) as readonly string[];
      const count = list.length;
      counts.push(count);
      const what = `SEED=${this.#seed}, before round ${round}: writer ${writer}`;
      // keeps (2)
      assert.deepEqual(
        list,
        Array.from({ length: count }, (_, index) => String(index + 1)),
        what,
      );
      const acknowledged = restored?.ledger[writer] ?? [];
      const last = acknowledged.at(-1)?.count ?? 0;
      const promised = acknowledged.findLast(({ atMs }) => atMs < (restored?.completeToMs ?? 0))?.count ?? 0;
      // keeps (1). One more may have been written when the server was killed.
      assert.ok(
        count >= promised && count <= last + 1,
        `${what}: ${count} writes, ${promised} of ${last} were promised`,
      );
      this.written += Math.max(0, acknowledged.length - 1);
      this.lost += Math.max(0, last - count);
    }
    return counts;
  }
}

test("what a copy calls complete is there to the last frame after kill -9 and a restore or a promotion elsewhere", async (context) => {
  const seed = seedFrom("LARDER_COPY_KILL_SEED", 1_000_000);
  context.diagnostic(`SEED=${seed}`);
  const isSpent = spending(allowanceOf("copy-kill-rounds"));
  let [taken, written, lost] = [0, 0, 0];
  const takeRound = (): boolean => {
    if (isSpent(taken)) return false;
    taken += 1;
    return true;
  };
  const runCopies = async (_: unknown, index: number): Promise<void> => {
    const random = seededRandom(seed + index);
    while (takeRound()) {
      const rounds = new CopyRounds(context, seed, random);
      await rounds.run(takeRound);
      written += rounds.written;
      lost += rounds.lost;
    }
  };
  await Promise.all(Array.from({ length: COPIES_AT_ONCE }, runCopies));
  context.diagnostic(`${taken} rounds: ${written} writes were acknowledged, ${lost} of them not copied yet at a kill`);
});
