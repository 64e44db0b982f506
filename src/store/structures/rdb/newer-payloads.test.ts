/** Dumps of servers after Redis 7.0: replies of real servers, and bytes written out by hand where there was none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dumpOf, type Part } from "../../../../test/harness/rdb-layout.ts";
import { badDataFormat, CommandError, dumpChecksumWrong } from "../../errors.ts";
import { valueFrom } from "../../values/dumped-values.ts";
import { readLibraries } from "./function-payload.ts";
import { type Dumped, readPayload } from "./payload.ts";

const FAR_MS = 4_102_444_800_000;

const small: Dumped = { kind: "set", members: ["a", "5"] };
const plainHash: Dumped = { kind: "hash", fields: ["f", "n"], values: ["v", "300"] };

/** Entries 1-1 (deleted), 1-5 and 2-0, and a group with two consumers. */
function streamSeenAt(aliceMs: number, bobMs: number): Dumped {
  return {
    kind: "stream",
    entries: [
      { ms: 1, seq: 5, names: ["a", "b"], values: ["2", "zz"] },
      { ms: 2, seq: 0, names: ["c"], values: ["3"] },
    ],
    lastId: { ms: 2, seq: 0 },
    maxDeletedId: { ms: 1, seq: 1 },
    addedCount: 3,
    groups: [
      {
        name: "g",
        lastId: { ms: 1, seq: 5 },
        readCount: 2,
        consumers: [
          {
            name: "alice",
            seenMs: aliceMs,
            activeMs: aliceMs,
            pending: [{ ms: 1, seq: 5, deliveredAtMs: aliceMs, deliveryCount: 1 }],
          },
          { name: "bob", seenMs: bobMs, activeMs: undefined, pending: [] },
        ],
      },
    ],
  };
}

/** Replies to DUMP. */
const FROM_SERVERS: readonly (readonly [what: string, hex: string, value: Dumped])[] = [
  ["Redis 8.0.6: a set as a listpack", "140c0c00000002008161020501ff0c003a9df2ee7e38dc5c", small],
  ["Redis 8.0.6: a hash", "1013130000000400816602817602816e02c12c02ff0c007fca1baca1762f70", plainHash],
  [
    "Redis 8.0.6: a hash with expiries as a listpack, in their order",
    "1900d8c32cbb0300002c2c00000009008162020201f400d8c32cbb030000098163020301f488ebc32cbb0300000981610201010001ff0c0007e21ea1af16075d",
    { kind: "hash", fields: ["b", "c", "a"], values: ["2", "3", "1"], expiriesMs: [FAR_MS, FAR_MS + 5_000, 0] },
  ],
  [
    "Redis 8.0.6: a hash with expiries as it is",
    "1800d8c32cbb0300000353890163057468726565010162c002000161c0010c006f6027416bd621a0",
    { kind: "hash", fields: ["c", "b", "a"], values: ["three", "2", "1"], expiriesMs: [FAR_MS + 5_000, FAR_MS, 0] },
  ],
  [
    "Redis 8.0.6: a stream",
    "150110000000000000000100000000000000014042420000001900020101010201816102816202000103010001000101018378797a0405010201000104010201827a7a03050100010101dfff02010181630203010601ff02020001050101030101670105020100000000000000010000000000000005ea55fa0fa2010000010205616c696365ea55fa0fa2010000ea55fa0fa2010000010000000000000001000000000000000503626f620056fa0fa2010000ffffffffffffffff000c002f7dfc57e4953481",
    streamSeenAt(1_795_564_393_962, 1_795_564_393_984),
  ],
  ["Valkey 9.1.2: a set as a listpack", "140c0c00000002008161020501ff50003ec10fbf1a4025e1", small],
  [
    "Valkey 9.1.2: a hash without expiries",
    "1013130000000400816602817602816e02c12c02ff50007b96e6fdc50ed6cd",
    plainHash,
  ],
  [
    "Valkey 9.1.2: a hash with expiries",
    "16030161c001ffffffffffffffff0162c00200d8c32cbb0300000163c00388ebc32cbb03000050003a33419a5e9487f9",
    { kind: "hash", fields: ["a", "b", "c"], values: ["1", "2", "3"], expiriesMs: [0, FAR_MS, FAR_MS + 5_000] },
  ],
  [
    "Valkey 9.1.2: a stream",
    "150110000000000000000100000000000000014042420000001900020101010201816102816202000103010001000101018378797a0405010201000104010201827a7a03050100010101dfff02010181630203010601ff02020001050101030101670105020100000000000000010000000000000005bd58fa0fa2010000010205616c696365bd58fa0fa2010000bd58fa0fa2010000010000000000000001000000000000000503626f62c558fa0fa2010000ffffffffffffffff005000f47bafa54adecf04",
    streamSeenAt(1_795_564_394_685, 1_795_564_394_693),
  ],
  ["Valkey 8.1.1: a set as a listpack", "140c0c00000002008161020501ff0b0098347b5d798dab9c", small],
  [
    "Valkey 8.1.1: a stream",
    "150110000000000000000100000000000000014042420000001900020101010201816102816202000103010001000101018378797a0405010201000104010201827a7a03050100010101dfff02010181630203010601ff02020001050101030101670105020100000000000000010000000000000005e05afa0fa2010000010205616c696365e05afa0fa2010000e05afa0fa2010000010000000000000001000000000000000503626f62ec5afa0fa2010000ffffffffffffffff000b007c3f45f293eec72a",
    streamSeenAt(1_795_564_395_232, 1_795_564_395_244),
  ],
];

