/** Replies in RESP3: the encoded replies of our engine equal those of redis-server byte for byte. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resp3Result } from "../../src/edge/resp/replies.ts";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { defaultUser } from "../../src/store/acl/built-in-users.ts";
import { RawPeer } from "../harness/raw-peer.ts";
import { splitLine, startSession } from "../harness/store-harness.ts";
import { redisMissing, startRedis } from "./redis-process.ts";

/**
 * Each kind of reply with its own type in RESP3; sets have one member, because their order depends on the server. No
 * double is included whose shortest text, which we print, differs from that of Redis 7.0 (docs/differences.md).
 */
const lines: readonly string[] = [
  "ZADD z 1 a 2.5 b 3 c inf d",
  "ZRANGE z 0 -1",
  "ZRANGE z 0 -1 WITHSCORES",
  "ZRANGE none 0 -1 WITHSCORES",
  "ZREVRANGE z 0 -1 WITHSCORES",
  "ZRANGEBYSCORE z 0 9 WITHSCORES",
  "ZREVRANGEBYSCORE z 9 0 WITHSCORES",
  "ZRANGE z 0 9 BYSCORE WITHSCORES",
  "ZSCORE z b",
  "ZSCORE z none",
  "ZMSCORE z a none b",
  "ZINCRBY z 1.5 a",
  "ZADD z INCR 1 a",
  "ZADD z XX INCR 1 none",
  "ZINTER 1 z WITHSCORES",
  "ZUNION 1 z WITHSCORES",
  "ZDIFF 1 z WITHSCORES",
  "ZUNION 1 z",
  "ZSCAN z 0",
  "ZPOPMIN z",
  "ZPOPMIN z 1",
  "ZPOPMAX z 2",
  "ZPOPMIN none",
  "ZPOPMIN none 2",
  "ZADD z 1 a 2 b",
  "ZMPOP 1 z MIN COUNT 2",
  "ZMPOP 1 none MIN",
  "ZADD z 1 a",
  "ZRANDMEMBER z 2 WITHSCORES",
  "ZRANDMEMBER z -2 WITHSCORES",
  "ZRANDMEMBER none 2 WITHSCORES",
  "HSET h f v",
  "HGETALL h",
  "HGETALL none",
  "HRANDFIELD h 2 WITHVALUES",
  "HRANDFIELD h -1",
  "HRANDFIELD none 2 WITHVALUES",
  "HMGET h f none",
  "HINCRBYFLOAT h n 1.5",
  "SADD s a",
  "SMEMBERS s",
  "SMEMBERS none",
  "SINTER s",
  "SUNION s none",
  "SDIFF s",
  "SRANDMEMBER s 2",
  "SMISMEMBER s a none",
  "SPOP s 1",
  "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania",
  "GEOPOS g Palermo none",
  "GEODIST g Palermo Catania km",
  "GEODIST g Palermo none",
  "GEOHASH g Palermo none",
  "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHCOORD WITHDIST WITHHASH",
  "GEORADIUS g 15 37 200 km ASC WITHDIST",
  "GET none",
  "MGET none none",
  "SET k v",
  "SET none v XX",
  "LPOP none",
  "LPOP none 2",
  "RPUSH l a b c",
  "LMPOP 1 l LEFT",
  "LMPOP 1 none LEFT",
  "LPOS l none",
  "LCS k k IDX",
  "INCRBYFLOAT f 1.5",
  "XADD x 1-1 a b",
  "XADD x 1-2 a b c d",
  "XRANGE x - +",
  "XREAD STREAMS x 0",
  "XREAD STREAMS x 1-2",
  "XGROUP CREATE x g 0",
  "XREADGROUP GROUP g c COUNT 1 STREAMS x >",
  "XPENDING x g",
  "XINFO STREAM x",
  "XINFO GROUPS x",
  "XAUTOCLAIM x g c 0 0",
  "OBJECT FREQ none",
  "CONFIG GET proto-max-bulk-len",
  "PUBSUB NUMSUB a",
  "SCRIPT EXISTS a",
  "FUNCTION LIST",
  "COMMAND GETKEYSANDFLAGS get a",
  // Neither has tips, which we do not return.
  "COMMAND INFO hset nope",
  "COMMAND INFO xread zunionstore",
  "COMMAND INFO object|help",
  "COMMAND DOCS nope",
  "SLOWLOG GET",
  "SLOWLOG LEN",
  "LATENCY LATEST",
  "LATENCY HISTORY command",
  "LATENCY HISTOGRAM nope",
  "LATENCY RESET",
  "MEMORY PURGE",
  "EVAL \"return {1,'a',false,true,3.9}\" 0",
  'EVAL "redis.setresp(3); return {double=3.5}" 0',
  "EVAL \"redis.setresp(3); return redis.call('HGETALL','h')\" 0",
  "EVAL \"redis.setresp(3); return redis.call('ZRANGE','z',0,-1,'WITHSCORES')\" 0",
  'EVAL "redis.setresp(3); return {map={a=1}}" 0',
  'EVAL "redis.setresp(3); return {set={a=true}}" 0',
  'EVAL "return false" 0',
];

test("a reply in RESP3 equals that of redis-server byte for byte", { skip: redisMissing }, async () => {
  const redis = await startRedis();
  const { database } = startSession();
  const caller = { user: defaultUser, transport: "tcp", address: "127.0.0.1:1" } as const;
  try {
    using peer = await RawPeer.open(redis.port);
    peer.say("HELLO 3\r\nPING\r\n");
    for (let greeting = ""; !greeting.endsWith("+PONG\r\n"); ) greeting += await peer.hear(1);
    for (const line of lines) {
      const words = splitLine(line);
      const ours = resp3Result(database.execute(caller, words), 1_000_000);
      assert.equal(ours, await peer.ask(requestOf(words), ours.length), line);
    }
    assert.equal(await peer.ask("PING\r\n", 7), "+PONG\r\n", "nothing is left over");
  } finally {
    await redis.stop();
  }
});

test("a double in RESP3 is the shortest text of the number, where Redis 7.0 prints 17 digits", {
  skip: redisMissing,
}, async () => {
  const redis = await startRedis();
  const { database } = startSession();
  const caller = { user: defaultUser, transport: "tcp", address: "127.0.0.1:1" } as const;
  try {
    using peer = await RawPeer.open(redis.port);
    peer.say("HELLO 3\r\nPING\r\n");
    for (let greeting = ""; !greeting.endsWith("+PONG\r\n"); ) greeting += await peer.hear(1);
    for (const [line, ours, theirs] of [
      ["ZADD z 0.1 a 1e21 b", ":2\r\n", ":2\r\n"],
      ["ZSCORE z a", ",0.1\r\n", ",0.10000000000000001\r\n"],
      ["ZINCRBY z 0 b", ",1e+21\r\n", ",1e+21\r\n"],
    ] as const) {
      const words = splitLine(line);
      assert.equal(resp3Result(database.execute(caller, words), 1_000), ours, line);
      assert.equal(await peer.ask(requestOf(words), theirs.length), theirs, line);
    }
  } finally {
    await redis.stop();
  }
});

function requestOf(words: readonly Bytes[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
}
