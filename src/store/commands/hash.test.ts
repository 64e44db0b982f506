/** The hash commands: input and literal reply. Redis 7.0.15 gives the same replies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, ok, startSession } from "../../../test/harness/store-harness.ts";
import { map, type Reply } from "../reply/reply.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const syntax = error("ERR syntax error");
const invalidCursor = error("ERR invalid cursor");

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

/** Fields a, b, c at the key `h`, and a string at the key `s`. */
function sessionWithHash() {
  const session = startSession();
  session.run("HSET h a 1 b two c 3.5");
  session.run("SET s text");
  return session;
}

test("HDEL removes fields and counts them, and the key goes with its last field", () => {
  sessionWithHash().expect([
    ["HDEL h a a none", 1],
    [
      "HGETALL h",
      map([
        ["b", "two"],
        ["c", "3.5"],
      ]),
    ],
    ["HDEL h b c c", 2],
    ["EXISTS h", 0],
    ["HDEL h b", 0],
    ["HDEL s b", wrongType],
    ["HDEL h", arity("hdel")],
  ]);
});

test("HEXISTS returns whether a field exists", () => {
  sessionWithHash().expect([
    ["HEXISTS h a", 1],
    ["HEXISTS h z", 0],
    ["HEXISTS none a", 0],
    ["HEXISTS s a", wrongType],
    ["HEXISTS h", arity("hexists")],
  ]);
});

test("HGET returns the value, or nil", () => {
  sessionWithHash().expect([
    ["HGET h a", "1"],
    ["hget h b", "two"],
    ["HGET h z", nil],
    ["HGET none a", nil],
    ["HGET s a", wrongType],
    ["HGET h", arity("hget")],
    ["HGET h a b", arity("hget")],
  ]);
});

test("HGETALL, HKEYS and HVALS return a small hash in the order of insertion", () => {
  sessionWithHash().expect([
    [
      "HGETALL h",
      map([
        ["a", "1"],
        ["b", "two"],
        ["c", "3.5"],
      ]),
    ],
    ["HKEYS h", ["a", "b", "c"]],
    ["HVALS h", ["1", "two", "3.5"]],
    ["HGETALL none", map([])],
    ["HKEYS none", []],
    ["HVALS none", []],
    ["HGETALL s", wrongType],
    ["HKEYS s", wrongType],
    ["HVALS s", wrongType],
    ["HGETALL h h", arity("hgetall")],
    ["HKEYS", arity("hkeys")],
    ["HVALS", arity("hvals")],
  ]);
});

test("HINCRBY is exact up to the limits of 64 bits, and refuses overflow without a change", () => {
  sessionWithHash().expect([
    ["HINCRBY h a 41", 42],
    ["HINCRBY h a -50", -8],
    ["HINCRBY h new 7", 7],
    ["HINCRBY fresh f 1", 1],
    ["HINCRBY h b 1", error("ERR hash value is not an integer")],
    ["HINCRBY h c 1", error("ERR hash value is not an integer")],
    ["HINCRBY h a x", notInteger],
    ["HINCRBY h a 1.5", notInteger],
    ["HINCRBY none f x", notInteger],
    ["EXISTS none", 0],
    ["HSET h big 9223372036854775806", 1],
    ["HINCRBY h big 1", 9223372036854775807n],
    ["HINCRBY h big 1", error("ERR increment or decrement would overflow")],
    ["HGET h big", "9223372036854775807"],
    ["HINCRBY h big -9223372036854775807", 0],
    ["HINCRBY h big -9223372036854775808", -9223372036854775808n],
    ["HINCRBY h big -1", error("ERR increment or decrement would overflow")],
    ["HINCRBY h big 9223372036854775808", notInteger],
    ["HINCRBY s a 1", wrongType],
    ["HINCRBY h a", arity("hincrby")],
  ]);
});

