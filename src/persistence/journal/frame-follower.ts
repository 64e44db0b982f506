/**
 * Follows a journal from another thread or process: passes on its frames in
 * order, from any position that still exists up to the durable end.
 *
 * (1) It reads nothing after the location it is given: later bytes may be half
 *     written, and a crash may lose them.
 * (2) Each frame is passed on once and in order. Frames that cannot be read, in
 *     changed bytes or in files that are missing or others, end the following
 *     with the error that a start would report, or are skipped and reported,
 *     never passed over in silence. Later frames keep their positions.
 * (3) It opens its own files, to read only. The owner of the area must retain
 *     the segments that are not followed yet (`mayRemove` in area-storage.ts).
 */
import { assert } from "../../kernel/assert.ts";
import { listAreaFiles, segmentPath } from "../area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully } from "../disk/disk.ts";
import { DamagedData, MissingData, NewerFormat, WrongFile } from "../errors.ts";
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  type FileHeader,
  type JournalLocation,
  type Mark,
  parseFileHeader,
  type SyncedLocation,
} from "./file-format.ts";
import { type ItemSource, readItems } from "./item-reader.ts";
import { findResumePlace, withUnreadableAsZeros } from "./resume.ts";

/** Frames that cannot be read: those after the position `from`, up to `to`. */
export interface SkippedFrames {
  readonly from: number;
  readonly to: number;
  /** Why; names the first bad file, and the place in it. */
  readonly fault: UnreadableSegment;
}

