/**
 * The snapshot file: a header, frames that rebuild an area's state, and a footer
 * that counts them (file-format.ts). It gets its name when it is complete and
 * durable, so an incomplete file with the name of a snapshot is damaged.
 */
import { AssertionFailure } from "../kernel/assert.ts";
import type { Random } from "../kernel/random.ts";
import { listAreaFiles, snapshotPath } from "./area-files.ts";
import { type Disk, readFully, withFile, writeFully } from "./disk/disk.ts";
import { DamagedData } from "./errors.ts";
import { FrameFileWriter } from "./frame-file-writer.ts";
import {
  FILE_HEADER_BYTES,
  FOOTER_WORD,
  FRAME_HEADER_BYTES,
  MARK_BYTES,
  parseFileHeader,
  UNFINISHED_SUFFIX,
} from "./journal/file-format.ts";
import { readItems } from "./journal/item-reader.ts";

export interface SnapshotSink {
  /** Receives a frame and the offset of its payload in the file. */
  frame(payload: Buffer, offset: number): void;
  /** Reading waits for a promise that it returns. */
  progress?(bytes: number): unknown;
}

/** Reads a whole snapshot. Throws `DamagedData`, `NewerFormat` or `WrongFile`, perhaps after passing on some frames. */
export async function readSnapshot(
  disk: Disk,
  expected: { path: string; area: string; number: number },
  sink: SnapshotSink,
): Promise<{ position: number; bytes: number }> {
  const { path, number } = expected;
  return withFile(await disk.open(path, "read"), async (file) => {
    const size = await file.size();
    const head = Buffer.alloc(Math.min(size, FILE_HEADER_BYTES));
    await readFully(file, head, 0);
    const header = parseFileHeader(head, { ...expected, kind: "snapshot" });
    let footerOffset = -1;
    const found = await readItems(
      { file, size, number, salt: header.salt, markWord: FOOTER_WORD },
      {
        ...sink,
        mark(mark, { offset, position }) {
          if (mark.position === position && mark.syncedPosition === offset) footerOffset = offset;
          return "stop";
        },
      },
      { offset: FILE_HEADER_BYTES, position: 0 },
    );
    if (footerOffset === -1) throw new DamagedData(path, found.offset, "the snapshot is incomplete");
    if (footerOffset + MARK_BYTES !== size) {
      throw new DamagedData(path, footerOffset + MARK_BYTES, "there are extra bytes after the end of the snapshot");
    }
    return { position: header.position, bytes: size };
  });
}

/** What an engine says about the frames of a snapshot beside applying them. */
export interface SnapshotHooks {
  /** Called after the last frame, before one of the journal is applied. Throws an `AssertionFailure` as `apply` may. */
  endSnapshot?(): void;
  /**
   * An empty engine that throws an `AssertionFailure` at the first frame that contradicts those before it. Used after one
   * that was noticed later.
   */
  openSnapshotCheck?(): (frame: Buffer) => void;
}

interface ExpectedSnapshot {
  readonly path: string;
  readonly area: string;
  readonly number: number;
}

/**
 * The loading of a snapshot into an engine. Its frames were made from one state, so an engine that cannot apply one was
 * given a damaged file: the fault names the file and the frame.
 */
export class SnapshotLoading {
  readonly #disk: Disk;
  readonly #hooks: SnapshotHooks;
  #expected: ExpectedSnapshot | undefined;
  /** Of the last frame that was applied. */
  #offset = FILE_HEADER_BYTES;

  constructor(disk: Disk, hooks: SnapshotHooks) {
    this.#disk = disk;
    this.#hooks = hooks;
  }

  /** As `readSnapshot`. */
  read(expected: ExpectedSnapshot, sink: SnapshotSink): ReturnType<typeof readSnapshot> {
    this.#expected = expected;
    return readSnapshot(this.#disk, expected, {
      ...sink,
      frame: (payload, offset) => {
        this.#offset = offset - FRAME_HEADER_BYTES;
        sink.frame(payload, offset);
      },
    });
  }

  /** No more frames of the snapshot follow. Called before the first frame of the journal, and again later. */
  end(): void {
    if (this.#expected === undefined) return;
    this.#hooks.endSnapshot?.();
    this.#expected = undefined;
  }

  /** `error`, or the `DamagedData` that explains it if it is about the snapshot. */
  async faultOf(error: unknown): Promise<unknown> {
    const expected = this.#expected;
    if (!(error instanceof AssertionFailure) || expected === undefined) return error;
    const what = `its frames do not rebuild a state, because this does not hold: ${error.message}`;
    return new DamagedData(expected.path, await this.#placeOf(expected), what, { cause: error });
  }

  async #placeOf(expected: ExpectedSnapshot): Promise<number> {
    const check = this.#hooks.openSnapshotCheck?.();
    if (check === undefined) return this.#offset;
    let place = this.#offset;
    try {
      await readSnapshot(this.#disk, expected, {
        frame: (payload, offset) => {
          place = offset - FRAME_HEADER_BYTES;
          check(payload);
        },
      });
    } catch (error) {
      if (error instanceof AssertionFailure) return place;
      throw error;
    }
    return this.#offset;
  }
}

/** The bytes of an area's newest snapshot, or undefined if it has none. */
export async function newestSnapshotBytes(disk: Disk, directory: string): Promise<number | undefined> {
  const number = (await listAreaFiles(disk, directory)).snapshots.at(-1);
  if (number === undefined) return undefined;
  return withFile(await disk.open(snapshotPath(directory, number), "read"), (file) => file.size());
}

export interface NewSnapshot {
  readonly directory: string;
  readonly area: string;
  /** The first segment that it does not cover. */
  readonly number: number;
  /** The position of its state. */
  readonly position: number;
}

/**
 * Writes a snapshot under a temporary name, makes it durable, renames it and makes the new name durable too. Each frame
 * is copied before the next one is requested. Returns the bytes of the file.
 */
export async function writeSnapshotFile(
  disk: Disk,
  snapshot: NewSnapshot,
  source: { frames: Iterable<Uint8Array>; random: Random },
): Promise<number> {
  const { directory, area, number, position } = snapshot;
  const path = snapshotPath(directory, number);
  // The name is random because a process of an earlier server may still be writing the same snapshot.
  const draft = `${path}.${source.random.below(2 ** 32).toString(16)}${UNFINISHED_SUFFIX}`;
  const salt = source.random.below(2 ** 32);
  const file = await disk.open(draft, "create");
  let written = 0;
  const bytes = await withFile(file, async () => {
    const sink = {
      async append(bytes: Uint8Array): Promise<void> {
        await writeFully(file, bytes, written);
        written += bytes.length;
      },
    };
    const writer = await FrameFileWriter.begin(sink, { kind: "snapshot", area, number, position, salt });
    for (const frame of source.frames) await writer.frame(frame);
    await writer.end();
    await file.fsync();
    return writer.bytes;
  });
  await disk.rename(draft, path);
  await disk.syncDirectory(directory);
  return bytes;
}
