/** The console of a running server, over real sockets: its ways to the areas, and its login. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { passOn } from "../../src/edge/admin/console/area-client.ts";
import { areaUnreachable } from "../../src/edge/errors.ts";
import type { HttpRequest } from "../../src/edge/handler.ts";
import { type Larder, start } from "../../src/mod.ts";
import { localCertificates } from "../harness/local-certificates.ts";

/** A development server for all tests that need no other. */
let larder: Larder;
before(async () => {
  larder = await start();
});
after(() => larder.stop());

interface Asked {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(base: string, line: string, { body, headers = {} }: Asked = {}) {
  const [method = "", path = ""] = line.split(" ");
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${base}/console/api/${path}`, init);
  const text = await response.text();
  return { status: response.status, text, headers: response.headers };
}

test("S-20: in dev the console passes requests on to each area, as its tenants", async () => {
  const base = larder.admin.url;
  const { csrf } = JSON.parse((await ask(base, "GET session")).text);
  const headers = { "x-larder-csrf": csrf };
  const answers: [string, number, string][] = [];
  for (const [line, body] of [
    ["POST store/main", ["SET", "a", "<script>"]],
    ["GET store/main/get/a", undefined],
    [
      "POST store/main/pipeline",
      [
        ["INCR", "n"],
        ["INCR", "n"],
      ],
    ],
    ["POST store/nobody", ["PING"]],
    ["POST store/main", ["NOSUCH"]],
    ["POST vector/dev/upsert", { id: "1", vector: [1, 2] }],
    ["POST vector/dev/fetch", { ids: ["1"] }],
    ["POST messaging/main/v2/queues", { queueName: "q", parallelism: 2 }],
    ["GET messaging/main/v2/queues/q", undefined],
    ["GET messaging/main/v2/keys", undefined],
  ] as const) {
    const { status, text } = await ask(base, line, { headers, body });
    answers.push([line, status, text.replace(/"(?:createdAt|updatedAt)":\d+/g, "").slice(0, 60)]);
  }
  assert.deepEqual(
    answers.map(([line, status]) => `${line} ${status}`),
    [
      "POST store/main 200",
      "GET store/main/get/a 200",
      "POST store/main/pipeline 200",
      "POST store/nobody 404",
      "POST store/main 400",
      "POST vector/dev/upsert 200",
      "POST vector/dev/fetch 200",
      "POST messaging/main/v2/queues 200",
      "GET messaging/main/v2/queues/q 200",
      "GET messaging/main/v2/keys 200",
    ],
  );
  assert.equal(answers[1]?.[2], '{"result":"<script>"}');
  assert.match(answers[8]?.[2] ?? "", /"parallelism":2/);

  const json = await ask(base, "GET store/main/get/a", { headers: { ...headers, cookie: "x=y" } });
  assert.deepEqual(
    [
      "content-type",
      "content-security-policy",
      "x-content-type-options",
      "set-cookie",
      "access-control-allow-origin",
    ].map((name) => json.headers.get(name)),
    ["application/json", "sandbox; default-src 'none'; frame-ancestors 'none'", "nosniff", null, null],
  );
  const resp = { ...headers, "upstash-response-format": "resp2" };
  const bytes = await ask(base, "GET store/main/get/a", { headers: resp });
  assert.deepEqual(
    [bytes.headers.get("content-type"), bytes.headers.get("content-disposition"), bytes.text],
    ["application/octet-stream", "attachment", "$8\r\n<script>\r\n"],
  );
  const { variables } = JSON.parse((await ask(base, "GET env/databases/main")).text);
  assert.deepEqual(variables.UPSTASH_REDIS_REST_TOKEN, larder.store.token);
});

test("S-20: a stream passes on its events, and ends in the area when the browser leaves", async () => {
  const path = `${larder.admin.url}/console/api/store/main/subscribe/news`;
  const leaving = new AbortController();
  const response = await fetch(path, { headers: { accept: "text/event-stream" }, signal: leaving.signal });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const publish = async (): Promise<number> => {
    const authorization = `Bearer ${larder.store.token}`;
    const answer = await fetch(`${larder.store.url}/publish/news/hello`, { headers: { authorization } });
    return (JSON.parse(await answer.text()) as { result: number }).result;
  };
  let seen = "";
  assert.equal(await publish(), 1);
  while (!seen.includes("hello")) seen += (await reader?.read())?.value ?? "";
  assert.match(seen, /^data: subscribe,news,1\n\n/);
  leaving.abort();
  await reader?.closed.catch(() => {});
  // Each round is a request over a socket, which lets the end arrive.
  let listeners = 1;
  for (let round = 0; round < 1_000 && listeners > 0; round += 1) listeners = await publish();
  assert.equal(listeners, 0);
});

test("S-20: in serve a session stands for the admin token, over TLS and one port; changes are audited, without secrets", async () => {
  const directory = mkdtempSync(join(tmpdir(), "larder-console-"));
  try {
    const [tlsCert, tlsKey] = [join(directory, "certificate"), join(directory, "key")];
    writeFileSync(tlsCert, localCertificates[0].certificate);
    writeFileSync(tlsKey, localCertificates[0].key);
    const dataDir = join(directory, "data");
    await using served = await start({
      command: "serve",
      console: "on",
      dataDir,
      threads: "one",
      port: 0,
      tlsCert,
      tlsKey,
    });
    assert.match(served.store.url, /^https:.*\/store$/);
    const base = served.admin.url;
    assert.equal((await ask(base, "GET store/main/get/a")).status, 401);
    const login = await ask(base, "POST login", { body: { token: served.admin.token } });
    const cookie = login.headers.get("set-cookie")?.replace(/;.*/, "") ?? "";
    const headers = { cookie, "x-larder-csrf": JSON.parse(login.text).csrf, "upstash-delay": "1h" };
    const published = { body: "secret-body", headers };
    const lines = [
      "POST store/main",
      "POST messaging/main/v2/publish/https://secret-host.example/?token=secret-query",
      "GET store/main/set/secret-key/v",
      "GET store/main/get/secret-key",
      "POST admin/v1/databases",
    ];
    const bodies: readonly unknown[] = [
      ["SET", "secret-key", "v"],
      published.body,
      undefined,
      undefined,
      { name: "shop" },
    ];
    const statuses: number[] = [];
    for (const [index, line] of lines.entries())
      statuses.push((await ask(base, line, { headers, body: bodies[index] })).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 201]);
    assert.equal((await ask(base, "POST store/shop", { headers, body: ["PING"] })).text, '{"result":"PONG"}');
    const variables = JSON.parse((await ask(base, "GET env/databases/main", { headers })).text).variables;
    assert.equal(variables.UPSTASH_REDIS_REST_TOKEN, "<token of the database main>");

    // A port with another certificate gets nothing.
    const request = { method: "GET", rawHeaders: [] as string[], body: Buffer.alloc(0) } as unknown as HttpRequest;
    const place = { url: served.store.url, isOwnCertificate: () => false };
    const call = { area: "store", place, token: served.store.token, target: "/get/a", route: "store" };
    await assert.rejects(
      passOn(request, call, { isAlive: () => true, onEnd: () => () => {} }),
      areaUnreachable("store", "the port shows another certificate"),
    );

    const audit = readFileSync(join(dataDir, "audit.log"), "utf8");
    const actions = audit
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, string>)
      .map(({ action, subject, outcome }) => [action, subject, outcome].filter(Boolean).join(" | "));
    assert.deepEqual(actions.slice(1), [
      "console.login | done",
      "console.store SET | main | done",
      "console.messaging POST /v2/publish/* | main | done",
      "console.store SET | main | done",
      "databases.create | shop | done",
    ]);
    for (const secret of ["secret", served.admin.token, served.store.token, cookie])
      assert.ok(!audit.includes(secret), secret);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("S-14: the admin port of larder dev refuses a name that was led to it", async () => {
  const { port } = new URL(larder.admin.url);
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const options = { port, path: "/console/api/session", headers: { host: `rebound.example:${port}` }, agent: false };
  process.getBuiltinModule("node:http").get(options, (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  assert.equal(await promise, 421);
});
