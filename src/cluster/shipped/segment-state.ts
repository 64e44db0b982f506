/** What is known of a segment whose bytes go to the log store. */
import { BATCH_WORD, FILE_HEADER_BYTES, findMark, MARK_BYTES } from "../../persistence/journal/file-format.ts";
import { RecentBytes } from "./recent-bytes.ts";

/** Where the salt is in the header of a file. */
const SALT_OFFSET = 24;

export class SegmentState {
  readonly number: number;
  /** Up to here the log store has committed everything. */
  shippedBytes: number;
  /** The start of the last row that the store has, if it is known. */
  lastStart: number | undefined;
  /** The file was kept from an earlier life of this node, and was not read from the store in this one. */
  readonly isKept: boolean;
  /** The store must lose its bytes from here on before more is shipped. */
  cutBytes: number | undefined;
  /** Where this owner has cut off rows of an earlier one. */
  rowsCutAt: number | undefined;
  /** What was written last. */
  readonly recent = new RecentBytes();
  #salt: number | undefined;
  #wholeBytes: number;
  /** The end of the last write that was begun. */
  #plannedBytes: number;
  #endBytes: number | undefined;

  constructor(number: number, shipped: { bytes: number; lastStart?: number; isKept?: boolean; salt?: number }) {
    this.number = number;
    this.shippedBytes = shipped.bytes;
    this.lastStart = shipped.lastStart;
    this.isKept = shipped.isKept ?? false;
    this.#salt = shipped.salt;
    this.#wholeBytes = shipped.bytes;
    this.#plannedBytes = shipped.bytes;
  }

  /** The end of the last write that has ended, and not in part: a batch, or a header, is shipped as a whole. */
  get wholeBytes(): number {
    return this.#wholeBytes;
  }

  get salt(): number | undefined {
    return this.#salt;
  }

  /** True if the store has its end mark, so that it never changes. */
  get isEnded(): boolean {
    return this.#endBytes !== undefined && this.shippedBytes === this.#endBytes;
  }

  beginWrite(bytes: Uint8Array, offset: number): void {
    this.#plannedBytes = Math.max(this.#plannedBytes, offset + bytes.length);
    const copy = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (offset === 0 && bytes.length >= FILE_HEADER_BYTES) this.#salt = copy.readUInt32LE(SALT_OFFSET);
    if (bytes.length !== MARK_BYTES || this.#salt === undefined) return;
    const mark = findMark(copy, 0, { word: BATCH_WORD, number: this.number, salt: this.#salt });
    if (mark?.bytes === 0) this.#endBytes = offset + MARK_BYTES;
  }

  /** `written` are the bytes that the file has now. */
  endWrite(written: Uint8Array, offset: number): void {
    const count = written.length;
    this.recent.add(written, offset);
    if (offset + count >= this.#plannedBytes) this.#wholeBytes = this.#plannedBytes;
  }

  truncate(bytes: number): void {
    this.recent.clear();
    this.#wholeBytes = Math.min(this.#wholeBytes, bytes);
    this.#plannedBytes = bytes;
    if ((this.#endBytes ?? 0) > bytes) this.#endBytes = undefined;
    if (bytes < this.shippedBytes) this.cutBytes = Math.min(this.cutBytes ?? bytes, bytes);
  }
}
