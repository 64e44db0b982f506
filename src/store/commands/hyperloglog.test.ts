/** HyperLogLog commands: literal bytes of redis-server 7.0.15, journaled records, and who may cache a count. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import { error, nil, ok, startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";

const HEADER = "HYLL\x01\x00\x00\x00";
const COUNTED_3 = "\x03\x00\x00\x00\x00\x00\x00\x00";
const STALE = "\x00\x00\x00\x00\x00\x00\x00\x80";
const ABC = "`\xf3\x80P\xb1\x84K\xfb\x80BZ";

test("PFADD, PFCOUNT and PFMERGE produce the bytes of Redis", () => {
  startSession().expect([
    ["PFADD none", 1],
    ["GET none", `${HEADER}${STALE}\x7f\xff`],
    ["PFADD none", 0],
    ["PFCOUNT none", 0],
    ["PFADD h a b c", 1],
    ["GET h", `${HEADER}${STALE}${ABC}`],
    ["PFADD h a", 0],
    ["PFCOUNT h", 3],
    ["GET h", `${HEADER}${COUNTED_3}${ABC}`],
    ["PFADD other c d e", 1],
    ["PFCOUNT h other", 5],
    ["PFCOUNT nobody", 0],
    ["PFMERGE all h other nobody", ok],
    ["PFCOUNT all", 5],
    ["PFMERGE new", ok],
    ["GET new", `${HEADER}${STALE}\x7f\xff`],
    ["TTL all", -1],
    ["GET nobody", nil],
  ]);
});

test("a sketch of many elements becomes dense and is accurate within a percent or two", () => {
  const session = startSession();
  for (let i = 0; i < 20; i += 1)
    session.call("PFADD", "big", ...Array.from({ length: 100 }, (_, j) => `${(i + 1) * 100 + j}`));
  session.expect([
    ["PFCOUNT big", 2_009],
    ["STRLEN big", 12_304],
  ]);
});

test("refuses an invalid or corrupted sketch and does not change it", () => {
  startSession().expect([
    ["HSET hash f v", 1],
    ["PFADD hash a", error("WRONGTYPE Operation against a key holding the wrong kind of value")],
    ["SET text HYLL", ok],
    ["PFADD text a", error("WRONGTYPE Key is not a valid HyperLogLog string value.")],
    ["PFCOUNT text", error("WRONGTYPE Key is not a valid HyperLogLog string value.")],
    ["PFMERGE text", error("WRONGTYPE Key is not a valid HyperLogLog string value.")],
    [`SET short "HYLL\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\\x40\\x01"`, ok],
    ["PFADD short a b c d e f", error("INVALIDOBJ Corrupted HLL object detected")],
    ["PFCOUNT short", error("INVALIDOBJ Corrupted HLL object detected")],
    ["PFCOUNT short short", error("INVALIDOBJ Corrupted HLL object detected")],
    ["PFMERGE x short", error("INVALIDOBJ Corrupted HLL object detected")],
    ["EXISTS x", 0],
    ["GET short", `${HEADER}${STALE}\x40\x01`],
  ]);
});

test("journal and snapshot rebuild sketches", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  for (let i = 0; i < 300; i += 1) {
    session.call("PFADD", `h${i % 3}`, `a${i}`, `b${i}`, `c${i}`);
    if (i % 10 === 0) session.call("PFCOUNT", "h1");
  }
  session.call("PFMERGE", "h0", "h1", "h2");
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
  assert.deepEqual(contentOf(restored(session.store.dump())), contentOf(session.store));
});

test("A-03: caches a count only if the caller and the disk may write", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.expect([["PFADD h a b c", 1]]);

  assert.equal(Number(session.database.command({ ...testCaller, user: readOnlyUser }, ["PFCOUNT", "h"])), 3);
  session.expect([["GET h", `${HEADER}${STALE}${ABC}`]]);

  journal.refusal = "No space left on device";
  session.expect([
    ["PFCOUNT h", 3],
    ["GET h", `${HEADER}${STALE}${ABC}`],
  ]);
  journal.refusal = undefined;

  session.expect([
    ["PFCOUNT h", 3],
    ["GET h", `${HEADER}${COUNTED_3}${ABC}`],
  ]);
});
