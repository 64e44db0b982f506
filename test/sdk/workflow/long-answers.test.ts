/** Long answers, and answers above the stored maximum, as the official client reads them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Application } from "./application.ts";

const MB = 1024 * 1024;
const app = new Application({ maxResponseSize: "1mb", maxRequestSize: "2mb" });

interface Answered {
  readonly status: number;
  readonly length: number;
  readonly cut?: readonly string[];
  readonly claimed?: readonly string[];
}

/** Calls a route that answers `character` repeated; returns the length that the run gets. */
async function called(name: string, bytes: number, character = "x"): Promise<Answered> {
  const third = app.route(`${name}-third`, async () => new Response(character.repeat(bytes), { status: 201 }));
  const url = app.workflow(name, async (context) => {
    const { status, body, header } = await context.call<string>("ask", { url: third });
    return { status, length: body.length, cut: header["Upstash-Body-Cut"], claimed: header["Content-Length"] };
  });
  const { workflowRunId } = await app.client.trigger({ url, retries: 0 });
  return JSON.parse((await app.ended(workflowRunId)).workflowRunResponse ?? "null") as Answered;
}

test("a call with an answer of 0.75 MiB returns all of it", async () => {
  assert.deepEqual(await called("whole", 0.75 * MB), { status: 201, length: 786_432 });
});

test("an answer above the stored maximum is cut, and the run can see that it is partial", async () => {
  assert.deepEqual(await called("part", 1.5 * MB), { status: 201, length: 1_048_576, cut: ["1048576"] });
});

test("W.call.cut: an answer that grows above the message limit when the client sends it back is cut", async () => {
  // Each quote takes four bytes in the JSON text within a JSON text that is the result of a step.
  // The remaining size depends on the headers of the answer.
  const { length, ...others } = await called("quotes", 0.5 * MB, '"');
  assert.deepEqual(others, { status: 201, cut: [String(length)] });
  assert.equal(length > 515_000 && length < 0.5 * MB, true, String(length));
});

test("a failure function reads a long error, also one above the stored maximum", async () => {
  // An endpoint sends the message, and again with its stack.
  for (const [name, length, expected] of [
    ["long", 350_000, 350_000],
    ["with-a-part-of-its-stack", 750_000, 750_000],
    ["too-long", 1_500_000, 1_048_549],
  ] as const) {
    const lengths: number[] = [];
    const url = app.workflow(
      name,
      async (context) => {
        await context.run("bad", () => {
          throw new Error("x".repeat(length));
        });
      },
      {
        failureFunction: async ({ failResponse }) => {
          lengths.push(failResponse.length);
          assert.match(failResponse.slice(0, 100), /^x+$/);
          return "noted";
        },
      },
    );
    const { workflowRunId } = await app.client.trigger({ url, retries: 0 });
    await app.until(workflowRunId, ({ failureFunction }) => failureFunction?.state === "CALLBACK_SUCCESS");
    assert.deepEqual(lengths, [expected], name);
  }
});
