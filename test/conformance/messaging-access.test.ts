/**
 * Permissions and secrecy: tokens, the read-only token, redaction (threats
 * C-12, C-20, C-21).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { messagingRoutes } from "../../src/edge/messaging/routes/table.ts";
import { answered } from "../harness/messaging-harness.ts";
import {
  MESSAGING_READ_ONLY_TOKEN,
  MESSAGING_TOKEN,
  type MessagingServer,
  startMessagingServer,
} from "../harness/messaging-server.ts";

type Json = Record<string, unknown>;

/** A request that the route accepts, whatever its outcome. */
function lineFor(method: string, template: string): string {
  const path = template.replace(/:\w+/g, "x").replace("*", "https://a.test");
  return `${method === "ANY" ? "POST" : method} ${path}`;
}

test("C.authentication: without a token, or with a wrong one, every route is 401", async () => {
  await using server = await startMessagingServer();
  for (const { method, template, isOpen } of messagingRoutes) {
    const line = lineFor(method, template);
    // A webhook needs no token.
    if (isOpen) assert.equal((await server.send(line, { token: null })).status, 404, line);
    else for (const token of [null, "wrong", ""]) assert.equal((await server.send(line, { token })).status, 401, line);
  }
});

// C.read-only-token, C.errors.403
test("C-20: a read-only token may send GET only, and does not see signing keys", async () => {
  await using server = await startMessagingServer();
  const refused = { error: "A read-only token may only read" };
  for (const { method, template } of messagingRoutes.filter(({ isOpen }) => isOpen !== true)) {
    const line = lineFor(method, template);
    const { status, json } = await server.send(line, { token: MESSAGING_READ_ONLY_TOKEN });
    if (method !== "GET" || template === "/v2/keys") assert.deepEqual([status, json], [403, refused], line);
    else assert.ok([200, 400, 404, 501].includes(status), `${line}: ${status}`);
  }
  assert.deepEqual((await server.send("GET /v2/logs")).json, { logs: [] });
  assert.deepEqual((await server.send("GET /v2/queues")).json, []);
});

test("C.query-token, C-12: a token in the query authenticates a publish, in each spelling, and is never shown", async () => {
  await using server = await startMessagingServer();
  const url = "https://a.test/b?x=1&token=theirs&y=%20";
  for (const name of ["service_token", "qstash_token", "upstash_token"]) {
    const reply = await server.send(
      `POST /v2/publish/https://a.test/b?x=1&${name}=${MESSAGING_TOKEN}&token=theirs&y=%20`,
      {
        token: null,
        headers: ["Authorization", "of the destination", "Service-Header-Forward", "true"],
      },
    );
    assert.equal(reply.status, 200, `${name}: ${reply.text}`);
    assert.equal((reply.json as Json)["url"], url);
  }
  const wrong = await server.send("POST /v2/publish/https://a.test?service_token=wrong", { token: null });
  assert.equal(wrong.status, 401);
  for (const line of [
    `GET /v2/logs?service_token=${MESSAGING_TOKEN}`,
    `POST /v2/batch?service_token=${MESSAGING_TOKEN}`,
  ]) {
    assert.equal((await server.send(line, { token: null })).status, 401, line);
  }
  await server.advance(0);

  assert.deepEqual(
    server.calls.map(({ url: called, headers }) => [called, headers.get("authorization")]),
    Array.from({ length: 3 }, () => [url, "of the destination"]),
  );
  const everything = JSON.stringify([
    server.calls.map(({ headers }) => [...headers]),
    (await server.send("GET /v2/logs")).json,
  ]);
  assert.equal(everything.includes(MESSAGING_TOKEN), false);
});

test("C-12: the token of a request is not forwarded, whatever the forward options", async () => {
  await using server = await startMessagingServer();
  await server.publish("https://a.test/", { headers: ["Service-Header-Forward", "true", "X-Team", "blue"] });
  await server.publish("https://a.test/", { headers: ["Service-Forward-Authorization", "of the destination"] });
  await server.advance(0);
  assert.deepEqual(
    server.calls.map(({ headers }) => [headers.get("x-team"), headers.get("authorization")]),
    [
      ["blue", undefined],
      [undefined, "of the destination"],
    ],
  );
});

