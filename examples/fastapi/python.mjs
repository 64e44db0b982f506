/** The Python of the tests: that of the environment in `.venv`, or the one named in `PYTHON`, or `python3`. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

export const python = process.env.PYTHON ?? (existsSync(".venv") ? ".venv/bin/python" : "python3");

/** Why a test is skipped: the modules that this Python does not have. */
export function missing(...modules) {
  const names = modules.filter((name) => spawnSync(python, ["-c", `import ${name}`]).status !== 0);
  return names.length > 0 && `${python} has no ${names.join(", ")}`;
}
