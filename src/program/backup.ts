/**
 * `larder backup <file>`: everything that a data directory holds, in one file.
 *
 *     somebody has the directory locked    the server closes its segments and links them into a stage, goes on serving,
 *                                          and the file is made of the stage
 *     nobody has                           the file is made of the directory itself, under the lock
 *
 * Either way the file has everything that was acknowledged before the command,
 * each area at one moment of its own, and is durable when the command ends.
 */
import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { askForBackup } from "../edge/admin-client.ts";
import type { BackupMade } from "../edge/admin-routes.ts";
import { systemClock } from "../kernel/clock.ts";
import { type ArchiveSource, writeArchive } from "../persistence/archive/archive-writer.ts";
import type { BackedUpArea } from "../persistence/archive/manifest.ts";
import { isEntryName } from "../persistence/archive/tar.ts";
import { areaDirectory } from "../persistence/data-directory.ts";
import { lockDataDirectory } from "../persistence/data-directory-lock.ts";
import { DirectoryInUse } from "../persistence/errors.ts";
import { fileDisk } from "../persistence/file-disk.ts";
import { FORMAT, findFileNumber } from "../persistence/file-format.ts";
import { inspectArea } from "../persistence/inspection.ts";
import { noteFromCommandLine } from "./audit-log.ts";
import { makeStage, removeStage, sourcesIn } from "./backup-stage.ts";
import { KEPT_AREAS, openDataDirectory } from "./data-directory.ts";
import { isGraphFile } from "./graph-files.ts";
import { copyHistoryFile } from "./history-copy.ts";
import { tellBytes } from "./progress.ts";
import type { RunSettings } from "./read-settings.ts";
import { codeOf, StartRefusal } from "./refusal.ts";
import { askServer, usedDirectory } from "./running-server.ts";
import { formatFor, stderrLog } from "./stderr.ts";

interface Backup {
  /** Absolute. */
  readonly path: string;
  readonly version: string;
}

/** The lines to print. Throws a `StartRefusal`. */
export async function backUp(run: RunSettings, file: string, version: string): Promise<readonly string[]> {
  const directory = usedDirectory(run);
  const backup = { path: writablePath(file, directory), version };
  try {
    const done = (await backUpDirectory(run, backup)) ?? (await backUpServer(run, directory, backup));
    return describe(backup, done);
  } catch (fault) {
    throw backupRefusal(fault, backup.path);
  }
}

interface BackupDone {
  readonly bytes: number;
  readonly areas: readonly BackedUpArea[];
}

/** Undefined: the directory is in use. */
async function backUpDirectory(run: RunSettings, backup: Backup): Promise<BackupDone | undefined> {
  const opened = await openDataDirectory(run).catch((fault: unknown) => {
    if (fault instanceof StartRefusal && fault.cause instanceof DirectoryInUse) return undefined;
    throw fault;
  });
  if (opened === undefined) return undefined;
  const directory = usedDirectory(run);
  const stage = makeStage(directory, KEPT_AREAS);
  try {
    const areas: BackedUpArea[] = [];
    for (const area of KEPT_AREAS) {
      const inspected = { disk: fileDisk, directory: areaDirectory(directory, area), area };
      const report = await tellBytes(run, (onBytes) => inspectArea({ ...inspected, onBytes }));
      if (report.fault !== undefined) throw new StartRefusal(report.fault);
      areas.push({ name: area, position: report.position });
    }
    const log = stderrLog(run.settings.logLevel, formatFor(run.settings.logFormat));
    await copyHistoryFile(areaDirectory(directory, "messaging"), join(directory, stage, "messaging"), log);
    const kept = await sourcesIn(directory, { areas: KEPT_AREAS, isWanted: isKept });
    const staged = await sourcesIn(join(directory, stage), { areas: ["messaging"], isWanted: isInArea });
    const done = await write(run, backup, { sources: [...kept, ...staged], areas });
    noteFromCommandLine(run, "backup", basename(backup.path));
    return done;
  } finally {
    removeStage(directory, stage);
    opened.release();
  }
}

/** Files that are taken as they lie in the data directory; the history is copied. */
function isKept(path: string): boolean {
  if (!isInArea(path)) return isEntryName(path);
  const name = basename(path);
  const isNumbered = (["segment", "snapshot"] as const).some((kind) => findFileNumber(kind, name) !== undefined);
  return isNumbered || isGraphFile(name);
}

function isInArea(path: string): boolean {
  return path.includes("/");
}

async function backUpServer(run: RunSettings, directory: string, backup: Backup): Promise<BackupDone> {
  const { directory: stage, areas } = await askServer<BackupMade>(run, directory, askForBackup);
  const path = join(directory, stage);
  let unlock = (): void => {};
  try {
    unlock = lockDataDirectory(path);
    const sources = await sourcesIn(path, { areas: areas.map(({ name }) => name) });
    return await write(run, backup, { sources, areas });
  } finally {
    unlock();
    removeStage(directory, stage);
  }
}

async function write(
  run: RunSettings,
  { path, version }: Backup,
  { sources, areas }: { sources: readonly ArchiveSource[]; areas: readonly BackedUpArea[] },
): Promise<BackupDone> {
  const facts = { version, dataFormat: FORMAT, madeAtMs: systemClock.nowMs(), areas };
  const bytes = await tellBytes(run, (onBytes) => writeArchive(fileDisk, { path, sources, facts, onBytes }));
  return { bytes, areas };
}

/** Where the file goes, absolute. Said before anything is asked of a server. */
function writablePath(file: string, dataDirectory: string): string {
  const path = resolve(file);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new StartRefusal(`${path} is a directory: name the file that the backup is written to`);
  }
  const parent = dirname(path);
  if (statSync(parent, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new StartRefusal(`There is no directory ${parent}: make it, or write the backup elsewhere`);
  }
  if (parent === dataDirectory || parent.startsWith(`${dataDirectory}/`)) {
    throw new StartRefusal(`${path} is inside the data directory: write the backup elsewhere, best to another disk`);
  }
  return path;
}

function backupRefusal(fault: unknown, path: string): unknown {
  switch (codeOf(fault)) {
    case "ENOSPC":
    case "EDQUOT":
      return new StartRefusal(`No space is left for the backup ${path}: make room, or write it elsewhere`);
    case "EACCES":
    case "EPERM":
      return new StartRefusal(
        `No permission to write the backup ${path}: change the owner of its directory, or write it elsewhere`,
      );
    case "EROFS":
      return new StartRefusal(`The backup ${path} would be on a read-only file system: write it elsewhere`);
    default:
      return fault;
  }
}

function describe({ path }: Backup, { bytes, areas }: BackupDone): readonly string[] {
  const positions = areas.map(({ name, position }) => `${name} to position ${position}`);
  return [
    `backup ${path}: ${bytes} bytes; ${positions.join(", ")}`,
    "it holds tokens and keys: keep it as private as the data directory",
  ];
}
