"use strict";
/*
 * Loaded into the program with `--require` by tests that need faults which no
 * request can cause. A request for one of these paths causes the fault in the
 * thread that received it, before any handler of larder runs.
 */
const { subscribe } = require("node:diagnostics_channel");
const { writeSync } = require("node:fs");

subscribe("http.server.request.start", ({ request }) => {
  if (request.url === "/planted-crash") {
    process.nextTick(() => {
      throw new Error("planted crash");
    });
  }
  if (request.url === "/planted-look") writeSync(2, `has __proto__: ${"__proto__" in {}}\n`);
  if (request.url === "/planted-rejection") void Promise.reject(new Error("planted rejection"));
});
