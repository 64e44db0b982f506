/** Reports what recovery would find in an area, without changing anything: `larder check --data-dir`. */
import type { OnBytes } from "./byte-progress.ts";
import { codeOf, type Disk } from "./disk/disk.ts";
import { DamagedData, MissingData, NewerFormat, WrongFile } from "./errors.ts";
import { FORMAT, type JournalLocation } from "./journal/file-format.ts";
import { readHighWater } from "./journal/high-water.ts";
import { checkCoveredSegment } from "./journal/segment-check.ts";
import { assertBegun, readArea } from "./recovery.ts";

export interface AreaReport {
  readonly area: string;
  /** The format that this version reads. */
  readonly format: number;
  /** Why the area cannot be started, with the file and, for damage, the byte. Undefined if it can. */
  readonly fault: string | undefined;
  readonly snapshot: { readonly number: number; readonly bytes: number } | undefined;
  /** Segments before the snapshot that still exist. A start does not read them. */
  readonly covered: readonly { readonly number: number; readonly bytes: number }[];
  readonly segments: readonly { readonly number: number; readonly bytes: number; readonly isEnded: boolean }[];
  /** Faults of covered segments: the area can be started, but the bodies in them are lost. */
  readonly damaged: readonly string[];
  /** Frames since the area was created. */
  readonly position: number;
  /** Frames that a start would read, including those of the snapshot. */
  readonly frames: number;
  /** The bytes that a crash left after the last complete frame: the next start cuts them off. */
  readonly tail: { readonly file: string; readonly offset: number; readonly bytes: number } | undefined;
}

export interface InspectionOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly area: string;
  readonly onBytes?: OnBytes | undefined;
  /** True if absent: covered segments are checked too. */
  readonly checksCovered?: boolean;
  /** An engine that receives the frames and then knows which segments it reads by location. */
  readonly engine?: InspectedEngine | undefined;
}

export interface InspectedEngine {
  replay(frame: Buffer, location: JournalLocation | undefined): void;
  neededSegments(): Iterable<number>;
}

/** Reads an area as a start would. Only rejects with the system's errors. */
export async function inspectArea(options: InspectionOptions): Promise<AreaReport> {
  const { area, disk, directory, engine, onBytes } = options;
  const nothing = {
    area,
    format: FORMAT,
    fault: undefined,
    snapshot: undefined,
    covered: [],
    damaged: [],
    segments: [],
    position: 0,
  };
  let frames = 0;
  const apply = (frame: Buffer, location: JournalLocation | undefined): void => {
    frames += 1;
    engine?.replay(frame, location);
  };
  try {
    if (!(await isThere(disk, directory))) {
      assertBegun(directory, [], (await readHighWater(disk, directory)).mark.segment);
      return { ...nothing, frames, tail: undefined };
    }
    const onProgress = (done: number, total: number): void => onBytes?.(area, done, total);
    const {
      position,
      snapshot,
      covered,
      ended,
      open,
      tail,
      highWaterFault: fault,
    } = await readArea({
      ...options,
      apply,
      onProgress,
    });
    const segments = ended.map(({ number, bytes }) => ({ number, bytes, isEnded: true }));
    if (open !== undefined) segments.push({ number: open.number, bytes: open.bytes, isEnded: false });
    const damaged = options.checksCovered === false ? [] : await damageOf(options, { covered, segments });
    return { ...nothing, fault, snapshot, covered, damaged, segments, position, frames, tail };
  } catch (error) {
    if (!isAboutData(error)) throw error;
    return { ...nothing, fault: error.message, frames, tail: undefined };
  }
}

/** The faults of the existing covered segments, and the missing ones. */
async function damageOf(
  { disk, directory, area, engine, onBytes }: InspectionOptions,
  { covered, segments }: Pick<AreaReport, "covered" | "segments">,
): Promise<readonly string[]> {
  const present = new Set([...covered, ...segments].map(({ number }) => number));
  const missing = [...(engine?.neededSegments() ?? [])].filter((number) => !present.has(number));
  const totalBytes = covered.reduce((sum, { bytes }) => sum + bytes, 0);
  let doneBytes = 0;
  const damaged: string[] = [];
  for (const { number, bytes } of [...covered, ...missing.map((number) => ({ number, bytes: 0 }))]) {
    const onPart = (count: number): void => onBytes?.(area, doneBytes + count, totalBytes);
    const fault = await checkCoveredSegment({ disk, directory, area, number }, { depth: "whole", onPart });
    if (fault !== undefined) damaged.push(fault.message);
    doneBytes += bytes;
  }
  return damaged;
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
