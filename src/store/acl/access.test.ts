/**
 * Attempts to exceed a user's rights, one by one (threats A-04, A-05): each line
 * in every spelling, alone, in a pipeline, in a transaction and from a script.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ok, plainReply, type Session, splitLine, startSession } from "../../../test/harness/store-harness.ts";
import { stateOf } from "../../../test/simulation/store/store-state.ts";
import { CommandError, TransactionDiscarded } from "../errors.ts";
import { findError } from "../reply/reply.ts";
import type { Caller } from "../session/caller.ts";

const REFUSED = /^NOPERM this user has no permissions to /;

/** The keys before each line. */
const contents: readonly string[] = [
  "SET secret s",
  "SET app:s v",
  "RPUSH app:list 3 1 2",
  "RPUSH secret:list x",
  "SADD app:set m",
  "ZADD app:zset 1 m",
  "HSET app:hash f v",
  "GEOADD app:geo 1 2 m",
  "XADD app:stream 1-1 f v",
  "XGROUP CREATE app:stream g 0",
  "XADD secret:stream 1-1 f v",
  "XGROUP CREATE secret:stream g 0",
  "SET weight_1 7",
  "JSON.SET app:json $ 1",
  "JSON.SET secret:json $ 1",
];

/** May do anything with its own keys and channels. */
const OWN_KEYS = "on nopass +@all -@admin -@dangerous +sort +sort_ro ~app:* &app:*";
/** May read its own keys, and write nothing. */
const OWN_READS = "on nopass +@all %R~app:* &app:*";
/** May read all keys and store results in some. */
const FORWARDER = "on nopass +@all -@scripting %R~* %W~out:*";
/** May run all reads. */
const READER = "on nopass +@read -@dangerous ~*";
/** May do one thing with one key, and another with another. */
const SELECTORS = "on nopass -@all (+get ~app:s) (+set %W~out:s)";
/** May run all writes but those of JSON. */
const NO_JSON = "on nopass +@all -@json ~*";

