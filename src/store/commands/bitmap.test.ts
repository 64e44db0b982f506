/** The bitmap commands: input and literal reply. Redis 7.2 gives the same replies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import { error, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import type { Reply } from "../reply/reply.ts";
import { findCommand } from "./table.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const syntax = error("ERR syntax error");
const badOffset = error("ERR bit offset is not an integer or out of range");
const badBit = error("ERR bit is not an integer or out of range");
const ok: Reply = { kind: "simple", text: "OK" };

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

/** `foobar` at the key `s`, three bytes of ones and one of zeros at `b`, a hash at `h`. */
function sessionWithBits(options?: { journal: RecordingJournal }): Session {
  const session = startSession(options);
  session.run("SET s foobar");
  session.run('SET b "\\xff\\xff\\xff\\x00"');
  session.run("HSET h f v");
  return session;
}

test("SETBIT returns the old bit, and grows the string as needed", () => {
  sessionWithBits().expect([
    ["SETBIT n 7 1", 0],
    ["GET n", "\x01"],
    ["SETBIT n 7 1", 1],
    ["SETBIT n 0 1", 0],
    ["GET n", "\x81"],
    ["SETBIT n 7 0", 1],
    ["SETBIT n 23 0", 0],
    ["GET n", "\x80\x00\x00"],
    ["SETBIT zero 0 0", 0],
    ["GET zero", "\x00"],
    ["SETBIT s 4294967296 1", badOffset],
    ["SETBIT s -1 1", badOffset],
    ["SETBIT s #1 1", badOffset],
    ["SETBIT s x 2", badOffset],
    ["SETBIT s 1 2", badBit],
    ["SETBIT s 1 -1", badBit],
    ["SETBIT s 1 x", badBit],
    ["SETBIT h 1 2", badBit],
    ["SETBIT h 1 1", wrongType],
    ["SETBIT s 1", arity("setbit")],
  ]);
});

test("SETBIT preserves the expiry of the key", () => {
  sessionWithBits().expect([
    ["EXPIRE s 100", 1],
    ["SETBIT s 100 1", 0],
    ["TTL s", 100],
  ]);
});

test("SETBIT records the byte that it changes, and nothing if nothing changes", () => {
  const journal = new RecordingJournal();
  const session = sessionWithBits({ journal });
  const before = journal.frames.length;
  session.expect([
    ["SETBIT s 7 0", 0],
    ["SETBIT s 0 1", 0],
    ["SETBIT n 16 1", 0],
  ]);
  assert.deepEqual(
    journal.frames.slice(before).map((frame) => frame.toString("latin1")),
    ["\x01\x18\x01s\x00\x01\xe6", "\x01\x18\x01n\x02\x01\x80"],
  );
});

test("GETBIT returns 0 after the end", () => {
  sessionWithBits().expect([
    ["GETBIT s 1", 1],
    ["GETBIT s 0", 0],
    ["GETBIT s 47", 0],
    ["GETBIT s 1000", 0],
    ["GETBIT s 4294967295", 0],
    ["GETBIT s 4294967296", badOffset],
    ["GETBIT none 0", 0],
    ["GETBIT h x", badOffset],
    ["GETBIT h 0", wrongType],
    ["GETBIT s", arity("getbit")],
  ]);
});

test("BITCOUNT counts the bits of a string, or of a range of bytes or bits", () => {
  sessionWithBits().expect([
    ["BITCOUNT s", 26],
    ["BITCOUNT s 0 0", 4],
    ["BITCOUNT s 1 1", 6],
    ["BITCOUNT s 1 1 BYTE", 6],
    ["BITCOUNT s 5 30 BIT", 17],
    ["BITCOUNT s 5 30 bit", 17],
    ["BITCOUNT s -2 -1", 7],
    ["BITCOUNT s -1 -2", 0],
    ["BITCOUNT s 3 1", 0],
    ["BITCOUNT s 0 9223372036854775807", 26],
    ["BITCOUNT s -9223372036854775808 -1", 26],
    ["BITCOUNT s -9223372036854775807 -9223372036854775808", 0],
    ["BITCOUNT s -1 -2 what", syntax],
    ["BITCOUNT s 1 2 what", syntax],
    ["BITCOUNT s 1", syntax],
    ["BITCOUNT s 1 2 BYTE x", syntax],
    ["BITCOUNT s x 2", notInteger],
    ["BITCOUNT none", 0],
    ["BITCOUNT none x", syntax],
    ["BITCOUNT none 0", syntax],
    ["BITCOUNT none x 1", notInteger],
    ["BITCOUNT none 0 1 what", syntax],
    ["BITCOUNT none 0 1 BIT", 0],
    ["BITCOUNT h", wrongType],
    ["BITCOUNT h 0 x", notInteger],
    ['SET e ""', ok],
    ["BITCOUNT e", 0],
    ["BITCOUNT e 0 -1 BIT", 0],
    ["BITCOUNT", arity("bitcount")],
  ]);
});

