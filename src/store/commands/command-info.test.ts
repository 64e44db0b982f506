/** COMMAND: information about the table of commands. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, startSession } from "../../../test/harness/store-harness.ts";
import { map, type Reply, set, simple } from "../reply/reply.ts";

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

test("COMMAND and COMMAND INFO return the ten facts of each command", () => {
  const session = startSession();
  const hset: Reply = [
    "hset",
    -4,
    set([simple("write"), simple("denyoom"), simple("fast")]),
    1,
    1,
    1,
    set([simple("@write"), simple("@hash"), simple("@fast")]),
    set([]),
    set([
      map([
        ["flags", set([simple("RW"), simple("update")])],
        [
          "begin_search",
          map([
            ["type", "index"],
            ["spec", map([["index", 1]])],
          ]),
        ],
        [
          "find_keys",
          map([
            ["type", "range"],
            [
              "spec",
              map([
                ["lastkey", 0],
                ["keystep", 1],
                ["limit", 0],
              ]),
            ],
          ]),
        ],
      ]),
    ]),
    set([]),
  ];
  session.expect([["COMMAND INFO hset NOPE", [hset, nil]]]);
  const all = session.run("COMMAND") as Reply[][];
  assert.deepEqual(
    all.find(([name]) => name === "hset"),
    hset,
  );
  assert.deepEqual(session.run("COMMAND INFO"), all);
  assert.equal(session.run("COMMAND COUNT"), all.length);
});

test("COMMAND INFO describes keys up to the end, and subcommands", () => {
  const session = startSession();
  const [del, object, encoding] = session.run("COMMAND INFO del object OBJECT|ENCODING") as Reply[][];
  assert.deepEqual(del?.slice(3, 6), [1, -1, 1]);
  assert.deepEqual(
    del?.[8],
    set([
      map([
        ["flags", set([simple("RM"), simple("delete")])],
        [
          "begin_search",
          map([
            ["type", "index"],
            ["spec", map([["index", 1]])],
          ]),
        ],
        [
          "find_keys",
          map([
            ["type", "range"],
            [
              "spec",
              map([
                ["lastkey", -1],
                ["keystep", 1],
                ["limit", 0],
              ]),
            ],
          ]),
        ],
      ]),
    ]),
  );
  assert.deepEqual(
    (object?.[9] as Reply[][] | undefined)?.map(([name]) => name),
    ["object|encoding", "object|freq", "object|help", "object|idletime", "object|refcount"],
  );
  assert.deepEqual(encoding?.slice(0, 6), ["object|encoding", 3, set([simple("readonly")]), 2, 2, 1]);
  session.expect([["COMMAND INFO object|nope object|encoding|x", [nil, nil]]]);
});

test("COMMAND INFO describes counted keys that values follow", () => {
  const [msetex] = startSession().run("COMMAND INFO msetex") as Reply[][];
  assert.deepEqual(msetex?.slice(0, 6), [
    "msetex",
    -4,
    set([simple("write"), simple("denyoom"), simple("movablekeys")]),
    0,
    0,
    0,
  ]);
  assert.deepEqual(msetex?.[6], set([simple("@write"), simple("@string"), simple("@slow")]));
  assert.deepEqual(
    msetex?.[8],
    set([
      map([
        ["flags", set([simple("OW"), simple("update")])],
        [
          "begin_search",
          map([
            ["type", "index"],
            ["spec", map([["index", 1]])],
          ]),
        ],
        [
          "find_keys",
          map([
            ["type", "keynum"],
            [
              "spec",
              map([
                ["keynumidx", 0],
                ["firstkey", 1],
                ["keystep", 2],
              ]),
            ],
          ]),
        ],
      ]),
    ]),
  );
});

test("COMMAND DOCS describes commands, and omits unknown ones", () => {
  const session = startSession();
  session.expect([
    [
      "COMMAND DOCS hget nope",
      map([
        [
          "hget",
          map([
            ["summary", "Returns the value of a field"],
            ["group", "hash"],
          ]),
        ],
      ]),
    ],
    ["COMMAND DOCS nope", map([])],
    [
      "COMMAND DOCS object|freq",
      map([
        [
          "object|freq",
          map([
            ["summary", "Returns the access frequency of a key, from 0 to 255, with an LFU policy"],
            ["group", "generic"],
          ]),
        ],
      ]),
    ],
  ]);
  const all = session.run("COMMAND DOCS");
  assert.ok(typeof all === "object" && all !== null && "kind" in all && all.kind === "map");
  assert.equal(all.pairs.length, session.run("COMMAND COUNT"));
});

test("COMMAND GETKEYS finds the keys of a command by its row", () => {
  startSession().expect([
    ["COMMAND GETKEYS get k", ["k"]],
    ["COMMAND GETKEYS MSET a 1 b 2", ["a", "b"]],
    ["COMMAND GETKEYS MSETEX 2 a 1 b 2 EX 10", ["a", "b"]],
    ["COMMAND GETKEYS MSETEX 3 a 1 b 2", error("ERR Invalid arguments specified for command")],
    ["COMMAND GETKEYSANDFLAGS MSETEX 1 a 1", [["a", set([simple("OW"), simple("update")])]]],
    ["COMMAND GETKEYS del a b c", ["a", "b", "c"]],
    ["COMMAND GETKEYS rename a b", ["a", "b"]],
    ["COMMAND GETKEYS object encoding k", ["k"]],
    ["COMMAND GETKEYS object nope k", error("ERR Invalid command specified")],
    ["COMMAND GETKEYS nope k", error("ERR Invalid command specified")],
    ["COMMAND GETKEYS scan 0", error("ERR The command has no key arguments")],
    ["COMMAND GETKEYS get a b", error("ERR Invalid number of arguments specified for command")],
    ["COMMAND GETKEYS get", arity("command|getkeys")],
  ]);
});

test("COMMAND GETKEYS finds the keys after STORE and STOREDIST", () => {
  startSession().expect([
    ["COMMAND GETKEYS sort a", ["a"]],
    ["COMMAND GETKEYS sort a limit 0 1 store b", ["a", "b"]],
    ["COMMAND GETKEYS sort a by store get store STORE c limit store 3 store d", ["a", "d"]],
    ["COMMAND GETKEYS sort a store", ["a"]],
    ["COMMAND GETKEYS sort_ro a store b", ["a"]],
    ["COMMAND GETKEYS georadius k 1 2 3 m store a StoreDist b", ["k", "a", "b"]],
    ["COMMAND GETKEYS georadius k 1 2 3 m storedist a storedist b", ["k", "a", "b"]],
    ["COMMAND GETKEYS georadius k 1 2 3 m store store store b", ["k", "store", "b"]],
    ["COMMAND GETKEYS sort a store limit store b", ["a", "b"]],
    ["COMMAND GETKEYS xreadgroup GROUP streams c STREAMS k >", ["k"]],
    ["COMMAND GETKEYS xreadgroup COUNT 1 GROUP STREAMS streams STREAMS k >", ["k"]],
    ["COMMAND GETKEYS georadius k 1 2 3 m store", ["k"]],
    ["COMMAND GETKEYS georadiusbymember k store 1 km store x", ["k", "x"]],
    ["COMMAND GETKEYS georadius_ro k 1 2 3 m store x", ["k"]],
  ]);
});

test("COMMAND GETKEYSANDFLAGS reports whether keys are written", () => {
  const read: Reply = set([simple("RO"), simple("access")]);
  const changed: Reply = set([simple("RW"), simple("access"), simple("update")]);
  const inserted: Reply = set([simple("RW"), simple("insert")]);
  const stored: Reply = set([simple("OW"), simple("update")]);
  startSession().expect([
    [
      "COMMAND GETKEYSANDFLAGS mget a b",
      [
        ["a", read],
        ["b", read],
      ],
    ],
    ["COMMAND GETKEYSANDFLAGS append a x", [["a", inserted]]],
    ["COMMAND GETKEYSANDFLAGS incr a", [["a", changed]]],
    ["COMMAND GETKEYSANDFLAGS set a x", [["a", stored]]],
    ["COMMAND GETKEYSANDFLAGS set a x EX 1 get", [["a", changed]]],
    ["COMMAND GETKEYSANDFLAGS bitfield a GET u8 0 OVERFLOW sat get u8 1", [["a", read]]],
    ["COMMAND GETKEYSANDFLAGS bitfield a GET u8 0 SET u8 0 1", [["a", changed]]],
    [
      "COMMAND GETKEYSANDFLAGS sort a store b",
      [
        ["a", read],
        ["b", stored],
      ],
    ],
    [
      "COMMAND GETKEYSANDFLAGS zunionstore b 1 a",
      [
        ["b", stored],
        ["a", read],
      ],
    ],
    ["COMMAND GETKEYSANDFLAGS scan 0", error("ERR The command has no key arguments")],
    ["COMMAND GETKEYSANDFLAGS get", arity("command|getkeysandflags")],
  ]);
});

test("COMMAND LIST names all commands, or those that match a filter", () => {
  const session = startSession();
  session.expect([
    ["COMMAND LIST FILTERBY PATTERN HS*", ["hscan", "hset", "hsetnx", "hstrlen", "hsetex"]],
    [
      "COMMAND LIST FILTERBY ACLCAT dangerous",
      [
        "client|kill",
        "client|list",
        "client|no-evict",
        "client|pause",
        "client|unblock",
        "client|unpause",
        "keys",
        "restore",
        "sort",
        "sort_ro",
        "acl|deluser",
        "acl|dryrun",
        "acl|gentoken",
        "acl|getuser",
        "acl|list",
        "acl|load",
        "acl|log",
        "acl|resttoken",
        "acl|save",
        "acl|setuser",
        "acl|users",
        "bgrewriteaof",
        "bgsave",
        "config|get",
        "config|resetstat",
        "config|rewrite",
        "config|set",
        "flushall",
        "flushdb",
        "info",
        "lastsave",
        "latency|doctor",
        "latency|graph",
        "latency|histogram",
        "latency|history",
        "latency|latest",
        "latency|reset",
        "module|list",
        "monitor",
        "replicaof",
        "role",
        "save",
        "slaveof",
        "slowlog|get",
        "slowlog|len",
        "slowlog|reset",
      ],
    ],
    ["COMMAND LIST FILTERBY aclcat nope", []],
    ["COMMAND LIST FILTERBY MODULE any", []],
    ["COMMAND LIST FILTERBY nope x", error("ERR syntax error")],
    ["COMMAND LIST FILTERBY PATTERN", error("ERR syntax error")],
    ["COMMAND LIST x", error("ERR syntax error")],
    ["COMMAND nope", error("ERR unknown subcommand 'nope'. Try COMMAND HELP.")],
    ["COMMAND COUNT x", arity("command|count")],
  ]);
  const names = session.run("COMMAND LIST") as string[];
  assert.ok(names.includes("get") && names.includes("object") && names.includes("object|encoding"));
  assert.deepEqual(
    (session.run("COMMAND HELP") as Reply[])[0],
    simple("COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"),
  );
});
