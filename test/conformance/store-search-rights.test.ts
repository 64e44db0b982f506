/**
 * Users with every combination of rights to commands, to the names of an index and to the keys of its documents: no
 * answer of a search holds a key or a value that the user may not read by itself.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { findError, type Reply } from "../../src/store/reply/reply.ts";
import type { Caller } from "../../src/store/session/caller.ts";
import { plainReply, type Session, startSession, testCaller } from "../harness/store-harness.ts";

/** Documents of the index, each with a value of its own, and a key beside them. */
const documents: ReadonlyMap<Bytes, Bytes> = new Map([
  ["p:1", "amber"],
  ["p:2", "birch"],
  ["p:2x", "cedar"],
  ["q:1", "dune"],
  ["other", "elm"],
]);

const commandRules: readonly string[] = [
  "+@search",
  "+@all",
  "+@read",
  "+@write",
  "+search.query",
  "+search.count +search.aggregate",
  "+@search -search.query",
  "+search.listindexes +search.listaliases",
  "+eval +search.query",
];

const indexRules: readonly string[] = ["", "~i", "%R~i", "%W~i", "~alias", "~i ~alias"];

/** Of these only some cover both prefixes, `p:` and `q:`. */
const keyRules: readonly string[] = [
  "",
  "~p:*",
  "~q:*",
  "~p:* ~q:*",
  "%R~p:* %R~q:*",
  "%W~p:* %W~q:*",
  "%R~p:* %W~q:*",
  "~p:1 ~p:2 ~p:2x ~q:1",
  "~p:? ~q:?",
  "~p:?* ~q:?*",
  "~[pq]:*",
  "~?:*",
  "~p* ~q*",
  "~p:*1 ~q:*",
  "~*",
  "%R~*",
  "allkeys",
];

const withAll = [
  ["SEARCH.QUERY", "{}"],
  ["SEARCH.QUERY", "{}", "NOCONTENT"],
  ["SEARCH.QUERY", '{"word":"amber"}', "SELECT", "1", "word", "HIGHLIGHT", "FIELDS", "1", "text"],
  ["SEARCH.QUERY", "{}", "ORDERBY", "word", "ASC"],
  ["SEARCH.COUNT", '{"word":"amber"}'],
  ["SEARCH.AGGREGATE", "{}", '{"w":{"$terms":{"field":"word"}}}'],
  ["SEARCH.AGGREGATE", "{}", '{"w":{"$min":{"field":"number"}}}'],
] as const;

const requests: readonly (readonly Bytes[])[] = [
  ...["i", "alias"].flatMap((name) => withAll.map(([command, ...rest]) => [command, name, ...rest])),
  ["SEARCH.DESCRIBE", "i"],
  ["SEARCH.DESCRIBE", "alias"],
  ["SEARCH.WAITINDEXING", "i"],
  ["SEARCH.LISTINDEXES"],
  ["SEARCH.LISTINDEXES", "MATCH", "i"],
  ["SEARCH.LISTALIASES"],
  ["EVAL", "return redis.call('SEARCH.QUERY', KEYS[1], '{}', 'NOCONTENT')", "1", "i"],
  ["EVAL", "return redis.call('SEARCH.QUERY', 'i', '{}', 'NOCONTENT')", "0"],
  ["EVAL", "return redis.call('SEARCH.AGGREGATE', 'i', '{}', '{\"w\":{\"$terms\":{\"field\":\"word\"}}}')", "0"],
];

/** Ways to an index that the user made. */
const changes: readonly (readonly Bytes[])[] = [
  ["SEARCH.ALIASADD", "p:alias", "i"],
  ["SEARCH.CREATE", "p:own", "ON", "HASH", "PREFIX", "2", "p:", "q:", "SCHEMA", "word", "KEYWORD"],
  ["SEARCH.CREATE", "p:all", "ON", "HASH", "PREFIX", "1", "", "SCHEMA", "word", "KEYWORD"],
];
const afterChanges: readonly (readonly Bytes[])[] = [
  ["SEARCH.QUERY", "p:alias", "{}"],
  ["SEARCH.QUERY", "p:own", "{}"],
  ["SEARCH.QUERY", "p:all", "{}"],
  ["SEARCH.COUNT", "p:all", "{}"],
];

function startWithDocuments(): Session {
  const session = startSession();
  session.run("SEARCH.CREATE i ON HASH PREFIX 2 p: q: SCHEMA word KEYWORD text TEXT FROM word number U64 FAST");
  session.run("SEARCH.ALIASADD alias i");
  for (const [at, [key, word]] of [...documents].entries()) session.run(`HSET ${key} word ${word} number ${at + 7001}`);
  return session;
}

