import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenTable } from "../auth.ts";
import { tenantMissing } from "../errors.ts";
import type { HttpReply, HttpRequest } from "../handler.ts";
import { type AdminChange, type Administration, adminArea } from "./routes.ts";

interface Sent {
  token?: string;
  body?: string;
  isDev?: boolean;
  administration?: Partial<Administration>;
}

async function send(
  line: string,
  { token, body = "", isDev = true, administration = {} }: Sent = {},
): Promise<HttpReply> {
  const [method = "", target = ""] = line.split(" ");
  const tokens = new TokenTable(Buffer.alloc(32));
  tokens.add("secret", { tenant: "admin", access: "standard" });
  const area = adminArea(
    {
      readiness: () => ({ isReady: true, hasStarted: true, areas: { store: "serving" }, reasons: [] }),
      version: { version: "1.2.3", node: "26.0.0", formats: { data: 1 } },
      metrics: async () => "larder_x 1\n",
      listTenants: async () => [{ name: "main", source: "configuration" }],
      knownTenants: () => [],
      createTenant: async (_kind, name, description) => ({ name, ...description, token: "t", readOnlyToken: "r" }),
      deleteTenant: async () => ({}),
      resetPassword: async (_kind, name) => ({ name, token: "t2", readOnlyToken: "r2" }),
      stats: async () => ({ version: "1.2.3" }),
      settings: () => [],
      problems: () => [],
      clients: async (query) => ({ clients: [], cursor: JSON.stringify(query) }),
      killClient: async (id) => id === 7,
      namespaces: async (index, query) => ({ namespaces: [], cursor: JSON.stringify({ index, ...query }) }),
      snapshot: () => isDev,
      backUp: async () => ({ directory: "backup-1", areas: [{ name: "store", position: 7 }] }),
      ...(isDev && { reset: async () => {} }),
      onFault: () => {},
      ...administration,
    },
    tokens,
  );
  const request: HttpRequest = {
    method,
    target,
    header: (name) => (name === "authorization" && token !== undefined ? `Bearer ${token}` : undefined),
    rawHeaders: [],
    body: Buffer.from(body),
    remoteAddress: "127.0.0.1",
    remotePort: 1,
    id: "a-1",
  };
  return (await area.handle(request)) as HttpReply;
}

const open: readonly (readonly [line: string, status: number, body: string])[] = [
  ["GET /health/live", 200, '{"status":"live"}'],
  ["HEAD /health/live", 200, '{"status":"live"}'],
  ["GET /health/startup", 200, '{"status":"started","areas":{"store":"serving"}}'],
  ["GET /health/ready?x=1", 200, '{"status":"ready","areas":{"store":"serving"},"reasons":[]}'],
  ["GET /version", 200, '{"version":"1.2.3","node":"26.0.0","formats":{"data":1}}'],
  ["GET /metrics", 200, "larder_x 1\n"],
];

for (const [line, status, body] of open) {
  test(`${line} needs no token: ${status}`, async () => {
    const reply = await send(line);
    assert.equal(reply.status, status);
    assert.equal(reply.body, body);
  });
}

const guarded: readonly (readonly [line: string, sent: Sent, status: number, body: string])[] = [
  ["GET /v1/databases", {}, 200, '{"databases":[{"name":"main","source":"configuration"}]}'],
  ["POST /v1/databases", { body: '{"name":"x"}' }, 201, '{"name":"x","token":"t","readOnlyToken":"r"}'],
  ["DELETE /v1/databases/x", {}, 200, '{"name":"x"}'],
  ["POST /v1/databases/x/reset-password", {}, 200, '{"name":"x","token":"t2","readOnlyToken":"r2"}'],
  ["GET /v1/indexes", {}, 200, '{"indexes":[{"name":"main","source":"configuration"}]}'],
  [
    "POST /v1/indexes",
    { body: '{"dimension":3,"name":"x","type":"DENSE"}' },
    201,
    '{"name":"x","dimension":3,"type":"DENSE","token":"t","readOnlyToken":"r"}',
  ],
  ["DELETE /v1/indexes/x", {}, 200, '{"name":"x"}'],
  ["POST /v1/indexes/x/reset-password", {}, 200, '{"name":"x","token":"t2","readOnlyToken":"r2"}'],
  ["GET /v1/stats", {}, 200, '{"version":"1.2.3"}'],
  [
    "GET /v1/audit?action=databases.&from=2026-01-01T00:00:00Z&to=1767225600001&count=3",
    {
      administration: {
        audit: async (query) => ({ entries: [], unreadableLines: 0, cursor: JSON.stringify(query) }),
      },
    },
    200,
    String.raw`{"entries":[],"unreadableLines":0,"cursor":"{\"action\":\"databases.\",\"from\":1767225600000,\"to\":1767225600001,\"count\":3}"}`,
  ],
  [
    "GET /v1/audit",
    {},
    409,
    '{"error":"This server has no data directory for an audit log: start it with --data-dir"}',
  ],
  ["GET /v1/problems", {}, 200, '{"problems":[]}'],
  ["GET /v1/settings", {}, 200, '{"settings":[]}'],
  [
    "GET /v1/clients?database=main&user=ann&name=w&count=3&cursor=12",
    {},
    200,
    String.raw`{"clients":[],"cursor":"{\"database\":\"main\",\"user\":\"ann\",\"name\":\"w\",\"count\":3,\"cursor\":12}"}`,
  ],
  [
    "GET /v1/indexes/docs/namespaces?prefix=a%20b&count=3&cursor=0",
    {},
    200,
    String.raw`{"namespaces":[],"cursor":"{\"index\":\"docs\",\"prefix\":\"a b\",\"count\":3,\"cursor\":0}"}`,
  ],
  ["DELETE /v1/clients/7", {}, 200, '{"id":7}'],
  ["DELETE /v1/clients/8", {}, 404, '{"error":"There is no client 8"}'],
  [
    "DELETE /v1/clients/x",
    {},
    400,
    '{"error":"Invalid value for id: \\"x\\" is not the id of a client, a whole number from 1"}',
  ],
  ["POST /v1/stop", { administration: { stop: () => {} } }, 202, '{"status":"stopping"}'],
  ["POST /v1/stop", {}, 404, '{"error":"ERR no such path on the admin port"}'],
  ["POST /v1/snapshot", {}, 202, '{"status":"started"}'],
  [
    "POST /v1/snapshot",
    { isDev: false },
    409,
    '{"error":"This server has no data directory to back up: start it with --data-dir"}',
  ],
  ["POST /v1/backup", {}, 200, '{"directory":"backup-1","areas":[{"name":"store","position":7}]}'],
  ["POST /reset", {}, 200, '{"status":"reset"}'],
];

