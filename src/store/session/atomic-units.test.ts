/**
 * A stopped unit changes nothing: one unit for each kind of record, stopped at its end, and what else it could leave.
 * Random units: test/simulation/store/undone-units.test.ts.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { settled, startSessions } from "../../../test/harness/session-harness.ts";
import { error, nil, ok, testCaller } from "../../../test/harness/store-harness.ts";
import { endlessScript, isStopped, Subject } from "../../../test/simulation/store/undone-units.ts";
import type { CommandRequest } from "../command-facts.ts";
import { mutations, stateMutations } from "../mutations/table.ts";
import type { Push } from "../observe/pushes.ts";
import { findError, type Reply, simple } from "../reply/reply.ts";

const NOW_MS = 1_800_000_000_000;

/** The words of a line; code of a library is one. */
function words(line: string): CommandRequest {
  const [commands = "", ...code] = line.split(" #!");
  return [...commands.split(" "), ...code.map((text) => `#!${text}`)];
}

function many(count: number, one: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => one(index)).join(" ");
}

const LIBRARY = "#!lua name=lib\nredis.register_function('f', function() return 1 end)";
const OTHER_LIBRARY = "#!lua name=other\nredis.register_function('g', function() return 1 end)";

/** What exists before each unit: every type in the form for few and for many elements. */
const before: readonly CommandRequest[] = [
  words("SET s short"),
  ["SET", "long", "x".repeat(5_000)],
  words("PEXPIREAT s 1800000100000"),
  words("HSET h a 1 b 2"),
  words(`HSET hh ${many(300, (index) => `f${index} ${index}`)}`),
  words("HPEXPIREAT hh 1800000050000 FIELDS 1 f7"),
  words("RPUSH l a b c b"),
  words(`RPUSH ll ${many(500, (index) => `e${index % 9}`)}`),
  words("SADD set a b"),
  words("SADD ints 1 2 3"),
  words(`SADD sets ${many(300, (index) => `m${index}`)}`),
  words("ZADD z 1 a 2 b"),
  words(`ZADD zz ${many(300, (index) => `${index} m${index}`)}`),
  words(`PFADD pf ${many(3_000, (index) => `${index}`)}`),
  ["JSON.SET", "j", "$", '{"a":[1,2,3,4,5],"o":{"x":"text","y":{"deep":1},"z":2},"n":1}'],
  ["JSON.SET", "jj", "$", `{"m":{${many(40, (index) => `"n${index}":${index}`).replaceAll(" ", ",")}}}`],
  ...Array.from({ length: 250 }, (_, index) => words(`XADD x ${index + 1}-1 field value${index}`)),
  words("XGROUP CREATE x g 0"),
  words("XREADGROUP GROUP g alice COUNT 9 STREAMS x >"),
  words("XGROUP CREATECONSUMER x g idle"),
  ["FUNCTION", "LOAD", LIBRARY],
  words("ACL SETUSER ann on >secret ~a* +get"),
  // Without documents: their order, which is not undone, is in the content of the store.
  words("SEARCH.CREATE index ON HASH PREFIX 1 none SCHEMA a TEXT b U64 FAST"),
  words("SEARCH.ALIASADD alias index"),
];

