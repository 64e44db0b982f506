/** Every command that can change a key, from the table of commands: after it the indexes agree with the keys. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertIndexesAgree } from "../../../../test/harness/index-agreement.ts";
import { type Session, splitLine, startSession, testCaller } from "../../../../test/harness/store-harness.ts";
import { endlessScript, isStopped, Subject } from "../../../../test/simulation/store/undone-units.ts";
import { hasKeys } from "../../commands/command-keys.ts";
import { commands } from "../../commands/table.ts";
import { findError, type Reply } from "../../reply/reply.ts";
import type { Caller } from "../../session/caller.ts";

/** Indexes on every type, over all keys, and keys of every type. */
const before: readonly string[] = [
  'SEARCH.CREATE hashes ON HASH PREFIX 1 "" SCHEMA a KEYWORD n I64 FAST t TEXT FROM a',
  'SEARCH.CREATE documents ON JSON PREFIX 1 "" SCHEMA a KEYWORD n I64 o.x KEYWORD t TEXT FROM a',
  'SEARCH.CREATE strings ON STRING PREFIX 1 "" SCHEMA a KEYWORD n I64',
  'SET s \'{"a":"one"}\'',
  'SET s2 \'{"a":"two","n":2}\'',
  "SET number 5",
  "HSET h a one n 1",
  "HSET h2 a two n 2",
  "RPUSH l c a b",
  "SADD set a b",
  "ZADD z 1 a 2 b",
  "GEOADD geo 1 1 a 2 2 b",
  "PFADD pf a",
  "XADD x 1-1 f v",
  "XGROUP CREATE x g 0",
  'JSON.SET j $ \'{"a":"one","n":1,"o":{"x":"deep"},"l":["p","q"],"b":true}\'',
  'JSON.SET j2 $ \'{"a":["p","q"],"n":2}\'',
];