for (const [line, sent, status, body] of guarded) {
  test(`${line} needs the admin token: ${status}`, async () => {
    const reply = await send(line, { ...sent, token: "secret" });
    assert.equal(reply.status, status);
    assert.equal(reply.body, body);
    for (const token of [undefined, "", "wrong"]) {
      const refused = await send(line, { ...sent, ...(token !== undefined && { token }) });
      assert.equal(refused.status, 401);
    }
  });
}

const refusedQueries: readonly (readonly [query: string, text: string])[] = [
  ["acton=x", 'Unknown parameter "acton": the parameters are action, subject, outcome, from, to, count, cursor'],
  ["action=", 'Invalid value for action: "" is not a text with a character'],
  ["subject=a&subject=b", "The parameter subject is given twice"],
  ["outcome=good", 'Invalid value for outcome: "good" is not one of done, refused, failed'],
  ["count=0", 'Invalid value for count: "0" is not a whole number from 1 to 1000'],
  ["count=1001", 'Invalid value for count: "1001" is not a whole number from 1 to 1000'],
  [
    "from=yesterday",
    'Invalid value for from: "yesterday" is not a moment: write it as 2026-01-31T18:00:00Z, or in milliseconds since 1970',
  ],
  [
    "to=2026-02-30",
    'Invalid value for to: "2026-02-30" is not a moment: write it as 2026-01-31T18:00:00Z, or in milliseconds since 1970',
  ],
];

const refusedClientQueries: readonly (readonly [query: string, text: string])[] = [
  ["db=main", 'Unknown parameter "db": the parameters are database, user, name, count, cursor'],
  ["count=1001", 'Invalid value for count: "1001" is not a whole number from 1 to 1000'],
  ["cursor=0", 'Invalid value for cursor: "0" is not the cursor of a page'],
];

const refusedNamespaceQueries: readonly (readonly [query: string, text: string])[] = [
  ["name=a", 'Unknown parameter "name": the parameters are prefix, count, cursor'],
  ["prefix=", 'Invalid value for prefix: "" is not a text with a character'],
  ["count=0", 'Invalid value for count: "0" is not a whole number from 1 to 1000'],
  ["cursor=01", 'Invalid value for cursor: "01" is not the cursor of a page'],
];

test("a parameter that is unknown, repeated or invalid is refused by its name", async () => {
  for (const [query, text] of refusedNamespaceQueries) {
    const { status, body } = await send(`GET /v1/indexes/docs/namespaces?${query}`, { token: "secret" });
    assert.deepEqual([status, JSON.parse(String(body))], [400, { error: text }], query);
  }
  for (const [query, text] of refusedClientQueries) {
    const { status, body } = await send(`GET /v1/clients?${query}`, { token: "secret" });
    assert.deepEqual([status, JSON.parse(String(body))], [400, { error: text }], query);
  }
  const administration = { audit: async () => assert.fail("the log is not read") };
  for (const [query, text] of refusedQueries) {
    const { status, body } = await send(`GET /v1/audit?${query}`, { token: "secret", administration });
    assert.deepEqual([status, JSON.parse(String(body))], [400, { error: text }], query);
  }
});

