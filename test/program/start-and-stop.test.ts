/** `larder serve` and `larder dev` from outside: starts, refused starts and stops. */
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runHere } from "../harness/command-runner.ts";
import {
  anyPorts,
  checkoutProgram,
  oneThread,
  type RunningProgram,
  spawnProgram,
  startProgram,
} from "./program-process.ts";

const oldNode = fileURLToPath(new URL("old-node.cjs", import.meta.url));
const onOldNode = { entry: checkoutProgram, env: { NODE_OPTIONS: `--require=${oldNode}` } };

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function command(program: RunningProgram, words: readonly string[]): Promise<unknown> {
  const reply = await fetch(program.storeUrl, {
    method: "POST",
    headers: { authorization: `Bearer ${program.storeToken}` },
    body: JSON.stringify(words),
  });
  return reply.json();
}

/** No start, stop or refusal here takes longer. */
const timeout = 30_000;

test("serve prints tokens once, stores them for their owner only and keeps data over a stop", {
  timeout,
}, async (context) => {
  const cwd = temporaryDirectory(context);

  await using first = await startProgram("serve", { cwd });
  assert.match(first.output, /running at http:\/\/127\.0\.0\.1:\d+ /);
  assert.match(first.environment["UPSTASH_REDIS_REST_TOKEN"] ?? "", /^[A-Za-z0-9]{43}$/);
  assert.deepEqual(await command(first, ["SET", "key", "value"]), { result: "OK" });
  assert.deepEqual(await first.stop(), { code: 0, signal: null });

  const tokensPath = join(cwd, "larder-data", "tokens.json");
  assert.equal(statSync(tokensPath).mode & 0o777, 0o600);
  assert.equal(statSync(join(cwd, "larder-data")).mode & 0o777, 0o700);

  await using second = await startProgram("serve", { cwd, args: oneThread });
  assert.equal(second.environment["UPSTASH_REDIS_REST_TOKEN"], undefined);
  assert.match(second.output, /^# UPSTASH_REDIS_REST_TOKEN: in .*tokens\.json$/m);
  assert.equal(second.storeToken, first.storeToken);
  assert.ok(!second.output.includes(first.storeToken) && !second.log.includes(first.storeToken));
  assert.deepEqual(await command(second, ["GET", "key"]), { result: "value" });
  assert.deepEqual(await second.stop(), { code: 0, signal: null });
});

test("S-08: refuses a second process on one data directory with one message", { timeout }, async (context) => {
  const directory = join(temporaryDirectory(context), "data");
  await using first = await startProgram("serve", { args: ["--data-dir", directory, ...oneThread] });

  const second = spawnProgram(["serve", "--data-dir", directory], { env: anyPorts });

  assert.deepEqual(await second.ended, { code: 1, signal: null });
  assert.equal(second.output, "");
  assert.equal(
    second.log,
    `larder: The data directory ${directory} is in use by another larder. Stop that one or choose another directory\n`,
  );
  assert.deepEqual(await command(first, ["PING"]), { result: "PONG" });
});

test("serve and check report the damaged file and byte of a data directory", { timeout }, async (context) => {
  const directory = temporaryDirectory(context);
  await using first = await startProgram("serve", { args: ["--data-dir", directory, ...oneThread] });
  await command(first, ["SET", "key", "value"]);
  assert.equal((await first.stop()).code, 0);
  const [name = ""] = readdirSync(join(directory, "store")).filter((each) => each.endsWith(".journal"));
  const path = join(directory, "store", name);
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 40) ^ 1, bytes.length - 40);
  writeFileSync(path, bytes);

  // One after the other: each locks the directory while it reads.
  const check = spawnProgram(["check", "--data-dir", directory]);
  assert.deepEqual(await check.ended, { code: 1, signal: null });
  const sentence = /: .*\.journal is damaged at byte \d+: .+\. Restore the data directory from a backup\n$/;
  assert.match(check.output, sentence);

  const start = spawnProgram(["serve", "--data-dir", directory], { env: anyPorts });
  assert.deepEqual(await start.ended, { code: 1, signal: null });
  assert.match(start.log, sentence);
});

