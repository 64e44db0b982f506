/** `larder serve --replicate` from outside: what is copied, restored and told. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runHere } from "../../harness/command-runner.ts";
import { FakeS3 } from "../../harness/object-stores/fake-s3.ts";
import { oneThread, type RunningProgram, startProgram } from "../program-process.ts";
import {
  ADMIN,
  type AreaTokens,
  copyOf,
  KEY,
  placesOf,
  send,
  startCopied,
  tokensOf,
  untilComplete,
  untilCopy,
} from "./copied-program.ts";

const timeout = 60_000;
const env = { LARDER_REPLICATE_KEY: KEY };

async function writeAll(server: RunningProgram, tokens: AreaTokens, value: number): Promise<void> {
  await send(server, tokens, { area: "store", path: "/", body: ["SET", "value", String(value)] });
  await send(server, tokens, { area: "vector", path: "/upsert", body: { id: `v${value}`, vector: [value, 1] } });
  await send(server, tokens, {
    area: "messaging",
    path: "/v2/publish/https://example.com/",
    body: { value },
    headers: { "upstash-delay": "30d", "content-type": "application/json" },
  });
}

/** The value of the store, the vectors, and the messages of a queue of an area. */
async function readAll(server: RunningProgram, tokens: AreaTokens): Promise<readonly unknown[]> {
  const { result: value } = (await send(server, tokens, { area: "store", path: "/get/value" })) as { result: string };
  const { result: info } = (await send(server, tokens, { area: "vector", path: "/info" })) as {
    result: { vectorCount: number };
  };
  const { events } = (await send(server, tokens, { area: "messaging", path: "/v2/events" })) as {
    events: readonly { readonly state: string }[];
  };
  return [value, info.vectorCount, events.filter(({ state }) => state === "CREATED").length];
}

test("after kill -9, a restore elsewhere has all areas and the tokens, also those made at run time", {
  timeout,
}, async (context) => {
  const { data, restored, copy, address } = placesOf(context);
  await using first = await startCopied(data, address, { env });
  const tokens = tokensOf(first);
  await untilCopy(first, ({ phase }) => phase === "copying");
  const made = await fetch(`${first.adminUrl}/v1/databases`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "shop" }),
  });
  assert.equal(made.status, 201);
  const sealed = join(copy, "g0000000000000001.d", "tokens.d");
  await untilCopy(first, () => readdirSync(sealed).length === 2);
  await writeAll(first, tokens, 1);
  await untilComplete(first);
  await first.kill();

  const { code, output, log } = await runHere(["restore", address, restored], env);
  assert.equal(code, 0, log);
  assert.match(output, /^restored file:.* into .*\nstore: \d+ frames .*; complete to 20\d\d-/);
  assert.deepEqual(
    readFileSync(join(restored, "tokens.json"), "utf8"),
    readFileSync(join(data, "tokens.json"), "utf8"),
  );
  await using second = await startProgram("serve", { args: ["--data-dir", restored, ...oneThread] });
  assert.deepEqual(await readAll(second, tokens), ["1", 1, 1]);
});

test("a restore to a moment between two writes has the first one only, and a clean stop copies the last one", {
  timeout,
}, async (context) => {
  const { data, restored, address } = placesOf(context);
  await using first = await startCopied(data, address, { args: oneThread, env });
  const tokens = tokensOf(first);
  await writeAll(first, tokens, 1);
  const { areas } = await untilComplete(first);
  const moment =
    areas
      .map(({ completeTo }) => completeTo ?? "")
      .sort()
      .at(-1) ?? "";
  await writeAll(first, tokens, 2);
  assert.deepEqual(await first.stop(), { code: 0, signal: null });

  const early = await runHere(["restore", address, restored, "--at", moment], env);
  assert.equal(early.code, 0, early.log);
  const late = await runHere(["restore", address, `${restored}-late`], env);
  assert.equal(late.code, 0, late.log);
  const verified = await runHere(["verify", address]);
  assert.equal(verified.code, 0, verified.log);
  assert.match(
    verified.output,
    /^copy file:.*: ok; \d+ objects with \d+ bytes\nstore: from 20.*Z to 20.*Z\nmessaging: from 20.*Z to 20.*Z\nvector: from 20.*Z to 20.*Z\n$/,
  );
  {
    await using server = await startProgram("serve", { args: ["--data-dir", restored, ...oneThread] });
    assert.deepEqual(await readAll(server, tokens), ["1", 1, 1]);
  }
  await using server = await startProgram("serve", { args: ["--data-dir", `${restored}-late`, ...oneThread] });
  assert.deepEqual(await readAll(server, tokens), ["2", 2, 2]);
});

