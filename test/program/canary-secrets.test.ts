/**
 * S-09: starts the real program with a canary for every kind of secret, and
 * searches its responses, logs, metrics and files for the canaries.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { assertNoSecret } from "../harness/canaries.ts";
import { startProgram } from "./program-process.ts";

const canary = (name: string): string => `canary-${name}-${"0123456789abcdef".repeat(2)}`;

/** A messaging token contains the name of its user. */
const messagingToken = (name: string): string =>
  Buffer.from(JSON.stringify({ UserID: "canary", Password: canary(name) })).toString("base64");

const secrets = {
  LARDER_STORE_TOKEN: canary("store"),
  LARDER_STORE_READ_ONLY_TOKEN: canary("store-reads"),
  LARDER_VECTOR_TOKEN: canary("vector"),
  LARDER_VECTOR_READ_ONLY_TOKEN: canary("vector-reads"),
  LARDER_MESSAGING_TOKEN: messagingToken("messaging"),
  LARDER_MESSAGING_READ_ONLY_TOKEN: messagingToken("messaging-reads"),
  LARDER_CURRENT_SIGNING_KEY: "sig_canary0123456789abcdefCurrent",
  LARDER_NEXT_SIGNING_KEY: "sig_canary0123456789abcdefNext0",
  LARDER_ADMIN_TOKEN: canary("admin"),
  LARDER_REPLICATE_KEY: Buffer.from(canary("copy").slice(0, 32)).toString("base64"),
  AWS_SECRET_ACCESS_KEY: canary("bucket"),
  AWS_SESSION_TOKEN: canary("session"),
} as const;

/** Secrets that callers send: a user's password, which is also the header for a destination, and a wrong token. */
const password = canary("password");
const wrongToken = canary("wrong");
const all = [...Object.values(secrets), canary("messaging"), canary("messaging-reads"), password, wrongToken];

/** `<area> <method> <target>` and an optional body. Half of the requests are invalid. */
const requests: readonly (readonly [line: string, body?: unknown])[] = [
  ["store POST /", ["SET", "k", "v"]],
  ["store POST /", ["ACL", "SETUSER", "ann", "on", `>${password}`, "~*", "+@all"]],
  ["store POST /", ["ACL", "SETUSER", "ann", "nonsense", `>${password}`]],
  ["store POST /", ["ACL", "GETUSER", "ann"]],
  ["store POST /", ["ACL", "LIST"]],
  ["store POST /", ["ACL", "LOG"]],
  ["store POST /", ["AUTH", "ann", password]],
  ["store POST /", ["CLIENT", "LIST"]],
  ["store POST /", ["INFO", "everything"]],
  ["store POST /", ["CONFIG", "GET", "*"]],
  ["store POST /", ["CONFIG", "SET", "requirepass", password]],
  ["store POST /", ["SLOWLOG", "GET", "100"]],
  ["store POST /", ["EVAL", "return redis.call('NOPE')", "0"]],
  ["store POST /pipeline", [["GET", "k"], ["NOPE"]]],
  [
    "store POST /multi-exec",
    [
      ["GET", "k"],
      ["ACL", "WHOAMI"],
    ],
  ],
  ["store POST /pipeline", "{"],
  ["store GET /get/%zz"],
  ["store GET /nope/a/b"],
  ["store PATCH /get/k"],
  ["store GET /openapi.json"],
  ["vector POST /upsert", { id: "a", vector: [1, 2] }],
  ["vector POST /upsert", { id: "a", vector: ["x"] }],
  ["vector POST /query", { vector: [1, 2], topK: 3, filter: "a = (" }],
  ["vector GET /info"],
  ["vector DELETE /nope"],
  ["messaging POST /v2/publish/@sink", { id: 1 }],
  ["messaging POST /v2/publish/nowhere", {}],
  ["messaging POST /v2/schedules/@sink", {}],
  ["messaging POST /v2/batch", [{ destination: "@sink" }, {}]],
  ["messaging POST /v2/topics/team/endpoints", { endpoints: [{ url: "@sink" }] }],
  ["messaging GET /v2/schedules"],
  ["messaging GET /v2/topics"],
  ["messaging GET /v2/queues"],
  ["messaging GET /v2/logs"],
  ["messaging GET /v2/dlq"],
  ["messaging GET /v2/workflows/logs"],
  ["messaging GET /v2/messages/msg_nope"],
  ["messaging DELETE /v2/keys"],
  ["admin GET /v1/databases"],
  ["admin GET /v1/indexes"],
  ["admin GET /v1/users"],
  ["admin POST /v1/databases", { name: "main", token: password }],
  ["admin POST /v1/nope", {}],
  ["admin GET /health/ready"],
  ["admin GET /version"],
  ["admin GET /metrics"],
  ["admin GET /v1/stats"],
  ["admin GET /v1/settings"],
  ["admin GET /v1/problems"],
];

