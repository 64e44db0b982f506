/** The files of dense rows: in the vector area's directory, beside its journal. The files of the disk have descriptors. */
import { assert } from "../../kernel/assert.ts";
import { type Disk, type DiskFile, readFully, writeFully } from "../../persistence/disk/disk.ts";
import type { RowFileStorage, StoredRowFile } from "../../vector/index/mod.ts";

const FILE_NAME = /^rows-\d+-\d+-\d+$/;

/** Whether a file of the area's directory has dense rows. */
export function isRowFile(name: string): boolean {
  return FILE_NAME.test(name);
}

export function rowFiles(disk: Disk, directory: string): RowFileStorage {
  const pathOf = (name: string): string => `${directory}/${name}`;
  return {
    names: async () => (await disk.list(directory)).filter(isRowFile),
    create: async (name) => stored(await disk.open(pathOf(name), "create")),
    open: async (name) => stored(await disk.open(pathOf(name), "read")),
    remove: (name) => disk.unlink(pathOf(name)),
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
