/**
 * The segment that is being written: its file and the offset of the next bytes.
 *
 * (1) A new segment gets its first batch after its header and its name are
 *     durable, so a segment longer than a header once had a valid header.
 * (2) A failed write does not move the offset of the next bytes; `cut` removes
 *     torn bytes.
 * (3) Nothing follows an end mark, not even after a power cut that undoes an
 *     unsynced `cut`.
 */
import { segmentPath } from "../area-files.ts";
import { type Disk, type DiskFile, writeFully, writeFullyNow } from "../disk/disk.ts";
import { BATCH_WORD, encodeFileHeader, type FileHeader, MARK_BYTES, writeMark } from "./file-format.ts";

/** An fsync failed: it is unknown what is durable, and a second fsync could report success wrongly. */
export class SyncFailure extends Error {
  override name = "SyncFailure";
}

export class SegmentWriter {
  readonly header: FileHeader;
  readonly #file: DiskFile;
  #bytes: number;
  /** True while a cut is not durable, so that the torn bytes may come back. */
  #isCut = false;

  /** Continues a file whose first `bytes` bytes are valid. */
  constructor(file: DiskFile, header: FileHeader, bytes: number) {
    this.#file = file;
    this.header = header;
    this.#bytes = bytes;
  }

  /** Begins a segment: keeps (1). After a failure the file does not exist. */
  static async create(
    disk: Disk,
    { directory, area }: { directory: string; area: string },
    header: FileHeader,
  ): Promise<SegmentWriter> {
    const path = segmentPath(directory, header.number);
    const bytes = encodeFileHeader("segment", area, header);
    const file = await disk.open(path, "create");
    try {
      await writeFully(file, bytes, 0);
      await synced(file.fdatasync());
      await synced(disk.syncDirectory(directory));
    } catch (error) {
      await file.close();
      await disk.unlink(path);
      throw error;
    }
    return new SegmentWriter(file, header, bytes.length);
  }

  /** The size in bytes, without a write that is still running. */
  get bytes(): number {
    return this.#bytes;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await writeFully(this.#file, bytes, this.#bytes);
    this.#bytes += bytes.length;
  }

  writeNow(bytes: Uint8Array): void {
    writeFullyNow(this.#file, bytes, this.#bytes);
    this.#bytes += bytes.length;
  }

  /** keeps (2). */
  async cut(): Promise<void> {
    this.#isCut = true;
    await this.#file.truncate(this.#bytes);
  }

  /** Rejects with a `SyncFailure`. */
  sync(): Promise<void> {
    return synced(this.#file.fdatasync());
  }

  /** Writes the end mark: everything up to `position` must be durable. */
  async end(position: number): Promise<void> {
    if (this.#isCut) await this.sync(); // keeps (3)
    this.#isCut = false;
    const mark = Buffer.alloc(MARK_BYTES);
    const { number, salt } = this.header;
    writeMark(mark, 0, { number, position, syncedPosition: position, bytes: 0, word: BATCH_WORD, salt });
    await this.write(mark);
    await this.sync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function synced(sync: Promise<void>): Promise<void> {
  try {
    await sync;
  } catch (cause) {
    throw new SyncFailure("A sync to disk failed", { cause });
  }
}
