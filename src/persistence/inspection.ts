/** What recovery would say about an area, without changing anything: `larder check --data-dir`. */
import type { OnBytes } from "./byte-progress.ts";
import { codeOf, type Disk } from "./disk.ts";
import { DamagedData, MissingData, NewerFormat, WrongFile } from "./errors.ts";
import { FORMAT } from "./file-format.ts";
import { readArea } from "./recovery.ts";

export interface AreaReport {
  readonly area: string;
  /** The format that this version reads. */
  readonly format: number;
  /** Why the area cannot be started: names the file and, for damage, the byte. Undefined: it can. */
  readonly fault: string | undefined;
  readonly snapshot: { readonly number: number; readonly bytes: number } | undefined;
  /** Segments in front of the snapshot that are still there. A start does not read them, and nor is their content checked here. */
  readonly covered: readonly { readonly number: number; readonly bytes: number }[];
  readonly segments: readonly { readonly number: number; readonly bytes: number; readonly isEnded: boolean }[];
  /** Frames since the area was made. */
  readonly position: number;
  /** Frames that a start would read, those of the snapshot included. */
  readonly frames: number;
  /** What a crash left behind the last whole frame: the next start cuts it off. */
  readonly tail: { readonly file: string; readonly offset: number; readonly bytes: number } | undefined;
}

export interface InspectionOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly area: string;
  readonly onBytes?: OnBytes | undefined;
}

/** Reads an area as a start would. Rejects only with the system's errors. */
export async function inspectArea(options: InspectionOptions): Promise<AreaReport> {
  const { area, disk, directory, onBytes } = options;
  const nothing = {
    area,
    format: FORMAT,
    fault: undefined,
    snapshot: undefined,
    covered: [],
    segments: [],
    position: 0,
  };
  let frames = 0;
  const apply = (): void => {
    frames += 1;
  };
  if (!(await isThere(disk, directory))) return { ...nothing, frames, tail: undefined };
  try {
    const onProgress = (done: number, total: number): void => onBytes?.(area, done, total);
    const { position, snapshot, covered, ended, open, tail } = await readArea({
      ...options,
      apply,
      onProgress,
    });
    const segments = ended.map(({ number, bytes }) => ({ number, bytes, isEnded: true }));
    if (open !== undefined) segments.push({ number: open.number, bytes: open.bytes, isEnded: false });
    return { ...nothing, snapshot, covered, segments, position, frames, tail };
  } catch (error) {
    if (!isAboutData(error)) throw error;
    return { ...nothing, fault: error.message, frames, tail: undefined };
  }
}

async function isThere(disk: Disk, directory: string): Promise<boolean> {
  try {
    await disk.list(directory);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function isAboutData(error: unknown): error is Error {
  return [DamagedData, MissingData, NewerFormat, WrongFile].some((kind) => error instanceof kind);
}
