/**
 * Bodies that are too deep or have too many parts (threat A-14), at every route of every area. The routes come from the
 * tables, so new routes are included. Whatever a route does with its body, nothing deep reaches `JSON.parse`.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { adminArea, adminRoutes } from "../../src/edge/admin/routes.ts";
import { TokenTable } from "../../src/edge/auth.ts";
import type { HttpReply, HttpService } from "../../src/edge/handler.ts";
import { messagingRoutes } from "../../src/edge/messaging/routes/table.ts";
import { storeRoutes } from "../../src/edge/store/routes.ts";
import { vectorRoutes } from "../../src/edge/vector/routes.ts";
import { subjects, TOKEN } from "../fuzz/api/subjects.ts";
import { edgeRequest } from "../harness/messaging-edge.ts";

/** Shorter bodies of the store are parsed without a check: 64 KB of brackets are a few MB. */
const STORE_DEPTH = 70_000;
/** Deeper than the stack of a recursive parser. Messaging also lists the bodies that it accepted. */
const DEPTH = 15_000;

function deepBodies(depth: number): readonly Buffer[] {
  const arrays = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  return [
    "[".repeat(depth),
    arrays,
    `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
    `[{"destination":"https://a.test","body":"b","headers":{"a":${arrays}}}]`,
    `{"url":"https://a.test","workflowUrl":"https://a.test","step":${arrays}}`,
    `{"id":"a","vector":[1,2,3],"metadata":${'{"a":'.repeat(depth)}1${"}".repeat(depth + 1)}`,
  ].map((text) => Buffer.from(text));
}

/** With and without the headers that make a message a workflow step. */
const heads: readonly (readonly string[])[] = [
  ["Content-Type", "application/json"],
  ["Content-Type", "application/json", "Upstash-Workflow-RunId", "wfr_1", "Upstash-Workflow-CallType", "step"],
  ["Content-Type", "application/json", "Upstash-Workflow-RunId", "wfr_1", "Upstash-Workflow-Invoke", "true"],
];

/** The depth of the deepest text parsed since the test began. */
function deepestParsed(context: TestContext): () => number {
  let deepest = 0;
  const { parse } = JSON;
  context.mock.method(JSON, "parse", (text: string, ...rest: []): unknown => {
    let depth = 0;
    for (const character of String(text)) {
      if (character === "[" || character === "{") depth += 1;
      else if (character === "]" || character === "}") depth -= 1;
      deepest = Math.max(deepest, depth);
    }
    return parse(text, ...rest);
  });
  return () => deepest;
}

/** Sends bodies of `depth` to every line; returns the lines that report a body as too deep. */
async function refusing(area: HttpService, lines: readonly string[], depth = DEPTH): Promise<readonly string[]> {
  const found = new Set<string>();
  const bodies = deepBodies(depth);
  for (const line of lines)
    for (const body of bodies)
      for (const headers of heads) {
        const reply = (await area.handle(
          edgeRequest(line, { token: TOKEN, body, headers: [...headers] }),
        )) as HttpReply;
        assert.notEqual(reply.status, 500, `${line} ${headers}: ${reply.status} ${reply.body}`);
        if (/nest(?:s|ed) deeper than/.test(String(reply.body))) found.add(line);
      }
  return [...found];
}

/** The path for a template: names and the star are filled with samples. */
function pathOf(template: string): string {
  return template.replace(/\/:[a-zA-Z]+/g, "/n").replace("*", "https://a.test/x");
}

test("A-14: no route of messaging parses a deep body", async (context) => {
  await using subject = (await subjects[2]?.(1)) ?? assert.fail();
  const deepest = deepestParsed(context);
  const lines = messagingRoutes.map(({ method, template }) => `${method} ${pathOf(template)}`);
  // The others do not parse their bodies, or have none.
  assert.deepEqual(await refusing(subject.area, lines), [
    "POST /v2/batch",
    "DELETE /v2/messages",
    "POST /v2/queues",
    "PATCH /v2/topics/n",
    "POST /v2/topics/n/endpoints",
    "DELETE /v2/topics/n/endpoints",
    "DELETE /v2/dlq",
    "POST /v2/dlq/retry",
    "POST /v2/batch/trigger",
    "DELETE /v2/workflows/runs",
    "POST /v2/wait/n",
    "DELETE /v2/workflows/dlq",
    "POST /v2/workflows/dlq/resume",
    "POST /v2/workflows/dlq/restart",
  ]);
  await subject.advance(1_000);
  assert.ok(deepest() <= 128, `${deepest()} levels were parsed`);
});

test("A-14: no route of the store parses a deep body", async (context) => {
  await using subject = (await subjects[0]?.(1)) ?? assert.fail();
  const deepest = deepestParsed(context);
  const lines = storeRoutes.map(({ template }) => `POST ${pathOf(template)}`);
  assert.deepEqual(await refusing(subject.area, lines, STORE_DEPTH), []);
  assert.ok(deepest() <= 128, `${deepest()} levels were parsed`);
});

test("A-14: no route of the vector index parses a deep body", async (context) => {
  await using subject = (await subjects[1]?.(1)) ?? assert.fail();
  const deepest = deepestParsed(context);
  const lines = vectorRoutes.map(({ command }) => `POST /${command}`);
  // The others have no body, or answer before they read it.
  assert.deepEqual(await refusing(subject.area, lines), [
    "POST /upsert",
    "POST /upsert-data",
    "POST /update",
    "POST /fetch",
    "POST /delete",
    "POST /range",
    "POST /query",
    "POST /query-data",
    "POST /resumable-query",
    "POST /resumable-query-data",
    "POST /resumable-query-next",
    "POST /resumable-query-end",
    "POST /rename-namespace",
  ]);
  assert.ok(deepest() <= 128, `${deepest()} levels were parsed`);
});

test("A-14: no route of the admin port parses a deep body", async (context) => {
  const tokens = new TokenTable(Buffer.alloc(32));
  tokens.add(TOKEN, { tenant: "admin", access: "standard" });
  const administration = new Proxy({}, { get: () => async () => ({}) }) as Parameters<typeof adminArea>[0];
  const deepest = deepestParsed(context);
  const lines = adminRoutes.map(({ method, path }) => `${method} ${path.replace(/<[a-z]+>/, "n")}`);
  assert.deepEqual(await refusing(adminArea(administration, tokens), lines), lines);
  assert.ok(deepest() <= 128, `${deepest()} levels were parsed`);
});
