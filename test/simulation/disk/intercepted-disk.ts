/** A disk between a server and its disk that drops, delays or fails some operations. */
import type { Disk, DiskFile } from "../../../src/persistence/disk/disk.ts";
import type { OperationKind } from "./simulated-disk.ts";

export interface Intercepted {
  readonly kind: OperationKind;
  readonly path: string;
  /** The new name, of a rename or a link. */
  readonly to?: string;
}

/** Runs the operation, or does something else. */
export type Intercept = <Result>(operation: Intercepted, run: () => Promise<Result>) => Promise<Result>;

/** `writeNow` is not intercepted. */
export function interceptedDisk(disk: Disk, intercept: Intercept): Disk {
  const interceptedFile = (file: DiskFile, path: string): DiskFile => ({
    write: (bytes, offset) => intercept({ kind: "write", path }, () => file.write(bytes, offset)),
    writeNow: (bytes, offset) => file.writeNow(bytes, offset),
    read: (target, offset) => intercept({ kind: "read", path }, () => file.read(target, offset)),
    fdatasync: () => intercept({ kind: "sync", path }, () => file.fdatasync()),
    fsync: () => intercept({ kind: "sync", path }, () => file.fsync()),
    truncate: (bytes) => intercept({ kind: "truncate", path }, () => file.truncate(bytes)),
    size: () => intercept({ kind: "size", path }, () => file.size()),
    close: () => intercept({ kind: "close", path }, () => file.close()),
  });
  return {
    open: (path, how, mode) =>
      intercept({ kind: how === "create" ? "create" : "open", path }, async () =>
        interceptedFile(await disk.open(path, how, mode), path),
      ),
    rename: (path, to) => intercept({ kind: "rename", path, to }, () => disk.rename(path, to)),
    unlink: (path) => intercept({ kind: "unlink", path }, () => disk.unlink(path)),
    link: (path, to) => intercept({ kind: "link", path, to }, () => disk.link(path, to)),
    list: (path) => intercept({ kind: "list", path }, () => disk.list(path)),
    mkdir: (path) => intercept({ kind: "mkdir", path }, () => disk.mkdir(path)),
    syncDirectory: (path) => intercept({ kind: "syncDirectory", path }, () => disk.syncDirectory(path)),
    ...(disk.adopt !== undefined && { adopt: disk.adopt.bind(disk) }),
  };
}

class Death extends Error {
  override name = "Death";
}

/** Whether this error is that of an operation that came too late on a `dyingDisk`. */
export function isDeath(error: unknown): boolean {
  return error instanceof Death;
}

/** The disk of a killed process: carries out this many more operations. */
export function dyingDisk(disk: Disk, operationsLeft: number): Disk {
  let left = operationsLeft;
  return interceptedDisk(disk, (operation, run) => {
    left -= 1;
    // The system closes the files of a dead process.
    if (left >= 0 || operation.kind === "close") return run();
    return Promise.reject(new Death("The process is dead"));
  });
}
