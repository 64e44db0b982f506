"use strict";
/*
 * Loaded into the program with `--require`: takes as many threads of the pool
 * as name look-ups may, for good. A thread that opens a FIFO for reading waits
 * in the system until somebody writes, as one does that asks a name server
 * that never answers.
 */
const fs = require("node:fs");
const { isMainThread } = require("node:worker_threads");

// Behind the first turn, when the start file has set the size of the pool.
function block() {
  for (let i = 0; i < Number(process.env.BLOCKED_THREADS); i += 1) fs.open(process.env.BLOCKING_FIFO, "r", () => {});
}
if (isMainThread) setImmediate(block);
