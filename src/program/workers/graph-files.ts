/** The files of graphs: in the vector area's directory, beside its journal. */
import { linkOrCopy } from "../../persistence/backup.ts";
import { codeOf, type Disk } from "../../persistence/disk/disk.ts";
import { readFileIfThere, writeFileDurably } from "../../persistence/disk/durable-file.ts";
import type { GraphFiles } from "../../vector/index/mod.ts";

const FILE_NAME = /^graph-\d+-\d+(-[1-9]\d*)?$/;
const FILE_MODE = 0o600;

/** Whether a file of the area's directory is a graph. */
export function isGraphFile(name: string): boolean {
  return FILE_NAME.test(name);
}

/** Links the files of graphs into another directory. Files are replaced as a whole, so each is complete. */
export async function linkGraphFiles(disk: Disk, { from, to }: { from: string; to: string }): Promise<void> {
  for (const name of (await disk.list(from)).filter(isGraphFile)) {
    try {
      await linkOrCopy(disk, `${from}/${name}`, `${to}/${name}`);
    } catch (fault) {
      // Its namespace was removed meanwhile.
      if (codeOf(fault) !== "ENOENT") throw fault;
    }
  }
  await disk.syncDirectory(to);
}

export function graphFiles(disk: Disk, directory: string): GraphFiles {
  const pathOf = (name: string): string => `${directory}/${name}`;
  return {
    names: async () => (await disk.list(directory)).filter(isGraphFile),
    read: (name) => readFileIfThere(disk, pathOf(name)),
    write: (name, bytes) => writeFileDurably(pathOf(name), bytes, { mode: FILE_MODE, disk }),
    remove: async (name) => {
      if ((await disk.list(directory)).includes(name)) await disk.unlink(pathOf(name));
    },
  };
}