const escapes: readonly (readonly [rules: string, lines: readonly string[]])[] = [
  [
    OWN_KEYS,
    [
      "GET secret",
      "GET app",
      'GET "\\x00app:s"',
      "MGET app:s secret",
      "STRLEN secret",
      "EXISTS secret",
      "EXISTS app:s secret",
      "TYPE secret",
      "TTL secret",
      "DUMP secret",
      "OBJECT ENCODING secret",
      "MEMORY USAGE secret",
      "TOUCH secret",
      "COPY secret app:t",
      "COPY app:s secret REPLACE",
      "RENAME secret app:t",
      "RENAME app:s secret",
      "RENAMENX app:s other",
      "SMOVE app:set secret m",
      "LMOVE secret:list app:list LEFT LEFT",
      "LMOVE app:list secret:list LEFT LEFT",
      "RPOPLPUSH app:list secret:list",
      "LMPOP 2 app:none secret:list LEFT",
      "SINTERSTORE app:t app:set secret",
      "SUNIONSTORE secret app:set",
      "SINTERCARD 2 app:set secret",
      "ZUNIONSTORE app:t 2 app:zset secret",
      "ZUNIONSTORE secret 1 app:zset",
      "ZRANGESTORE secret app:zset 0 -1",
      "ZDIFF 2 app:zset secret",
      "BITOP OR secret app:s",
      "BITOP OR app:t secret",
      "PFMERGE secret",
      "PFMERGE app:p secret",
      "SORT secret:list",
      "SORT app:list STORE secret",
      "SORT app:list LIMIT 0 1 STORE secret",
      "SORT app:list STORE app:t STORE secret",
      "SORT app:list STORE limit STORE secret",
      "GEORADIUS app:geo 1 2 100 km STORE secret",
      "GEORADIUS app:geo 1 2 100 km STOREDIST secret",
      "GEORADIUS app:geo 1 2 100 km STORE app:t STORE secret",
      "GEORADIUS app:geo 1 2 100 km STORE app:t STOREDIST app:t STORE secret",
      "GEORADIUSBYMEMBER app:geo m 1 km STORE secret",
      "GEOSEARCHSTORE secret app:geo FROMMEMBER m BYRADIUS 1 km",
      "XREAD STREAMS app:stream secret:stream 0 0",
      "XREAD COUNT 1 STREAMS secret:stream 0",
      "XREADGROUP GROUP g c STREAMS secret:stream >",
      "XREADGROUP GROUP app:STREAMS app:c STREAMS secret:stream >",
      "XREADGROUP COUNT 1 GROUP STREAMS app:c STREAMS secret:stream >",
      "XINFO STREAM secret:stream",
      "XGROUP CREATE secret:stream h 0",
      "XAUTOCLAIM secret:stream g c 0 0",
      "MSET app:a 1 secret 2",
      "MSETNX app:a 1 secret 2",
      "MSETEX 2 app:a 1 secret 2 EX 10",
      "JSON.GET secret:json",
      "JSON.MGET app:json secret:json $",
      "JSON.MSET app:json $ 1 secret:json $ 1",
      "JSON.DEBUG MEMORY secret:json",
      "EVAL 'return 1' 1 secret",
      "EVAL 'return 1' 2 app:s secret",
      "PUBLISH secret m",
      "PUBLISH app m",
      "FLUSHALL",
      "KEYS *",
      "CONFIG GET *",
      "INFO",
      "ACL SETUSER ann allkeys",
      "ACL SETUSER new on nopass +@all ~*",
      "ACL LIST",
      "ACL RESTTOKEN default x",
    ],
  ],
  [
    OWN_READS,
    [
      "SET app:s w",
      "SET app:s w GET",
      "APPEND app:s w",
      "GETSET app:s w",
      "GETDEL app:s",
      "GETEX app:s EX 10",
      "INCR app:n",
      "SETRANGE app:s 0 x",
      "SETBIT app:s 0 1",
      "BITFIELD app:s SET u8 0 1",
      "BITFIELD app:s GET u8 0 INCRBY u8 0 1",
      "DEL app:s",
      "UNLINK app:s",
      "EXPIRE app:s 10",
      "PERSIST app:s",
      "COPY app:s app:t",
      "RENAME app:s app:t",
      "SPOP app:set",
      "SADD app:set n",
      "LPOP app:list",
      "LSET app:list 0 x",
      "SORT app:list STORE app:t",
      "GEORADIUS app:geo 1 2 100 km STORE app:t",
      "HSET app:hash f w",
      "HINCRBY app:hash n 1",
      "HGETDEL app:hash FIELDS 1 f",
      "HEXPIRE app:hash 10 FIELDS 1 f",
      "XADD app:stream * f v",
      "XDEL app:stream 1-1",
      "XACK app:stream g 1-1",
      "XAUTOCLAIM app:stream g c 0 0",
      "XCLAIM app:stream g c 0 1-1",
      "RESTORE app:t 0 x",
      "PFADD app:p e",
      "JSON.SET app:json $ 2",
      "JSON.DEL app:json",
      "JSON.NUMINCRBY app:json $ 1",
      "JSON.CLEAR app:json",
      "JSON.TOGGLE app:json $",
      "EVAL 'return 1' 1 app:s",
    ],
  ],
  [
    FORWARDER,
    [
      "SET secret x",
      "COPY secret other",
      "COPY out:a secret",
      "RENAME secret out:a",
      "LMOVE secret:list out:list LEFT LEFT",
      "SORT app:list STORE secret",
      "GETDEL secret",
      "EVAL 'return 1' 0",
      "FUNCTION LOAD x",
    ],
  ],
  [
    READER,
    [
      "SET k v",
      "DEL secret",
      "GETDEL secret",
      "GETEX secret",
      "SORT app:list",
      "SORT app:list STORE app:list",
      "GEORADIUS app:geo 1 2 1 km",
      "BITFIELD app:s GET u8 0",
      "XREADGROUP GROUP g c STREAMS app:stream >",
      "EVAL 'return 1' 0",
      "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
      "EVAL_RO 'return 1' 0",
      "FCALL f 0",
      "FCALL_RO f 0",
      "SCRIPT LOAD 'return 1'",
      "SCRIPT FLUSH",
      "FUNCTION FLUSH",
      "PUBLISH c m",
      "PING",
      "KEYS *",
      "FLUSHDB",
      "CONFIG SET notify-keyspace-events A",
      "ACL WHOAMI",
      "COMMAND COUNT",
    ],
  ],
  [SELECTORS, ["GET out:s", "SET app:s v", "SET out:s v GET", "SET out:s v get ex 10", "DEL out:s", "GET secret"]],
  [NO_JSON, ["JSON.GET secret:json", "JSON.SET app:json $ 2", "JSON.DEBUG MEMORY app:json", "JSON.DEBUG HELP"]],
];

