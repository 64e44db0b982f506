/**
 * Bytes of the RDB format written out by hand. A part is a name and its bytes in
 * hex, so a test shows which byte is what; spaces in the hex are only for reading.
 */
import { CRC64_BYTES, Crc64 } from "../../src/store/structures/rdb/crc64.ts";

export type Part = readonly [what: string, hex: string];

/** The payload of DUMP: `| parts | version u16 | CRC-64 of all before it |`, lowest byte first. */
export function dumpOf(version: number, parts: readonly Part[]): Buffer {
  const footer = Buffer.alloc(2);
  footer.writeUInt16LE(version);
  return withChecksum(Buffer.concat([bytesOf(parts), footer]));
}

/** A file: `| head | parts | ff | CRC-64 of all before it |`. */
export function fileOf(head: string, parts: readonly Part[]): Buffer {
  return withChecksum(Buffer.concat([Buffer.from(head), bytesOf(parts), Buffer.of(0xff)]));
}

export function bytesOf(parts: readonly Part[]): Buffer {
  return Buffer.concat(parts.map(([, hex]) => Buffer.from(hex.replaceAll(" ", ""), "hex")));
}

function withChecksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(CRC64_BYTES);
  new Crc64().add(bytes).writeTo(sum, 0);
  return Buffer.concat([bytes, sum]);
}
