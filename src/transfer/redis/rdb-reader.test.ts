/** Handmade Redis files: every type of value, every record, and the errors of damaged files. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFile, rdbBytes, valuesInHex } from "../../../test/harness/rdb-file.ts";
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
  const bytes = rdbBytes(valuesInHex.map(([, type, content], index) => `${type}c0${hexByte(index)}${content}`));

  const records = await readAll(bytes);

  assert.equal(records.length, valuesInHex.length);
  for (const [index, [what, type, content]] of valuesInHex.entries()) {
    const record = records[index];
    assert.ok(record?.kind === "key", what);
    assert.equal(record.key, `${index}`, what);
    assert.equal(openPayload(record.payload).toString("hex"), `${type}${content}`, what);
    assert.doesNotThrow(() => readPayload(record.payload), what);
  }
});

function hexByte(value: number): string {
  return value.toString(16).padStart(2, "0");
}

test("a hash in the form of Redis 2.4 becomes one in the plain form", async () => {
  const [record] = await readAll(rdbBytes(["09016b10", "0201660300766131", "01670102323200ff"], "0005"));
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
  ["an invalid record type", rdbBytes(["16016101"]), "it is damaged at byte 9: there is no record type 22"],
  ["an invalid length", rdbBytes(["00c4"]), "it is damaged at byte 10: no string begins with byte 196"],
  ["a length of a byte", rdbBytes(["0182"]), "it is damaged at byte 10: no length begins with byte 130"],
  [
    "what follows the end",
    Buffer.concat([whole, Buffer.from("*1")]),
    "it is damaged at byte 23: 2 bytes follow its end, as in a file of Redis' command log",
  ],
  [
    "a version to come",
    rdbBytes([], "0013"),
    "it has version 13 of the format, but 12 is the newest supported version",
  ],
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
