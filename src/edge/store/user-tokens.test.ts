import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { TokenTable } from "../auth.ts";
import { EventStreams } from "../http/event-streams.ts";
import { type FollowedDatabase, followUsers } from "./user-tokens.ts";

/** A database with the tokens of its users. */
function databaseOf(name: string, tokens: Map<string, readonly string[]>): FollowedDatabase {
  return {
    name,
    users: {
      names: () => tokens.keys(),
      tokenDigestsOf: (user) =>
        (tokens.get(user) ?? []).map((token) => createHash("sha256").update(token).digest("hex")),
      onChange: undefined,
    },
  };
}

interface Setup {
  users: Map<string, readonly string[]>;
  database: FollowedDatabase;
  tokens: TokenTable;
  streams: EventStreams;
  /** Opens a stream with a token; its end is recorded in `ended`. */
  open(name: string, token: string): void;
  ended: string[];
}

function setUp(): Setup {
  const users = new Map<string, readonly string[]>([
    ["ann", ["anns"]],
    ["bob", ["bobs", "bobs-2"]],
  ]);
  const database = databaseOf("main", users);
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  tokens.add("standard", { tenant: "main", access: "standard" });
  const streams = new EventStreams(new VirtualClock());
  tokens.onRemoved((grant) => streams.revoke(grant));
  followUsers(database, { tokens, streams });
  const ended: string[] = [];
  return {
    users,
    database,
    tokens,
    streams,
    ended,
    open(name, token) {
      const grant = tokens.find(token);
      assert.ok(grant !== undefined, token);
      const { open } = streams.reply({ grant, headers: [], route: "", open: () => () => {} });
      open({ write: () => true, queuedBytes: 0, end: () => ended.push(name), abort: () => {} });
    },
  };
}

test("knows the tokens of existing users", () => {
  const { tokens } = setUp();
  assert.deepEqual(tokens.find("bobs-2"), { tenant: "main", access: "acl", user: "bob" });
  assert.equal(tokens.find("anns")?.user, "ann");
});

test("a changed user has only its new tokens, and its streams end", () => {
  const { users, database, tokens, streams, open, ended } = setUp();
  open("ann", "anns");
  open("bob", "bobs");
  open("bob 2", "bobs-2");
  open("standard", "standard");

  users.set("bob", ["bobs-2", "bobs-3"]);
  database.users.onChange?.("bob");

  assert.equal(tokens.find("bobs"), undefined);
  assert.equal(tokens.find("bobs-3")?.user, "bob");
  assert.deepEqual(ended, ["bob", "bob 2"]);
  assert.deepEqual([streams.endedCount("token revoked"), streams.endedCount("user changed")], [1, 1]);
});

test("a new user has its tokens at once, and a deleted user has none", () => {
  const { users, database, tokens, open, ended } = setUp();
  open("ann", "anns");

  users.set("eve", ["eves"]);
  database.users.onChange?.("eve");
  users.delete("ann");
  database.users.onChange?.("ann");

  assert.equal(tokens.find("eves")?.user, "eve");
  assert.equal(tokens.find("anns"), undefined);
  assert.deepEqual(ended, ["ann"]);
});

test("users with one name in two databases are independent", () => {
  const { database, tokens, streams, users, open, ended } = setUp();
  const other = databaseOf("other", new Map([["ann", ["other-anns"]]]));
  followUsers(other, { tokens, streams });
  open("other ann", "other-anns");

  users.set("ann", []);
  database.users.onChange?.("ann");

  assert.deepEqual(tokens.find("other-anns"), { tenant: "other", access: "acl", user: "ann" });
  assert.deepEqual(ended, []);
});

test("following a database again changes nothing", () => {
  const { database, tokens, streams, open, ended } = setUp();
  open("ann", "anns");
  const grant = tokens.find("anns");

  followUsers(database, { tokens, streams });

  assert.equal(tokens.find("anns"), grant);
  assert.deepEqual(ended, []);
});
