/** The seed of a random suite, and how to run the suite with it again. */
import { relative } from "node:path";
import { systemRandom } from "../../src/kernel/random.ts";

/**
 * The seed that the environment names, or a random one below `bound`. When a
 * test of this process fails, the last line of its output is the command that
 * runs the file with the same seed.
 */
export function seedFrom(variable: string, bound: number = 2 ** 31): number {
  const given = process.env[variable];
  const seed = given === undefined ? systemRandom.below(bound) : Number(given);
  process.once("exit", (code) => {
    if (code !== 0) console.log(`Again: ${replayCommand(variable, seed)}`);
  });
  return seed;
}

/** The same suite of the same size: how far it gets depends on both. */
function replayCommand(variable: string, seed: number): string {
  const size = process.env["LARDER_TEST_SIZE"];
  const sized = size === undefined ? "" : `LARDER_TEST_SIZE=${size} `;
  return `${sized}${variable}=${seed} npm run t -- ${relative(process.cwd(), process.argv[1] ?? "")}`;
}
