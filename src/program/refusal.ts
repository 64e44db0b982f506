/**
 * What keeps the program from starting or running and only the operator can put
 * right: one sentence that says what is wrong and what to do. Everything else
 * is a fault of ours and keeps its stack.
 */
import {
  DamagedData,
  DirectoryInUse,
  ForeignDirectory,
  MissingData,
  NewerFormat,
  WrongFile,
} from "../persistence/errors.ts";
import type { ListenPlan } from "./areas/area.ts";

export class StartRefusal extends Error {
  override name = "StartRefusal";
  /** 2 for what the settings say, 1 for what the machine says. */
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

/** Why a port cannot be listened on, or the fault itself when it is none of the known reasons. */
export function listenRefusal(fault: unknown, { host, port, portPlace, hostPlace }: ListenPlan): unknown {
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

/** What persistence says of a directory in words for the operator. */
const dataFaults = [DamagedData, DirectoryInUse, ForeignDirectory, MissingData, NewerFormat, WrongFile];

/** Why the data directory cannot be used, or the fault itself when it is none of the known reasons. */
export function directoryRefusal(fault: unknown, directory: string, place: string): unknown {
  const remedy = `choose another with ${place}`;
  if (fault instanceof Error && dataFaults.some((kind) => fault instanceof kind)) {
    return new StartRefusal(fault.message, 1, { cause: fault });
  }
  switch (lockFaultOf(fault) ?? codeOf(fault)) {
    case "EACCES":
    case "EPERM":
      return new StartRefusal(`No permission to use the data directory ${directory}: change its owner, or ${remedy}`);
    case "EROFS":
      return new StartRefusal(`The data directory ${directory} is on a read-only file system: ${remedy}`);
    case "ENOTDIR":
    case "EEXIST":
      return new StartRefusal(`The data directory ${directory} is not a directory: ${remedy}`);
    case "ENOENT":
    case "ENAMETOOLONG":
    case "ELOOP":
      return new StartRefusal(`The data directory ${directory} cannot be made there: ${remedy}`);
    case "EIO":
      return new StartRefusal(
        `The disk of the data directory ${directory} fails: look at the system's log, or ${remedy}`,
      );
    case "damaged lock":
      return new StartRefusal(`${directory}/lock.sqlite is not a lock: remove that file, which holds no data`);
    case "ENOSPC":
    case "EDQUOT":
      return new StartRefusal(`No space is left for the data directory ${directory}: make room, or ${remedy}`);
    default:
      return fault;
  }
}

/** What SQLite says of the lock's file, by its result codes (sqlite.org/rescode.html), as the system would say it. */
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
