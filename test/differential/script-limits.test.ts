/**
 * Scripts at the limits of C's integers and of Lua's stack: the encoded replies of our engine equal those of redis-server
 * byte for byte.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resp2Result, resp3Result } from "../../src/edge/resp/replies.ts";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { RawPeer } from "../harness/raw-peer.ts";
import { startSession, testCaller } from "../harness/store-harness.ts";
import { redisMissing, startRedis } from "./redis-process.ts";

const scripts: readonly Bytes[] = [
  // Results as deep as Lua's stack, and deeper.
  "local t = {} for i = 1, 7994 do t = {t} end return t",
  "local t = {} for i = 1, 7995 do t = {t} end return t",
  "local t = 'x' for i = 1, 9000 do t = {t} end return t",
  "local t = {} t[1] = t return t",
  "local t = {} for i = 1, 9000 do t = {1, t, {ok = 'b'}, {err = 'c'}, false} end return t",
  "redis.setresp(3) local t = {} for i = 1, 600 do t = {map = {a = t}} end return t",
  "redis.setresp(3) local t = {} for i = 1, 9000 do t = {map = {a = t}} end return t",
  "redis.setresp(3) local t = {} for i = 1, 9000 do t = {set = {[t] = 1}} end return t",
  "redis.setresp(3) return {map = {[true] = {double = 1.5}, }, 7}",
  // Ranges and positions beyond 32 bits.
  ...["0,2^31-1", "-2^31,2^31-1", "1,1e10", "2^32,2^32+3", "-1e10,1e10", "0/0,1", "1,1/0", "-2^31", "-2^31,nil"].map(
    (range) => `return {unpack({}, ${range})}`,
  ),
  "return select('#', unpack({}, 1, 7990))",
  "return {unpack({1, 2, 3}, '2', 3.9)}",
  "return unpack('abc', 0, 2^31-1)",
  "return unpack({}, {}, 2^31-1)",
  ...["1,2^31", "2^31,2^31+1", "-2^31,-2^31+1", "1,2^32+1", "1,1e10", "0/0,0", "2^40+1,2^40+1", "5,1"].map(
    (range) => `return table.concat({'a'}, 'x', ${range})`,
  ),
  ...["2^32+1", "2^31-1", "-1", "-5", "1e10", "0"].map((at) => `return table.remove({1, 2, 3}, ${at})`),
  ...["2^32+1", "2^32+9", "2^31-1", "-1"].map(
    (at) => `local t = {1, 2, 3} table.insert(t, ${at}, 'x') return {t, #t, t[-1]}`,
  ),
  ...["2^31", "2^32", "2^32+3", "1/0", "0/0", "-2^40"].map((count) => `return string.rep('x', ${count})`),
  ...["2^32+4", "-2^40", "0/0", "1/0", "2^40"].map((at) => `return {string.find('hello', 'l', ${at})}`),
  ...["2^32+1", "-1", "0/0", "1/0", "2^31"].map((count) => `return string.gsub('hello', 'l', 'L', ${count})`),
  ...["2^40", "1/0", "0/0", "-5,2^31"].map((bounds) => `return math.random(${bounds})`),
  ...["%2147483647d", "%100d", "%.100f", "%-+ #0-+ #0d", "%99999999999999999999d", "%"].map(
    (format) => `return string.format('${format}', 1)`,
  ),
  "return #string.format('%99.99f', 1e300)",
  // Modules of cjson.
  "local names = {} for k, v in pairs(cjson.new()) do names[#names + 1] = k .. type(v) end table.sort(names) return names",
  "local j = cjson.new() j.encode_max_depth(1) return {j.encode_max_depth(), cjson.encode_max_depth(), j.encode({{1}})}",
  "local j = cjson.new() j.encode_number_precision(3) return {j.encode(math.pi), cjson.encode(math.pi)}",
  "local j = cjson.new() j.decode_max_depth(1) return j.decode('[[1]]')",
  "return {pcall(cjson.new().encode_number_precision, 99)}",
  // Unsigned integers of 64 bits in MessagePack.
  ...[
    "\\255\\255\\255\\255\\255\\255\\255\\255",
    "\\128\\0\\0\\0\\0\\0\\0\\0",
    "\\127\\255\\255\\255\\255\\255\\255\\255",
  ].map((bytes) => `local n = cmsgpack.unpack('\\207${bytes}') return {n, string.format('%.0f', n), cmsgpack.pack(n)}`),
  "return cmsgpack.pack(2^63, 2^64, -2^63, 18446744073709551615, 2^53)",
  ...["2^32+1, 0", "2, 2^32+1", "0/0", "2, 2^40", "2, -2^40"].map(
    (range) => `return {cmsgpack.unpack_limit('\\1\\2\\3', ${range})}`,
  ),
  ...["2^32+1", "2^31", "-1", "0"].map((offset) => `return {struct.unpack('i', 'xxxx', ${offset})}`),
];

const MARK = "$5\r\n=====\r\n";

function line(...words: readonly Bytes[]): Bytes {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
}

for (const [version, print] of [
  ["2", resp2Result],
  ["3", resp3Result],
] as const)
  test(`RESP${version}: scripts at the limits of integers and of the stack`, { skip: redisMissing }, async () => {
    const redis = await startRedis();
    try {
      using peer = await RawPeer.open(redis.port);
      peer.say(line("HELLO", version));
      for (const script of scripts) peer.say(line("ECHO", "=====") + line("EVAL", script, "0"));
      peer.say(line("QUIT"));
      const [, ...theirs] = (await peer.hearAll()).replace(/\+OK\r\n$/, "").split(MARK);
      const { database } = startSession();
      for (const [index, script] of scripts.entries()) {
        const reply = database.command(testCaller, ["EVAL", script, "0"]);
        assert.ok(!(reply instanceof Promise));
        assert.equal(print(reply, 1_000_000), theirs[index], script);
      }
    } finally {
      await redis.stop();
    }
  });
