/** Dumps of redis-server 7.0.15, of older and newer versions, and damaged ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { valkeyValuesInHex, valuesInHex } from "../../../../test/harness/rdb-file.ts";
import { seededRandom } from "../../../kernel/random.ts";
import { badDataFormat, CommandError, dumpChecksumWrong } from "../../errors.ts";
import { valueFrom } from "../../values/dumped-values.ts";
import { CRC64_BYTES, writeCrc64 } from "./crc64.ts";
import { type Dumped, readPayload, writePayload } from "./payload.ts";

const X64 = "x".repeat(64);
const Y65 = "y".repeat(65);

/** Replies of redis-server 7.0.15 to DUMP. */
const FROM_REDIS: readonly (readonly [what: string, hex: string, value: Dumped])[] = [
  ["an integer of 8 bits", "00c0070a0074cd48a283abce92", { kind: "string", bytes: "7" }],
  ["an integer of 16 bits", "00c1e8030a0089d1478ebac4b764", { kind: "string", bytes: "1000" }],
  ["an integer of 32 bits", "00c2c01dfeff0a00e1b6629eabbd54f2", { kind: "string", bytes: "-123456" }],
  [
    "a compressed string",
    "00c30b405a0361626361e04b020162630a00238036f9e2d0c780",
    { kind: "string", bytes: "abc".repeat(30) },
  ],
  [
    "a hash as a listpack",
    "10c330406d1d6d0000000a00816602817602816e02c12c02816d02f178ec03816702f4ff8000077f09817702e04078e036000142ff0a00c11c0663085063e4",
    { kind: "hash", fields: ["f", "n", "m", "g", "w"], values: ["v", "300", "-5000", "9223372036854775807", X64] },
  ],
  [
    "a hash as it is",
    "04010166c3094041017979e034000179790a0021ef8f5990cf4fd0",
    { kind: "hash", fields: ["f"], values: [Y65] },
  ],
  [
    "a list of listpacks",
    "120102181800000005008161020101f290eefe04f2ffff7f048001ff0a00725de5db4421a87e",
    { kind: "list", elements: ["a", "1", "-70000", "8388607", ""] },
  ],
  [
    "a set of integers",
    "0b0e0200000003000000fdff010002000a00d1b78ed9bc07c27f",
    { kind: "set", members: ["-3", "1", "2"] },
  ],
  [
    "a set of 32 bits",
    "0b10040000000200000001000000701101000a002735436efd6656c4",
    { kind: "set", members: ["1", "70000"] },
  ],
  [
    "a set of 64 bits",
    "0b180800000002000000010000000000000000f2052a010000000a0054f5a26ae707b5fc",
    { kind: "set", members: ["1", "5000000000"] },
  ],
  ["a set as it is", "020101610a006296e97e44d21a6d", { kind: "set", members: ["a"] }],
  [
    "a sorted set as a listpack",
    "1125250000000800816402842d696e6605816102010181620283322e350481630283696e6604ff0a00afec99371a11600f",
    {
      kind: "sorted set",
      members: ["d", "a", "b", "c"],
      scores: [Number.NEGATIVE_INFINITY, 1, 2.5, Number.POSITIVE_INFINITY],
    },
  ],
  [
    "a sorted set as it is",
    "0501c3094041017a7ae03400017a7a000000000000f83f0a0087a7453bb5e95ee8",
    { kind: "sorted set", members: ["z".repeat(65)], scores: [1.5] },
  ],
  [
    "a stream with a deleted entry, other names, and two groups",
    "13011000000000000000010000000000000001c34054409712970000001f00030101010201816102816202002009000020010701018378797a0405600e0004200502e04679e03c00014805205b0c0801dfff020101816302030106205c000b400f050301f2701101207200ff030c000101090004020167010181ffffffffffffffff02000000000000000100000000000000010208c3fda101000001000000000000000100000000000000050068e5cf8b010000020205616c6963650208c3fda1010000010000000000000001000000000000000103626f627108c3fda1010000010000000000000001000000000000000501690c0081ffffffffffffffff00000a0097da275a5dcee9ee",
    {
      kind: "stream",
      entries: [
        { ms: 1, seq: 1, names: ["a", "b"], values: ["1", "xyz"] },
        { ms: 1, seq: 5, names: ["a", "b"], values: ["2", "y".repeat(70)] },
        { ms: 12, seq: 0, names: ["a", "b"], values: ["3", "70000"] },
      ],
      lastId: { ms: 12, seq: 0 },
      maxDeletedId: { ms: 9, seq: 0 },
      addedCount: 4,
      groups: [
        {
          name: "g",
          lastId: { ms: 1, seq: 1 },
          readCount: undefined,
          consumers: [
            {
              name: "alice",
              seenMs: 1795258779650,
              pending: [{ ms: 1, seq: 1, deliveredAtMs: 1795258779650, deliveryCount: 1 }],
            },
            {
              name: "bob",
              seenMs: 1795258779761,
              pending: [{ ms: 1, seq: 5, deliveredAtMs: 1_700_000_000_000, deliveryCount: 2 }],
            },
          ],
        },
        { name: "i", lastId: { ms: 12, seq: 0 }, readCount: undefined, consumers: [] },
      ],
    },
  ],
];

