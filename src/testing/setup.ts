/**
 * The global setup of a test run: one larder for all test files. Vitest and Jest
 * call the default export, node:test the two others.
 */
import { type Run, startRun } from "./run.ts";

export { type Run, type RunOptions, startRun } from "./run.ts";

let run: Run | undefined;

/** Starts the larder of the run. */
export async function globalSetup(): Promise<void> {
  run = await startRun();
}

/** Ends it. */
export async function globalTeardown(): Promise<void> {
  await run?.stop();
  run = undefined;
}

/** Starts the larder of the run, and returns the function that ends it. */
export default async function setup(): Promise<() => Promise<void>> {
  await globalSetup();
  return globalTeardown;
}
