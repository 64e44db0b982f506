/**
 * The files of a shard's directory that cannot be compared with PostgreSQL. They
 * are removed before anything is read: files of graphs and rows always, because the
 * next owner may have other frames, and the log of messages if the directory is of
 * another branch of the database, where its positions mean other frames.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cachedBranch } from "../../../cluster/shipped/cache-notes.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { HISTORY_FILE } from "../../history/history-store.ts";
import { isGraphFile } from "../../workers/graph-files.ts";
import { isRowFile } from "../../workers/row-files.ts";

export async function removeDerived(directory: string, branch: string): Promise<void> {
  const isOtherBranch = (await cachedBranch(fileDisk, directory)) !== branch;
  const isDerived = (name: string): boolean =>
    isGraphFile(name) || isRowFile(name) || (isOtherBranch && name.startsWith(HISTORY_FILE));
  for (const name of readdirSync(directory).filter(isDerived)) rmSync(join(directory, name), { force: true });
}
