/** INCREX: input and literal reply, as documented for Redis 8.8. The clock starts at 2026-01-01. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, ok, startSession } from "../../../test/harness/store-harness.ts";
import { defaultUser } from "../acl/built-in-users.ts";

const syntax = error("ERR syntax error");
const notInteger = error("ERR value is not an integer or out of range");
const notFloat = error("ERR value is not a valid float");
const notFinite = error("ERR increment would produce NaN or Infinity");
const crossed = error("ERR LBOUND can't be greater than UBOUND");
const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const NOW_MS = 1_767_225_600_000;

test("INCREX adds one, or the given number, and returns the new number and what was added", () => {
  startSession().expect([
    ["INCREX mykey", [1, 1]],
    ["INCREX mykey", [2, 1]],
    ["SET mykey 100", ok],
    ["INCREX mykey BYINT 5", [105, 5]],
    ["INCREX mykey byint -10", [95, -10]],
    ["INCREX mykey BYINT 0", [95, 0]],
    ["SET mykey 1.5", ok],
    ["INCREX mykey BYFLOAT 0.25", ["1.75", "0.25"]],
    ["INCREX mykey BYFLOAT 1", ["2.75", "1"]],
    ["GET mykey", "2.75"],
    ["INCREX mykey", notInteger],
    ["SET big 9223372036854775800", ok],
    ["INCREX big BYINT 7", [9223372036854775807n, 7]],
    ["GET big", "9223372036854775807"],
  ]);
});

test("INCREX changes nothing if the result would be out of bounds, and then returns the current number", () => {
  startSession().expect([
    ["SET mykey 99 EX 500", ok],
    ["INCREX mykey BYINT 5 UBOUND 100 EX 10", [99, 0]],
    ["GET mykey", "99"],
    ["PEXPIRETIME mykey", NOW_MS + 500_000],
    ["INCREX mykey BYINT 1 UBOUND 100", [100, 1]],
    ["INCREX mykey BYINT -101 LBOUND 0", [100, 0]],
    ["INCREX mykey LBOUND 0 BYINT -100 UBOUND 100", [0, -100]],
    ["INCREX none UBOUND 0", [0, 0]],
    ["EXISTS none", 0],
    ["SET high 200", ok],
    ["INCREX high BYINT -50 UBOUND 100", [200, 0]],
    ["SET big 9223372036854775800", ok],
    ["INCREX big BYINT 9223372036854775800", [9223372036854775800n, 0]],
    ["SET f 10", ok],
    ["INCREX f BYFLOAT 32.6 UBOUND 42.5", ["10", "0"]],
    ["INCREX f BYFLOAT -15.6 LBOUND -5.5", ["10", "0"]],
    ["INCREX f BYFLOAT 32.5 UBOUND 42.5 LBOUND -inf", ["42.5", "32.5"]],
  ]);
});

test("INCREX SATURATE stops at the bound, or at the limit of 64 bits", () => {
  startSession().expect([
    ["SET mykey 99", ok],
    ["INCREX mykey BYINT 5 UBOUND 100 SATURATE", [100, 1]],
    ["INCREX mykey BYINT 5 UBOUND 100 SATURATE EX 60", [100, 0]],
    ["PEXPIRETIME mykey", NOW_MS + 60_000],
    ["SET mykey 50", ok],
    ["INCREX mykey SATURATE BYINT 100 UBOUND 80", [80, 30]],
    ["INCREX mykey BYINT -100 LBOUND 0 SATURATE", [0, -80]],
    ["SET mykey 9223372036854775800", ok],
    ["INCREX mykey BYINT 9223372036854775800 SATURATE", [9223372036854775807n, 7]],
    ["SET mykey -9223372036854775800", ok],
    ["INCREX mykey BYINT -9223372036854775800 SATURATE", [-9223372036854775808n, -8]],
    ["SET high 9223372036854775807", ok],
    // What was added would exceed 64 bits.
    ["INCREX high BYINT 1 UBOUND -2 SATURATE", error("ERR increment or decrement would overflow")],
    ["GET high", "9223372036854775807"],
    ["SET f 10", ok],
    ["INCREX f BYFLOAT 100 UBOUND 42.5 SATURATE", ["42.5", "32.5"]],
    ["SET f 0", ok],
    ["INCREX f BYFLOAT -100 LBOUND -5.5 SATURATE", ["-5.5", "-5.5"]],
  ]);
});

test("INCREX sets, keeps or removes the expiry, and ENX sets it only once", () => {
  startSession().expect([
    ["INCREX mykey BYINT 1 EX 100", [1, 1]],
    ["TTL mykey", 100],
    ["INCREX mykey", [2, 1]],
    ["TTL mykey", 100],
    ["INCREX mykey PX 5000 BYINT 5", [7, 5]],
    ["PTTL mykey", 5_000],
    ["INCREX mykey EXAT 2000000000", [8, 1]],
    ["PEXPIRETIME mykey", 2_000_000_000_000],
    ["INCREX mykey PXAT 2000000000001", [9, 1]],
    ["PEXPIRETIME mykey", 2_000_000_000_001],
    ["INCREX mykey PERSIST", [10, 1]],
    ["TTL mykey", -1],
    ["INCREX mykey PERSIST", [11, 1]],
    ["SET mykey 10", ok],
    ["INCREX mykey BYINT 1 EX 100 ENX", [11, 1]],
    ["TTL mykey", 100],
    ["SET mykey 10 EX 500", ok],
    ["INCREX mykey BYINT 1 EX 10 ENX", [11, 1]],
    ["TTL mykey", 500],
    ["INCREX mykey EXAT 1 ENX", [12, 1]],
    ["TTL mykey", 500],
    ["INCREX mykey EXAT 1", [13, 1]],
    ["EXISTS mykey", 0],
    ["INCREX mykey PXAT 1", [1, 1]],
    ["EXISTS mykey", 0],
  ]);
});

test("INCREX with UBOUND, EX and ENX is a rate limiter with a window", () => {
  const session = startSession();
  const limited = "INCREX ratelimit:ann BYINT 1 UBOUND 2 EX 60 ENX";
  session.expect([
    [limited, [1, 1]],
    [limited, [2, 1]],
    [limited, [2, 0]],
  ]);
  session.clock.advance(59_999);
  session.expect([
    [limited, [2, 0]],
    ["PTTL ratelimit:ann", 1],
  ]);
  // A key exists through the millisecond of its expiry.
  session.clock.advance(2);
  session.expect([
    [limited, [1, 1]],
    ["TTL ratelimit:ann", 60],
  ]);
});

test("INCREX refuses bad options and values, and changes nothing", () => {
  startSession().expect([
    ["INCREX", error("ERR wrong number of arguments for 'increx' command")],
    ["INCREX k FOO", syntax],
    ["INCREX k BYINT", syntax],
    ["INCREX k BYINT 1 BYFLOAT 1.5", syntax],
    ["INCREX k BYFLOAT 1.5 BYINT 1", syntax],
    ["INCREX k EX 10 PX 5000", syntax],
    ["INCREX k EX 10 PERSIST", syntax],
    ["INCREX k PERSIST EX 10", syntax],
    ["INCREX k PERSIST ENX", syntax],
    ["INCREX k ENX", syntax],
    ["INCREX k BYINT abc", notInteger],
    ["INCREX k BYINT 1.5", notInteger],
    ["INCREX k BYFLOAT abc", notFloat],
    ["INCREX k BYFLOAT +inf", notFinite],
    ["INCREX k UBOUND 1.5", notInteger],
    ["INCREX k BYFLOAT 1 LBOUND x", notFloat],
    ["INCREX k LBOUND 10 UBOUND 5", crossed],
    ["INCREX k BYFLOAT 0.5 LBOUND 10.5 UBOUND 1.5", crossed],
    ["INCREX k EX 0", error("ERR invalid expire time in 'increx' command")],
    ["INCREX k PX -1", error("ERR invalid expire time in 'increx' command")],
    ["EXISTS k", 0],
    ["RPUSH list a", 1],
    ["INCREX list", wrongType],
    ["INCREX list BYFLOAT 1.5", wrongType],
    ["SET text hello", ok],
    ["INCREX text", notInteger],
    ["INCREX text BYFLOAT 1.5", notFloat],
    ["GET text", "hello"],
  ]);
});

test("the numbers of BYFLOAT are doubles with all digits of the sum", () => {
  const { database } = startSession();
  const reply = database.command({ user: defaultUser, transport: "http", address: "127.0.0.1:1" }, [
    ...["INCREX", "k", "BYFLOAT", "0.1"],
  ]);
  assert.deepEqual(reply, [
    { kind: "double", value: 0.1, text: "0.1" },
    { kind: "double", value: 0.1, text: "0.1" },
  ]);
});

test("the journal rebuilds what INCREX has made", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  for (const line of [
    "INCREX plain",
    "INCREX window UBOUND 5 EX 60 ENX",
    "INCREX window UBOUND 5 EX 90 ENX",
    "INCREX float BYFLOAT 0.1",
    "INCREX float BYFLOAT 0.2 PX 5000",
    "INCREX gone EX 100",
    "INCREX gone EXAT 1",
    "INCREX kept EX 100",
    "INCREX kept PERSIST",
  ])
    session.run(line);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
});

test("INCREX BYFLOAT refuses an infinite number at the key, as INCRBYFLOAT does", () => {
  startSession().expect([
    ["SET f -inf", ok],
    ["INCREX f BYFLOAT 1", error("ERR increment would produce NaN or Infinity")],
    ["INCREX f BYFLOAT 1 UBOUND 5 SATURATE", error("ERR increment would produce NaN or Infinity")],
    ["GET f", "-inf"],
  ]);
});
