/**
 * Creates a data directory from a backup. All files are extracted to a staging
 * directory, compared and recovered once, before any of them gets the name
 * under which a start looks for it; the format file, which makes it a data
 * directory, comes last.
 *
 *     backup -> staging/ (extracted, checked, durable) -> names of the data directory -> format
 *
 * (1) A directory in which a restore was interrupted has no format file: apart
 *     from the staging directory it is empty, or a start refuses its areas.
 */
import { dirname } from "node:path";
import type { OnBytes } from "../byte-progress.ts";
import type { Disk } from "../disk/disk.ts";
import { UnusableBackup } from "../errors.ts";
import type { AreaReport } from "../inspection.ts";
import type { Archive } from "./archive.ts";
import { type AreaCheckOptions, checkBackedUpAreas } from "./area-check.ts";

/** A directory without this file is not a data directory. */
const FORMAT_FILE = "format";

export interface RestoreOptions {
  readonly disk: Disk;
  readonly archive: Archive;
  /** A directory that exists, is empty and is not used by anything else. */
  readonly directory: string;
  /** A directory inside it that does not exist yet. After the restore it holds at most empty directories. */
  readonly staging: string;
  /** The directories that a backup may have. */
  readonly areas: readonly string[];
  readonly onBytes?: OnBytes;
  readonly engineOf?: AreaCheckOptions["engineOf"];
}

/**
 * Rejects with a `DamagedBackup`, an `UnusableBackup` or the system's error; then no file has its final name in
 * `directory`.
 */
export async function restoreArchive(options: RestoreOptions): Promise<readonly AreaReport[]> {
  const { disk, archive, directory, staging, areas, onBytes, engineOf } = options;
  const { manifest, path } = archive;
  const { files } = manifest;
  const inside = new Set(files.map(({ name }) => directoryOf(name)).filter((name) => name !== undefined));
  for (const name of inside) {
    if (!areas.includes(name)) throw new UnusableBackup(path, `it has an unknown directory: ${name}`);
  }
  if (!files.some(({ name }) => name === FORMAT_FILE)) throw new UnusableBackup(path, "it has no format file");
  await disk.mkdir(staging);
  for (const name of inside) await disk.mkdir(`${staging}/${name}`);
  await disk.syncDirectory(directory);
  const progress = archive.progress(onBytes);
  for (const file of files) await archive.extract(file, { disk, to: `${staging}/${file.name}`, progress });
  const reports = await checkBackedUpAreas(disk, staging, { path, manifest, onBytes, engineOf });

  await nameStagedFiles(disk, { directory, staging, names: files.map(({ name }) => name) });
  return reports;
}

export interface StagedFiles {
  /** The future data directory. */
  readonly directory: string;
  /** A directory inside it that has the files, complete and durable. */
  readonly staging: string;
  /** `file` or `area/file`; one is the format file. */
  readonly names: readonly string[];
}

/** Gives files that were checked the names under which a start looks for them, the format file last. */
export async function nameStagedFiles(disk: Disk, { directory, staging, names }: StagedFiles): Promise<void> {
  const inside = new Set(names.map(directoryOf).filter((name) => name !== undefined));
  for (const name of inside) await disk.mkdir(`${directory}/${name}`);
  for (const name of names) if (name !== FORMAT_FILE) await disk.rename(`${staging}/${name}`, `${directory}/${name}`);
  // Sync both directories of each move, or a power cut could keep the format file and lose some of the others.
  for (const name of inside) {
    await disk.syncDirectory(`${directory}/${name}`);
    await disk.syncDirectory(`${staging}/${name}`);
  }
  await disk.syncDirectory(staging);
  await disk.syncDirectory(directory);
  await disk.rename(`${staging}/${FORMAT_FILE}`, `${directory}/${FORMAT_FILE}`); // keeps (1)
  await disk.syncDirectory(staging);
  await disk.syncDirectory(directory);
}

function directoryOf(name: string): string | undefined {
  return name.includes("/") ? dirname(name) : undefined;
}
