/**
 * Moving what messaging is set up with: the official client sets one user up,
 * and another user of the same server gets it by a file and by the address.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { Client } from "@upstash/qstash";
import { type Clock, systemClock } from "../../src/kernel/clock.ts";
import { type Larder, start } from "../../src/mod.ts";
import { commandRows } from "../../src/program/cli/commands.ts";
import { readSettings } from "../../src/program/settings/read-settings.ts";
import { AreaClient, type AreaRequest } from "../../src/transfer/area-client.ts";
import {
  digestOf,
  hiddenSetups,
  importMessaging,
  parseFile,
  printFile,
  readListings,
} from "../../src/transfer/messaging/transfer.ts";

let larder: Larder;
let folder: string;
let source: AreaClient;
let target: AreaClient;

const tokenOf = (user: string): string =>
  Buffer.from(JSON.stringify({ UserID: user, Password: "p" })).toString("base64");

before(async () => {
  const users = ["source", "target"].map((name) => ({ name, token: tokenOf(name) }));
  larder = await start({ messaging: { users } });
  const { url: base } = larder.messaging;
  source = new AreaClient({ base, token: tokenOf("source"), clock: systemClock });
  target = new AreaClient({ base, token: tokenOf("target"), clock: systemClock });
  folder = mkdtempSync(join(tmpdir(), "larder-test-"));
});
beforeEach(() => larder.reset());
after(async () => {
  await Promise.all([source.close(), target.close()]);
  await larder.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function done(client: AreaClient, request: AreaRequest): Promise<unknown> {
  const { status, body } = await client.send(request);
  assert.equal(status, 200, body.toString());
  return JSON.parse(body.toString() || "null");
}

/** One of everything, with every option. */
async function setUp(): Promise<void> {
  const client = new Client({ baseUrl: larder.messaging.url, token: tokenOf("source"), retry: false, devMode: false });
  await client.queue({ queueName: "orders" }).upsert({ parallelism: 4 });
  await client.queue({ queueName: "held" }).upsert({ parallelism: 1, paused: true });
  await client.urlGroups.addEndpoints({
    name: "team",
    endpoints: [{ url: "https://b.test/?x=1&y", name: "second" }, { url: "https://a.test/" }],
  });
  await done(source, {
    method: "PATCH",
    path: "/v2/topics/team",
    body: '{"headers":{"X-Team":"blue","X-Many":["1","2"]}}',
  });
  await done(source, { method: "POST", path: "/v2/flowControl/both/pin?parallelism=3&rate=5&period=60" });
  await done(source, { method: "POST", path: "/v2/flowControl/held/pause" });
  await client.schedules.create({
    destination: "https://a.test/b?x=1&service-retries=9",
    ...{ cron: "CRON_TZ=Europe/Berlin 0 9 * * 1-5", scheduleId: "workdays", method: "PUT", body: "pay\u00fcload" },
    headers: { "Content-Type": "text/plain", "X-Team": "blue" },
    ...{ delay: 30, retries: 7, retryDelay: "1000 * pow(2, retried)", timeout: "90s", label: "l\u00fc" },
    ...{ callback: "https://callback.test/", failureCallback: "https://failure.test/", queueName: "orders" },
    flowControl: { key: "key", parallelism: 2, rate: 10, period: "1m" },
  });
  await done(source, {
    method: "POST",
    path: "/v2/schedules/team",
    headers: {
      ...{ "upstash-cron": "*/5 * * * *", "upstash-schedule-id": "binary", "upstash-forward-x-many": ["1", "2"] },
      ...{ "upstash-callback": "https://c.test/", "upstash-callback-retries": "1", "upstash-callback-method": "PATCH" },
      ...{ "upstash-callback-forward-x-a": "\u00fc", "upstash-callback-failure-callback": "https://n.test/" },
      ...{ "upstash-callback-failure-callback-forward-x-n": "n", "upstash-redact-fields": "header[x-none]" },
    },
    body: Buffer.from([0xff, 0x00, 0x80]),
  });
  await client.schedules.create({ destination: "https://a.test/", cron: "* * * * *", scheduleId: "paused" });
  await client.schedules.pause({ schedule: "paused" });
}

/** The whole listing but for moments and the address of who asked. */
async function listed(client: AreaClient, path: string): Promise<unknown> {
  const list = (await done(client, { method: "GET", path })) as Record<string, unknown>[];
  const own = /^(?:createdAt|updatedAt|nextScheduleTime|callerI[Pp])$/;
  return list
    .map((record) => Object.fromEntries(Object.entries(record).filter(([name]) => !own.test(name))))
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}

const PATHS = ["/v2/queues", "/v2/topics", "/v2/schedules"];

