/**
 * `larder service uninstall`: stops the service, and removes what `larder service install` wrote.
 *
 * (1) The data directory, secrets that somebody has set, and the user to whom the data belongs stay.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { assertMayChange, type Machine, pathsOf, readIfThere, SERVICE, systemctl, UNIT_NAME } from "./machine.ts";
import { dataDirectoryIn, environmentText } from "./unit.ts";

/** Returns the lines to print; throws a `StartRefusal`. */
export function uninstallService(machine: Machine): readonly string[] {
  assertMayChange(machine);
  const { root, isOfUser } = machine;
  const paths = pathsOf(machine);
  const unit = join(root, paths.unit);
  const text = readIfThere(unit);
  if (text === undefined) return [`There is no ${paths.unit}: nothing was changed`];
  const dataDirectory = dataDirectoryIn(text);
  systemctl(machine, "disable", "--now", UNIT_NAME);
  rmSync(unit);
  if (!isOfUser) rmSync(join(root, paths.user), { force: true });
  systemctl(machine, "daemon-reload");
  const environment = join(root, paths.environment);
  const isUnchanged = readIfThere(environment) === environmentText();
  if (isUnchanged) rmSync(environment);
  const kept = [
    ...(dataDirectory === undefined ? [] : [`the data directory ${dataDirectory}`]),
    ...(existsSync(environment) ? [paths.environment] : []),
    ...(isOfUser ? [] : [`the user ${SERVICE}`]),
  ];
  return [`The service has been stopped, and ${paths.unit} removed`, `Kept: ${kept.join(", ")}`]; // keeps (1)
}