/** For each kind of record, units that write it. */
const units: Readonly<Record<string, readonly string[][]>> = {
  "1 remove-key": [["DEL s"], ["DEL hh ll"], ["GETDEL s"], ["SPOP set 2"], ["UNLINK x"]],
  "2 expire-key": [["GET s"]],
  "3 set-expiry": [["PEXPIREAT s 1800000200000"], ["EXPIREAT long 1900000000"]],
  "4 clear-expiry": [["PERSIST s"]],
  "5 rename-key": [["RENAME hh s"], ["RENAME l new"], ["RENAME hh new", "HSET new f1 changed"]],
  "6 copy-key": [["COPY hh s REPLACE"], ["COPY x new", "XADD new * f v"]],
  "7 clear-keyspace": [["FLUSHALL"], ["FLUSHDB", "SET s again"]],
  "8 evict-key": [["CONFIG SET maxmemory-policy allkeys-random", "CONFIG SET maxmemory 1"]],
  "20 put-string": [["SET s v"], ["SET hh v"], ["SET new v", "SET new w"], ["MSET s 1 new 2"]],
  "21 put-string-until": [["SET s v PXAT 1800000900000"], ["SETEX new 100 v"]],
  "22 replace-string": [["SET s v KEEPTTL"], ["INCR new", "INCR new", "INCR s2", "INCR new"]],
  "23 append-string": [["APPEND s more"], ["APPEND long more"], ["APPEND new more", "APPEND new more"]],
  "24 set-string-range": [["SETRANGE s 2 xx"], ["SETRANGE long 4990 a-longer-text"], ["SETBIT long 8 1"]],
  "40 put-field": [
    ["HSET h a 9 c 3"],
    ["HSET hh f1 9 new 3"],
    ["HSET hh f7 9"],
    [`HSET h ${many(200, (i) => `n${i} ${i}`)}`],
  ],
  "41 replace-field": [["HINCRBY h a 5"], ["HINCRBY hh f7 5"]],
  "42 remove-field": [["HDEL h a b"], ["HDEL hh f1 f250 f7"]],
  "43 expire-field": [["HGET hh f7"]],
  "44 set-field-expiry": [["HPEXPIREAT hh 1800000070000 FIELDS 2 f7 f8"], ["HPEXPIREAT h 1800000070000 FIELDS 1 a"]],
  "45 clear-field-expiry": [["HPERSIST hh FIELDS 1 f7"]],
  "60 push-elements": [
    ["RPUSH l x y", "LPUSH l z"],
    ["RPUSH ll x y", "LPUSH ll z w"],
  ],
  "61 pop-elements": [["LPOP l 2"], ["LPOP l 9"], ["RPOP ll 200", "LPOP ll", "LPOP ll 299"]],
  "62 insert-element": [["LINSERT l BEFORE b x"], ["LINSERT ll AFTER e5 x"]],
  "63 set-element": [["LSET l 1 x"], ["LSET ll 250 x"]],
  "64 remove-elements": [["LREM l -1 b"], ["LREM ll 100 e5", "LREM ll -20 e3"]],
  "65 trim-list": [["LTRIM l 1 2"], ["LTRIM ll 100 399"], ["LTRIM ll 9 1"]],
  "66 move-element": [["LMOVE l ll LEFT RIGHT"], ["LMOVE ll ll LEFT RIGHT"], ["RPOPLPUSH l l"]],
  "67 put-list": [["SORT set ALPHA STORE l"]],
  "80 add-members": [["SADD set c"], ["SADD ints x"], ["SADD sets new"], [`SADD set ${many(200, (i) => `n${i}`)}`]],
  "81 remove-members": [["SREM set a"], ["SREM ints 1 2 3"], ["SREM sets m0 m299 m7"]],
  "82 put-set": [["SUNIONSTORE set sets ints"], ["SINTERSTORE new sets sets"]],
  "100 put-members": [["ZADD z 9 a 3 c"], ["ZADD zz 9 m200 3 new"], [`ZADD z ${many(200, (i) => `${i} n${i}`)}`]],
  "101 remove-members": [["ZREM z a"], ["ZREM zz m0 m299"], ["ZREM z a b"]],
  "102 remove-ranks": [["ZREMRANGEBYRANK z 0 0"], ["ZREMRANGEBYRANK zz 5 250"], ["ZPOPMIN zz 3"]],
  "103 store-sorted-set": [["ZUNIONSTORE z 2 z zz"], ["ZRANGESTORE new zz 0 9"]],
  "120 raise-registers": [["PFADD pf new1", "PFADD pf new2 new3"], ["PFADD new a b"]],
  "160 put-document": [["JSON.SET new $ [1]", "JSON.ARRAPPEND new $ 2"]],
  "161 set-node": [
    ["JSON.SET j $ 5"],
    ["JSON.SET j $.n 2"],
    ["JSON.SET j $.o.new 2"],
    ["JSON.NUMINCRBY j $.n 2"],
    ["JSON.SET jj $.m.new 2"],
  ],
  "162 insert-elements": [["JSON.ARRAPPEND j $.a 6 7"], ["JSON.ARRINSERT j $.a 1 6 7"]],
  "163 remove-elements": [["JSON.ARRPOP j $.a 1"], ["JSON.DEL j $.a[1,3]"], ["JSON.DEL j $.a[*]"]],
  "164 remove-members": [["JSON.DEL j $.o.x"], ["JSON.DEL jj $.m.n7"], ["JSON.DEL j $.o.y.deep", "JSON.DEL j $.o"]],
  "165 trim-elements": [["JSON.ARRTRIM j $.a 1 3"], ["JSON.ARRTRIM j $.a 9 1"]],
  "166 append-text": [['JSON.STRAPPEND j $.o.x "more"']],
  "167 merge-node": [
    ['JSON.MERGE j $ {"n":null,"o":{"x":null,"y":{"deep":2},"new":1},"a":3}'],
    ['JSON.MERGE jj $.m {"n7":null,"q":1}'],
  ],
  "130 add-entry": [["XADD x 900-1 f v", "XADD x 900-2 f v"], ["XADD new 1-1 f v"]],
  "131 trim-entries": [["XTRIM x MAXLEN 100"], ["XTRIM x MAXLEN 100 DELREF", "XADD x 900-1 f v"]],
  "132 remove-entries": [
    ["XDEL x 1-1 2-1 120-1 250-1"],
    ["XDELEX x DELREF IDS 2 2-1 3-1"],
    ["XDEL x 250-1", "XADD x 900-1 f v"],
  ],
  "133 set-stream-state": [["XSETID x 999-1 ENTRIESADDED 1000 MAXDELETEDID 5-5"]],
  "134 put-group": [
    ["XGROUP CREATE x new 0"],
    ["XREADGROUP GROUP g bob NOACK STREAMS x >"],
    ["XGROUP SETID x g 50-1"],
    ["XGROUP CREATE new g 0 MKSTREAM"],
  ],
  "135 remove-group": [["XGROUP DESTROY x g"]],
  "136 add-consumer": [["XGROUP CREATECONSUMER x g bob"]],
  "137 remove-consumer": [["XGROUP DELCONSUMER x g alice"]],
  "142 deliver-counted": [
    ["XREADGROUP GROUP g alice COUNT 5 STREAMS x >"],
    ["XREADGROUP GROUP g bob COUNT 5 STREAMS x >", "XACK x g 10-1"],
  ],
  "143 note-active": [["XCLAIM x g idle 0 2-1 3-1"], ["XAUTOCLAIM x g idle 0 0"]],
  "139 assign-entries": [["XCLAIM x g bob 0 2-1 3-1"], ["XAUTOCLAIM x g bob 0 0"]],
  "140 acknowledge-entries": [["XACK x g 1-1 2-1"]],
  "141 note-seen": [["XREADGROUP GROUP g idle STREAMS x 0"]],
  "170 put-library": [[`FUNCTION LOAD ${OTHER_LIBRARY}`], [`FUNCTION LOAD REPLACE ${LIBRARY}`]],
  "171 delete-library": [["FUNCTION DELETE lib"]],
  "172 flush-libraries": [["FUNCTION FLUSH", `FUNCTION LOAD ${OTHER_LIBRARY}`]],
  "190 choose-setting": [["CONFIG SET notify-keyspace-events KEA slowlog-max-len 7", "CONFIG SET slowlog-max-len 8"]],
  "200 put-search-definition": [
    ["SEARCH.CREATE new ON STRING PREFIX 1 s SCHEMA a TEXT"],
    ["DEL index", "SEARCH.CREATE index ON JSON PREFIX 1 j SCHEMA n U64", "SEARCH.COUNT index {}"],
    ["FLUSHALL", "SEARCH.CREATE index ON HASH PREFIX 1 h SCHEMA a TEXT"],
  ],
  "202 put-search-alias": [["SEARCH.ALIASADD alias other"], ["SEARCH.ALIASADD new index", "FLUSHALL"]],
  "203 remove-search-alias": [["SEARCH.ALIASDEL alias"]],
  "180 user": [["ACL SETUSER ann off"], ["ACL SETUSER bob on nopass", "ACL SETUSER ann +set"]],
  "181 user-deleted": [["ACL DELUSER ann"], ["ACL DELUSER ann", "ACL SETUSER ann on nopass"]],
  "182 user-token-secret": [["ACL GENTOKEN ann"]],
};

