/** The areas over HTTPS, from outside: the official clients, and the variables that larder prints for them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { localCertificates } from "../harness/local-certificates.ts";
import { repositoryRoot, spawnProgram, startProgram } from "./program-process.ts";

const timeout = 30_000;

/** An application that uses each official client. */
const APPLICATION = `
  import { Redis } from "@upstash/redis";
  import { Index } from "@upstash/vector";
  import { Client } from "@upstash/qstash";
  const redis = Redis.fromEnv();
  await redis.set("k", "v");
  const index = new Index();
  await index.upsert({ id: "a", vector: [1, 0] });
  const client = new Client();
  const { messageId } = await client.publish({ url: "https://example.com/", delay: 3600, body: "x" });
  console.log(await redis.get("k"), (await index.fetch(["a"]))[0].id, (await client.messages.get(messageId)).url);
`;

function certificateFiles(context: TestContext): { certificate: string; key: string } {
  const directory = mkdtempSync(join(tmpdir(), "larder-tls-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const [certificate, key] = [join(directory, "cert.pem"), join(directory, "key.pem")];
  writeFileSync(certificate, localCertificates[0].certificate);
  writeFileSync(key, localCertificates[0].key);
  return { certificate, key };
}

test("H.tls: official clients that trust the certificate use every area over HTTPS; a loopback admin port stays HTTP", {
  timeout,
}, async (context) => {
  const { certificate, key } = certificateFiles(context);
  await using program = await startProgram("dev", {
    args: ["--tls-cert", certificate, "--tls-key", key, "--threads", "per-area", "--http2", "on"],
  });
  const { environment } = program;
  for (const name of ["UPSTASH_REDIS_REST_URL", "UPSTASH_VECTOR_REST_URL", "QSTASH_URL"]) {
    assert.match(environment[name] ?? "", /^https:\/\/127\.0\.0\.1:\d+$/);
  }
  assert.equal((await fetch(`${program.adminUrl}/health/ready`)).status, 200);
  await assert.rejects(fetch(program.storeUrl));

  const env = { PATH: process.env["PATH"], ...environment, NODE_EXTRA_CA_CERTS: certificate };
  const child = spawn(process.execPath, ["--input-type=module", "--eval", APPLICATION], { cwd: repositoryRoot, env });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (printed += String(chunk)));
  await once(child, "close");

  assert.equal(printed, "v a https://example.com/\n");
});

test("refuses a certificate without a key, and an invalid key, with one message", { timeout }, async (context) => {
  const { certificate } = certificateFiles(context);
  const half = spawnProgram(["dev", "--tls-cert", certificate]);
  assert.deepEqual(await half.ended, { code: 2, signal: null });
  assert.equal(half.log, "larder: --tls-cert needs --tls-key as well: TLS needs a certificate and its key\n");
  const none = spawnProgram([
    "dev",
    "--tls-cert",
    certificate,
    "--tls-key",
    certificate,
    "--port",
    "0",
    "--admin-port",
    "0",
  ]);
  assert.deepEqual(await none.ended, { code: 1, signal: null });
  assert.match(none.log, /^larder: --tls-cert and --tls-key: .* are not a PEM certificate and its key \(.*\)\n$/);
});
