/**
 * The bodies and answers of the API of the console, for its OpenAPI document: an
 * entry for each row of `consoleRoutes`, by its id.
 */
import { type ConsoleOperationId, type ConsoleRoute, consoleRoutes } from "../admin/console/routes.ts";
import {
  type Answer,
  type AreaDescription,
  answer,
  capitalized,
  jsonBody,
  namesIn,
  type Operation,
  type OperationMethod,
  openApiPath,
  type Parameter,
  type RequestBody,
  type Tag,
  TRANSPORT,
} from "./operation.ts";
import { anyObject, anything, flag, mapOf, named, object, type Schema, text, words } from "./schema.ts";

interface Described {
  readonly body?: RequestBody;
  /** The answer of success. */
  readonly done: Schema;
  readonly refusals?: readonly (400 | 404 | 429)[];
}

const tags: readonly Tag[] = [
  {
    name: "Calls",
    description: "Requests to the areas and to the admin port, with the token of the tenant",
    paths: ["/console/api/admin", "/console/api/store", "/console/api/vector", "/console/api/messaging"],
  },
  { name: "The console", description: "The session, and the facts that the pages show", paths: ["/console/api"] },
];

const passedOn: Described = { done: anything, refusals: [400, 404] };
const done = object({ ok: flag });

/** A route without a description does not compile, nor does a description without a route. */
const descriptions: Readonly<Record<ConsoleOperationId, Described>> = {
  getConsoleDocument: { done: anyObject },
  getAreaDocument: { done: anyObject, refusals: [404] },
  getSession: {
    done: object(
      { mode: words("dev", "serve"), loggedIn: flag, csrf: text },
      { version: text, addresses: mapOf(text), tenants: mapOf(anything) },
    ),
  },
  logIn: { body: jsonBody(object({ token: text })), done: object({ ok: flag, csrf: text }), refusals: [400, 429] },
  logOut: { done },
  getOverview: { done: { ...object({ mode: text, version: text, node: text }), additionalProperties: anything } },
  getEnvironment: { done: object({ variables: mapOf(text) }), refusals: [404] },
  reveal: { body: jsonBody(object({ what: text })), done, refusals: [400] },
  callAdmin: passedOn,
  callStore: passedOn,
  callVector: passedOn,
  callMessaging: passedOn,
};

export function describeConsole(): AreaDescription {
  return {
    title: "larder: the console",
    description: `The API of the pages under /console, for them only: it may change with any version. In \`larder serve\`, operations that need a token need the cookie of a session in its place; in \`larder dev\` they need neither. A change needs the header X-Larder-Csrf with the \`csrf\` of the session. Answers of areas and of the admin port are theirs; bodies that are not JSON are attachments.\n\n${TRANSPORT}`,
    tags,
    operations: consoleRoutes.flatMap(operationsOf),
    schemas: { Error: object({ error: text }) },
  };
}

const anyMethods: readonly OperationMethod[] = ["get", "post", "put", "patch", "delete"];
const methods: Readonly<Record<ConsoleRoute["method"], readonly OperationMethod[]>> = {
  GET: ["get"],
  POST: ["post"],
  ANY: anyMethods,
};
const meanings: Readonly<Record<400 | 404 | 429, string>> = {
  400: "A field is invalid",
  404: "It does not exist",
  429: "Too many wrong tokens from this address",
};

function operationsOf(route: ConsoleRoute<ConsoleOperationId>): readonly Operation[] {
  const described: Described = descriptions[route.id];
  const path = openApiPath(route.path.replace(/<(\w+)>/g, ":$1"), "path");
  const refusal = (status: number, meaning: string): Answer => answer(status, meaning, named("Error"));
  return methods[route.method].map((method) => ({
    id: route.method === "ANY" ? `${route.id}By${capitalized(method)}` : route.id,
    rule: "admin",
    method,
    path,
    summary: capitalized(route.summary),
    parameters: namesIn(path).map((each): Parameter => ({ name: each, in: "path", schema: text })),
    ...(described.body !== undefined && { body: described.body }),
    answers: [
      answer(200, "Done", described.done),
      ...(described.refusals ?? []).map((status) => refusal(status, meanings[status])),
      ...(route.access === "session" ? [refusal(401, "The browser is not logged in")] : []),
      refusal(403, "Another machine or site, or a change without the CSRF token"),
      refusal(500, "Internal error; the log of the server has the cause"),
      refusal(503, "An area is not serving"),
    ],
    token: route.access === "session" ? "standard" : "open",
  }));
}
