import assert from "node:assert/strict";
import { test } from "node:test";
import { error, startSession, testCaller } from "../../../test/store-harness.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";

test("PUBSUB tells channels, their subscribers, and patterns", () => {
  const session = startSession();
  const { pubsub } = session.database;
  const one = pubsub.open({ receive: () => {}, drop: () => {} });
  const other = pubsub.open({ receive: () => {}, drop: () => {} });
  for (const channel of ["news.a", "news.b", "x"]) pubsub.subscribe(one, channel);
  pubsub.subscribe(other, "x");
  pubsub.subscribePattern(other, "n*");
  session.expect([
    ["PUBSUB CHANNELS", ["news.a", "news.b", "x"]],
    ["PUBSUB channels news.*", ["news.a", "news.b"]],
    ["PUBSUB CHANNELS nothing", []],
    ["PUBSUB NUMSUB", []],
    ["PUBSUB NUMSUB x y news.a x", ["x", 2, "y", 0, "news.a", 1, "x", 2]],
    ["PUBSUB NUMPAT", 1],
    ["PUBSUB SHARDCHANNELS", []],
    ["PUBSUB SHARDCHANNELS a*", []],
    ["PUBSUB SHARDNUMSUB x y", ["x", 0, "y", 0]],
    ["PUBLISH x m", 2],
    ["PUBLISH news.a m", 2],
    ["PUBLISH other m", 0],
  ]);
});

test("PUBSUB refuses words that it has no use for", () => {
  startSession().expect([
    ["PUBSUB", error("ERR wrong number of arguments for 'pubsub' command")],
    ["PUBSUB NOPE", error("ERR unknown subcommand 'NOPE'. Try PUBSUB HELP.")],
    [
      "PUBSUB CHANNELS a b",
      error("ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP."),
    ],
    [
      "PUBSUB shardchannels a b",
      error("ERR unknown subcommand or wrong number of arguments for 'shardchannels'. Try PUBSUB HELP."),
    ],
    ["PUBSUB NUMPAT x", error("ERR wrong number of arguments for 'pubsub|numpat' command")],
  ]);
});

test("PUBSUB HELP names every subcommand", () => {
  const lines = startSession().run("PUBSUB HELP");
  const text = JSON.stringify(lines);
  for (const name of ["CHANNELS", "NUMPAT", "NUMSUB", "SHARDCHANNELS", "SHARDNUMSUB"]) assert.ok(text.includes(name));
});

test("a read-only token may ask for subscribers of channels it knows, and nothing else", () => {
  const { database } = startSession();
  const caller = { ...testCaller, user: readOnlyUser } as const;
  assert.deepEqual(database.command(caller, ["PUBSUB", "NUMSUB", "a"]), ["a", 0]);
  for (const words of [
    ["PUBSUB", "CHANNELS"],
    ["PUBSUB", "NUMPAT"],
    ["PUBLISH", "a", "b"],
  ])
    assert.match(JSON.stringify(database.command(caller, words)), /NOPERM/);
});