test("HINCRBYFLOAT prints as Redis prints a long double", () => {
  sessionWithHash().expect([
    ["HINCRBYFLOAT h c 0.1", "3.6"],
    ["HINCRBYFLOAT h a 1e3", "1001"],
    ["HINCRBYFLOAT h new -0.5", "-0.5"],
    ["HINCRBYFLOAT h b 1", error("ERR hash value is not a float")],
    ["HINCRBYFLOAT h a x", error("ERR value is not a valid float")],
    ["HINCRBYFLOAT h a nan", error("ERR value is not a valid float")],
    ["HINCRBYFLOAT h a inf", error("ERR value is NaN or Infinity")],
    ["HSET h i inf", 1],
    ["HINCRBYFLOAT h i 1", error("ERR increment would produce NaN or Infinity")],
    ["HGET h i", "inf"],
    ["HINCRBYFLOAT s a 1", wrongType],
    ["HINCRBYFLOAT h a", arity("hincrbyfloat")],
  ]);
});

test("HLEN and HSTRLEN count fields and bytes", () => {
  sessionWithHash().expect([
    ["HLEN h", 3],
    ["HLEN none", 0],
    ["HLEN s", wrongType],
    ["HLEN", arity("hlen")],
    ["HSTRLEN h b", 3],
    ["HSTRLEN h z", 0],
    ["HSTRLEN none z", 0],
    ["HSTRLEN s z", wrongType],
    ["HSTRLEN h", arity("hstrlen")],
  ]);
});

test("HMGET returns a value or nil for each field", () => {
  sessionWithHash().expect([
    ["HMGET h a z a", ["1", nil, "1"]],
    ["HMGET none a b", [nil, nil]],
    ["HMGET s a", wrongType],
    ["HMGET h", arity("hmget")],
  ]);
});

test("HSET counts the new fields, HMSET returns OK, and both require pairs", () => {
  sessionWithHash().expect([
    ["HSET h a 2 d 4", 1],
    ["HSET h d 5 d 6", 0],
    ["HGET h d", "6"],
    ["HSET fresh x 1 x 2 y 3", 2],
    [
      "HGETALL fresh",
      map([
        ["x", "2"],
        ["y", "3"],
      ]),
    ],
    ["HMSET h a 3 e 5", ok],
    ["HMGET h a e", ["3", "5"]],
    ['HSET h "" "\\x00\\xff"', 1],
    ['HGET h ""', "\x00\xff"],
    ["HSET s a 1", wrongType],
    ["HMSET s a 1", wrongType],
    ["HSET h a", arity("hset")],
    ["HSET h a 1 b", arity("hset")],
    ["HMSET h a 1 b", arity("hmset")],
  ]);
});

test("HSETNX sets a field only once", () => {
  sessionWithHash().expect([
    ["HSETNX h a 9", 0],
    ["HSETNX h d 9", 1],
    ["HSETNX fresh d 9", 1],
    ["HMGET h a d", ["1", "9"]],
    ["HSETNX s a 1", wrongType],
    ["HSETNX h a", arity("hsetnx")],
  ]);
});

test("HRANDFIELD draws distinct fields for a positive count, and repeated ones for a negative count", () => {
  const session = sessionWithHash();
  const fields = ["a", "b", "c"];
  const values = new Map([
    ["a", "1"],
    ["b", "two"],
    ["c", "3.5"],
  ]);

  for (let round = 0; round < 50; round += 1) {
    assert.ok(fields.includes(session.run("HRANDFIELD h") as string));
    const two = session.run("HRANDFIELD h 2") as string[];
    assert.equal(two.length, 2);
    assert.equal(new Set(two).size, 2);
    const seven = session.run("HRANDFIELD h -7") as string[];
    assert.equal(seven.length, 7);
    assert.ok(seven.every((field) => fields.includes(field)));
    const pairs = session.run("HRANDFIELD h -3 withvalues") as string[];
    assert.equal(pairs.length, 6);
    for (let i = 0; i < 6; i += 2) assert.equal(pairs[i + 1], values.get(pairs[i] as string));
  }

  session.expect([
    ["HRANDFIELD h 3", ["a", "b", "c"]],
    ["HRANDFIELD h 9 WITHVALUES", ["a", "1", "b", "two", "c", "3.5"]],
    ["HRANDFIELD h 0", []],
    ["HRANDFIELD none", nil],
    ["HRANDFIELD none 3", []],
    ["HRANDFIELD none -3 WITHVALUES", []],
    ["HRANDFIELD s", wrongType],
    ["HRANDFIELD s 1", wrongType],
    ["HRANDFIELD h x", notInteger],
    ["HRANDFIELD h 1 values", syntax],
    ["HRANDFIELD h 1 WITHVALUES x", syntax],
    [
      "HRANDFIELD h -9223372036854775808",
      error("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"),
    ],
    ["HRANDFIELD h 9223372036854775807", ["a", "b", "c"]],
    ["HRANDFIELD h 9223372036854775807 WITHVALUES", error("ERR value is out of range")],
    ["HRANDFIELD h -4611686018427387904 WITHVALUES", error("ERR value is out of range")],
    ["HRANDFIELD", arity("hrandfield")],
  ]);
});

