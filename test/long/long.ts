/**
 * Runs the random suites for hours: batch after batch with new seeds, at low
 * priority, in the background.
 *
 *     npm run long -- --hours 8 [--suites crash-states,soak] [--folder larder-long]
 *
 * Each batch is a quarter of the count of a proof. A batch waits while a bench
 * runs on the machine. A failure does not end the run: the whole output, with
 * the seed and the command that replays it, is written to `failures/` in the
 * folder. The counts add up over all runs with the same folder. Ctrl-C ends the
 * run after the current batch, a second Ctrl-C at once.
 *
 * Exit code: 0, 1 if a batch failed, 2 for a wrong option.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/kernel/clock.ts";
import { SUITE_VARIABLE } from "../harness/cluster/suite-setting.ts";
import { isBusyWith, mark } from "./quiet-machine.ts";
import { type Batch, batchesOf, count, describeTally, nextBatch, parseTally, printTally, type Tally } from "./tally.ts";

const HOUR_MS = 3_600_000;
const LOWEST_PRIORITY = 19;
/** The interval of checks while a run waits for a bench. */
const LOOK_MS = 1_000;
/** A single test that takes longer counts as hung. */
const TEST_MS_MAX = 1_800_000;

const { values } = parseArgs({
  options: {
    hours: { type: "string", default: "1" },
    suites: { type: "string", default: "" },
    folder: { type: "string", default: "larder-long" },
  },
});
const hours = Number(values.hours);
if (!(hours > 0 && hours <= 1_000)) fail(`--hours must be a number above 0 and at most 1,000: ${values.hours}`);
const batches = readBatches(values.suites);
const countsPath = join(values.folder, "counts.json");
const all: Tally = existsSync(countsPath) ? parseTally(readFileSync(countsPath, "utf8")) : new Map();
const now: Tally = new Map();
const failures: string[] = [];

setPriority(LOWEST_PRIORITY);
mkdirSync(join(values.folder, "failures"), { recursive: true });
let isStopping = false;
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    if (isStopping) process.exit(130);
    isStopping = true;
    console.log("Stopping after this batch; press Ctrl-C again to stop at once");
  });

const endMs = systemClock.monotonicMs() + hours * HOUR_MS;
while (!isStopping && systemClock.monotonicMs() < endMs) {
  const unmark = await whenQuiet();
  if (unmark === undefined) break;
  try {
    await runBatch(nextBatch(batches, all));
  } finally {
    unmark();
  }
}
console.log(describeTally(now, all));
for (const path of failures) console.log(`failed: ${path}`);
process.exitCode = failures.length > 0 ? 1 : 0;

async function runBatch(batch: Batch): Promise<void> {
  const name = batch.suites.map(({ suite }) => suite).join(" and ");
  const startMs = systemClock.monotonicMs();
  const { code, output } = await runTests(batch);
  const seconds = ((systemClock.monotonicMs() - startMs) / 1_000).toFixed(0);
  // Ctrl-C interrupts the tests too: that is not a failure.
  if (isStopping && code !== 0) return;
  const outcome = code === 0 ? "passed" : "failed";
  count(now, batch, outcome);
  count(all, batch, outcome);
  writeFileSync(`${countsPath}.new`, printTally(all));
  renameSync(`${countsPath}.new`, countsPath);
  console.log(`${new Date(systemClock.nowMs()).toISOString()} ${name}: ${outcome} after ${seconds} s`);
  if (outcome === "passed") return;
  const path = join(values.folder, "failures", `${systemClock.nowMs()}-${batch.suites[0]?.suite}.log`);
  writeFileSync(path, output);
  failures.push(path);
  console.log(`  its output, with the seed: ${path}`);
}

/** Runs the test files of a batch; `output` is all their output. */
function runTests({ files, setting }: Batch): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--test", `--test-timeout=${TEST_MS_MAX}`, ...files], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, LARDER_TEST_SIZE: "long", ...(setting !== undefined && { [SUITE_VARIABLE]: setting }) },
    });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}

/** Waits until no bench runs, then marks a batch; undefined if the run stops first. */
async function whenQuiet(): Promise<(() => void) | undefined> {
  let isLogged = false;
  while (!isStopping) {
    const unmark = mark("batch");
    if (!isBusyWith("bench")) return unmark;
    unmark();
    if (!isLogged) console.log("Waiting for a bench");
    isLogged = true;
    await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
  }
  return undefined;
}

function readBatches(names: string): readonly Batch[] {
  try {
    return batchesOf(names.split(",").filter((name) => name !== ""));
  } catch (error) {
    return fail(`--suites: ${String(error)}`);
  }
}

function fail(text: string): never {
  console.error(text);
  process.exit(2);
}
