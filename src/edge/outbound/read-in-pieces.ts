/**
 * Small bites of what a destination sends before its body.
 *
 * When headers are larger than they may be, the HTTP client destroys the socket
 * and goes on through the bytes it has at hand, making an error with a stack
 * for each header of them: 64 KiB of short headers held the thread for 50 ms
 * (`endless-headers` of test/harness/hostile-server.ts). So it gets headers in pieces,
 * and nothing any more from a socket that is destroyed: 3 ms.
 */
import type { Readable } from "node:stream";

/** Larger than the headers and the body of most answers, which so are read at once. */
export const PIECE_BYTES = 2_048;

/** Makes `stream.read()` return at most `PIECE_BYTES` while `isInHeaders` says so. */
export function readInPieces(stream: Readable, isInHeaders: () => boolean): void {
  const read = stream.read.bind(stream);
  stream.read = (size?: number): unknown => {
    if (stream.destroyed) return null;
    const isTooMuch = size === undefined && stream.readableLength > PIECE_BYTES && isInHeaders();
    return read(isTooMuch ? PIECE_BYTES : size);
  };
}
