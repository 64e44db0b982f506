/** `larder dev -- <command>`: the environment of the command, its output, signals and its exit code. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { anyPorts, spawnProgram } from "./program-process.ts";

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
  const program = spawnProgram(words, { env: anyPorts });
  await program.untilPrinted(/^set .*\n/m);
  process.kill(program.pid, "SIGTERM");

  // The server serves until the command has ended.
  assert.deepEqual(await program.ended, { code: 9, signal: null });
  assert.equal(program.output, 'set {"result":"OK"} a,--help\nstopping {"result":"value"}\n');
  assert.match(program.log, /^# larderd \S+ running at http:/m);
  assert.match(program.log, /"event":"stopped"/);
});