/** Records of these kinds are written when their time has come. */
const lateRows: ReadonlySet<string> = new Set(["2 expire-key", "43 expire-field", "141 note-seen"]);
const EVICTION_ROW = "8 evict-key";
/** Kinds of record that no command writes any more, and those that come before a snapshot. */
const formerRows: readonly string[] = ["138 deliver-entries", "201 put-search-order"];
/** Written only for a whole value that comes as a dump. */
const WHOLE_ROW = "104 open-large-sorted-set";

function open(): Subject {
  const subject = new Subject();
  for (const command of before)
    assert.equal(findError(subject.run([command])[0] as Reply), undefined, command.join(" "));
  return subject;
}

/** The kinds of record that a transaction writes, which is stopped at its end. */
function stoppedCodes(subject: Subject, commands: readonly CommandRequest[]): ReadonlySet<number> {
  const codes = new Set<number>();
  const { frame } = subject.database.context;
  const record = frame.record.bind(frame);
  frame.record = (tenantNumber, code) => {
    codes.add(code);
    return record(tenantNumber, code);
  };
  const replies = subject.run([...commands, endlessScript([])]);
  frame.record = record;
  assert.ok(isStopped(replies));
  return codes;
}

test("A-10: every kind of record is undone when its unit is stopped", () => {
  const rows = [...mutations, ...stateMutations].map(({ code, name }) => ({ code, row: `${code} ${name}` }));
  assert.deepEqual([...Object.keys(units), ...formerRows, WHOLE_ROW].toSorted(), rows.map(({ row }) => row).toSorted());
  const common = open();
  for (const { code, row } of rows) {
    if (formerRows.includes(row)) continue;
    // The time stays, and so does what the eviction has learnt of keys.
    const subject = lateRows.has(row) || row === EVICTION_ROW ? open() : common;
    if (lateRows.has(row)) subject.clock.wallMs = NOW_MS + 500_000;
    const dump = subject.run([["DUMP", "zz"]])[0] as Buffer;
    const examples = units[row]?.map((lines) => lines.map(words)) ?? [[["RESTORE", "new", "0", dump.latin1Slice()]]];
    for (const commands of examples) {
      const state = subject.state();
      const codes = stoppedCodes(subject, commands);
      assert.ok(codes.has(code), `${row}: ${commands.join("; ")} writes ${[...codes]}`);
      assert.deepEqual(subject.state(), state, `${row}: ${commands.join("; ")}`);
    }
  }
});

