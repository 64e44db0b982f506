/**
 * Runs the simulation of messaging many times.
 *
 *     npm run simulate -- --seeds 100000 [--seed 1]
 *
 * A violation ends it, and reports the seed to run alone.
 */
import { parseArgs } from "node:util";
import { systemRandom } from "../../../src/kernel/random.ts";
import { describeSimulation, runSimulation } from "./simulation.ts";

const { values } = parseArgs({ options: { seeds: { type: "string", default: "1000" }, seed: { type: "string" } } });
const seed = Number(values.seed ?? systemRandom.below(2 ** 31));
console.log(`SEED=${seed}`);
const summary = await runSimulation({ seed, allowance: { count: Number(values.seeds) } });
console.log(describeSimulation(summary, seed));
if (summary.violation !== undefined) {
  console.error(summary.violation.error);
  console.error(`again: npm run simulate -- --seeds 1 --seed ${summary.violation.seed}`);
  process.exitCode = 1;
}
