"use strict";
/*
 * Loaded into the program with `--require` by tests that need faults which no
 * request can cause. A request for one of these paths causes the fault in the
 * thread that received it, whichever reader of HTTP it has. A request for
 * `/get/planted-crash` ends a thread that has shards but no port.
 */
const { subscribe } = require("node:diagnostics_channel");
const { writeSync } = require("node:fs");
const { workerData } = require("node:worker_threads");

const REQUEST_LINE = /^[A-Z]+ (\/planted-[a-z]+) HTTP/;

/** @param {string} path */
function plant(path) {
  if (path === "/planted-crash") {
    process.nextTick(() => {
      throw new Error("planted crash");
    });
  }
  if (path === "/planted-look") writeSync(2, `has __proto__: ${"__proto__" in {}}\n`);
  if (path === "/planted-rejection") void Promise.reject(new Error("planted rejection"));
}

subscribe("net.server.socket", ({ socket }) => {
  socket.on("data", (bytes) => plant(REQUEST_LINE.exec(bytes.latin1Slice(0, 100))?.[1] ?? ""));
});

if (workerData?.links?.kind === "engines")
  workerData.links.port.on("message", (messages) => {
    if (messages.some(({ target }) => target === "/get/planted-crash")) plant("/planted-crash");
  });
