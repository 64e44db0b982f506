/**
 * `larder backup <file>`: the whole data directory in one file.
 *
 *     a server has the directory locked    the server closes its segments, links them into a stage and goes on serving;
 *                                          the file is made from the stage
 *     the directory is not in use          the file is made from the directory itself, under the lock
 *
 * `-` is standard output; a pipe or a device is written to, not replaced. In
 * both cases the file has everything that was acknowledged before the command,
 * each area at its own moment, and is durable when the command ends.
 */
import { rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { askForBackup } from "../../../edge/admin/client.ts";
import type { BackupMade } from "../../../edge/admin/routes.ts";
import { systemClock } from "../../../kernel/clock.ts";
import {
  type ArchiveSource,
  newDraft,
  removeLeftDrafts,
  streamArchive,
  writeArchive,
} from "../../../persistence/archive/archive-writer.ts";
import type { BackedUpArea } from "../../../persistence/archive/manifest.ts";
import { isEntryName } from "../../../persistence/archive/tar.ts";
import { areaDirectory } from "../../../persistence/data-directory.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { DirectoryInUse } from "../../../persistence/errors.ts";
import { FORMAT, findFileNumber } from "../../../persistence/journal/file-format.ts";
import { makeStage, removeStage, sourcesIn } from "../../areas/backup-stage.ts";
import { damageOf, inspectStoredArea } from "../../areas/inspect-area.ts";
import { assertNoNode } from "../../cluster/node-file.ts";
import { openDataDirectory, STORED_AREAS } from "../../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../../directory/directory-lock.ts";
import { thisProcess } from "../../directory/this-process.ts";
import { copyHistoryFile } from "../../history/copy.ts";
import { codeOf, commandRefusal, isFullDisk, StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { formatFor, stderrLog } from "../../stderr.ts";
import { noteFromCommandLine } from "../../tenants/audit-log.ts";
import { isGraphFile } from "../../workers/graph-files.ts";
import { reportBytes } from "../progress.ts";
import { askServer, usedDirectory } from "../running-server.ts";
import { cleanedUp } from "./interruption.ts";
import {
  type ByteSink,
  type OutputKind,
  outputKindOf,
  STANDARD_OUTPUT,
  writeToDevice,
  writeToStandardOutput,
} from "./output-file.ts";

interface Backup {
  /** Absolute, or `-`. */
  readonly path: string;
  readonly kind: OutputKind;
  readonly replaces: boolean;
  readonly version: string;
}

export interface BackupOptions {
  /** The user's name for it; `-`: standard output. */
  readonly file: string;
  /** Whether an existing file is replaced. */
  readonly replaces: boolean;
  readonly version: string;
}

/** Returns the lines to print. Throws a `StartRefusal`. */
export async function backUp(run: RunSettings, { file, replaces, version }: BackupOptions): Promise<readonly string[]> {
  const directory = usedDirectory(run);
  const backup = { ...outputOf(file, { replaces, dataDirectory: directory }), replaces, version };
  try {
    const done = (await backUpDirectory(run, backup)) ?? (await backUpServer(run, directory, backup));
    return describe(backup, done);
  } catch (fault) {
    // What may not be read is in the data directory; only a full disk names no file, and it is that of the output.
    const { place } = run.origins.dataDirectory;
    const ofDirectory = isFullDisk(fault) ? fault : commandRefusal(fault, directory, place);
    throw ofDirectory === fault ? backupRefusal(fault, backup.path) : ofDirectory;
  }
}

interface BackupDone {
  readonly bytes: number;
  readonly areas: readonly BackedUpArea[];
  /** Earlier damage, which the backup has too. */
  readonly damage: readonly string[];
}

/** Undefined: the directory is in use. */
async function backUpDirectory(run: RunSettings, backup: Backup): Promise<BackupDone | undefined> {
  assertNoNode(usedDirectory(run));
  const opened = await openDataDirectory(run).catch((fault: unknown) => {
    if (fault instanceof StartRefusal && fault.cause instanceof DirectoryInUse) return undefined;
    throw fault;
  });
  if (opened === undefined) return undefined;
  const directory = usedDirectory(run);
  const stage = makeStage(directory, STORED_AREAS);
  const clean = (): void => removeStage(directory, stage);
  try {
    return await cleanedUp(clean, () => backUpLocked(run, backup, { directory, stage }));
  } finally {
    clean();
    opened.release();
  }
}

/** The directory is locked by this process. */
async function backUpLocked(
  run: RunSettings,
  backup: Backup,
  { directory, stage }: { readonly directory: string; readonly stage: string },
): Promise<BackupDone> {
  const areas: BackedUpArea[] = [];
  const damage: string[] = [];
  for (const area of STORED_AREAS) {
    const report = await reportBytes(run, (onBytes) => inspectStoredArea(directory, area, onBytes));
    if (report.fault !== undefined) throw new StartRefusal(report.fault);
    areas.push({ name: area, position: report.position });
    damage.push(...damageOf([report]));
  }
  const log = stderrLog(run.settings.logLevel, formatFor(run.settings.logFormat));
  await copyHistoryFile(areaDirectory(directory, "messaging"), join(directory, stage, "messaging"), log);
  const stored = await sourcesIn(directory, { areas: STORED_AREAS, isWanted: isBackedUpInPlace });
  const staged = await sourcesIn(join(directory, stage), { areas: ["messaging"], isWanted: isInArea });
  const done = await write(run, backup, { sources: [...stored, ...staged], areas, damage });
  noteFromCommandLine(run, "backup", basename(backup.path));
  return done;
}

/** Whether a file is read from the data directory itself; the history is copied first. */
function isBackedUpInPlace(path: string): boolean {
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
  const clean = (): void => removeStage(directory, stage);
  let lock: DirectoryLock | undefined;
  try {
    return await cleanedUp(clean, async () => {
      lock = await lockDirectory(path);
      const sources = await sourcesIn(path, { areas: areas.map(({ name }) => name) });
      return write(run, backup, { sources, areas, damage: [] });
    });
  } finally {
    lock?.release();
    clean();
  }
}

async function write(
  run: RunSettings,
  { path, kind, replaces, version }: Backup,
  { sources, ...done }: { sources: readonly ArchiveSource[] } & Omit<BackupDone, "bytes">,
): Promise<BackupDone> {
  const facts = { version, dataFormat: FORMAT, madeAtMs: systemClock.nowMs(), areas: done.areas };
  const bytes = await reportBytes(run, (onBytes) => {
    const contents = { sources, facts, onBytes };
    const stream = (sink: ByteSink): Promise<number> => streamArchive(fileDisk, sink, contents);
    if (path === STANDARD_OUTPUT) return writeToStandardOutput(stream);
    if (kind === "stream") return writeToDevice(path, stream);
    const writer = { process: thisProcess, nowMs: systemClock.nowMs() };
    const draft = newDraft(path, writer);
    const clean = (): void => rmSync(draft, { force: true });
    return cleanedUp(clean, async () => {
      await removeLeftDrafts(fileDisk, path, writer);
      return writeArchive(fileDisk, { ...contents, path, draft, replaces });
    });
  });
  return { bytes, ...done };
}

/** The absolute path of the output. Checked before a request to the server. */
function outputOf(
  file: string,
  { replaces, dataDirectory }: { replaces: boolean; dataDirectory: string },
): { readonly path: string; readonly kind: OutputKind } {
  if (file === STANDARD_OUTPUT) return { path: STANDARD_OUTPUT, kind: "stream" };
  const path = resolve(file);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new StartRefusal(`${path} is a directory: name the file that the backup is written to`);
  }
  const parent = dirname(path);
  if (statSync(parent, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new StartRefusal(`Directory ${parent} does not exist: create it, or write the backup elsewhere`);
  }
  if (parent === dataDirectory || parent.startsWith(`${dataDirectory}/`)) {
    throw new StartRefusal(
      `${path} is inside the data directory: write the backup elsewhere, preferably to another disk`,
    );
  }
  return { path, kind: outputKindOf(path, { replaces }) };
}

function backupRefusal(fault: unknown, path: string): unknown {
  switch (codeOf(fault)) {
    case "ENOSPC":
    case "EDQUOT":
      return new StartRefusal(`No space left for the backup ${path}: free some space, or write it elsewhere`);
    case "EACCES":
    case "EPERM":
      return new StartRefusal(
        `No permission to write the backup ${path}: change the owner of its directory, or write it elsewhere`,
      );
    case "EEXIST":
      return new StartRefusal(`${path} already exists: name another file, or replace it with --replace`);
    case "EPIPE":
      return new StartRefusal("The program that reads the backup exited before the backup was complete");
    case "EROFS":
      return new StartRefusal(`The backup ${path} would be on a read-only file system: write it elsewhere`);
    default:
      return fault;
  }
}

function describe({ path }: Backup, { bytes, areas, damage }: BackupDone): readonly string[] {
  const name = path === STANDARD_OUTPUT ? "on standard output" : path;
  const positions = areas.map(({ name, position }) => `${name} to position ${position}`);
  return [
    `backup ${name}: ${bytes} bytes; ${positions.join(", ")}`,
    "it contains tokens and keys: keep it as private as the data directory",
    ...damage,
  ];
}