const changes: readonly (readonly [line: string, body: string, told: readonly Omit<AdminChange, "caller">[]])[] = [
  ["GET /v1/databases", "", []],
  ["POST /v1/databases", '{"name":"x"}', [{ action: "databases.create", subject: "x", outcome: "done" }]],
  [
    "POST /v1/indexes",
    "[]",
    [{ action: "indexes.create", subject: undefined, outcome: "refused", reason: "bad request" }],
  ],
  ["DELETE /v1/users/x", "", [{ action: "users.delete", subject: "x", outcome: "refused", reason: "not found" }]],
  ["POST /v1/users/x/reset-password", "", [{ action: "users.reset-password", subject: "x", outcome: "done" }]],
  ["GET /v1/clients", "", []],
  ["DELETE /v1/clients/7", "", [{ action: "clients.kill", subject: "7", outcome: "done" }]],
  ["DELETE /v1/clients/8", "", [{ action: "clients.kill", subject: "8", outcome: "refused", reason: "not found" }]],
  ["POST /v1/backup", "", [{ action: "backup", subject: undefined, outcome: "failed" }]],
  ["POST /reset", "", [{ action: "reset", subject: undefined, outcome: "done" }]],
];

for (const [line, body, told] of changes) {
  test(`${line} ${body} is in the audit log ${told.length} times, and never for callers without the token`, async () => {
    const heard: AdminChange[] = [];
    const administration = {
      onChange: (change: AdminChange) => void heard.push(change),
      deleteTenant: async () => {
        throw tenantMissing("user", "x");
      },
      backUp: async () => {
        throw new Error("a fault of ours");
      },
    };
    await send(line, { body, administration });
    await send(line, { body, administration, token: "secret" });
    assert.deepEqual(
      heard,
      told.map((change) => ({ caller: "127.0.0.1", ...change })),
    );
  });
}

test("startup is 503 until every area has served; a server that is not ready answers 503 with the reasons", async () => {
  const readiness = () => ({
    isReady: false,
    hasStarted: false,
    areas: { store: "opening" },
    reasons: ["store is opening"],
  });
  const reply = await send("GET /health/ready", { administration: { readiness } });
  assert.equal(reply.status, 503);
  assert.equal(reply.body, '{"status":"not ready","areas":{"store":"opening"},"reasons":["store is opening"]}');
  const starting = await send("GET /health/startup", { administration: { readiness } });
  assert.deepEqual([starting.status, starting.body], [503, '{"status":"starting","areas":{"store":"opening"}}']);
});

const refused: readonly (readonly [line: string, body: string, status: number])[] = [
  ["GET /", "", 404],
  ["GET /health", "", 404],
  ["GET /v1/databases/", "", 405],
  ["PUT /v1/databases", "", 405],
  ["POST /health/live", "", 405],
  ["POST /v1/databases", "", 400],
  ["POST /v1/databases", "{", 400],
  ["POST /v1/databases", '["x"]', 400],
  ["POST /v1/databases", '{"name":7}', 400],
  ["POST /v1/databases", '{"name":"x","token":"mine"}', 400],
  ["POST /v1/indexes", "", 400],
  ["POST /v1/indexes", '{"type":"DENSE"}', 400],
  ["POST /v1/indexes", "[]", 400],
];

for (const [line, body, status] of refused) {
  test(`${line} ${body} → ${status}`, async () => {
    const reply = await send(line, { token: "secret", body });
    assert.equal(reply.status, status);
    assert.deepEqual(Object.keys(JSON.parse(String(reply.body))), ["error"]);
  });
}

test("outside larder dev the reset does not exist", async () => {
  assert.equal((await send("POST /reset", { token: "secret", isDev: false })).status, 404);
});

test("a refusal of the program keeps its kind", async () => {
  const administration = { deleteTenant: () => Promise.reject(tenantMissing("database", "x")) };
  const reply = await send("DELETE /v1/databases/x", { token: "secret", administration });
  assert.equal(reply.status, 404);
  assert.equal(reply.body, '{"error":"There is no database x"}');
});

test("S-10: an internal error shows an id, but not its text or stack", async () => {
  const seen: unknown[] = [];
  const fault = new Error("secret path /data");
  const reply = await send("GET /v1/databases", {
    token: "secret",
    administration: { listTenants: () => Promise.reject(fault), onFault: (thrown, id) => seen.push(thrown, id) },
  });
  assert.equal(reply.status, 500);
  assert.equal(reply.body, '{"error":"ERR internal error. See request a-1 in the log"}');
  assert.deepEqual(seen, [fault, "a-1"]);
});

test("S-14: every answer forbids browsers sniffing, scripts and caching", async () => {
  for (const line of ["GET /health/live", "GET /v1/databases", "GET /nothing"]) {
    const { headers } = await send(line);
    for (const header of ["X-Content-Type-Options", "Content-Security-Policy", "Cache-Control"]) {
      assert.ok(headers.includes(header), `${line}: ${header}`);
    }
  }
});
