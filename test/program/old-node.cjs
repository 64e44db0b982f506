"use strict";
/* Loaded with `--require`: the first process takes itself for an old Node; the one that it starts, which has a channel, does not. */
if (process.channel === undefined || process.channel === null) {
  Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.0" } });
}
