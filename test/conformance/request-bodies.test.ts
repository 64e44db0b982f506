/**
 * Readers of JSON bodies agree with the schemas of the OpenAPI documents. The readers are separate code, for speed and
 * for errors that name the field, so both are tested with the same examples.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { adminArea } from "../../src/edge/admin/routes.ts";
import { TokenTable } from "../../src/edge/auth.ts";
import type { HttpReply, HttpService } from "../../src/edge/handler.ts";
import { describedAreas } from "../../src/edge/openapi/area-documents.ts";
import { resolverOf } from "../../src/edge/openapi/document.ts";
import { exampleOf } from "../../src/edge/openapi/examples.ts";
import { JSON_TYPE, type Operation } from "../../src/edge/openapi/operation.ts";
import { subjects, TOKEN } from "../fuzz/api/subjects.ts";
import { faultOf } from "../fuzz/api/validate.ts";
import { edgeRequest } from "../harness/messaging-edge.ts";

interface Examples {
  readonly accepted: readonly unknown[];
  readonly refused: readonly unknown[];
}

const dense = [1, 2, 3];
const sparse = { indices: [1, 7], values: [0.5, 2] };
const both = { vector: dense, sparseVector: sparse };
/** Refused where the body must be an object. */
const noObjects: readonly unknown[] = [1, "x", [], null, true];
const options = { topK: 2, filter: "a = 1", includeMetadata: true, includeVectors: false, includeData: null };
const badOptions: readonly object[] = [
  { topK: 0 },
  { topK: "3" },
  { topK: 1.5 },
  { filter: 1 },
  { includeData: "yes" },
  { weightingStrategy: "TF" },
  { fusionAlgorithm: "rrf" },
];
const badVectors: readonly object[] = [
  { vector: "x" },
  { vector: [1, "2", 3] },
  { vector: { 0: 1 } },
  { sparseVector: [1] },
  { sparseVector: { indices: [1] } },
  { sparseVector: { indices: ["1"], values: [1] } },
  { sparseVector: { indices: [1.5], values: [1] } },
];
const withBad = (good: object, ...bad: readonly object[]): readonly object[] =>
  bad.map((each) => ({ ...good, ...each }));
const record = { id: "a", ...both };
const text = { id: 7, data: "t" };

const filters: Examples = { accepted: [{}, { count: 1 }, { label: ["a", "b"] }], refused: [1, "x", []] };
const tenant: Examples = {
  accepted: [{ name: "a" }],
  refused: [...noObjects, {}, { name: 1 }, { name: null }],
};
const plainTenant: Examples = { ...tenant, refused: [...tenant.refused, { name: "a", dimension: 3 }] };
const commands: Examples = {
  accepted: [
    [["SET", "k", "v"]],
    [
      ["SET", "k", 1],
      ["GET", "k"],
    ],
  ],
  refused: [1, "x", { a: 1 }, [], [1], ["GET"], [{}]],
};
const element = { destination: "https://a.test/", headers: { a: "b", c: ["d"] }, body: "b", queue: "q" };

