/** Messaging in the real program: state after a stop, allowed destinations, users, metrics and snapshots. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client } from "@upstash/qstash";
import { settingRows } from "../../src/program/settings/settings.ts";
import { type RecordingDestination, startDestination } from "../harness/recording-destination.ts";
import { oneThread, type RunningProgram, startProgram } from "./program-process.ts";

const timeout = 60_000;

/** The most requests that wait for a state: they take seconds. */
const LOOKS_MAX = 5_000;

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

interface Answer {
  readonly status: number;
  readonly json: { readonly [key: string]: unknown };
}

/** A messaging user: its address and one of its tokens. */
class User {
  readonly #url: string;
  readonly token: string;

  constructor({ environment }: RunningProgram, token = environment["QSTASH_TOKEN"] ?? "") {
    this.#url = environment["QSTASH_URL"] ?? "";
    this.token = token;
  }

  async send(
    line: string,
    options: { headers?: Record<string, string>; body?: string | Buffer } = {},
  ): Promise<Answer> {
    const [method = "", path = ""] = line.split(" ");
    const { headers, body } = options;
    const reply = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : new Uint8Array(body) }),
    });
    return { status: reply.status, json: (await reply.json()) as Answer["json"] };
  }

  /** Resolves when the log has an entry of `state`, with all states of the message, the earliest first. */
  async logged(messageId: unknown, state: string): Promise<readonly string[]> {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const { json } = await this.send(`GET /v2/logs?messageId=${messageId}&order=earliestFirst`);
      const states = (json["logs"] as { state: string }[]).map((entry) => entry.state);
      if (states.includes(state)) return states;
    }
    return assert.fail(`${messageId} did not become ${state}`);
  }
}

async function setUp(): Promise<{ destination: RecordingDestination; outbound: readonly string[] }> {
  const destination = await startDestination();
  return { destination, outbound: ["--outbound-map", `*.test=127.0.0.1:${destination.port}`] };
}

test("messages, settings and rotated keys outlive a stop, and each message is delivered once", {
  timeout,
}, async (context) => {
  const { destination, outbound } = await setUp();
  await using _destination = destination;
  const args = ["--data-dir", temporaryDirectory(context), ...outbound];
  await using first = await startProgram("serve", { args });
  const user = new User(first);
  await user.send("POST /v2/queues/orders/pause");
  await user.send("POST /v2/topics/group/endpoints", { body: '{"endpoints":[{"url":"https://g.test/"}]}' });
  await user.send("POST /v2/schedules/group", {
    headers: { "Service-Cron": "0 0 1 1 *", "Service-Schedule-Id": "yearly" },
    body: "happy",
  });
  await user.send("POST /v2/flowControl/key/pin?parallelism=3");
  const queued = await user.send("POST /v2/enqueue/orders/https://queued.test/", { body: "queued" });
  const keys = (await user.send("POST /v2/keys/rotate")).json;
  destination.answer = () => ({ status: 500 });
  const failed = await user.send("POST /v2/publish/https://failed.test/?service-retries=0");
  await user.logged(failed.json["messageId"], "FAILED");
  destination.answer = () => ({ status: 200 });
  const delivered = await user.send("POST /v2/publish/https://delivered.test/");
  await user.logged(delivered.json["messageId"], "DELIVERED");
  const once = { "Service-Deduplication-Id": "once", "Service-Delay": "1s" };
  const delayed = await user.send("POST /v2/publish/https://delayed.test/", { headers: once });
  const [waiting, dead, topics] = await Promise.all([
    user.send(`GET /v2/messages/${queued.json["messageId"]}`),
    user.send("GET /v2/dlq"),
    user.send("GET /v2/topics/group"),
  ]);
  assert.deepEqual(await first.stop(), { code: 0, signal: null });

  await using second = await startProgram("serve", { args: [...args, ...oneThread] });
  const again = new User(second, user.token);

  assert.deepEqual(await again.send(`GET /v2/messages/${queued.json["messageId"]}`), waiting);
  assert.deepEqual(await again.send("GET /v2/dlq"), dead);
  assert.deepEqual(await again.send("GET /v2/topics/group"), topics);
  assert.deepEqual((await again.send("GET /v2/keys")).json, keys);
  assert.equal((await again.send("GET /v2/schedules/yearly")).json["body"], "happy");
  assert.equal((await again.send("GET /v2/flowControl/key")).json["parallelismMax"], 3);
  const repeated = await again.send("POST /v2/publish/https://delayed.test/", { headers: once });
  assert.deepEqual(repeated, {
    status: 202,
    json: { messageId: delayed.json["messageId"], url: "https://delayed.test/", deduplicated: true },
  });
  assert.deepEqual(await again.logged(delivered.json["messageId"], "DELIVERED"), ["CREATED", "ACTIVE", "DELIVERED"]);
  await again.send("POST /v2/queues/orders/resume");
  await destination.arrived(4);
  assert.deepEqual(await again.logged(queued.json["messageId"], "DELIVERED"), ["CREATED", "ACTIVE", "DELIVERED"]);
  assert.deepEqual(await again.logged(delayed.json["messageId"], "DELIVERED"), ["CREATED", "ACTIVE", "DELIVERED"]);
  const addresses = destination.deliveries.map(({ address }) => address).toSorted();
  assert.deepEqual(addresses, ["delayed.test/", "delivered.test/", "failed.test/", "queued.test/"]);
});