test("serve and check refuse a directory with foreign files and do not write to it", {
  timeout,
}, async (context) => {
  const directory = temporaryDirectory(context);
  writeFileSync(join(directory, "thesis.txt"), "mine");
  const sentence = `${directory} is not empty and is not a data directory of larder: it has "thesis.txt" and no file format. Name a new or an empty directory\n`;

  const check = spawnProgram(["check", "--data-dir", directory]);
  assert.deepEqual(await check.ended, { code: 1, signal: null });
  assert.equal(check.output, `configuration: ok\nproblem: ${sentence}`);
  const refused = spawnProgram(["serve", "--data-dir", directory], { env: anyPorts });
  assert.deepEqual(await refused.ended, { code: 1, signal: null });
  assert.equal(refused.log, `larder: ${sentence}`);
  assert.deepEqual(readdirSync(directory), ["thesis.txt"]);

  // mkfs creates lost+found, so it is not a foreign file.
  rmSync(join(directory, "thesis.txt"));
  mkdirSync(join(directory, "lost+found"));
  await using program = await startProgram("serve", { args: ["--data-dir", directory, ...oneThread] });
  assert.deepEqual(await command(program, ["PING"]), { result: "PONG" });
});

test("a start warns of a configuration with tokens that other users can read, and check calls it a problem", {
  timeout,
}, async (context) => {
  const directory = temporaryDirectory(context);
  const configuration = join(directory, "larder.json");
  const args = ["--config", configuration, "--data-dir", join(directory, "data")];
  writeFileSync(configuration, '{"admin":{"token":"an-admin-token-of-enough-characters"}}', { mode: 0o644 });
  await using program = await startProgram("serve", { args: [...args, ...oneThread] });
  assert.match(
    program.log,
    /"event":"other users can read the file of tokens",.*"remedy":"chmod 600 [^"]*larder\.json"/,
  );
  assert.equal((await program.stop()).code, 0);

  const open = await runHere(["check", ...args]);
  assert.equal(open.code, 1);
  assert.match(open.output, /larder\.json can be read by other users: run chmod 600 on it/);
  chmodSync(configuration, 0o600);
  const closed = await runHere(["check", ...args]);
  assert.equal(closed.code, 0, closed.output);
});

test("a start warns of a tokens.json that other users can read and of data of an unlisted tenant", {
  timeout,
}, async (context) => {
  const directory = temporaryDirectory(context);
  const configuration = join(directory, "larder.json");
  const dataDirectory = join(directory, "data");
  const args = ["--config", configuration, "--data-dir", dataDirectory, ...oneThread];
  writeFileSync(configuration, '{"store":{"databases":[{"name":"old"},{"name":"main"}]}}');
  await using first = await startProgram("serve", { args });
  assert.deepEqual(await command(first, ["SET", "key", "value"]), { result: "OK" });
  assert.equal((await first.stop()).code, 0);

  writeFileSync(configuration, '{"store":{"databases":[{"name":"main"}]}}');
  const tokensPath = join(dataDirectory, "tokens.json");
  chmodSync(tokensPath, 0o644);
  await using second = await startProgram("serve", { args });
  assert.match(
    second.log,
    /"event":"other users can read the file of tokens",.*"remedy":"chmod 600 [^"]*tokens\.json"/,
  );
  assert.match(
    second.log,
    /"level":"warn","event":"the data of a tenant remains, but the configuration no longer lists it","kind":"databases","name":"old","remedy":"list it again to use it, or DELETE \/v1\/databases\/old on the admin port to remove its data"/,
  );
});