const ENDLESS = ["EVAL", "while true do end", "0"];

// A4.stopped
test("a stopped script is undone with the transaction around it, which has one reply", () => {
  const subject = open();
  const [reply] = subject.run([["SET", "s", "changed"], ENDLESS, ["SET", "new", "v"]]);
  assert.equal(
    findError(reply as Reply)?.text,
    "ERR Script ran for more than 30 ms and was stopped; the transaction was undone",
  );
  assert.deepEqual(subject.run([["MGET", "s", "new"]]), [["short", nil]]);
});

test("a stopped EXEC answers one error, and the connection goes on", () => {
  const { connect } = startSessions({ undoBytesMax: 400 });
  const refusal =
    "EXECABORT Transaction discarded because of: Script or transaction exceeds --max-undo-size (400 bytes) and was stopped";
  connect().expect([
    ["SET k v", ok],
    ["MULTI", ok],
    ["SET k changed", simple("QUEUED")],
    ["SET l v", simple("QUEUED")],
    ["SET m v", simple("QUEUED")],
    ["EXEC", error(`${refusal}; the transaction was undone`)],
    ["MGET k l m", ["v", null, null]],
  ]);
});

test("a script that fails by its own error keeps its writes, as in Redis", () => {
  const subject = open();
  const script = (end: string) => [["EVAL", `redis.call('INCR', 'n') ${end}`, "0"]];
  for (const end of ["error('mine')", "redis.call('INCR', 'h')", "local x = nil + 1"]) {
    const [reply] = subject.run(script(end));
    assert.ok(findError(reply as Reply) !== undefined && !isStopped([reply as Reply]), end);
  }
  assert.deepEqual(subject.run([["GET", "n"]]), ["3"]);
});

test("messages and events of a stopped unit are dropped, and its counts of expired keys are taken back", () => {
  const subject = open();
  const received: Push[] = [];
  const { pubsub, keyspace } = subject.database;
  pubsub.subscribePattern(pubsub.open({ receive: (push) => received.push(push), drop: () => {} }), "*");
  subject.database.setEventFlags("KEA");
  subject.clock.wallMs = NOW_MS + 500_000;
  subject.run([["GET", "s"], ["SET", "l", "v"], ["PUBLISH", "news", "undone"], ENDLESS]);
  assert.deepEqual(received, []);
  assert.equal(keyspace.expiredCount, 0);
  subject.run([["PUBLISH", "news", "kept"]]);
  assert.deepEqual(received, [{ kind: "pmessage", pattern: "*", channel: "news", payload: "kept" }]);
});

test("a waiting client is not served by a stopped unit, and by the next one it is", () => {
  const subject = open();
  const received: Reply[] = [];
  const taker = { take: (reply: Reply) => received.push(reply) };
  subject.database.execute({ ...testCaller, transport: "tcp", waiting: taker }, ["BLPOP", "queue", "0"]);
  subject.run([["RPUSH", "queue", "undone"], ENDLESS]);
  assert.deepEqual(received, []);
  subject.run([["RPUSH", "queue", "kept"]]);
  assert.deepEqual(received, [["queue", "kept"]]);
});

