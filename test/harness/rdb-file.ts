/** Redis files (RDB) assembled by hand, and read from memory. */

import { CRC64_BYTES, Crc64 } from "../../src/store/structures/rdb/crc64.ts";
import type { RdbFile } from "../../src/transfer/redis/rdb-reader.ts";

/** The head of a file of Redis 8.6, whose format has all types of values below. */
const REDIS_HEAD = "REDIS0013";
/** The head of a file of Valkey 9. */
export const VALKEY_HEAD = "VALKEY080";

/** A file of these records, in hex: head, records, end, checksum. */
export function rdbBytes(records: readonly string[], head = REDIS_HEAD): Buffer {
  const content = Buffer.from(`${Buffer.from(head).toString("hex")}${records.join("")}ff`, "hex");
  const bytes = Buffer.concat([content, Buffer.alloc(CRC64_BYTES)]);
  new Crc64().add(content).writeTo(bytes, content.length);
  return bytes;
}

/** Returns at most `readBytesMax` bytes per read. */
export function memoryFile(bytes: Buffer, readBytesMax = Number.POSITIVE_INFINITY): RdbFile {
  return {
    async read(buffer, offset, length, position) {
      const end = Math.min(position + Math.min(length, readBytesMax), bytes.length);
      return { bytesRead: bytes.copy(buffer, offset, Math.min(position, end), end) };
    },
  };
}

type ValueInHex = readonly [what: string, type: string, content: string];

const commonValuesInHex: readonly ValueInHex[] = [
  ["a string", "00", "0161"],
  ["an integer of 8 bits", "00", "c007"],
  ["an integer of 16 bits", "00", "c1e803"],
  ["an integer of 32 bits", "00", "c2c01dfeff"],
  ["a compressed string", "00", "c30b405a0361626361e04b02016263"],
  ["a string with a length of 14 bits", "00", `4064${"61".repeat(100)}`],
  ["a string with a length of 32 bits", "00", `8000000003${"61".repeat(3)}`],
  ["a string with a length of 64 bits", "00", `810000000000000003${"61".repeat(3)}`],
  ["a list as it is", "01", "020161c0ff"],
  ["a set as it is", "02", "010161"],
  ["a sorted set with scores as texts", "03", "03016103322e350162fe0163ff"],
  ["a hash as it is", "04", "010166c3094041017979e03400017979"],
  ["a sorted set as it is", "05", "01c3094041017a7ae03400017a7a000000000000f83f"],
  ["a list as a ziplist", "0a", "0f0f0000000c000000020000f302f6ff"],
  ["a set of integers", "0b", "0e0200000003000000fdff01000200"],
  ["a sorted set as a ziplist", "0c", "0f0f0000000c000000020000f302f6ff"],
  ["a hash as a ziplist", "0d", "0f0f0000000c000000020000f302f6ff"],
  ["a list of ziplists", "0e", "010f0f0000000c000000020000f302f6ff"],
  [
    "a stream of Redis 5",
    "0f",
    "0110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020401ff01050001016701010000",
  ],
  ["a hash as a listpack", "10", "0d0d0000000200816102817602ff"],
  ["a sorted set as a listpack", "11", "0c0c0000000200816102010" + "1ff"],
  ["a list of listpacks with a node of its own", "12", "02010161020a0a0000000100816102ff"],
  [
    "a stream of Redis 7.0",
    "13",
    "0110000000000000000100000000000000011d1d0000000a00010100010101816e02000102010001000181760204" +
      "01ff01050001010000030101670101020100000000000000010000000000000001e80300000000000003010163d0070000000000000100000000000000010000000000000001",
  ],
  ["a set as a listpack", "14", "0c0c000000020081610205" + "01ff"],
  [
    "a stream of Redis 7.2",
    "15",
    "0110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020401ff01050001010000030101670101020100000000000000010000000000000001e80300000000000003010163d007000000000000b80b0000000000000100000000000000010000000000000001",
  ],
];

/** A value of each type that files of Redis have, as its byte and its content, in hex. */
export const valuesInHex: readonly ValueInHex[] = [
  ...commonValuesInHex,
  ["a hash with expiries of a release candidate", "16", "02000166017643e90167" + "0177"],
  [
    "a hash with expiries of a release candidate as a listpack",
    "17",
    "18" + "180000000600816602817602000181670281770" + "2c7d002ff",
  ],
  ["a hash with expiries", "18", "e80300000000000002000166017643e901670177"],
  [
    "a hash with expiries as a listpack",
    "19",
    "d007000000000000" + "18" + "180000000600816602817602000181670281770" + "2c7d002ff",
  ],
  [
    "a stream of Redis 8.6",
    "1a",
    "0110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020401ff01050001010000030101670101020100000000000000010000000000000001e80300000000000003010163d007000000000000b80b0000000000000100000000000000010000000000000001" +
      "4064406401017001016901010502",
  ],
];

/** The same for files of Valkey. */
export const valkeyValuesInHex: readonly ValueInHex[] = [
  ...commonValuesInHex,
  ["a hash with expiries of Valkey", "16", "0201660176ffffffffffffffff01670177e803000000000000"],
];
