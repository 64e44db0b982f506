/** Rights of tokens on the vector index over HTTP, and properties of every answer. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  OTHER_TOKEN,
  VECTOR_READ_ONLY_TOKEN,
  VECTOR_TOKEN,
  vectorEdge,
  vectorRequest,
} from "../../../test/harness/vector-edge.ts";
import { defaultVectorLimits, VectorFailure, type VectorFailureKind } from "../../vector/mod.ts";
import { TokenTable } from "../auth.ts";
import { RequestFailure } from "../errors.ts";
import { RateLimiter } from "../limits/rate-limit.ts";
import { bodyBytes, encodingOf } from "../respond.ts";
import { vectorRoutes } from "./routes.ts";

const namespaceNames = () => [""];
const unauthorized = { error: "Unauthorized: Invalid auth token", status: 401 };

test("a request without a valid token is 401, on every path and with every method", async () => {
  const edge = vectorEdge();
  const lines = vectorRoutes.map(({ command }) => `POST /${command}`);
  for (const line of [...lines, "GET /nowhere", "GET /", "PATCH /query", "POST /main/query"]) {
    for (const token of [null, "wrong", ""]) {
      const reply = await edge.send(line, { token });
      assert.equal(reply.status, 401, line);
      assert.deepEqual(reply.json, unauthorized);
      assert.equal(reply.headers["content-type"], "application/json");
      assert.equal(reply.route, "B refused");
    }
  }
  const inQuery = await edge.send(`GET /info?_token=${VECTOR_TOKEN}&service_token=${VECTOR_TOKEN}`, { token: null });
  assert.equal(inQuery.status, 401);
  assert.deepEqual(edge.calls, []);
});

test("the token selects the index; its name before the command is optional", async () => {
  const edge = vectorEdge({ namespaceNames });
  for (const [line, token, result] of [
    ["GET /list-namespaces", VECTOR_TOKEN, [""]],
    ["GET /main/list-namespaces", VECTOR_TOKEN, [""]],
    ["GET /main/list-namespaces/", VECTOR_READ_ONLY_TOKEN, [""]],
    ["GET /list-namespaces", OTHER_TOKEN, ["of the other index"]],
    ["GET /other/list-namespaces", OTHER_TOKEN, ["of the other index"]],
  ] as const) {
    const reply = await edge.send(line, { token });
    assert.equal(reply.status, 200, line);
    assert.deepEqual(reply.json, { result }, line);
  }
});

test("a head that repeats is checked with the rights that its token has now", async () => {
  const tokens = new TokenTable(Buffer.alloc(32, 3));
  const edge = vectorEdge({ reset: () => undefined }, { tokens });
  const memo = { learnt: undefined };
  const send = async (): Promise<number> => (await edge.send("POST /main/reset/space%20one", { memo })).status;
  tokens.add(VECTOR_TOKEN, { tenant: "main", access: "standard" });
  assert.deepEqual([await send(), await send()], [200, 200]);
  assert.deepEqual(edge.calls, [
    ["reset", "space one"],
    ["reset", "space one"],
  ]);

  tokens.removeTenant("main");
  assert.equal(await send(), 401);
  tokens.add(VECTOR_TOKEN, { tenant: "main", access: "read-only" });
  assert.equal(await send(), 403);
  tokens.removeTenant("main");
  tokens.add(VECTOR_TOKEN, { tenant: "other", access: "standard" });
  assert.equal(await send(), 401);
  assert.equal(edge.calls.length, 2);
});

test("a refused head that repeats is refused again, and admitted with another token", async () => {
  const tokens = new TokenTable(Buffer.alloc(32, 3));
  const edge = vectorEdge({ reset: () => undefined }, { tokens });
  const memo = { learnt: undefined };
  const send = async (): Promise<number> => (await edge.send("POST /reset", { memo })).status;
  tokens.add(VECTOR_TOKEN, { tenant: "main", access: "read-only" });
  assert.deepEqual([await send(), await send()], [403, 403]);

  tokens.removeTenant("main");
  tokens.add(VECTOR_TOKEN, { tenant: "main", access: "standard" });
  assert.equal(await send(), 200);
});

test("an answer is sent as UTF-8, and its length is that of its bytes", async () => {
  for (const [name, text, bytes] of [
    ["plain", '{"result":["plain"]}', 20],
    ["é", '{"result":["é"]}', 17],
    ["日本", '{"result":["日本"]}', 21],
    ["\u0080\uffff", '{"result":["\u0080\uffff"]}', 20],
  ] as const) {
    const reply = await vectorEdge({ namespaceNames: () => [name] }).area.handle(vectorRequest("GET /list-namespaces"));
    assert.equal(bodyBytes(reply), bytes, name);
    assert.equal(Buffer.from(reply.body as string, encodingOf(reply)).toString("utf8"), text, name);
  }
});

test("a token cannot use another index, nor learn whether it exists", async () => {
  const edge = vectorEdge({ namespaceNames });
  for (const line of ["GET /other/list-namespaces", "GET /no-such-index/list-namespaces", "POST /MAIN/query"]) {
    const reply = await edge.send(line);
    assert.equal(reply.status, 401, line);
    assert.deepEqual(reply.json, unauthorized);
  }
  assert.deepEqual(edge.calls, []);
});

test("finds every command with GET, POST, PUT, DELETE and HEAD, also after the index's name, and names its rule", async () => {
  const edge = vectorEdge({}, { vector: { index: () => undefined } });
  for (const { command, rule } of vectorRoutes) {
    for (const method of ["GET", "POST", "PUT", "DELETE", "HEAD"]) {
      for (const path of [`/${command}`, `/${command}/`, `/main/${command}`, `/main/${command}/`]) {
        const reply = await edge.send(`${method} ${path}`);
        assert.equal(reply.route, `${rule} ${command}`, path);
        // The index has been deleted.
        assert.deepEqual(reply.json, unauthorized);
      }
    }
  }
});

test("the commands and their rules", () => {
  assert.deepEqual(
    vectorRoutes.map(({ rule, template, access }) => `${rule} ${template} ${access}`),
    [
      "B /upsert/* write",
      "B /upsert-data/* write",
      "B /update/* write",
      "B /fetch/* read",
      "B /delete/* write",
      "B1 /range/* read",
      "B /random/* read",
      "B2 /query/* read",
      "B /query-data/* read",
      "B /resumable-query/* read",
      "B /resumable-query-data/* read",
      "B /resumable-query-next read",
      "B /resumable-query-end read",
      "B3 /info read",
      "B /reset/* write",
      "B /list-namespaces read",
      "B /delete-namespace/* write",
      "B /rename-namespace write",
    ],
  );
});

test("B.methods: another method is 405, on every path", async () => {
  const edge = vectorEdge();
  for (const line of ["PATCH /query", "OPTIONS /info", "TRACE /nowhere", "post /query", "PROPFIND /main/query"]) {
    const reply = await edge.send(line);
    assert.equal(reply.status, 405, line);
    assert.equal(reply.headers["allow"], "GET, HEAD, POST, PUT, DELETE");
    assert.deepEqual(reply.json, {
      error: "This HTTP method is not allowed; use GET, HEAD, POST, PUT or DELETE",
      status: 405,
    });
  }
});

test("B.errors.404, B.paths: a path without a command is 404", async () => {
  const edge = vectorEdge();
  for (const path of ["/", "/nowhere", "/main", "/main/", "/main/nowhere", "/Query", "//query", "/main/main/query"]) {
    const reply = await edge.send(`POST ${path}`);
    assert.equal(reply.status, 404, path);
    assert.deepEqual(reply.json, {
      error:
        "There is no such path; paths start with a command, such as /query, or with the name of the index and a command",
      status: 404,
    });
  }
});

test("a command without a namespace is 404 with one", async () => {
  const edge = vectorEdge();
  for (const command of [
    "resumable-query-next",
    "resumable-query-end",
    "info",
    "list-namespaces",
    "rename-namespace",
  ]) {
    const reply = await edge.send(`POST /main/${command}/ns`);
    assert.equal(reply.status, 404, command);
    assert.deepEqual(reply.json, { error: `There is no such path; /${command} takes no namespace`, status: 404 });
  }
});

test("B-03: decodes a namespace and checks its length before any call", async () => {
  const edge = vectorEdge({ random: () => undefined }, { limits: { ...defaultVectorLimits, namespaceBytesMax: 6 } });
  for (const [path, namespace] of [
    ["/random", ""],
    ["/random/", ""],
    ["/random?x", ""],
    ["/random/?x", ""],
    ["/random/a/b", "a/b"],
    ["/random/a%2fb?x=/c", "a/b"],
    ["/main/random/%C3%A9%20%00", "é \0"],
    ["/random/random", "random"],
    ["/random//", "/"],
  ] as const) {
    const edge = vectorEdge({ random: () => undefined });
    assert.equal((await edge.send(`GET ${path}`)).status, 200, path);
    assert.deepEqual(edge.calls, [["random", namespace]], path);
  }
  for (const [path, status, error] of [
    ["/random/%", 400, "Invalid namespace in the path: it must be percent-encoded UTF-8"],
    ["/random/100%25%zz", 400, "Invalid namespace in the path: it must be percent-encoded UTF-8"],
    ["/random/%FF", 400, "Invalid namespace in the path: it must be percent-encoded UTF-8"],
    ["/random/1234567", 422, "Invalid namespace in the path: it has 7 bytes. Limit: 6 bytes"],
    ["/main/random/%C3%A9%C3%A9%C3%A9x", 422, "Invalid namespace in the path: it has 7 bytes. Limit: 6 bytes"],
  ] as const) {
    const reply = await edge.send(`GET ${path}`);
    assert.equal(reply.status, status, path);
    assert.deepEqual(reply.json, { error, status }, path);
  }
  assert.deepEqual(edge.calls, []);
});

test("a read-only token may read and query, but not write", async () => {
  const stopped = new VectorFailure("unavailable", "stopped");
  for (const { command, access } of vectorRoutes) {
    const edge = vectorEdge(
      {},
      {
        vector: {
          index: () => {
            throw stopped;
          },
        },
      },
    );
    for (const path of [`/${command}`, `/main/${command}/`]) {
      const reply = await edge.send(`POST ${path}`, { token: VECTOR_READ_ONLY_TOKEN });
      if (access === "read") assert.equal(reply.status, 503, path);
      else {
        assert.equal(reply.status, 403, path);
        assert.deepEqual(reply.json, { error: "A read-only token may only read", status: 403 });
      }
    }
  }
});

test("B.errors.502, B.errors: a failure of the index has the status of its kind, at once or later", async () => {
  const statuses: [VectorFailureKind, number][] = [
    ["unprocessable", 422],
    ["not found", 404],
    ["conflict", 409],
    ["too many requests", 429],
    ["not implemented", 501],
    ["bad gateway", 502],
    ["unavailable", 503],
  ];
  for (const [kind, status] of statuses) {
    const failure = new VectorFailure(kind, "Wörter – 'quoted'");
    for (const query of [
      () => {
        throw failure;
      },
      () => Promise.reject(failure),
    ]) {
      const reply = await vectorEdge({ query }).send("POST /query", { body: { vector: [1] } });
      assert.equal(reply.status, status);
      assert.deepEqual(reply.json, { error: "Wörter – 'quoted'", status });
      assert.equal(reply.headers["content-type"], "application/json");
      assert.equal(reply.headers["retry-after"], kind === "unavailable" ? "1" : undefined);
      assert.equal(reply.route, "B2 query");
    }
  }
});

test("refuses an invalid body with the status in the body", async () => {
  const edge = vectorEdge();
  for (const [body, status] of [
    ["{", 400],
    ["", 400],
    ['{"vector":"x"}', 422],
  ] as const) {
    const reply = await edge.send("POST /query", { body });
    assert.equal(reply.status, status, body);
    assert.deepEqual(Object.keys(reply.json as object), ["error", "status"]);
    assert.equal((reply.json as { status: number }).status, status);
    assert.equal(reply.route, "B2 query");
  }
  assert.deepEqual(edge.calls, []);
});

test("a bug is not a refusal, and has the form of the area", async () => {
  for (const query of [
    () => {
      throw new TypeError("a bug");
    },
    () => Promise.reject(new TypeError("a bug")),
  ]) {
    const edge = vectorEdge({ query });
    await assert.rejects(edge.send("POST /query", { body: { vector: [1] } }), TypeError);
  }
  const { status, body } = vectorEdge().area.refusal(new RequestFailure("internal", "ERR internal error"));
  assert.equal(status, 500);
  assert.equal(body, '{"error":"ERR internal error","status":500}');
});

test("B.errors.429: limits the requests per second of a token", async () => {
  const { clock } = vectorEdge();
  const limiter = new RateLimiter(clock, { perSecond: 2, burst: 1 });
  const edge = vectorEdge({ namespaceNames }, { limiter, clock });
  assert.equal((await edge.send("GET /list-namespaces")).status, 200);

  const reply = await edge.send("GET /list-namespaces");
  assert.equal(reply.status, 429);
  assert.deepEqual(reply.json, { error: "Too many requests: at most 2 per second", status: 429 });
  assert.equal(reply.headers["retry-after"], "1");
  assert.equal(reply.route, "B list-namespaces");

  assert.equal((await edge.send("GET /list-namespaces", { token: VECTOR_READ_ONLY_TOKEN })).status, 200);
});

test("allows pages of other origins, with all methods of the area", async () => {
  const edge = vectorEdge({ namespaceNames });
  const preflight = await edge.send("OPTIONS /query/ns", {
    token: null,
    headers: [
      "Origin",
      "http://page.test",
      "Access-Control-Request-Method",
      "DELETE",
      "Access-Control-Request-Headers",
      "authorization, upstash-telemetry-sdk, x-other",
    ],
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers["access-control-allow-methods"], "GET, HEAD, POST, PUT, DELETE");
  assert.equal(preflight.headers["access-control-allow-headers"], "authorization, upstash-telemetry-sdk");

  const headers = ["Origin", "http://page.test"];
  for (const line of ["GET /list-namespaces", "GET /nowhere"]) {
    const reply = await edge.send(line, { headers });
    assert.equal(reply.headers["access-control-allow-origin"], "*", line);
  }
  assert.equal((await edge.send("GET /info", { token: null, headers })).headers["access-control-allow-origin"], "*");
  assert.equal((await edge.send("GET /list-namespaces")).headers["access-control-allow-origin"], undefined);

  const closed = vectorEdge({ namespaceNames }, { cors: false });
  const refused = await closed.send("GET /list-namespaces", { headers });
  assert.equal(refused.headers["access-control-allow-origin"], undefined);
});

test("H.early: refuses a large body before reading it unless token, method and path are valid, and counts it once", () => {
  const { clock } = vectorEdge();
  const limiter = new RateLimiter(clock, { perSecond: 1, burst: 1 });
  const { area } = vectorEdge({}, { limiter, clock });
  for (const [line, token, status] of [
    ["POST /upsert", null, 401],
    ["POST /other/upsert", VECTOR_TOKEN, 401],
    ["POST /upsert", VECTOR_READ_ONLY_TOKEN, 403],
    ["POST /nowhere", VECTOR_TOKEN, 404],
    ["PATCH /upsert", VECTOR_TOKEN, 405],
    ["POST /upsert/%zz", VECTOR_TOKEN, 400],
  ] as const) {
    const reply = area.refuseEarly(vectorRequest(line, { token }));
    assert.equal(reply?.status, status, line);
    assert.equal((JSON.parse(String(reply?.body)) as { status: number }).status, status, line);
  }
  for (let i = 0; i < 3; i += 1) assert.equal(area.refuseEarly(vectorRequest("POST /main/upsert/ns")), undefined);
});

test("a body has the limit of a request", () => {
  const { area } = vectorEdge({}, { limits: { ...defaultVectorLimits, requestBytesMax: 5_000 } });
  assert.equal(area.bodyBytesMax(), 5_000);
});

test("H.durable: prints an answer when the index answers, and sends it when everything it saw is safe", async () => {
  const safe = Promise.withResolvers<void>();
  const vector = Float32Array.of(1);
  const edge = vectorEdge({ random: () => ({ id: "a", vector }), whenSafe: () => safe.promise });
  let isAnswered = false;
  const answer = edge.send("GET /random").then((reply) => {
    isAnswered = true;
    return reply;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isAnswered, false);

  vector[0] = 2;
  safe.resolve();

  assert.equal((await answer).text, '{"result":{"id":"a","vector":[1.0]}}');
});

test("a late answer waits for the state at its time, not at the time of the request", async () => {
  const found = Promise.withResolvers<[]>();
  const safe = Promise.withResolvers<void>();
  let safeCallCount = 0;
  const edge = vectorEdge({
    query: () => found.promise,
    whenSafe: () => {
      safeCallCount += 1;
      return safe.promise;
    },
  });
  const answer = edge.send("POST /query", { body: { vector: [1] } });
  assert.equal(safeCallCount, 0);

  found.resolve([]);
  await found.promise;
  safe.resolve();

  assert.equal((await answer).text, '{"result":[]}');
  assert.equal(safeCallCount, 1);
});

test("a refusal that reveals the state of the index waits too; unavailability is sent at once", async () => {
  const safe = Promise.withResolvers<void>();
  const refusing = (kind: VectorFailureKind) =>
    vectorEdge({
      deleteNamespace: () => {
        throw new VectorFailure(kind, "refused");
      },
      whenSafe: () => safe.promise,
    });
  assert.equal((await refusing("unavailable").send("POST /delete-namespace/a")).status, 503);

  let isAnswered = false;
  const missing = refusing("not found")
    .send("POST /delete-namespace/a")
    .then((reply) => {
      isAnswered = true;
      return reply;
    });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isAnswered, false);

  safe.resolve();

  assert.equal((await missing).status, 404);
});

test("for any request line and body, the answer is a result or an error with its status", async () => {
  const pieces = vectorRoutes.map(({ command }) => command);
  const piece = fc.oneof(
    fc.constantFrom(
      ...pieces,
      "main",
      "other",
      "",
      "/",
      "//",
      "%",
      "%2",
      "%2F",
      "%FF",
      "%C3%A9",
      "?all",
      "?",
      "&",
      "__proto__",
    ),
    fc.string({ maxLength: 6 }),
  );
  const method = fc.constantFrom("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS");
  const token = fc.constantFrom(VECTOR_TOKEN, VECTOR_TOKEN, VECTOR_READ_ONLY_TOKEN, OTHER_TOKEN, null);
  const body = fc.oneof(fc.json({ maxDepth: 3 }), fc.constant(""), fc.constant('[{"vector":[1]}]'));
  const refused = new VectorFailure("unprocessable", "asked");
  const edge = vectorEdge(
    {},
    {
      vector: {
        index: () => {
          throw refused;
        },
      },
    },
  );
  // A failing run prints its seed and path; pass them to `fc.assert` to repeat it.
  await fc.assert(
    fc.asyncProperty(method, fc.array(piece, { maxLength: 5 }), token, body, async (verb, parts, chosenToken, sent) => {
      const reply = await edge.send(`${verb} /${parts.join("/")}`, { token: chosenToken, body: sent });
      const { error, status } = reply.json as { error: string; status: number };
      assert.equal(typeof error, "string");
      assert.equal(status, reply.status);
      assert.ok([400, 401, 403, 404, 405, 422].includes(status));
    }),
    { numRuns: 500 },
  );
});

test("S-09: no answer contains the token", async () => {
  const edge = vectorEdge({ namespaceNames, random: () => undefined });
  const replies = await Promise.all([
    edge.send("GET /list-namespaces"),
    edge.send("GET /random/ns"),
    edge.send("GET /nowhere"),
    edge.send("GET /other/info"),
    edge.send("PATCH /info"),
    edge.send("POST /query", { body: "{" }),
    edge.send("POST /query", { body: { vector: "x" } }),
    edge.send("POST /random/%zz"),
    edge.send("POST /reset?all=x"),
    edge.send("GET /info", { token: `${VECTOR_TOKEN}x` }),
  ]);
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 404, 401, 405, 400, 422, 400, 422, 401],
  );
  for (const { text, headers } of replies) {
    assert.doesNotMatch(text, /vector-token/);
    assert.doesNotMatch(JSON.stringify(headers), /vector-token/);
  }
});

test("refuses the token of a database user", async () => {
  const tokens = new TokenTable(Buffer.alloc(32, 3));
  tokens.replaceUser({ tenant: "main", user: "ann" }, [createHash("sha256").update("anns-token").digest("hex")]);
  const edge = vectorEdge({}, { tokens });
  for (const line of ["GET /info", "POST /upsert", "POST /query"])
    assert.equal((await edge.send(line, { token: "anns-token" })).status, 401, line);
});
