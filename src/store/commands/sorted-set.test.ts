/** The sorted-set commands: input and literal reply. Redis 7.0.15 gives the same replies, except to WITHSCORE. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, nilArray, ok, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { double, type Reply } from "../reply/reply.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const notFloat = error("ERR value is not a valid float");
const notFloatRange = error("ERR min or max is not a float");
const notLexRange = error("ERR min or max not valid string range item");
const notPositive = error("ERR value is out of range, must be positive");
const syntax = error("ERR syntax error");

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

/** Members a, b, c with scores 1, 2, 3.5 at the key `z`, and a string at the key `s`. */
function sessionWithSortedSet(): Session {
  const session = startSession();
  session.run("ZADD z 1 a 2 b 3.5 c");
  session.run("SET s text");
  return session;
}

test("ZADD counts the new members, and its options select the changes", () => {
  sessionWithSortedSet().expect([
    ["ZADD z 5 a 4 d", 1],
    ["ZRANGE z 0 -1 WITHSCORES", ["b", double(2), "c", double(3.5), "d", double(4), "a", double(5)]],
    ["ZADD z NX 9 a 9 e", 1],
    ["ZADD z XX 1 a 1 f", 0],
    ["ZMSCORE z a e f", [double(1), double(9), nil]],
    ["ZADD z CH 2 a 1 g", 2],
    ["ZADD z CH 2 a 1 g", 0],
    ["ZADD z GT CH 1 a 3 b", 1],
    ["ZADD z LT CH 1 a 3 b", 1],
    ["ZADD z GT 1 new", 1],
    ["ZADD z 1 twice 2 twice", 1],
    ["ZSCORE z twice", double(2)],
    ["ZADD z NX 1 again 2 again", 1],
    ["ZSCORE z again", double(1)],
    ["ZADD z INCR 5 a", double(6)],
    ["ZADD z NX INCR 5 a", nil],
    ["ZADD z XX INCR 5 none", nil],
    ["ZADD z GT INCR -1 a", nil],
    ["ZADD none XX 1 a", 0],
    ["ZADD none XX INCR 1 a", nil],
    ["EXISTS none", 0],
    ["ZADD z inf a -inf b 1e400 c", notFloat],
    ["ZADD z nan a", notFloat],
    ["ZADD z INCR inf i", double(Number.POSITIVE_INFINITY)],
    ["ZADD z INCR -inf i", error("ERR resulting score is not a number (NaN)")],
    ["ZADD z NX XX 1 a", error("ERR XX and NX options at the same time are not compatible")],
    ["ZADD z GT LT 1 a", error("ERR GT, LT, and/or NX options at the same time are not compatible")],
    ["ZADD z GT NX 1 a", error("ERR GT, LT, and/or NX options at the same time are not compatible")],
    ["ZADD z INCR 1 a 2 b", error("ERR INCR option supports a single increment-element pair")],
    ["ZADD z 1 a 2", syntax],
    ["ZADD z NX XX", syntax],
    ["ZADD s 1 a", wrongType],
    ["ZADD s x a", notFloat],
    ["ZADD z 1", arity("zadd")],
  ]);
});

test("ZINCRBY adds, and refuses values that are not numbers", () => {
  sessionWithSortedSet().expect([
    ["ZINCRBY z 0.1 a", double(1.1)],
    ["ZINCRBY z -5 new", double(-5)],
    ["ZINCRBY fresh 3 m", double(3)],
    ["ZINCRBY z x a", notFloat],
    ["ZINCRBY z NX a", syntax],
    ["ZINCRBY s 1 a", wrongType],
    ["ZINCRBY z 1", arity("zincrby")],
  ]);
});

