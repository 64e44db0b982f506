/** The refusals of cluster commands, and the answers about replicas and modules: those of a lone Redis 7.0.15. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startSessions } from "../../../test/harness/session-harness.ts";
import { error } from "../../../test/harness/store-harness.ts";
import { defaultUser, readOnlyUser } from "../acl/built-in-users.ts";
import { simple } from "../reply/reply.ts";

const disabled = error("ERR This instance has cluster support disabled");

test("every cluster command is refused as in a Redis without cluster mode, after a check of its arity", () => {
  startSessions()
    .connect()
    .expect([
      ["CLUSTER INFO", disabled],
      ["CLUSTER SLOTS", disabled],
      ["CLUSTER SHARDS", disabled],
      ["CLUSTER MYID", disabled],
      ["CLUSTER NODES", disabled],
      ["CLUSTER LINKS", disabled],
      ["CLUSTER HELP", disabled],
      ["cluster keyslot a", disabled],
      ["CLUSTER COUNTKEYSINSLOT 0", disabled],
      ["CLUSTER GETKEYSINSLOT 0 1", disabled],
      ["READONLY", disabled],
      ["READWRITE", disabled],
      ["ASKING", disabled],
      ["CLUSTER KEYSLOT", error("ERR wrong number of arguments for 'cluster|keyslot' command")],
      ["CLUSTER", error("ERR wrong number of arguments for 'cluster' command")],
      ["CLUSTER MEET a 1", error("ERR unknown subcommand 'MEET'. Try CLUSTER HELP.")],
      ["READONLY x", error("ERR wrong number of arguments for 'readonly' command")],
    ]);
});

test("ROLE and REPLICAOF NO ONE answer as a server without replicas, and another master is refused", () => {
  const noReplication = error("ERR a database cannot be the replica of another server. Only NO ONE is accepted");
  startSessions()
    .connect()
    .expect([
      ["ROLE", ["master", 0, []]],
      ["REPLICAOF no one", simple("OK")],
      ["SLAVEOF NO ONE", simple("OK")],
      ["REPLICAOF localhost 6379", noReplication],
      ["SLAVEOF NO 1", noReplication],
      ["REPLICAOF NO", error("ERR wrong number of arguments for 'replicaof' command")],
    ]);
});

test("MODULE lists no modules and loads none", () => {
  startSessions()
    .connect()
    .expect([
      ["MODULE LIST", []],
      ["MODULE LOAD /x.so", error("ERR unknown subcommand 'LOAD'. Try MODULE HELP.")],
      [
        "MODULE HELP",
        [
          simple("MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"),
          simple("LIST"),
          simple("    Return an empty list: modules do not exist."),
          simple("HELP"),
          simple("    Prints this help."),
        ],
      ],
    ]);
});

test("these commands are not available over HTTP, nor to a read-only token", () => {
  const { store, connect } = startSessions();
  const database = store.database("main");
  const reader = connect({ user: readOnlyUser });
  for (const words of [["CLUSTER", "INFO"], ["READONLY"], ["ROLE"], ["REPLICAOF", "NO", "ONE"], ["MODULE", "LIST"]]) {
    const overHttp = database.command({ user: defaultUser, transport: "http", address: "" }, words);
    assert.match(JSON.stringify(overHttp), /Command is not available/, words.join(" "));
    assert.match(JSON.stringify(reader.say(...words)), /NOPERM/, words.join(" "));
  }
});
