/** The CRC-32 of Node, loaded at its first use: its module has all of compression, and most starts check short texts only. */

let native: typeof import("node:zlib").crc32 | undefined;

/** The CRC-32 of `bytes`, continued from `seed` (0 by default). An unsigned 32-bit number. */
export function crc32(bytes: Uint8Array | string, seed = 0): number {
  // Of the body of a message that has none, at every start.
  if (bytes.length === 0) return seed;
  native ??= process.getBuiltinModule("node:zlib").crc32;
  return native(bytes, seed);
}