// C.delivery.forwarded
test("C-11: headers of the connection and larder's own are not passed on, however they are forwarded", async () => {
  await using server = await startMessagingServer();
  const names = [
    ...[
      "Host",
      "Content-Length",
      "Transfer-Encoding",
      "Connection",
      "Keep-Alive",
      "TE",
      "Trailer",
      "Upgrade",
      "Expect",
    ],
    ...["Proxy-Authorization", "Accept-Encoding", "Upstash-Signature", "Upstash-Message-Id", "Upstash-Retried"],
    ...["Upstash-Region", "Service-Signature", "Service-Caller-IP"],
  ];
  const id = await server.publish("https://a.test/", {
    headers: [...names.flatMap((name) => [`Upstash-Forward-${name}`, "forged"]), "Service-Forward-X-Good", "1"],
  });
  await server.advance(0);
  const headers = server.calls[0]?.headers;
  assert.deepEqual(
    [...(headers ?? [])].filter(([, value]) => value === "forged"),
    [],
  );
  assert.equal(headers?.get("x-good"), "1");
  assert.equal(headers?.get("upstash-message-id"), id);
});

// C.options.size
test("C-10: a header that could forge others is refused at publish", async () => {
  await using server = await startMessagingServer();
  for (const [headers, text] of [
    [{ "service-forward-x": "a\r\nb: c" }, "Invalid value for the header X: "],
    [{ "service-forward-x": "a\u0000" }, "Invalid value for the header X: "],
    [{ "service-forward-x": "日本" }, "Invalid value for the header X: "],
    [{ "service-forward-a b": "c" }, 'Invalid header name: "a b"'],
    [{ "content-type": "a\nb" }, "Invalid value for the header Content-Type: "],
  ] as const) {
    const { status, json } = await server.send("POST /v2/batch", {
      body: [{ destination: "https://a.test", headers }],
    });
    const { error } = json as { error: string };
    assert.equal(status, 400, error);
    assert.equal(error.slice(0, 24 + text.length), `Message 0 of the batch: ${text}`);
  }
});

/** SHA-256 of a hidden value. */
const hidden = {
  "secret body": "REDACTED:007eb37ae2002291ecada25cbc5b8b342bd0ce84623487a168c5824d0d945107",
  "secret value": "REDACTED:c3a57afaa51d985ac0b4117f509e2ce6dd94d520e441778736a945b4cb941755",
  "other value": "REDACTED:eba4458e0b538c50ed05a6c3249072a3a8b4a3643f67f18fe7ce0adb251779d7",
  "text/plain": "REDACTED:dc23933049d8b06808e15916d9cc735bd5c82fc87e5f3a970442f6fc04f5a275",
} as const;

async function publishSecret(server: MessagingServer, fields: string): Promise<string> {
  return server.publish("https://a.test/", {
    headers: [
      ...[
        "Content-Type",
        "text/plain",
        "Service-Forward-X-Secret",
        "secret value",
        "Service-Forward-X-Open",
        "other value",
      ],
      ...["Service-Redact-Fields", fields, "Service-Retries", "0", "Service-Failure-Callback", "https://failure.test/"],
    ],
    body: "secret body",
  });
}

// C.redaction, C15.redact-fields
test("C-21: redacted parts are hidden in messages, logs, dead letters, schedules and callbacks, but delivered", async () => {
  const open = { "Content-Type": ["text/plain"], "X-Secret": ["secret value"], "X-Open": ["other value"] };
  for (const [fields, header, body] of [
    ["body", open, hidden["secret body"]],
    ["header[x-secret]", { ...open, "X-Secret": [hidden["secret value"]] }, "secret body"],
    [
      "body, headers",
      {
        "Content-Type": [hidden["text/plain"]],
        "X-Secret": [hidden["secret value"]],
        "X-Open": [hidden["other value"]],
      },
      hidden["secret body"],
    ],
  ] as const) {
    await using server = await startMessagingServer();
    server.destination = ({ url }) => (url === "https://failure.test/" ? answered(200) : answered(500));
    const id = await publishSecret(server, fields);
    const waiting = (await server.send(`GET /v2/messages/${id}`)).json as Json;
    await server.advance(0);
    const { logs } = (await server.send(`GET /v2/logs?messageId=${id}`)).json as { logs: Json[] };
    const { messages } = (await server.send("GET /v2/dlq")).json as { messages: Json[] };
    const [deadLetter] = messages;
    await server.send("POST /v2/schedules/https://a.test/", {
      headers: [
        ...["Service-Cron", "@daily", "Service-Schedule-Id", "s", "Content-Type", "text/plain"],
        ...["Service-Forward-X-Secret", "secret value", "Service-Forward-X-Open", "other value"],
        ...["Service-Redact-Fields", fields],
      ],
      body: "secret body",
    });
    const schedule = (await server.send("GET /v2/schedules/s")).json as Json;
    const one = (await server.send(`GET /v2/dlq/${deadLetter?.["dlqId"]}`)).json as Json;
    for (const record of [waiting, deadLetter, one, schedule])
      assert.deepEqual([record?.["header"], record?.["body"]], [header, body]);
    const inLog = body === "secret body" ? Buffer.from(body).toString("base64") : body;
    for (const entry of logs) assert.deepEqual([entry["header"], entry["body"]], [header, inLog]);
    const [delivery, failure] = server.calls;
    assert.deepEqual([delivery?.body, delivery?.headers.get("x-secret")], ["secret body", "secret value"]);
    const reported = JSON.parse(failure?.body ?? "") as Json;
    assert.deepEqual([reported["sourceHeader"], reported["sourceBody"]], [header, inLog]);

    server.destination = () => answered(200);
    await server.send(`POST /v2/dlq/retry/${deadLetter?.["dlqId"]}`);
    await server.advance(0);
    const again = server.calls.at(-1);
    assert.deepEqual([again?.body, again?.headers.get("x-secret")], ["secret body", "secret value"]);
  }
});

