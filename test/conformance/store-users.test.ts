/** Users of a database and their tokens (threats A-04, A-05, A-06). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStream } from "../harness/event-reader.ts";
import { READ_ONLY_TOKEN, startServer, type TestServer, TOKEN } from "../harness/server.ts";

const UNAUTHORIZED = '{"error":"WRONGPASS invalid or missing auth token"}';

/** Runs a command with the standard token, or another; its result, or its error as text. */
async function run(server: TestServer, line: string, token = TOKEN): Promise<unknown> {
  const { json } = await server.post("/", line.split(" "), { token });
  const { result, error } = json as { result?: unknown; error?: string };
  return error ?? result;
}

async function restToken(server: TestServer, user: string, password: string, token = TOKEN): Promise<string> {
  const made = await run(server, `ACL RESTTOKEN ${user} ${password}`, token);
  assert.match(String(made), /^[\w+/=-]{40,}$/);
  return String(made);
}

/** A user who may read and set below `app:`, and its token. */
async function userOf(server: TestServer, rules = "on >secret +get +set +@read ~app:*"): Promise<string> {
  assert.equal(await run(server, `ACL SETUSER ann ${rules}`), "OK");
  return restToken(server, "ann", "secret");
}

function noCommand(name: string): string {
  return `NOPERM this user has no permissions to run the '${name}' command or its subcommand`;
}
const NO_KEY = "NOPERM this user has no permissions to access one of the keys used as arguments";

test("A.acl-token: ACL RESTTOKEN returns a token that has the rights of its user in every form", async () => {
  await using server = await startServer();
  const token = await userOf(server);

  assert.deepEqual((await server.get("/set/app:k/v", { token })).json, { result: "OK" });
  assert.deepEqual((await server.post("/set/app:k", "w", { token })).json, { result: "OK" });
  assert.deepEqual((await server.post("/", ["GET", "app:k"], { token })).json, { result: "w" });
  assert.deepEqual((await server.get(`/get/app:k?_token=${encodeURIComponent(token)}`, { token: null })).json, {
    result: "w",
  });
  const refusals: readonly (readonly [words: string[], text: string])[] = [
    [["GET", "other"], NO_KEY],
    [["SET", "other", "x"], NO_KEY],
    [["MGET", "app:k", "other"], NO_KEY],
    [["DEL", "app:k"], noCommand("del")],
    [["FLUSHALL"], noCommand("flushall")],
    [["ACL", "WHOAMI"], noCommand("acl|whoami")],
  ];
  for (const [words, error] of refusals) {
    const path = await server.get(`/${words.map(encodeURIComponent).join("/")}`, { token });
    assert.deepEqual([path.status, path.json], [400, { error }], words.join(" "));
    const body = await server.post("/", words, { token });
    assert.deepEqual([body.status, body.json], [400, { error }], words.join(" "));
    const pipeline = await server.post("/pipeline", [["GET", "app:k"], words, ["GET", "app:k"]], { token });
    assert.deepEqual([pipeline.status, pipeline.json], [200, [{ result: "w" }, { error }, { result: "w" }]]);
    const transaction = await server.post("/multi-exec", [["SET", "app:k", "never"], words], { token });
    assert.deepEqual([transaction.status, transaction.json], [400, { error }], words.join(" "));
  }
  assert.equal(await run(server, "GET app:k"), "w");
  const resp = await server.post("/", ["GET", "other"], { token, headers: { "upstash-response-format": "resp2" } });
  assert.deepEqual([resp.status, resp.text], [400, `-${NO_KEY}\r\n`]);
});

test("A.acl-token: a wrong password, an unknown user and wrong arguments are errors", async () => {
  await using server = await startServer();
  await run(server, "ACL SETUSER ann on >secret +@all ~*");
  await run(server, "ACL SETUSER off off >secret +@all ~*");
  const wrong = (user: string): string => `ERR Wrong password or user "${user}" does not exist`;
  const usage = "ERR invalid syntax. Usage: ACL RESTTOKEN username password";
  const rows: readonly (readonly [words: string, error: string])[] = [
    ["ACL RESTTOKEN ann wrong", wrong("ann")],
    ["ACL RESTTOKEN nobody secret", wrong("nobody")],
    ["ACL RESTTOKEN off secret", wrong("off")],
    ["ACL RESTTOKEN default secret", wrong("default")],
    ["ACL RESTTOKEN default_ro secret", wrong("default_ro")],
    ["ACL RESTTOKEN ann", usage],
    ["ACL RESTTOKEN", usage],
    ["ACL RESTTOKEN ann secret more", usage],
  ];
  for (const [words, error] of rows) {
    const { status, json } = await server.post("/", words.split(" "));
    assert.deepEqual([status, json], [400, { error }], words);
  }
  assert.equal(await run(server, `ACL RESTTOKEN default ${TOKEN}`), wrong("default"));
});

