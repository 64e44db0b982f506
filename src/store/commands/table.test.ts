/** The table of commands: rows are consistent, read-only rights are listed, and each command is tested. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { families } from "../../../test/differential/families.ts";
import { namesOf } from "../../../test/differential/programs.ts";
import type { Command } from "../command.ts";
import { commands, findCommand } from "./table.ts";

const everyRow: readonly Command[] = commands.flatMap((command) => [
  command,
  ...(command.subcommandByName?.values() ?? []),
]);

test("every row is consistent", () => {
  for (const row of everyRow) {
    const { name, fullName, summary, arity, flags, keys } = row;
    assert.match(name, /^[A-Z][A-Z_.-]*$/, fullName);
    assert.match(summary, /^[A-Z].*[^.\s]$/s, `${fullName}: a summary is a sentence without a full stop`);
    assert.notEqual(arity, 0, fullName);
    assert.ok(!(flags.includes("readonly") && flags.includes("write")), `${fullName} reads or writes`);
    assert.ok(!flags.includes("denyoom") || flags.includes("write"), `${fullName}: only writes take memory`);
    assert.ok(!flags.includes("powerful") || flags.includes("readonly"), `${fullName}: only reads are powerful`);
    assert.ok(!(flags.includes("public") && flags.includes("write")), `${fullName}: no write is public`);
    assert.equal(keys.first === 0, keys.step === 0, fullName);
    assert.ok(keys.last < 0 || keys.last >= keys.first, fullName);
  }
  assert.equal(new Set(everyRow.map(({ fullName }) => fullName)).size, everyRow.length, "a name belongs to one row");
});

test("every command has the same facts in the same order, so that V8 reads all of them alike", () => {
  const [first] = everyRow;
  for (const command of everyRow) assert.deepEqual(Object.keys(command), Object.keys(first ?? {}), command.fullName);
});

test("finds a command by its name in any case, and by nothing else", () => {
  for (const command of commands) {
    const { name } = command;
    const mixed = name.toLowerCase().replace(/[a-z]/, (letter) => letter.toUpperCase());
    for (const spelling of [name, name.toLowerCase(), mixed]) assert.equal(findCommand(spelling), command, spelling);
    for (const other of [`${name} `, `${name}\x00`, name.slice(1), `${name}${"X".repeat(40)}`, `\xc7${name}`])
      assert.notEqual(findCommand(other), command, other);
  }
  for (const other of ["", "GET\x20", "G\x05T", "\xe7ET", "@ET", "x".repeat(100_000)])
    assert.equal(findCommand(other), undefined, other.slice(0, 10));
});

/** The commands of a read-only token (A.read-only-token). A new read is listed here, or it is `powerful`. */
const READ_ONLY: readonly string[] = [
  ...["lindex", "llen", "lpos", "lrange"],
  ...["ping", "echo", "time", "dbsize", "lolwut", "pubsub|numsub"],
  // Commands about their own connection over TCP.
  ...["auth", "hello", "quit", "reset", "select", "multi", "exec", "discard", "watch", "unwatch"],
  ...["client|capa", "client|import-source"],
  ...["client|caching", "client|getname", "client|getredir", "client|help", "client|id", "client|info"],
  ...["client|no-touch", "client|reply", "client|setinfo", "client|setname", "client|tracking", "client|trackinginfo"],
  ...["exists", "expiretime", "pexpiretime", "pttl", "sort_ro", "touch", "ttl", "type"],
  ...["digest", "get", "getrange", "lcs", "mget", "strlen", "substr"],
  ...["hexists", "hget", "hgetall", "hkeys", "hlen", "hmget", "hrandfield", "hscan", "hstrlen", "hvals"],
  ...["geodist", "geohash", "geopos", "georadius_ro", "georadiusbymember_ro", "geosearch"],
  ...["zcard", "zcount", "zdiff", "zinter", "zintercard", "zlexcount", "zmscore", "zrandmember", "zrange"],
  ...["zrangebylex", "zrangebyscore", "zrank", "zrevrange", "zrevrangebylex", "zrevrangebyscore", "zrevrank"],
  ...["zscan", "zscore", "zunion"],
  ...["pfcount"],
  ...["json.arrindex", "json.arrlen", "json.get", "json.mget", "json.objkeys", "json.objlen", "json.resp"],
  ...["json.strlen", "json.type"],
  ...["search.aggregate", "search.count", "search.describe", "search.listaliases", "search.listindexes"],
  ...["search.query", "search.waitindexing"],
  ...["xinfo|consumers", "xinfo|groups", "xinfo|stream", "xlen", "xpending", "xrange", "xread", "xrevrange"],
  ...["bitcount", "bitfield_ro", "bitpos", "getbit"],
  ...["hexpiretime", "hpexpiretime", "hpttl", "httl"],
  ...[
    "scard",
    "sdiff",
    "sdiffcard",
    "sinter",
    "sintercard",
    "sismember",
    "smembers",
    "smismember",
    "srandmember",
    "sscan",
    "sunion",
    "sunioncard",
  ],
];

test("A-03: a read-only token may run the reads that are not powerful, and a few more by name", () => {
  const allowed = everyRow.filter(({ isForReadOnlyToken }) => isForReadOnlyToken).map(({ fullName }) => fullName);
  assert.deepEqual(allowed.toSorted(), READ_ONLY.toSorted());
});

/** Calls in tables of tests: `"SET k v"`, `["COMMAND GETKEYS …", …]`, `call("HSET", …)`. */
const CALL = /["'`]([A-Za-z_.-]+)(?:(?: |", ")([A-Za-z_.-]+))?/g;

function testedNames(): ReadonlySet<string> {
  const names = new Set<string>();
  for (const family of families) for (const name of namesOf(family, { extensions: true })) names.add(name);
  for (const folder of ["src/store", "test/conformance"]) {
    for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!path.endsWith(".test.ts")) continue;
      for (const [, first = "", second] of readFileSync(`${folder}/${path}`, "utf8").matchAll(CALL)) {
        names.add(first.toUpperCase());
        if (second !== undefined) names.add(`${first}|${second}`.toUpperCase());
      }
    }
  }
  return names;
}

test("every row is drawn by a random program or called by a test", () => {
  const names = testedNames();
  const missing = everyRow.map(({ fullName }) => fullName).filter((fullName) => !names.has(fullName.toUpperCase()));
  assert.deepEqual(
    missing,
    [],
    "these rows need a line in a test beside their family, or in test/differential/families",
  );
});