// C.redaction.derived
test("C-21: messages derived from a message hide the same parts, and a name in UTF-8 is hashed and shown as it was sent", async () => {
  await using server = await startMessagingServer();
  server.destination = ({ url }) => answered(url === "https://a.test/" ? 500 : 503);
  // The client sends it as UTF-8.
  const name = "Zo\u00eb";
  const given = [
    ...["Service-Retries", "0", "Service-Redact-Fields", "header[X-Secret]", "Service-Forward-X-Name", name],
    ...["Service-Callback", "https://callback.test/", "Service-Failure-Callback", "https://failure.test/"],
    ...["Service-Callback-Forward-X-Secret", name, "Service-Failure-Callback-Forward-X-Secret", name],
  ];
  await server.publish("https://a.test/", { headers: given, body: "open" });
  await server.advance(0);

  const hiddenName = "REDACTED:c6a12698582fc1104ea24107a2d7268145ff06ef859707729d01fd060897f067";
  const read = { token: MESSAGING_READ_ONLY_TOKEN };
  for (const url of ["https://callback.test/", "https://failure.test/"]) {
    const call = server.calls.find((made) => made.url === url);
    assert.equal(call?.headers.get("x-secret"), "Zo\u00c3\u00ab", "the callback itself receives it");
    const { logs } = (await server.send(`GET /v2/logs?url=${url}`, read)).json as { logs: Json[] };
    assert.equal(logs.length > 2, true);
    for (const { header } of logs) assert.deepEqual((header as Json)["X-Secret"], [hiddenName]);
    const message = (await server.send(`GET /v2/messages/${logs[0]?.["messageId"]}`, read)).json as Json;
    const { messages } = (await server.send(`GET /v2/dlq?url=${url}`, read)).json as { messages: Json[] };
    assert.equal(messages.length, 1);
    for (const record of [message, ...messages]) assert.deepEqual((record["header"] as Json)["X-Secret"], [hiddenName]);
  }
  const { messages } = (await server.send("GET /v2/dlq?url=https://a.test/", read)).json as { messages: Json[] };
  assert.partialDeepStrictEqual(messages[0]?.["header"], { "X-Name": ["Zo\u00eb"] });
});

test("C-21: the messages of a URL group, of a schedule and of a retry hide the same parts", async () => {
  await using server = await startMessagingServer();
  server.destination = () => answered(500);
  await server.send("POST /v2/topics/group/endpoints", { body: { endpoints: [{ url: "https://a.test/" }] } });
  const secret = ["Service-Forward-X-Secret", "secret value", "Service-Redact-Fields", "header[x-secret]"];
  const headers = [...secret, "Service-Retries", "0"];
  await server.send("POST /v2/publish/group", { headers });
  await server.send("POST /v2/schedules/group", { headers: [...headers, "Service-Cron", "* * * * *"] });
  await server.advance(60_000);
  await server.send("POST /v2/dlq/retry", { body: {} });
  await server.advance(0);

  const { logs } = (await server.send("GET /v2/logs?state=CREATED")).json as { logs: Json[] };
  assert.equal(logs.length, 4);
  for (const { header } of logs) assert.deepEqual(header, { "X-Secret": [hidden["secret value"]] });
});
