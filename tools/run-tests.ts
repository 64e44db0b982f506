/**
 * The three sizes of the test run, in seconds on two quiet cores.
 *
 *     ok      format, lint, types, house rules, unit and conformance tests   (at most 60)
 *     test    ok, and the whole server: sdk, differential, simulation        (at most 300)
 *     proof   the random suites with the counts that were agreed, and the
 *             suites of what clients see on a cluster                        (at most 50 minutes)
 *
 * Run: node tools/run-tests.ts <size> [room]
 *
 * With a room the run has the house rules and the tests of that room only
 * (`tests/rooms.ts`). Test files share processes (`tests/processes.ts`); the
 * run fails when a test fails, when a process crashes, and when a file of a
 * shard does not come to its end.
 */
import { fileURLToPath } from "node:url";
import { missingProgram } from "../test/harness/required-programs.ts";
import { fileTimes, proofTime } from "./tests/file-times.ts";
import { clusterProcesses, processesOf, type TestProcess } from "./tests/processes.ts";
import { buildProgramUnderTest } from "./tests/program-under-test.ts";
import { rooms } from "./tests/rooms.ts";
import { runTests } from "./tests/run.ts";
import { HOUSE, sizes } from "./tests/sizes.ts";
import { runStatics } from "./tests/statics.ts";
import { useTemporaryFolder } from "./tests/temporary-folder.ts";

/** Much of what a test process does at its start is to read the same sources as the others. */
const COMPILE_CACHE = fileURLToPath(new URL("../node_modules/.cache/tests", import.meta.url));

const [size = "", room] = process.argv.slice(2);
const plan = Object.hasOwn(sizes, size) ? sizes[size] : undefined;
if (plan === undefined) refuse(`Unknown size: ${size}. Sizes: ${Object.keys(sizes).join(", ")}`);
const roomTests = room !== undefined && Object.hasOwn(rooms, room) ? rooms[room] : undefined;
if (room !== undefined && roomTests === undefined)
  refuse(`Unknown room: ${room}. Rooms: ${Object.keys(rooms).join(", ")}`);

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
process.env["LARDER_TEST_SIZE"] = size;
process.env["NODE_COMPILE_CACHE"] = COMPILE_CACHE;

const startMs = performance.now();
if (plan.hasStatics && !(await runStatics())) process.exit(1);
if (plan.startsProgram) await buildProgramUnderTest();
// A proof syncs a real disk.
if (size !== "proof") useTemporaryFolder();
const tests = roomTests === undefined ? plan.tests : [...HOUSE, ...roomTests];
const isProof = size === "proof";
const processes = [...processesOf(tests, { isProof }), ...(isProof && room === undefined ? suitesOfCluster() : [])];
const result = await runTests(processes, plan);
const ms = performance.now() - startMs;
process.stdout.write(fileTimes(result));
if (isProof) process.stdout.write(proofTime(ms));
if (!result.isPassed) console.error("tests failed");
console.log(`${size}: ${(ms / 1_000).toFixed(1)} s`);
process.exit(result.isPassed ? 0 : 1);

function suitesOfCluster(): readonly TestProcess[] {
  const why = missingProgram("postgres");
  if (why === false) return clusterProcesses();
  console.log(`the suites of what clients see do not run on a cluster: ${why}`);
  return [];
}

function refuse(text: string): never {
  console.error(text);
  process.exit(2);
}
