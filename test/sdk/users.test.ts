/**
 * Users of a database with the official client: it has only a token of ACL RESTTOKEN. The real program is
 * killed, restarted and made to reset its tokens.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { errors, Redis } from "@upstash/redis";
import type { StartedArea } from "../../src/mod.ts";
import { suiteSetting } from "../harness/cluster/suite-setting.ts";
import { openStream } from "../harness/event-reader.ts";
import { oneThread, spawnProgram, startProgram } from "../program/program-process.ts";
import { Served, startHere } from "./client.ts";

const timeout = 60_000;
const served = new Served(startHere);

/** Without automatic pipelining each call is a separate request. */
function clientOf(token: string, url = served.server.store.url): Redis {
  return new Redis({ url, token, enableAutoPipelining: false });
}

/** Creates a user with the password `secret`; returns its token of ACL RESTTOKEN, and a client with it. */
async function userOf(
  name: string,
  rules: string,
  { url, token: ownerToken }: Pick<StartedArea, "url" | "token"> = served.server.store,
): Promise<{ redis: Redis; token: string; owner: Redis }> {
  const owner = clientOf(ownerToken, url);
  assert.equal(await owner.exec(["ACL", "SETUSER", name, "on", ">secret", ...rules.split(" ")]), "OK");
  const token = await owner.exec<string>(["ACL", "RESTTOKEN", name, "secret"]);
  return { redis: clientOf(token, url), token, owner };
}

function refused(text: string): (thrown: unknown) => boolean {
  return (thrown) => thrown instanceof errors.UpstashError && thrown.message.startsWith(text);
}

function noCommand(name: string): (thrown: unknown) => boolean {
  return refused(`NOPERM this user has no permissions to run the '${name}' command or its subcommand`);
}

const noKey = refused("NOPERM this user has no permissions to access one of the keys used as arguments");
const unauthorized = refused("WRONGPASS invalid or missing auth token");

test("a client with a user's token has the user's permissions, in every form of a request", async () => {
  const { redis, token } = await userOf("forms", "+get +set +mget ~app:*");

  assert.equal(await redis.set("app:k", { a: 1 }), "OK");
  assert.deepEqual(await redis.get("app:k"), { a: 1 });
  await assert.rejects(redis.get("other"), noKey);
  await assert.rejects(redis.del("app:k"), noCommand("del"));
  assert.deepEqual(await redis.pipeline().get("app:k").mget("app:k", "app:none").exec(), [{ a: 1 }, [{ a: 1 }, null]]);
  await assert.rejects(redis.pipeline().get("app:k").flushall().exec(), /NOPERM .*'flushall'/);
  assert.deepEqual(await redis.multi().set("app:k", 2).get("app:k").exec(), ["OK", 2]);
  await assert.rejects(redis.multi().set("app:k", 3).del("app:k").exec(), noCommand("del"));
  assert.equal(await redis.get("app:k"), 2);

  // Calls of one turn are sent as one pipeline.
  const together = new Redis({ url: served.server.store.url, token, enableAutoPipelining: true });
  assert.deepEqual(await Promise.all([together.get("app:k"), together.get("app:none")]), [2, null]);
});

test("granted and revoked permissions apply from the next request", async () => {
  const { redis, owner } = await userOf("narrowed", "+get +set ~*");
  assert.equal(await redis.set("k", 1), "OK");

  await owner.exec(["ACL", "SETUSER", "narrowed", "-set"]);
  await assert.rejects(redis.set("k", 2), noCommand("set"));
  await owner.exec(["ACL", "SETUSER", "narrowed", "+set", "resetkeys", "~mine:*"]);
  await assert.rejects(redis.set("k", 2), noKey);
  assert.equal(await redis.set("mine:k", 2), "OK");
});

test("a token is revoked with its password, and with its user", async () => {
  const { redis, owner } = await userOf("gone", "+get ~*");
  assert.equal(await redis.get("none"), null);

  await owner.exec(["ACL", "SETUSER", "gone", ">other", "<secret"]);
  await assert.rejects(redis.get("none"), unauthorized);
  const second = clientOf(await owner.exec<string>(["ACL", "RESTTOKEN", "gone", "other"]));
  assert.equal(await second.get("none"), null);
  await owner.exec(["ACL", "DELUSER", "gone"]);
  await assert.rejects(second.get("none"), unauthorized);
  await assert.rejects(
    owner.exec(["ACL", "RESTTOKEN", "gone", "other"]),
    refused('ERR Wrong password or user "gone" does not exist'),
  );
});

test("a token of ACL GENTOKEN is a bearer token after it became a password of its user", async () => {
  const owner = served.client({ enableAutoPipelining: false });
  const token = await owner.exec<string>(["ACL", "GENTOKEN", "bot"]);
  await assert.rejects(clientOf(token).get("none"), unauthorized);

  await owner.exec(["ACL", "SETUSER", "bot", "on", `>${token}`, "+get", "~*"]);

  assert.equal(await clientOf(token).get("none"), null);
});