interface User {
  call(words: readonly Bytes[]): Reply;
}

/** What the answer holds that the user may not read. */
function leaksOf({ call }: User, words: readonly Bytes[], rules: string): readonly string[] {
  const reply = call(words);
  const answer = JSON.stringify(plainReply(reply), (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  );
  const error = findError(reply)?.text ?? "";
  return [...documents].flatMap(([key, word], at) => {
    const held = [key, word, `${at + 7001}`].filter(
      (secret) => holds(answer, secret) || (holds(error, secret) && !words.some((given) => given.includes(secret))),
    );
    if (held.length === 0 || findError(call(["HGET", key, "word"])) === undefined) return [];
    return [`${words.join(" ")} with ${rules}: ${key}`];
  });
}

function holds(text: string, secret: string): boolean {
  return new RegExp(`(?<![\\w:])${secret}(?![\\w:])`).test(text);
}

function asUser(session: Session, rules: string): User {
  session.call(
    "ACL",
    "SETUSER",
    "ann",
    "reset",
    "on",
    "nopass",
    "+hget",
    ...rules.split(" ").filter((rule) => rule !== ""),
  );
  const user = session.database.users.find("ann");
  assert.ok(user !== undefined);
  const caller: Caller = { ...testCaller, user };
  return { call: (words) => session.database.execute(caller, words) };
}

function* allRules(): Generator<string> {
  for (const command of commandRules)
    for (const index of indexRules) for (const keys of keyRules) yield `${command} ${index} ${keys}`;
  // Rights of different selectors do not add up.
  yield "+@search ~i (+hget ~p:* ~q:*)";
  yield "~p:* ~q:* (+@search ~i)";
  yield "+@search ~i ~p:* (+@search ~i ~q:*)";
  yield "-@all (+@search +hget ~i ~p:* ~q:*)";
}

test("no search returns a key or a value that the user may not read", () => {
  const session = startWithDocuments();
  let answered = 0;
  let refused = 0;
  for (const rules of allRules()) {
    const user = asUser(session, rules);
    for (const words of requests) {
      assert.deepEqual(leaksOf(user, words, rules), []);
      if (findError(user.call(words)) === undefined) answered += 1;
      else refused += 1;
    }
  }
  assert.ok(answered > 1_000 && refused > 1_000, `${answered} answered, ${refused} refused`);
});

test("no index or alias that the user made returns more", () => {
  for (const keys of keyRules) {
    const rules = `+@search ~i ${keys}`;
    const session = startWithDocuments();
    const user = asUser(session, rules);
    for (const words of changes) user.call(words);
    for (const words of afterChanges) assert.deepEqual(leaksOf(user, words, rules), []);
  }
});

test("indexes are searched with exactly the rights to the index and to both prefixes", () => {
  const session = startWithDocuments();
  const covering = [...["~p:* ~q:*", "%R~p:* %R~q:*", "~?:*", "~p* ~q*", "~*", "%R~*", "allkeys"]];
  const answers = keyRules.filter((keys) => {
    const user = asUser(session, `+search.count ~i ${keys}`);
    return findError(user.call(["SEARCH.COUNT", "i", "{}"])) === undefined;
  });
  // A pattern counts if it is a part of the prefix and a star: what others match is not looked into.
  assert.deepEqual(
    answers.filter((keys) => !covering.includes(keys)),
    [],
  );
  for (const keys of ["~p:* ~q:*", "%R~p:* %R~q:*", "~p* ~q*", "~*", "allkeys"])
    assert.ok(answers.includes(keys), keys);
});

test("a user sees the names of those indexes and aliases to which it has a right", () => {
  const session = startWithDocuments();
  session.run("SEARCH.CREATE hidden ON HASH PREFIX 1 h: SCHEMA word KEYWORD");
  const lists = (rules: string): Reply[] => {
    const { call } = asUser(session, `+@search ${rules}`);
    return [["SEARCH.LISTINDEXES"], ["SEARCH.LISTALIASES"]].map((words) => plainReply(call(words)));
  };
  const index = {
    kind: "map",
    pairs: [
      ["name", "i"],
      ["type", "HASH"],
    ],
  };
  assert.deepEqual(lists("~i"), [[index], []]);
  // Who may use an alias may ask for the name of its index, too.
  assert.deepEqual(lists("~alias"), [[], [["alias", "i"]]]);
  assert.deepEqual(lists("~i ~alias"), [[index], [["alias", "i"]]]);
  assert.deepEqual(lists("~other"), [[], []]);
});