/** Lines of each command. One that must change a document, or make or remove one, if the command can. */
const rows: Readonly<Record<string, readonly string[]>> = {
  copy: ["COPY h new", "COPY j s REPLACE", "COPY l h2 REPLACE"],
  del: ["DEL h j s"],
  expire: ["EXPIRE h 10", "EXPIRE h -1"],
  expireat: ["EXPIREAT j 1"],
  persist: ["PERSIST h"],
  pexpire: ["PEXPIRE s -1"],
  pexpireat: ["PEXPIREAT s 1"],
  rename: ["RENAME h new", "RENAME j s", "RENAME l h2"],
  renamenx: ["RENAMENX h new"],
  restore: ["RESTORE new 0 {DUMP h}", "RESTORE j 0 {DUMP h} REPLACE"],
  sort: ["SORT l ALPHA STORE h"],
  unlink: ["UNLINK h j s"],
  append: ["APPEND s x", "APPEND new {}"],
  decr: ["DECR number"],
  decrby: ["DECRBY number 2"],
  delex: ["DELEX s"],
  delifeq: ['DELIFEQ s \'{"a":"one"}\''],
  getdel: ["GETDEL s"],
  getex: ["GETEX s PXAT 1"],
  getset: ["GETSET s '{\"n\":7}'"],
  incr: ["INCR number"],
  incrby: ["INCRBY number 2"],
  incrbyfloat: ["INCRBYFLOAT number 0.5"],
  increx: ["INCREX number"],
  mset: ["MSET s '{\"n\":3}' h {}", "MSET j {} new {}"],
  msetex: ["MSETEX 1 s '{\"n\":3}' EX 10"],
  msetnx: ["MSETNX new {} new2 {}"],
  psetex: ["PSETEX h 100 {}"],
  set: ["SET s {}", "SET h {}", "SET j {} PXAT 1"],
  setex: ["SETEX s 100 {}"],
  setnx: ["SETNX new {}"],
  setrange: ["SETRANGE s 6 w", "SETRANGE s 0 x"],
  bitfield: ["BITFIELD s SET u8 0 65"],
  bitop: ["BITOP AND h s s"],
  setbit: ["SETBIT s 0 1"],
  hdel: ["HDEL h a", "HDEL h a n"],
  hincrby: ["HINCRBY h n 5", "HINCRBY new n 5"],
  hincrbyfloat: ["HINCRBYFLOAT h n 0.5"],
  hmset: ["HMSET h a two"],
  hset: ["HSET h a two", "HSET new n 5"],
  hsetnx: ["HSETNX new a x"],
  hexpire: ["HEXPIRE h 10 FIELDS 1 a", "HEXPIRE h 0 FIELDS 1 a"],
  hexpireat: ["HEXPIREAT h 1 FIELDS 1 a"],
  hgetdel: ["HGETDEL h FIELDS 1 a", "HGETDEL h FIELDS 2 a n"],
  hgetex: ["HGETEX h PXAT 1 FIELDS 1 a"],
  hpersist: ["HPERSIST h FIELDS 1 a"],
  hpexpire: ["HPEXPIRE h 0 FIELDS 2 a n"],
  hpexpireat: ["HPEXPIREAT h 1 FIELDS 1 n"],
  hsetex: ["HSETEX h FIELDS 1 a three", "HSETEX h PXAT 1 FIELDS 1 a three"],
  linsert: ["LINSERT l BEFORE a x"],
  lmove: ["LMOVE l new LEFT LEFT"],
  lmpop: ["LMPOP 1 l LEFT"],
  lpop: ["LPOP l 9"],
  lpush: ["LPUSH new h"],
  lpushx: ["LPUSHX l x"],
  lrem: ["LREM l 0 a"],
  lset: ["LSET l 0 x"],
  ltrim: ["LTRIM l 5 9"],
  rpop: ["RPOP l"],
  rpoplpush: ["RPOPLPUSH l new"],
  rpush: ["RPUSH l x"],
  rpushx: ["RPUSHX l x"],
  blmove: ["BLMOVE l new LEFT LEFT 0"],
  blmpop: ["BLMPOP 0 1 l LEFT"],
  blpop: ["BLPOP l 0"],
  brpop: ["BRPOP l 0"],
  brpoplpush: ["BRPOPLPUSH l new 0"],
  sadd: ["SADD set c"],
  smove: ["SMOVE set new a"],
  spop: ["SPOP set 2"],
  srem: ["SREM set a b"],
  sdiffstore: ["SDIFFSTORE h set", "SDIFFSTORE h none"],
  sinterstore: ["SINTERSTORE j set", "SINTERSTORE j none"],
  sunionstore: ["SUNIONSTORE s set", "SUNIONSTORE s none"],
  zadd: ["ZADD z 3 c"],
  zincrby: ["ZINCRBY z 1 a"],
  zmpop: ["ZMPOP 1 z MIN"],
  zpopmax: ["ZPOPMAX z 9"],
  zpopmin: ["ZPOPMIN z 9"],
  zrem: ["ZREM z a b"],
  zrangestore: ["ZRANGESTORE h z 0 -1", "ZRANGESTORE h none 0 -1"],
  zremrangebylex: ["ZREMRANGEBYLEX z - +"],
  zremrangebyrank: ["ZREMRANGEBYRANK z 0 -1"],
  zremrangebyscore: ["ZREMRANGEBYSCORE z -inf +inf"],
  zdiffstore: ["ZDIFFSTORE h 1 z"],
  zinterstore: ["ZINTERSTORE j 1 z"],
  zunionstore: ["ZUNIONSTORE s 1 z"],
  bzmpop: ["BZMPOP 0 1 z MIN"],
  bzpopmax: ["BZPOPMAX z 0"],
  bzpopmin: ["BZPOPMIN z 0"],
  xack: ["XACK x g 1-1"],
  xackdel: ["XACKDEL x g IDS 1 1-1"],
  xadd: ["XADD x 2-1 f v"],
  xautoclaim: ["XAUTOCLAIM x g bob 0 0"],
  xclaim: ["XCLAIM x g bob 0 1-1"],
  xdel: ["XDEL x 1-1"],
  xdelex: ["XDELEX x IDS 1 1-1"],
  "xgroup|create": ["XGROUP CREATE new g 0 MKSTREAM"],
  "xgroup|createconsumer": ["XGROUP CREATECONSUMER x g bob"],
  "xgroup|delconsumer": ["XGROUP DELCONSUMER x g bob"],
  "xgroup|destroy": ["XGROUP DESTROY x g"],
  "xgroup|setid": ["XGROUP SETID x g $"],
  xreadgroup: ["XREADGROUP GROUP g bob STREAMS x >"],
  xsetid: ["XSETID x 9-9"],
  xtrim: ["XTRIM x MAXLEN 0"],
  geoadd: ["GEOADD geo 3 3 c"],
  georadius: ["GEORADIUS geo 1 1 9 km STORE h"],
  georadiusbymember: ["GEORADIUSBYMEMBER geo a 9 km STORE j"],
  geosearchstore: ["GEOSEARCHSTORE s geo FROMMEMBER a BYRADIUS 9 km"],
  pfadd: ["PFADD pf b"],
  pfmerge: ["PFMERGE new pf"],
  "json.arrappend": ["JSON.ARRAPPEND j2 $.a '\"r\"'"],
  "json.arrinsert": ["JSON.ARRINSERT j2 $.a 0 '\"r\"'"],
  "json.arrpop": ["JSON.ARRPOP j2 $.a"],
  "json.arrtrim": ["JSON.ARRTRIM j2 $.a 0 0"],
  "json.clear": ["JSON.CLEAR j $.o", "JSON.CLEAR j"],
  "json.del": ["JSON.DEL j $.o", "JSON.DEL j"],
  "json.forget": ["JSON.FORGET j $.a"],
  "json.merge": ['JSON.MERGE j $ \'{"a":null,"n":5}\'', "JSON.MERGE j $ 5"],
  "json.mset": ["JSON.MSET j $.a '\"x\"' new $ {}"],
  "json.numincrby": ["JSON.NUMINCRBY j $.n 2"],
  "json.nummultby": ["JSON.NUMMULTBY j $.n 2"],
  "json.set": ["JSON.SET j $.o.x '\"y\"'", "JSON.SET j $ 5", "JSON.SET new $ '{\"n\":1}'"],
  "json.strappend": ["JSON.STRAPPEND j $.a '\" more\"'"],
  "json.toggle": ["JSON.TOGGLE j $.b"],
};

