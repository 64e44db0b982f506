/**
 * kill -9 against a real server that copies its data directory. Each round goes on
 * from what the copy restored, or what a follower of it was promoted to, so each of
 * these directories is also served, written and copied again.
 *
 * (1) A restored or promoted area has every write that was acknowledged before the time to which the copy calls it complete.
 * (2) It has the first writes of the journal without a gap: what came later is lost as a whole.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../../../src/kernel/random.ts";
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
import { ADMIN, untilCopy } from "../../../program/replication/copied-program.ts";

const TOKEN = "token-of-the-kill-rounds";
const WRITERS = 4;
const KILL_MS_MAX = 1_500;

/** Each writer counts up in a key of its own; the number and time of the last acknowledged writes. */
type Ledger = readonly { readonly acknowledged: { readonly count: number; readonly atMs: number }[] }[];

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

/** Writes until the server is killed. */
async function writeUntilKilled(server: RunningProgram, counts: readonly number[], random: Random): Promise<Ledger> {
  const ledger = counts.map((count) => ({ acknowledged: [{ count, atMs: 0 }] }));
  let isKilled = false;
  const writers = ledger.map(async ({ acknowledged }, writer) => {
    for (let count = (acknowledged[0]?.count ?? 0) + 1; !isKilled; count += 1) {
      try {
        await command(server, ["RPUSH", `list-${writer}`, String(count)]);
      } catch (fault) {
        if (isKilled) return;
        throw fault;
      }
      acknowledged.push({ count, atMs: systemClock.nowMs() });
    }
  });
  await new Promise<void>((resolve) => void systemClock.after(random.below(KILL_MS_MAX), resolve));
  isKilled = true;
  await server.kill();
  await Promise.allSettled(writers);
  return ledger;
}

test("what a copy calls complete is there to the last frame after kill -9 and a restore or a promotion elsewhere", async (context) => {
  const seed = seedFrom("LARDER_COPY_KILL_SEED", 1_000_000);
  context.diagnostic(`SEED=${seed}`);
  const random = seededRandom(seed);
  const root = mkdtempSync(join(tmpdir(), "larder-copy-kills-"));
  const copy = join(root, "copy");
  mkdirSync(copy);
  const address = `file://${copy}`;
  const isSpent = spending(allowanceOf("copy-kill-rounds"));
  let counts: readonly number[] = Array.from({ length: WRITERS }, () => 0);
  let directory = join(root, "0");
  let written = 0;
  let lost = 0;
  for (let round = 0; !isSpent(round); round += 1) {
    await using server = await startProgram("serve", {
      args: ["--data-dir", directory, "--replicate", address, "--replicate-interval", "100ms", "--fsync", "always"],
      env: { LARDER_STORE_TOKEN: TOKEN, LARDER_ADMIN_TOKEN: ADMIN, LARDER_THREADS: oneThread[1] },
    });
    const next = join(root, String(round + 1));
    // Before the first request: a connection that waits for its start might be closed when it is used again.
    await using follower = round % 2 === 1 ? await startFollower(address, next) : undefined;
    const found = await Promise.all(
      counts.map((_, writer) => command(server, ["LRANGE", `list-${writer}`, "0", "-1"])),
    );
    // keeps (2)
    for (const [writer, list] of found.entries())
      assert.deepEqual(
        list,
        Array.from({ length: counts[writer] ?? 0 }, (_, index) => String(index + 1)),
      );
    // Before a first copy has begun, nothing can be restored.
    if (round === 0) await untilCopy(server, ({ phase }) => phase === "copying");
    const ledger = await writeUntilKilled(server, counts, random);
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    directory = next;
    const words = follower === undefined ? ["restore", address, directory] : ["promote", directory];
    const { code, output, log } = await runHere(words);
    assert.equal(code, 0, `SEED=${seed}, round ${round}: ${log}`);
    const completeToMs = Date.parse(/^store: .*; complete to (\S+)$/m.exec(output)?.[1] ?? "");
    assert.ok(completeToMs > 0, output);
    counts = follower === undefined ? await restoredCounts(directory) : await promotedCounts(follower);
    for (const [writer, { acknowledged }] of ledger.entries()) {
      const promised = acknowledged.findLast(({ atMs }) => atMs < completeToMs)?.count ?? 0;
      const count = counts[writer] ?? 0;
      // keeps (1)
      assert.ok(count >= promised, `SEED=${seed}, round ${round}: ${count} of ${promised} writes of writer ${writer}`);
      written += acknowledged.length - 1;
      lost += Math.max(0, (acknowledged.at(-1)?.count ?? 0) - count);
    }
  }
  context.diagnostic(`${written} writes were acknowledged, and ${lost} of them were not copied yet at a kill`);
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

/** The lengths of the lists in a restored directory, which stays as it is. */
async function restoredCounts(directory: string): Promise<readonly number[]> {
  await using server = await startProgram("serve", {
    args: ["--data-dir", directory, ...oneThread],
    env: { LARDER_STORE_TOKEN: TOKEN },
  });
  return await countsOf(server);
}

async function startFollower(address: string, directory: string): Promise<ProgramProcess> {
  const follower = spawnProgram(["follow", address, directory, "--interval", "1s", ...oneThread], {
    env: { ...anyPorts, LARDER_STORE_TOKEN: TOKEN },
  });
  await follower.untilPrinted(/^following /m);
  return follower;
}

/** The lengths of the lists that a follower serves. It ends. */
async function promotedCounts(follower: ProgramProcess): Promise<readonly number[]> {
  const counts = await countsOf(await follower.untilRunning());
  assert.deepEqual(await follower.stop(), { code: 0, signal: null });
  return counts;
}

async function countsOf(server: RunningProgram): Promise<readonly number[]> {
  const lengths = Array.from({ length: WRITERS }, (_, writer) => command(server, ["LLEN", `list-${writer}`]));
  return (await Promise.all(lengths)).map(Number);
}
