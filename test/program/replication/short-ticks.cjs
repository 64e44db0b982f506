"use strict";
/*
 * Loaded into the program with `--require` by tests of what the copy does every
 * five minutes: in its thread long waits are short, and the clock jumps by the rest.
 */
const { isMainThread, workerData } = require("node:worker_threads");

const LONG_MS = 30_000;
const SHORT_MS = 50;

if (!isMainThread && workerData?.keepMs !== undefined) {
  const after = globalThis.setTimeout;
  const now = performance.now.bind(performance);
  let skippedMs = 0;
  performance.now = () => now() + skippedMs;
  globalThis.setTimeout = (work, ms, ...rest) => {
    if (ms < LONG_MS) return after(work, ms, ...rest);
    return after(() => {
      skippedMs += ms - SHORT_MS;
      work(...rest);
    }, SHORT_MS);
  };
}