/** A dump of this type and content, with a valid footer. */
function sealed(hex: string, version = 10): Buffer {
  const content = Buffer.from(hex, "hex");
  const payload = Buffer.concat([content, Buffer.alloc(2 + CRC64_BYTES)]);
  payload.writeUInt16LE(version, content.length);
  writeCrc64(payload, content.length + 2, { buffer: payload, offset: content.length + 2 });
  return payload;
}

/** The ziplist of Redis' own documentation, "2" and "5", and one with strings and every width of integers. */
const SMALL_ZIPLIST = "0f0000000c000000020000f302f6ff";
const WIDE_ZIPLIST =
  "2c000000290000000700000161" +
  "03c02c01" +
  "04f0ffff7f" +
  "05d000000080" +
  "06e0ffffffffffffff7f" +
  "0afe80" +
  "03f1" +
  "ff";
/** The listpack of f, v, 0, g, w, 2000. */
const EXPIRING_LISTPACK = "180000000600816602817602000181670281770" + "2c7d002ff";

/** Forms that 7.0.15 does not write. */
const FROM_OTHERS: readonly (readonly [what: string, payload: Buffer, value: Dumped])[] = [
  ["a list as it is", sealed("01020161c0ff"), { kind: "list", elements: ["a", "-1"] }],
  ["a list as a ziplist", sealed(`0a0f${SMALL_ZIPLIST}`, 6), { kind: "list", elements: ["2", "5"] }],
  [
    "a list of ziplists",
    sealed(`0e020f${SMALL_ZIPLIST}2c${WIDE_ZIPLIST}`, 9),
    {
      kind: "list",
      elements: ["2", "5", "a", "300", "8388607", "-2147483648", "9223372036854775807", "-128", "0"],
    },
  ],
  ["a list with an element of its own", sealed("1201010161"), { kind: "list", elements: ["a"] }],
  ["a hash as a ziplist", sealed(`0d0f${SMALL_ZIPLIST}`, 9), { kind: "hash", fields: ["2"], values: ["5"] }],
  ["a sorted set as a ziplist", sealed(`0c0f${SMALL_ZIPLIST}`, 9), { kind: "sorted set", members: ["2"], scores: [5] }],
  [
    "a sorted set with scores as texts",
    sealed("0303016103322e350162fe0163ff", 6),
    { kind: "sorted set", members: ["a", "b", "c"], scores: [2.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY] },
  ],
  ["a set as a listpack", sealed("140c0c0000000200816102050" + "1ff", 11), { kind: "set", members: ["a", "5"] }],
  [
    "a hash with expiries",
    sealed("18e80300000000000002000166017643e901670177", 12),
    { kind: "hash", fields: ["f", "g"], values: ["v", "w"], expiriesMs: [0, 2_000] },
  ],
  [
    "a hash with expiries as a listpack",
    sealed(`19d00700000000000018${EXPIRING_LISTPACK}`, 12),
    { kind: "hash", fields: ["f", "g"], values: ["v", "w"], expiriesMs: [0, 2_000] },
  ],
];