export type UnreadableSegment = DamagedData | MissingData | NewerFormat | WrongFile;

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
  /**
   * If present, frames that cannot be read are skipped, and reported here before the next frame is passed on. The
   * segment of the durable location must still begin as it was written.
   */
  skipped?(frames: SkippedFrames): void;
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
  /** Why the rest of it cannot be read. */
  fault?: UnreadableSegment;
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

  /** The position after the last frame passed on or skipped. */
  get position(): number {
    return this.#position;
  }

  /**
   * Passes on all frames up to a durable location, from `FileJournal.syncedLocation`; an earlier location is allowed.
   * One call at a time. Resolves early if `close` is called meanwhile. Unless they are skipped, rejects with
   * `MissingData` if the next frame is in a removed segment, with `DamagedData`, `WrongFile` or `NewerFormat`; always
   * with the system's error, or the error of `frame`. Another call then continues after the last frame passed on.
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
    for (;;) {
      const segment = this.#segment;
      await this.#read(segment, to);
      if (this.#isClosing || this.#position >= to.position) return;
      if (segment.header.number === to.segment) {
        throw new DamagedData(segment.path, segment.offset, `everything before position ${to.position} was durable`);
      }
      const next = await this.#openNext(segment, to);
      await this.#leaveSegment();
      this.#segment = next;
    }
  }

  /** Continues in a segment up to its end or to the durable location in it, or to where it cannot be read any more. */
  async #read(segment: FollowedSegment, to: SyncedLocation): Promise<void> {
    const { file, path, header } = segment;
    const isLast = header.number === to.segment;
    const size = isLast ? to.offset : await file.size(); // keeps (1)
    const readable = this.#skips ? withUnreadableAsZeros(file) : file;
    const source = { file: readable, size, number: header.number, salt: header.salt, markWord: BATCH_WORD };
    while (!this.#isClosing && segment.fault === undefined) {
      const end = await this.#readItems(segment, source);
      if (this.#isClosing || end === "ended" || (isLast && end === "end of file")) return;
      const { offset, position } = segment;
      const fault = new DamagedData(path, offset, `position ${position} is bad, and it was durable`);
      if (!this.#skips) throw fault;
      const place = await findResumePlace(source, segment, isLast ? to : undefined);
      if (place === undefined && !isLast) {
        // The next segment says at which position it ended.
        segment.fault = fault;
      } else {
        const next = place ?? to;
        this.#skip(next.position, fault);
        segment.offset = next.offset;
        segment.position = next.position;
      }
    }
  }

  /** Passes on the frames of a segment up to its end mark, to the end of the file, or to a bad item. */
  async #readItems(segment: FollowedSegment, source: ItemSource): Promise<"ended" | "end of file" | "bad"> {
    const from = { offset: segment.offset, position: segment.position };
    const location = { segment: segment.header.number, offset: 0 };
    let isEnded = false;
    let reportedPosition = this.#position;
    const found = await readItems(
      source,
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
    if (isEnded) return "ended";
    return found.end === "end of file" ? "end of file" : "bad";
  }

  get #skips(): boolean {
    return this.#options.skipped !== undefined;
  }

  /** keeps (2). Frames that were passed on before may be damaged since. */
  #skip(to: number, fault: UnreadableSegment): void {
    const { skipped } = this.#options;
    if (skipped === undefined) throw fault;
    const from = this.#position;
    if (to <= from) return;
    this.#position = to;
    skipped({ from, to, fault });
  }

  /** The last segment that begins at or before the position. A follower is rarely far from the end. */
  async #findSegment(to: SyncedLocation): Promise<FollowedSegment> {
    let first: FollowedSegment | undefined;
    let fault: UnreadableSegment | undefined;
    try {
      for (const number of await this.#numbersDownFrom(to.segment)) {
        const segment = await this.#tryOpen(number, to);
        if (!("header" in segment)) {
          fault = segment;
          continue;
        }
        await first?.file.close();
        first = segment;
        if (segment.position <= this.#position) return segment;
      }
      assert(first !== undefined, "the segment of the durable location exists");
      this.#skip(first.position, fault ?? this.#missing(first.header.number - 1));
      return first;
    } catch (error) {
      await first?.file.close();
      throw error;
    }
  }

  /** The numbers that may be segments; one that is missing ends a following without gaps. */
  async #numbersDownFrom(last: number): Promise<Iterable<number>> {
    if (!this.#skips) return descending(last);
    const existing = await this.#existing();
    return [last, ...existing.filter((number) => number < last).reverse()];
  }

  /** The next segment that can be read, and that continues where this one ends unless something is skipped. */
  async #openNext(segment: FollowedSegment, to: SyncedLocation): Promise<FollowedSegment> {
    let { fault } = segment;
    let expected = segment.header.number + 1;
    for (const number of await this.#numbersUpFrom(expected, to.segment)) {
      if (number !== expected) fault ??= this.#missing(expected);
      expected = number + 1;
      const next = await this.#tryOpen(number, to);
      if (!("header" in next)) {
        fault ??= next;
        continue;
      }
      const isAfterFault = fault !== undefined;
      if (next.position !== segment.position) fault ??= wrongFile(next, segment);
      if (fault === undefined) return next;
      // Which of two files is the wrong one is unknown, but the server is writing the last one.
      const isBelieved = next.position >= segment.position && (isAfterFault || number === to.segment);
      if (this.#skips && isBelieved) {
        this.#skip(next.position, fault);
        return next;
      }
      await next.file.close();
      if (!this.#skips || number === to.segment) throw fault;
    }
    throw fault ?? this.#missing(to.segment);
  }

  async #numbersUpFrom(first: number, last: number): Promise<readonly number[]> {
    if (!this.#skips) return [first];
    return [...(await this.#existing()).filter((number) => number >= first && number < last), last];
  }

  async #existing(): Promise<readonly number[]> {
    const { disk, directory } = this.#options;
    return (await listAreaFiles(disk, directory)).segments;
  }

  /** A segment, or why it cannot be read if it can be skipped. */
  async #tryOpen(number: number, to: SyncedLocation): Promise<FollowedSegment | UnreadableSegment> {
    try {
      return await this.#openSegment(number);
    } catch (error) {
      const fault = unreadable(error, segmentPath(this.#options.directory, number));
      if (fault === undefined || !this.#skips || number === to.segment) throw error;
      return fault;
    }
  }

  async #openSegment(number: number): Promise<FollowedSegment> {
    const { disk, directory, area } = this.#options;
    const path = segmentPath(directory, number);
    const file = await disk.open(path, "read").catch((error: unknown) => {
      throw codeOf(error) === "ENOENT" ? this.#missing(number) : error;
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

  #missing(number: number): MissingData {
    const why = `the frames after position ${this.#position} begin in it or in an earlier segment`;
    return new MissingData(segmentPath(this.#options.directory, number), why);
  }

  async #leaveSegment(): Promise<void> {
    const segment = this.#segment;
    this.#segment = undefined;
    await segment?.file.close();
  }
}

function* descending(last: number): Generator<number> {
  for (let number = last; ; number -= 1) yield number;
}

function wrongFile(next: FollowedSegment, { position }: FollowedSegment): WrongFile {
  return new WrongFile(next.path, `begins at position ${next.position}, but the segment before it ends at ${position}`);
}

/** The fault if a segment cannot be read as what it should be; undefined if the error says nothing about it. */
function unreadable(error: unknown, path: string): UnreadableSegment | undefined {
  if (codeOf(error) === "EIO") return new DamagedData(path, 0, "the disk reported a read error");
  return [DamagedData, MissingData, NewerFormat, WrongFile].some((kind) => error instanceof kind)
    ? (error as UnreadableSegment)
    : undefined;
}