test("BITPOS finds the first bit, and treats the bits after an open range as zeros", () => {
  sessionWithBits().expect([
    ["BITPOS b 1", 0],
    ["BITPOS b 0", 24],
    ["BITPOS b 0 3", 24],
    ["BITPOS b 1 3", -1],
    ["BITPOS b 0 0 2", -1],
    ["BITPOS b 0 0 23 BIT", -1],
    ["BITPOS b 0 0 24 BIT", 24],
    ["BITPOS b 1 7 15 BIT", 7],
    ["BITPOS b 1 7 15 bit", 7],
    ["BITPOS b 1 -4 -1 BYTE", 0],
    ["BITPOS b 1 2 1", -1],
    ['SET ones "\\xff\\xff"', ok],
    ["BITPOS ones 0", 16],
    ["BITPOS ones 0 1", 16],
    ["BITPOS ones 0 5", -1],
    ["BITPOS ones 0 0 -1", -1],
    ['SET empty ""', ok],
    ["BITPOS empty 0", -1],
    ["BITPOS empty 1", -1],
    ["BITPOS none 0", 0],
    ["BITPOS none 1", -1],
    ["BITPOS none 1 x", notInteger],
    ["BITPOS none 0 0 x", notInteger],
    ["BITPOS none 0 0 1 what", syntax],
    ["BITPOS none 0 0 1 BIT x", syntax],
    ["BITPOS none 0 0 1 BIT", 0],
    ["BITPOS none 1 0 1 BYTE", -1],
    ["BITPOS none 2", error("ERR The bit argument must be 1 or 0.")],
    ["BITPOS none x", notInteger],
    ["BITPOS b 1 x", notInteger],
    ["BITPOS b 1 0 x", notInteger],
    ["BITPOS b 1 0 x what", syntax],
    ["BITPOS b 1 0 1 BIT x", syntax],
    ["BITPOS h 1", wrongType],
    ["BITPOS h 1 x", notInteger],
    ["BITPOS b", arity("bitpos")],
  ]);
});

test("BITOP combines strings and pads the shorter ones with zeros", () => {
  sessionWithBits().expect([
    ["SET a abcdef", ok],
    ["BITOP AND d s a", 6],
    ["GET d", "`bc`ab"],
    ["BITOP or d s a", 6],
    ["GET d", "goofev"],
    ["BITOP XOR d s a", 6],
    ["GET d", "\x07\x0d\x0c\x06\x04\x14"],
    ["BITOP NOT d b", 4],
    ["GET d", "\x00\x00\x00\xff"],
    ["BITOP AND d s b", 6],
    ["GET d", "foo\x00\x00\x00"],
    ["BITOP OR d b none", 4],
    ["BITOP AND d b none", 4],
    ["GET d", "\x00\x00\x00\x00"],
    ["EXPIRE d 100", 1],
    ["BITOP XOR d s s", 6],
    ["GET d", "\x00\x00\x00\x00\x00\x00"],
    ["TTL d", -1],
    ["BITOP AND h s", 6],
    ["GET h", "foobar"],
    ["BITOP OR d none nothing", 0],
    ["EXISTS d", 0],
    ["BITOP NOT d s b", error("ERR BITOP NOT must be called with a single source key.")],
    ["BITOP NAND d s", syntax],
    ["HSET i f v", 1],
    ["BITOP OR d s i", wrongType],
    ["BITOP OR d none i", wrongType],
    ["BITOP AND d", arity("bitop")],
  ]);
});

test("BITOP DIFF, DIFF1, ANDOR and ONE, as of Redis 8.2", () => {
  const twoKeys = (name: string): Reply => error(`ERR BITOP ${name} must be called with at least two source keys.`);
  sessionWithBits().expect([
    ['SET x "\\xf0"', ok],
    ['SET y "\\xcc"', ok],
    ['SET z "\\xaa\\xff"', ok],
    ["BITOP DIFF d x y z", 2],
    ["GET d", "\x10\x00"],
    ["BITOP diff1 d x y z", 2],
    ["GET d", "\x0e\xff"],
    ["BITOP ANDOR d x y z", 2],
    ["GET d", "\xe0\x00"],
    ["BITOP ONE d x y z", 2],
    ["GET d", "\x16\xff"],
    ["BITOP ONE d x", 1],
    ["GET d", "\xf0"],
    ["BITOP ONE d x x z", 2],
    ["GET d", "\x0a\xff"],
    ["BITOP ANDOR d none z", 2],
    ["GET d", "\x00\x00"],
    ["BITOP DIFF d none nothing", 0],
    ["BITOP DIFF d x", twoKeys("DIFF")],
    ["BITOP diff1 d x", twoKeys("DIFF1")],
    ["BITOP ANDOR d x", twoKeys("ANDOR")],
    ["BITOP ONE d h", wrongType],
  ]);
});