test("ZCARD, ZSCORE, ZMSCORE, ZRANK and ZREVRANK describe members", () => {
  sessionWithSortedSet().expect([
    ["ZCARD z", 3],
    ["ZCARD none", 0],
    ["ZCARD s", wrongType],
    ["ZCARD", arity("zcard")],
    ["ZSCORE z c", double(3.5)],
    ["ZSCORE z none", nil],
    ["ZSCORE none a", nil],
    ["ZSCORE s a", wrongType],
    ["ZSCORE z", arity("zscore")],
    ["ZMSCORE z a none c", [double(1), nil, double(3.5)]],
    ["ZMSCORE none a", [nil]],
    ["ZMSCORE s a", wrongType],
    ["ZMSCORE z", arity("zmscore")],
    ["ZRANK z a", 0],
    ["ZRANK z c", 2],
    ["ZRANK z none", nil],
    ["ZRANK none a", nil],
    ["ZRANK s a", wrongType],
    ["ZRANK z", arity("zrank")],
    ["ZREVRANK z a", 2],
    ["ZREVRANK z c", 0],
    ["ZREVRANK z none", nil],
    ["ZREVRANK none a", nil],
    ["ZREVRANK s a", wrongType],
    ["ZREVRANK z", arity("zrevrank")],
  ]);
});

test("ZRANK and ZREVRANK return the score too if WITHSCORE asks for it", () => {
  const session = sessionWithSortedSet();
  session.expect([
    ["ZADD myzset 1 one", 1],
    ["ZADD myzset 2 two", 1],
    ["ZADD myzset 3 three", 1],
    ["ZRANK myzset three WITHSCORE", [2, double(3)]],
    ["ZRANK myzset four WITHSCORE", nilArray],
    ["ZREVRANK myzset three WITHSCORE", [0, double(3)]],
    ["ZREVRANK myzset one withscore", [2, double(1)]],
    ["ZREVRANK myzset four WITHSCORE", nilArray],
    ["ZRANK none a WITHSCORE", nilArray],
    ["ZRANK s a WITHSCORE", wrongType],
    ["ZRANK myzset one WITHSCORES", syntax],
    ["ZREVRANK myzset one what", syntax],
    ["ZRANK none a what", syntax],
    ["ZRANK myzset one WITHSCORE x", arity("zrank")],
    ["ZREVRANK myzset one WITHSCORE x", arity("zrevrank")],
  ]);
  // Beyond 128 members the scores are in a dictionary too.
  for (let i = 0; i < 300; i += 1) session.run(`ZADD large ${i}.5 m${i}`);
  session.expect([
    ["ZRANK large m250 WITHSCORE", [250, double(250.5)]],
    ["ZREVRANK large m250 WITHSCORE", [49, double(250.5)]],
  ]);
});

test("a small set stores -0 as 0 and a large one as -0, as Redis' two encodings do", () => {
  const session = sessionWithSortedSet();
  session.run("ZADD z -0 a");
  assert.deepEqual(session.run("ZSCORE z a"), double(0));
  session.call("ZADD", "z", "-0", "m".repeat(65));
  assert.deepEqual(session.call("ZSCORE", "z", "m".repeat(65)), double(-0));
});

test("ZREM counts the removed members, and the key goes with its last member", () => {
  sessionWithSortedSet().expect([
    ["ZREM z a a none", 1],
    ["ZREM z b c", 2],
    ["EXISTS z", 0],
    ["ZREM z b", 0],
    ["ZREM s b", wrongType],
    ["ZREM z", arity("zrem")],
  ]);
});

test("ZPOPMIN and ZPOPMAX remove members from the ends", () => {
  sessionWithSortedSet().expect([
    ["ZPOPMIN z", ["a", double(1)]],
    ["ZPOPMAX z 5", ["c", double(3.5), "b", double(2)]],
    ["EXISTS z", 0],
    ["ZPOPMIN z", []],
    ["ZPOPMAX none 3", []],
    ["ZADD z 1 a", 1],
    ["ZPOPMIN z 0", []],
    ["ZPOPMIN z -1", notPositive],
    ["ZPOPMAX z 1 2", syntax],
    ["ZPOPMIN s", wrongType],
    ["ZPOPMAX s", wrongType],
    ["ZPOPMIN", arity("zpopmin")],
    ["ZPOPMAX", arity("zpopmax")],
  ]);
});