test("C-09: serve refuses loopback addresses in every spelling and names the setting", { timeout }, async (context) => {
  await using destination = await startDestination();
  const { url, port } = destination;
  await using guarded = await startProgram("serve", {
    args: ["--data-dir", temporaryDirectory(context), ...oneThread],
  });
  const refused = new User(guarded);
  const remedy =
    "is a loopback address, which --destinations public refuses: set --destinations any or list it in --allow-destination";
  const callback = `service-callback=${encodeURIComponent(url)}`;
  for (const [line, error] of [
    [`POST /v2/publish/${url}/`, `Invalid destination: The destination 127.0.0.1 ${remedy}`],
    [`POST /v2/publish/http://2130706433:${port}/`, `Invalid destination: The destination 127.0.0.1 ${remedy}`],
    [`POST /v2/publish/http://[::1]:${port}/`, `Invalid destination: The destination ::1 ${remedy}`],
    [
      `POST /v2/publish/http://localhost.:${port}/`,
      `Invalid destination: The destination localhost (127.0.0.1) ${remedy}`,
    ],
    [
      `POST /v2/publish/https://a.test?${callback}`,
      `Invalid value for Callback: "${url}": The destination 127.0.0.1 ${remedy}`,
    ],
    [`POST /v2/schedules/${url}?service-cron=@daily`, `Invalid destination: The destination 127.0.0.1 ${remedy}`],
  ] as const) {
    assert.deepEqual(await refused.send(line), { status: 400, json: { error } }, line);
  }
  assert.equal(destination.deliveries.length, 0);
});

