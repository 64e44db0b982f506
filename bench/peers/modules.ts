/** Modules of peers, from a folder outside this project: `BENCH_PEERS`. */
import { createRequire } from "node:module";
import { join } from "node:path";

export const peersFolder = process.env["BENCH_PEERS"] ?? process.cwd();

const require = createRequire(join(peersFolder, "package.json"));

/** The module. Its callers declare the types that they use. */
export function loadPeer<Module>(name: string): Module {
  return require(name) as Module;
}

/** Undefined if it is not installed or does not load here. */
export function peerVersion(name: string): string | undefined {
  try {
    let path = require.resolve(name);
    for (;;) {
      const parent = join(path, "..");
      if (parent === path) return undefined;
      path = parent;
      if (path.endsWith(join("node_modules", name)))
        return (require(join(path, "package.json")) as { version: string }).version;
    }
  } catch {
    return undefined;
  }
}
