/**
 * The bodies and answers of the routes of the admin port, for its OpenAPI
 * document: an entry for each row of `adminRoutes`, by its id.
 */

import { clientStates } from "../../store/mod.ts";
import { auditOutcomes } from "../admin/audit.ts";
import { type AdminOperationId, type AdminRoute, adminRoutes, isDescribed, type TenantKind } from "../admin/routes.ts";
import {
  type Answer,
  type AreaDescription,
  answer,
  capitalized,
  JSON_TYPE,
  jsonBody,
  namesIn,
  type Operation,
  type OperationExample,
  type OperationMethod,
  type Parameter,
  type RequestBody,
  type Tag,
  TRANSPORT,
} from "./operation.ts";
import {
  anyObject,
  anything,
  count,
  described,
  flag,
  integer,
  list,
  mapOf,
  named,
  number,
  object,
  type Schema,
  text,
  words,
} from "./schema.ts";

interface Described {
  readonly body?: RequestBody;
  /** The answer of success. */
  readonly done: Schema;
  /** The meaning of success; "Done" if absent. */
  readonly meaning?: string;
  /** The meaning of a negative answer. */
  readonly negativeMeaning?: string;
  readonly refusals?: readonly (400 | 404 | 409)[];
  /** Of the part of the path; absent: it is a name. */
  readonly part?: Pick<Parameter, "schema" | "example">;
  readonly example?: OperationExample;
}

const tags: readonly Tag[] = [
  {
    name: "Health",
    description: "Probes, version, metrics and figures",
    paths: ["/health", "/version", "/metrics", "/v1/stats"],
  },
  { name: "Databases", description: "Databases of the store and their tokens", paths: ["/v1/databases"] },
  { name: "Indexes", description: "Indexes of vectors and their tokens", paths: ["/v1/indexes"] },
  { name: "Users", description: "Users of messaging and their tokens", paths: ["/v1/users"] },
  {
    name: "Clients",
    description: "Clients that are connected to the store over RESP",
    paths: ["/v1/clients"],
  },
  {
    name: "The server",
    description: "Snapshots, backups, and in `larder dev` resetting and stopping",
    paths: ["/v1/snapshot", "/v1/backup", "/v1/stop", "/reset"],
  },
  {
    name: "What happened",
    description: "The audit log, the last warnings and errors, and the settings of the start",
    paths: ["/v1/audit", "/v1/problems", "/v1/settings"],
  },
];

const name = { name: text };
const settingValue: Schema = { type: ["string", "number", "boolean", "array", "null"] };

const listTenants = (kind: TenantKind): Described => ({ done: object({ [kind]: list(named("Tenant")) }) });
const createTenant = (kind: TenantKind): Described => ({
  body: jsonBody(isDescribed[kind] ? { ...object(name), additionalProperties: anything } : object(name)),
  done: named("Tokens"),
  meaning: "Created",
  refusals: [400, 409],
  example: {
    request: { name: "books", ...(isDescribed[kind] && { dimension: 384, similarity: "COSINE" }) },
    answer: { name: "books", token: "…", readOnlyToken: "…" },
  },
});
const deleteTenant: Described = { done: named("Deleted"), refusals: [404, 409] };
const resetPassword: Described = { done: named("Tokens"), refusals: [404, 409] };

/** A route without a description does not compile, nor does a description without a route. */
const descriptions: Readonly<Record<AdminOperationId, Described>> = {
  isLive: { done: object({ status: words("live") }) },
  isReady: { done: named("Readiness"), meaning: "Ready", negativeMeaning: "Not ready" },
  hasStarted: { done: named("Startup"), meaning: "Started", negativeMeaning: "Still starting" },
  getVersion: { done: object({ version: text, node: text, formats: mapOf(number) }) },
  getMetrics: {
    done: text,
    meaning: "The metrics",
    example: { answer: "# TYPE larder_disk_free_bytes gauge\nlarder_disk_free_bytes 52428800000\n" },
  },
  listDatabases: listTenants("databases"),
  createDatabase: createTenant("databases"),
  deleteDatabase: deleteTenant,
  resetDatabasePassword: resetPassword,
  listIndexes: listTenants("indexes"),
  createIndex: createTenant("indexes"),
  deleteIndex: deleteTenant,
  resetIndexPassword: resetPassword,
  listNamespaces: {
    done: object(
      { namespaces: list(named("Namespace")) },
      { cursor: described(text, "Continues the list; absent at its end") },
    ),
    refusals: [400, 404, 409],
    example: {
      answer: {
        namespaces: [{ name: "", vectorCount: 1_200, pendingVectorCount: 0, memoryBytes: 2_457_600 }],
        cursor: "0",
      },
    },
  },
  listUsers: listTenants("users"),
  createUser: createTenant("users"),
  deleteUser: deleteTenant,
  resetUserPassword: resetPassword,
  getStats: {
    done: object(
      {
        version: text,
        server: mapOf(number),
        areas: mapOf({ ...object({ state: text, figures: mapOf(number) }), additionalProperties: anything }),
      },
      { replication: anyObject, cluster: object({ node: text, nodes: list(anyObject) }) },
    ),
  },
  listAuditEntries: {
    done: object(
      {
        entries: list(named("AuditEntry")),
        unreadableLines: described(count, "Lines of this part that are no entries"),
      },
      { cursor: described(text, "Continues the list; absent at its end. A page may have no entry and a cursor") },
    ),
    refusals: [400, 409],
  },
  listSettings: { done: object({ settings: list(named("Setting")) }) },
  listProblems: { done: object({ problems: list(named("Problem")) }) },
  listClients: {
    done: object(
      { clients: list(named("Client")) },
      {
        cursor: described(text, "Continues the list; absent at its end"),
        node: described(text, "In a cluster: the node whose clients these are"),
      },
    ),
    refusals: [400, 404],
    example: {
      answer: {
        clients: [
          {
            ...{ id: 7, database: "main", address: "127.0.0.1:50312", localAddress: "127.0.0.1:6379", user: "default" },
            ...{ name: "worker-1", libraryName: "ioredis", libraryVersion: "5.4.1", respVersion: 2 },
            ...{ ageSeconds: 340, idleSeconds: 2, states: ["blocked"], lastCommand: "blpop", commands: 81 },
            ...{ subscriptions: 0, queuedCommands: 0, watchedKeys: 0 },
            ...{ memoryBytes: 0, receivedBytes: 4_120, sentBytes: 2_048 },
          },
        ],
      },
    },
  },
  killClient: {
    done: object({ id: integer }),
    refusals: [400, 404],
    part: { schema: { ...integer, minimum: 1 }, example: 7 },
    example: { answer: { id: 7 } },
  },
  makeSnapshot: {
    done: object({ status: words("started") }),
    meaning: "The snapshots are written one after the other",
    refusals: [409],
  },
  makeBackup: {
    done: object({ directory: text, areas: list(object({ name: text, position: number })) }),
    refusals: [409],
  },
  stop: {
    done: object({ status: words("stopping") }),
    meaning: "The server finishes its requests, writes its data and ends",
    refusals: [404],
  },
  reset: { done: object({ status: words("reset") }), refusals: [404] },
};

