/**
 * Writes a segment or a snapshot from its first byte to its last one
 * (journal/file-format.ts): files that are complete before anybody reads them. The
 * journal writes its segments itself (journal/segment-writer.ts).
 */
import { assert } from "../kernel/assert.ts";
import { crc32 } from "./journal/checksum.ts";
import {
  BATCH_WORD,
  encodeFileHeader,
  type FileKind,
  FOOTER_WORD,
  FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  frameSeed,
  MARK_BYTES,
  writeMark,
} from "./journal/file-format.ts";

/** Takes the bytes of a file in their order. */
export interface ByteSink {
  /** Resolves when `bytes` may be overwritten. */
  append(bytes: Uint8Array): Promise<void>;
}

export interface NewFile {
  readonly kind: FileKind;
  /** The area's name, as the file states it. */
  readonly area: string;
  readonly number: number;
  /** Before the first frame of a segment; of the state of a snapshot. */
  readonly position: number;
  readonly salt: number;
}

/** Frames are collected into writes of about this size. */
const WRITE_BYTES = 1024 * 1024;

export class FrameFileWriter {
  readonly #sink: ByteSink;
  readonly #file: NewFile;
  readonly #buffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #used = 0;
  /** Of the bytes that the sink has. */
  #offset = 0;
  #position: number;

  private constructor(sink: ByteSink, file: NewFile) {
    this.#sink = sink;
    this.#file = file;
    this.#position = file.kind === "segment" ? file.position : 0;
  }

  /** Begins a file with its header. */
  static async begin(sink: ByteSink, file: NewFile): Promise<FrameFileWriter> {
    const writer = new FrameFileWriter(sink, file);
    await writer.#write(encodeFileHeader(file.kind, file.area, file));
    return writer;
  }

  /** Bytes of the file so far, including those that the sink does not have yet. */
  get bytes(): number {
    return this.#offset + this.#used;
  }

  /** The position after the last frame of a segment; the count of the frames of a snapshot. */
  get position(): number {
    return this.#position;
  }

  /** Adds a frame to a snapshot. */
  async frame(payload: Uint8Array): Promise<void> {
    assert(this.#file.kind === "snapshot", "frames of a segment are in batches");
    await this.#frame(payload);
  }

  /** Adds a batch of at least one frame to a segment. Returns the offset of the payload of each frame in the file. */
  async batch(frames: readonly Uint8Array[]): Promise<readonly number[]> {
    assert(this.#file.kind === "segment" && frames.length > 0, "batches of frames are in segments");
    const bytes = frames.reduce((sum, { length }) => sum + FRAME_HEADER_BYTES + length, 0);
    await this.#mark(BATCH_WORD, this.#position, bytes);
    const offsets: number[] = [];
    for (const payload of frames) offsets.push(await this.#frame(payload));
    return offsets;
  }

  /** Ends the file. Nothing may follow. */
  async end(): Promise<void> {
    if (this.#file.kind === "segment") await this.#mark(BATCH_WORD, this.#position, 0);
    else await this.#mark(FOOTER_WORD, this.bytes, 0);
    await this.#flush();
  }

  async #frame(payload: Uint8Array): Promise<number> {
    assert(
      payload.length > 0 && payload.length <= FRAME_BYTES_MAX,
      "a frame holds at least one byte and less than 2 GiB",
    );
    const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
    const seed = frameSeed(this.#file.salt, this.#position, payload.length);
    header.writeUInt32LE(payload.length, 0);
    header.writeUInt32LE(crc32(payload, 0, payload.length, seed), 4);
    this.#position += 1;
    await this.#write(header);
    const offset = this.bytes;
    await this.#write(payload);
    return offset;
  }

  /** Everything before a mark is complete, so its position is also the one that is durable when the file is read. */
  async #mark(word: number, syncedPosition: number, bytes: number): Promise<void> {
    const mark = Buffer.alloc(MARK_BYTES);
    const { number, salt } = this.#file;
    writeMark(mark, 0, { word, salt, number, position: this.#position, syncedPosition, bytes });
    await this.#write(mark);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#used + bytes.length > this.#buffer.length) await this.#flush();
    if (bytes.length > this.#buffer.length) {
      await this.#sink.append(bytes);
      this.#offset += bytes.length;
    } else {
      this.#buffer.set(bytes, this.#used);
      this.#used += bytes.length;
    }
  }

  async #flush(): Promise<void> {
    if (this.#used > 0) await this.#sink.append(this.#buffer.subarray(0, this.#used));
    this.#offset += this.#used;
    this.#used = 0;
  }
}