test("check reports errors in the configuration and in the files that it names", { timeout }, async (context) => {
  const directory = temporaryDirectory(context);
  const configuration = join(directory, "larder.json");
  writeFileSync(configuration, '{"store":{"databases":[{"name":"a","token":"t"},{"name":"b","token":"t"}]}}');

  const bad = spawnProgram(["check", "--config", configuration, "--data-dir", join(directory, "none")]);
  assert.deepEqual(await bad.ended, { code: 2, signal: null });
  assert.equal(
    bad.log,
    `larder: ${configuration}:1:61: store.databases[1].token is the same as store.databases[0].token\n`,
  );

  // check also reads the files: certificates, and the remains of a restore that did not finish.
  const unfinished = join(directory, "unfinished");
  mkdirSync(join(unfinished, "restoring-0123456789abcdef"), { recursive: true });
  const half = ["--tls-cert", configuration, "--tls-key", join(directory, "none")];
  const worse = await runHere(["check", ...half, "--data-dir", unfinished]);
  assert.equal(worse.code, 1);
  assert.equal(
    worse.output,
    `problem: --tls-key: there is no file ${join(directory, "none")}\nproblem: A restore or an export into ${unfinished} did not finish: run it again, or empty the directory to start over\n`,
  );

  const good = await runHere(["check", "--data-dir", join(directory, "none")]);
  assert.equal(good.code, 0);
  assert.equal(
    good.output,
    `configuration: ok\ndata directory ${join(directory, "none")}: the first start creates it\n`,
  );
  assert.deepEqual(readdirSync(directory), ["larder.json", "unfinished"]);
});

test("dev has well-known tokens, writes nothing to disk and stops on SIGINT", { timeout }, async (context) => {
  const cwd = temporaryDirectory(context);
  await using program = await startProgram("dev", { cwd });

  assert.equal(program.storeToken, "dev");
  assert.equal(program.storeReadOnlyToken, "dev-readonly");
  assert.deepEqual(await command(program, ["SET", "key", "value"]), { result: "OK" });
  process.kill(program.pid, "SIGINT");

  assert.deepEqual(await program.ended, { code: 0, signal: null });
  assert.deepEqual(readdirSync(cwd), []);
});

const refusals: readonly (readonly [words: string, code: number, sentence: RegExp])[] = [
  ["serve --hots ::1", 2, /^larder: Unknown flag --hots: did you mean --host\?\n$/],
  ["serve --store-port 70000", 2, /^larder: --store-port: "70000" is not a port from 0 to 65535\n$/],
  ["dev --admin-host 127.0.0.255 --admin-port 1 --host 127.0.0.300", 2, /^larder: --host: "127\.0\.0\.300" is not/],
];

for (const [words, code, sentence] of refusals) {
  test(`exits with ${code}: larder ${words}`, { timeout }, async () => {
    const program = spawnProgram(words.split(" "));
    assert.deepEqual(await program.ended, { code, signal: null });
    assert.equal(program.output, "");
    assert.match(program.log, sentence);
  });
}

test("serve names the remedy for a port in use and for a data directory that is a file", {
  timeout,
}, async (context) => {
  await using first = await startProgram("dev");
  const { port } = new URL(first.storeUrl);
  const file = join(temporaryDirectory(context), "file");
  writeFileSync(file, "");

  const busy = spawnProgram(["serve", "--store-port", port, "--threads", "per-area", "--data-dir", `${file}-d`], {
    env: { LARDER_ADMIN_PORT: "0", LARDER_VECTOR_PORT: "0", LARDER_MESSAGING_PORT: "0" },
  });
  const noDirectory = spawnProgram(["serve", "--data-dir", file], { env: anyPorts });

  assert.deepEqual(await busy.ended, { code: 1, signal: null });
  assert.equal(
    busy.log,
    `larder: Port ${port} on 127.0.0.1 is in use: stop the program that uses it, or choose another with --store-port\n`,
  );
  assert.deepEqual(await noDirectory.ended, { code: 1, signal: null });
  assert.equal(
    noDirectory.log,
    `larder: The data directory ${file} is not a directory: choose another with --data-dir\n`,
  );
});

