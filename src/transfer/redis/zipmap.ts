/**
 * Converts the flat form in which Redis up to 2.4 stored small hashes (`zipmap.c`)
 * into the plain form of hashes in dumps.
 *
 *     zipmap   | count u8 | length, name, length, unused u8, value, unused bytes | … | ff |
 *     length   | u8 below 254 |  or  | fe | u32, lowest byte first |
 */
import { badDataFormat, type PayloadWriter } from "../../store/structures/rdb/mod.ts";

export const ZIPMAP = 9;
const HASH = 4;
const LONG = 254;
const END = 255;

/** Writes the type and the content of a hash. Throws `badDataFormat`. */
export function hashOfZipmap(blob: Buffer, writer: PayloadWriter): void {
  const strings: Buffer[] = [];
  let at = 1;
  const take = (byteCount: number): number => {
    const start = at;
    at += byteCount;
    // At least the end byte follows.
    if (at >= blob.length) throw badDataFormat;
    return start;
  };
  const string = (unusedBytes: number, length: number): void => {
    const start = take(length);
    strings.push(blob.subarray(start, start + length));
    take(unusedBytes);
  };
  const length = (): number => {
    const first = blob[take(1)] as number;
    if (first < LONG) return first;
    if (first === END) throw badDataFormat;
    return blob.readUInt32LE(take(4));
  };
  while (blob[at] !== END) {
    string(0, length());
    const valueLength = length();
    string(blob[take(1)] as number, valueLength);
  }
  if (at !== blob.length - 1 || strings.length === 0) throw badDataFormat;
  writer.byte(HASH).length(strings.length / 2);
  for (const each of strings) writer.string(each);
}