test("ZMPOP pops from the first key that has members", () => {
  sessionWithSortedSet().expect([
    ["ZMPOP 2 none z MIN", ["z", [["a", double(1)]]]],
    [
      "ZMPOP 1 z MAX COUNT 9",
      [
        "z",
        [
          ["c", double(3.5)],
          ["b", double(2)],
        ],
      ],
    ],
    ["ZMPOP 1 z MAX", nilArray],
    ["ZMPOP 1 s MIN", wrongType],
    ["ZMPOP 0 z MIN", error("ERR numkeys should be greater than 0")],
    ["ZMPOP x z MIN", error("ERR numkeys should be greater than 0")],
    ["ZMPOP 1 z MIN COUNT 0", error("ERR count should be greater than 0")],
    ["ZMPOP 1 z MIN COUNT 1 COUNT 1", syntax],
    ["ZMPOP 3 z MIN COUNT", syntax],
    ["ZMPOP 1 z x", syntax],
    ["ZMPOP 1 z", arity("zmpop")],
  ]);
});

test("ZRANGE returns ranges of ranks, scores and bytes, from either end", () => {
  const session = sessionWithSortedSet();
  session.run("ZADD l 0 a 0 b 0 c 0 d");
  session.expect([
    ["ZRANGE z 0 -1", ["a", "b", "c"]],
    ["ZRANGE z 1 1 WITHSCORES", ["b", double(2)]],
    ["ZRANGE z -2 9", ["b", "c"]],
    ["ZRANGE z 2 1", []],
    ["ZRANGE z 0 1 REV", ["c", "b"]],
    ["ZRANGE z (1 +inf BYSCORE", ["b", "c"]],
    ["ZRANGE z +inf (1 BYSCORE REV WITHSCORES", ["c", double(3.5), "b", double(2)]],
    ["ZRANGE z -inf inf BYSCORE LIMIT 1 1", ["b"]],
    ["ZRANGE z -inf inf BYSCORE LIMIT -1 1", []],
    ["ZRANGE z -inf inf BYSCORE LIMIT 1 -5", ["b", "c"]],
    ["ZRANGE l [b (d BYLEX", ["b", "c"]],
    ["ZRANGE l + [c BYLEX REV", ["d", "c"]],
    ["ZRANGE l - + BYLEX LIMIT 3 5", ["d"]],
    ["ZRANGE l + - BYLEX", []],
    ["ZRANGE none 0 -1", []],
    ["ZRANGE z x 1", notInteger],
    ["ZRANGE z 1.5 1 BYSCORE REV x", syntax],
    ["ZRANGE z x 1 BYSCORE", notFloatRange],
    ["ZRANGE l a b BYLEX", notLexRange],
    ["ZRANGE l - + BYLEX WITHSCORES", error("ERR syntax error, WITHSCORES not supported in combination with BYLEX")],
    ["ZRANGE z 0 1 REV REV", syntax],
    ["ZRANGE s 0 1", wrongType],
    ["ZRANGE z 0", arity("zrange")],
  ]);
});

test("ZRANGE accepts LIMIT for ranks, which Redis refuses", () => {
  sessionWithSortedSet().expect([
    ["ZRANGE z 0 -1 LIMIT 1 1", ["b"]],
    ["ZRANGE z 0 -1 REV LIMIT 1 9", ["b", "a"]],
    ["ZRANGE z 0 -1 LIMIT 5 1", []],
    [
      "ZREVRANGE z 0 -1 LIMIT 1 1",
      error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"),
    ],
  ]);
});