const LARGE_BYTES = 8 * 2 ** 20;

/** A connection that does not read its response of 32 MB, so the response stays unfinished. */
async function unreadResponse(program: RunningProgram): Promise<Socket> {
  const { port } = new URL(program.storeUrl);
  assert.deepEqual(await command(program, ["SET", "l", "x".repeat(LARGE_BYTES)]), { result: "OK" });
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write("GET /mget/l/l/l/l HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dev\r\n\r\n");
  await once(socket, "readable");
  return socket;
}

test("a stop waits for unfinished responses and is not ready; a second signal ends the process at once", {
  timeout,
}, async () => {
  await using program = await startProgram("dev");
  const socket = await unreadResponse(program);
  assert.equal((await fetch(`${program.adminUrl}/health/ready`)).status, 200);

  process.kill(program.pid, "SIGTERM");
  await program.untilPrinted(/"event":"stopping"/);
  const ready = await fetch(`${program.adminUrl}/health/ready`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /store is draining/);

  process.kill(program.pid, "SIGINT");
  assert.deepEqual(await program.ended, { code: 130, signal: null });
  socket.destroy();
});

test("two equal signals in a row, as npm sends for Ctrl-C, count once; an unread response is cut off", {
  timeout,
}, async () => {
  await using program = await startProgram("dev", { args: ["--shutdown-grace", "300ms"] });
  const socket = await unreadResponse(program);

  process.kill(program.pid, "SIGINT");
  process.kill(program.pid, "SIGINT");

  assert.deepEqual(await program.ended, { code: 0, signal: null });
  socket.destroy();
});

test("a client receives the rest of a response that has begun before the signal", { timeout }, async () => {
  await using program = await startProgram("dev");
  const socket = await unreadResponse(program);

  process.kill(program.pid, "SIGTERM");
  await program.untilPrinted(/"event":"stopping"/);
  let bytes = 0;
  for await (const chunk of socket) bytes += (chunk as Buffer).length;

  assert.ok(bytes > 4 * LARGE_BYTES, `${bytes}`);
  assert.deepEqual(await program.ended, { code: 0, signal: null });
});

test("S-01: an incomplete request does not delay a stop", { timeout }, async () => {
  await using program = await startProgram("dev", { args: ["--shutdown-grace", "10m"] });
  const { port } = new URL(program.storeUrl);
  const heard: string[] = [];
  for (const half of [
    "GET /pi",
    "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dev\r\nContent-Length: 9\r\n\r\n[",
  ]) {
    const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
    socket.on("error", () => {});
    socket.on("data", (text: string) => heard.push(text.slice(0, 12)));
    await once(socket, "connect");
    socket.write(half);
  }
  assert.deepEqual(await command(program, ["PING"]), { result: "PONG" });

  assert.deepEqual(await program.stop(), { code: 0, signal: null });
  assert.deepEqual(heard, ["HTTP/1.1 503"]);
});

test("S-01: without free file descriptors, larder refuses and logs connections, and the admin port answers", {
  timeout,
}, async () => {
  await using program = await startProgram("dev", { descriptorsMax: 150 });
  const { port } = new URL(program.storeUrl);
  const sockets = Array.from({ length: 300 }, () => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => {});
    return socket;
  });
  await program.untilPrinted(/"event":"connections are refused","area":"store","reason":"descriptors"/);
  await program.untilPrinted(/"event":"too few file descriptors: connections are refused","limit":150/);
  const ready = await fetch(`${program.adminUrl}/health/ready`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /too few file descriptors: raise the limit of 150/);
  assert.match(
    await (await fetch(`${program.adminUrl}/metrics`)).text(),
    /^larder_http_connections_refused_total\{area="store",reason="descriptors"\} [1-9]\d*$/m,
  );
  for (const socket of sockets) socket.destroy();
});

