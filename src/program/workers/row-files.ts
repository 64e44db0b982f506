/** The files of dense rows: in the vector area's directory, beside its journal. The files of the disk have descriptors. */
import { assert } from "../../kernel/assert.ts";
import { type Disk, type DiskFile, readFully, writeFully } from "../../persistence/disk/disk.ts";
import type { ReadFileNow, RowFileStorage, StoredRowFile } from "../../vector/index/mod.ts";

const FILE_NAME = /^rows-\d+-\d+-\d+$/;

/** Whether a file of the area's directory has dense rows. */
export function isRowFile(name: string): boolean {
  return FILE_NAME.test(name);
}

/** The numbers of the indexes that have row files. */
export async function indexesWithRowFiles(disk: Disk, directory: string): Promise<ReadonlySet<number>> {
  const names = (await disk.list(directory)).filter(isRowFile);
  return new Set(names.map((name) => Number(name.split("-")[1])));
}

export interface RowFilesPlace {
  /** Follows each name, if the files are not those of the server. */
  readonly suffix?: string;
  /** For a process that serves nothing. */
  readonly readNow?: ReadFileNow;
}

export function rowFiles(disk: Disk, directory: string, { suffix = "", readNow }: RowFilesPlace = {}): RowFileStorage {
  const pathOf = (name: string): string => `${directory}/${name}${suffix}`;
  const nameOf = (file: string): string => (file.endsWith(suffix) ? file.slice(0, file.length - suffix.length) : "");
  return {
    names: async () => (await disk.list(directory)).map(nameOf).filter(isRowFile),
    create: async (name) => stored(await disk.open(pathOf(name), "create")),
    open: async (name) => stored(await disk.open(pathOf(name), "read")),
    remove: (name) => disk.unlink(pathOf(name)),
    ...(readNow !== undefined && { readNow }),
  };
}

function stored(file: DiskFile): StoredRowFile {
  const { descriptor } = file;
  assert(descriptor !== undefined, "a row file has a descriptor");
  return {
    descriptor,
    read: (target, offset) => readFully(file, target, offset),
    write: (bytes, offset) => writeFully(file, bytes, offset),
    size: () => file.size(),
    close: () => file.close(),
  };
}