const examples: Readonly<Record<keyof typeof describedAreas, Readonly<Record<string, Examples>>>> = {
  store: {
    runCommand: {
      accepted: [
        ["SET", "k", "v"],
        ["SET", "k", 1.5],
        ["SET", "k", true],
      ],
      refused: [1, "x", { a: 1 }, [], ["GET", null], ["GET", ["k"]], ["GET", { k: 1 }]],
    },
    runPipeline: commands,
    runTransaction: { ...commands, refused: [...commands.refused, [["GET", null]], [[]]] },
  },
  vector: {
    upsert: {
      accepted: [record, [record, { ...record, id: 7, metadata: { a: { b: [1] } }, data: "t" }], [], withNull(record)],
      refused: [
        ...noObjects.filter((each) => !Array.isArray(each)),
        [1],
        [[record]],
        both,
        ...withBad(
          record,
          { id: null },
          { id: true },
          { id: ["a"] },
          { metadata: [1] },
          { metadata: "x" },
          { data: 1 },
        ),
        ...withBad(record, ...badVectors),
      ],
    },
    upsertData: {
      accepted: [text, [text, { ...text, metadata: { a: 1 } }], [], { ...text, metadata: null }],
      refused: [
        1,
        "x",
        null,
        [1],
        { id: "a" },
        ...withBad(text, { data: null }, { data: 1 }, { id: {} }, { metadata: 1 }),
      ],
    },
    update: {
      accepted: [record, { id: "a", metadata: { a: 1 }, metadataUpdateMode: "PATCH" }, { id: 7, data: "t" }],
      refused: [
        ...noObjects,
        {},
        both,
        ...withBad(record, { metadataUpdateMode: "MERGE" }, { metadataUpdateMode: 1 }, { metadata: [] }, ...badVectors),
      ],
    },
    fetch: {
      accepted: [
        { ids: ["a", 7] },
        { ids: "a", prefix: "" },
        { prefix: "a", includeData: true },
        { ids: 7, prefix: null },
      ],
      refused: [
        ...noObjects,
        {},
        { ids: null },
        { ids: [null] },
        { ids: {} },
        { prefix: 1 },
        { ids: ["a"], prefix: "a" },
      ],
    },
    delete: {
      accepted: [{ ids: ["a", 7] }, { ids: "a" }, { prefix: "a" }, { filter: "a = 1" }, ["a", 7], "a", 7],
      refused: [null, {}, { ids: null }, [null], [["a"]], { prefix: 1 }, { filter: {} }],
    },
    range: {
      accepted: [{ limit: 1 }, { limit: 1, cursor: "0", prefix: "a", ...options, topK: undefined, filter: undefined }],
      refused: [...noObjects, {}, { limit: 0 }, { limit: "1" }, { limit: 1, cursor: -1 }, { limit: 1, prefix: 1 }],
    },
    query: {
      accepted: [both, { ...both, ...options }, [both, { ...both, fusionAlgorithm: "DBSF" }], { ...both, topK: null }],
      refused: [1, "x", null, [1], ...withBad(both, ...badOptions, ...badVectors)],
    },
    queryData: {
      accepted: [
        { data: "t" },
        [{ data: "t", ...options }],
        { data: "t", queryMode: "SPARSE", weightingStrategy: "IDF" },
      ],
      refused: [1, "x", null, [1], {}, { data: 1 }, ...withBad({ data: "t" }, { queryMode: "BOTH" }, ...badOptions)],
    },
    resumableQuery: {
      accepted: [both, { ...both, ...options, maxIdle: 60 }],
      refused: [...noObjects, ...withBad(both, { maxIdle: 0 }, { maxIdle: 1e9 }, ...badOptions, ...badVectors)],
    },
    resumableQueryData: {
      accepted: [{ data: "t" }, { data: "t", ...options, maxIdle: 60, queryMode: "DENSE" }],
      refused: [...noObjects, {}, ...withBad({ data: "t" }, { maxIdle: "1" }, { queryMode: "" }, ...badOptions)],
    },
    resumableQueryNext: {
      accepted: [{ uuid: "u", additionalK: 1 }],
      refused: [...noObjects, {}, { uuid: "u" }, { uuid: 1, additionalK: 1 }, { uuid: "u", additionalK: 0 }],
    },
    resumableQueryEnd: { accepted: [{ uuid: "u" }], refused: [...noObjects, {}, { uuid: 1 }, { uuid: null }] },
    renameNamespace: {
      accepted: [
        { namespace: "a", newNamespace: "b" },
        { namespace: "a", newNamespace: "b", deleteExisting: true },
      ],
      refused: [
        ...noObjects,
        {},
        { namespace: "a" },
        { namespace: 1, newNamespace: "b" },
        { namespace: "a", newNamespace: "b", deleteExisting: "true" },
      ],
    },
  },
  messaging: {
    publishBatch: {
      accepted: [[element], [], [{ destination: "https://a.test/", headers: null, body: null, queue: null }]],
      refused: [
        1,
        "x",
        {},
        null,
        [1],
        [{}],
        ...withBad(element, { destination: 1 }, { body: 1 }, { queue: 1 }, { headers: [] }, { headers: { a: 1 } }).map(
          (each) => [each],
        ),
      ],
    },
    cancelMessages: filters,
    putQueue: {
      accepted: [
        { queueName: "q" },
        { queueName: "q", parallelism: 2, paused: true },
        { queueName: "q", paused: null },
      ],
      refused: [
        ...noObjects,
        {},
        { queueName: 1 },
        ...withBad({ queueName: "q" }, { parallelism: 0 }, { parallelism: "2" }, { parallelism: 1.5 }, { paused: 1 }),
      ],
    },
    setUrlGroupHeaders: {
      accepted: [{ headers: {} }, { headers: { a: "b", c: ["d", "e"] } }],
      refused: [...noObjects, {}, { headers: null }, { headers: [] }, { headers: { a: 1 } }, { headers: { a: [1] } }],
    },
    addEndpoints: {
      accepted: [{ endpoints: [{ url: "https://a.test/" }, { url: "https://b.test/", name: "b" }] }],
      refused: [
        ...noObjects,
        {},
        { endpoints: [] },
        { endpoints: {} },
        { endpoints: [1] },
        { endpoints: [{ name: "b" }] },
      ],
    },
    removeEndpoints: {
      accepted: [{ endpoints: [{ url: "https://a.test/" }, { name: "b" }] }],
      refused: [...noObjects, {}, { endpoints: [] }, { endpoints: [{}] }, { endpoints: [{ url: 1 }] }],
    },
    deleteDeadLetters: filters,
    retryDeadLetters: filters,
    startRuns: {
      accepted: [[element], [], [{ workflowUrl: "https://a.test/", body: null }]],
      refused: [1, "x", {}, null, [1], [{}], [{ workflowUrl: 1 }], [{ workflowUrl: "https://a.test/", body: 1 }]],
    },
    cancelRuns: filters,
    waitForEvent: {
      accepted: [{ url: "https://a.test/", step: {}, timeout: "1d", timeoutHeaders: { a: ["b"] } }],
      refused: [...noObjects, {}, { url: 1, step: {} }, { url: "https://a.test/", step: 1 }],
    },
    deleteFailedRuns: filters,
    resumeRuns: filters,
    restartRuns: filters,
  },
  // It has a service and tests of its own (src/edge/admin/console/routes.test.ts).
  console: {},
  admin: { createDatabase: plainTenant, createUser: plainTenant, createIndex: tenant },
};

