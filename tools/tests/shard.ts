/**
 * The test files of one process, one after the other: starting a process
 * and reading the sources takes longer than most unit tests.
 *
 * Each file is a suite with the path as its name, so that its hooks are for
 * its own tests only, and a file that cannot be read is a failed suite. After
 * each file a test compares the process with its state before the file: an
 * open socket, timer or worker, a listener, a variable or a working directory
 * could change the files after it. The only file of a process is not compared. A
 * file that needs its own process is in the table of `processes.ts`.
 *
 * A test that fails may leave a server open or a program running. The process ends
 * nevertheless, and ends the programs that it has started.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { SUITE_VARIABLE, type SuiteSettingName } from "../../test/harness/cluster/suite-setting.ts";
import { running } from "../../test/harness/seed.ts";
import { nameOf, type TestProcess } from "./processes.ts";
import { useTemporaryFolder } from "./temporary-folder.ts";
import { endTestHook } from "./test-hook.ts";

/** The default of `closingMsMax`. */
const CLOSING_MS_MAX = 5_000;
const CLOSING_STEP_MS = 2;

/**
 * Runs the test files at `paths`, from the root of the repository. A file that fails does not stop the next one.
 * The file at `runningPath` has the path of the file that runs: when the process crashes, its last events are lost. A
 * socket may take `closingMsMax` to close after the last test of a file, and the process as long to end after its last file.
 */
export async function runShard(
  paths: readonly string[],
  {
    runningPath,
    closingMsMax = CLOSING_MS_MAX,
    setting,
  }: { readonly runningPath: string; readonly closingMsMax?: number } & Pick<TestProcess, "setting">,
): Promise<void> {
  if (setting !== undefined) testCluster(setting);
  // The first test of a process adds the listeners of node:test.
  await test("the process of the files starts", () => {});
  for (const path of paths) {
    writeFileSync(runningPath, path);
    running.file = path;
    const before = stateOfProcess();
    await describe(nameOf(path, setting === undefined ? {} : { setting }), async () => {
      await import(pathToFileURL(path).href);
      if (paths.length === 1) endTestHook();
    });
    if (paths.length === 1) break;
    await test(`${path} leaves the process as it found it`, async () => {
      await quiet(before, closingMsMax);
      assert.deepEqual(differences(before, stateOfProcess()), []);
    });
  }
  // Only if something is left that keeps the process from ending, which is a failure in itself.
  setTimeout(() => process.exit(1), closingMsMax).unref();
}

/** The suites of this process test a node of a cluster, with what `npm test` draws: the proof of a suite is elsewhere. */
function testCluster(setting: SuiteSettingName): void {
  process.env[SUITE_VARIABLE] = setting;
  process.env["LARDER_TEST_SIZE"] = "test";
  // Each server of a suite has a PostgreSQL of its own.
  useTemporaryFolder();
}

/** A value by the name of a fact: `["listeners of SIGTERM", 1]`, `["open TCPSocketWrap", 2]`. */
type ProcessState = ReadonlyMap<string, unknown>;

/** The state of this process as far as one test file can change it for another. */
export function stateOfProcess(): ProcessState {
  const state = new Map<string, unknown>([["working directory", process.cwd()]]);
  // What keeps the event loop running.
  for (const kind of process.getActiveResourcesInfo()) {
    const name = `open ${kind}`;
    state.set(name, Number(state.get(name) ?? 0) + 1);
  }
  for (const [name, value] of Object.entries(process.env)) state.set(`environment variable ${name}`, value);
  for (const name of process.eventNames()) state.set(`listeners of ${String(name)}`, process.listenerCount(name));
  for (const name of Object.getOwnPropertyNames(globalThis)) state.set(`global ${name}`, true);
  return state;
}

/** Names of the facts that changed, without their values: a variable may be a secret. */
export function differences(before: ProcessState, after: ProcessState): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).sort();
}

/** Waits until nothing is open that was not open before, at most `closingMsMax`. */
export async function quiet(before: ProcessState, closingMsMax: number = CLOSING_MS_MAX): Promise<void> {
  const deadlineMs = performance.now() + closingMsMax;
  while (performance.now() < deadlineMs) {
    const isOpen = differences(before, stateOfProcess()).some((name) => name.startsWith("open "));
    if (!isOpen) return;
    await sleep(CLOSING_STEP_MS);
  }
}
