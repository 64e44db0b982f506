/**
 * The text of the unit of a single server, and of the file with its secrets.
 *
 * (1) What the service may do is listed: it writes its data directory, opens sockets, and runs Node. The rest of the file
 *     system is read-only for it, and homes and temporary files of others do not exist.
 * (2) A text of a user is one word of the unit: specifiers and variables in it are not replaced.
 */
import { settingList } from "../../settings/settings.ts";
import { MARK, SERVICE } from "./machine.ts";

export interface Service {
  readonly isOfUser: boolean;
  /** Node, the program, and its arguments. */
  readonly words: readonly string[];
  /** Absolute paths. */
  readonly dataDirectory: string;
  /** The data directory below /var/lib, which systemd makes; undefined: it is elsewhere. */
  readonly stateName: string | undefined;
  /** Directories that it also writes. */
  readonly writes: readonly string[];
  readonly environmentFile: string;
  readonly stopSeconds: number;
  /** Whether it listens on a port below 1024. */
  readonly hasLowPort: boolean;
}

/** How the unit says where the data is, for `larder service uninstall`. */
const DATA_LINE = "# Its data directory: ";

export function printUnit(service: Service): string {
  const { isOfUser, words, dataDirectory, environmentFile, stopSeconds } = service;
  const change = isOfUser ? "systemctl --user edit larder" : "systemctl edit larder";
  return `${MARK}, which also replaces it. For changes of your own: ${change}
${DATA_LINE}${dataDirectory}
[Unit]
Description=larder: a Redis-command store, a vector index and messaging
${lines(isOfUser ? [] : startOrder(service))}
[Service]
Type=exec
ExecStart=${words.map(quoteArgument).join(" ")}
EnvironmentFile=${quotePath(environmentFile)}
${lines(isOfUser ? [] : identity(service))}Restart=on-failure
RestartSec=2
# Invalid settings stay invalid.
RestartPreventExitStatus=2
# Requests, deliveries and the copy of --replicate each have the time of --shutdown-grace.
TimeoutStopSec=${stopSeconds}
LimitNOFILE=65536

# V8 makes code at run time, so MemoryDenyWriteExecute would end it.
UMask=0077
${lines(isOfUser ? filters : [...isolation(service), ...filters])}
[Install]
WantedBy=${isOfUser ? "default.target" : "multi-user.target"}
`;
}

/** The data directory of a unit that `printUnit` has made. */
export function dataDirectoryIn(unit: string): string | undefined {
  const line = unit.split("\n").find((each) => each.startsWith(DATA_LINE));
  return line?.slice(DATA_LINE.length);
}

/** The file of variables, with each secret as a comment. */
export function environmentText(): string {
  const secrets = settingList.filter(([, { secret, group }]) => secret === true && group !== "Cluster");
  return `# Settings of the service larder that its unit does not have, secrets above all; only its owner can read this file.
# After a change: restart the service. Secrets that are not set here are made at the first start, in the data directory.
${secrets.map(([, { environment, meaning }]) => `\n# ${meaning}\n#${environment[0]}=\n`).join("")}`;
}

function startOrder(service: Service): readonly string[] {
  const elsewhere = directoriesElsewhere(service);
  return [
    "Wants=network-online.target",
    "After=network-online.target",
    ...(elsewhere.length === 0 ? [] : [`RequiresMountsFor=${elsewhere.map(quotePath).join(" ")}`]),
  ];
}

/** What it writes outside of the directories that systemd makes. */
function directoriesElsewhere({ stateName, dataDirectory, writes }: Service): readonly string[] {
  return [...(stateName === undefined ? [dataDirectory] : []), ...writes];
}

/** A user that lasts, because commands use the data directory while the service is stopped, and copies of it are restored. */
function identity(service: Service): readonly string[] {
  const { stateName } = service;
  const elsewhere = directoriesElsewhere(service);
  return [
    `User=${SERVICE}`,
    ...(stateName === undefined ? [] : [`StateDirectory=${stateName}`, "StateDirectoryMode=0700"]),
    ...(elsewhere.length === 0 ? [] : [`ReadWritePaths=${elsewhere.map(quotePath).join(" ")}`]),
    "# Compiled code, for faster starts.",
    `CacheDirectory=${SERVICE}`,
    "CacheDirectoryMode=0700",
    `Environment=XDG_CACHE_HOME=/var/cache/${SERVICE}`,
  ];
}

/** keeps (1): what needs a file system of its own, which a manager of a user cannot make on every machine. */
function isolation({ hasLowPort }: Service): readonly string[] {
  const capability = hasLowPort ? "CAP_NET_BIND_SERVICE" : "";
  return [
    `CapabilityBoundingSet=${capability}`,
    `AmbientCapabilities=${capability}`,
    "ProtectSystem=strict",
    "ProtectHome=true",
    "ProtectProc=invisible",
    "ProtectClock=true",
    "ProtectHostname=true",
    "ProtectControlGroups=true",
    "ProtectKernelLogs=true",
    "ProtectKernelModules=true",
    "ProtectKernelTunables=true",
    "PrivateDevices=true",
    "PrivateTmp=true",
    "PrivateIPC=true",
    "RemoveIPC=true",
    "KeyringMode=private",
  ];
}

/** keeps (1): filters of system calls. */
const filters: readonly string[] = [
  "NoNewPrivileges=true",
  "LockPersonality=true",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "RestrictNamespaces=true",
  "RestrictRealtime=true",
  "RestrictSUIDSGID=true",
  "SystemCallArchitectures=native",
  "SystemCallFilter=@system-service",
  "SystemCallFilter=~@privileged",
  "SystemCallErrorNumber=EPERM",
];

function lines(each: readonly string[]): string {
  return each.map((line) => `${line}\n`).join("");
}

/** keeps (2): an argument of a command. */
function quoteArgument(text: string): string {
  return quotePath(text).replaceAll("$", "$$$$");
}

/** keeps (2): a path, in which variables are not replaced. */
function quotePath(text: string): string {
  const escaped = text.replaceAll("%", "%%");
  return /^[\w@%+=:,./$-]+$/.test(text) ? escaped : `"${escaped.replace(/["\\]/g, "\\$&")}"`;
}
