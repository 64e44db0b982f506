/**
 * Follows a journal from another thread or process: passes on its frames in
 * order, from any position that still exists up to the durable end.
 *
 * (1) It reads nothing after the location it is given: later bytes may be half
 *     written, and a crash may lose them.
 * (2) Each frame is passed on once, in order and without a gap. A file with a
 *     gap or with changed bytes ends the following with the error that a start
 *     would report.
 * (3) It opens its own files, to read only. The owner of the area must retain
 *     the segments that are not followed yet (`mayRemove` in area-storage.ts).
 */
import { assert } from "../../kernel/assert.ts";
import { segmentPath } from "../area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully } from "../disk/disk.ts";
import { DamagedData, MissingData, WrongFile } from "../errors.ts";
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  type FileHeader,
  type JournalLocation,
  type Mark,
  parseFileHeader,
  type SyncedLocation,
} from "./file-format.ts";
import { readItems } from "./item-reader.ts";

export interface FrameFollowerOptions {
  readonly disk: Disk;
  readonly directory: string;
  /** The area's name, as its files state it. */
  readonly area: string;
  /** The position to start from, which is after the last unwanted frame; 0 for all frames. */
  readonly position: number;
  /**
   * Receives one frame: its payload, the position after it (as `append` returned it) and its location. Payload and
   * location are only valid until it returns.
   */
  frame(payload: Buffer, position: number, location: JournalLocation): void;
  /** Called after each part of about 1 MB, and at the requested location. Nothing is read until it resolves. */
  onPart?(position: number): void | Promise<void>;
}

/** The segment that is being followed. */
interface FollowedSegment {
  readonly path: string;
  readonly file: DiskFile;
  readonly header: FileHeader;
  /** The offset after the last item read. */
  offset: number;
  /** The position after the last frame read, which may be before the wanted frames. */
  position: number;
}

export class FrameFollower {
  readonly #options: FrameFollowerOptions;
  #position: number;
  #segment: FollowedSegment | undefined;
  #following: Promise<void> | undefined;
  #isClosing = false;

  constructor(options: FrameFollowerOptions) {
    this.#options = options;
    this.#position = options.position;
  }

  /** The position after the last frame passed on. */
  get position(): number {
    return this.#position;
  }

  /**
   * Passes on all frames up to a durable location, from `FileJournal.syncedLocation`; an earlier location is allowed.
   * One call at a time. Resolves early if `close` is called meanwhile. Rejects with `MissingData` if the next frame is
   * in a removed segment, with `DamagedData`, `WrongFile`, `NewerFormat`, the system's error, or the error of `frame`;
   * another call then continues after the last frame passed on.
   */
  async follow(to: SyncedLocation): Promise<void> {
    assert(this.#following === undefined, "a follower runs one call of follow at a time");
    if (to.position <= this.#position || this.#isClosing) return;
    this.#following = this.#follow(to);
    try {
      await this.#following;
    } catch (error) {
      await this.#leaveSegment();
      throw error;
    } finally {
      this.#following = undefined;
    }
  }

  /** Ends a running call between two frames, and closes the file. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#following?.catch(() => undefined); // The caller of `follow` receives the error.
    await this.#leaveSegment();
  }

  async #follow(to: SyncedLocation): Promise<void> {
    this.#segment ??= await this.#findSegment(to);
    for (let segment = this.#segment; ; ) {
      await this.#read(segment, to);
      if (this.#isClosing || this.#position >= to.position) return;
      const { number } = segment.header;
      if (number === to.segment) {
        throw new DamagedData(segment.path, segment.offset, `everything before position ${to.position} was durable`);
      }
      const next = await this.#openSegment(number + 1);
      await this.#leaveSegment();
      this.#segment = next;
      if (next.position !== segment.position) {
        const what = `begins at position ${next.position}, but the segment before it ends at ${segment.position}`;
        throw new WrongFile(next.path, what);
      }
      segment = next;
    }
  }

  /** Continues in a segment up to its end or to the durable location in it. */
  async #read(segment: FollowedSegment, to: SyncedLocation): Promise<void> {
    const { file, path, header } = segment;
    const isLast = header.number === to.segment;
    const size = isLast ? to.offset : await file.size(); // keeps (1)
    const from = { offset: segment.offset, position: segment.position };
    const location = { segment: header.number, offset: 0 };
    let isEnded = false;
    let reportedPosition = this.#position;
    const found = await readItems(
      { file, size, number: header.number, salt: header.salt, markWord: BATCH_WORD },
      {
        frame: (payload, offset) => {
          from.position += 1;
          if (from.position <= this.#position) return;
          location.offset = offset;
          this.#options.frame(payload, from.position, location);
          this.#position = from.position;
        },
        mark: (mark: Mark, at) => {
          if (this.#isClosing || mark.position !== at.position) return "stop";
          isEnded = mark.bytes === 0;
          return isEnded ? "stop" : "go on";
        },
        progress: () => {
          if (this.#position === reportedPosition) return undefined;
          reportedPosition = this.#position;
          return this.#options.onPart?.(reportedPosition);
        },
      },
      from,
    );
    segment.offset = found.offset;
    segment.position = found.position;
    if (this.#isClosing || isEnded || (isLast && found.end === "end of file")) return;
    throw new DamagedData(path, found.offset, `position ${found.position} is bad, and it was durable`);
  }

  /** The last segment that begins at or before the position. A follower is rarely far from the end. */
  async #findSegment(to: SyncedLocation): Promise<FollowedSegment> {
    for (let number = to.segment; ; number -= 1) {
      const segment = await this.#openSegment(number);
      if (segment.position <= this.#position) return segment;
      await segment.file.close();
    }
  }

  async #openSegment(number: number): Promise<FollowedSegment> {
    const { disk, directory, area } = this.#options;
    const path = segmentPath(directory, number);
    const file = await disk.open(path, "read").catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
      throw new MissingData(path, `the frames after position ${this.#position} begin in it or in an earlier segment`);
    });
    try {
      const bytes = Buffer.alloc(FILE_HEADER_BYTES);
      const count = await readFully(file, bytes, 0);
      const header = parseFileHeader(bytes.subarray(0, count), { kind: "segment", path, area, number });
      return { path, file, header, offset: FILE_HEADER_BYTES, position: header.position };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #leaveSegment(): Promise<void> {
    const segment = this.#segment;
    this.#segment = undefined;
    await segment?.file.close();
  }
}