/** An S3 on a socket. `isAway`: it answers 503 to everything. */
async function s3Server(context: TestContext, { putCondition = "kept" as "kept" | "ignored" } = {}) {
  const fake = new FakeS3({
    putCondition,
    bucket: "copies",
    region: "us-east-1",
    accessKeyId: "AKIDTEST",
    secretAccessKey: "secret",
  });
  const state = { isAway: false };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const url = new URL(request.url ?? "", `http://${request.headers.host}`);
      const headers = request.headers as Record<string, string>;
      const answer = state.isAway
        ? { status: 503, headers: {}, body: Buffer.alloc(0) }
        : fake.handle({ method: request.method ?? "", url, headers, body: Buffer.concat(chunks) });
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  });
  context.after(() => void server.closeAllConnections());
  context.after(() => void server.close());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = { AWS_ACCESS_KEY_ID: "AKIDTEST", AWS_SECRET_ACCESS_KEY: "secret" };
  return { state, address: `s3://copies/one?endpoint=${endpoint}`, keys };
}

test("while the store is away the server answers as before, and the copy catches up when it is back", {
  timeout,
}, async (context) => {
  const { data } = placesOf(context);
  const { state, address, keys } = await s3Server(context);
  await using server = await startCopied(data, address, { args: oneThread, env: { ...env, ...keys } });
  const tokens = tokensOf(server);
  await untilCopy(server, ({ phase }) => phase === "copying");
  state.isAway = true;
  await writeAll(server, tokens, 1);
  const behind = await untilCopy(server, ({ areas, storeFault }) => {
    return storeFault !== null && areas.every(({ behindBytes, behindSeconds }) => behindBytes > 0 && behindSeconds > 0);
  });
  assert.equal(behind.phase, "copying");
  const ready = await fetch(`${server.adminUrl}/health/ready`);
  assert.equal(ready.status, 200);
  await writeAll(server, tokens, 2);
  const metrics = await fetch(`${server.adminUrl}/metrics`, { headers: { authorization: `Bearer ${ADMIN}` } });
  const text = await metrics.text();
  assert.match(text, /^larder_replication_behind_bytes\{area="store"\} [1-9]/m);
  assert.match(text, /^larder_replication_phase\{phase="copying"\} 1$/m);
  assert.match(text, /^larder_replication_request_failures_total\{kind="put"\} [1-9]/m);
  state.isAway = false;
  const { storeFault } = await untilComplete(server);
  assert.equal(storeFault, null);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.match(server.log, /"event":"cannot copy to the store"/);
  assert.match(server.log, /"event":"the store of the copy answers again"/);
});

test("a server whose store refuses it serves, and says why it does not copy", { timeout }, async (context) => {
  const { data, copy } = placesOf(context);
  await using server = await startCopied(data, `file://${copy}-missing`, { args: oneThread });
  const { phase, reason } = await untilCopy(server, (figures) => figures.reason !== null);
  assert.equal(phase, "starting");
  assert.match(reason ?? "", /copy-missing/);
  await send(server, tokensOf(server), { area: "store", path: "/set/a/b" });
  const checked = await runHere(["check", "--data-dir", `${data}-2`, "--replicate", `file://${copy}-missing`]);
  assert.equal(checked.code, 1);
  assert.match(checked.output, /^problem: .*copy-missing/m);
});

test("larder check finds wrong credentials and a store that ignores conditions", { timeout }, async (context) => {
  const { data, address: directory } = placesOf(context);
  const { address } = await s3Server(context);
  const words = ["check", "--data-dir", data, "--replicate"];
  assert.match((await runHere([...words, directory])).output, /^copy file:.*: ok$/m);
  const saved = { ...process.env };
  context.after(() => {
    process.env = saved;
  });
  process.env = { ...saved, AWS_ACCESS_KEY_ID: "AKIDTEST", AWS_SECRET_ACCESS_KEY: "wrong" };
  const { code, output } = await runHere([...words, address]);
  assert.equal(code, 1);
  assert.match(output, /^problem: .*s3:\/\/copies/m);
  assert.ok(!output.includes("wrong"));
  const careless = await s3Server(context, { putCondition: "ignored" });
  process.env = { ...saved, ...careless.keys };
  const refused = await runHere([...words, careless.address]);
  assert.equal(refused.code, 1);
  assert.match(refused.output, /^problem: .*the store ignores conditions of writes: .*add conditional=no/m);
});

