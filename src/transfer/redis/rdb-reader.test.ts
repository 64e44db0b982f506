/** Handmade Redis files: every type of value, every record, and the errors of damaged files. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { memoryFile, rdbBytes, VALKEY_HEAD, valkeyValuesInHex, valuesInHex } from "../../../test/harness/rdb-file.ts";
import { fileOf } from "../../../test/harness/rdb-layout.ts";
import { readPayload } from "../../store/structures/rdb/payload.ts";
import { openPayload } from "../../store/structures/rdb/payload-footer.ts";
import { RdbDamage, type RdbPosition, RdbReader, type RdbRecord, RdbUnsupported } from "./rdb-reader.ts";

async function readAll(bytes: Buffer, from?: RdbPosition): Promise<RdbRecord[]> {
  const reader = new RdbReader(memoryFile(bytes), bytes.length);
  await reader.open(from);
  const records: RdbRecord[] = [];
  for (let record = await reader.next(); record !== undefined; record = await reader.next()) records.push(record);
  return records;
}

test("copies a value of each type unchanged from the file, and RESTORE's reader accepts it", async () => {
  for (const [head, version, values] of [
    ["REDIS0013", 13, valuesInHex],
    [VALKEY_HEAD, 80, valkeyValuesInHex],
  ] as const) {
    const records = await readAll(
      rdbBytes(
        values.map(([, type, content], index) => `${type}c0${hexByte(index)}${content}`),
        head,
      ),
    );

    assert.equal(records.length, values.length);
    for (const [index, [what, type, content]] of values.entries()) {
      const record = records[index];
      assert.ok(record?.kind === "key", what);
      assert.equal(record.key, `${index}`, what);
      const payload = openPayload(record.payload);
      assert.equal(payload.content.toString("hex"), `${type}${content}`, what);
      assert.equal(payload.version, version, what);
      assert.doesNotThrow(() => readPayload(record.payload), what);
    }
  }
});

function hexByte(value: number): string {
  return value.toString(16).padStart(2, "0");
}

test("a hash in the form of Redis 2.4 becomes one in the plain form", async () => {
  const [record] = await readAll(rdbBytes(["09016b10", "0201660300766131", "01670102323200ff"], "REDIS0005"));
  assert.ok(record?.kind === "key");
  assert.deepEqual(readPayload(record.payload), {
    kind: "hash",
    fields: [Buffer.from("f"), Buffer.from("g")].map((each) => each.latin1Slice()),
    values: ["va1", "2"],
  });
});

test("reads or skips records other than keys, and they belong to the following key", async () => {
  const records = await readAll(
    rdbBytes([
      "fa0972656469732d76657205372e302e30",
      "f5056c69623a31",
      "f78100000000000000010200050161" + "00",
      "fe00fb0302",
      "fc0100000000000000" + "00" + "0161" + "0178",
      "fd0200000000016201" + "79",
      "f840ff00016301" + "7a",
      "f9ff00016401" + "7a",
      "fe03",
      "f4010203",
      "00016501" + "7a",
    ]),
  );

  const seen = records.map((record) => (record.kind === "key" ? [record.key, record.database, record.atMs] : record));
  assert.deepEqual(seen, [
    { kind: "library", code: "lib:1" },
    ["a", 0, 1],
    ["b", 0, 2_000],
    ["c", 0, undefined],
    ["d", 0, undefined],
    ["e", 3, undefined],
  ]);
});

test("reads the metadata of a key, and names its classes", async () => {
  const file = fileOf("REDIS0013", [
    ["expires at 1 ms", "fc 0100000000000000"],
    ["metadata of two classes", "f3 02"],
    // T is 19, E 4, S 18, 1 53: 010011 000100 010010 110101, then version 0.
    ["class TES1, may be dropped", "01b5444c"],
    ["an integer 7, a double, a string", "01 07  04 000000000000f03f  05 0161  00"],
    ["class TES1, must not be dropped", "00b5444c"],
    ["a negative number, a float", "02 81ffffffffffffffff  03 0000803f  00"],
    ["key k, value v", "00 016b 0176"],
    ["key l, value v", "00 016c 0176"],
  ]);

  const records = await readAll(file);

  assert.deepEqual(
    records.map((record) =>
      record.kind === "key" ? [record.key, record.atMs, record.metadata, record.payload.length] : record,
    ),
    [
      [
        "k",
        1,
        [
          { name: "TES1", isIgnorable: true },
          { name: "TES1", isIgnorable: false },
        ],
        13,
      ],
      ["l", undefined, [], 13],
    ],
  );
});

test("reads an import of slots in a file of Valkey", async () => {
  const file = fileOf("VALKEY080", [
    ["an import of slots", "f3"],
    ["its name", `28 ${"61".repeat(40)}`],
    ["two ranges: 0-100, 16000-16383", "02 00 4064 7e80 7fff"],
    ["key k, value v", "00 016b 0176"],
  ]);
  assert.deepEqual(
    (await readAll(file)).map((record) => (record.kind === "key" ? record.key : record)),
    [{ kind: "slot import", ranges: "0-100 16000-16383" }, "k"],
  );
});

test("reads files that redis-server 8.0.6 and valkey-server 9.1.2 saved", async () => {
  for (const [name, keys] of [
    ["redis-8.0.6", ["sorted", "stream", "packed", "set", "str", "plain", "list", "table"]],
    ["valkey-9.1.2", ["str", "plain", "stream", "list", "set", "sorted", "packed", "table"]],
  ] as const) {
    const [library, ...records] = await readAll(readFileSync(`test/fixtures/rdb/${name}.rdb`));
    assert.deepEqual(library, {
      kind: "library",
      code: "#!lua name=lib\nredis.register_function('f', function() return 'v' end)",
    });
    assert.deepEqual(
      records.map((record) => (record.kind === "key" ? record.key : record)),
      keys,
      name,
    );
    for (const record of records) assert.ok(record.kind === "key" && readPayload(record.payload), name);
  }
});

test("a file that is cut at any byte is damaged there", async () => {
  for (const [head, values] of [
    ["REDIS0013", valuesInHex],
    [VALKEY_HEAD, valkeyValuesInHex],
  ] as const) {
    // The newest types, with every record that may come before them.
    const prefix = head === VALKEY_HEAD ? "f3016101004064" : "f30101b5444c040000000000000000050161" + "00";
    const whole = rdbBytes(
      values.slice(-4).map(([, type, content]) => `${prefix}fc0100000000000000${type}016b${content}`),
      head,
    );
    for (let length = 0; length < whole.length; length += 1)
      await assert.rejects(readAll(whole.subarray(0, length)), (fault) => {
        assert.ok(fault instanceof RdbDamage, `${head}, ${length} bytes`);
        assert.equal(fault.offset, length, `${head}, ${length} bytes`);
        return true;
      });
  }
});

test("skips a module's value and names it", async () => {
  // ReJSON-RL, version 3, with one string.
  const records = await readAll(rdbBytes([`07016b81${moduleId("ReJSON-RL", 3)}05027b7d00`, "0001610162"]));
  assert.deepEqual(
    records.map((record) => (record.kind === "module value" ? record : record.kind)),
    [{ kind: "module value", database: 0, key: "k", module: "ReJSON-RL" }, "key"],
  );
});

function moduleId(name: string, version: number): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  let id = 0n;
  for (const letter of name) id = (id << 6n) | BigInt(letters.indexOf(letter));
  return ((id << 10n) | BigInt(version)).toString(16).padStart(16, "0");
}

test("continues reading from a position", async () => {
  const bytes = rdbBytes(["fe02", "0001610161", "0001620162", "0001630163"]);
  const reader = new RdbReader(memoryFile(bytes, 7), bytes.length);
  await reader.open();
  await reader.next();
  await reader.next();

  const rest = await readAll(bytes, reader.position);

  assert.deepEqual(
    rest.map((record) => (record.kind === "key" ? [record.key, record.database] : record)),
    [["c", 2]],
  );
});

test("reads a record that is longer than the window", async () => {
  const text = "x".repeat(1_000_000);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const bytes = rdbBytes([`00016180${length.toString("hex")}${Buffer.from(text).toString("hex")}`, "0001620162"]);

  const records = await readAll(bytes);

  assert.deepEqual(
    records.map((record) => (record.kind === "key" ? record.payload.length : 0)),
    [1 + 5 + 1_000_000 + 10, 1 + 2 + 10],
  );
});

const whole = rdbBytes(["0001610161"]);
const refusals: readonly (readonly [what: string, bytes: Buffer, text: string])[] = [
  [
    "no file of Redis",
    Buffer.from("PK\u0003\u0004 some archive"),
    "it is damaged at byte 0: it is not a Redis file (RDB)",
  ],
  ["an empty file", Buffer.alloc(0), "it is damaged at byte 0: it ends within the record that begins at byte 0"],
  ["a cut file", whole.subarray(0, 12), "it is damaged at byte 12: it ends within the record that begins at byte 9"],
  [
    "a cut checksum",
    whole.subarray(0, -1),
    "it is damaged at byte 22: it ends within the record that begins at byte 15",
  ],
  [
    "a changed byte",
    Buffer.concat([whole.subarray(0, 13), Buffer.from("b"), whole.subarray(14)]),
    "it is damaged at byte 15: the checksum does not match its bytes",
  ],
  ["an invalid record type", rdbBytes(["1b016101"]), "it is damaged at byte 9: there is no record type 27"],
  [
    "a type of Redis in a file of Valkey",
    rdbBytes(["18016101"], VALKEY_HEAD),
    "it is damaged at byte 9: there is no record type 24",
  ],
  ["metadata of no class", rdbBytes(["f300000161"]), "it is damaged at byte 10: no key has metadata of 0 classes"],
  ["metadata of eight classes", rdbBytes(["f308"]), "it is damaged at byte 10: no key has metadata of 8 classes"],
  [
    "too many slots",
    rdbBytes(["f301618000004001"], VALKEY_HEAD),
    "it is damaged at byte 12: a cluster has no 16385 ranges of slots",
  ],
  [
    "a count of 2^40",
    rdbBytes(["16016b810000010000000000"], VALKEY_HEAD),
    "it is damaged at byte 21: no string begins with byte 255",
  ],
  [
    "a module's value of a release candidate",
    rdbBytes(["06016b8000000001"]),
    'the key "k" holds a module\'s value in the form of a release candidate of Redis 4.0',
  ],
  [
    "a function of a release candidate",
    rdbBytes(["f6016b"]),
    "it has a function in the form of a release candidate of Redis 7.0",
  ],
  ["an invalid length", rdbBytes(["00c4"]), "it is damaged at byte 10: no string begins with byte 196"],
  ["a length of a byte", rdbBytes(["0182"]), "it is damaged at byte 10: no length begins with byte 130"],
  [
    "what follows the end",
    Buffer.concat([whole, Buffer.from("*1")]),
    "it is damaged at byte 23: 2 bytes follow its end, as in a file of Redis' command log",
  ],
  ...(
    [
      ["REDIS0000", "it has version 0 of the RDB format of Redis"],
      ["REDIS0014", "it has version 14 of the RDB format of Redis"],
      ["REDIS0080", "it has version 80 of the RDB format of Redis"],
      ["VALKEY011", "it has version 11 of the RDB format of Valkey"],
      ["VALKEY081", "it has version 81 of the RDB format of Valkey"],
    ] as const
  ).map(
    ([head, text]) =>
      [
        head,
        rdbBytes([], head),
        `${text}, but larder reads 1 to 13 (Redis up to 8.6) and 80 (Valkey 9.0 and 9.1)`,
      ] as const,
  ),
];

test("reports an error in a file with its position", async () => {
  for (const [what, bytes, text] of refusals) {
    await assert.rejects(readAll(bytes), (fault) => {
      assert.ok(fault instanceof RdbDamage || fault instanceof RdbUnsupported, what);
      assert.equal(fault.message, text, what);
      return true;
    });
  }
});

test("reads a file without a checksum, and reports that it has none", async () => {
  const bytes = rdbBytes(["0001610161"]);
  bytes.fill(0, bytes.length - 8);
  const reader = new RdbReader(memoryFile(bytes), bytes.length);
  await reader.open();
  while ((await reader.next()) !== undefined);
  assert.equal(reader.hasChecksum, false);
});
