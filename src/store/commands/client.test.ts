/** CLIENT: what sessions report about themselves and do to others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { heard, settled, startSessions } from "../../../test/harness/session-harness.ts";
import { error, nil, ok } from "../../../test/harness/store-harness.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";
import type { CommandFacts } from "../command-facts.ts";
import { push, simple, verbatim } from "../reply/reply.ts";

const syntaxError = error("ERR syntax error");

test("CLIENT ID, GETNAME, SETNAME, SETINFO and INFO describe the session itself", () => {
  const { clock, connect } = startSessions();
  const one = connect();
  one.expect([
    ["CLIENT ID", 1],
    ["CLIENT GETNAME", nil],
    ["CLIENT SETNAME me", ok],
    ["CLIENT GETNAME", "me"],
    ['CLIENT SETNAME ""', ok],
    ["CLIENT GETNAME", nil],
    ["CLIENT SETNAME me", ok],
    ['CLIENT SETNAME "a b"', error("ERR Client names cannot contain spaces, newlines or special characters.")],
    ['CLIENT SETNAME "a\\xff"', error("ERR Client names cannot contain spaces, newlines or special characters.")],
    ["CLIENT SETINFO lib-name ioredis(5)", ok],
    ["CLIENT SETINFO LIB-VER 5.4.1", ok],
    ['CLIENT SETINFO lib-ver "1 2"', error("ERR lib-ver cannot contain spaces, newlines or special characters.")],
    ["CLIENT SETINFO lib-what x", error("ERR Unrecognized option 'lib-what'")],
    ["CLIENT WHAT", error("ERR unknown subcommand 'WHAT'. Try CLIENT HELP.")],
    ["CLIENT", error("ERR wrong number of arguments for 'client' command")],
    ["CLIENT ID x", error("ERR wrong number of arguments for 'client|id' command")],
  ]);
  clock.advance(2_500);
  one.run("WATCH a b");
  one.run("MULTI");
  one.run("SET k v");
  const other = connect();
  clock.advance(1_000);
  other.expect([
    [
      "CLIENT LIST ID 1",
      verbatim(
        "id=1 addr=127.0.0.1:40001 laddr=127.0.0.1:6379 fd=-1 name=me age=3 idle=1 flags=x db=0 sub=0 psub=0 ssub=0 multi=1 watch=2 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=173 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=173 events=r cmd=multi user=default redir=-1 resp=2 lib-name=ioredis(5) lib-ver=5.4.1 io-thread=0 tot-net-in=0 tot-net-out=0 tot-cmds=19 capa=\n",
      ),
    ],
    [
      "CLIENT INFO",
      verbatim(
        "id=2 addr=127.0.0.1:40002 laddr=127.0.0.1:6379 fd=-1 name= age=1 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 watch=0 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=client|info user=default redir=-1 resp=2 lib-name= lib-ver= io-thread=0 tot-net-in=0 tot-net-out=0 tot-cmds=1 capa=\n",
      ),
    ],
  ]);
});

test("CLIENT LIST lists the sessions of its own database, or some of them", () => {
  const { store, connect } = startSessions();
  const one = connect();
  const two = connect({ user: readOnlyUser });
  const strange = connect({ database: store.database("other") });
  two.run("HELLO 3");
  const listener = connect();
  listener.run("SUBSCRIBE a");
  const ids = (line: string): string => {
    const [reply] = one.run(line);
    assert.ok(typeof reply === "object" && reply !== null && "text" in reply);
    return [...reply.text.matchAll(/^id=(\d+) /gm)].map(([, id]) => id).join(" ");
  };
  assert.equal(ids("CLIENT LIST"), "1 2 4");
  assert.equal(ids("CLIENT LIST TYPE normal"), "1 2");
  assert.equal(ids("CLIENT LIST TYPE pubsub"), "4");
  assert.equal(ids("CLIENT LIST TYPE replica"), "");
  assert.equal(ids("CLIENT LIST TYPE master"), "");
  assert.equal(ids("CLIENT LIST ID 4 3 1 999"), "4 1");
  one.expect([
    ["CLIENT LIST TYPE what", error("ERR Unknown client type 'what'")],
    ["CLIENT LIST ID", syntaxError],
    ["CLIENT LIST ID x", error("ERR Invalid client ID")],
    ["CLIENT LIST what", syntaxError],
    ["CLIENT LIST TYPE normal what", syntaxError],
    ["CLIENT KILL ID 3", 0],
    ["CLIENT KILL 127.0.0.1:40003", error("ERR No such client")],
    ["CLIENT UNBLOCK 3", 0],
  ]);
  assert.equal(strange.closed, undefined);
});

test("CLIENT KILL closes by address, id, user and type, and skips the caller unless asked", () => {
  const { connect } = startSessions();
  const one = connect();
  one.expect([
    ["CLIENT KILL 1.1.1.1:1", error("ERR No such client")],
    ["CLIENT KILL ID 0", error("ERR client-id should be greater than 0")],
    ["CLIENT KILL ID x", error("ERR client-id should be greater than 0")],
    ["CLIENT KILL TYPE what", error("ERR Unknown client type 'what'")],
    ["CLIENT KILL USER nobody", error("ERR No such user 'nobody'")],
    ["CLIENT KILL SKIPME what", syntaxError],
    ["CLIENT KILL SKIPME yes what", syntaxError],
    ["CLIENT KILL WHAT x", syntaxError],
    ["CLIENT KILL ID 99", 0],
    ["CLIENT KILL ADDR 127.0.0.1:40001", 0],
  ]);
  const two = connect();
  one.expect([["CLIENT KILL 127.0.0.1:40002", ok]]);
  assert.equal(two.closed, "at once");
  const three = connect();
  const four = connect({ user: readOnlyUser });
  one.expect([["CLIENT KILL USER default LADDR 127.0.0.1:6379", 1]]);
  assert.equal(three.closed, "at once");
  assert.equal(four.closed, undefined);
  const five = connect();
  five.run("PSUBSCRIBE *");
  one.expect([
    ["CLIENT KILL TYPE pubsub USER default_ro", 0],
    ["CLIENT KILL TYPE pubsub", 1],
    ["CLIENT KILL TYPE normal SKIPME yes", 1],
    ["CLIENT KILL TYPE normal SKIPME no", 1],
  ]);
  assert.equal(five.closed, "at once");
  assert.equal(four.closed, "at once");
  assert.equal(one.closed, "when written");
});

test("CLIENT LIST and CLIENT KILL take the same filters, and NOT- reverses one", () => {
  const { clock, connect } = startSessions();
  const one = connect();
  one.run("CLIENT SETNAME one");
  one.run("CLIENT SETINFO LIB-NAME ioredis");
  one.run("CLIENT SETINFO LIB-VER 5.4.1");
  clock.advance(10_000);
  const two = connect({ user: readOnlyUser });
  two.run("CLIENT NO-TOUCH ON");
  two.run("CLIENT CAPA redirect what");
  clock.advance(10_000);
  const three = connect();
  three.run("SUBSCRIBE a");
  const ids = (filters: string): string => {
    const [reply] = one.run(`CLIENT LIST ${filters}`);
    assert.ok(typeof reply === "object" && reply !== null && "text" in reply, filters);
    return [...reply.text.matchAll(/^id=(\d+) /gm)].map(([, id]) => id).join(" ");
  };
  const table: Readonly<Record<string, string>> = {
    "ID 3 1": "3 1",
    "ID 3 1 TYPE pubsub": "3",
    "ID 3 ID 1": "3 1",
    "NOT-ID 1 3": "2",
    "NOT-ID 1 NOT-ID 3": "2",
    "ID 1 2 NOT-ID 2": "1",
    "TYPE normal": "1 2",
    "TYPE pubsub TYPE normal": "1 2",
    "NOT-TYPE normal": "3",
    "TYPE primary": "",
    "NOT-TYPE replica": "1 2 3",
    "USER default": "1 3",
    "NOT-USER default": "2",
    "ADDR 127.0.0.1:40002": "2",
    "NOT-ADDR 127.0.0.1:40002": "1 3",
    "LADDR 127.0.0.1:6379": "1 2 3",
    "NOT-LADDR 127.0.0.1:6379": "",
    "IP 127.0.0.1": "1 2 3",
    "IP 127.0.0": "",
    "NOT-IP 127.0.0.2": "1 2 3",
    "NAME one": "1",
    "NOT-NAME one": "2 3",
    "LIB-NAME ioredis": "1",
    "NOT-LIB-NAME ioredis": "2 3",
    "LIB-VER 5.4.1": "1",
    "NOT-LIB-VER 5.4.1": "2 3",
    "FLAGS T": "2",
    "FLAGS N": "1",
    "FLAGS P": "3",
    "FLAGS PT": "",
    "NOT-FLAGS T": "1 3",
    "CAPA r": "2",
    "NOT-CAPA r": "1 3",
    "DB 0": "1 2 3",
    "NOT-DB 0": "",
    "DB 1": "",
    "MAXAGE 20": "1",
    "MAXAGE 10": "1 2",
    "IDLE 10": "2",
    "SKIPME yes": "2 3",
    "SKIPME no": "1 2 3",
    "TYPE normal NOT-NAME one SKIPME yes MAXAGE 1": "2",
  };
  for (const [filters, found] of Object.entries(table)) assert.equal(ids(filters), found, filters);
  one.expect([
    ["CLIENT LIST MAXAGE x", error("ERR maxage is not an integer or out of range")],
    ["CLIENT KILL MAXAGE 0", error("ERR maxage should be greater than 0")],
    ["CLIENT KILL IDLE -1", error("ERR idle should be greater than 0")],
    ["CLIENT KILL FLAGS N?", error("ERR Unknown flags found in the provided filter: N?")],
    ["CLIENT KILL NOT-FLAGS y", error("ERR Unknown flags found in the NOT-FLAGS filter: y")],
    ["CLIENT KILL CAPA x", error("ERR Unknown capa found in the provided filter: x")],
    ["CLIENT KILL DB x", error("ERR db is not an integer or out of range")],
    ["CLIENT KILL NOT-TYPE what", error("ERR Unknown client type 'what'")],
    ["CLIENT KILL NOT-USER nobody", error("ERR No such user 'nobody'")],
    ["CLIENT KILL NOT-MAXAGE 1", syntaxError],
    ["CLIENT KILL NOT-SKIPME yes", syntaxError],
    ["CLIENT KILL NOT-ID 0", error("ERR client-id should be greater than 0")],
    ["CLIENT KILL ID 2 what", syntaxError],
    ["CLIENT KILL ID 2 TYPE", syntaxError],
    ["CLIENT KILL MAXAGE 21", 0],
    ["CLIENT KILL MAXAGE 20", 0],
    ["CLIENT KILL NOT-TYPE pubsub MAXAGE 10", 1],
  ]);
  assert.equal(two.closed, "at once");
  one.expect([["CLIENT KILL ID 3 99 1 SKIPME no", 2]]);
  assert.equal(three.closed, "at once");
  assert.equal(one.closed, "when written");
});

test("CLIENT CAPA survives RESET, and IMPORT-SOURCE is refused by name", () => {
  const { connect } = startSessions();
  connect().expect([
    ["CLIENT CAPA REDIRECT", ok],
    ["RESET", simple("RESET")],
    ["CLIENT KILL CAPA r SKIPME yes", 0],
    ["CLIENT KILL CAPA r SKIPME no", 1],
  ]);
  connect().expect([
    ["CLIENT CAPA what", ok],
    ["CLIENT KILL CAPA r SKIPME no", 0],
    ["CLIENT CAPA", error("ERR wrong number of arguments for 'client|capa' command")],
    ["CLIENT IMPORT-SOURCE OFF", ok],
    ["CLIENT IMPORT-SOURCE ON", error("ERR Server is not in import mode")],
    ["CLIENT IMPORT-SOURCE what", syntaxError],
  ]);
});

test("tot-cmds of CLIENT INFO counts the commands that the client sent, not those in scripts", () => {
  const { connect } = startSessions();
  const one = connect();
  const count = (): string | undefined => {
    const [reply] = one.run("CLIENT INFO");
    assert.ok(typeof reply === "object" && reply !== null && "text" in reply);
    return /tot-cmds=(\d+)/.exec(reply.text)?.[1];
  };
  assert.equal(count(), "0");
  assert.equal(count(), "1");
  one.run("MULTI");
  one.run("PING");
  one.run("EXEC");
  assert.equal(count(), "5");
  one.run("EVAL \"return redis.call('SET', 'k', 'v')\" 0");
  assert.equal(count(), "7");
});

test("CLIENT KILL with the caller's own address replies and closes", () => {
  const { connect } = startSessions();
  const one = connect();
  one.expect([["CLIENT KILL 127.0.0.1:40001", ok], ["PING"]]);
  assert.equal(one.closed, "when written");
});

test("no connection is closed because of its memory", () => {
  const { connect } = startSessions();
  connect().expect([
    ["CLIENT NO-EVICT ON", ok],
    ["CLIENT NO-EVICT OFF", ok],
    ["CLIENT NO-EVICT what", syntaxError],
  ]);
  const [help] = connect().run("CLIENT HELP");
  assert.ok(Array.isArray(help) && help.length > 10);
});

test("CLIENT NO-TOUCH stops reads from updating the time of last use", () => {
  const { clock, connect } = startSessions();
  const one = connect();
  one.run("SET k v");
  clock.advance(20_000);
  one.expect([
    ["CLIENT NO-TOUCH ON", ok],
    ["GET k", "v"],
    ["OBJECT IDLETIME k", 20],
    ["CLIENT NO-TOUCH OFF", ok],
    ["GET k", "v"],
    ["OBJECT IDLETIME k", 0],
    ["CLIENT NO-TOUCH what", syntaxError],
  ]);
});

test("CLIENT PAUSE holds up all clients of the database until it ends", async () => {
  const { clock, store, connect } = startSessions();
  const one = connect();
  const two = connect();
  const strange = connect({ database: store.database("other") });
  one.expect([
    ["CLIENT PAUSE x", error("ERR timeout is not an integer or out of range")],
    ["CLIENT PAUSE -1", error("ERR timeout is negative")],
    ["CLIENT PAUSE 1 what", error("ERR CLIENT PAUSE mode must be WRITE or ALL")],
    ["CLIENT PAUSE 1000", ok],
    ["SET k v"],
  ]);
  two.expect([["PING"]]);
  strange.expect([["PING", simple("PONG")]]);
  assert.equal(one.session.isWaiting, true);
  clock.advance(999);
  await settled();
  assert.deepEqual(one.listen(), []);
  clock.advance(1);
  await settled();
  assert.deepEqual(one.listen(), [ok]);
  assert.deepEqual(two.listen(), [simple("PONG")]);
  assert.equal(one.resumeCount, 1);
  one.expect([["GET k", "v"]]);
});

test("a pause continues while no client is connected, and then needs no timer", async () => {
  const { clock, connect } = startSessions();
  const one = connect();
  one.expect([["CLIENT PAUSE 1000", ok]]);
  one.session.close();
  clock.advance(500);
  const two = connect();
  two.expect([["PING"]]);
  clock.advance(500);
  await settled();
  assert.deepEqual(two.listen(), [simple("PONG")]);
  const three = connect();
  three.expect([["CLIENT PAUSE 1000", ok]]);
  two.session.close();
  three.session.close();
  clock.advance(2_000);
  const four = connect();
  four.expect([["PING"]]);
  clock.advance(0);
  await settled();
  assert.deepEqual(four.listen(), [simple("PONG")]);
});

test("CLIENT PAUSE WRITE holds up commands that may write, and CLIENT UNPAUSE ends it", async () => {
  const { connect } = startSessions();
  const one = connect();
  const two = connect();
  two.expect([
    ["MULTI", ok],
    ["SET k v", simple("QUEUED")],
  ]);
  one.expect([["CLIENT PAUSE 100000 WRITE", ok]]);
  two.expect([["INCR n", simple("QUEUED")], ["EXEC"]]);
  const three = connect();
  three.expect([["GET k", nil], ["PUBLISH a b"]]);
  const four = connect();
  four.run("SET gone x");
  four.session.close();
  one.expect([["CLIENT UNPAUSE", ok]]);
  await settled();
  assert.deepEqual(two.listen(), [[ok, 1]]);
  assert.deepEqual(three.listen(), [0]);
  one.expect([
    ["GET k", "v"],
    ["EXISTS gone", 0],
  ]);
});

test("CLIENT UNBLOCK unblocks a session, with a timeout or an error", async () => {
  const { connect } = startSessions();
  const one = connect();
  const two = connect();
  const wait = (): void => {
    const { database } = two.session;
    // As a blocking command does.
    const command = database.findCommand("BLPOP") as CommandFacts;
    database.waiters.add(
      two.session,
      { type: "list", keys: ["k"], line: "test", timeoutMs: 0, timedOut: nil, serve: () => undefined },
      { command, words: ["BLPOP", "k", "0"], caller: two.session },
    );
  };
  one.expect([
    ["CLIENT UNBLOCK x", error("ERR value is not an integer or out of range")],
    ["CLIENT UNBLOCK 2 what", error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")],
    ["CLIENT UNBLOCK 2 ERROR what", syntaxError],
    ["CLIENT UNBLOCK 2", 0],
    ["CLIENT UNBLOCK 99", 0],
  ]);
  wait();
  one.expect([["CLIENT UNBLOCK 2", 1]]);
  await settled();
  assert.deepEqual(two.listen(), [nil]);
  wait();
  one.expect([
    ["CLIENT UNBLOCK 2 ERROR", 1],
    ["CLIENT UNBLOCK 2 ERROR", 0],
  ]);
  await settled();
  assert.deepEqual(two.listen(), [error("UNBLOCKED client unblocked via CLIENT UNBLOCK")]);
});

test("a RESP2 subscriber may run few commands, a RESP3 subscriber all of them", () => {
  const { connect } = startSessions();
  const one = connect();
  const refused = error(
    "ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
  );
  one.expect([
    ["SUBSCRIBE a", push(["subscribe", "a", 1])],
    ["CLIENT ID", refused],
    [
      "MULTI",
      error(
        "ERR Can't execute 'multi': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
      ),
    ],
    ["GET", error("ERR wrong number of arguments for 'get' command")],
    ["PING", ["pong", ""]],
    ["PING hi", ["pong", "hi"]],
    ["PING a b", error("ERR wrong number of arguments for 'ping' command")],
    ["UNSUBSCRIBE", push(["unsubscribe", "a", 0])],
    ["CLIENT ID", 1],
    ["UNSUBSCRIBE", push(["unsubscribe", nil, 0])],
    ["PUNSUBSCRIBE x y", heard(push(["punsubscribe", "x", 0]), push(["punsubscribe", "y", 0]))],
    ["PSUBSCRIBE a* b*", heard(push(["psubscribe", "a*", 1]), push(["psubscribe", "b*", 2]))],
    ["PSUBSCRIBE a*", push(["psubscribe", "a*", 2])],
    ["RESET", simple("RESET")],
  ]);
  one.run("HELLO 3");
  one.expect([
    ["SUBSCRIBE a", push(["subscribe", "a", 1])],
    ["CLIENT ID", 1],
    ["PING", simple("PONG")],
    ["PUBLISH a hi", heard({ kind: "message", channel: "a", payload: "hi" }, 1)],
    ["CLIENT REPLY OFF"],
    ["PUBLISH a hi", { kind: "message", channel: "a", payload: "hi" }],
  ]);
});