test("A.acl-token: a token has the current permissions of its user, as soon as the change is acknowledged", async () => {
  await using server = await startServer();
  const token = await userOf(server);
  assert.equal(await run(server, "SET app:k v", token), "OK");

  await run(server, "ACL SETUSER ann -set");
  assert.equal(await run(server, "SET app:k v", token), noCommand("set"));
  assert.equal(await run(server, "GET app:k", token), "v");

  await run(server, "ACL SETUSER ann resetkeys ~new:*");
  assert.equal(await run(server, "GET app:k", token), NO_KEY);

  await run(server, "ACL SETUSER ann allkeys +@all");
  assert.equal(await run(server, "DEL app:k", token), 1);
  assert.equal(await run(server, "ACL WHOAMI", token), "ann");
});

// A.acl-token
test("A-05: a token is revoked when its user is deleted, disabled or changes the password", async () => {
  await using server = await startServer();
  const token = await userOf(server);
  const status = async (): Promise<number> => (await server.get("/get/app:k", { token })).status;
  assert.equal(await status(), 200);

  await run(server, "ACL SETUSER ann off");
  assert.equal(await status(), 401);
  await run(server, "ACL SETUSER ann on");
  assert.equal(await status(), 200);

  await run(server, "ACL SETUSER ann >second");
  const second = await restToken(server, "ann", "second");
  await run(server, "ACL SETUSER ann <secret");
  assert.equal(await status(), 401);
  assert.equal((await server.get("/get/app:k", { token: second })).status, 200);

  await run(server, "ACL SETUSER ann resetpass >third");
  assert.equal((await server.get("/get/app:k", { token: second })).status, 401);
  const third = await restToken(server, "ann", "third");
  assert.equal(await run(server, "ACL DELUSER ann"), 1);
  const refused = await server.post("/", ["GET", "app:k"], { token: third });
  assert.deepEqual([refused.status, refused.text], [401, UNAUTHORIZED]);

  // A new user of that name is another user, although its token is derived from the same values.
  await run(server, "ACL SETUSER ann on >fourth +get ~*");
  assert.equal((await server.get("/get/app:k", { token: third })).status, 401);
});

test("A.acl-token: a user may delete itself in the middle of a pipeline", async () => {
  await using server = await startServer();
  const token = await userOf(server, "on >secret +@all ~*");
  const pipeline = await server.post(
    "/pipeline",
    [
      ["SET", "k", "v"],
      ["ACL", "SETUSER", "ann", "-@all", "+get"],
      ["SET", "k", "w"],
      ["GET", "k"],
    ],
    { token },
  );
  assert.deepEqual(pipeline.json, [{ result: "OK" }, { result: "OK" }, { error: noCommand("set") }, { result: "v" }]);
  assert.equal(await run(server, "GET k", token), "v");
});

test("A-05: in a transaction, too, revoked permissions apply to the next commands", async () => {
  await using server = await startServer();
  const token = await userOf(server, "on >secret +@all ~*");
  const transaction = await server.post(
    "/multi-exec",
    [
      ["SET", "k", "v"],
      ["ACL", "SETUSER", "ann", "-set"],
      ["SET", "k", "w"],
      ["GET", "k"],
    ],
    { token },
  );
  assert.equal(transaction.status, 200);
  const error =
    "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: no permission to execute the command or subcommand";
  assert.deepEqual(transaction.json, [{ result: "OK" }, { result: "OK" }, { error }, { result: "v" }]);
});

