/**
 * `larder restore <file>`: makes a data directory from a backup. The directory
 * must be new or empty: restored data is never mixed with existing data.
 */
import { accessSync, constants, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { secretBytes } from "../../kernel/random.ts";
import { Archive } from "../../persistence/archive/archive.ts";
import { restoreArchive } from "../../persistence/archive/restore.ts";
import type { OnBytes } from "../../persistence/byte-progress.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import type { AreaReport } from "../../persistence/inspection.ts";
import { damageOf, inspectedEngineOf } from "../areas/inspect-area.ts";
import { RESTORING_PREFIX, STORED_AREAS } from "../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../directory/directory-lock.ts";
import { makeDirectory } from "../directory/make-directory.ts";
import { directoryRefusal, StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { noteFromCommandLine } from "../tenants/audit-log.ts";
import { describeArea } from "./check.ts";
import { reportBytes } from "./progress.ts";
import { backupFault } from "./verify.ts";

const DIRECTORY_MODE = 0o700;

/** Files of a directory that counts as empty: its lock, and directories that file systems create. */
const HARMLESS = new Set(["lock.sqlite", "lock.sqlite-journal", "lost+found"]);

/** Returns the lines to print. Throws a `StartRefusal`. */
export async function restore(run: RunSettings, file: string): Promise<readonly string[]> {
  const { settings, origins } = run;
  const directory = resolve(settings.dataDirectory ?? "");
  const { place } = origins.dataDirectory;
  const path = resolve(file);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new StartRefusal(`File ${path} does not exist: name a file that larder backup wrote`);
  }
  let archive: Archive;
  try {
    archive = await Archive.open(fileDisk, path);
  } catch (fault) {
    throw backupFault(fault, path);
  }
  let lock: DirectoryLock | undefined;
  try {
    makeDirectory(directory, DIRECTORY_MODE);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    assertEmpty(directory, place);
    lock = await lockDirectory(directory);
    removeInterrupted(directory);
    const reports = await reportBytes(run, (onBytes) => extract(archive, directory, onBytes));
    noteFromCommandLine(run, "restore", basename(path));
    return describe(path, directory, reports);
  } catch (fault) {
    const refusal = backupFault(fault, path);
    throw refusal === fault ? directoryRefusal(fault, directory, place) : refusal;
  } finally {
    lock?.release();
    await archive.close();
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