/** Commands that change keys which no word names, or indexes themselves. */
const others: Readonly<Record<string, readonly string[]>> = {
  flushall: ["FLUSHALL"],
  flushdb: ["FLUSHDB"],
  "search.aliasadd": ["SEARCH.ALIASADD alias hashes"],
  "search.aliasdel": ["SEARCH.ALIASDEL alias"],
  "search.create": ["SEARCH.CREATE more ON HASH PREFIX 1 h SCHEMA a KEYWORD"],
  "search.drop": ["SEARCH.DROP hashes"],
  "search.reindex": ["SEARCH.REINDEX hashes"],
};

/** Writes that change no key. */
const withoutKeys: readonly string[] = [
  "function|delete",
  "function|flush",
  "function|load",
  "function|restore",
  "debug|populate",
];

const all: Readonly<Record<string, readonly string[]>> = { ...rows, ...others };

const overTcp: Caller = { ...testCaller, transport: "tcp" };

/** The words of a line, with the payload of a DUMP where it asks for one. */
function wordsOf({ call }: Pick<Session, "call">, line: string): string[] {
  const dump = /\{DUMP (\w+)\}/.exec(line);
  if (dump === null) return splitLine(line);
  return splitLine(line.replace(dump[0], "DUMP")).map((word) =>
    word === "DUMP" ? payload(call("DUMP", dump[1] ?? "")) : word,
  );
}

function payload(reply: Reply): string {
  return Buffer.isBuffer(reply) ? reply.latin1Slice() : String(reply);
}

function open(): Session {
  const session = startSession();
  for (const line of before) assert.equal(findError(session.run(line)), undefined, line);
  return session;
}

test("every command that can change a key is in one of these tables", () => {
  const writes = commands
    .flatMap((command) => [command, ...(command.subcommandByName?.values() ?? [])])
    .filter((command) => command.isWrite && (hasKeys(command) || !withoutKeys.includes(command.fullName)));
  assert.deepEqual(Object.keys(all).toSorted(), writes.map(({ fullName }) => fullName).toSorted());
});

test("after each command the indexes agree with the keys", () => {
  for (const [name, lines] of Object.entries(all)) {
    const session = open();
    for (const line of lines) {
      const reply = session.database.execute(overTcp, wordsOf(session, line));
      assert.equal(findError(reply), undefined, `${line}: ${JSON.stringify(reply)}`);
      assertIndexesAgree(session.database, `${name}: ${line}`);
    }
  }
});

const searches = ["hashes", "documents", "strings"].map((index) => ["SEARCH.COUNT", index, "{}"]);

test("the same in a transaction with searches between the commands", () => {
  for (const [name, lines] of Object.entries(rows)) {
    const session = open();
    const unit = lines.flatMap((line) => [wordsOf(session, line), ...searches]);
    for (const reply of session.database.transaction(overTcp, unit) as readonly Reply[])
      assert.equal(findError(reply), undefined, name);
    assertIndexesAgree(session.database, name);
  }
});

test("the same after a transaction that was stopped, with searches between its commands", () => {
  const subject = new Subject();
  for (const line of before) subject.run([splitLine(line)]);
  const call = (...words: readonly string[]) => subject.run([words])[0] as Reply;
  for (const [name, lines] of Object.entries(rows)) {
    // Transactions of this subject come over HTTP.
    if (!subject.database.findByFullName(name)?.isAvailableOverHttp) continue;
    const unit = lines.flatMap((line) => [wordsOf({ call }, line), ...searches]);
    assert.ok(isStopped(subject.run([...unit, endlessScript([])])), name);
    assertIndexesAgree(subject.database, name);
  }
});
