/**
 * The first bytes of a segment or a snapshot name the area that it belongs to:
 * `store` on a single server, `store.0001` in a cluster. No other byte of the
 * file depends on that name, so a file moves from one to the other with a new
 * header, and keeps its number, positions, salt and bodies.
 */
import {
  encodeFileHeader,
  FILE_HEADER_BYTES,
  type FileKind,
  parseFileHeader,
} from "../../../persistence/journal/file-format.ts";

export interface HeaderChange {
  readonly kind: FileKind;
  readonly number: number;
  /** For errors. */
  readonly path: string;
  /** The names of the area before and after. */
  readonly from: string;
  readonly to: string;
}

/**
 * Changes the header at the start of `bytes`, which has at least the bytes of a header if the file has them. Throws
 * `DamagedData`, `NewerFormat` or `WrongFile` if it is not that of this file.
 */
export function renameArea(bytes: Buffer, { kind, number, path, from, to }: HeaderChange): void {
  const header = parseFileHeader(bytes.subarray(0, FILE_HEADER_BYTES), { kind, number, path, area: from });
  encodeFileHeader(kind, to, header).copy(bytes);
}
