/** Who may search: users with every combination of rights to commands, to the index and to its keys. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, type Session, splitLine, startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { commandTableOf } from "../acl/command-table.ts";
import { Selector } from "../acl/selector.ts";
import { commands } from "../commands/table.ts";
import { findError, type Reply } from "../reply/reply.ts";

function as({ database }: Session, name: string, line: string): Reply {
  const user = database.users.find(name);
  assert.ok(user !== undefined);
  const reply = database.command({ ...testCaller, user }, splitLine(line));
  assert.ok(!(reply instanceof Promise));
  return reply;
}

const noKey = error("NOPERM this user has no permissions to access one of the keys used as arguments");

function open(): Session {
  const session = startSession();
  for (const line of [
    "SEARCH.CREATE i ON HASH PREFIX 2 a: b: SCHEMA t TEXT n U64 FAST",
    "HSET a:1 t word n 1",
    "HSET b:1 t word n 2",
  ])
    session.run(line);
  return session;
}

const searches: readonly string[] = [
  "SEARCH.QUERY i {}",
  "SEARCH.QUERY i {} NOCONTENT",
  "SEARCH.COUNT i {}",
  'SEARCH.AGGREGATE i {} \'{"x":{"$sum":{"field":"n"}}}\'',
];

/** Rules on keys, and whether a user with them may search the index `i` over `a:` and `b:`. */
const keyRules: readonly (readonly [rules: string, maySearch: boolean])[] = [
  ["~*", true],
  ["%R~*", true],
  ["~i ~a:* ~b:*", true],
  ["%R~i %R~a* %R~b:*", true],
  ["~i ~[ab]:*", false],
  ["~i ~a:*", false],
  ["~i ~a:1 ~b:1", false],
  ["~i ~a:x* ~b:*", false],
  ["~i %W~a:* ~b:*", false],
  ["~i ~?:*", false],
  ["~i ~a:*1 ~b:*", false],
  ["~i ~a:?* ~b:*", false],
  ["~i ~a\\:* ~b:*", true],
  ["~a:* ~b:*", false],
  ["%W~i ~a:* ~b:*", false],
  ["~i", false],
];

test("A-22: a user may search an index if it may read every key with each prefix, and the index", () => {
  for (const [rules, maySearch] of keyRules) {
    const session = open();
    session.call("ACL", "SETUSER", "ann", "on", "+@search", ...rules.split(" "));
    for (const line of searches) {
      const reply = as(session, "ann", line);
      if (maySearch) assert.equal(findError(reply), undefined, `${rules}: ${line}`);
      else assert.deepEqual(reply, noKey, `${rules}: ${line}`);
    }
  }
});

test("A-22: one selector must give all rights", () => {
  const session = open();
  session.call("ACL", "SETUSER", "ann", "on", "+@search", "~i", "~a:*", "(+@search ~i ~b:*)");
  assert.deepEqual(as(session, "ann", "SEARCH.COUNT i {}"), noKey);
  session.call("ACL", "SETUSER", "ann", "(+search.count ~i ~a:* ~b:*)");
  assert.equal(as(session, "ann", "SEARCH.COUNT i {}"), 2);
  assert.deepEqual(as(session, "ann", "SEARCH.QUERY i {}"), noKey);
});

test("the commands are reads or writes, all of the category search", () => {
  const session = open();
  session.call("ACL", "SETUSER", "ann", "on", "+@search", "-@write", "~*");
  for (const line of [
    ...searches,
    "SEARCH.DESCRIBE i",
    "SEARCH.WAITINDEXING i",
    "SEARCH.LISTINDEXES",
    "SEARCH.LISTALIASES",
  ])
    assert.equal(findError(as(session, "ann", line)), undefined, line);
  for (const line of [
    "SEARCH.CREATE j ON HASH PREFIX 1 c SCHEMA t TEXT",
    "SEARCH.DROP i",
    "SEARCH.REINDEX i",
    "SEARCH.ALIASADD x i",
    "SEARCH.ALIASDEL x",
  ])
    assert.match(findError(as(session, "ann", line))?.text ?? "", /^NOPERM this user has no permissions to run/, line);
});

test("A-22: SEARCH.CREATE needs the right to read the keys, and aliases the rights to both names", () => {
  const session = open();
  session.call("ACL", "SETUSER", "ann", "on", "+@search", "~mine*", "%R~a:*");
  assert.equal(as(session, "ann", "SEARCH.CREATE mine ON HASH PREFIX 1 a: SCHEMA t TEXT"), 1);
  assert.deepEqual(as(session, "ann", "SEARCH.CREATE mine2 ON HASH PREFIX 1 b: SCHEMA t TEXT"), noKey);
  assert.deepEqual(as(session, "ann", "SEARCH.CREATE other ON HASH PREFIX 1 a: SCHEMA t TEXT"), noKey);
  assert.deepEqual(as(session, "ann", "SEARCH.ALIASADD mine3 i"), noKey);
  assert.deepEqual(as(session, "ann", "SEARCH.ALIASADD other mine"), noKey);
  assert.equal(as(session, "ann", "SEARCH.ALIASADD mine3 mine"), 1);
  assert.equal(as(session, "ann", "SEARCH.COUNT mine3 {}"), 1);
  session.run("SEARCH.ALIASADD mine4 i");
  assert.deepEqual(as(session, "ann", "SEARCH.COUNT mine4 {}"), noKey);
  assert.deepEqual(as(session, "ann", "SEARCH.DROP i"), noKey);
  assert.deepEqual(
    (as(session, "ann", "SEARCH.LISTINDEXES") as Reply[]).length,
    1,
    "names that it may not know are left out",
  );
});

test("a pattern gives the right to a prefix if it is a beginning of it and a star", () => {
  const mayRead = (pattern: string, prefix: string): boolean => {
    const selector = new Selector(commandTableOf(commands));
    assert.equal(selector.apply(`~${pattern}`), undefined);
    return selector.mayReadPrefix(prefix);
  };
  const rows: readonly (readonly [pattern: string, prefix: string, isAllowed: boolean])[] = [
    ["user:*", "user:", true],
    ["user:*", "user:1", true],
    ["user:*", "user", false],
    ["user:**", "user:", false],
    ["user:", "user:", false],
    ["us?r:*", "user:", false],
    ["\\*a*", "*a", true],
    ["\\*a*", "xa", false],
    ["*", "", true],
  ];
  for (const [pattern, prefix, isAllowed] of rows)
    assert.equal(mayRead(pattern, prefix), isAllowed, `${pattern} ${prefix}`);
});