test("the older forms of ZRANGE accept one kind of range each", () => {
  const session = sessionWithSortedSet();
  session.run("ZADD l 0 a 0 b 0 c 0 d");
  session.expect([
    ["ZREVRANGE z 0 1 WITHSCORES", ["c", double(3.5), "b", double(2)]],
    ["ZREVRANGE z 0 1 REV", syntax],
    ["ZREVRANGE s 0 1", wrongType],
    ["ZRANGEBYSCORE z 1 (3.5", ["a", "b"]],
    ["ZRANGEBYSCORE z -inf +inf LIMIT 1 1 WITHSCORES", ["b", double(2)]],
    ["ZRANGEBYSCORE z 1 x", notFloatRange],
    ["ZRANGEBYSCORE z nan 1", notFloatRange],
    ["ZREVRANGEBYSCORE z 3.5 2", ["c", "b"]],
    ["ZREVRANGEBYSCORE z 3.5 2 BYSCORE", syntax],
    ["ZRANGEBYLEX l [b +", ["b", "c", "d"]],
    ["ZRANGEBYLEX l - (b LIMIT 0 9", ["a"]],
    ["ZREVRANGEBYLEX l [c -", ["c", "b", "a"]],
    ["ZREVRANGEBYLEX l c -", notLexRange],
    ["ZREVRANGEBYLEX s [c -", wrongType],
    ["ZCOUNT z 1 2", 2],
    ["ZCOUNT z (1 (2", 0],
    ["ZCOUNT z 5 1", 0],
    ["ZCOUNT none 1 2", 0],
    ["ZCOUNT s 1 2", wrongType],
    ["ZCOUNT z 1 x", notFloatRange],
    ["ZLEXCOUNT l [b [c", 2],
    ["ZLEXCOUNT l - +", 4],
    ["ZLEXCOUNT none - +", 0],
    ["ZLEXCOUNT l b c", notLexRange],
  ]);
});

test("ZRANGESTORE replaces the target with a range", () => {
  sessionWithSortedSet().expect([
    ["ZRANGESTORE s z 1 -1", 2],
    ["ZRANGE s 0 -1 WITHSCORES", ["b", double(2), "c", double(3.5)]],
    ["PEXPIREAT z 4000000000000", 1],
    ["ZRANGESTORE s z 0 -1 LIMIT 1 1", 1],
    ["ZRANGE s 0 -1", ["b"]],
    ["ZRANGESTORE s z 0 -1 REV LIMIT 0 2", 2],
    ["ZRANGE s 0 -1", ["b", "c"]],
    ["ZRANGESTORE s z 0 1 LIMIT 1 -2", 1],
    ["ZRANGE s 0 -1", ["b"]],
    ["ZRANGESTORE z z 2 inf BYSCORE REV LIMIT 0 1", 0],
    ["EXISTS z", 0],
    ["ZRANGESTORE s none 0 -1", 0],
    ["EXISTS s", 0],
    ["SET s text", ok],
    ["ZRANGESTORE z s 0 -1", wrongType],
    ["ZRANGESTORE z s 0 -1 WITHSCORES", syntax],
    ["ZRANGESTORE z s 0", arity("zrangestore")],
  ]);
});

test("ZREMRANGEBY… remove what ZRANGE would return", () => {
  const session = sessionWithSortedSet();
  session.run("ZADD l 0 a 0 b 0 c 0 d");
  session.expect([
    ["ZREMRANGEBYRANK z 0 0", 1],
    ["ZREMRANGEBYRANK z 5 9", 0],
    ["ZREMRANGEBYRANK z x 9", notInteger],
    ["ZREMRANGEBYRANK s 0 9", wrongType],
    ["ZREMRANGEBYSCORE z 3 +inf", 1],
    ["ZREMRANGEBYSCORE z a b", notFloatRange],
    ["ZRANGE z 0 -1", ["b"]],
    ["ZREMRANGEBYSCORE z -inf inf", 1],
    ["EXISTS z", 0],
    ["ZREMRANGEBYSCORE z -inf inf", 0],
    ["ZREMRANGEBYLEX l (a (d", 2],
    ["ZRANGE l 0 -1", ["a", "d"]],
    ["ZREMRANGEBYLEX l a d", notLexRange],
    ["ZREMRANGEBYLEX l - +", 2],
    ["EXISTS l", 0],
  ]);
});

