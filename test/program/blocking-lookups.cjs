"use strict";
/*
 * Loaded into the program with `--require`. A look-up of a name that ends in
 * `.blocked.test` permanently blocks a thread of the pool, like a name server
 * that never answers. A thread that opens a FIFO for reading waits in the
 * system until a writer opens it.
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