test("a setup of the official client is equal after a file transfer, in every field of listings", async () => {
  await setUp();
  const found = await readListings(source, "the source");
  const file = parseFile(printFile(found), "file.json");

  const reports = await importMessaging({ source: file, client: target, replaces: false, clock: systemClock });

  assert.deepEqual(
    reports.map(({ kind, made, alike, kept, wrong }) => [kind.field, made.toSorted(), alike, kept, wrong]),
    [
      ["queues", ["held", "orders"], [], [], []],
      ["flowControl", ["both", "held"], [], [], []],
      ["topics", ["team"], [], [], []],
      ["schedules", ["binary", "paused", "workdays"], [], [], []],
    ],
  );
  for (const path of PATHS) assert.deepEqual(await listed(target, path), await listed(source, path), path);
  assert.equal(digestOf((await readListings(target, "ours")).setups), digestOf(found.setups));
});

test("C.schedules.record: the record of a schedule has callback options and hidden parts", async () => {
  await setUp();
  const record = (await done(source, { method: "GET", path: "/v2/schedules/binary" })) as Record<string, unknown>;
  assert.deepEqual(
    [record["callbackHeader"], record["callbackSettings"], record["redactFields"], record["failureCallbackSettings"]],
    [
      { "Content-Type": ["application/json"], "X-A": ["\u00fc"] },
      {
        Retries: ["1"],
        Method: ["PATCH"],
        "Failure-Callback": ["https://n.test/"],
        "Failure-Callback-Forward-X-N": ["n"],
      },
      "header[x-none]",
      undefined,
    ],
  );
});

test("leaves existing items unchanged, or replaces them with --replace", async () => {
  await setUp();
  await done(target, { method: "POST", path: "/v2/queues", body: '{"queueName":"orders","parallelism":9}' });
  await done(target, {
    ...{ method: "POST", path: "/v2/topics/team/endpoints" },
    body: '{"endpoints":[{"url":"https://old.test/","name":"old"}]}',
  });
  for (const id of ["paused", "workdays"])
    await done(target, {
      ...{ method: "POST", path: "/v2/schedules/https://mine.test" },
      headers: { "upstash-cron": "@daily", "upstash-schedule-id": id },
    });
  await done(target, { method: "PATCH", path: "/v2/schedules/workdays/pause" });
  await done(target, { method: "POST", path: "/v2/flowControl/both/pin?parallelism=1" });
  const call = { source: await readListings(source, "the source"), client: target, clock: systemClock };

  const kept = await importMessaging({ ...call, replaces: false });
  assert.deepEqual(
    kept.map((report) => report.kept.toSorted()),
    [["orders"], ["both"], ["team"], ["paused", "workdays"]],
  );
  const { destination } = (await done(target, { method: "GET", path: "/v2/schedules/paused" })) as {
    destination: string;
  };
  assert.equal(destination, "https://mine.test");

  const replaced = await importMessaging({ ...call, replaces: true });
  assert.deepEqual(
    replaced.map((report) => [report.made.toSorted(), report.wrong]),
    [
      [["orders"], []],
      [["both"], []],
      [["team"], []],
      [["paused", "workdays"], []],
    ],
  );
  for (const path of PATHS) assert.deepEqual(await listed(target, path), await listed(source, path), path);
});

test("a paused schedule does not fire during the import, and an unfinished one is recreated", async () => {
  await setUp();
  const requests: string[] = [];
  let isDown = true;
  const between = {
    send(request: AreaRequest) {
      requests.push(`${request.method} ${request.path} ${[request.headers?.["upstash-cron"] ?? ""].flat().join()}`);
      const refuses = isDown && request.path.endsWith("/paused/pause");
      return refuses
        ? Promise.resolve({ status: 500, headers: {}, body: Buffer.from('{"error":"later"}') })
        : target.send(request);
    },
  } as AreaClient;
  const clock: Clock = { ...systemClock, nowMs: () => Date.UTC(2026, 9, 31) };
  const call = { source: await readListings(source, "the source"), client: between, replaces: false, clock };

  const failed = await importMessaging(call);
  assert.deepEqual(failed[3]?.wrong, ["paused: later (500)"]);
  isDown = false;
  requests.length = 0;
  const made = await importMessaging(call);

  assert.deepEqual([made[3]?.made, made[3]?.kept, made[3]?.wrong], [["paused"], [], []]);
  assert.deepEqual(
    requests.filter((request) => !request.startsWith("GET")),
    ["PATCH /v2/schedules/paused/pause ", "POST /v2/schedules/https%3A%2F%2Fa.test%2F * * * * *"],
  );
  assert.deepEqual(await listed(target, "/v2/schedules"), await listed(source, "/v2/schedules"));
});