test("a subscription needs permission for the channel, and ends when the user changes", async () => {
  const { token, owner } = await userOf("reader", "resetchannels +subscribe &news");
  const { url } = served.server.store;
  const other = await openStream(`${url}/subscribe/other`, { token });
  assert.equal(other.status, 400);
  const reader = await openStream(`${url}/subscribe/news`, { token });
  assert.equal(await reader.next(), "subscribe,news,1");
  assert.equal(await owner.publish("news", "x"), 1);
  assert.equal(await reader.next(), "message,news,x");

  await owner.exec(["ACL", "SETUSER", "reader", "&*"]);

  assert.equal(await reader.next(), undefined);
  const metrics = await (await fetch(`${served.server.admin.url}/metrics`)).text();
  assert.match(metrics, /^larder_store_event_streams_ended_total\{area="store",reason="user changed"\} 1$/m);
});

test("deleting a database deletes its users, and a new one of the same name has none of them", {
  skip: suiteSetting() === undefined ? false : "a node of a cluster makes no databases",
}, async () => {
  const { url: adminUrl, token } = served.server.admin;
  const authorization = `Bearer ${token}`;
  const make = async (): Promise<Redis> => {
    const body = JSON.stringify({ name: "short-lived" });
    const made = await fetch(`${adminUrl}/v1/databases`, { method: "POST", headers: { authorization }, body });
    return clientOf(((await made.json()) as { token: string }).token);
  };
  const owner = await make();
  await owner.exec(["ACL", "SETUSER", "ann", "on", ">secret", "+get", "~*"]);
  const redis = clientOf(await owner.exec<string>(["ACL", "RESTTOKEN", "ann", "secret"]));
  assert.equal(await redis.get("k"), null);

  await fetch(`${adminUrl}/v1/databases/short-lived`, { method: "DELETE", headers: { authorization } });
  await assert.rejects(redis.get("k"), unauthorized);

  const second = await make();
  await assert.rejects(redis.get("k"), unauthorized);
  await second.exec(["ACL", "SETUSER", "ann", "on", ">secret", "+get", "~*"]);
  await second.exec(["ACL", "RESTTOKEN", "ann", "secret"]);
  await assert.rejects(redis.get("k"), unauthorized);
});

test("a user's token survives a kill and a stop of the program, and a reset of the database's tokens", {
  timeout,
}, async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-sdk-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const args = ["--data-dir", directory, "--fsync", "always"];
  await using first = await startProgram("serve", { args });
  const { redis, token } = await userOf("kept", "+@all ~* &*", { url: first.storeUrl, token: first.storeToken });
  await redis.set("k", "v");
  const generated = await clientOf(first.storeToken, first.storeUrl).exec<string>(["ACL", "GENTOKEN", "bot"]);
  await clientOf(first.storeToken, first.storeUrl).exec(["ACL", "SETUSER", "bot", "on", `>${generated}`, "+get", "~*"]);
  await clientOf(first.storeToken, first.storeUrl).exec(["ACL", "SETUSER", "deleted", "on", ">secret", "+get", "~*"]);
  const deleted = await clientOf(first.storeToken, first.storeUrl).exec<string>([
    "ACL",
    "RESTTOKEN",
    "deleted",
    "secret",
  ]);
  await clientOf(first.storeToken, first.storeUrl).exec(["ACL", "DELUSER", "deleted"]);
  await first.kill();

  await using second = await startProgram("serve", { args: [...args, ...oneThread] });
  assert.equal(await clientOf(token, second.storeUrl).get("k"), "v");
  assert.equal(await clientOf(generated, second.storeUrl).get("k"), "v");
  await assert.rejects(clientOf(deleted, second.storeUrl).get("k"), unauthorized);
  await assert.rejects(clientOf(generated, second.storeUrl).set("k", "w"), noCommand("set"));

  const ofUser = await openStream(`${second.storeUrl}/subscribe/c`, { token });
  const ofDatabase = await openStream(`${second.storeUrl}/subscribe/c`, { token: first.storeToken });
  await Promise.all([ofUser.next(), ofDatabase.next()]);
  const reset = spawnProgram(["token", "reset", "main", ...args]);
  assert.equal((await reset.ended).code, 0, reset.log);
  assert.equal(await ofDatabase.next(), undefined);
  for (const old of [first.storeToken, first.storeReadOnlyToken])
    await assert.rejects(clientOf(old, second.storeUrl).get("k"), unauthorized);
  const fresh = /^UPSTASH_REDIS_REST_TOKEN="(.*)"$/m.exec(reset.output)?.[1] ?? "";
  assert.equal(await clientOf(token, second.storeUrl).get("k"), "v");
  assert.equal(await clientOf(fresh, second.storeUrl).publish("c", "still here"), 1);
  assert.equal(await ofUser.next(), "message,c,still here");
  await second.stop();

  await using third = await startProgram("serve", { args: [...args, ...oneThread] });
  assert.equal(await clientOf(token, third.storeUrl).get("k"), "v");
  assert.equal(await clientOf(fresh, third.storeUrl).exec(["ACL", "WHOAMI"]), "default");
});