test("reads dumps of redis-server 8.0.6 and of valkey-server 8.1.1 and 9.1.2", () => {
  for (const [what, hex, value] of FROM_SERVERS) assert.deepEqual(readPayload(Buffer.from(hex, "hex")), value, what);
});

test("reads the functions of redis-server 8.0.6 and valkey-server 9.1.2", () => {
  const rows = [
    [
      "f5404623216c7561206e616d653d6c69620a72656469732e72656769737465725f66756e6374696f6e282766272c2066756e6374696f6e28292072657475726e2027762720656e64290c00d4bdf29d076368a2",
      "#!lua name=lib\nredis.register_function('f', function() return 'v' end)",
    ],
    [
      "f5404723216c7561206e616d653d6c69620a7365727665722e72656769737465725f66756e6374696f6e282766272c2066756e6374696f6e28292072657475726e2027762720656e64295000ae5b3e02558b7440",
      "#!lua name=lib\nserver.register_function('f', function() return 'v' end)",
    ],
  ] as const;
  for (const [hex, code] of rows) assert.deepEqual(readLibraries(Buffer.from(hex, "hex")), [code]);
});

/** The listpack of f, v, 0, g, w, 2000. */
const LISTPACK = "18 18000000 0600 816602 817602 0001 816702 817702 c7d002 ff";

/** The parts of a stream with a group up to its end in type 21. */
const STREAM: readonly Part[] = [
  ["one listpack, whose first id is 1-1", "01 10 0000000000000001 0000000000000001"],
  ["its head: 29 bytes, 10 elements", "1d 1d000000 0a00"],
  ["1 entry, 0 deleted, 1 name: n, 0", "0101 0001 0101 816e02 0001"],
  ["same names, ms + 0, seq + 0, v, 4 elements", "0201 0001 0001 817602 0401 ff"],
  ["length 1, last id 5-0, first id 1-1", "01 05 00 01 01"],
  ["greatest deleted id 0-0, entries added 3", "00 00 03"],
  ["one group: g, last id 1-1, entries read 2", "01 0167 01 01 02"],
  ["one pending entry, 1-1, at 1 s, delivered 3 times", "01 0000000000000001 0000000000000001 e803000000000000 03"],
  ["one consumer: c, seen at 2 s, active at 3 s", "01 0163 d007000000000000 b80b000000000000"],
  ["its pending entry", "01 0000000000000001 0000000000000001"],
];

const stream: Dumped = {
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
};

const expiring: Dumped = { kind: "hash", fields: ["f", "g"], values: ["v", "w"], expiriesMs: [0, 2_000] };

