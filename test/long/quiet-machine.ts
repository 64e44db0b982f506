/**
 * Keeps long runs and benches of one machine apart. Each leaves a mark, a file
 * named after its process, in a folder that all checkouts of a user share.
 *
 * (1) A long run marks each batch. It begins none while a bench has a mark.
 * (2) A bench leaves its mark first, then waits until no batch has one.
 * (3) Who marks looks for the other's marks afterwards, so of two that begin
 *     at the same moment at least one sees the other.
 * (4) The mark of a process that has ended counts for nothing.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Occupation = "bench" | "batch";

export const sharedFolder = join(tmpdir(), `larder-machine-${process.getuid?.() ?? 0}`);

/** Says what this process does. The returned function takes it back. */
export function mark(occupation: Occupation, folder = sharedFolder): () => void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${occupation}-${process.pid}`);
  writeFileSync(path, "");
  return () => rmSync(path, { force: true });
}

/** Whether another process that lives is at it. keeps (4) */
export function isBusyWith(occupation: Occupation, folder = sharedFolder): boolean {
  return namesIn(folder).some((name) => {
    const [what, pid] = name.split("-");
    return what === occupation && Number(pid) !== process.pid && isAlive(Number(pid));
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Nobody has left a mark yet.
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
