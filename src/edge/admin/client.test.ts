/** The client of the admin port, with a fake server for each test. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { localCertificates } from "../../../test/harness/local-certificates.ts";
import { type AdminAnswer, askForBackup, askForReset } from "./client.ts";
import type { TenantTokens } from "./routes.ts";

/** Calls a server that always sends this answer; returns the answer and the received request. */
async function ask(status: number, body: string): Promise<{ answer: AdminAnswer<TenantTokens>; asked: unknown }> {
  let asked: unknown;
  const server: Server = createServer((request, response) => {
    asked = [request.method, request.url, request.headers.authorization];
    response.statusCode = status;
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const answer = await askForReset(
    { address: `http://127.0.0.1:${port}`, token: "secret" },
    { kind: "databases", name: "a/b" },
  );
  server.close();
  await once(server, "close");
  return { answer, asked };
}

test("requests new tokens with the admin token, and the name as one segment of the path", async () => {
  const { answer, asked } = await ask(200, '{"name":"a/b","token":"t","readOnlyToken":"r"}');
  assert.deepEqual(answer, { kind: "done", value: { name: "a/b", token: "t", readOnlyToken: "r" } });
  assert.deepEqual(asked, ["POST", "/v1/databases/a%2Fb/reset-password", "Bearer secret"]);
});

const answers: readonly (readonly [status: number, body: string, answer: AdminAnswer<TenantTokens>])[] = [
  [404, '{"error":"There is no database x"}', { kind: "refused", status: 404, text: "There is no database x" }],
  [401, '{"error":"WRONGPASS"}', { kind: "refused", status: 401, text: "WRONGPASS" }],
  [200, '{"token":"t"}', { kind: "unreachable", reason: "it answers 200 and is not an admin port of larder" }],
  [200, "null", { kind: "unreachable", reason: "it answers 200 and is not an admin port of larder" }],
  [502, "<html>", { kind: "unreachable", reason: "it answers 502 and is not an admin port of larder" }],
  [200, "x".repeat(100_000), { kind: "unreachable", reason: "its response is too long" }],
];

for (const [status, body, expected] of answers) {
  test(`${status} ${body.slice(0, 40)}: ${expected.kind}`, async () => {
    assert.deepEqual((await ask(status, body)).answer, expected);
  });
}

test("accepts any name in the certificate of an admin port with TLS", async () => {
  const [{ certificate, key }] = localCertificates;
  const server = createTlsServer({ cert: certificate, key }, (_request, response) => {
    response.end('{"directory":"backup-1","areas":[]}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const answer = await askForBackup({ address: `https://127.0.0.1:${port}`, token: "secret" });
  server.close();
  assert.deepEqual(answer, { kind: "done", value: { directory: "backup-1", areas: [] } });
});

test("reports an unreachable server", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const answer = await askForReset(
    { address: `http://127.0.0.1:${port}`, token: "x" },
    { kind: "users", name: "main" },
  );
  assert.deepEqual(answer, { kind: "unreachable", reason: "no program listens there" });
});