/** Forms without a server at hand. */
const BY_HAND: readonly (readonly [what: string, version: number, parts: readonly Part[], value: Dumped])[] = [
  [
    "a hash of a release candidate of Redis 7.4",
    12,
    [
      ["type 22, two fields", "16 02"],
      ["never, f: v", "00 0166 0176"],
      ["at 2 s, g: w", "47d0 0167 0177"],
    ],
    expiring,
  ],
  [
    "a hash of a release candidate of Redis 7.4 as a listpack",
    12,
    [
      ["type 23", "17"],
      ["f, v, 0, g, w, 2000", LISTPACK],
    ],
    expiring,
  ],
  [
    "a hash in which no field expires any more",
    12,
    [
      ["type 24, the first time: none", "18 0000000000000100"],
      ["one field, never, f: v", "01 00 0166 0176"],
    ],
    { kind: "hash", fields: ["f"], values: ["v"] },
  ],
  [
    "a stream of Redis 8.6 with producers",
    13,
    [
      ["type 26", "1a"],
      ...STREAM,
      ["ids are kept for 100 s, at most 1,000 of them", "4064 43e8"],
      ["two producers: p with two ids, q with none", "02"],
      ["p: i for 1-1, j for 5-0", "0170 02 0169 01 01 016a 05 00"],
      ["q", "0171 00"],
      ["7 entries with ids, 300 repetitions", "07 412c"],
    ],
    stream,
  ],
  ["a stream of Redis 7.2", 11, [["type 21", "15"], ...STREAM], stream],
  [
    "metadata that may be dropped",
    13,
    [
      ["metadata of two classes", "f3 02"],
      ["class TES1, an integer, a string", "01b5444c 02 05 05 026162 00"],
      ["class TES1, a float, a double", "01b5444c 03 0000803f 04 000000000000f03f 00"],
      ["type 0: v", "00 0176"],
    ],
    { kind: "string", bytes: Buffer.from("v") },
  ],
  [
    "a hash of Valkey with a time before and a time after all of ours",
    80,
    [
      ["type 22, two fields", "16 02"],
      ["f: v, at 0 ms", "0166 0176 0000000000000000"],
      ["g: w, at 2^62 ms", "0167 0177 0000000000000040"],
    ],
    { kind: "hash", fields: ["f", "g"], values: ["v", "w"], expiriesMs: [1, 281_474_976_710_655] },
  ],
];

test("reads forms of newer versions that are written out by hand", () => {
  for (const [what, version, parts, value] of BY_HAND)
    assert.deepEqual(readPayload(dumpOf(version, parts)), value, what);
});

const KNOWN = "larder reads 1 to 13 (Redis up to 8.6) and 80 (Valkey 9.0 and 9.1)";

/** Refusals with a reason: a version, a module or a class of metadata. */
const REFUSED: readonly (readonly [what: string, payload: Buffer, text: string])[] = [
  ...[0, 14, 15, 79, 81, 65_535].map(
    (version) =>
      [
        `version ${version}`,
        dumpOf(version, [["type 0: 7", "00 c007"]]),
        `ERR DUMP payload version or checksum are wrong: version ${version} of the format is unknown, ${KNOWN}`,
      ] as const,
  ),
  [
    "a vector set of redis-server 8.0.6",
    Buffer.from(
      "0781bde72da2bb1eb4000202020102500102000502656c05027f000206020102800100000002000220020002813f8000003f800000000c00140cec769d3f6b3b",
      "hex",
    ),
    "ERR Bad data format: it is a value of the module vectorset, which larder does not have",
  ],
  [
    "metadata that must not be dropped",
    dumpOf(13, [
      ["metadata of one class", "f3 01"],
      ["class TES1, an integer", "00b5444c 02 05 00"],
      ["type 0: v", "00 0176"],
    ]),
    "ERR Bad data format: the key has metadata of the module class TES1, which larder does not have and must not drop",
  ],
];

test("refuses unknown versions, values of modules and their metadata by name", () => {
  for (const [what, payload, text] of REFUSED)
    assert.throws(
      () => readPayload(payload),
      (fault) => fault instanceof CommandError && fault.text === text,
      what,
    );
});

const F_AND_G = "0166 0176 0167 0177";

