/**
 * The layout of a data directory:
 *
 *     format         the version of this layout, one line of text
 *     lock.sqlite    the lock of the process that uses it (data-directory-lock.ts)
 *     tokens.json    the secrets of the first start (durable-file.ts; this file does not read them)
 *     admin-address  the address of the admin port of the process that uses it, one line of text
 *     audit.log      the log of administrative actions, lines of JSON
 *     addresses.json the addresses of its areas, once they serve
 *     store/ vector/ messaging/    one directory for each area (area-files.ts)
 *     copy-id        the id that a copy of the directory has in a store of objects (replication/directory-id.ts)
 *     store.high-water …           the last known end of each area's journal (high-water.ts)
 *
 * The format file is written before anything else and only ever replaced as a
 * whole, so a directory without one holds no data.
 */
import { dirname } from "node:path";
import { codeOf, type Disk } from "./disk/disk.ts";
import { readFileIfThere, writeFileDurably } from "./disk/durable-file.ts";
import { DamagedData, ForeignDirectory, MissingData, NewerFormat } from "./errors.ts";
import { FORMAT, UNFINISHED_SUFFIX } from "./journal/file-format.ts";
import { highWaterPath } from "./journal/high-water.ts";

export const FORMAT_FILE = "format";
const FORMAT_LINE = /^larder data directory, format (\d{1,9})\n$/;
const FILE_MODE = 0o600;

/**
 * Files that may be in a directory before it is a data directory: those of a first start, and those of file systems.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  `${FORMAT_FILE}${UNFINISHED_SUFFIX}`,
  "lock.sqlite",
  "lock.sqlite-journal",
  "tokens.json",
  "audit.log",
  "lost+found",
]);

/**
 * Throws `ForeignDirectory` if the directory has other files, so that larder does not write among them. `names` are the
 * names in the directory; `checkDataDirectory` checks the `areas`.
 */
export function assertNotForeign(dataDirectory: string, names: readonly string[], areas: readonly string[]): void {
  if (names.includes(FORMAT_FILE)) return;
  const isOurs = (name: string): boolean =>
    HARMLESS.has(name) || areas.some((area) => name === area || name === highWaterPath(area));
  const found = names.find((name) => !isOurs(name));
  if (found !== undefined) throw new ForeignDirectory(dataDirectory, found);
}

/** The directory of an area inside a data directory. */
export function areaDirectory(dataDirectory: string, area: string): string {
  return `${dataDirectory}/${area}`;
}

/** The directory in which a node of a cluster has its shards, one directory each. */
export const SHARDS_DIRECTORY = "shards";

/** The directory of a shard inside a data directory. */
export function shardDirectory(dataDirectory: string, shard: number): string {
  return `${dataDirectory}/${SHARDS_DIRECTORY}/${shard}`;
}

/**
 * Creates the layout in a directory that exists, or checks the one that it has; `dataDirectory` is absolute. Throws
 * `NewerFormat` or `DamagedData`, or `MissingData` if there are areas of unknown format.
 */
export async function prepareDataDirectory(disk: Disk, dataDirectory: string, areas: readonly string[]): Promise<void> {
  if (!(await checkDataDirectory(disk, dataDirectory, areas))) {
    const line = `larder data directory, format ${FORMAT}\n`;
    await writeFileDurably(`${dataDirectory}/${FORMAT_FILE}`, line, { mode: FILE_MODE, disk });
    await syncAncestors(disk, dataDirectory);
  }
  for (const area of areas) await disk.mkdir(areaDirectory(dataDirectory, area));
  await disk.syncDirectory(dataDirectory);
}

/** Checks a data directory without changing it; the errors are those of `prepareDataDirectory`. False if it is new. */
export async function checkDataDirectory(
  disk: Disk,
  dataDirectory: string,
  areas: readonly string[],
): Promise<boolean> {
  const path = `${dataDirectory}/${FORMAT_FILE}`;
  const line = await readFileIfThere(disk, path);
  if (line !== undefined) {
    assertFormat(line.toString("latin1"), path);
    return true;
  }
  for (const area of areas) {
    const names = await listIfThere(disk, areaDirectory(dataDirectory, area));
    if (names.length > 0) throw new MissingData(path, `the directory ${area} has files`);
  }
  return false;
}

/** Throws `NewerFormat` or `DamagedData` if this is not the text of a format file that this version reads. */
export function assertFormat(text: string, path: string): void {
  const [, digits] = FORMAT_LINE.exec(text) ?? [];
  if (digits === undefined) throw new DamagedData(path, 0, "it does not state a format");
  if (Number(digits) > FORMAT) throw new NewerFormat(path, Number(digits), FORMAT);
}

/** Errors of syncing a directory that this process did not create. */
const NOT_OURS: readonly (string | undefined)[] = ["EACCES", "EPERM", "EROFS", "EINVAL"];

/** The creator of the data directory may have created those above it too: none of these names is durable yet. */
async function syncAncestors(disk: Disk, path: string): Promise<void> {
  const parent = dirname(path);
  try {
    await disk.syncDirectory(parent);
  } catch (error) {
    if (NOT_OURS.includes(codeOf(error))) return;
    throw error;
  }
  if (parent !== dirname(parent)) await syncAncestors(disk, parent);
}

async function listIfThere(disk: Disk, path: string): Promise<string[]> {
  try {
    return await disk.list(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}
