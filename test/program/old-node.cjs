"use strict";
/*
 * Loaded with `--require`. The first process reports an old version of Node.
 * The process that it starts has an IPC channel and reports the real version.
 */
if (process.channel === undefined || process.channel === null) {
  Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.0" } });
}
