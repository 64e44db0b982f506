/**
 * `larder restore <file>`: makes a data directory from a backup, or from a copy in a
 * store of objects. The directory must be new or empty: restored data is never mixed
 * with existing data.
 */
import { accessSync, constants, readdirSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { secretBytes } from "../../../kernel/random.ts";
import { Archive } from "../../../persistence/archive/archive.ts";
import { restoreArchive } from "../../../persistence/archive/restore.ts";
import type { OnBytes } from "../../../persistence/byte-progress.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import type { AreaReport } from "../../../persistence/inspection.ts";
import { damageOf, inspectedEngineOf } from "../../areas/inspect-area.ts";
import { RESTORING_PREFIX, STORED_AREAS } from "../../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../../directory/directory-lock.ts";
import { makeDirectory } from "../../directory/make-directory.ts";
import { directoryRefusal, StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { noteFromCommandLine } from "../../tenants/audit-log.ts";
import { reportBytes } from "../progress.ts";
import { isCopyAddress, parseMoment, restoreFromCopy } from "./copies.ts";
import { describeArea } from "./describe-area.ts";
import { backupFault, isBackupFault } from "./verify.ts";

const DIRECTORY_MODE = 0o700;

/** Files of a directory that counts as empty: its lock, and directories that file systems create. */
const HARMLESS = new Set(["lock.sqlite", "lock.sqlite-journal", "lost+found"]);

export interface RestoreOptions {
  /** The operand: a file, or the address of a copy. */
  readonly source: string;
  /** The text of `--at`. */
  readonly at?: string | undefined;
}

/** Returns the lines to print. Throws a `StartRefusal`. */
export async function restore(run: RunSettings, { source, at }: RestoreOptions): Promise<readonly string[]> {
  if (isCopyAddress(source)) {
    const atMs = at === undefined ? undefined : parseMoment(at);
    return intoEmptyDirectory(run, async (directory) => {
      const lines = await restoreFromCopy(run, { address: source, directory, atMs });
      noteFromCommandLine(run, "restore", "copy");
      return lines;
    }).catch((fault: unknown) => {
      throw backupFault(fault, source);
    });
  }
  if (at !== undefined)
    throw new StartRefusal("--at needs the address of a copy: a backup has one moment, that at which it was made", 2);
  return restoreFile(run, source);
}

async function restoreFile(run: RunSettings, file: string): Promise<readonly string[]> {
  const path = resolve(file);
  let archive: Archive;
  try {
    archive = await Archive.open(fileDisk, path);
  } catch (fault) {
    throw backupFault(fault, path);
  }
  try {
    return await intoEmptyDirectory(run, async (directory) => {
      const reports = await reportBytes(run, (onBytes) => extract(archive, directory, onBytes));
      noteFromCommandLine(run, "restore", basename(path));
      return describe(path, directory, reports);
    });
  } catch (fault) {
    throw backupFault(fault, path);
  } finally {
    await archive.close();
  }
}

/** Makes the directory, and locks it for the work. Throws a `StartRefusal` if it is not empty or cannot be used. */
async function intoEmptyDirectory<Result>(
  { settings, origins }: RunSettings,
  work: (directory: string) => Promise<Result>,
): Promise<Result> {
  const directory = resolve(settings.dataDirectory ?? "");
  const { place } = origins.dataDirectory;
  let lock: DirectoryLock | undefined;
  try {
    makeDirectory(directory, DIRECTORY_MODE);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    assertEmpty(directory, place);
    lock = await lockDirectory(directory);
    removeInterrupted(directory);
    return await work(directory);
  } catch (fault) {
    throw isBackupFault(fault) ? fault : directoryRefusal(fault, directory, place);
  } finally {
    lock?.release();
  }
}

async function extract(archive: Archive, directory: string, onBytes: OnBytes): Promise<readonly AreaReport[]> {
  const staging = join(directory, `${RESTORING_PREFIX}${secretBytes(8).toString("hex")}`);
  try {
    return await restoreArchive({
      disk: fileDisk,
      archive,
      directory,
      staging,
      areas: STORED_AREAS,
      onBytes,
      engineOf: inspectedEngineOf,
    });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function assertEmpty(directory: string, place: string): void {
  const found = readdirSync(directory).find((name) => !HARMLESS.has(name) && !name.startsWith(RESTORING_PREFIX));
  if (found === undefined) return;
  throw new StartRefusal(
    `${directory} is not empty (${found}): restore the backup into a new directory, named with ${place}`,
  );
}

/** Removes the remains of an unfinished restore. */
function removeInterrupted(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (name.startsWith(RESTORING_PREFIX)) rmSync(join(directory, name), { recursive: true, force: true });
  }
}

function describe(path: string, directory: string, reports: readonly AreaReport[]): readonly string[] {
  return [`restored ${path} into ${directory}`, ...reports.map(describeArea), ...damageOf(reports)];
}
