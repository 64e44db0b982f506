/**
 * `larder service install`: a unit of systemd that serves with the settings of the command.
 *
 * (1) Everything is checked before the first change, except the owner of a data directory outside of /var/lib: its user
 *     is made first.
 * (2) The service has the settings that the user saw: flags are in the unit, and variables of the caller, which it does not
 *     get, are refused.
 * (3) A second call with the same settings changes nothing. With others it restarts the service.
 */
import { chownSync, existsSync, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { clusterPlaceOf, isClustered } from "../../cluster/setting-rules.ts";
import { makeDirectory } from "../../directory/make-directory.ts";
import { StartRefusal } from "../../refusal.ts";
import { copyAddressOf } from "../../services/objects/copy-settings.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { settingList } from "../../settings/settings.ts";
import { parsePath } from "../../settings/values.ts";
import {
  assertMayChange,
  MARK,
  type Machine,
  mustRun,
  pathsOf,
  replaceFile,
  SERVICE,
  systemctl,
  UNIT_NAME,
} from "./machine.ts";
import { environmentText, printUnit, type Service } from "./unit.ts";

const STATE_FOLDER = "/var/lib";
/** A name that StateDirectory= takes without quotes. */
const STATE_NAME = /^[\w.-]+(?:\/[\w.-]+)*$/;
/** Folders that a service of the machine does not see, or sees its own of. */
const HIDDEN_FOLDERS = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];
/** Where npx keeps packages for a while. */
const NPX_FOLDER = /\/_npx\//;
const NODE_OPTIONS = ["--disable-sigusr1"];

/** A stop waits three times for the grace, and then writes and syncs. */
const GRACES = 3;
const STOP_MARGIN_SECONDS = 15;
const LOW_PORTS = 1024;
const PORTS = ["port", "storePort", "messagingPort", "vectorPort", "respPort", "adminPort"] as const;

const PRIVATE = 0o700;
const READABLE = 0o644;
const SECRET = 0o600;

/** The service with these settings. Throws a `StartRefusal`. */
export function planService(run: RunSettings, machine: Machine): Service {
  const { settings } = run;
  const { isOfUser, home, node, program } = machine;
  if (isClustered(run))
    throw new StartRefusal(
      `${clusterPlaceOf(run)}: the command installs a single server: deploy/systemd/ has the unit of a node of a cluster`,
      2,
    );
  assertNoVariables(run, machine);
  assertAbsolutePaths(run);
  if (NPX_FOLDER.test(program))
    throw new StartRefusal("npx removes its packages after a while: install larder with npm install --global larderd");
  const isDefault = run.origins.dataDirectory.source === "default";
  const dataDirectory = isDefault
    ? join(isOfUser ? home.state : STATE_FOLDER, SERVICE)
    : resolve(settings.dataDirectory ?? "");
  const stateName = dataDirectory.startsWith(`${STATE_FOLDER}/`) ? dataDirectory.slice(STATE_FOLDER.length + 1) : "";
  const copy = settings.replicate === undefined ? undefined : copyAddressOf(settings.replicate);
  const service: Service = {
    isOfUser,
    words: [node, ...NODE_OPTIONS, program, "serve", "--data-dir", dataDirectory, ...flagsOf(run)],
    dataDirectory,
    stateName: STATE_NAME.test(stateName) ? stateName : undefined,
    writes: copy?.kind === "file" ? [copy.directory] : [],
    environmentFile: pathsOf(machine).environment,
    stopSeconds: Math.ceil((GRACES * settings.shutdownGraceMs) / 1_000) + STOP_MARGIN_SECONDS,
    hasLowPort: PORTS.some((name) => isLow(settings[name])),
  };
  const all = [...service.words, ...service.writes];
  const bad = all.find((text) => /[\p{Cc}]/u.test(text));
  if (bad !== undefined)
    throw new StartRefusal(
      `${JSON.stringify(bad)} has a control character, which a unit cannot have: choose another`,
      2,
    );
  if (!isOfUser) assertVisible(run, service, machine);
  return service;
}

/** keeps (2) */
function assertNoVariables({ origins }: RunSettings, machine: Machine): void {
  const found = settingList.find(([name]) => origins[name].source === "environment");
  if (found === undefined) return;
  const [name, { flag }] = found;
  const { place } = origins[name];
  const file = pathsOf(machine).environment;
  throw new StartRefusal(
    `${place} is set here, and the service would not have it: unset it, and ${flag === undefined ? "" : `use ${flag}, or `}set it in ${file}`,
    2,
  );
}

/** keeps (2): paths of the configuration file are relative to the current directory, which is another one for the service. */
function assertAbsolutePaths({ origins, settings }: RunSettings): void {
  for (const [name, { parse }] of settingList) {
    const path = pathOf(settings[name]);
    const isOurs = parse === parsePath && origins[name].source === "file" && name !== "dataDirectory";
    if (isOurs && path !== undefined && !isAbsolute(path))
      throw new StartRefusal(
        `${origins[name].place}: ${path} must be an absolute path for a service: ${resolve(path)}`,
        2,
      );
  }
}

