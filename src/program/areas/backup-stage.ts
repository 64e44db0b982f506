/**
 * Where a backup is put together: a directory inside the data directory, of
 * links to files that do not change any more, so it takes hardly any space.
 *
 *     <data directory>/backup-<16 digits>/     format, tokens.json, store/, vector/, messaging/
 *
 * (1) Whoever writes a file of it holds its lock meanwhile, so what a crash
 *     left is told from what is in use: it is removed by the next start and by
 *     the next backup.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { secretBytes } from "../../kernel/random.ts";
import type { ArchiveSource } from "../../persistence/archive/archive-writer.ts";
import { isEntryName } from "../../persistence/archive/tar.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";

const STAGE_NAME = /^backup-[0-9a-f]{16}$/;
const DIRECTORY_MODE = 0o700;

/** Makes a stage with a directory for each area, and returns its name. */
export function makeStage(dataDirectory: string, areas: readonly string[]): string {
  const name = `backup-${secretBytes(8).toString("hex")}`;
  mkdirSync(join(dataDirectory, name), { mode: DIRECTORY_MODE });
  for (const area of areas) mkdirSync(join(dataDirectory, name, area), { mode: DIRECTORY_MODE });
  return name;
}

/** Whether a name can be that of a stage, and so of no other place. */
export function isStageName(name: unknown): name is string {
  return typeof name === "string" && STAGE_NAME.test(name);
}

export function removeStage(dataDirectory: string, name: string): void {
  rmSync(join(dataDirectory, name), { recursive: true, force: true });
}

/** Removes the stages that nobody uses (1). `isYoung`: whether one was made a moment ago, and its lock may still come. */
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
      // Somebody uses it, or it is somebody else's. It goes when it can.
      continue;
    }
    removeStage(dataDirectory, name);
  }
}

/** The files in a directory and in the directories of its areas that belong into a backup. */
export async function sourcesIn(
  directory: string,
  { areas, isWanted = isEntryName }: { areas: readonly string[]; isWanted?: (name: string) => boolean },
): Promise<readonly ArchiveSource[]> {
  // Where the environment or the configuration gives every token, there is no file of them.
  const names = ["format", "tokens.json"].filter((name) => existsSync(join(directory, name)));
  for (const area of areas) {
    const inside = await fileDisk.list(join(directory, area));
    names.push(...inside.sort().map((name) => `${area}/${name}`));
  }
  return names.filter(isWanted).map((name) => ({ name, path: join(directory, name) }));
}
