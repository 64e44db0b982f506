/**
 * A reason not to start or run that only the operator can fix: one sentence with
 * the problem and the remedy. Every other error is a bug and keeps its stack.
 */
import {
  DamagedData,
  DirectoryInUse,
  ForeignDirectory,
  MissingData,
  NewerFormat,
  NotAFile,
  WrongFile,
} from "../persistence/errors.ts";

export class StartRefusal extends Error {
  override name = "StartRefusal";
  /** 2 if the settings are the reason, 1 if the machine is. */
  readonly exitCode: 1 | 2;

  constructor(sentence: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(sentence, options);
    this.exitCode = exitCode;
  }
}

/** The `code` of a system error, such as `EADDRINUSE`. */
export function codeOf(fault: unknown): string | undefined {
  return fault instanceof Error && "code" in fault && typeof fault.code === "string" ? fault.code : undefined;
}

/** Where a port should listen, and the settings that say so. Apart from the plan, so that the library's types are few. */
interface RefusedAddress {
  readonly host: string;
  readonly port: number;
  readonly portPlace: string;
  readonly hostPlace: string;
}

/** The reason why listening on a port failed, or the fault itself if the reason is unknown. */
export function listenRefusal(fault: unknown, { host, port, portPlace, hostPlace }: RefusedAddress): unknown {
  const remedy = `choose another with ${portPlace}`;
  switch (codeOf(fault)) {
    case "EADDRINUSE":
      return new StartRefusal(`Port ${port} on ${host} is in use: stop the program that uses it, or ${remedy}`);
    case "EACCES":
    case "EPERM":
      return new StartRefusal(`No permission to listen on port ${port} of ${host}: ${remedy}`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EINVAL":
    case "EAFNOSUPPORT":
      return new StartRefusal(`${host} is not an address of this machine: change ${hostPlace}`);
    default:
      return fault;
  }
}

/** The file or directory of a system error. */
function pathOf(fault: unknown): string | undefined {
  return fault instanceof Error && "path" in fault && typeof fault.path === "string" ? fault.path : undefined;
}

/** Errors of persistence about a directory, for the operator. */
const dataFaults = [DamagedData, DirectoryInUse, ForeignDirectory, MissingData, NewerFormat, NotAFile, WrongFile];

/** The reason why the data directory cannot be used, or the fault itself if the reason is unknown. */
export function directoryRefusal(fault: unknown, directory: string, place: string): unknown {
  const remedy = `choose another with ${place}`;
  if (fault instanceof Error && dataFaults.some((kind) => fault instanceof kind)) {
    return new StartRefusal(fault.message, 1, { cause: fault });
  }
  switch (lockFaultOf(fault) ?? codeOf(fault)) {
    case "EACCES":
    case "EPERM":
      return new StartRefusal(`No permission to use ${placeOf(fault, directory)}: change its owner, or ${remedy}`);
    case "EROFS":
      return new StartRefusal(`The data directory ${directory} is on a read-only file system: ${remedy}`);
    case "ENOTDIR":
    case "EEXIST":
      return new StartRefusal(`The data directory ${directory} is not a directory: ${remedy}`);
    case "ENOENT":
    case "ENAMETOOLONG":
    case "ELOOP":
      return new StartRefusal(`The data directory ${directory} cannot be created: ${remedy}`);
    case "EIO":
      return new StartRefusal(`The disk of the data directory ${directory} failed: check the system log, or ${remedy}`);
    case "damaged lock":
      return new StartRefusal(`${directory}/lock.sqlite is not a lock: remove that file, which contains no data`);
    case "ENOSPC":
    case "EDQUOT":
      return new StartRefusal(`No space left for the data directory ${directory}: free some space, or ${remedy}`);
    default:
      return fault;
  }
}

/** What failed: the data directory, or the file in it that the error names. */
function placeOf(fault: unknown, directory: string): string {
  const path = pathOf(fault);
  return path?.startsWith(`${directory}/`) === true
    ? `${path} in the data directory`
    : `the data directory ${directory}`;
}

/** Failures of a command that the operator can end. Others would be our bugs. */
const commandFaults: ReadonlySet<string> = new Set(["EACCES", "EPERM", "ENOTDIR", "EIO", "damaged lock"]);

/** Faults of a path that a person named, wherever it leads. */
const pathFaults: ReadonlyMap<string, string> = new Map([
  ["ENOTDIR", "a part of this path is not a directory"],
  ["ENAMETOOLONG", "the name is too long"],
  ["ELOOP", "its symbolic links go round in a circle"],
]);

/** Whether a write found no space. Its error names no file. */
export function isFullDisk(fault: unknown): boolean {
  const code = lockFaultOf(fault) ?? codeOf(fault);
  return code === "ENOSPC" || code === "EDQUOT";
}

/**
 * An error of a command about the data directory, its lock or a file in it, or about a path that cannot exist, as a
 * refusal for the operator; any other error itself. The usual reason is another user than that of the server.
 */
export function commandRefusal(fault: unknown, directory: string, place: string): unknown {
  const path = pathOf(fault);
  const lockFault = lockFaultOf(fault);
  if (path === undefined && isFullDisk(fault))
    return new StartRefusal("No space left on the disk that the command writes to: free some space", 1, {
      cause: fault,
    });
  const isInside = path === directory || path?.startsWith(`${directory}/`) === true;
  const code = lockFault ?? (isInside ? codeOf(fault) : undefined);
  if (code === undefined || !commandFaults.has(code)) {
    const reason = path === undefined ? undefined : pathFaults.get(codeOf(fault) ?? "");
    if (reason === undefined) return fault;
    return new StartRefusal(`${path} cannot be used, because ${reason}: name another one`, 1, { cause: fault });
  }
  if (code !== "EACCES" && code !== "EPERM") return directoryRefusal(fault, directory, place);
  return new StartRefusal(
    `No permission to use ${placeOf(fault, directory)}: run this as its owner, or choose another with ${place}`,
    1,
    { cause: fault },
  );
}

/** SQLite's result codes for the lock file (sqlite.org/rescode.html), as the corresponding system errors. */
const lockFaults: ReadonlyMap<number, string> = new Map([
  [8, "EACCES"],
  [10, "EIO"],
  [11, "damaged lock"],
  [13, "ENOSPC"],
  [14, "EACCES"],
  [26, "damaged lock"],
]);
/** Extended codes keep the primary one in their low byte. */
const PRIMARY_CODE = 0xff;

function lockFaultOf(fault: unknown): string | undefined {
  if (!(fault instanceof Error && "errcode" in fault && typeof fault.errcode === "number")) return undefined;
  return lockFaults.get(fault.errcode & PRIMARY_CODE);
}
