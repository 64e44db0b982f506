/**
 * Behaviour of the store that Redis 7.0 lacks or has differently, as in the official clients and
 * the hosted service (A.particulars). Each program begins with an
 * empty database; a line is words separated by blanks, and the answer in JSON.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { suiteSetting } from "../harness/cluster/suite-setting.ts";
import { startServer } from "../harness/server.ts";

type Line = readonly [command: string, answer: unknown];

const syntax = { error: "ERR syntax error" };
const wrongType = { error: "WRONGTYPE Operation against a key holding the wrong kind of value" };

const programs: readonly (readonly [fact: string, lines: readonly Line[]])[] = [
  [
    "A.particulars.set: SET accepts its options in any case, NX with GET, and conditions on the value or its digest",
    [
      ["SET k v Px 5000 nX gEt", null],
      ["SET k w NX GET", "v"],
      ["SET k w keepTtl xx", "OK"],
      ["TTL k", 5],
      ["SET k x keepTtl EX 5", syntax],
      ["SET none v IFEQ other", null],
      ["SET none v IFDEQ 0000000000000000", null],
      ["SET one v IFNE other", "OK"],
      ["SET two v IFDNE 0000000000000000", "OK"],
      ["DIGEST one", "f7042be43fb80714"],
      ["SET one w IFDEQ f7042be43fb80714 GET", "v"],
      ["SET one x IFEQ v", null],
      ["SET one x IFEQ v GET", "w"],
      ["GET one", "w"],
    ],
  ],
  [
    "A.particulars.digest: DIGEST and DELEX support strings; without a condition DELEX removes any key",
    [
      ["RPUSH list a", 1],
      ["DIGEST list", wrongType],
      ["DIGEST none", null],
      ["DELEX list IFEQ a", { error: "ERR Key should be of string type if conditions are specified" }],
      ["EXISTS list", 1],
      ["DELEX list", 1],
      ["DELEX list", 0],
    ],
  ],
  [
    "A.particulars.hash-expiry: expiry of fields has a code for each field, and HSET removes it",
    [
      ["HTTL none FIELDS 2 a b", [-2, -2]],
      ["HEXPIRE none 10 FIELDS 2 a b", [-2, -2]],
      ["HPERSIST none FIELDS 1 a", [-2]],
      ["HPEXPIRETIME none FIELDS 1 a", [-2]],
      ["HSET h a 1 b 2 c 3", 3],
      ["HEXPIRE h 100 FIELDS 2 a none", [1, -2]],
      ["HEXPIRE h 100 XX FIELDS 2 a b", [1, 0]],
      ["HSET h a 4", 0],
      ["HTTL h FIELDS 2 a b", [-1, -1]],
      ["HEXPIRE h 0 FIELDS 2 a b", [2, 2]],
      ["HPEXPIREAT h 1 FIELDS 1 c", [2]],
      ["EXISTS h", 0],
    ],
  ],
  [
    "A.particulars.expiry: a moment in milliseconds in the place of seconds is accepted; EXPIRETIME is rounded down",
    [
      ["HSET h a 1", 1],
      ["HEXPIREAT h 1900000000000 FIELDS 1 a", [1]],
      ["HEXPIRETIME h FIELDS 1 a", [281_474_976_710]],
      ["HPEXPIREAT h 1900000000999 FIELDS 1 a", [1]],
      ["HEXPIRETIME h FIELDS 1 a", [1_900_000_000]],
      ["SET k v PXAT 1900000000999", "OK"],
      ["EXPIRETIME k", 1_900_000_000],
      ["EXPIREAT k 1900000000000", 1],
      ["PEXPIRETIME k", 281_474_976_710_655],
    ],
  ],
  [
    "A.particulars.zrange-limit: ZRANGE and ZRANGESTORE also accept LIMIT by rank",
    [
      ["ZADD z 1 a 2 b 3 c", 3],
      ["ZRANGE z 0 -1 LIMIT 1 1", ["b"]],
      ["ZRANGE z 0 -1 REV LIMIT 0 2 WITHSCORES", ["c", "3", "b", "2"]],
      ["ZRANGE z 1 2 LIMIT 1 5", ["c"]],
      ["ZRANGESTORE to z 0 2 LIMIT 1 1", 1],
      ["ZRANGE to 0 -1", ["b"]],
    ],
  ],
  [
    "A.particulars.flat: scores are text, pairs are flat, and scores of positions exact",
    [
      ["ZADD z 0.1 a 1e300 b 1790000000000001 c", 3],
      ["ZSCORE z b", "1e+300"],
      ["ZRANGE z 0 -1 WITHSCORES", ["a", "0.1", "c", "1790000000000001", "b", "1e+300"]],
      ["ZPOPMIN z 2", ["a", "0.1", "c", "1790000000000001"]],
      ["GEOADD g 13.361389 38.115556 p", 1],
      ["ZSCORE g p", "3479099956230698"],
      ["GEOSEARCH g FROMMEMBER p BYRADIUS 1 KM", ["p"]],
      ["GEODIST g p p MI", "0.0000"],
    ],
  ],
  [
    "A.particulars.copy, A.particulars.unlink: COPY onto itself copies nothing, UNLINK without keys removes nothing",
    [
      ["SET k v", "OK"],
      ["COPY k k", 0],
      ["COPY k k REPLACE", 0],
      ["COPY none none", 0],
      ["UNLINK", 0],
      ["DEL", { error: "ERR wrong number of arguments for 'del' command" }],
    ],
  ],
  [
    "A.particulars.scan: SCAN filters by type, and knows names of types that no key has",
    [
      ["SET s v", "OK"],
      ["SCAN 0 WITHTYPE", ["0", ["s", "string"]]],
      ["SCAN 0 withtype TYPE hash", ["0", []]],
      ["SCAN 0 TYPE search", ["0", []]],
      ["SCAN 0 MATCH s COUNT 1", ["0", ["s"]]],
      ["JSON.SET j $ {}", "OK"],
      ["TYPE j", "ReJSON-RL"],
      ["SCAN 0 TYPE ReJSON-RL WITHTYPE", ["0", ["j", "ReJSON-RL"]]],
      ["SCAN x", { error: "ERR invalid cursor" }],
    ],
  ],
  [
    "A.particulars.wait: WAIT returns 0, since there are no replicas",
    [
      ["SET k v", "OK"],
      ["WAIT 1 10", 0],
      ["WAIT 0 0", 0],
      // A server without a journal has nothing on a disk.
      ["WAITAOF 0 0 0", suiteSetting() === undefined ? [0, 0] : [1, 0]],
    ],
  ],
  [
    "A.particulars.bits: bits as of Redis 8.2",
    [
      ["SET a abc", "OK"],
      ["SET b abd", "OK"],
      ["BITOP DIFF d a b", 3],
      ["BITOP DIFF1 d a b", 3],
      ["BITOP ANDOR d a b", 3],
      ["BITOP ONE d a b", 3],
      ["BITCOUNT d", 3],
      ["BITCOUNT a 0 11 BIT", 5],
      ["BITPOS a 1 2 23 BIT", 2],
      ["BITPOS a 1 2 -1 BYTE", 17],
    ],
  ],
  [
    "A.particulars.streams: references of Redis 8.2, the lag of groups, and streams and ids that do not match",
    [
      ["XADD s 1-1 f a", "1-1"],
      ["XADD s MAXLEN ~ 5 KEEPREF 2-1 f b", "2-1"],
      ["XADD s MAXLEN ~ 5 DELREF 3-1 f c", "3-1"],
      ["XGROUP CREATE s g 0", "OK"],
      [
        "XREADGROUP GROUP g c COUNT 2 STREAMS s >",
        [
          [
            "s",
            [
              ["1-1", ["f", "a"]],
              ["2-1", ["f", "b"]],
            ],
          ],
        ],
      ],
      [
        "XINFO GROUPS s",
        [["name", "g", "consumers", 1, "pending", 2, "last-delivered-id", "2-1", "entries-read", 2, "lag", 1]],
      ],
      ["XTRIM s MAXLEN = 2 ACKED", 0],
      ["XTRIM s MAXLEN = 2 DELREF", 1],
      ["XPENDING s g", [1, "2-1", "2-1", [["c", "1"]]]],
      ["XDELEX s ACKED IDS 1 2-1", [2]],
      ["XACKDEL s g KEEPREF IDS 2 2-1 9-9", [1, -1]],
      ["XRANGE s - +", [["3-1", ["f", "c"]]]],
      [
        "XREAD STREAMS s t 0",
        { error: "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified." },
      ],
    ],
  ],
  [
    "A.particulars.info: INFO, COMMAND and CONFIG return empty answers for unknown names",
    [
      ["INFO nope", ""],
      ["COMMAND INFO nope", [null]],
      ["CONFIG GET nope", []],
      ["CONFIG SET nope 1", { error: "ERR Unknown option or number of arguments for CONFIG SET - 'nope'" }],
      ["CONFIG GET notify-keyspace-events", ["notify-keyspace-events", ""]],
      ["CONFIG SET notify-keyspace-events KEA", "OK"],
      ["CONFIG GET notify-keyspace-events", ["notify-keyspace-events", "AKE"]],
    ],
  ],
  [
    "A.particulars.json-order: matches below a value come before the value",
    [
      ['JSON.SET j $ {"a":2,"b":3,"nested":{"a":4,"b":null}}', "OK"],
      ["JSON.GET j $..b", "[null,3]"],
      ["JSON.GET j $..a", "[4,2]"],
      ['JSON.SET i $ {"a":1,"nested":{"a":3}}', "OK"],
      ["JSON.MGET i j none $..a", ["[3,1]", "[4,2]", null]],
    ],
  ],
  [
    "A.particulars.json-paths: legacy paths return one value or an error, several paths return an object",
    [
      ['JSON.SET j $ {"a":2,"n":{"a":4.5}}', "OK"],
      ["JSON.GET j .n.a", "4.5"],
      ["JSON.GET j n", '{"a":4.5}'],
      ["JSON.GET j .none", { error: "ERR Path '.none' does not exist" }],
      ["JSON.GET j $.none", "[]"],
      ["JSON.GET j .a .n", '{".a":2,".n":{"a":4.5}}'],
      ["JSON.GET j $.a .n", '{"$.a":[2],".n":[{"a":4.5}]}'],
      ["JSON.TYPE j $..a", ["number", "integer"]],
      ["JSON.NUMINCRBY j .a 1", "3"],
      ["JSON.NUMMULTBY j $..a 2", "[9.0,6]"],
      ["JSON.NUMINCRBY j $.* 1", "[7,null]"],
    ],
  ],
  [
    "A.particulars.json-set: one missing level is created, two are an error, booleans toggle to 0 and 1, and cleared values are counted",
    [
      ["JSON.SET j $ {}", "OK"],
      ["JSON.SET j $.a.b 1", { error: "ERR Path '$.a.b' does not exist" }],
      ["JSON.SET j $.a.b 1 XX", null],
      ['JSON.SET j $.a {"b":true}', "OK"],
      ["JSON.TOGGLE j $.a.b", [0]],
      ["JSON.TOGGLE j $.a.b", [1]],
      ['JSON.SET j $ {"o":{"x":1},"l":[1],"s":"t","t":true,"i":42,"f":3.5}', "OK"],
      ["JSON.CLEAR j $.*", 4],
      ["JSON.GET j", '{"o":{},"l":[],"s":"t","t":true,"i":0,"f":0}'],
      ["JSON.CLEAR j $.*", 0],
    ],
  ],
];

for (const [fact, lines] of programs)
  test(fact, async () => {
    await using server = await startServer();
    for (const [line, answer] of lines) {
      const reply = await server.post("/", line.split(" "));
      const isError = typeof answer === "object" && answer !== null && "error" in answer;
      assert.deepEqual(reply.json, isError ? answer : { result: answer }, line);
      assert.equal(reply.status, isError ? 400 : 200, line);
    }
  });

test("A.particulars.trim: a stream of 300 entries that is trimmed to nearly 30 keeps 29 to 31", async () => {
  await using server = await startServer();
  const entries = Array.from({ length: 300 }, (_, i) => ["XADD", "s", `${i + 1}-1`, "f", "v"]);
  await server.post("/pipeline", entries);

  const { json } = await server.post("/", ["XTRIM", "s", "MAXLEN", "~", "30"]);

  const { result: length } = (await server.get("/xlen/s")).json as { result: number };
  assert.ok(length >= 29 && length <= 31, `${length} entries are left`);
  assert.deepEqual(json, { result: 300 - length });
});

test("A.particulars.json-numbers: integers of 64 bits are exact in JSON documents, and 1 is not 1.0", async () => {
  await using server = await startServer();
  await server.post("/", ["JSON.SET", "j", "$", "[9223372036854775807,-9223372036854775808,1,1.0]"]);

  assert.deepEqual((await server.get("/json.get/j")).json, {
    result: "[9223372036854775807,-9223372036854775808,1,1.0]",
  });
  assert.deepEqual((await server.post("/", ["JSON.TYPE", "j", "$.*"])).json, {
    result: ["integer", "integer", "integer", "number"],
  });
  assert.deepEqual((await server.post("/", ["JSON.NUMINCRBY", "j", "$[1]", 1])).json, {
    result: "[-9223372036854775807]",
  });
});