const tokens: Readonly<Record<string, string>> = {
  store: secrets.LARDER_STORE_TOKEN,
  vector: secrets.LARDER_VECTOR_TOKEN,
  messaging: secrets.LARDER_MESSAGING_TOKEN,
  admin: secrets.LARDER_ADMIN_TOKEN,
};

test("S-09: no response, log line, metric, listing or file except tokens.json contains a secret", {
  timeout: 60_000,
}, async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-canary-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const sink = createServer((request, response) => {
    request.resume();
    if (request.url?.startsWith("/copies/") !== true)
      return response.writeHead(request.url === "/bad" ? 500 : 200).end();
    // A store that refuses a signature repeats what was signed.
    const said = JSON.stringify(request.headers).replaceAll('"', "");
    return response.writeHead(403).end(`<Error><Code>SignatureDoesNotMatch</Code><Message>${said}</Message></Error>`);
  });
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  context.after(() => sink.close());
  const sinkAddress = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
  const sinkUrl = `${sinkAddress}/bad`;

  await using server = await startProgram("serve", {
    args: ["--data-dir", directory, "--destinations", "any", "--log-level", "debug", "--resp-port", "0"],
    env: { ...secrets, AWS_ACCESS_KEY_ID: "canary", LARDER_REPLICATE: `s3://copies/one?endpoint=${sinkAddress}` },
  });
  const bases: Readonly<Record<string, string>> = {
    store: server.storeUrl,
    vector: server.environment["UPSTASH_VECTOR_REST_URL"] ?? "",
    messaging: server.environment["QSTASH_URL"] ?? "",
    admin: server.adminUrl,
  };
  const searched: string[] = [];
  const succeeded = new Set<string>();
  const send = async (line: string, body: unknown, headers: Readonly<Record<string, string>>): Promise<void> => {
    const [area = "", method = "", target = ""] = line.replace("@sink", sinkUrl).split(" ");
    const text = typeof body === "string" ? body : JSON.stringify(body)?.replaceAll("@sink", sinkUrl);
    const reply = await fetch(`${bases[area]}${target}`, {
      method,
      headers,
      ...(text !== undefined && { body: text }),
    });
    const answer = `${JSON.stringify([...reply.headers])} ${await reply.text()}`;
    // The error of a refused command that sets a password may contain the wrong argument and no other.
    assertNoSecret(answer, all, `the answer to ${line}`);
    searched.push(answer);
    if (reply.ok) succeeded.add(line);
  };
  for (const [line, body] of requests) {
    const [area = ""] = line.split(" ");
    await send(line, body, {
      authorization: `Bearer ${tokens[area]}`,
      "Upstash-Retries": "0",
      ...(line.includes("/v2/schedules/") && { "Upstash-Cron": "0 0 1 1 *" }),
      "Upstash-Redact-Fields": "header[Authorization]",
      "Upstash-Forward-Authorization": `Bearer ${password}`,
    });
    await send(line, body, { authorization: `Bearer ${wrongToken}` });
    await send(
      line.replace(/$/, `${line.includes("?") ? "&" : "?"}_token=${wrongToken}&qstash_token=${wrongToken}`),
      body,
      {},
    );
  }
  const respUrl = /REDIS_URL|redis:\/\/([\d.]+):(\d+)/.exec(server.output);
  assert.ok(respUrl?.[2] !== undefined, "the start prints the RESP address");
  searched.push(
    await converse(Number(respUrl[2]), [
      ["AUTH", wrongToken],
      ["AUTH", secrets.LARDER_STORE_TOKEN],
      ["CLIENT", "LIST"],
      ["QUIT"],
    ]),
  );

  await server.untilPrinted(/"the store of the copy refused".*SignatureDoesNotMatch/);
  await server.stop();
  assertNoSecret(searched.join("\n"), all, "the answers");
  assertNoSecret(server.log, all, "the log");
  assertNoSecret(server.output, all, "the output");
  for (const path of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    if (path === "tokens.json" || !/\.(?:log|json)$|admin-address/.test(path)) continue;
    assertNoSecret(readFileSync(join(directory, path), "utf8"), all, path);
  }
  assert.ok(searched.length > requests.length * 3);
  // The others are invalid on purpose. A smaller count means that a request no longer works.
  assert.equal(succeeded.size, 28, [...succeeded].join("\n"));
});

/** All replies on a RESP connection. */
async function converse(port: number, commands: readonly (readonly string[])[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    answer += chunk;
  });
  for (const words of commands)
    socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`);
  await once(socket, "close");
  return answer;
}