// A.limits.undo
test("a unit that needs more than --max-undo-size is stopped and undone", () => {
  const subject = open();
  subject.undoBytesMax = 2_000;
  const text = (undone: string): string =>
    `ERR Script or transaction exceeds --max-undo-size (2000 bytes) and was stopped; ${undone}`;
  const state = subject.state();
  const script = "for i = 1, 15 do redis.call('SET', 'n' .. i, i) end";
  const [fromScript] = subject.run([["EVAL", script, "0"]]);
  assert.equal(findError(fromScript as Reply)?.text, text("its writes were undone"));
  const [fromTransaction] = subject.run(Array.from({ length: 100 }, (_, index) => ["SET", `n${index}`, "v"]));
  assert.equal(findError(fromTransaction as Reply)?.text, text("the transaction was undone"));
  assert.deepEqual(subject.state(), state);
});

test("data that a unit removes needs no more memory than before", () => {
  const subject = open();
  subject.undoBytesMax = 10_000;
  assert.deepEqual(subject.run([["FLUSHALL"], ["SET", "s", "v"]]), [ok, ok]);
  // The second value takes as much memory as the first, which the log keeps.
  subject.run([["SET", "long", "x".repeat(50_000)]]);
  const [reply] = subject.run([
    ["SET", "long", "y".repeat(50_000)],
    ["PING", "x"],
  ]);
  assert.ok(isStopped([reply as Reply]));
});

test("a value that a unit creates needs one inverse, however often it changes", () => {
  const subject = open();
  subject.undoBytesMax = 500;
  const script = "for i = 1, 10 do redis.call('RPUSH', 'new', i) end return redis.call('LLEN', 'new')";
  assert.deepEqual(subject.run([["EVAL", script, "0"]]), [10]);
});

test("EXEC whose replies are too large together is undone", () => {
  const { connect } = startSessions();
  const one = connect();
  const { database } = one.session;
  database.execute(testCaller, ["SETRANGE", "long", String(100 * 2 ** 20), "x"]);
  const text = "EXECABORT Transaction discarded because of: reply exceeds the maximum allowed size";
  one.expect([
    ["SET kept 1", ok],
    ["MULTI", ok],
    ["GETDEL kept", simple("QUEUED")],
    ["GET long", simple("QUEUED")],
    ["GET long", simple("QUEUED")],
    ["GET long", simple("QUEUED")],
    ["EXEC", error(`${text}; the transaction was undone`)],
    ["GET kept", "1"],
  ]);
});

test("a script whose reply is too large is undone", () => {
  const subject = open();
  const state = subject.state();
  const script =
    "redis.call('DEL', 's') local x = string.rep('x', 8e6) local all = {} for i = 1, 20 do all[i] = x end return all";
  const [reply] = subject.run([["EVAL", script, "0"]]);
  assert.equal(findError(reply as Reply)?.text, "ERR reply exceeds the maximum allowed size; its writes were undone");
  assert.deepEqual(subject.state(), state);
});

test("S-04: records that are longer than the space of the disk are undone, of commands, scripts and transactions", async () => {
  const journal = new RecordingJournal();
  const { connect } = startSessions({ journal, hasScripts: true });
  const one = connect();
  const waiting = connect();
  journal.frameBytesMax = 500;
  const long = "x".repeat(500);
  const full = "MISCONF Errors writing to the AOF file: no space is left on the device";
  const script = `EVAL "redis.call('SET', 'k', 'a') return redis.call('SET', KEYS[1], string.rep('x', 500))" 1 s`;
  one.expect([
    ["SET k 1", ok],
    [`SET k ${long}`, error(full)],
    [`MSET k 2 other ${long}`, error(full)],
    [script, error(full)],
    ["MULTI", ok],
    ["SET k 3", simple("QUEUED")],
    [`RPUSH list ${long}`, simple("QUEUED")],
    ["EXEC", error(`EXECABORT Transaction discarded because of: ${full}`)],
    ["MGET k s other", ["1", nil, nil]],
    ["EXISTS list", 0],
  ]);
  waiting.expect([["BLPOP list 0"]]);
  one.expect([
    ["RPUSH list short", 1],
    ["GET k", "1"],
  ]);
  await settled();
  assert.deepEqual(waiting.listen(), [["list", "short"]]);
  assert.ok(journal.frames.every(({ length }) => length <= 500));
});