test("A-05: a script or function has the permissions of its caller", async () => {
  await using server = await startServer();
  const library =
    "#!lua name=lib\nredis.register_function('take', function(keys) return redis.call('DEL', keys[1]) end)";
  assert.deepEqual((await server.post("/", ["FUNCTION", "LOAD", library])).json, { result: "lib" });
  const token = await userOf(server, "on >secret +eval +evalsha +fcall +get +set ~app:*");
  const send = async (words: readonly string[]): Promise<string> => {
    const { result, error } = (await server.post("/", words, { token })).json as { result?: unknown; error?: string };
    return error ?? JSON.stringify(result);
  };
  const NO_KEY_THERE =
    /^ERR The user executing the script can't access at least one of the keys mentioned in the command/;
  const NO_COMMAND_THERE = /^ERR The user executing the script can't run this command or subcommand/;
  const rows: readonly (readonly [words: string[], answer: RegExp])[] = [
    [["EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", "1", "app:k", "v"], /^"OK"$/],
    [["EVAL", "return redis.call('GET', 'other')", "0"], NO_KEY_THERE],
    [["EVAL", "return redis.call('SET', 'other', 'x')", "1", "app:k"], NO_KEY_THERE],
    [["EVAL", "return redis.call('DEL', KEYS[1])", "1", "app:k"], NO_COMMAND_THERE],
    [["EVAL", "return redis.call('FLUSHALL')", "0"], NO_COMMAND_THERE],
    [["EVAL", "return redis.pcall('KEYS', '*').err", "0"], /^"ERR The user executing the script can't run/],
    [["FCALL", "take", "1", "app:k"], NO_COMMAND_THERE],
    [["EVAL_RO", "return 1", "0"], /^NOPERM .*'eval_ro' command/],
    [["GET", "app:k"], /^"v"$/],
  ];
  await server.post("/", ["SET", "other", "kept"]);
  for (const [words, answer] of rows) assert.match(await send(words), answer, words.join(" "));
  assert.equal(await run(server, "GET other"), "kept");
});

test("A.acl-gentoken: ACL GENTOKEN returns a token that is both a password and a bearer token", async () => {
  await using server = await startServer();
  const token = String(await run(server, "ACL GENTOKEN bot"));
  assert.equal((await server.get("/get/k", { token })).status, 401);

  await run(server, `ACL SETUSER bot on >${token} +get ~*`);
  assert.deepEqual((await server.get("/get/k", { token })).json, { result: null });
  assert.equal(await run(server, "SET k v", token), noCommand("set"));
  assert.deepEqual((await server.get("/get/k", { token: await restToken(server, "bot", token) })).json, {
    result: null,
  });

  await run(server, "ACL DELUSER bot");
  assert.equal((await server.get("/get/k", { token })).status, 401);
});

test("A.acl-gentoken: a password is not a bearer token", async () => {
  await using server = await startServer();
  await userOf(server);
  const password = "a-password-that-is-long-enough-for-a-token-0123456789";
  await run(server, `ACL SETUSER ann >${password}`);
  for (const token of ["secret", password, "ann"])
    assert.equal((await server.get("/get/app:k", { token })).status, 401, token);
});

test("A-05: a user's password cannot replace a token of the database", async () => {
  await using server = await startServer();
  await run(server, `ACL SETUSER eve on >${TOKEN} >${READ_ONLY_TOKEN} +ping`);
  assert.equal(await run(server, "ACL WHOAMI"), "default");
  await run(server, "ACL DELUSER eve");
  assert.equal(await run(server, "ACL WHOAMI"), "default");
  assert.equal((await server.get("/get/k", { token: READ_ONLY_TOKEN })).status, 200);
});

test("A.token-reset: resetting the password affects neither users nor their connections", async () => {
  await using server = await startServer();
  const token = await userOf(server, "on >secret +@all ~* &*");
  const reader = await openStream(`${server.url}/subscribe/c`, { token });
  await reader.next();
  const standard = await openStream(`${server.url}/subscribe/c`, { token: TOKEN });
  await standard.next();

  server.tokens.replaceTenant("main", [
    { token: "fresh", access: "standard" },
    { token: "fresh-ro", access: "read-only" },
  ]);

  assert.equal(await standard.next(), undefined);
  assert.deepEqual((await server.get("/get/k", { token })).json, { result: null });
  assert.equal(await run(server, "PUBLISH c x", "fresh"), 1);
  assert.equal(await reader.next(), "message,c,x");
});

test("A-06: a user belongs to one database, and a user of the same name in another has other tokens", async () => {
  await using server = await startServer();
  server.addDatabase("other", [{ token: "other-token", access: "standard" }]);
  const token = await userOf(server, "on >secret +@all ~*");
  await run(server, "ACL SETUSER ann on >secret +@all ~*", "other-token");
  const otherToken = await restToken(server, "ann", "secret", "other-token");
  assert.notEqual(token, otherToken);
  await run(server, "SET k main", token);
  await run(server, "SET k other", otherToken);
  assert.equal(await run(server, "GET k", token), "main");
  assert.equal(await run(server, "GET k", otherToken), "other");

  await run(server, "ACL DELUSER ann", otherToken);
  assert.equal((await server.get("/get/k", { token: otherToken })).status, 401);
  assert.equal(await run(server, "GET k", token), "main");
});

test("A-02: the monitor shows neither passwords nor tokens of users", async () => {
  await using server = await startServer();
  const reader = await openStream(`${server.url}/monitor`, { token: TOKEN });
  await reader.next();
  const token = await userOf(server);
  await run(server, "ACL GENTOKEN ann");
  await run(server, "PING", token);
  await run(server, "GET app:k", token);
  assert.match((await reader.next()) ?? "", / "GET" "app:k"$/);
  assert.ok(!reader.text.includes("secret") && !reader.text.includes(token));
});
