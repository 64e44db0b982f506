/** Counters: input and literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, ok, startSession } from "../../../test/harness/store-harness.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const notFloat = error("ERR value is not a valid float");
const overflow = error("ERR increment or decrement would overflow");
const notFinite = error("ERR increment would produce NaN or Infinity");

function sessionWithHash() {
  const session = startSession();
  session.run("HSET hash field value");
  return session;
}

test("INCR, DECR, INCRBY and DECRBY start from 0 and preserve the expiry", () => {
  sessionWithHash().expect([
    ["INCR k", 1],
    ["INCRBY k 41", 42],
    ["DECR k", 41],
    ["DECRBY k 42", -1],
    ["INCR k", 0],
    ["GET k", "0"],
    ["DECRBY k 0", 0],
    ["SET t 5 PXAT 2000000000000", ok],
    ["INCRBY t -6", -1],
    ["PEXPIRETIME t", 2_000_000_000_000],
    ["INCR hash", wrongType],
    ["INCRBY hash x", notInteger],
    ["INCR", error("ERR wrong number of arguments for 'incr' command")],
    ["DECRBY k", error("ERR wrong number of arguments for 'decrby' command")],
  ]);
});

test("counters are exact over all 64 bits", () => {
  startSession().expect([
    ["SET k 9007199254740991", ok],
    ["INCR k", 9007199254740992n],
    ["INCR k", 9007199254740993n],
    ["DECRBY k 2", 9_007_199_254_740_991],
    ["SET k 4611686018427387904", ok],
    ["INCRBY k 4611686018427387903", 9223372036854775807n],
    ["GET k", "9223372036854775807"],
    ["INCR k", overflow],
    ["DECRBY k -1", overflow],
    ["INCRBY k -9223372036854775808", -1],
    ["DECRBY k 9223372036854775807", -9223372036854775808n],
    ["DECR k", overflow],
    ["DECRBY k -9223372036854775808", error("ERR decrement would overflow")],
    ["DECRBY hash -9223372036854775808", error("ERR decrement would overflow")],
    ["INCRBY k 9223372036854775807", -1],
    ["INCRBY k 9223372036854775808", notInteger],
  ]);
});

test("only a canonical integer is a counter", () => {
  const session = startSession();
  for (const text of ["", " 1", "1 ", "01", "-0", "+1", "1.0", "1e3", "0x10", "abc", "9223372036854775808", "1\0"]) {
    session.call("SET", "k", text);
    assert.deepEqual(session.run("INCR k"), notInteger, text);
    assert.equal(session.run("GET k"), text);
  }
  session.expect([
    ["APPEND long 12", 2],
    ["INCR long", 13],
    ["GET long", "13"],
  ]);
});

test("INCRBYFLOAT adds in 80 bits, returns the stored value and preserves the expiry", () => {
  sessionWithHash().expect([
    ["INCRBYFLOAT k 10.5", "10.5"],
    ["INCRBYFLOAT k 0.1", "10.6"],
    ["INCRBYFLOAT k -5e0", "5.6"],
    ["GET k", "5.6"],
    ["INCRBYFLOAT k -5.6", "0"],
    ["SET k 3.0e3", ok],
    ["INCRBYFLOAT k 200", "3200"],
    ["INCR k", 3_201],
    ["SET k 0x10", ok],
    ["INCRBYFLOAT k 1", "17"],
    ["SET t 1 PXAT 2000000000000", ok],
    ["INCRBYFLOAT t 1.5", "2.5"],
    ["PEXPIRETIME t", 2_000_000_000_000],
    ["INCRBYFLOAT hash 1", wrongType],
    ["INCRBYFLOAT hash x", wrongType],
    ["INCRBYFLOAT k", error("ERR wrong number of arguments for 'incrbyfloat' command")],
  ]);
});

test("INCRBYFLOAT refuses values that are not numbers or not finite", () => {
  const session = startSession();
  session.expect([
    ["SET k 1", ok],
    ["INCRBYFLOAT k x", notFloat],
    ["INCRBYFLOAT k nan", notFloat],
    ['INCRBYFLOAT k ""', notFloat],
    ['INCRBYFLOAT k " 1"', notFloat],
    ["INCRBYFLOAT k inf", notFinite],
    ["INCRBYFLOAT k -inf", notFinite],
    ["INCRBYFLOAT k 1e5000", notFloat],
    ["GET k", "1"],
    ["SET k inf", ok],
    ["INCRBYFLOAT k 1", notFinite],
    ["SET k abc", ok],
    ["INCRBYFLOAT k 1", notFloat],
  ]);
  session.call("SET", "k", "1".repeat(6_000));
  assert.deepEqual(session.run("INCRBYFLOAT k 1"), notFloat);
});
