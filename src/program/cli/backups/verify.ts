/**
 * `larder verify <file|directory|address>`: checks a backup, or a data directory that
 * is not in use: checksums, and each area as a start reads it. Of a copy in a store of
 * objects it reads everything.
 */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { Archive } from "../../../persistence/archive/archive.ts";
import { checkBackedUpAreas } from "../../../persistence/archive/area-check.ts";
import type { OnBytes } from "../../../persistence/byte-progress.ts";
import { checkDataDirectory } from "../../../persistence/data-directory.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import {
  DamagedBackup,
  DamagedData,
  DirectoryInUse,
  MissingData,
  NewerFormat,
  NotAFile,
  UnusableBackup,
  WrongFile,
} from "../../../persistence/errors.ts";
import type { AreaReport } from "../../../persistence/inspection.ts";
import { damageOf, inspectedEngineOf, inspectStoredArea } from "../../areas/inspect-area.ts";
import { assertNoNode } from "../../cluster/node-file.ts";
import { assertFiles, assertRestored, readTokensFile, STORED_AREAS } from "../../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../../directory/directory-lock.ts";
import { codeOf, directoryRefusal, StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { TOKENS_FILE } from "../../tenants/stored-tokens.ts";
import { reportBytes } from "../progress.ts";
import { isCopyAddress, verifyStoredCopy } from "./copies.ts";
import { describeArea } from "./describe-area.ts";

const refusals = [DamagedBackup, DamagedData, MissingData, NewerFormat, UnusableBackup, WrongFile];

/** Returns the lines to print. Throws a `StartRefusal` that names the file and place of any damage. */
export async function verify(run: RunSettings, path: string): Promise<readonly string[]> {
  if (isCopyAddress(path)) return verifyStoredCopy(run, path);
  const absolute = resolve(path);
  const facts = statSync(absolute, { throwIfNoEntry: false });
  if (facts === undefined) throw new StartRefusal(`${absolute} does not exist: name a backup or a data directory`);
  try {
    const verifyIt = facts.isDirectory() ? verifyDirectory : verifyFile;
    return await reportBytes(run, (onBytes) => verifyIt(absolute, onBytes));
  } catch (fault) {
    throw backupFault(fault, absolute);
  }
}

/** Whether an error is about the contents of a backup. */
export function isBackupFault(fault: unknown): boolean {
  return refusals.some((kind) => fault instanceof kind);
}

/** An error of persistence about a backup as a refusal for the operator, or the error itself. */
export function backupFault(fault: unknown, path: string): unknown {
  if (fault instanceof Error && isBackupFault(fault)) {
    return new StartRefusal(fault.message, 1, { cause: fault });
  }
  if (fault instanceof NotAFile) {
    const sentence = fault.file === path ? `${path} is ${fault.what}, not a file: name a backup` : fault.message;
    return new StartRefusal(sentence, 1, { cause: fault });
  }
  const code = codeOf(fault);
  if (code === "EACCES" || code === "EPERM") {
    return new StartRefusal(`No permission to read ${path}: run this as its owner`, 1, { cause: fault });
  }
  return code === "ENOENT" ? new StartRefusal(`${path} does not exist: name a backup`, 1, { cause: fault }) : fault;
}

async function verifyFile(path: string, onBytes: OnBytes): Promise<readonly string[]> {
  const archive = await Archive.open(fileDisk, path);
  try {
    await archive.check(onBytes);
    const { manifest } = archive;
    const check = { path, manifest, onBytes, engineOf: inspectedEngineOf };
    const reports = await checkBackedUpAreas(archive.asDisk(), path, check);
    assertUndamaged(reports);
    const { version, madeAtMs, files } = manifest;
    const madeAt = new Date(madeAtMs).toISOString();
    return [`backup ${path}: ok; ${files.length} files, made by larder ${version} at ${madeAt}`, ...linesOf(reports)];
  } finally {
    await archive.close();
  }
}

async function verifyDirectory(directory: string, onBytes: OnBytes): Promise<readonly string[]> {
  assertFiles(directory);
  assertRestored(directory);
  if (!(await checkDataDirectory(fileDisk, directory, STORED_AREAS))) {
    throw new StartRefusal(`${directory} is not a data directory: it has no format file`);
  }
  assertNoNode(directory);
  const held = await lock(directory);
  try {
    const tokensPath = join(directory, TOKENS_FILE);
    // If the environment or the configuration sets every token, the file was never written.
    readTokensFile(tokensPath);
    const reports: AreaReport[] = [];
    for (const area of STORED_AREAS) {
      const report = await inspectStoredArea(directory, area, onBytes);
      if (report.fault !== undefined) throw new StartRefusal(report.fault);
      reports.push(report);
    }
    assertUndamaged(reports);
    return [`data directory ${directory}: ok`, ...linesOf(reports)];
  } finally {
    held.release();
  }
}

async function lock(directory: string): Promise<DirectoryLock> {
  try {
    return await lockDirectory(directory);
  } catch (fault) {
    if (!(fault instanceof DirectoryInUse)) throw directoryRefusal(fault, directory, "--data-dir");
    throw new StartRefusal(
      `A larder uses ${directory}, so its files are changing: make a backup with larder backup, and verify the backup`,
    );
  }
}

function assertUndamaged(reports: readonly AreaReport[]): void {
  const damage = damageOf(reports);
  if (damage.length > 0) throw new StartRefusal(damage.join("\n"));
}

function linesOf(reports: readonly AreaReport[]): readonly string[] {
  return reports.map(describeArea);
}