test("ZUNION, ZINTER and ZDIFF apply weights and aggregates, and treat sets as scores of 1", () => {
  const session = sessionWithSortedSet();
  session.run("ZADD y 10 b 20 c 30 d");
  session.run("SADD p a b");
  session.expect([
    ["ZUNION 2 z y WITHSCORES", ["a", double(1), "b", double(12), "c", double(23.5), "d", double(30)]],
    ["ZUNION 2 z y WEIGHTS 2 -1 WITHSCORES", ["d", double(-30), "c", double(-13), "b", double(-6), "a", double(2)]],
    ["ZUNION 2 z y AGGREGATE MAX", ["a", "b", "c", "d"]],
    ["ZINTER 2 z y WITHSCORES AGGREGATE min", ["b", double(2), "c", double(3.5)]],
    ["ZINTER 2 z p WITHSCORES", ["a", double(2), "b", double(3)]],
    // Redis 8.8.
    ["ZUNION 2 z y AGGREGATE COUNT WITHSCORES", ["a", double(1), "d", double(1), "b", double(2), "c", double(2)]],
    ["ZUNION 3 z y p AGGREGATE count WITHSCORES", ["d", double(1), "a", double(2), "c", double(2), "b", double(3)]],
    ["ZINTER 2 z y WEIGHTS 2 0.5 AGGREGATE COUNT WITHSCORES", ["b", double(2.5), "c", double(2.5)]],
    ["ZUNION 2 z y WEIGHTS inf -inf AGGREGATE COUNT", ["d", "b", "c", "a"]],
    [
      "ZUNION 2 z y AGGREGATE COUNT AGGREGATE MAX WITHSCORES",
      ["a", double(1), "b", double(10), "c", double(20), "d", double(30)],
    ],
    ["ZUNIONSTORE counts 3 z y p AGGREGATE COUNT", 4],
    ["ZRANGE counts 0 -1 WITHSCORES", ["d", double(1), "a", double(2), "c", double(2), "b", double(3)]],
    ["ZINTERSTORE counts 2 z y AGGREGATE COUNT", 2],
    ["ZSCORE counts b", double(2)],
    ["ZINTER 2 z none", []],
    ["ZDIFF 2 z y WITHSCORES", ["a", double(1)]],
    ["ZDIFF 2 p z", []],
    ["ZDIFF 1 p", ["a", "b"]],
    ["ZINTERCARD 2 z y", 2],
    ["ZINTERCARD 2 z y LIMIT 1", 1],
    ["ZINTERCARD 2 z y LIMIT 0", 2],
    ["ZINTERCARD 2 z y LIMIT -1", error("ERR LIMIT can't be negative")],
    ["ZINTERCARD 2 z y WITHSCORES", syntax],
    ["ZUNION 0 z", error("ERR at least 1 input key is needed for 'zunion' command")],
    ["ZINTER x z", notInteger],
    ["ZUNION 2 z", syntax],
    ["ZUNION 1 z WEIGHTS x", error("ERR weight value is not a float")],
    ["ZUNION 1 z WEIGHTS", syntax],
    ["ZUNION 1 z AGGREGATE avg", syntax],
    ["ZDIFF 1 z WEIGHTS 1", syntax],
    ["ZUNION 1 s", wrongType],
    ["ZUNION 1", arity("zunion")],
  ]);
});

test("infinities that cancel, and infinity times zero, are zero", () => {
  const session = startSession();
  session.run("ZADD i inf m");
  session.run("ZADD j -inf m");
  session.expect([
    ["ZUNION 2 i j WITHSCORES", ["m", double(0)]],
    ["ZUNION 1 i WEIGHTS 0 WITHSCORES", ["m", double(0)]],
  ]);
});