/** Each operation on the bits of the sources at one offset. */
const plainOperations: ReadonlyMap<string, (bits: readonly number[]) => boolean> = new Map([
  ["AND", (bits: readonly number[]) => bits.every((bit) => bit === 1)],
  ["OR", (bits: readonly number[]) => bits.includes(1)],
  ["XOR", (bits: readonly number[]) => bits.filter((bit) => bit === 1).length % 2 === 1],
  ["DIFF", ([first, ...others]: readonly number[]) => first === 1 && !others.includes(1)],
  ["DIFF1", ([first, ...others]: readonly number[]) => first === 0 && others.includes(1)],
  ["ANDOR", ([first, ...others]: readonly number[]) => first === 1 && others.includes(1)],
  ["ONE", (bits: readonly number[]) => bits.filter((bit) => bit === 1).length === 1],
]);

function drawBytes(random: Random): string {
  const length = random.below(4) === 0 ? 4_090 + random.below(20) : random.below(20);
  return Array.from({ length }, () => String.fromCharCode(random.below(256))).join("");
}

test("BITOP applies its operation to every bit, and journal and snapshot have the result", () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const random = seededRandom(seed);
    const journal = new RecordingJournal();
    const session = startSession({ journal });
    const values = new Map([...["a", "b", "c", "d"]].map((key) => [key, drawBytes(random)]));
    for (const [key, value] of values) if (value !== "") session.call("SET", key, value);
    for (const [name, isSet] of plainOperations) {
      const keys = Array.from({ length: 2 + random.below(4) }, () => "abcde"[random.below(5)] as string);
      const sources = keys.map((key) => values.get(key) ?? "");
      const length = Math.max(...sources.map((source) => source.length));
      let expected = "";
      for (let i = 0; i < length; i += 1) {
        const bytes = sources.map((source) => (i < source.length ? source.charCodeAt(i) : 0));
        let byte = 0;
        for (let bit = 7; bit >= 0; bit -= 1) byte = byte * 2 + Number(isSet(bytes.map((one) => (one >> bit) & 1)));
        expected += String.fromCharCode(byte);
      }
      const note = `seed ${seed}: BITOP ${name} ${keys.join(" ")}`;
      assert.equal(session.call("BITOP", name, "target", ...keys), length, note);
      assert.equal(session.call("GET", "target") ?? "", expected, note);
    }
    assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store), `journal, seed ${seed}`);
    assert.deepEqual(contentOf(restored(session.store.dump())), contentOf(session.store), `snapshot, seed ${seed}`);
  }
});

test("A-15: combines a key that is named many times once", () => {
  const session = startSession();
  session.call("SET", "k", "x".repeat(4 * 1024 * 1024));
  const keys = Array<string>(20_000).fill("k");
  for (const name of plainOperations.keys())
    assert.equal(session.call("BITOP", name, "target", ...keys), 4 * 1024 * 1024, name);
});

test("counts and searches a bitmap of a few MB in place", () => {
  const session = startSession();
  session.expect([
    ["SETBIT k 33554431 1", 0],
    ["STRLEN k", 4194304],
    ["BITCOUNT k", 1],
    ["BITPOS k 1", 33554431],
    ["BITPOS k 1 100 4194302", -1],
    ["BITPOS k 0 4194303", 33554424],
    ["BITCOUNT k 33554431 33554431 BIT", 1],
    ["BITCOUNT k 0 -2", 0],
  ]);
});

test("BITOP replaces a long string as a whole, in the journal too", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.expect([
    ["SETRANGE a 9999 x", 10_000],
    ["SETRANGE to 9999 y", 10_000],
    ["EXPIRE to 100", 1],
    ["BITOP OR to a to", 10_000],
    ["TTL to", -1],
    ["GETRANGE to 9998 9999", "\x00y"],
    ["BITOP NOT to to", 10_000],
    ["GETRANGE to 9998 9999", "\xff\x86"],
    ["SETRANGE b 5999 z", 6_000],
    ["BITOP XOR to b", 6_000],
    ["STRLEN to", 6_000],
    ["SETRANGE to 6001 !", 6_002],
    ["GETRANGE to 5998 -1", "\x00z\x00!"],
    ["BITOP AND to a b", 10_000],
    ["BITCOUNT to", 0],
    ["BITCOUNT a", 4],
  ]);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
});

test("a write far from the beginning of a string may take long, so the clock is read after it", () => {
  for (const [line, isLong] of [
    ["SETBIT k 999999 1", false],
    ["SETBIT k 1000000 1", true],
    ["BITFIELD k", false],
    ["BITFIELD k SET u8 #99999 1", false],
    ["BITFIELD k SET u8 1 1 INCRBY u8 #100000 1", true],
  ] as const) {
    const words = line.split(" ");
    assert.equal(findCommand(words[0] ?? "")?.isLongWith?.(words), isLong, line);
  }
});
