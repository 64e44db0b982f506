/**
 * The hook by which `node:test` knows which test runs: it calls a function at the
 * start and the end of every promise. A simulation makes millions of promises, and
 * the hook takes half of its time. Once the tests of a file are defined, it is only
 * needed to find the test of an error that nothing catches. Without the hook such
 * an error ends the process, which fails the run.
 *
 * Imported before `node:test`, which makes the hook when it is loaded.
 */
import asyncHooks, { type AsyncHook } from "node:async_hooks";

const made: AsyncHook[] = [];
const { createHook } = asyncHooks;

Object.defineProperty(asyncHooks, "createHook", {
  ...Object.getOwnPropertyDescriptor(asyncHooks, "createHook"),
  value: (...callbacks: Parameters<typeof createHook>): AsyncHook => {
    const hook = createHook(...callbacks);
    made.push(hook);
    return hook;
  },
});

/** For a test that fails with the error by itself, and names the seed. */
const ENDING_MS = 1_000;

/** Ends the hook. No test of this process may define another one from then on. */
export function endTestHook(): void {
  for (const hook of made) hook.disable();
  for (const event of ["uncaughtException", "unhandledRejection"] as const)
    process.on(event, (error: unknown) => {
      console.error(error);
      setTimeout(() => process.exit(1), ENDING_MS);
    });
}