interface Attempt {
  readonly session: Session;
  readonly caller: Caller;
}

function attempt(rules: string): Attempt {
  const session = startSession();
  for (const line of contents) session.run(line);
  session.expect([[`ACL SETUSER ann ${rules}`, ok]]);
  const ann = session.database.users.find("ann");
  assert.ok(ann !== undefined);
  return { session, caller: { user: ann, transport: "http", address: "127.0.0.1:1" } };
}

/** The name in lower case, upper case and mixed; subcommands too. */
function spellings(line: string): readonly (readonly string[])[] {
  const words = splitLine(line);
  const [name = "", ...rest] = words;
  const mixed = [...name].map((letter, at) => (at % 2 === 0 ? letter.toLowerCase() : letter.toUpperCase())).join("");
  return [name.toLowerCase(), name.toUpperCase(), mixed].map((spelled) => [spelled, ...rest]);
}

function textOf(attempt: Attempt, words: readonly string[]): string | undefined {
  return findError(plainReply(attempt.session.database.execute(attempt.caller, words)))?.text;
}

for (const [rules, lines] of escapes) {
  test(`A-05: no command exceeds ${rules}`, () => {
    const tried = attempt(rules);
    const { session, caller } = tried;
    const { database, store } = session;
    const before = stateOf(store);
    for (const line of lines) {
      for (const words of spellings(line)) {
        assert.match(textOf(tried, words) ?? "it ran", REFUSED, line);
        const replies = database.pipeline(caller, [words, ["ECHO", "x"]]);
        assert.ok(Array.isArray(replies));
        assert.match(findError(replies[0])?.text ?? "it ran", REFUSED, `${line} in a pipeline`);
        assert.throws(
          () => database.transaction(caller, [words]),
          (thrown: unknown) => thrown instanceof TransactionDiscarded && REFUSED.test(thrown.message),
          `${line} in a transaction`,
        );
      }
      const script = splitLine(line).map((word) => `"${[...word].map((byte) => `\\${byte.charCodeAt(0)}`).join("")}"`);
      const inScript = textOf(tried, ["EVAL", `return redis.call(${script.join(",")})`, "0"]);
      assert.match(
        inScript ?? "it ran",
        /NOPERM|The user executing the script can't|not allowed from script/,
        `${line} in a script`,
      );
    }
    assert.equal(stateOf(store), before, "nothing has changed");
  });
}

/** What the same users may do. */
const permitted: readonly (readonly [rules: string, lines: readonly string[]])[] = [
  [
    OWN_KEYS,
    [
      "GET app:s",
      "SET app:t v",
      "COPY app:s app:u",
      "SORT app:list STORE app:sorted",
      "ZUNIONSTORE app:z 1 app:zset",
      "GEORADIUS app:geo 1 2 100 km STORE app:near",
      "XREADGROUP GROUP g c STREAMS app:stream >",
      "PUBLISH app:news m",
      "SCAN 0",
      "DBSIZE",
      "EVAL 'return redis.call(\"GET\", KEYS[1])' 1 app:s",
      'EVAL \'return redis.call("GET", "app:s")\' 0',
    ],
  ],
  [
    OWN_READS,
    [
      "GET app:s",
      "STRLEN app:s",
      "LRANGE app:list 0 -1",
      "BITFIELD app:s GET u8 0",
      "SORT app:list",
      "XREAD STREAMS app:stream 0",
    ],
  ],
  [FORWARDER, ["GET secret", "COPY secret out:a", "SET out:b v", "SORT app:list STORE out:c", "STRLEN out:b"]],
  [READER, ["GET secret", "JSON.GET secret:json", "XREAD STREAMS secret:stream 0"]],
  [SELECTORS, ["GET app:s", "SET out:s v"]],
  [NO_JSON, ["GET secret", "FLUSHALL", "ACL WHOAMI"]],
];