function withNull(body: object): object {
  return { ...body, metadata: null, data: null };
}

/** The operations with a JSON body; those with a namespace in the path have the body of those without. */
function jsonOperations(area: keyof typeof describedAreas): readonly Operation[] {
  return describedAreas[area]().operations.filter(
    ({ body, path }) => body?.contentType === JSON_TYPE && !path.includes("{namespace}"),
  );
}

/** Statuses of a faulty body. 412 is that of a faulty step of a run. */
const atFault: readonly number[] = [400, 412, 422];
/** Their documented example is for a DENSE index, and the index here is HYBRID. */
const forAnotherIndex: readonly string[] = ["upsert"];
/** A run that has started. */
const RUN = ["Upstash-Workflow-RunId", "wfr_1"];

for (const area of ["store", "vector", "messaging", "admin"] as const) {
  const operations = jsonOperations(area);

  test(`${area}: every JSON body has examples`, () => {
    const ids = operations.map(({ id }) => id);
    assert.deepEqual(Object.keys(examples[area]).toSorted(), ids.toSorted());
  });

  for (const { id, method, path, body, example } of operations) {
    test(`${area}: the reader and the schema of ${id} accept and refuse the same bodies`, async () => {
      await using served = await serve(area);
      const resolve = resolverOf(describedAreas[area]());
      const { accepted: others, refused } = examples[area][id] ?? assert.fail(id);
      const documented = example?.request ?? exampleOf(body?.schema ?? {}, resolve);
      const accepted = forAnotherIndex.includes(id) ? others : [...others, documented];
      for (const isAccepted of [true, false])
        for (const example of isAccepted ? accepted : refused) {
          const sent = JSON.stringify(example);
          const fault = faultOf(JSON.parse(sent), body?.schema ?? {}, resolve);
          assert.equal(fault === undefined, isAccepted, `the schema of ${sent}: ${fault}`);
          const line = `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "n")}`;
          const headers = id === "waitForEvent" ? RUN : [];
          const request = edgeRequest(line, { token: TOKEN, body: sent, headers });
          const reply = (await served.area.handle(request)) as HttpReply;
          assert.equal(!atFault.includes(reply.status), isAccepted, `${line} ${sent}: ${reply.status} ${reply.body}`);
        }
    });
  }
}

async function serve(area: keyof typeof describedAreas): Promise<AsyncDisposable & { readonly area: HttpService }> {
  for (const subject of subjects) {
    // Seed 0 has an index of both kinds of vectors.
    const made = await subject(0);
    if (made.name === "messaging") {
      await made.area.handle(edgeRequest("POST /v2/trigger/https://a.test/", { token: TOKEN, headers: RUN }));
      await made.advance(1_000);
    }
    if (made.name === area) return made;
    await made[Symbol.asyncDispose]();
  }
  const tokens = new TokenTable(Buffer.alloc(32));
  tokens.add(TOKEN, { tenant: "admin", access: "standard" });
  const administration = new Proxy({}, { get: () => async () => ({}) }) as Parameters<typeof adminArea>[0];
  return { area: adminArea(administration, tokens), async [Symbol.asyncDispose]() {} };
}
