/**
 * Starts the larder of a test run, in a process of its own: tests that keep their
 * thread busy do not delay it, and nothing of it keeps a test process alive.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { TEST_RUN_VARIABLE } from "../program/facts.ts";
import { entryFile } from "../program/package-files.ts";
import type { RunOptions } from "./larder-pool.ts";

export type { RunOptions };

export interface Run {
  /** The value of `LARDER_TEST_URL`. */
  readonly url: string;
  /** Ends the servers of the run. They also end with this process. */
  stop(): Promise<void>;
}

/** The message of the process of a run when it serves, or cannot. */
export type RunReport = { readonly url: string } | { readonly refusal: string };

/** Variables by which a test runner changes each Node process that it starts. */
const RUNNER_VARIABLES = ["NODE_OPTIONS", "NODE_TEST_CONTEXT", "NODE_V8_COVERAGE"];

/**
 * Starts the larder of a test run and sets `LARDER_TEST_URL`, which processes that are started afterwards inherit. Rejects
 * when options or machine do not allow it.
 */
export async function startRun(options: RunOptions = {}): Promise<Run> {
  const child = spawn(process.execPath, [fileURLToPath(entryFile("test-run"))], {
    env: { ...process.env, ...Object.fromEntries(RUNNER_VARIABLES.map((name) => [name, undefined])) },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  child.send(options);
  const report = await Promise.race([
    once(child, "message").then(([message]) => message as RunReport),
    once(child, "exit").then(([code]): RunReport => ({ refusal: `The larder of the tests ended with ${code}` })),
  ]);
  if ("refusal" in report) {
    if (child.connected) child.disconnect();
    throw new Error(report.refusal);
  }
  const { url } = report;
  child.unref();
  child.channel?.unref();
  process.env[TEST_RUN_VARIABLE] = url;
  return {
    url,
    async stop() {
      if (process.env[TEST_RUN_VARIABLE] === url) delete process.env[TEST_RUN_VARIABLE];
      await end(child);
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  const exit = once(child, "exit");
  if (child.connected) child.disconnect();
  await exit;
}
