/** Bugs of rows in files: in what readers hold, in what a start believes, and in what a failing disk leaves. */
import type { RowFileStorage, StoredRowFile } from "../../../src/vector/row-files/row-file-storage.ts";
import type { RowFiles } from "../../../src/vector/row-files/row-files.ts";
import { type RowFilesPlant, runRowFilesWorld } from "../vector/row-files-world.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

export const rowFileBugs: PlantedBugs<RowFilesPlant> = {
  simulation: "rows in files",
  run: async (seed, plant) => (await runRowFilesWorld(seed, plant)).fault,
  runsMax: 20,
  control: { bug: {}, runs: 10 },
  bugs: [
    {
      name: "places are released before they are read",
      breaks: "src/vector/row-files/row-files.ts",
      bug: { files: releaseEarly },
      seed: 1,
      found: /EBADF|\(2\) a held (?:place|file)/,
    },
    {
      name: "a failed write counts as done",
      breaks: "src/program/workers/row-files.ts",
      bug: { storage: (storage) => changeFiles(storage, withoutFailures) },
      seed: 1,
      found: /is damaged: it does not have the row/,
    },
    {
      name: "a removed file stays",
      breaks: "src/program/workers/row-files.ts",
      bug: { storage: (storage) => ({ ...storage, remove: async () => {} }) },
      seed: 1,
      found: /\(3\) \d+ files/,
    },
    {
      name: "a move forgets the row in the buffer",
      breaks: "src/vector/row-files/row-files.ts",
      bug: { files: forgetMoved },
      seed: 1,
      found: /\(1\)/,
    },
    {
      name: "rows are appended at the wrong offset",
      breaks: "src/vector/row-files/row-segment.ts",
      bug: { storage: (storage) => changeFiles(storage, withShiftedWrites) },
      seed: 1,
      found: /is damaged|\(4\) \d+ rows|\(2\)/,
    },
  ],
};

function releaseEarly(files: RowFiles): void {
  const hold = files.hold.bind(files);
  files.hold = (records) => {
    const { places, release } = hold(records);
    release();
    return { places, release: () => {} };
  };
}

function forgetMoved(files: RowFiles): void {
  const move = files.move.bind(files);
  files.move = (from, to) => {
    const isBuffered = files.buffered(from) !== undefined;
    move(from, to);
    if (isBuffered) files.remove(to);
  };
}

function changeFiles(storage: RowFileStorage, change: (file: StoredRowFile) => StoredRowFile): RowFileStorage {
  return { ...storage, create: async (name) => change(await storage.create(name)) };
}

function withoutFailures(file: StoredRowFile): StoredRowFile {
  return { ...file, write: (bytes, offset) => file.write(bytes, offset).catch(() => {}) };
}

/** Each second write is 8 bytes late. */
function withShiftedWrites(file: StoredRowFile): StoredRowFile {
  let count = 0;
  return {
    ...file,
    write: (bytes, offset) => {
      count += 1;
      return file.write(bytes, offset + (count > 1 && count % 2 === 1 ? 8 : 0));
    },
  };
}
