/** Every method of `@upstash/redis` for scripts and functions. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

const RETURN_ONE = "return 1";
const RETURN_ONE_DIGEST = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";

const LIBRARY = `#!lua name=counter
redis.register_function('up', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)
redis.register_function{function_name='look', description='reads', flags={'no-writes'},
  callback=function(keys) return redis.call('GET', keys[1]) end}
redis.register_function('peek', function(keys) return redis.call('GET', keys[1]) end)
`;

testMethods("Scripts and functions", [
  [
    ["eval"],
    "runs a script with keys and arguments, and returns its result",
    async (redis) => {
      assert.equal(await redis.eval("return ARGV[1]", [], ["hello"]), "hello");
      assert.deepEqual(await redis.eval("return {KEYS[1], KEYS[2], ARGV[1]}", ["a", "b"], ["c"]), ["a", "b", "c"]);
      assert.deepEqual(await redis.eval("return {1, {2, {'x'}}, false, true}", [], []), [1, [2, ["x"]], null, 1]);
      assert.equal(await redis.eval("return redis.call('SET', KEYS[1], ARGV[1])", ["key"], ["value"]), "OK");
      assert.equal(await redis.get("key"), "value");
      assert.equal(await redis.eval("return redis.call('GET', 'missing')", [], []), null);
      assert.deepEqual(await redis.eval("return cjson.encode({ok=1})", [], []), { ok: 1 });
    },
  ],
  [
    ["eval"],
    "fails with the text of the script's error",
    async (redis) => {
      await assert.rejects(redis.eval("return redis.error_reply('MY error')", [], []), /MY error/);
      await redis.set("text", "abc");
      await assert.rejects(
        redis.eval("return redis.call('INCR', KEYS[1])", ["text"], []),
        /ERR value is not an integer or out of range script: [0-9a-f]{40}, on @user_script:1\./,
      );
    },
  ],
  [
    ["evalRo", "evalshaRo", "scriptLoad"],
    "read, and cannot write",
    async (redis) => {
      await redis.set("key", "value");
      assert.equal(await redis.evalRo("return redis.call('GET', KEYS[1])", ["key"], []), "value");
      const writing = "return redis.call('SET', KEYS[1], 'changed')";
      await assert.rejects(redis.evalRo(writing, ["key"], []), /commands are not allowed from read-only/);
      const digest = await redis.scriptLoad(writing);
      await assert.rejects(redis.evalshaRo(digest, ["key"], []), /commands are not allowed from read-only/);
      assert.equal(await redis.get("key"), "value");
      assert.equal(await redis.evalshaRo(await redis.scriptLoad(RETURN_ONE), [], []), 1);
    },
  ],
  [
    ["evalsha", "scriptLoad", "scriptExists", "scriptFlush"],
    "remember scripts by their digests",
    async (redis) => {
      assert.equal(await redis.scriptFlush({ sync: true }), "OK");
      await assert.rejects(redis.evalsha(RETURN_ONE_DIGEST, [], []), /NOSCRIPT No matching script\. Please use EVAL\./);
      await assert.rejects(redis.evalsha("wrong-sha1", [], []), /NOSCRIPT No matching script\. Please use EVAL\./);
      assert.equal(await redis.scriptLoad(RETURN_ONE), RETURN_ONE_DIGEST);
      assert.equal(await redis.evalsha(RETURN_ONE_DIGEST, [], []), 1);
      assert.deepEqual(await redis.scriptExists(RETURN_ONE_DIGEST, "missing"), [1, 0]);
      assert.equal(await redis.scriptFlush({ async: true }), "OK");
      assert.deepEqual(await redis.scriptExists(RETURN_ONE_DIGEST), [0]);
    },
  ],
  [
    ["createScript", "scriptFlush"],
    "creates a script that is sent once and then called by its digest",
    async (redis, plain) => {
      await redis.scriptFlush();
      const script = plain.createScript<string[]>("return {KEYS[1], ARGV[1]}");
      assert.deepEqual(await script.exec(["key"], ["first"]), ["key", "first"]);
      assert.deepEqual(await script.exec(["key"], ["second"]), ["key", "second"]);
      assert.deepEqual(await script.evalsha(["key"], ["third"]), ["key", "third"]);
      assert.deepEqual(await script.eval(["key"], ["fourth"]), ["key", "fourth"]);
      const reader = plain.createScript<number, true>("return 7", { readonly: true });
      assert.equal(await reader.exec([], []), 7);
      assert.equal(await reader.evalshaRo([], []), 7);
      assert.equal(await reader.evalRo([], []), 7);
      assert.ok(redis.createScript("return 1") !== undefined);
    },
  ],
  [
    ["functions.load", "functions.call", "functions.callRo", "functions.delete"],
    "store functions and call them",
    async (redis) => {
      await redis.functions.flush();
      assert.equal(await redis.functions.load({ code: LIBRARY }), "counter");
      assert.equal(await redis.functions.call("up", ["n"], ["5"]), 5);
      assert.equal(await redis.functions.callRo("look", ["n"]), 5);
      assert.equal(await redis.functions.callRo("peek", ["n"]), 5, "a function without the no-writes flag");
      await assert.rejects(redis.functions.callRo("up", ["n"], ["1"]), /commands are not allowed from read-only/);
      await assert.rejects(redis.functions.load({ code: LIBRARY }), /ERR Library 'counter' already exists/);
      assert.equal(await redis.functions.load({ code: LIBRARY, replace: true }), "counter");
      assert.equal(await redis.functions.delete("counter"), "OK");
      await assert.rejects(redis.functions.call("up", ["n"], ["5"]), /ERR Function not found/);
    },
  ],
  [
    ["functions.list", "functions.stats", "functions.flush"],
    "list the libraries",
    async (redis) => {
      await redis.functions.flush();
      assert.deepEqual(await redis.functions.list(), []);
      await redis.functions.load({ code: LIBRARY });
      const functions = [
        { name: "up", description: undefined, flags: [] },
        { name: "look", description: "reads", flags: ["no-writes"] },
        { name: "peek", description: undefined, flags: [] },
      ];
      assert.deepEqual(await redis.functions.list(), [
        { libraryName: "counter", engine: "LUA", functions, libraryCode: undefined },
      ]);
      assert.deepEqual(await redis.functions.list({ libraryName: "c*", withCode: true }), [
        { libraryName: "counter", engine: "LUA", functions, libraryCode: LIBRARY },
      ]);
      assert.deepEqual(await redis.functions.stats(), { engines: { LUA: { librariesCount: 1, functionsCount: 3 } } });
      assert.equal(await redis.functions.flush(), "OK");
      assert.deepEqual(await redis.functions.stats(), { engines: { LUA: { librariesCount: 0, functionsCount: 0 } } });
    },
  ],
]);