test("reads dumps of redis-server 7.0.15", () => {
  for (const [what, hex, value] of FROM_REDIS)
    assert.deepEqual(plain(readPayload(Buffer.from(hex, "hex"))), value, what);
});

test("reads dumps of older and newer servers", () => {
  for (const [what, payload, value] of FROM_OTHERS) assert.deepEqual(plain(readPayload(payload)), value, what);
});

test("reads back written dumps", () => {
  for (const [what, , value] of [...FROM_REDIS, ...FROM_OTHERS])
    assert.deepEqual(plain(readPayload(writePayload(value))), value, what);
});

test("writes short strings as redis-server does", () => {
  for (const text of ["7", "1000", "-123456"]) {
    const [, hex] = FROM_REDIS.find(([, , value]) => value.kind === "string" && value.bytes === text) ?? [];
    assert.equal(writePayload({ kind: "string", bytes: text }).toString("hex"), hex, text);
  }
});

test("writes a short number the same, held as text or as bytes", () => {
  for (const [text, hex] of [
    ["7", "00c007"],
    ["-123456", "00c2c01dfeff"],
    ["07", "00023037"],
    ["", "0000"],
    ["-2147483648", "00c200000080"],
    ["2147483648", "000a32313437343833363438"],
  ] as const) {
    const body = (bytes: string | Buffer) =>
      writePayload({ kind: "string", bytes }).toString("hex").slice(0, hex.length);
    assert.equal(body(text), hex, text);
    assert.equal(body(Buffer.from(text)), hex, text);
  }
});

/** Streams as Redis 5 and 7.2 write them. */
const OTHER_STREAMS: readonly (readonly [payload: Buffer, value: Dumped])[] = [
  [
    sealed(
      "0f0110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020401ff01050001016701010000",
    ),
    {
      kind: "stream",
      entries: [{ ms: 1, seq: 1, names: ["n"], values: ["v"] }],
      lastId: { ms: 5, seq: 0 },
      maxDeletedId: { ms: 0, seq: 0 },
      addedCount: 1,
      groups: [{ name: "g", lastId: { ms: 1, seq: 1 }, readCount: "estimate", consumers: [] }],
    },
  ],
  [
    sealed(
      "150110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020401ff01050001010000030101670101020100000000000000010000000000000001e80300000000000003010163d007000000000000b80b0000000000000100000000000000010000000000000001",
      11,
    ),
    {
      kind: "stream",
      entries: [{ ms: 1, seq: 1, names: ["n"], values: ["v"] }],
      lastId: { ms: 5, seq: 0 },
      maxDeletedId: { ms: 0, seq: 0 },
      addedCount: 3,
      groups: [
        {
          name: "g",
          lastId: { ms: 1, seq: 1 },
          readCount: 2,
          consumers: [
            {
              name: "c",
              seenMs: 2_000,
              activeMs: 3_000,
              pending: [{ ms: 1, seq: 1, deliveredAtMs: 1_000, deliveryCount: 3 }],
            },
          ],
        },
      ],
    },
  ],
];

test("reads streams of older and newer versions", () => {
  for (const [payload, value] of OTHER_STREAMS) assert.deepEqual(readPayload(payload), value);
});

