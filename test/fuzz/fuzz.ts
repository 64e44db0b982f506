/**
 * Fuzzers on the command line, for any duration.
 *
 *     npm run fuzz -- api --requests 100000
 *     npm run fuzz -- api --seed 17 --rounds 1      repeats one round
 *
 * Prints the counts and findings; the exit code is 1 after a finding.
 */
import { parseArgs } from "node:util";
import { systemRandom } from "../../src/kernel/random.ts";
import { emptyTally, runRound } from "./api/fuzz-api.ts";
import { operationsNotHit, reportLines } from "./api/report.ts";

const FINDINGS_MAX = 200;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { requests: { type: "string" }, rounds: { type: "string" }, seed: { type: "string" } },
});
if (positionals.length !== 1 || positionals[0] !== "api") {
  console.error("Usage: npm run fuzz -- api [--requests <count> | --rounds <count>] [--seed <seed>]");
  process.exit(2);
}
const seed = wholeNumber("seed", systemRandom.below(2 ** 30));
const rounds = wholeNumber("rounds", Number.POSITIVE_INFINITY);
const requests = wholeNumber("requests", Number.isFinite(rounds) ? Number.POSITIVE_INFINITY : 20_000);

console.log(`seed ${seed}`);
const tally = emptyTally();
for (let round = 0; round < rounds && tally.requests < requests && tally.findings.length < FINDINGS_MAX; round += 1) {
  await runRound(seed + round, tally);
}
for (const line of reportLines(tally, { withCounts: true })) console.log(line);
process.exit(tally.findings.length > 0 || operationsNotHit(tally).length > 0 ? 1 : 0);

function wholeNumber(name: "requests" | "rounds" | "seed", fallback: number): number {
  const text = values[name];
  if (text === undefined) return fallback;
  if (!/^\d{1,12}$/.test(text)) {
    console.error(`--${name} must be a whole number`);
    process.exit(2);
  }
  return Number(text);
}
