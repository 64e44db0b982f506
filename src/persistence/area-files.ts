/** The files of an area: its directory holds segments and at most a few snapshots, and nothing in subdirectories. */
import type { Disk } from "./disk/disk.ts";
import { fileName, findFileNumber, UNFINISHED_SUFFIX } from "./journal/file-format.ts";

export interface AreaFiles {
  /** Numbers, ascending. */
  readonly segments: readonly number[];
  readonly snapshots: readonly number[];
  /** Names of files that were never finished. */
  readonly unfinished: readonly string[];
}

/** Reads the names in an area's directory. Other names than ours are ignored. */
export async function listAreaFiles(disk: Disk, directory: string): Promise<AreaFiles> {
  const segments: number[] = [];
  const snapshots: number[] = [];
  const unfinished: string[] = [];
  for (const name of await disk.list(directory)) {
    const segment = findFileNumber("segment", name);
    const snapshot = findFileNumber("snapshot", name);
    if (segment !== undefined) segments.push(segment);
    else if (snapshot !== undefined) snapshots.push(snapshot);
    else if (name.endsWith(UNFINISHED_SUFFIX)) unfinished.push(name);
  }
  const ascending = (a: number, b: number): number => a - b;
  return { segments: segments.sort(ascending), snapshots: snapshots.sort(ascending), unfinished };
}

export function segmentPath(directory: string, number: number): string {
  return `${directory}/${fileName("segment", number)}`;
}

export function snapshotPath(directory: string, number: number): string {
  return `${directory}/${fileName("snapshot", number)}`;
}
