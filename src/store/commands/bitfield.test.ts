/** BITFIELD: literal replies as of Redis 7.0.15, and every type compared with a plain implementation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, nil, startSession } from "../../../test/harness/store-harness.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { Reply } from "../reply/reply.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const syntax = error("ERR syntax error");
const badOffset = error("ERR bit offset is not an integer or out of range");
const badType = error(
  "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
);
const onlyGets = error("ERR BITFIELD_RO only supports the GET subcommand");

test("BITFIELD reads, sets and adds, one step after the other", () => {
  startSession().expect([
    ["BITFIELD k SET u8 0 255 GET u8 0 INCRBY u4 4 1 GET u8 0", [0, 255, 0, 240]],
    ["GET k", "\xf0"],
    ["BITFIELD k GET i8 0 GET i4 0 GET u4 4", [-16, -1, 0]],
    ["BITFIELD k SET i64 1 -9223372036854775808", [-2305843009213693952n]],
    ["BITFIELD k GET i64 1 GET u63 1", [-9223372036854775808n, 4611686018427387904n]],
    ["STRLEN k", 9],
    ["BITFIELD k", []],
    ["BITFIELD none", []],
    ["BITFIELD none GET u8 100", [0]],
    ["EXISTS none", 0],
    ["BITFIELD k get u8 #1 set u8 #1 7", [0, 0]],
    ["GETRANGE k 1 1", "\x07"],
  ]);
});

test("OVERFLOW applies to the steps after it", () => {
  startSession().expect([
    ["BITFIELD k SET u8 0 250 INCRBY u8 0 10", [0, 4]],
    ["BITFIELD k OVERFLOW SAT INCRBY u8 0 300 OVERFLOW WRAP INCRBY u8 0 1", [255, 0]],
    ["BITFIELD k OVERFLOW FAIL INCRBY u8 0 -1 INCRBY u8 0 5", [nil, 5]],
    ["BITFIELD k OVERFLOW sat INCRBY u8 0 -100", [0]],
    ["BITFIELD k OVERFLOW SAT SET u8 0 1000 GET u8 0", [0, 255]],
    ["BITFIELD k OVERFLOW FAIL SET u8 0 1000 GET u8 0", [nil, 255]],
    ["BITFIELD k OVERFLOW SAT SET u8 0 -1 GET u8 0", [255, 255]],
    ["BITFIELD k SET i8 0 127 INCRBY i8 0 1", [-1, -128]],
    ["BITFIELD k OVERFLOW SAT INCRBY i8 0 -1 INCRBY i8 0 500", [-128, 127]],
    ["BITFIELD k OVERFLOW SAT SET i8 0 -9223372036854775808 GET i8 0", [127, 127]],
    [
      "BITFIELD k OVERFLOW SAT SET i64 0 9223372036854775807 INCRBY i64 0 1",
      [9151314442816847872n, 9223372036854775807n],
    ],
    ["BITFIELD k INCRBY i64 0 1", [-9223372036854775808n]],
    ["BITFIELD k OVERFLOW FAIL INCRBY i64 0 -1", [nil]],
    ["BITFIELD k OVERFLOW what GET u8 0", error("ERR Invalid OVERFLOW type specified")],
  ]);
});

test("BITFIELD grows the string to the farthest bit it may write, even if it writes nothing", () => {
  startSession().expect([
    ["BITFIELD k OVERFLOW FAIL SET u8 17 999", [nil]],
    ["GET k", "\x00\x00\x00\x00"],
    ["BITFIELD k SET u8 0 0", [0]],
    ["STRLEN k", 4],
  ]);
});

test("BITFIELD checks all steps before it runs the first", () => {
  startSession().expect([
    ["BITFIELD k SET u8 0 1 GET u64 0", badType],
    ["BITFIELD k SET u8 0 1 GET i65 0", badType],
    ["BITFIELD k GET u0 0", badType],
    ["BITFIELD k GET u08 0", badType],
    ["BITFIELD k GET u8x 0", badType],
    ["BITFIELD k GET i-8 0", badType],
    ["BITFIELD k GET u99999999999999999999 0", badType],
    ["BITFIELD k GET u 0", badType],
    ["BITFIELD k GET u\x008 0", badType],
    ["BITFIELD k GET u8\x00x 0 GET i64\x00 0", [0, 0]],
    ["BITFIELD k GET I8 0", badType],
    ["BITFIELD k GET 8 0", badType],
    ["BITFIELD k GET u8 -1", badOffset],
    ["BITFIELD k GET u8 #-1", badOffset],
    ["BITFIELD k GET u8 4294967296", badOffset],
    ["BITFIELD k GET u8 #536870912", badOffset],
    ["BITFIELD k GET u4 #4611686018427387905", [0]],
    ["BITFIELD k SET u8 0 1 SET u8 0", syntax],
    ["BITFIELD k GET u8", syntax],
    ["BITFIELD k OVERFLOW", syntax],
    ["BITFIELD k SET u8 0 x", error("ERR value is not an integer or out of range")],
    ["BITFIELD k DROP u8 0", syntax],
    ["EXISTS k", 0],
    ["HSET h f v", 1],
    ["BITFIELD h GET u8 0", wrongType],
    ["BITFIELD h SET u8 0 1", wrongType],
    ["BITFIELD h GET u64 0", badType],
    ["BITFIELD", error("ERR wrong number of arguments for 'bitfield' command")],
  ]);
});

test("BITFIELD_RO only reads", () => {
  startSession().expect([
    ["SET k AB", { kind: "simple", text: "OK" }],
    ["BITFIELD_RO k GET u8 0 GET u8 #1 GET i4 12", [65, 66, 2]],
    ["BITFIELD_RO k SET u8 0 1", onlyGets],
    ["BITFIELD_RO k INCRBY u8 0 1", onlyGets],
    ["BITFIELD_RO k OVERFLOW SAT GET u8 0", [65]],
    ["BITFIELD_RO none GET u8 0", [0]],
    ["BITFIELD_RO k GET u8", syntax],
    ["HSET h f v", 1],
    ["BITFIELD_RO h GET u8 0", wrongType],
    ["BITFIELD_RO h SET u8 0 1", onlyGets],
    ["BITFIELD_RO", error("ERR wrong number of arguments for 'bitfield_ro' command")],
  ]);
});

test("every type at every bit of a byte is read, written and journaled as its bits", () => {
  const random = seededRandom(1);
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  let bits = "0".repeat(80);
  for (const sign of ["i", "u"] as const) {
    for (let width = 1; width <= (sign === "i" ? 64 : 63); width += 1) {
      const offset = random.below(80 - width + 1);
      const drawn = (BigInt(random.below(2 ** 32)) << 32n) | BigInt(random.below(2 ** 32));
      const value = sign === "i" ? BigInt.asIntN(width, drawn) : BigInt.asUintN(width, drawn);
      const old = BigInt(`0b${bits.slice(offset, offset + width)}`);
      const note = `${sign}${width} at ${offset}`;

      const reply = session.call("BITFIELD", "k", "SET", `${sign}${width}`, `${offset}`, `${value}`);

      assert.deepEqual(asBigints(reply), [sign === "i" ? BigInt.asIntN(width, old) : old], note);
      bits =
        bits.slice(0, offset) +
        BigInt.asUintN(width, value).toString(2).padStart(width, "0") +
        bits.slice(offset + width);
      const read = session.call("BITFIELD_RO", "k", "GET", `${sign}${width}`, `${offset}`);
      assert.deepEqual(asBigints(read), [value], note);
    }
  }
  const bytes = Array.from({ length: 10 }, (_, i) => String.fromCharCode(Number(`0b${bits.slice(8 * i, 8 * i + 8)}`)));
  assert.equal(session.call("GET", "k"), bytes.join(""));
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
});

function asBigints(reply: Reply): bigint[] {
  assert.ok(Array.isArray(reply));
  return reply.map((value) => BigInt(value));
}
