/**
 * The tests of a quickstart: they start larder and the application, check its four parts over HTTP, and run the calls with
 * curl in its README. Each quickstart has a copy of this file, which knows no framework.
 */
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freshLarder } from "larderd/node-test";

/** For a start on a slow machine. */
const START_MS_MAX = 60_000;
const ANSWER_MS_MAX = 20_000;
const TEST_MS_MAX = 150_000;
/** How long the application has to end after SIGTERM. */
const END_MS_MAX = 10_000;
/** What the workflow of the application sleeps. */
const SLEEP_MS = 10_000;

/**
 * Registers the tests. `commandOf` returns the words of the command that starts the application on a port of 127.0.0.1; it
 * gets the variables that larder prints, `PORT` and `HOST`. Not every
 * language has a client that serves workflows.
 */
export function testQuickstart(commandOf, { hasWorkflow = true } = {}) {
  test("the application counts, searches, sends messages and runs a workflow", {
    timeout: TEST_MS_MAX,
  }, async (context) => {
    const { larder, call } = await start(context, commandOf);

    await context.test("store: each view of the page counts", async () => {
      assert.match(await call.text("/"), /\b1 views?\b/);
      assert.match(await call.text("/"), /\b2 views\b/);
    });

    await context.test("vector index: a search finds the text with similar words", async () => {
      const texts = {
        a: "Penguins huddle against the wind",
        b: "A journal keeps what was acknowledged",
        c: "Bread needs time",
      };
      for (const [id, text] of Object.entries(texts)) await call.post("/api/texts", { id, text }, 201);
      const found = await call.json("/api/search?q=penguin");
      assert.equal(found.texts[0].id, "a");
      assert.equal(found.texts[0].text, texts.a);
    });

    await context.test("rate limit: the sixth text of a minute is refused", async () => {
      await call.post("/api/texts", { id: "d", text: "Rivers meet the sea" }, 201);
      await call.post("/api/texts", { id: "e", text: "Snow falls at night" }, 201);
      await call.post("/api/texts", { id: "f", text: "One too many" }, 429);
    });

    await context.test("messaging: a message arrives with a valid signature, and one without is refused", async () => {
      const { messageId } = await call.post("/api/messages", { text: "hello" }, 202);
      assert.match(messageId, /^msg_/);
      await until(async () => (await call.json("/api/messages")).messages.includes("hello"), "the message arrives");
      const forged = await call.send("/api/messages/receive", { text: "forged" });
      assert.ok([401, 403].includes(forged.status), `a forged message got the status ${forged.status}`);
      assert.deepEqual((await call.json("/api/messages")).messages, ["hello"]);
    });

    const skip = !hasWorkflow && "no client serves workflows in this language";
    await context.test("workflow: two steps with a sleep between them", { skip }, async () => {
      const { workflowRunId, messageId } = await call.post("/api/orders", { id: "7" }, 202);
      assert.match(workflowRunId ?? messageId, /^(?:wfr|msg)_/);
      const status = async () => (await call.json("/api/orders/7")).status;
      await until(async () => (await status()) === "paid", "the first step runs");
      await larder.clock.advance(SLEEP_MS - 1);
      assert.equal(await status(), "paid");
      await larder.clock.advance(1);
      await until(async () => (await status()) === "shipped", "the second step runs after the sleep");
    });
  });

  const lines = curlLinesOf("README.md");
  if (lines.length === 0) return;
  const skip = spawnSync("curl", ["--version"]).error !== undefined && "curl is not installed";
  test("the application answers the calls in the README", { skip, timeout: TEST_MS_MAX }, async (context) => {
    const { port } = await start(context, commandOf);
    for (const line of lines) {
      const here = line
        .replace("curl ", "curl --fail --silent --show-error ")
        .replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`);
      // Again while the workflow has not begun.
      await until(() => succeeds(here), line);
    }
  });
}

/** The commands with curl in a page of this folder. */
function curlLinesOf(page) {
  const path = new URL(page, import.meta.url);
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  return lines.filter((line) => line.startsWith("    curl ")).map((line) => line.trim());
}

function succeeds(line) {
  return promisify(execFile)("sh", ["-c", line], { timeout: ANSWER_MS_MAX }).then(
    () => true,
    () => false,
  );
}

/** Starts larder and the application, waits until it answers, and ends both after the test. */
async function start(context, commandOf) {
  // Its time stands still, so that the workflow sleeps until the test moves it.
  const larder = await freshLarder(context, { clock: "frozen" });
  const port = await freePort();
  const variables = { ...larder.env, PORT: String(port), HOST: "127.0.0.1" };
  const [program, ...words] = commandOf(port, variables);
  const application = spawn(program, words, {
    env: { ...process.env, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [application.stdout, application.stderr]) stream.on("data", (chunk) => (output += chunk));
  let ended;
  application.on("error", (error) => (ended = error.message));
  application.on("exit", (code, signal) => (ended = `ended with ${code ?? signal}`));
  context.after(async () => {
    await end(application);
    if (!context.passed) console.error(`Output of the application:\n${output}`);
  });
  const answers = async () => {
    if (ended !== undefined) assert.fail(`the application ${ended}`);
    // An address that no application has, so that nothing is counted.
    return fetch(`http://127.0.0.1:${port}/api/none`).then(
      () => true,
      () => false,
    );
  };
  await until(answers, `the application listens on port ${port}`, START_MS_MAX);
  return { larder, port, call: caller(`http://127.0.0.1:${port}`) };
}

async function end(application) {
  if (application.exitCode !== null || application.signalCode !== null || application.pid === undefined) return;
  const exit = once(application, "exit");
  application.kill("SIGTERM");
  const limit = setTimeout(() => application.kill("SIGKILL"), END_MS_MAX);
  await exit;
  clearTimeout(limit);
}

function caller(url) {
  const send = (path, body) =>
    fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
  const text = async (path) => {
    const response = await fetch(url + path, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    const answer = await response.text();
    assert.equal(response.status, 200, `GET ${path}: ${answer}`);
    return answer;
  };
  return {
    send,
    text,
    json: async (path) => JSON.parse(await text(path)),
    post: async (path, body, status) => {
      const response = await send(path, body);
      const answer = await response.text();
      assert.equal(response.status, status, `POST ${path}: ${answer}`);
      return JSON.parse(answer);
    },
  };
}

async function until(isTrue, fact, limitMs = ANSWER_MS_MAX) {
  const end = performance.now() + limitMs;
  while (!(await isTrue())) {
    assert.ok(performance.now() < end, `within ${limitMs / 1000} s: ${fact}`);
    await sleep(50);
  }
}

/** A port that nothing listens on. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
