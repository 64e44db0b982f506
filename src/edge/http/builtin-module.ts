/**
 * `node:http`, loaded by the first caller. An import of that module by name reads all its properties, of which some load
 * a whole client: 60 ms of processor time in each thread. And a server that reads HTTP itself needs nothing of it.
 */
export function loadHttp(): typeof import("node:http") {
  return process.getBuiltinModule("node:http");
}
