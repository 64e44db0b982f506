"use strict";
/*
 * Loaded into the program with `--require`: looking up a name that ends in
 * `.blocked.test` takes a thread of the pool for good, as a name server that
 * never answers does. A thread that opens a FIFO for reading waits in the
 * system until somebody writes.
 */
const dns = require("node:dns/promises");
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const { lookup } = dns;
dns.lookup = (name, options) => {
  if (!name.endsWith(".blocked.test")) return lookup(name, options);
  return new Promise((resolve) => fs.open(process.env.BLOCKING_FIFO, "r", resolve));
};
syncBuiltinESMExports();
