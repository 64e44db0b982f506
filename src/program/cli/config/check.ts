/**
 * `larder config check`: the checks of a start that need neither the data
 * directory nor a port. `larder check` reads the data directory too.
 */
import type { RunSettings } from "../../settings/run-settings.ts";
import { resolveTenants } from "../../tenants/tokens.ts";

/** Prints the problems, or `ok`, and returns the exit code. The settings are valid each for itself. */
export function checkConfig(run: RunSettings, print: (line: string) => void): 0 | 1 {
  const { problems } = resolveTenants(run, {});
  for (const problem of problems) print(problem);
  if (problems.length > 0) return 1;
  print(`${run.settings.config ?? "settings"}: ok`);
  return 0;
}
