/**
 * The three sizes of the test run.
 *
 *     ok      format, lint, types, house rules, unit and conformance tests   (at most 2 minutes on two cores)
 *     test    ok, and the whole server: sdk, differential, simulation        (at most 5 minutes)
 *     proof   the random suites with the counts that were agreed             (at most 50 minutes)
 *
 * Run: node tools/run-tests.ts <size>
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
}

const statics: readonly Step[] = [
  { name: "format and lint", command: ["biome", "check", "--error-on-warnings"] },
  { name: "types", command: ["tsc", "-p", "."] },
];

const UNIT = [
  "src/**/*.test.ts",
  "test/*.test.ts",
  "test/harness/*.test.ts",
  "test/long/*.test.ts",
  "test/conformance/**/*.test.ts",
];
const WHOLE = ["test/program/**/*.test.ts", "test/sdk/**/*.test.ts"];
const RANDOM = ["test/differential/**/*.test.ts", "test/simulation/**/*.test.ts", "test/fuzz/**/*.test.ts"];

/** `testMsMax`: a single test that takes longer hangs. */
const sizes: Record<string, { steps: readonly Step[]; tests: readonly string[]; testMsMax: number }> = {
  ok: { steps: statics, tests: UNIT, testMsMax: 60_000 },
  test: { steps: statics, tests: [...UNIT, ...WHOLE, ...RANDOM], testMsMax: 120_000 },
  proof: { steps: [], tests: RANDOM, testMsMax: 1_800_000 },
};

/** Each test file is a process of its own, and most of its start is the reading of the same sources. */
const COMPILE_CACHE = fileURLToPath(new URL("../node_modules/.cache/tests", import.meta.url));

const FILE_TIMES = fileURLToPath(new URL("./file-times.ts", import.meta.url));

const size = process.argv[2] ?? "";
const plan = Object.hasOwn(sizes, size) ? sizes[size] : undefined;
if (plan === undefined) {
  console.error(`Unknown size: ${size}. Sizes: ${Object.keys(sizes).join(", ")}`);
  process.exit(2);
}

const startMs = performance.now();
const outcomes = await Promise.all(plan.steps.map((step) => run(step.name, step.command)));
if (outcomes.some((code) => code !== 0)) process.exit(1);
const code = await run("tests", [
  "node",
  "--test",
  "--test-concurrency=2",
  `--test-timeout=${plan.testMsMax}`,
  "--test-reporter=spec",
  "--test-reporter-destination=stdout",
  `--test-reporter=${FILE_TIMES}`,
  "--test-reporter-destination=stdout",
  ...plan.tests,
]);
console.log(`${size}: ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
process.exit(code);

function run(name: string, command: readonly string[]): Promise<number> {
  const [program = "", ...rest] = command;
  return new Promise((resolve, reject) => {
    const env = { ...process.env, LARDER_TEST_SIZE: size, NODE_COMPILE_CACHE: COMPILE_CACHE };
    const child = spawn(program, rest, { stdio: "inherit", env });
    child.on("error", reject);
    child.on("close", (exitCode) => {
      if (exitCode !== 0) console.error(`${name} failed`);
      resolve(exitCode ?? 1);
    });
  });
}
