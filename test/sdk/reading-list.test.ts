/** The example in examples/reading-list, with all official clients, as in its README. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { after, before, mock, test } from "node:test";
import { promisify } from "node:util";
import { type Application, createApplication, type Environment } from "../../examples/reading-list/application.ts";
import { listen } from "../../examples/reading-list/listen.ts";
import type { Larder, StartOptions } from "../../src/mod.ts";
import { startSuite } from "../harness/cluster/suite-server.ts";
import { missingProgram } from "../harness/required-programs.ts";

const DAY_MS = 86_400_000;
/** Each look is a request, so this is seconds. */
const LOOKS_MAX = 5_000;
const README = new URL("../../examples/reading-list/README.md", import.meta.url);

let larder: Larder;
let server: Awaited<ReturnType<typeof listen>>;
let baseUrl = "";

before(async () => {
  // The client logs its refusals.
  for (const method of ["error", "warn", "log"] as const) mock.method(console, method, () => {});
  const configPath = new URL("../../examples/reading-list/larder.json", import.meta.url);
  larder = await startSuite(JSON.parse(readFileSync(configPath, "utf8")) as StartOptions);
  let application: Application | undefined;
  server = await listen(() => {
    assert.ok(application !== undefined, "the application runs before it is called");
    return application;
  }, 0);
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  application = createApplication({ environment: larder.env as unknown as Environment, baseUrl });
});

after(async () => {
  await larder?.stop();
  server?.closeAllConnections();
  server?.close();
});

async function call(path: string, body?: unknown): Promise<{ status: number; json: Record<string, unknown> }> {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const reply = await fetch(`${baseUrl}${path}`, sent);
  return { status: reply.status, json: (await reply.json()) as Record<string, unknown> };
}

async function digestsOnce(is: (view: { digests: unknown[]; approveAt: string | null }) => boolean) {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const { json } = await call("/digests");
    const view = json as unknown as { digests: unknown[]; approveAt: string | null };
    if (is(view)) return view;
  }
  return assert.fail("the digests did not reach the expected state");
}

test("texts are found by their words, and a schedule makes a digest, which a webhook approves", async () => {
  assert.deepEqual(await call("/texts", { id: "a", text: "A journal keeps what was acknowledged" }), {
    status: 201,
    json: { id: "a", remaining: 19 },
  });
  await call("/texts", { id: "b", text: "Penguins huddle against the wind" });
  const { json: found } = await call("/search?q=penguins");
  assert.equal((found["texts"] as { id: string }[])[0]?.id, "b");

  assert.deepEqual(await call("/digests/schedule", { cron: "0 8 * * *" }), {
    status: 201,
    json: { scheduleId: "digest" },
  });
  await larder.clock.advance(DAY_MS);
  const { approveAt } = await digestsOnce((view) => view.approveAt !== null);
  assert.ok(approveAt?.startsWith(`${larder.messaging.url}/v2/workflows/hooks/`), String(approveAt));
  const approved = await fetch(approveAt ?? "", { method: "POST", body: "Ann" });
  assert.equal(approved.status, 200);
  const { digests } = await digestsOnce((view) => view.digests.length > 0);
  assert.deepEqual(digests, [{ texts: ["a", "b"], approvedBy: "Ann" }]);
});

/** The answer to a call of the README, as soon as it succeeds and is as expected. */
async function answerOf(line: string, expected = /^/): Promise<string> {
  const here = line
    .replaceAll("localhost:3000", new URL(baseUrl).host)
    .replace("curl ", "curl --fail --silent --show-error ");
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const done = await promisify(execFile)("bash", ["-c", here]).catch(() => undefined);
    if (done !== undefined && expected.test(done.stdout)) return done.stdout;
  }
  return assert.fail(`${line.trim()} is not answered by ${expected}`);
}

test("the calls with curl in the README are answered, one after the other", {
  skip: missingProgram("curl"),
}, async () => {
  await larder.reset();
  const lines = readFileSync(README, "utf8").split("\n");
  const calls = lines.filter((line) => line.startsWith("    curl "));
  const last = calls.pop() ?? assert.fail("the README has calls");
  const answers: string[] = [];
  for (const line of calls) answers.push(await answerOf(line));
  assert.match(answers[2] ?? "", /^\{"texts":\[\{"id":"b"/);
  assert.equal(
    await answerOf(last, /approvedBy/),
    '{"digests":[{"texts":["a","b"],"approvedBy":"Ann"}],"approveAt":null}',
  );
});

test("a client above its rate limit is refused, and only requests signed by larder start the workflow", async () => {
  await larder.reset();
  const statuses = [];
  // The window slides by the real time of the client: if a minute ends meanwhile, one or two more are allowed.
  while (statuses.length < 25 && statuses.at(-1) !== 429) statuses.push((await call("/texts", {})).status);
  assert.deepEqual(statuses.slice(0, 20), Array<number>(20).fill(400));
  assert.equal(statuses.at(-1), 429);
  const forged = await fetch(`${baseUrl}/workflows/digest`, { method: "POST", body: "{}" });
  assert.equal(forged.ok, false);
});
