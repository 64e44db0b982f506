/**
 * The folder for the temporary files of a run. It is in memory where the system
 * has a large file system there: tests write hundreds of data directories, and
 * each sync of a disk makes a process wait. What a disk may lose is the subject
 * of the simulations, which have a disk of their own (`test/simulation/disk/`).
 */
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const IN_MEMORY = "/dev/shm";
const PREFIX = "larder-run-";
/** `statfs` of tmpfs. */
const TMPFS = 0x0102_1994;
/** Containers often have 64 MB there. */
const FREE_BYTES_MIN = 4 * 2 ** 30;

/** Sets the folder of this process and of those that it starts, and removes it at the end. A `TMPDIR` that is set stays. */
export function useTemporaryFolder(): void {
  if (process.env["TMPDIR"] !== undefined) return;
  const folder = mkdtempSync(join(isRoomy(IN_MEMORY) ? IN_MEMORY : tmpdir(), PREFIX));
  process.env["TMPDIR"] = folder;
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
}

/** Whether a folder is that of a run, which is removed at the end of it. */
export function isRunFolder(path: string): boolean {
  return basename(path).startsWith(PREFIX);
}

function isRoomy(path: string): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(path);
    return type === TMPFS && bavail * bsize >= FREE_BYTES_MIN;
  } catch {
    // Systems other than Linux do not have it.
    return false;
  }
}