test("A-15: HRANDFIELD refuses a count whose reply would be too large", () => {
  const session = startSession();
  session.call("HSET", "h", "f", "v".repeat(1024 * 1024));

  session.expect([
    ["HRANDFIELD h -9223372036854775807", error("ERR reply exceeds the maximum allowed size")],
    ["HRANDFIELD h -200 WITHVALUES", error("ERR reply exceeds the maximum allowed size")],
  ]);
  assert.equal((session.run("HRANDFIELD h -100 WITHVALUES") as string[]).length, 200);
});

test("HSCAN returns fields with values, MATCH filters, NOVALUES omits the values", () => {
  sessionWithHash().expect([
    ["HSCAN h 0", ["0", ["a", "1", "b", "two", "c", "3.5"]]],
    ["HSCAN h 0 MATCH [ab]", ["0", ["a", "1", "b", "two"]]],
    ["HSCAN h 0 match * count 1", ["0", ["a", "1", "b", "two", "c", "3.5"]]],
    ["HSCAN h 0 NOVALUES", ["0", ["a", "b", "c"]]],
    ["HSCAN h 0 NOVALUES MATCH c", ["0", ["c"]]],
    ["HSCAN none 0", ["0", []]],
    ["HSCAN none 0 nonsense", ["0", []]],
    ["HSCAN none x", invalidCursor],
    ["HSCAN h x", invalidCursor],
    ["HSCAN h 1.5", invalidCursor],
    ["HSCAN h 18446744073709551616", invalidCursor],
    ["HSCAN h 18446744073709551615", ["0", ["a", "1", "b", "two", "c", "3.5"]]],
    ["HSCAN h 0 COUNT 0", syntax],
    ["HSCAN h 0 COUNT x", notInteger],
    ["HSCAN h 0 MATCH", syntax],
    ["HSCAN h 0 TYPE string", syntax],
    ["HSCAN h 0 WITHTYPE", syntax],
    ["HSCAN s 0", wrongType],
    ["HSCAN h", arity("hscan")],
  ]);
});

test("a hash keeps its fields when it outgrows the flat form, and reports the encodings of Redis", () => {
  const session = startSession();
  for (let i = 0; i < 512; i += 1) session.call("HSET", "h", `f${i}`, `v${i}`);
  session.expect([
    ["OBJECT ENCODING h", "listpack"],
    ["HLEN h", 512],
    ["HSET h f512 v512", 1],
    ["OBJECT ENCODING h", "hashtable"],
    ["HDEL h f512", 1],
    ["OBJECT ENCODING h", "hashtable"],
  ]);
  for (let i = 0; i < 512; i += 1) assert.equal(session.call("HGET", "h", `f${i}`), `v${i}`);
  session.run("HSET small f v");
  assert.equal(session.run("OBJECT ENCODING small"), "listpack");
  session.call("HSET", "small", "f", "v".repeat(65));
  assert.equal(session.run("OBJECT ENCODING small"), "hashtable");
});
