/** Workflows in the real program: a run continues after kill -9, during a step and during a wait. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock, type TestContext, test } from "node:test";
import { Client as MessagingClient } from "@upstash/qstash";
import { Client, serve } from "@upstash/workflow";
import { startDestination } from "../harness/recording-destination.ts";
import { oneThread, type RunningProgram, startProgram } from "./program-process.ts";

const timeout = 60_000;

/** The most requests that wait for a state: they take seconds. */
const LOOKS_MAX = 5_000;

/** The clients for one start of the program. Only the first start prints the token. */
function clientsOf({ environment }: RunningProgram, token: string) {
  const options = { baseUrl: environment["QSTASH_URL"] ?? "", token, retry: false, devMode: false } as const;
  return { messaging: new MessagingClient(options), workflow: new Client(options) };
}

async function until<Value>(look: () => Promise<Value>, is: (value: Value) => boolean): Promise<Value> {
  for (let count = 0; count < LOOKS_MAX; count += 1) {
    const value = await look();
    if (is(value)) return value;
  }
  return assert.fail("the expected value never came");
}

test("a run continues after two kills of the program", { timeout }, async (context: TestContext) => {
  for (const method of ["error", "warn"] as const) context.mock.method(console, method, () => {});
  const directory = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  await using destination = await startDestination();
  const args = ["--data-dir", directory, "--outbound-map", `app.test=127.0.0.1:${destination.port}`];
  let program = await startProgram("serve", { args });
  context.after(() => program.kill());
  const token = program.environment["QSTASH_TOKEN"] ?? "";
  // A delivery may come before a started program is known here: its run waits for the clients of that start.
  let clients = Promise.resolve(clientsOf(program, token));
  const restart = (): typeof clients => {
    clients = startProgram("serve", { args: [...args, ...oneThread] }).then((started) => {
      program = started;
      return clientsOf(started, token);
    });
    return clients;
  };
  let killed: Promise<unknown> | undefined;
  const runs: string[] = [];
  const url = "http://app.test/order";
  const order = async (request: Request): Promise<Response> => {
    const { messaging } = await clients;
    const { handler } = serve<string>(
      async (workflow) => {
        const long = await workflow.run("long", () => {
          runs.push("long");
          return "x".repeat(200_000);
        });
        const short = await workflow.run("short", async () => {
          runs.push("short");
          killed ??= program.kill();
          await killed;
          return long.length;
        });
        const { eventData } = await workflow.waitForEvent<string>("hold", "paid");
        return { payload: workflow.requestPayload, short, eventData };
      },
      { qstashClient: messaging, disableTelemetry: true, env: {} },
    );
    return handler(request);
  };
  destination.answer = (delivery) => {
    const headers = new Headers(Object.entries(delivery.headers).map(([name, value]) => [name, String(value)]));
    void order(new Request(url, { method: "POST", headers, body: delivery.body })).then(async (answer) =>
      delivery.answerNow({
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: await answer.text(),
      }),
    );
    return "later";
  };

  const { workflowRunId } = await (await clients).workflow.trigger({ url, body: "payload" });
  await program.ended;

  const second = (await restart()).workflow;
  await until(
    () => second.getWaiters({ eventId: "paid" }),
    ({ length }) => length === 1,
  );
  await program.kill();

  const third = (await restart()).workflow;
  assert.equal((await third.notify({ eventId: "paid", eventData: "yes" })).length, 1);

  const logs = await until(
    () => third.logs({ workflowRunId }),
    (page) => page.runs[0]?.workflowState !== "RUN_STARTED",
  );
  assert.equal(logs.runs[0]?.workflowState, "RUN_SUCCESS");
  const result: unknown = JSON.parse(String(logs.runs[0]?.workflowRunResponse));
  assert.deepEqual(result, { payload: "payload", short: 200_000, eventData: "yes" });
  assert.deepEqual(runs, ["long", "short", "short"]);
  await program.stop();
  mock.restoreAll();
});
