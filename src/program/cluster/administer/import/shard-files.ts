/** New files of a shard, written as rows: one after the other, each from its first byte to its last one. */
import { assert } from "../../../../kernel/assert.ts";
import { type ByteSink, FrameFileWriter } from "../../../../persistence/frame-file-writer.ts";
import type { FileKind } from "../../../../persistence/journal/file-format.ts";
import { PIECE_BYTES, type ShardRows } from "./shard-rows.ts";

export interface NewShardFile {
  readonly kind: FileKind;
  readonly number: number;
  /** Before the first frame of a segment; of the state of a snapshot. */
  readonly position: number;
}

export interface ShardFilesOptions {
  readonly rows: Pick<ShardRows, "put" | "end">;
  /** In the headers of the files. */
  readonly nameInFiles: string;
  saltOf(file: Pick<NewShardFile, "kind" | "number">): number;
}

export class ShardFiles {
  readonly #options: ShardFilesOptions;
  #current: OpenFile | undefined;
  #snapshot: { readonly number: number; readonly bytes: number } | undefined;

  constructor(options: ShardFilesOptions) {
    this.#options = options;
  }

  /** The file that is being written. */
  get file(): NewShardFile | undefined {
    return this.#current?.file;
  }

  /** The snapshot that is complete. */
  get snapshot(): { readonly number: number; readonly bytes: number } | undefined {
    return this.#snapshot;
  }

  /** The file that is being written takes frames. */
  get writer(): FrameFileWriter {
    return this.#open.writer;
  }

  async begin(file: NewShardFile): Promise<void> {
    assert(this.#current === undefined, "the file before is complete");
    const { rows, nameInFiles: area, saltOf } = this.#options;
    const pieces = new Pieces(PIECE_BYTES[file.kind], (start, bytes) => rows.put(file, start, bytes));
    const writer = await FrameFileWriter.begin(pieces, { ...file, area, salt: saltOf(file) });
    this.#current = { file, writer, pieces };
  }

  /** Completes the file. Returns the position after its last frame. */
  async end(): Promise<number> {
    const { writer, pieces, file } = this.#open;
    const { kind, number, position } = file;
    await writer.end();
    await pieces.end();
    this.#current = undefined;
    if (kind === "segment") return writer.position;
    this.#snapshot = { number, bytes: writer.bytes };
    return position;
  }

  /** All files are complete. */
  async finish(): Promise<void> {
    assert(this.#current === undefined, "the last file is complete");
    await this.#options.rows.end(this.#snapshot);
  }

  get #open(): OpenFile {
    assert(this.#current !== undefined, "a file was begun");
    return this.#current;
  }
}

interface OpenFile {
  readonly file: NewShardFile;
  readonly writer: FrameFileWriter;
  readonly pieces: Pieces;
}

/** Cuts the bytes of a file into pieces of one length and a shorter last one. */
class Pieces implements ByteSink {
  readonly #pieceBytes: number;
  readonly #put: (start: number, bytes: Uint8Array) => Promise<void>;
  #buffer = Buffer.alloc(0);
  #used = 0;
  #start = 0;

  constructor(pieceBytes: number, put: (start: number, bytes: Uint8Array) => Promise<void>) {
    this.#pieceBytes = pieceBytes;
    this.#put = put;
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (this.#buffer.length === 0) this.#buffer = Buffer.allocUnsafeSlow(this.#pieceBytes);
    for (let done = 0; done < bytes.length; ) {
      const count = Math.min(bytes.length - done, this.#pieceBytes - this.#used);
      this.#buffer.set(bytes.subarray(done, done + count), this.#used);
      this.#used += count;
      done += count;
      if (this.#used === this.#pieceBytes) await this.#flush();
    }
  }

  async end(): Promise<void> {
    if (this.#used > 0) await this.#flush();
  }

  async #flush(): Promise<void> {
    await this.#put(this.#start, this.#buffer.subarray(0, this.#used));
    this.#start += this.#used;
    this.#used = 0;
  }
}