test("names a schedule with a hidden part, and does not create it without that part", async () => {
  await done(source, {
    ...{ method: "POST", path: "/v2/schedules/https://a.test", body: "secret" },
    headers: { "upstash-cron": "@daily", "upstash-schedule-id": "s", "upstash-redact-fields": "body" },
  });
  const found = await readListings(source, "the source");

  const reports = await importMessaging({ source: found, client: target, replaces: false, clock: systemClock });

  assert.deepEqual(reports[3]?.wrong, ["s: the source hides its body"]);
  assert.deepEqual(hiddenSetups(found), ["schedules: s: the source hides its body, so the file cannot recreate it"]);
  assert.deepEqual(await listed(target, "/v2/schedules"), []);
});

test("rejects an invalid file by field before it creates anything", () => {
  const rows: readonly (readonly [object, string])[] = [
    [{}, "f: schedules[0].scheduleId is missing"],
    [{ scheduleId: 7 }, "f: schedules[0].scheduleId is not a string"],
    [{ scheduleId: "s", cron: "@daily" }, "f: schedules[0].destination is missing"],
    [
      { scheduleId: "s", cron: "@daily", destination: "g", retries: -1 },
      "f: schedules[0].retries is not a whole number of 0 or more",
    ],
    [
      { scheduleId: "s", cron: "@daily", destination: "g", header: { a: [1] } },
      "f: schedules[0].header.a is neither a string nor an array of strings",
    ],
  ];
  const head = { larder: "messaging", format: 1 };
  for (const [schedule, message] of rows)
    assert.throws(() => parseFile(JSON.stringify({ ...head, schedules: [schedule] }), "f"), {
      name: "StartRefusal",
      message,
    });
  const twice = { name: "q" };
  assert.throws(() => parseFile(JSON.stringify({ ...head, queues: [twice, twice] }), "f"), {
    message: "f: queues[1] repeats q",
  });
  assert.throws(() => parseFile("{}", "f"), { message: "f was not written by larder export messaging" });
  assert.throws(() => parseFile('{"larder":"messaging","format":2}', "f"), {
    message: "f has the format 2, but this version reads format 1",
  });
  assert.throws(() => parseFile("[", "f"), { message: "f is not valid JSON" });
});

test("retries a hosted service that answers 429 after a pause, and accepts a service without flow control", async () => {
  const pauses: number[] = [];
  const clock: Clock = {
    ...systemClock,
    after(delayMs, task) {
      pauses.push(delayMs);
      queueMicrotask(task);
      return () => {};
    },
  };
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    if (count < 3) response.writeHead(429).end('{"error":"slow down"}');
    else if (request.url === "/v2/queues") response.end('[{"name":"q","parallelism":2,"lag":7,"createdAt":1}]');
    else if (request.url === "/v2/flowControl") response.writeHead(404).end("{}");
    else response.end("[]");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new AreaClient({ base, token: "t", clock });
  const found = await readListings(client, base);
  await client.close();
  server.close();

  assert.deepEqual(pauses, [500, 1_000]);
  const reports = await importMessaging({ source: found, client: target, replaces: false, clock: systemClock });
  assert.deepEqual(
    reports.map(({ made }) => made),
    [["q"], [], [], []],
  );
});

test("larder import messaging and larder export messaging work as commands", async () => {
  await setUp();
  const words = ["serve", "--data-dir", join(folder, "data"), "--threads", "one", "--destinations", "any"];
  const reading = readSettings({ arguments: words, environment: {}, readFile: () => "" });
  assert.ok(reading.kind === "run");
  const lines: string[] = [];
  const call = async (name: string, operands: string[]): Promise<unknown> => {
    lines.length = 0;
    const row = commandRows.find((each) => each.words === name);
    return row?.run({
      ...{ run: reading.run, version: "test", commands: commandRows, operands, options: new Map() },
      print: (line) => lines.push(line),
    });
  };
  const path = join(folder, "kept.json");

  assert.equal(await call("import messaging", [larder.messaging.url, tokenOf("source")]), 0, lines.join("\n"));
  assert.deepEqual(lines.slice(0, 5), [
    "hint: arguments are visible to every user of this machine; set LARDER_SOURCE_TOKEN to hide the token",
    "queues: 2 made",
    "flow-control keys: 2 made",
    "URL groups: 1 made",
    "schedules: 3 made",
  ]);
  const digest = digestOf((await readListings(source, "the source")).setups);
  assert.equal(lines[5], `imported from ${larder.messaging.url}, digest ${digest}`);
  assert.equal(await call("import messaging", [larder.messaging.url, tokenOf("source")]), 0);
  assert.equal(lines[1], "queues: 0 made, 2 already exist unchanged");
  assert.equal(await call("export messaging", [path]), 0);
  assert.equal(lines.at(-1), `exported to ${path}, digest ${digest}`);
  assert.equal(digestOf(parseFile(readFileSync(path, "utf8"), path).setups), digest);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await assert.rejects(call("export messaging", [path]), { message: /kept\.json already exists/ });
});
