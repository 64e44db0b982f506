/**
 * larder in tests of node:test. Without the global setup (setup.ts), each test file
 * starts a larder when its first test asks for one.
 */
import { TEST_RUN_VARIABLE } from "../program/facts.ts";
import { freshLarder as ask, type FreshLarder, type FreshLarderOptions, type FrozenLarder } from "./fresh-larder.ts";
import { type Run, startRun } from "./run.ts";

export type { FreshLarder, FreshLarderOptions, FrozenLarder } from "./fresh-larder.ts";
export { type Run, type RunOptions, startRun } from "./run.ts";

/** The part of a TestContext that is used. */
export interface TestEnd {
  after(end: () => Promise<void>): void;
}

let own: Promise<Run> | undefined;

/** Makes a larder for the test with this context, and deletes it after the test. */
export function freshLarder(
  test: TestEnd,
  options: FreshLarderOptions & { readonly clock: "frozen" },
): Promise<FrozenLarder>;
export function freshLarder(test: TestEnd, options?: FreshLarderOptions): Promise<FreshLarder>;
export async function freshLarder(test: TestEnd, options: FreshLarderOptions = {}): Promise<FreshLarder> {
  if (process.env[TEST_RUN_VARIABLE] === undefined) {
    own ??= startRun();
    await own;
  }
  const larder = await ask(options);
  test.after(() => larder.end());
  return larder;
}
