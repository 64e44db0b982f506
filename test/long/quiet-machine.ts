/**
 * Keeps long runs and benches of one machine apart. Each creates a mark, a file
 * named after its process, in a folder that all checkouts of a user share.
 *
 * (1) A long run marks each batch. It starts no batch while a bench has a mark.
 * (2) A bench creates its mark first, then waits until no batch has a mark.
 * (3) A process looks for other marks after it creates its own, so if two start
 *     at the same time, at least one sees the other.
 * (4) The mark of a process that has ended is ignored.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Occupation = "bench" | "batch";

export const sharedFolder = join(tmpdir(), `larder-machine-${process.getuid?.() ?? 0}`);

/** Creates a mark for this process. The returned function removes it. */
export function mark(occupation: Occupation, folder = sharedFolder): () => void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${occupation}-${process.pid}`);
  writeFileSync(path, "");
  return () => rmSync(path, { force: true });
}

/** Whether another living process has such a mark. keeps (4) */
export function isBusyWith(occupation: Occupation, folder = sharedFolder): boolean {
  return namesIn(folder).some((name) => {
    const [marked, pid] = name.split("-");
    return marked === occupation && Number(pid) !== process.pid && isAlive(Number(pid));
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // No process has created a mark yet.
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
