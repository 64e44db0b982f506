/** The storage of row files, which a process with files has and the vector area is given. */

export interface RowFileStorage {
  /** The names of all row files. */
  names(): Promise<readonly string[]>;
  /** Creates a file, which must not exist. */
  create(name: string): Promise<StoredRowFile>;
  /** Opens an existing file for reading. */
  open(name: string): Promise<StoredRowFile>;
  remove(name: string): Promise<void>;
  /** For a process that serves nothing, and may wait for the disk. */
  readonly readNow?: ReadFileNow;
}

export interface StoredRowFile {
  /** The number by which any thread of the process reads the file until it is closed. */
  readonly descriptor: number;
  /** Fills `target` from `offset` and returns the bytes read: fewer only at the end of the file. */
  read(target: Uint8Array, offset: number): Promise<number>;
  /** Writes all bytes, which do not change until then. A crash may leave any part of them. */
  write(bytes: Uint8Array, offset: number): Promise<void>;
  /** In bytes. */
  size(): Promise<number>;
  close(): Promise<void>;
}

/** Reads from a file on this thread, at once: fills `target` from `offset` and returns the bytes read. */
export type ReadFileNow = (descriptor: number, target: Uint8Array, offset: number) => number;

/** Reads from files, and the bytes that they fetched. */
export interface RowReads {
  readonly count: number;
  readonly bytes: number;
}

/** Where a row is: what another thread needs to read it, and to see that it is the row. */
export interface RowPlace {
  readonly descriptor: number;
  /** Of its entry, in bytes. */
  readonly offset: number;
  readonly version: number;
}

/** A row cannot be read as it was written. The journal and the snapshot have it, and the next start reads it from there. */
export class DamagedRow extends Error {
  override name = "DamagedRow";
}