test("S-19: a server on the prefix of another data directory refuses to copy and serves", {
  timeout,
}, async (context) => {
  const { data, address } = placesOf(context);
  await using first = await startCopied(data, address, { args: oneThread });
  await untilComplete(first);
  await using second = await startCopied(`${data}-2`, address, { args: oneThread });
  const { phase, reason } = await untilCopy(second, (figures) => figures.phase === "refused");
  assert.equal(phase, "refused");
  assert.match(reason ?? "", /^The copy belongs to another data directory/);
  assert.equal((await copyOf(first)).phase, "copying");
});

test("S-19: of two servers on one prefix the former one says that it was replaced, and goes on to serve", {
  timeout,
}, async (context) => {
  const { data, restored, address } = placesOf(context);
  const hasShortTicks = { NODE_OPTIONS: `--require ${fileURLToPath(new URL("short-ticks.cjs", import.meta.url))}` };
  await using first = await startCopied(data, address, { args: oneThread, env: { ...env, ...hasShortTicks } });
  const tokens = tokensOf(first);
  await writeAll(first, tokens, 1);
  await untilComplete(first);
  assert.equal((await runHere(["restore", address, restored], env)).code, 0);
  await using second = await startCopied(restored, address, { args: oneThread, env });
  const { reason } = await untilCopy(first, ({ phase }) => phase === "replaced");
  assert.match(reason ?? "", /^Another server has taken over the copy: it has generation 2, and this one 1\./);
  assert.match(first.log, /"event":"the data directory is not copied any more"/);
  await writeAll(first, tokens, 2);
  assert.deepEqual(await readAll(second, tokens), ["1", 1, 1]);
  await writeAll(second, tokens, 3);
  assert.equal((await untilComplete(second)).phase, "copying");
});

for (const [name, words, problem] of [
  [
    "a wrong address",
    ["--replicate", "ftp://host"],
    /^larder: --replicate: the address must begin with s3:\/\/ or file/,
  ],
  ["an address with a password", ["--replicate", "s3://user:word@bucket"], /must not have a user or a password in it/],
  ["a time without an address", ["--replicate-keep", "2d"], /--replicate-keep has no effect without --replicate/],
  ["writes that are not synced", ["--replicate", "file:///copy", "--fsync", "no"], /--fsync no does not sync/],
  [
    "a cluster",
    ["--replicate", "file:///copy", "--cluster", "postgres://a@b/c"],
    /--replicate and --cluster cannot both be set/,
  ],
] as const)
  test(`a start with ${name} is refused`, async () => {
    const { code, log } = await runHere(["check", ...words]);
    assert.equal(code, 2);
    assert.match(log, problem);
    assert.ok(!log.includes("user:word"));
  });

test("a development server that stores nothing cannot copy", async () => {
  const { code, log } = await runHere(["status", "--dev", "--replicate", "file:///copy"]);
  assert.equal(code, 2);
  assert.match(log, /--replicate needs a data directory: set --data-dir/);
});

test("S-19: a key that is not a key is refused without being repeated", async () => {
  const { code, log } = await runHere(["check"], { LARDER_REPLICATE_KEY: "not-a-key-at-all" });
  assert.equal(code, 2);
  assert.match(log, /LARDER_REPLICATE_KEY: the key is not 32 bytes in base64/);
  assert.ok(!log.includes("not-a-key-at-all"));
});

for (const [at, backup, problem] of [
  ["yesterday", "file:///copy", /--at "yesterday" is not a moment/],
  ["2026-01-31T18:00:00Z", "larder.tar", /--at needs the address of a copy/],
] as const)
  test(`restore refuses --at ${at} with ${backup}`, async (context) => {
    const { restored } = placesOf(context);
    const { code, log } = await runHere(["restore", backup, restored, "--at", at]);
    assert.equal(code, 2);
    assert.match(log, problem);
  });
