/** Streams of the users of a database over HTTP: permissions and lifetime (A5, A6; threats ). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStream } from "../harness/event-reader.ts";
import { startServer, type TestServer, TOKEN } from "../harness/server.ts";

const NO_CHANNEL = "NOPERM this user has no permissions to access one of the channels used as arguments";

function noCommand(name: string): string {
  return `NOPERM this user has no permissions to run the '${name}' command or its subcommand`;
}

/** Runs a command with the standard token, or another; its result, or its error as text. */
async function run(server: TestServer, line: string, token = TOKEN): Promise<unknown> {
  const { json } = await server.post("/", line.split(" "), { token });
  const { result, error } = json as { result?: unknown; error?: string };
  return error ?? result;
}

/** Makes or changes a user and returns a token of it. */
async function userOf(server: TestServer, name: string, rules: string): Promise<string> {
  assert.equal(await run(server, `ACL SETUSER ${name} on >secret ${rules}`), "OK");
  return String(await run(server, `ACL RESTTOKEN ${name} secret`));
}

test("A6.rights, A5.rights: channels need channel permissions, and the monitor needs its command", async () => {
  await using server = await startServer();
  const token = await userOf(server, "ann", "resetchannels +subscribe +psubscribe +publish &news.* &exact");
  const refusalOf = async (path: string): Promise<string> => {
    const reader = await openStream(server.url + path, { token });
    await reader.untilEnd();
    return `${reader.status} ${reader.text}`;
  };
  const reader = await openStream(`${server.url}/subscribe/news.art/exact`, { token });
  assert.deepEqual(await reader.take(2), ["subscribe,news.art,1", "subscribe,exact,2"]);
  const pattern = await openStream(`${server.url}/psubscribe/news.*`, { token });
  assert.equal(await pattern.next(), "psubscribe,news.*,1");
  for (const path of ["/subscribe/other", "/subscribe/news.art/other", "/psubscribe/news.a*", "/psubscribe/*"])
    assert.equal(await refusalOf(path), `400 {"error":"${NO_CHANNEL}"}`, path);
  assert.equal(await refusalOf("/monitor"), `400 {"error":"${noCommand("monitor")}"}`);
  assert.equal(await run(server, "PUBLISH news.art x", token), 2);
  assert.equal(await run(server, "PUBLISH other x", token), NO_CHANNEL);
  assert.equal(await reader.next(), "message,news.art,x");

  await run(server, "ACL SETUSER ann +monitor");
  const monitor = await openStream(`${server.url}/monitor`, { token });
  assert.equal(await monitor.next(), '"OK"');
});

// A6.rights, A.acl-token
test("A-05: the streams of a user end when the user changes, and those of others continue", async () => {
  await using server = await startServer();
  const changes: readonly string[] = [
    "ACL SETUSER ann -subscribe",
    "ACL SETUSER ann resetchannels",
    "ACL SETUSER ann off",
    "ACL SETUSER ann resetpass",
    "ACL DELUSER ann",
  ];
  const others = await openStream(`${server.url}/subscribe/c`, { token: await userOf(server, "bob", "+subscribe &*") });
  await others.next();
  for (const change of changes) {
    await run(server, "ACL DELUSER ann");
    const token = await userOf(server, "ann", "+subscribe &*");
    const reader = await openStream(`${server.url}/subscribe/c`, { token });
    assert.equal(await reader.next(), "subscribe,c,1");
    await run(server, change);
    assert.equal(await reader.next(), undefined, change);
  }
  assert.equal(await run(server, "PUBLISH c x"), 1);
  assert.equal(await others.next(), "message,c,x");
});

test("A-05: no stream begins or continues with permissions that were revoked in the same request", async () => {
  await using server = await startServer();
  const token = await userOf(server, "ann", "+@all ~* &*");
  const reader = await openStream(`${server.url}/monitor`, { token });
  assert.equal(await reader.next(), '"OK"');

  await server.post(
    "/multi-exec",
    [
      ["ACL", "SETUSER", "ann", "-monitor"],
      ["SET", "k", "v"],
    ],
    { token },
  );

  assert.equal(await run(server, "ACL WHOAMI", token), "ann");
  const refused = await openStream(`${server.url}/monitor`, { token });
  await refused.untilEnd();
  assert.equal(refused.status, 400);
  await reader.untilEnd();
});