export function describeAdmin(): AreaDescription {
  return {
    title: "larder: the admin port",
    description: `Operations that need a token need the admin token. HEAD is answered like GET.\n\n${TRANSPORT}`,
    tags,
    operations: adminRoutes.map(operationOf),
    schemas: {
      Error: object({ error: text }),
      Startup: object({ status: words("started", "starting"), areas: mapOf(text) }),
      Readiness: object({ status: words("ready", "not ready"), areas: mapOf(text), reasons: list(text) }),
      Tenant: { ...object({ name: text, source: text }, { memoryBytes: count }), additionalProperties: anything },
      Namespace: object({
        ...{ name: described(text, "Empty: the default namespace"), vectorCount: count, pendingVectorCount: count },
        memoryBytes: count,
      }),
      Tokens: { ...object({ name: text, token: text, readOnlyToken: text }), additionalProperties: anything },
      AuditEntry: object(
        { time: text, action: text, caller: text, outcome: words(...auditOutcomes) },
        { subject: text, reason: text },
      ),
      Problem: object({
        ...{ time: text, level: words("warn", "error"), area: text, message: text },
        ...{ fields: mapOf(anything), count, firstTime: text },
      }),
      Setting: object(
        {
          ...{ name: text, value: settingValue, source: words("flag", "environment", "file", "default") },
          ...{ default: settingValue, group: text, form: text, meaning: text, isSecret: flag, environment: list(text) },
        },
        { place: text, defaultMeaning: text, flag: text, fileKey: text },
      ),
      Client: object(
        {
          ...{ id: integer, database: text, address: text, localAddress: text, user: text, name: text },
          ...{ libraryName: text, libraryVersion: text, respVersion: integer, ageSeconds: count, idleSeconds: count },
          ...{ states: list(words(...clientStates)), commands: count, subscriptions: count, queuedCommands: count },
          ...{ watchedKeys: count, memoryBytes: count, receivedBytes: count, sentBytes: count },
        },
        { lastCommand: described(text, "Its name, without arguments; absent before the first command") },
      ),
      Deleted: { ...object(name), additionalProperties: anything },
    },
  };
}

const methods: Readonly<Record<AdminRoute["method"], OperationMethod>> = { GET: "get", POST: "post", DELETE: "delete" };
const meanings: Readonly<Record<400 | 404 | 409, string>> = {
  400: "A field is invalid",
  404: "It does not exist",
  409: "It conflicts with the current state",
};

function operationOf(route: AdminRoute<AdminOperationId>): Operation {
  const facts: Described = descriptions[route.id];
  const path = route.path.replace(/<(\w+)>/g, "{$1}");
  const refusal = (status: number, meaning: string): Answer => answer(status, meaning, named("Error"));
  return {
    id: route.id,
    rule: "admin",
    method: methods[route.method],
    path,
    summary: capitalized(route.summary),
    parameters: [
      ...namesIn(path).map((each): Parameter => ({ name: each, in: "path", schema: text, ...facts.part })),
      ...Object.entries(route.parameters ?? {}).map(
        ([each, { schema, meaning }]): Parameter => ({ name: each, in: "query", schema, description: meaning }),
      ),
    ],
    ...(facts.body !== undefined && { body: facts.body }),
    answers: [
      ...answersOf(route, facts),
      ...(facts.refusals ?? []).map((status) => refusal(status, meanings[status])),
      ...(route.access === "admin" ? [refusal(401, "The token is missing or is not the admin token")] : []),
      refusal(403, "A page of another site"),
      refusal(421, "The port does not answer to this Host"),
      refusal(500, "Internal error; the log of the server has the cause"),
      ...(route.negativeStatus === 503 ? [] : [refusal(503, "An area is not serving")]),
    ],
    token: route.access === "admin" ? "standard" : "open",
    ...(facts.example !== undefined && { example: facts.example }),
  };
}

function answersOf(
  { status, negativeStatus, contentType = JSON_TYPE }: AdminRoute,
  { done, meaning = "Done", negativeMeaning = "No" }: Described,
): readonly Answer[] {
  const content = { [contentType.replace(/;.*/, "")]: done };
  const success = { status: status ?? 200, meaning, content };
  return negativeStatus === undefined
    ? [success]
    : [success, { status: negativeStatus, meaning: negativeMeaning, content }];
}
