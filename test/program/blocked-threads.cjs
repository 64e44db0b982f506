"use strict";
/*
 * Loaded into the program with `--require`. Permanently blocks as many threads
 * of the pool as name look-ups may use. A thread that opens a FIFO for reading
 * waits in the system until a writer opens it, like a thread that waits for a
 * name server that never answers.
 */
const fs = require("node:fs");
const { isMainThread } = require("node:worker_threads");

// After the first turn of the event loop: then the start file has set the size of the pool.
function block() {
  for (let i = 0; i < Number(process.env.BLOCKED_THREADS); i += 1) fs.open(process.env.BLOCKING_FIFO, "r", () => {});
}
if (isMainThread) setImmediate(block);
