/**
 * The stage of a backup: a directory inside the data directory with links to
 * files that no longer change, so it takes hardly any space.
 *
 *     <data directory>/backup-<16 digits>/     format, tokens.json, store/, vector/, messaging/
 *
 * (1) The process that writes a file from it holds its lock. So a stage left by
 *     a crash is distinguishable from one in use; the next start and the next
 *     backup remove it.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { secretBytes } from "../../kernel/random.ts";
import type { ArchiveSource } from "../../persistence/archive/archive-writer.ts";
import { isEntryName } from "../../persistence/archive/tar.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";

const STAGE_NAME = /^backup-[0-9a-f]{16}$/;
const DIRECTORY_MODE = 0o700;

/** Creates a stage with a directory for each area, and returns its name. */
export function makeStage(dataDirectory: string, areas: readonly string[]): string {
  const name = `backup-${secretBytes(8).toString("hex")}`;
  mkdirSync(join(dataDirectory, name), { mode: DIRECTORY_MODE });
  for (const area of areas) mkdirSync(join(dataDirectory, name, area), { mode: DIRECTORY_MODE });
  return name;
}

/** Whether a name is the name of a stage, and cannot lead to another place. */
export function isStageName(name: unknown): name is string {
  return typeof name === "string" && STAGE_NAME.test(name);
}

export function removeStage(dataDirectory: string, name: string): void {
  rmSync(join(dataDirectory, name), { recursive: true, force: true });
}

/** Removes unused stages (1). `isYoung`: whether a stage is so new that its lock may still come. */
export async function removeOldStages(
  dataDirectory: string,
  isYoung: (name: string) => boolean = () => false,
): Promise<void> {
  const names = readdirSync(dataDirectory).filter((name) => isStageName(name) && !isYoung(name));
  if (names.length === 0) return;
  const { lockDirectory } = await import("../directory/directory-lock.ts");
  for (const name of names) {
    try {
      (await lockDirectory(join(dataDirectory, name))).release();
    } catch {
      // It is in use, or has another owner. A later call removes it.
      continue;
    }
    removeStage(dataDirectory, name);
  }
}

/** The files of a directory and of its areas' directories that belong in a backup. */
export async function sourcesIn(
  directory: string,
  { areas, isWanted = isEntryName }: { areas: readonly string[]; isWanted?: (name: string) => boolean },
): Promise<readonly ArchiveSource[]> {
  // If the environment or the configuration sets every token, the file does not exist.
  const names = ["format", "tokens.json"].filter((name) => existsSync(join(directory, name)));
  for (const area of areas) {
    const inside = await fileDisk.list(join(directory, area));
    names.push(...inside.sort().map((name) => `${area}/${name}`));
  }
  return names.filter(isWanted).map((name) => ({ name, path: join(directory, name) }));
}