/** keeps (2): the flags of the command, with absolute paths. */
function flagsOf({ origins, texts }: RunSettings): readonly string[] {
  return settingList.flatMap(([name, { flag, parse }]) => {
    const text = texts.get(name);
    if (origins[name].source !== "flag" || name === "dataDirectory" || flag === undefined || text === undefined)
      return [];
    return [flag, parse === parsePath ? resolve(text) : text];
  });
}

/** Throws a `StartRefusal` if the service could not see one of its files. */
function assertVisible({ settings, origins }: RunSettings, service: Service, { node, program }: Machine): void {
  const remedy = "move it, or install a service of your own with --user";
  const files = settingList.flatMap(([name, { parse }]) => {
    const path = pathOf(settings[name]);
    return parse === parsePath && path !== undefined ? [[origins[name].place, resolve(path)] as const] : [];
  });
  const copies = service.writes.map((path) => [origins.replicate.place, path] as const);
  for (const [place, path] of [["Node", node], ["larder", program], ...files, ...copies]) {
    const folder = HIDDEN_FOLDERS.find((hidden) => `${path}/`.startsWith(`${hidden}/`));
    if (folder !== undefined)
      throw new StartRefusal(
        `${place}: ${path} is in ${folder}, which a service of the machine does not see: ${remedy}`,
      );
  }
}

function pathOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isLow(port: number | undefined): boolean {
  return port !== undefined && port > 0 && port < LOW_PORTS;
}

/** Makes, enables and starts the service. Returns the lines to print; throws a `StartRefusal`. */
export function installService(service: Service, machine: Machine): readonly string[] {
  assertMayChange(machine);
  const { root, isOfUser } = machine;
  const { unit, environment, user } = pathsOf(machine);
  if (!isOfUser) {
    replaceFile(join(root, user), `${MARK}\nu ${SERVICE} - "larder"\n`, { mode: READABLE });
    mustRun(machine, "systemd-sysusers", join(root, user));
    if (service.stateName === undefined) giveDirectory(service.dataDirectory, machine);
    for (const path of service.writes) assertOwnDirectory(path, machine);
  }
  if (!existsSync(join(root, environment))) replaceFile(join(root, environment), environmentText(), { mode: SECRET });
  const isNew = replaceFile(join(root, unit), printUnit(service), { mode: READABLE });
  if (isNew) systemctl(machine, "daemon-reload");
  systemctl(machine, "enable", UNIT_NAME);
  systemctl(machine, isNew ? "restart" : "start", UNIT_NAME); // keeps (3)
  return summary(service, machine, isNew);
}

/** Makes a directory of the user of the service. Throws a `StartRefusal` if it belongs to another one. */
function giveDirectory(path: string, machine: Machine): void {
  const place = join(machine.root, path);
  if (!existsSync(place)) {
    makeDirectory(place, PRIVATE);
    chownSync(place, idOf("-u", machine), idOf("-g", machine));
  }
  assertOwnDirectory(path, machine);
}

/** As the directory of a copy must exist at a start: without it, its disk is not mounted. */
function assertOwnDirectory(path: string, machine: Machine): void {
  const entry = statSync(join(machine.root, path), { throwIfNoEntry: false });
  if (entry === undefined) throw new StartRefusal(`${path} does not exist: create it, or mount its disk`);
  if (entry.uid !== idOf("-u", machine)) {
    throw new StartRefusal(
      `${path} does not belong to the user ${SERVICE}: run chown -R ${SERVICE}: ${path}, then this again`,
    );
  }
}

/** The number of the user of the service, or of its group. */
function idOf(flag: "-u" | "-g", machine: Machine): number {
  return Number(mustRun(machine, "id", flag, SERVICE));
}

function summary({ dataDirectory, environmentFile }: Service, machine: Machine, isNew: boolean): readonly string[] {
  const { isOfUser } = machine;
  const [control, log] = isOfUser ? ["systemctl --user", "journalctl --user"] : ["systemctl", "journalctl"];
  const command = isOfUser ? "larder" : `sudo -u ${SERVICE} larder`;
  return [
    `${pathsOf(machine).unit} ${isNew ? "is written" : "is up to date"}, and the service has been started`,
    `state:   ${control} status ${SERVICE}`,
    `log:     ${log} -u ${SERVICE}`,
    `tokens:  ${command} env --data-dir ${dataDirectory}`,
    `secrets: ${environmentFile}; after a change: ${control} restart ${SERVICE}`,
    ...(isOfUser ? ["It runs while you are logged in: loginctl enable-linger keeps it running"] : []),
  ];
}