const DAMAGED: readonly (readonly [what: string, payload: Buffer, error: CommandError])[] = [
  ["nothing", Buffer.alloc(0), dumpChecksumWrong],
  ["nine bytes", Buffer.alloc(9), dumpChecksumWrong],
  ["another checksum", Buffer.from("00c0070a0074cd48a283abce93", "hex"), dumpChecksumWrong],
  ["no type", sealed(""), badDataFormat],
  ["an unknown type", sealed("08"), badDataFormat],
  ["a string that is longer than the dump", sealed("008101000000000000ff"), badDataFormat],
  ["more elements than bytes", sealed("018080000000"), badDataFormat],
  ["a compressed string that cannot be", sealed("00c301800fffffff00"), badDataFormat],
  ["an empty list", sealed("0100"), badDataFormat],
  ["an empty listpack", sealed("100707000000000" + "0ff"), badDataFormat],
  ["a field without a value", sealed("10090900000001008161" + "02ff"), badDataFormat],
  ["a listpack with a wrong count", sealed("140c0c000000030081610205" + "01ff"), badDataFormat],
  ["a listpack with a wrong backward length", sealed("140c0c000000020081610305" + "01ff"), badDataFormat],
  ["an intset out of order", sealed("0b0c02000000020000000200" + "0100"), badDataFormat],
  [
    "a stream with a wrong count in its listpack",
    sealed(
      "0f0110000000000000000100000000000000011d1d0000000a00020100010101816e0200010201000100018176020401ff01050000",
    ),
    badDataFormat,
  ],
  [
    "a stream with a too long entry",
    sealed(
      "0f0110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020501ff01050000",
    ),
    badDataFormat,
  ],
  [
    "a stream with an id twice",
    sealed(
      "0f01100000000000000001000000000000000128280000000f00020100010101816e02000102010001000181760204010201000100018177020401ff02050000",
    ),
    badDataFormat,
  ],
  [
    "a stream with another length",
    sealed(
      "0f0110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020401ff02050000",
    ),
    badDataFormat,
  ],
  [
    "a pending entry without a consumer",
    sealed(
      "130110000000000000000100000000000000011d1d0000000a00010100010101816e0200010201000100018176020401ff01050001010000030101670101020100000000000000010000000000000001e8030000000000000300",
    ),
    badDataFormat,
  ],
  ["a score that is no number", sealed("0501016100000000" + "0000f87f"), badDataFormat],
];

test("refuses damaged dumps", () => {
  for (const [what, payload, error] of DAMAGED)
    assert.throws(
      () => readPayload(payload),
      (thrown) => thrown === error,
      what,
    );
});

/** Damaged dumps that must get a reply, never a crash. */
const FUZZED_COUNT = 50_000;

test("reads or refuses dumps with flipped bytes and a valid checksum", () => {
  const seed = Number(process.env["LARDER_FUZZ_SEED"] ?? 1);
  const random = seededRandom(seed);
  const payloads = [
    ...FROM_REDIS.map(([, hex]) => Buffer.from(hex, "hex")),
    ...FROM_OTHERS.map(([, payload]) => payload),
    ...OTHER_STREAMS.map(([payload]) => payload),
    ...valuesInHex.map(([, type, content]) => sealed(type + content, 13)),
    ...valkeyValuesInHex.map(([, type, content]) => sealed(type + content, 80)),
    // Metadata with each kind of part, and a string.
    sealed(`f30101b5444c0105020503000000000400000000000000000501610000` + "0176", 13),
  ];
  const hashSeed = new Uint8Array(8);
  let readCount = 0;
  for (let i = 0; i < FUZZED_COUNT; i += 1) {
    const original = payloads[random.below(payloads.length)] as Buffer;
    const content = Buffer.from(original.subarray(0, original.length - 2 - CRC64_BYTES));
    for (let flips = 1 + random.below(3); flips > 0; flips -= 1)
      content[random.below(content.length)] = random.below(3) === 0 ? 0xff : random.below(256);
    const cut = random.below(10) === 0 ? random.below(content.length) : content.length;
    const hex = content.subarray(0, cut).toString("hex");
    const version = original.readUInt16LE(original.length - 2 - CRC64_BYTES);
    try {
      valueFrom(readPayload(sealed(hex, version)), hashSeed);
      readCount += 1;
    } catch (error) {
      // Perhaps with the name of a module that the damage has invented.
      const isExpected = error instanceof CommandError && error.text.startsWith(badDataFormat.text);
      assert.ok(isExpected, `LARDER_FUZZ_SEED=${seed}, version ${version}, dump ${i}, ${hex}: ${error}`);
    }
  }
  // Some damage gives another value; most does not.
  assert.ok(readCount > 0 && readCount < FUZZED_COUNT);
});

/** Buffers as Bytes. */
function plain(value: Dumped): Dumped {
  return value.kind === "string" && typeof value.bytes !== "string"
    ? { kind: "string", bytes: Buffer.from(value.bytes).latin1Slice() }
    : value;
}