test("A-05: users may do what their rules allow", () => {
  for (const [rules, lines] of permitted) {
    const tried = attempt(rules);
    for (const line of lines) assert.equal(textOf(tried, splitLine(line)), undefined, `${rules}: ${line}`);
  }
});

test("A-05: BY and GET of SORT read keys only for users that may read all keys", () => {
  const by = "ERR BY option of SORT denied due to insufficient ACL permissions.";
  const get = "ERR GET option of SORT denied due to insufficient ACL permissions.";
  const rows: readonly (readonly [rules: string, line: string, error: string | undefined])[] = [
    ["+@all ~app:*", "SORT app:list BY weight_*", by],
    ["+@all ~app:*", "SORT app:list GET weight_*", get],
    ["+@all ~app:*", "SORT app:list BY app:* GET app:*", by],
    ["+@all ~app:*", "SORT_RO app:list GET weight_*", get],
    ["+@all ~app:*", "SORT app:list BY nosort GET #", undefined],
    ["+@all %R~* ~app:*", "SORT app:list BY weight_* GET weight_*", undefined],
    ["+@all %W~* ~app:*", "SORT app:list GET weight_*", get],
    ["+@all ~*", "SORT app:list GET weight_*", undefined],
    ["+@all ~app:* (+get ~*)", "SORT app:list GET weight_*", get],
    ["+@all ~app:* (+sort ~*)", "SORT app:list GET weight_*", undefined],
  ];
  for (const [rules, line, error] of rows) {
    const tried = attempt(`on nopass ${rules}`);
    assert.equal(textOf(tried, splitLine(line)), error, `${rules}: ${line}`);
    const inTransaction = tried.session.database.transaction(tried.caller, [splitLine(line)]);
    assert.ok(Array.isArray(inTransaction));
    assert.equal(findError(inTransaction[0])?.text, error, `${rules}: ${line} in a transaction`);
  }
});

/** Event streams need the rights of a session: SUBSCRIBE matches patterns, PSUBSCRIBE compares them literally. */
const listening: readonly (readonly [rules: string, words: readonly string[], isAllowed: boolean])[] = [
  ["+@all allchannels", ["subscribe", "a"], true],
  ["+@all", ["subscribe", "a"], false],
  ["+@all &app:*", ["subscribe", "app:x"], true],
  ["+@all &app:*", ["subscribe", "app:x", "other"], false],
  ["+@all -subscribe allchannels", ["subscribe", "a"], false],
  ["+subscribe allchannels", ["subscribe", "a"], true],
  ["+subscribe allchannels", ["psubscribe", "a"], false],
  ["+@all &app:*", ["psubscribe", "app:*"], true],
  ["+@all &app:*", ["psubscribe", "app:x*"], false],
  ["+@all &app:*", ["psubscribe", "*"], false],
  ["+@all &a &b", ["psubscribe", "[ab]"], false],
  ["+@all allchannels", ["psubscribe", "*"], true],
  ["+@all ~* &*", ["monitor"], true],
  ["+@all -@admin ~* &*", ["monitor"], false],
  ["+monitor", ["monitor"], true],
];

test("A-05: event streams need the rights of the equivalent commands", () => {
  for (const [rules, words, isAllowed] of listening) {
    const { session, caller } = attempt(`on nopass ${rules}`);
    const check = (): void => session.database.checkListening(caller, words);
    if (isAllowed) assert.doesNotThrow(check, `${rules}: ${words.join(" ")}`);
    else
      assert.throws(
        check,
        (thrown: unknown) => thrown instanceof CommandError && REFUSED.test(thrown.text),
        `${rules}: ${words.join(" ")}`,
      );
  }
});

test("A-05: a change of rights applies from the next command on, also to existing sessions", () => {
  const tried = attempt("on nopass +@all ~*");
  assert.equal(textOf(tried, ["GET", "secret"]), undefined);
  tried.session.run("ACL SETUSER ann -get");
  assert.match(textOf(tried, ["GET", "secret"]) ?? "it ran", REFUSED);
  tried.session.run("ACL SETUSER ann +get resetkeys");
  assert.match(textOf(tried, ["GET", "secret"]) ?? "it ran", REFUSED);
});
