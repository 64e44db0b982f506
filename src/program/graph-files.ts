/** The files of graphs: in the vector area's part of the data directory, beside its journal. */
import type { Disk } from "../persistence/disk.ts";
import { readFileIfThere, writeFileDurably } from "../persistence/durable-file.ts";
import type { GraphFiles } from "../vector/graph-cache.ts";

const FILE_NAME = /^graph-\d+-\d+$/;
const FILE_MODE = 0o600;

export function graphFiles(disk: Disk, directory: string): GraphFiles {
  const pathOf = (name: string): string => `${directory}/${name}`;
  return {
    names: async () => (await disk.list(directory)).filter((name) => FILE_NAME.test(name)),
    read: (name) => readFileIfThere(disk, pathOf(name)),
    write: (name, bytes) => writeFileDurably(pathOf(name), bytes, { mode: FILE_MODE, disk }),
    remove: async (name) => {
      if ((await disk.list(directory)).includes(name)) await disk.unlink(pathOf(name));
    },
  };
}
