/**
 * Question: how long does a test wait for a larder of its own (`freshLarder()`)?
 *
 * Method: one larder runs as for all test files of a run. After a warm-up, larders are made and ended one after the other,
 * and the time until each is made is taken. A test in between would give the next larder more time to be made ahead, so
 * these are the longest waits. Those with an index of their own cannot be made ahead; those with a frozen clock get a
 * server that an earlier test had.
 *
 * Read: milliseconds until a larder is made. The goal is a median below 2 ms.
 *
 * Run: npm run bench -- fresh-larder
 */
import { performance } from "node:perf_hooks";
import { type FreshLarderOptions, freshLarder } from "../src/testing/fresh-larder.ts";
import { startRun } from "../src/testing/run.ts";
import { machineFacts } from "./harness/machine.ts";
import { writePart } from "./harness/results-page.ts";
import { table } from "./harness/table.ts";

const WARM_UPS = 300;
const COUNT = 2_000;

const kinds: Readonly<Record<string, FreshLarderOptions>> = {
  "a fresh larder": {},
  "with an index of its own": { index: { dimension: 384 } },
  "with a frozen clock": { clock: "frozen" },
};

/** The times of makings, in order of their length. */
async function measure(options: FreshLarderOptions): Promise<readonly number[]> {
  const times: number[] = [];
  for (let made = 0; made < WARM_UPS + COUNT; made += 1) {
    const startMs = performance.now();
    const larder = await freshLarder(options);
    if (made >= WARM_UPS) times.push(performance.now() - startMs);
    await larder.end();
  }
  return times.sort((a, b) => a - b);
}

const run = await startRun();
const rows: (readonly string[])[] = [];
for (const [name, options] of Object.entries(kinds)) {
  const times = await measure(options);
  const at = (share: number): string => (times[Math.floor(share * COUNT)] ?? Number.NaN).toFixed(2);
  rows.push([name, at(0.5), at(0.99)]);
}
await run.stop();
const page = table(["until it is made, ms", "median", "99th percentile"], rows);
console.log(page);
const facts = [...machineFacts(new Date()), `${COUNT} makings of each kind`];
writePart(
  ["# Larders for tests (`bench/fresh-larder.bench.ts`)", "", ...facts.map((fact) => `- ${fact}`), "", page, ""].join(
    "\n",
  ),
);
