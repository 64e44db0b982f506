/**
 * `larder dev` beside other programs: `larder dev -- <command>` with its environment, output, signals and exit code, and
 * the end of the shell with which npm runs it.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { anyPorts, cleanEnvironment, programFile, spawnProgram } from "./program-process.ts";

const timeout = 60_000;

const script = `
  process.on("SIGTERM", () => fetch(process.env.KV_REST_API_URL + "/get/key", authorized).then(async (answer) => {
    console.log("stopping", await answer.text());
    process.exit(9);
  }));
  const authorized = { headers: { authorization: "Bearer " + process.env.KV_REST_API_TOKEN } };
  fetch(process.env.KV_REST_API_URL + "/set/key/value", authorized).then(async (answer) => {
    console.log("set", await answer.text(), process.argv.slice(1).join());
    setInterval(() => {}, 1_000);
  });
`;

test("larder dev runs a command with its environment and ends with it", { timeout }, async () => {
  const words = ["dev", "--", process.execPath, "-e", script, "--", "a", "--help"];
  await using program = spawnProgram(words, { env: anyPorts });
  await program.untilPrinted(/^set .*\n/m);
  process.kill(program.pid, "SIGTERM");

  // The server serves until the command has ended.
  assert.deepEqual(await program.ended, { code: 9, signal: null });
  assert.equal(program.output, 'set {"result":"OK"} a,--help\nstopping {"result":"value"}\n');
  assert.match(program.log, /^# larderd \S+ running at http:/m);
  assert.match(program.log, /"event":"stopped"/);
});

test("a command does not share the cache of compiled code, but has the one that the user names", {
  timeout,
}, async (context) => {
  const place = mkdtempSync(join(tmpdir(), "larder-dev-command-"));
  context.after(() => rmSync(place, { recursive: true, force: true }));
  const words = ["dev", "--", process.execPath, "-p", '"cache " + process.env.NODE_COMPILE_CACHE'];
  for (const [given, expected] of [
    ["", "cache undefined\n"],
    [place, `cache ${place}\n`],
  ] as const) {
    await using program = spawnProgram(words, {
      env: { ...anyPorts, XDG_CACHE_HOME: place, NODE_COMPILE_CACHE: given },
    });
    assert.deepEqual(await program.ended, { code: 0, signal: null });
    assert.equal(program.output, expected);
  }
  assert.equal(existsSync(join(place, "larder", "compiled")), true);
});

test("a command does not inherit the size of larder's thread pool, but has the one that the user sets", {
  timeout,
}, async () => {
  const words = ["dev", "--", "sh", "-c", 'echo "$UV_THREADPOOL_SIZE,$(env | grep -c NODE_LARDER_)"'];
  for (const [given, expected] of [
    [{}, ",0\n"],
    [{ UV_THREADPOOL_SIZE: "16" }, "16,0\n"],
  ] as const) {
    await using program = spawnProgram(words, { env: { ...anyPorts, ...given } });
    assert.deepEqual(await program.ended, { code: 0, signal: null });
    assert.equal(program.output, expected);
  }
});

test("a server that npm runs stops when a signal ends the shell of npm", { timeout }, async () => {
  // As npx runs it. The shell stays, because it has a second command.
  const shellScript = `'${process.execPath}' '${programFile}' dev && true`;
  const env = { ...cleanEnvironment(), ...anyPorts, npm_lifecycle_script: shellScript, LARDER_LOG_FORMAT: "text" };
  const shell = spawn("sh", ["-c", shellScript], { stdio: ["ignore", "pipe", "pipe"], env });
  let log = "";
  const isServing = new Promise<void>((resolve, reject) => {
    shell.once("close", () => reject(new Error(`the server did not start: ${log}`)));
    shell.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      if (log.includes("serving")) resolve();
    });
  });
  shell.stdout.resume();
  await isServing;
  shell.kill("SIGTERM");

  // The pipes close when the last process ends.
  assert.deepEqual(await once(shell, "close"), [null, "SIGTERM"]);
  assert.match(log, /npm ended.*stopping.*stopped/s);
});
