/**
 * Reads the headers of a destination in small pieces.
 *
 * When headers are too large, the HTTP client destroys the socket and continues
 * with the bytes it has, creating an error with a stack for each header: 64 KiB of
 * short headers held the thread for 50 ms (`endless-headers` of
 * test/harness/hostile-server.ts). In pieces, and with no bytes of a destroyed
 * socket, it takes 3 ms.
 */
import type { Readable } from "node:stream";

/** Larger than the headers and the body of most answers, which are read at once. */
export const PIECE_BYTES = 2_048;

/** Limits `stream.read()` to `PIECE_BYTES` while `isInHeaders` returns true. */
export function readInPieces(stream: Readable, isInHeaders: () => boolean): void {
  const read = stream.read.bind(stream);
  stream.read = (size?: number): unknown => {
    if (stream.destroyed) return null;
    const isTooMuch = size === undefined && stream.readableLength > PIECE_BYTES && isInHeaders();
    return read(isTooMuch ? PIECE_BYTES : size);
  };
}
