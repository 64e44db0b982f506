/**
 * What the routes of the admin port take and answer, for its OpenAPI document:
 * one entry for each row of `adminRoutes`, by its method and path. A test holds
 * that none is missing.
 */
import { type AdminRoute, adminRoutes, type TenantKind, tenantKinds } from "../admin/routes.ts";
import {
  type Answer,
  type AreaDescription,
  answer,
  jsonBody,
  namesIn,
  type Operation,
  type OperationMethod,
  type Parameter,
  type RequestBody,
} from "./operation.ts";
import { anything, list, mapOf, named, number, object, type Schema, text, words } from "./schema.ts";
import { TRANSPORT } from "./store.ts";

interface Described {
  readonly id: string;
  readonly summary: string;
  readonly body?: RequestBody;
  readonly done: readonly Answer[];
  readonly refusals?: readonly (400 | 404 | 409)[];
}

const PROMETHEUS = "text/plain";
const done = (schema: Schema): readonly Answer[] => [answer(200, "Done", schema)];
const name = { name: text };

/** `databases` to what one of them is called. */
const oneOf: Readonly<Record<TenantKind, string>> = { databases: "Database", indexes: "Index", users: "User" };

function tenantDescriptions(kind: TenantKind): readonly (readonly [string, Described])[] {
  const one = oneOf[kind];
  return [
    [
      `GET /v1/${kind}`,
      { id: `list${one}s`, summary: `Lists the ${kind}`, done: done(object({ [kind]: list(named("Tenant")) })) },
    ],
    [
      `POST /v1/${kind}`,
      {
        id: `create${one}`,
        summary: `Creates one of the ${kind}`,
        body: jsonBody(kind === "indexes" ? { ...object(name), additionalProperties: anything } : object(name)),
        done: [answer(201, "Created", named("Tokens"))],
        refusals: [400, 409],
      },
    ],
    [
      `DELETE /v1/${kind}/<name>`,
      {
        id: `delete${one}`,
        summary: `Deletes one of the ${kind} and all its data`,
        done: done(object(name)),
        refusals: [404, 409],
      },
    ],
    [
      `POST /v1/${kind}/<name>/reset-password`,
      {
        id: `reset${one}Password`,
        summary: "Gives it new tokens and refuses the old ones",
        done: done(named("Tokens")),
        refusals: [404, 409],
      },
    ],
  ];
}

/** By the method and the path of the route. */
export const adminDescriptions: ReadonlyMap<string, Described> = new Map<string, Described>([
  [
    "GET /health/live",
    { id: "isLive", summary: "Whether the process answers", done: done(object({ status: words("live") })) },
  ],
  [
    "GET /health/ready",
    {
      id: "isReady",
      summary: "Whether every area serves",
      done: [answer(200, "Ready", named("Readiness")), answer(503, "Not ready", named("Readiness"))],
    },
  ],
  [
    "GET /health/startup",
    {
      id: "hasStarted",
      summary: "Whether every area has served since the start",
      done: [answer(200, "Started", named("Startup")), answer(503, "Still starting", named("Startup"))],
    },
  ],
  [
    "GET /version",
    {
      id: "getVersion",
      summary: "What runs",
      done: done(object({ version: text, node: text, formats: mapOf(number) })),
    },
  ],
  [
    "GET /metrics",
    {
      id: "getMetrics",
      summary: "All figures, for Prometheus",
      done: [{ status: 200, meaning: "The figures", content: { [PROMETHEUS]: text } }],
    },
  ],
  ...tenantKinds.flatMap(tenantDescriptions),
  [
    "GET /v1/stats",
    {
      id: "getStats",
      summary: "What the server has and does: the figures that somebody asks for first",
      done: done({
        ...object({
          version: text,
          server: mapOf(number),
          areas: mapOf({ ...object({ state: text, figures: mapOf(number) }), additionalProperties: anything }),
        }),
      }),
    },
  ],
  [
    "POST /v1/snapshot",
    {
      id: "makeSnapshot",
      summary: "Begins a snapshot of each area, which shortens the next start",
      done: [answer(202, "The snapshots are written one behind the other", object({ status: words("started") }))],
      refusals: [409],
    },
  ],
  [
    "POST /v1/backup",
    {
      id: "makeBackup",
      summary: "Makes a directory of links inside the data directory, from which larder backup makes its file",
      done: done(object({ directory: text, areas: list(object({ name: text, position: number })) })),
      refusals: [409],
    },
  ],
  [
    "POST /reset",
    {
      id: "reset",
      summary: "Empties every area; of a development server alone",
      done: done(object({ status: words("reset") })),
      refusals: [404],
    },
  ],
]);

/** How a route is called in the table. */
export function adminRouteKey({ method, path }: Pick<AdminRoute, "method" | "path">): string {
  return `${method} ${path}`;
}

export function describeAdmin(): AreaDescription {
  return {
    title: "larder: the admin port",
    description: `What asks for a token wants the admin token. HEAD is answered like GET.\n\n${TRANSPORT}`,
    operations: adminRoutes.flatMap(operationOf),
    schemas: {
      Error: object({ error: text }),
      Startup: object({ status: words("started", "starting"), areas: mapOf(text) }),
      Readiness: object({ status: words("ready", "not ready"), areas: mapOf(text), reasons: list(text) }),
      Tenant: { ...object({ name: text, source: text }), additionalProperties: anything },
      Tokens: { ...object({ name: text, token: text, readOnlyToken: text }), additionalProperties: anything },
    },
  };
}

const methods: Readonly<Record<string, OperationMethod>> = {
  GET: "get",
  POST: "post",
  PUT: "put",
  PATCH: "patch",
  DELETE: "delete",
};
const meanings: Readonly<Record<400 | 404 | 409, string>> = {
  400: "A field does not say what it should",
  404: "There is no such thing",
  409: "What there is already stands against it",
};

function operationOf(route: AdminRoute): readonly Operation[] {
  const facts = adminDescriptions.get(adminRouteKey(route));
  const method = methods[route.method];
  if (facts === undefined || method === undefined) return [];
  const path = route.path.replace(/<(\w+)>/g, "{$1}");
  const refusal = (status: number, meaning: string): Answer => answer(status, meaning, named("Error"));
  return [
    {
      id: facts.id,
      rule: "admin",
      method,
      path,
      summary: facts.summary,
      parameters: namesIn(path).map((each): Parameter => ({ name: each, in: "path", schema: text })),
      ...(facts.body !== undefined && { body: facts.body }),
      answers: [
        ...facts.done,
        ...(facts.refusals ?? []).map((status) => refusal(status, meanings[status])),
        ...(route.access === "admin" ? [refusal(401, "The token is missing or is not the admin token")] : []),
        refusal(500, "A fault of the server; its log has the cause"),
        ...(facts.done.some(({ status }) => status === 503) ? [] : [refusal(503, "An area does not serve now")]),
      ],
      token: route.access === "admin" ? "standard" : "open",
    },
  ];
}
