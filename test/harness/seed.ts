/** The seed of a random suite, and how to run the suite with it again. */
import { createHash } from "node:crypto";
import { relative } from "node:path";
import { systemRandom } from "../../src/kernel/random.ts";
import { SUITE_VARIABLE } from "./cluster/suite-setting.ts";

/** The test file that runs. A process for several files sets it before each. */
export const running = { file: relative(process.cwd(), process.argv[1] ?? "") };

const replayCommands: string[] = [];

process.on("exit", (code) => {
  if (code !== 0) for (const command of replayCommands) console.log(`Again: ${command}`);
});

/**
 * The seed of one suite: the number in the environment's `variable`, or one that follows from the text in
 * `LARDER_SEEDS`, or a random one below `bound`. `.ci/run` gives the tree of `src/` as that text: each change of the
 * program draws other programs, and running it again draws the same ones. When a test of this process fails, its output ends with the
 * command that runs the file with the same seed; if several files share the process, with one for each of them.
 */
export function seedFrom(variable: string, bound: number = 2 ** 31): number {
  const given = process.env[variable];
  const seed = given === undefined ? drawSeed(process.env["LARDER_SEEDS"], variable, bound) : Number(given);
  replayCommands.push(replayCommand(variable, seed));
  return seed;
}

/** A seed below `bound`, at most 2^32, which follows from `text` and the variable's name; a random one without a text. */
export function drawSeed(text: string | undefined, variable: string, bound: number): number {
  if (text === undefined || text === "") return systemRandom.below(bound);
  return createHash("sha256").update(`${variable} ${text}`).digest().readUInt32BE(0) % bound;
}

/** The same suite of the same size, on the same server: how far it gets depends on these. */
function replayCommand(variable: string, seed: number): string {
  const given = ["LARDER_TEST_SIZE", SUITE_VARIABLE].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [`${name}=${value}`];
  });
  return [...given, `${variable}=${seed}`, `npm run t -- ${running.file}`].join(" ");
}
