/** Creates a directory and its parents one by one: Node's own `recursive` never ends below /proc. */
import { existsSync, mkdirSync, statSync } from "node:fs";
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