test("creates and removes users at run time, each with separate data; metrics count all users", {
  timeout,
}, async (context) => {
  const { destination, outbound } = await setUp();
  await using _destination = destination;
  const args = ["--data-dir", temporaryDirectory(context), ...outbound];
  await using first = await startProgram("serve", { args });
  const adminToken = /^# admin: \S+ token (\S+)$/m.exec(first.output)?.[1] ?? "";
  const admin = async (program: RunningProgram, line: string, body?: object): Promise<Answer> => {
    const [method = "", path = ""] = line.split(" ");
    const reply = await fetch(`${program.adminUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: reply.status, json: (await reply.json()) as Answer["json"] };
  };

  const created = await admin(first, "POST /v1/users", { name: "second" });
  assert.equal(created.status, 201);
  const { token, readOnlyToken } = created.json as { token: string; readOnlyToken: string };
  assert.equal(JSON.parse(Buffer.from(token, "base64").toString()).UserID, "second");
  const [main, second, reader] = [new User(first), new User(first, token), new User(first, readOnlyToken)];
  const published = await second.send("POST /v2/publish/https://a.test/");
  await second.logged(published.json["messageId"], "DELIVERED");
  await second.send("POST /v2/queues/orders/pause");
  assert.equal((await main.send(`GET /v2/messages/${published.json["messageId"]}`)).status, 404);
  assert.deepEqual((await main.send("GET /v2/logs")).json, { logs: [] });
  assert.deepEqual((await main.send("GET /v2/queues")).json, []);
  assert.equal((await reader.send("GET /v2/queues/orders")).json["paused"], true);
  assert.equal((await reader.send("POST /v2/queues/orders/resume")).status, 403);
  assert.notDeepEqual((await main.send("GET /v2/keys")).json, (await second.send("GET /v2/keys")).json);

  const metrics = await (await fetch(`${first.adminUrl}/metrics`)).text();
  for (const wanted of [
    'larder_messaging_accepted_total{area="messaging"} 1',
    'larder_messaging_attempts_total{area="messaging"} 1',
    'larder_messaging_delivered_total{area="messaging"} 1',
    'larder_messaging_failed_total{area="messaging"} 0',
    'larder_messaging_unfinished_messages{area="messaging"} 0',
    'larder_messaging_calls{area="messaging"} 0',
    'larder_messaging_waiting_publishers{area="messaging"} 0',
    'larder_messaging_lag_seconds{area="messaging"} 0',
    'larder_http_requests_total{area="messaging",route="C15 POST /v2/publish/*",status="200"} 1',
  ]) {
    assert.ok(metrics.includes(`${wanted}\n`), wanted);
  }

  const reset = await admin(first, "POST /v1/users/second/reset-password");
  assert.equal((await second.send("GET /v2/queues")).status, 401);
  await first.stop();
  await using after = await startProgram("serve", { args: [...args, ...oneThread] });
  const renewed = new User(after, String(reset.json["token"]));
  assert.equal((await renewed.send("GET /v2/queues/orders")).json["paused"], true);

  assert.equal((await admin(after, "DELETE /v1/users/second")).status, 200);
  assert.equal((await renewed.send("GET /v2/queues")).status, 401);
  const recreated = await admin(after, "POST /v1/users", { name: "second" });
  assert.deepEqual((await new User(after, String(recreated.json["token"])).send("GET /v2/queues")).json, []);
});

test("bodies outlive a snapshot that replaces their journal", { timeout }, async (context) => {
  const { destination, outbound } = await setUp();
  await using _destination = destination;
  const directory = temporaryDirectory(context);
  const args = ["--data-dir", directory, ...outbound, ...oneThread];
  await using first = await startProgram("serve", { args });
  const user = new User(first);
  await user.send("POST /v2/queues/orders/pause");
  const hashes: string[] = [];
  for (let number = 0; number < 9; number += 1) {
    const body = Buffer.alloc(8_000_000, `${number} of nine, `);
    hashes.push(createHash("sha256").update(body).digest("hex"));
    const { status } = await user.send(`POST /v2/enqueue/orders/https://a.test/${number}`, { body });
    assert.equal(status, 200);
  }

  await first.untilPrinted(/"event":"snapshot written","area":"messaging"/);
  const after = await user.send("POST /v2/enqueue/orders/https://a.test/after", { body: "after" });
  assert.equal(after.status, 200);
  assert.deepEqual(await first.stop(), { code: 0, signal: null });
  assert.ok(readdirSync(join(directory, "messaging")).some((name) => name.endsWith(".snapshot")));

  await using second = await startProgram("serve", { args });
  const again = new User(second, user.token);
  await again.send("POST /v2/queues/orders/resume");
  const deliveries = await destination.arrived(10);
  assert.deepEqual(
    deliveries.map(({ address }) => address),
    [...hashes.map((_, number) => `a.test/${number}`), "a.test/after"],
  );
  assert.deepEqual(
    deliveries.slice(0, 9).map(({ body }) => createHash("sha256").update(body).digest("hex")),
    hashes,
  );
  await again.logged(after.json["messageId"], "DELIVERED");
});

test("C-09: one port, an allowed loopback range, and mapped hosts whose records keep their URL", {
  timeout,
}, async (context) => {
  const { destination, outbound } = await setUp();
  await using _destination = destination;
  await using program = await startProgram("serve", {
    args: ["--port", "0", "--data-dir", temporaryDirectory(context), ...outbound, "--allow-destination", "127.0.0.0/8"],
  });
  const { QSTASH_URL: baseUrl = "", QSTASH_TOKEN: token = "" } = program.environment;
  assert.match(baseUrl, /^http:\/\/127\.0\.0\.1:\d+\/messaging$/);
  const client = new Client({ baseUrl, token, devMode: false });
  const url = "https://deep.name.test:8443//b?x=https://c.test";

  await client.publish({ url: destination.url, body: "allowed" });
  const [allowed] = await destination.arrived(1);
  const { messageId } = await client.publishJSON({ url, body: { number: 1 } });
  const [, mapped] = await destination.arrived(2);

  assert.equal(allowed?.body, "allowed");
  assert.deepEqual([mapped?.address, mapped?.body], ["deep.name.test:8443//b?x=https://c.test", '{"number":1}']);
  const [, claims = ""] = String(mapped?.headers["service-signature"]).split(".");
  assert.equal(JSON.parse(Buffer.from(claims, "base64url").toString()).sub, url);
  await new User(program).logged(messageId, "DELIVERED");
  const { logs } = await client.logs({ filter: { host: "deep.name.test:8443" } });
  assert.deepEqual([...new Set(logs.map((entry) => entry.url))], [url]);
});

test("dev has the port, the credentials and the output that a client in development mode expects", {
  timeout,
}, async (context) => {
  // The client logs that it found the server.
  context.mock.method(console, "log", () => {});
  await using destination = await startDestination();
  assert.equal(settingRows.messagingPort.default, "8080");
  await using program = await startProgram("dev");
  assert.match(program.output, /runn+ing( at|\.)/);
  const user = new User(program);
  assert.deepEqual((await user.send("GET /v2/keys")).json, {
    current: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
    next: "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
  });
  const variables = { QSTASH_DEV: "true", QSTASH_DEV_PORT: new URL(program.environment["QSTASH_URL"] ?? "").port };
  Object.assign(process.env, variables);
  try {
    const { messageId } = await new Client().publish({ url: destination.url, body: "hello" });

    const [delivery] = await destination.arrived(1);
    assert.equal(delivery?.headers["upstash-message-id"], messageId);
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
});
