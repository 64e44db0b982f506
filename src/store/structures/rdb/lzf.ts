/**
 * LZF, the compression of long strings in Redis' dumps: only reading, since a
 * dump need not be compressed.
 *
 *     000nnnnn                      n + 1 literal bytes follow
 *     nnnooooo oooooooo             repeats n + 2 bytes, from o + 1 bytes back
 *     111ooooo nnnnnnnn oooooooo    repeats n + 9 bytes
 */

/** Three bytes can represent 264. */
const EXPANSION_MAX = 88;

/** The `length` bytes that were compressed, or undefined if `compressed` does not have exactly that many. */
export function lzfDecompress(compressed: Uint8Array, length: number): Buffer | undefined {
  // An impossible length is refused before memory is allocated for it.
  if (length > compressed.length * EXPANSION_MAX) return undefined;
  const bytes = Buffer.allocUnsafe(length);
  const end = compressed.length;
  let from = 0;
  let to = 0;
  while (from < end) {
    const control = compressed[from++] as number;
    if (control < 0x20) {
      const count = control + 1;
      if (from + count > end || to + count > length) return undefined;
      // At most 32: a view costs more than they do.
      for (let left = count; left > 0; left -= 1) bytes[to++] = compressed[from++] as number;
      continue;
    }
    let count = control >>> 5;
    if (count === 7) {
      if (from >= end) return undefined;
      count += compressed[from++] as number;
    }
    count += 2;
    if (from >= end) return undefined;
    let source = to - ((control & 0x1f) << 8) - (compressed[from++] as number) - 1;
    if (source < 0 || to + count > length) return undefined;
    // Byte by byte: the two ranges may overlap, and then the bytes just written are repeated.
    for (; count > 0; count -= 1) bytes[to++] = bytes[source++] as number;
  }
  return to === length ? bytes : undefined;
}
