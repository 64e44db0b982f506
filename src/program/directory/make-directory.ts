/** Creates a directory and its parents one by one: Node's own `recursive` never ends below /proc. */
import { accessSync, constants, existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../refusal.ts";

/** Creates `path`, absolute, unless it exists. Throws the system's error. */
export function makeDirectory(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (fault) {
    const code = codeOf(fault);
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    const parent = dirname(path);
    if (code !== "ENOENT" || existsSync(parent)) throw fault;
    makeDirectory(parent, mode);
    mkdirSync(path, { mode });
  }
}

/** Throws the system's error if `makeDirectory` would fail, as far as can be known without making anything. */
export function assertCanBeMade(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
    assertCanBeMade(dirname(path));
    return;
  }
  // A link to nothing is an entry too.
  if (!statSync(path).isDirectory()) throw Object.assign(new Error(`ENOTDIR: ${path}`), { code: "ENOTDIR" });
  accessSync(path, constants.W_OK | constants.X_OK);
}
