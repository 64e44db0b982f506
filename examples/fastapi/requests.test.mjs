import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { freshLarder } from "larderd/node-test";
import { missing, python } from "./python.mjs";

test("larder answers the requests of the Python clients", { skip: missing("httpx", "jwt") }, async (context) => {
  const { env } = await freshLarder(context);
  const tests = spawn(python, ["requests_test.py"], { env: { ...process.env, ...env }, stdio: "inherit" });
  assert.deepEqual(await once(tests, "exit"), [0, null]);
});
