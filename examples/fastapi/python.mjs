/** The Python of the tests: that of the environment in `.venv`, or the one named in `PYTHON`, or `python3`. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

export const python = process.env.PYTHON ?? (existsSync(".venv") ? ".venv/bin/python" : "python3");

/** Why a test is skipped: the modules that this Python does not have. */
export function missing(...modules) {
  const program = "import importlib.util, sys; print(*(m for m in sys.argv[1:] if not importlib.util.find_spec(m)))";
  const { stdout } = spawnSync(python, ["-c", program, ...modules], { encoding: "utf8" });
  const names = (stdout ?? modules.join(" ")).trim().split(" ").filter(Boolean);
  return names.length > 0 && `${python} has no ${names.join(", ")}`;
}