const DAMAGED: readonly (readonly [what: string, version: number, parts: readonly Part[]])[] = [
  ["type 24 in version 80", 80, [["a hash of Redis", "18 e803000000000000 02 00 0166 0176 43e9 0167 0177"]]],
  ["type 23 in version 80", 80, [["a hash of Redis", `17 ${LISTPACK}`]]],
  ["type 27 in version 13", 13, [["of Redis 8.8", "1b 00"]]],
  ["metadata in version 80", 80, [["metadata of one class", "f3 01 01b5444c 00 00 0176"]]],
  ["metadata twice", 13, [["metadata of one class", "f3 01 01b5444c 00 f3 01 01b5444c 00 00 0176"]]],
  ["metadata of no class", 13, [["", "f3 00 00 0176"]]],
  ["metadata of eight classes", 13, [["", `f3 08 ${"01b5444c 00".repeat(8)} 00 0176`]]],
  ["metadata with an unknown part", 13, [["part 6", "f3 01 01b5444c 06 00 00 0176"]]],
  ["no field", 80, [["type 22, count 0", "16 00"]]],
  [
    "a count of 2^40",
    80,
    [
      ["type 22, count", "16 81 0000010000000000"],
      ["f: v, never", "0166 0176 ffffffffffffffff"],
    ],
  ],
  ["a count of 2^40 in type 24", 12, [["", `18 e803000000000000 81 0000010000000000 00 ${F_AND_G}`]]],
  ["a count of 2^40 in type 22 of Redis", 12, [["", `16 81 0000010000000000 00 ${F_AND_G}`]]],
  ["a string of 2^40 bytes", 80, [["type 22, one field", "16 01 81 0000010000000000 66 0176 ffffffffffffffff"]]],
  ["2^40 producers", 13, [["type 26", "1a"], ...STREAM, ["producers", "4064 43e8 81 0000010000000000"]]],
  ["2^40 ids of a producer", 13, [["type 26", "1a"], ...STREAM, ["", "4064 43e8 01 0170 81 0000010000000000"]]],
  ["a producer twice", 13, [["type 26", "1a"], ...STREAM, ["", "4064 43e8 02 0170 00 0170 00 07 00"]]],
  ["an id twice", 13, [["type 26", "1a"], ...STREAM, ["", "4064 43e8 01 0170 02 0169 01 01 0169 01 01 07 00"]]],
  ["a stream of type 26 without producers", 13, [["type 26", "1a"], ...STREAM]],
  ["a first time that is too late", 12, [["2^48 + 1", "18 0100000000000100 01 00 0166 0176"]]],
  ["a time that is too late", 12, [["2^48 - 1, distance 2", "18 ffffffffffff0000 01 02 0166 0176"]]],
  ["a time before all of Valkey's", 80, [["-2", "16 01 0166 0176 feffffffffffffff"]]],
  ["a time that is no number", 12, [["type 23: f, v, x", "17 10 10000000 0300 816602 817602 817802 ff"]]],
  ["a negative time", 12, [["type 23: f, v, -1", "17 10 10000000 0300 816602 817602 dfff02 ff"]]],
  ["a field without a time", 12, [["type 23: f, v", "17 0d 0d000000 0200 816602 817602 ff"]]],
  ["a field twice in type 22 of Redis", 12, [["", "16 02 00 0166 0176 00 0166 0177"]]],
  [
    "a field twice in type 23",
    12,
    [["f, v, 0, f, w, 0", "17 17 17000000 0600 816602 817602 0001 816602 817702 0001 ff"]],
  ],
  ["a field twice in type 24", 12, [["", "18 e803000000000000 02 01 0166 0176 00 0166 0177"]]],
  [
    "a field twice in type 25",
    12,
    [["", "19 e803000000000000 17 17000000 0600 816602 817602 0001 816602 817702 0001 ff"]],
  ],
  ["a field twice in Valkey's type 22", 80, [["", "16 02 0166 0176 ffffffffffffffff 0166 0177 ffffffffffffffff"]]],
  ["a member twice", 11, [["type 20: a, a", "14 0d 0d000000 0200 816102 816102 ff"]]],
];

const hashSeed = new Uint8Array(8);

test("refuses damaged dumps of newer versions", () => {
  for (const [what, version, parts] of DAMAGED)
    assert.throws(
      () => valueFrom(readPayload(dumpOf(version, parts)), hashSeed),
      (fault) => fault === badDataFormat,
      what,
    );
});

/** Type and content of the dumps above, with their versions. */
const contents: readonly (readonly [what: string, content: Buffer, version: number])[] = [
  ...FROM_SERVERS.map(([what, hex]) => [what, Buffer.from(hex, "hex")] as const),
  ...BY_HAND.map(([what, version, parts]) => [what, dumpOf(version, parts)] as const),
].map(([what, payload]) => [what, payload.subarray(0, -10), payload.readUInt16LE(payload.length - 10)]);

test("refuses dumps that are cut at any byte", () => {
  for (const [what, content, version] of contents)
    for (let length = 0; length < content.length; length += 1) {
      const cut = dumpOf(version, [["", content.toString("hex", 0, length)]]);
      assert.throws(
        () => readPayload(cut),
        (fault) => fault === badDataFormat,
        `${what}: ${length} bytes`,
      );
    }
});

test("refuses a dump with any byte changed by its checksum", () => {
  for (const [what, content, version] of contents) {
    const payload = dumpOf(version, [["", content.toString("hex")]]);
    for (let at = 0; at < payload.length; at += 1) {
      const changed = Buffer.from(payload);
      changed[at] = (changed[at] as number) ^ 0x10;
      assert.throws(
        () => readPayload(changed),
        (fault) => fault === dumpChecksumWrong,
        `${what}: byte ${at}`,
      );
    }
  }
});