test("S-09: SIGUSR1 opens no debugger and SIGUSR2 does not end the process, during and after the start", {
  timeout,
}, async (context) => {
  const early = join(temporaryDirectory(context), "early.cjs");
  // An immediate of a preloaded file runs after the first file of the program and before the next one is loaded.
  writeFileSync(
    early,
    'if (process.argv[1]?.endsWith("larder.cjs")) setImmediate(() => { for (const s of ["SIGUSR1", "SIGUSR2"]) process.kill(process.pid, s); });',
  );
  for (const NODE_OPTIONS of [`--require=${early}`, `--require=${oldNode} --require=${early}`]) {
    await using program = await startProgram("dev", { entry: checkoutProgram, env: { NODE_OPTIONS } });
    for (const signal of ["SIGUSR1", "SIGUSR2"]) {
      process.kill(program.pid, signal);
      // A process that only starts another one has no log.
      if (NODE_OPTIONS.includes(oldNode)) continue;
      await program.untilPrinted(new RegExp(`"event":"a signal was ignored","signal":"${signal}"`));
    }
    assert.deepEqual(await command(program, ["PING"]), { result: "PONG" });
    assert.deepEqual(await program.stop(), { code: 0, signal: null });
    assert.doesNotMatch(program.log, /Debugger/);
  }
});

test("H.one-port: one port serves the areas under their prefixes, in one thread", { timeout }, async (context) => {
  await using program = await startProgram("serve", {
    args: ["--port", "0", "--data-dir", temporaryDirectory(context)],
  });
  const { port } = new URL(program.storeUrl);

  assert.equal(program.storeUrl, `http://127.0.0.1:${port}/store`);
  assert.equal(program.environment["QSTASH_URL"], `http://127.0.0.1:${port}/messaging`);
  const headers = { authorization: `Bearer ${program.storeToken}` };
  const set = await fetch(`${program.storeUrl}/set/a/b`, { headers });
  assert.deepEqual(await set.json(), { result: "OK" });
  const refused = await fetch(`http://127.0.0.1:${port}/vector/info`, { headers });
  assert.deepEqual(await refused.json(), { error: "Unauthorized: Invalid auth token", status: 401 });
  assert.equal((await fetch(`http://127.0.0.1:${port}/`, { headers })).status, 404);
});

test("on an old Node, a checkout runs under the Node in its dependencies", { timeout }, async () => {
  await using program = await startProgram("dev", onOldNode);
  assert.deepEqual(await command(program, ["PING"]), { result: "PONG" });
  assert.deepEqual(await program.stop(), { code: 0, signal: null });

  const refused = spawnProgram(["serve", "--hots"], onOldNode);
  assert.deepEqual(await refused.ended, { code: 2, signal: null });
});

test("on an old Node, an installed package reports the version that it needs", { timeout }, async (context) => {
  const root = temporaryDirectory(context);
  mkdirSync(join(root, "bin"));
  const entry = join(root, "bin", "larder.cjs");
  copyFileSync(checkoutProgram, entry);

  const refused = spawnProgram(["dev"], { entry, env: { NODE_OPTIONS: `--require=${oldNode}` } });

  assert.deepEqual(await refused.ended, { code: 1, signal: null });
  assert.equal(refused.log, "larder needs Node 24 or newer, and this is Node 18.20.0: install a newer Node\n");
});

test("the server ends when the process that runs it under the newer Node is killed", { timeout }, async () => {
  await using program = await startProgram("dev", onOldNode);
  // The child inherits the pipes, so they close when it ends.
  assert.deepEqual(await program.kill(), { code: null, signal: "SIGKILL" });
  await program.untilPrinted(/"event":"stopped"/);
});

test("prints help and version on stdout", { timeout }, async () => {
  const version = spawnProgram(["--version"]);
  const help = spawnProgram(["serve", "--help"]);
  assert.deepEqual(await version.ended, { code: 0, signal: null });
  assert.deepEqual(await help.ended, { code: 0, signal: null });
  const { version: number } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  assert.equal(version.output, `larder ${number}\n`);
  assert.match(help.output, /--data-dir <path>/);
});