test("ZUNIONSTORE, ZINTERSTORE and ZDIFFSTORE replace the target", () => {
  const session = sessionWithSortedSet();
  session.run("ZADD y 10 b 20 c 30 d");
  session.expect([
    ["ZUNIONSTORE s 2 z y", 4],
    ["ZRANGE s 0 -1", ["a", "b", "c", "d"]],
    ["ZINTERSTORE s 2 z y WEIGHTS 0 1", 2],
    ["ZRANGE s 0 -1 WITHSCORES", ["b", double(10), "c", double(20)]],
    ["ZDIFFSTORE z 2 z y", 1],
    ["ZRANGE z 0 -1", ["a"]],
    ["ZDIFFSTORE s 2 z z", 0],
    ["EXISTS s", 0],
    ["ZUNIONSTORE s 1 z WITHSCORES", syntax],
    ["ZINTERSTORE s 0 z", error("ERR at least 1 input key is needed for 'zinterstore' command")],
    ["ZDIFFSTORE s 1", arity("zdiffstore")],
  ]);
});

test("ZRANDMEMBER draws distinct members for a positive count, and repeated ones for a negative count", () => {
  const session = sessionWithSortedSet();
  for (let round = 0; round < 50; round += 1) {
    assert.ok(["a", "b", "c"].includes(session.run("ZRANDMEMBER z") as string));
    assert.equal(new Set(session.run("ZRANDMEMBER z 2") as string[]).size, 2);
    assert.equal((session.run("ZRANDMEMBER z -7") as string[]).length, 7);
  }
  session.expect([
    ["ZRANDMEMBER z 9 WITHSCORES", ["a", double(1), "b", double(2), "c", double(3.5)]],
    ["ZRANDMEMBER z 0", []],
    ["ZRANDMEMBER none", nil],
    ["ZRANDMEMBER none 3", []],
    ["ZRANDMEMBER s", wrongType],
    ["ZRANDMEMBER z x", notInteger],
    ["ZRANDMEMBER z 1 x", syntax],
    ["ZRANDMEMBER z 9223372036854775807 WITHSCORES", error("ERR value is out of range")],
    ["ZRANDMEMBER z -9223372036854775807", error("ERR reply exceeds the maximum allowed size")],
  ]);
});

test("ZSCAN returns members with scores", () => {
  sessionWithSortedSet().expect([
    ["ZSCAN z 0", ["0", ["a", "1", "b", "2", "c", "3.5"]]],
    ["ZSCAN z 0 MATCH [ab] COUNT 100", ["0", ["a", "1", "b", "2"]]],
    ["ZADD z 1e17 d", 1],
    ["ZSCAN z 0 MATCH d", ["0", ["d", "100000000000000000"]]],
    ["ZSCAN none 0 nonsense", ["0", []]],
    ["ZSCAN z x", error("ERR invalid cursor")],
    ["ZSCAN z 0 NOVALUES", syntax],
    ["ZSCAN s 0", wrongType],
    ["ZSCAN z", arity("zscan")],
  ]);
});

test("a sorted set keeps its members when it outgrows the small form, and reports the encodings of Redis", () => {
  const session = startSession();
  for (let i = 0; i < 128; i += 1) session.call("ZADD", "z", `${i % 7}`, `m${i}`);
  session.expect([
    ["TYPE z", { kind: "simple", text: "zset" }],
    ["OBJECT ENCODING z", "listpack"],
    ["ZADD z 3 m128", 1],
    ["OBJECT ENCODING z", "skiplist"],
    ["ZREMRANGEBYRANK z 5 -1", 124],
    ["ZRANGE z 0 -1", ["m0", "m105", "m112", "m119", "m126"]],
    ["OBJECT ENCODING z", "skiplist"],
    ["COPY z y", 1],
    ["OBJECT ENCODING y", "skiplist"],
    ["ZUNIONSTORE z 1 z", 5],
    ["OBJECT ENCODING z", "listpack"],
  ]);
});

test("DUMP and RESTORE reproduce the sorted set", () => {
  const session = sessionWithSortedSet();
  const dumped = session.run("DUMP z") as string;
  assert.deepEqual(session.call("RESTORE", "copy", "0", dumped), ok);
  session.expect([["ZRANGE copy 0 -1 WITHSCORES", ["a", double(1), "b", double(2), "c", double(3.5)]]]);
});
