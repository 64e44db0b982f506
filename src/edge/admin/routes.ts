/**
 * The admin port: health, version, metrics and the administration of
 * databases, indexes and users. It listens on an address of its own, by default
 * loopback. Every route that returns or changes data needs the admin token in a
 * header, so that a page in the operator's browser cannot use it (threats S-14).
 *
 * A route reads the request and makes one call on `Administration`.
 */
import { JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import type { TokenTable } from "../auth.ts";
import {
  adminBodyMalformed,
  adminBodyNotJson,
  adminMethodNotAllowed,
  adminParameterInvalid,
  bodyTooLargeToParse,
  clientMissing,
  internalFailure,
  noAuditLog,
  noSuchAdminPath,
  nothingToBackUp,
  RequestFailure,
  unauthorized,
} from "../errors.ts";
import type { HttpReply, HttpRequest, HttpService } from "../handler.ts";
import { OPENAPI_PATH } from "../openapi/area.ts";
import { failureReply } from "../respond.ts";
import { type AuditPage, type AuditQuery, auditParameters } from "./audit.ts";
import { CLIENT_ID_EXPECTED, type ClientsPage, type ClientsQuery, clientParameters, readClientId } from "./clients.ts";
import { type NamespacesPage, type NamespacesQuery, namespaceParameters } from "./namespaces.ts";
import type { Problem } from "./problem.ts";
import { type QueryRows, readQuery } from "./query.ts";
import type { SettingFacts } from "./settings.ts";

export interface Readiness {
  readonly isReady: boolean;
  /** Every area has served once, so a server that is not ready is not just starting. */
  readonly hasStarted: boolean;
  /** The state of each area, such as `serving` or `replaying`. */
  readonly areas: Readonly<Record<string, string>>;
  /** The reasons why it is not ready, a short sentence each. */
  readonly reasons: readonly string[];
}

export interface VersionFacts {
  readonly version: string;
  readonly node: string;
  /** The newest format of each kind of file that this version writes. */
  readonly formats: Readonly<Record<string, number>>;
}

/** The kinds of tenants that are administered at run time, as in paths. */
export const tenantKinds = ["databases", "indexes", "users"] as const;

export type TenantKind = (typeof tenantKinds)[number];

/** The name of one tenant of a kind in ids of operations. */
const oneOf = { databases: "Database", indexes: "Index", users: "User" } as const satisfies Record<TenantKind, string>;
const allOf = { databases: "Databases", indexes: "Indexes", users: "Users" } as const satisfies Record<
  TenantKind,
  string
>;

/** The name of one tenant of a kind in summaries. */
const articleAndNoun: Readonly<Record<TenantKind, string>> = {
  databases: "a database",
  indexes: "an index",
  users: "a user",
};

/** Whether a new tenant may have fields besides its name. */
export const isDescribed: Readonly<Record<TenantKind, boolean>> = { databases: false, indexes: true, users: false };

export interface TenantFacts {
  readonly name: string;
  /** Its origin: `configuration`, `environment`, `larder dev`, `data directory`, `cluster`, or `unlisted` if it has none. */
  readonly source: string;
  /** The memory of its data, as it counts for the memory limit; absent on a node of a cluster that does not serve it. */
  readonly memoryBytes?: number;
  /** Its description, if it has one. */
  readonly [fact: string]: unknown;
}

/** Which nodes of a cluster have a change when it is answered. On a single server it has no fields. */
export interface ChangeReach {
  /** Whether every node that is not dead has it. */
  readonly reachedAllNodes?: boolean;
  /** The names of those that may not have it; absent if PostgreSQL did not say. */
  readonly missingNodes?: readonly string[];
}

export interface TenantTokens extends ChangeReach {
  readonly name: string;
  readonly token: string;
  readonly readOnlyToken: string;
}

/** A directory inside the data directory from which a backup file can be made. */
export interface BackupMade {
  /** Its name in the data directory. */
  readonly directory: string;
  /** Each area with the position up to which the backup is complete. */
  readonly areas: readonly { readonly name: string; readonly position: number }[];
}

/** A requested change, for the audit log. It never contains a token. */
export interface AdminChange {
  /** Such as `databases.create`. */
  readonly action: string;
  /** The name as it was sent. */
  readonly subject: string | undefined;
  /** The address of the client; after `console `, if it came through the console. */
  readonly caller: string;
  readonly outcome: "done" | "refused" | "failed";
  /** The kind of the refusal. */
  readonly reason?: string;
}

/** The calls of the admin port on the program. Refusals are thrown as `RequestFailure`. */
export interface Administration {
  readiness(): Readiness;
  readonly version: VersionFacts;
  /** Prometheus text. */
  metrics(): Promise<string>;
  /** The state of the server as JSON. */
  stats(): Promise<object>;
  /** The settings that the server was started with, secrets masked. */
  settings(): readonly SettingFacts[];
  /** The last warnings and errors that the program logged, the newest first. */
  problems(): readonly Problem[];
  /** The clients that are connected to the store over RESP. */
  clients(query: ClientsQuery): Promise<ClientsPage>;
  /** Ends the connection of a client, as CLIENT KILL does. False: no client has this id. */
  killClient(id: number): Promise<boolean>;
  /** Starts a snapshot of each area. False if data is not persisted. */
  snapshot(): boolean;
  listTenants(kind: TenantKind): Promise<readonly TenantFacts[]>;
  /** At once, without a question to an area: the tenants that have tokens, and not those that only have data. */
  knownTenants(kind: TenantKind): readonly TenantFacts[];
  /** `description`: the fields besides the name, not checked yet. */
  createTenant(kind: TenantKind, name: string, description?: Readonly<Record<string, unknown>>): Promise<TenantTokens>;
  deleteTenant(kind: TenantKind, name: string): Promise<ChangeReach>;
  resetPassword(kind: TenantKind, name: string): Promise<TenantTokens>;
  /** The namespaces of an index. Refused by a node of a cluster that does not serve it. */
  namespaces(index: string, query: NamespacesQuery): Promise<NamespacesPage>;
  /** Makes a backup of everything acknowledged before. Absent if data is not persisted. */
  backUp?(): Promise<BackupMade>;
  /** Reads the audit log, the newest entries first. Absent if data is not persisted. */
  audit?(query: AuditQuery): Promise<AuditPage>;
  /** Begins to stop the server, as SIGTERM does. Absent if the server is part of another program. */
  stop?(): void;
  /** Empties all areas. Absent outside `larder dev`. */
  reset?(): Promise<void>;
  /** Called for each change, also refused ones, before the answer. Not called for clients without the token. */
  onChange?(change: AdminChange): void;
  /** Called for a bug of larder in the handling of request `id`. */
  onFault(fault: unknown, id: string): void;
}

/** Bodies are names and short descriptions. */
const ADMIN_BODY_BYTES_MAX = 16 * 1_024;

export interface AdminRoute<Id extends string = string> {
  /** The operation in the OpenAPI document, which has a description for each id (openapi/admin.ts). */
  readonly id: Id;
  readonly method: "GET" | "POST" | "DELETE";
  /** A segment in angle brackets is a parameter. */
  readonly path: string;
  readonly summary: string;
  /** Open routes return nothing confidential. */
  readonly access: "open" | "admin";
  /** The action in the audit log, if the route changes something. */
  readonly changes?: string;
  /** The status of success; 200 if absent. */
  readonly status?: 201 | 202;
  /** The status of a negative answer. */
  readonly negativeStatus?: 503;
  /** The content type of an answer that is a string; JSON if absent. */
  readonly contentType?: string;
  /** The parameters that its query may have; absent: the query is ignored. */
  readonly parameters?: QueryRows;
  handle(call: AdminRouteCall): Promise<Answer> | Answer;
}

interface AdminRouteCall {
  readonly administration: Administration;
  readonly name: string;
  readonly body: unknown;
  /** As written, without the `?`. */
  readonly query: string;
}

interface Answer {
  readonly value: unknown;
  /** A check failed: `negativeStatus`. */
  readonly isNegative?: boolean;
}

/** Rows with their ids as types, so that an id without a description does not compile. */
function adminRows<Id extends string>(rows: readonly AdminRoute<Id>[]): readonly AdminRoute<Id>[] {
  return rows;
}

export const adminRoutes = [
  ...adminRows([
    {
      id: "isLive",
      method: "GET",
      path: "/health/live",
      summary: "reports whether the process answers",
      access: "open",
      handle: () => ({ value: { status: "live" } }),
    },
    {
      id: "isReady",
      method: "GET",
      path: "/health/ready",
      summary: "reports whether every area serves",
      access: "open",
      negativeStatus: 503,
      handle({ administration }) {
        const { isReady, areas, reasons } = administration.readiness();
        return { value: { status: isReady ? "ready" : "not ready", areas, reasons }, isNegative: !isReady };
      },
    },
    {
      id: "hasStarted",
      method: "GET",
      path: "/health/startup",
      summary: "reports whether every area has served since the start",
      access: "open",
      negativeStatus: 503,
      handle({ administration }) {
        const { hasStarted, areas } = administration.readiness();
        return { value: { status: hasStarted ? "started" : "starting", areas }, isNegative: !hasStarted };
      },
    },
    {
      id: "getVersion",
      method: "GET",
      path: "/version",
      summary: "returns the version of larder, of Node.js and of the file formats",
      access: "open",
      handle: ({ administration }) => ({ value: administration.version }),
    },
    {
      id: "getMetrics",
      method: "GET",
      path: "/metrics",
      summary: "returns the metrics for Prometheus",
      access: "open",
      contentType: "text/plain; version=0.0.4; charset=utf-8",
      handle: async ({ administration }) => ({ value: await administration.metrics() }),
    },
  ]),
  ...tenantKinds.flatMap(tenantRoutes),
  ...adminRows([
    {
      id: "listNamespaces",
      method: "GET",
      path: "/v1/indexes/<name>/namespaces",
      summary: "lists the namespaces of an index, with their records and their memory",
      access: "admin",
      parameters: namespaceParameters,
      handle: async ({ administration, name, query }) => ({
        value: await administration.namespaces(name, readQuery(namespaceParameters, query)),
      }),
    },
    {
      id: "getStats",
      method: "GET",
      path: "/v1/stats",
      summary: "returns the most important metrics of the server as JSON",
      access: "admin",
      handle: async ({ administration }) => ({ value: await administration.stats() }),
    },
    {
      id: "listAuditEntries",
      method: "GET",
      path: "/v1/audit",
      summary: "lists the entries of the audit log, the newest first",
      access: "admin",
      parameters: auditParameters,
      async handle({ administration, query }) {
        if (administration.audit === undefined) throw noAuditLog;
        return { value: await administration.audit(readQuery(auditParameters, query)) };
      },
    },
    {
      id: "listSettings",
      method: "GET",
      path: "/v1/settings",
      summary:
        "lists the settings that the server was started with, their defaults and sources; secrets only as set or not set",
      access: "admin",
      handle: ({ administration }) => ({ value: { settings: administration.settings() } }),
    },
    {
      id: "listProblems",
      method: "GET",
      path: "/v1/problems",
      summary: "lists the last warnings and errors that the program logged since its start, the newest first",
      access: "admin",
      handle: ({ administration }) => ({ value: { problems: administration.problems() } }),
    },
    {
      id: "listClients",
      method: "GET",
      path: "/v1/clients",
      summary: "lists the clients that are logged in to a database over RESP, by id",
      access: "admin",
      parameters: clientParameters,
      handle: async ({ administration, query }) => ({
        value: await administration.clients(readQuery(clientParameters, query)),
      }),
    },
    {
      id: "killClient",
      method: "DELETE",
      path: "/v1/clients/<id>",
      summary: "ends the connection of a client, as CLIENT KILL does",
      access: "admin",
      changes: "clients.kill",
      async handle({ administration, name }) {
        const id = readClientId(name);
        if (id === undefined) throw adminParameterInvalid("id", name, CLIENT_ID_EXPECTED);
        if (!(await administration.killClient(id))) throw clientMissing(id);
        return { value: { id } };
      },
    },
    {
      id: "makeSnapshot",
      method: "POST",
      path: "/v1/snapshot",
      summary: "starts a snapshot of each area, which shortens the next start",
      access: "admin",
      changes: "snapshot",
      status: 202,
      handle({ administration }) {
        if (!administration.snapshot()) throw nothingToBackUp;
        return { value: { status: "started" } };
      },
    },
    {
      id: "makeBackup",
      method: "POST",
      path: "/v1/backup",
      summary: "creates a directory of links in the data directory, from which `larder backup` writes its file",
      access: "admin",
      changes: "backup",
      async handle({ administration }) {
        if (administration.backUp === undefined) throw nothingToBackUp;
        return { value: await administration.backUp() };
      },
    },
    {
      id: "stop",
      method: "POST",
      path: "/v1/stop",
      summary: "stops the server as SIGTERM does; only of `larder serve` and `larder dev`",
      access: "admin",
      changes: "request stop",
      status: 202,
      handle({ administration }) {
        if (administration.stop === undefined) throw noSuchAdminPath;
        administration.stop();
        return { value: { status: "stopping" } };
      },
    },
    {
      id: "reset",
      method: "POST",
      path: "/reset",
      summary: "empties every area; only on a development server",
      access: "admin",
      changes: "reset",
      async handle({ administration }) {
        if (administration.reset === undefined) throw noSuchAdminPath;
        await administration.reset();
        return { value: { status: "reset" } };
      },
    },
  ]),
];

export type AdminOperationId = (typeof adminRoutes)[number]["id"];

function tenantRoutes(kind: TenantKind) {
  const one = oneOf[kind];
  return adminRows([
    {
      id: `list${allOf[kind]}` as const,
      method: "GET",
      path: `/v1/${kind}`,
      summary: `lists the ${kind}`,
      access: "admin",
      handle: async ({ administration }) => ({ value: { [kind]: await administration.listTenants(kind) } }),
    },
    {
      id: `create${one}` as const,
      method: "POST",
      path: `/v1/${kind}`,
      summary: `creates ${articleAndNoun[kind]}`,
      access: "admin",
      changes: `${kind}.create`,
      status: 201,
      async handle({ administration, body }) {
        const { name, description } = readNew(body, kind);
        return { value: await administration.createTenant(kind, name, description) };
      },
    },
    {
      id: `delete${one}` as const,
      method: "DELETE",
      path: `/v1/${kind}/<name>`,
      summary: `deletes ${articleAndNoun[kind]} and its data`,
      access: "admin",
      changes: `${kind}.delete`,
      async handle({ administration, name }) {
        return { value: { name, ...(await administration.deleteTenant(kind, name)) } };
      },
    },
    {
      id: `reset${one}Password` as const,
      method: "POST",
      path: `/v1/${kind}/<name>/reset-password`,
      summary: `replaces the tokens of ${articleAndNoun[kind]}`,
      access: "admin",
      changes: `${kind}.reset-password`,
      handle: async ({ administration, name }) => ({ value: await administration.resetPassword(kind, name) }),
    },
  ]);
}

/** Who may use the routes that are not open, and as whom the audit log names the caller. */
export interface AdminAuthority {
  admits(request: HttpRequest): boolean;
  callerOf(request: HttpRequest): string;
}

/** The service of the admin port. `tokens` contains the admin token. */
export function adminArea(administration: Administration, tokens: TokenTable): HttpService {
  return adminAreaFor(administration, {
    admits: (request) => tokens.findByHeader(request.header("authorization") ?? "")?.access === "standard",
    callerOf: ({ remoteAddress }) => remoteAddress,
  });
}

/** The calls of the open routes. */
export type Watched = Pick<Administration, "readiness" | "version" | "metrics" | "onFault">;

/** The open routes, for a process that has nothing to administer yet; the others are refused, with any token. */
export function openAdminArea(watched: Watched, refusal: RequestFailure): HttpService {
  const refuse = (): never => {
    throw refusal;
  };
  const administration: Administration = {
    ...watched,
    ...{ stats: refuse, settings: refuse, problems: refuse, clients: refuse, killClient: refuse, snapshot: refuse },
    ...{ listTenants: refuse, knownTenants: refuse, createTenant: refuse, deleteTenant: refuse, resetPassword: refuse },
    namespaces: refuse,
  };
  return adminAreaFor(administration, { admits: refuse, callerOf: ({ remoteAddress }) => remoteAddress });
}

/** The same routes with another authority than the token. */
export function adminAreaFor(administration: Administration, authority: AdminAuthority): HttpService {
  return {
    bodyBytesMax: () => ADMIN_BODY_BYTES_MAX,
    async handle(request) {
      let path = "unknown";
      try {
        const found = findRoute(request);
        path = found.route.path;
        if (found.route.access === "admin" && !authority.admits(request)) throw unauthorized;
        const caller = authority.callerOf(request);
        return replyOf(found.route, await handleRoute(found, { request, caller, administration }));
      } catch (failure) {
        if (failure instanceof RequestFailure) return { ...failureReply(failure, guardHeaders), route: path };
        administration.onFault(failure, request.id);
        return { ...failureReply(internalFailure(request.id), guardHeaders), route: path };
      }
    },
  };
}

const openPaths: ReadonlySet<string> = new Set(
  adminRoutes.filter(({ access }) => access === "open").map(({ path }) => path),
);

/** Whether a target is a route that needs no token and returns nothing confidential. */
export function isOpenTarget(target: string): boolean {
  const path = pathOf(target);
  return openPaths.has(path) || path === OPENAPI_PATH;
}

function pathOf(target: string): string {
  return target.split("?", 1)[0] ?? "";
}

/** Handles an admitted request and reports the change. */
async function handleRoute(
  { route, name }: { route: AdminRoute; name: string },
  { request, caller, administration }: { request: HttpRequest; caller: string; administration: Administration },
): Promise<Answer> {
  let body: unknown;
  const report = (outcome: AdminChange["outcome"], reason?: string): void => {
    if (route.changes === undefined) return;
    const subject = name === "" ? nameIn(body) : name;
    const change = { action: route.changes, subject, caller, outcome };
    administration.onChange?.({ ...change, ...(reason !== undefined && { reason }) });
  };
  try {
    body = readBody(request);
    const query = request.target.slice(pathOf(request.target).length + 1);
    const answer = await route.handle({ administration, name, body, query });
    report("done");
    return answer;
  } catch (failure) {
    if (failure instanceof RequestFailure) report("refused", failure.kind);
    else report("failed");
    throw failure;
  }
}

function nameIn(body: unknown): string | undefined {
  const name = typeof body === "object" && body !== null && "name" in body ? body.name : undefined;
  return typeof name === "string" ? name : undefined;
}

/** For a browser that requests the port by mistake or by malice: no sniffing, no scripts, no caching. */
export const guardHeaders: readonly string[] = [
  "X-Content-Type-Options",
  "nosniff",
  "Content-Security-Policy",
  "default-src 'none'; frame-ancestors 'none'",
  "Cache-Control",
  "no-store",
];

function replyOf(route: AdminRoute, { value, isNegative = false }: Answer): HttpReply {
  const { path, status = 200, negativeStatus = status, contentType } = route;
  return {
    status: isNegative ? negativeStatus : status,
    headers: [...guardHeaders, "Content-Type", contentType ?? "application/json"],
    body: contentType === undefined ? JSON.stringify(value) : String(value),
    route: path,
  };
}

function findRoute(request: HttpRequest): { route: AdminRoute; name: string } {
  const path = pathOf(request.target);
  const method = request.method === "HEAD" ? "GET" : request.method;
  const allowed: string[] = [];
  for (const route of adminRoutes) {
    const name = match(route.path, path);
    if (name === undefined) continue;
    if (route.method === method) return { route, name };
    allowed.push(route.method);
  }
  throw allowed.length > 0 ? adminMethodNotAllowed(request.method, allowed) : noSuchAdminPath;
}

/** The parameter of a matching path, empty if the route has none; undefined if the path does not match. */
function match(template: string, path: string): string | undefined {
  const given = path.split("/");
  const wanted = template.split("/");
  if (given.length !== wanted.length) return undefined;
  let name = "";
  for (const [index, segment] of wanted.entries()) {
    if (segment.startsWith("<")) name = given[index] ?? "";
    else if (segment !== given[index]) return undefined;
  }
  return name;
}

function readBody(request: HttpRequest): unknown {
  if (request.body.length === 0) return undefined;
  try {
    return parseJson(request.body);
  } catch (error) {
    if (error instanceof JsonTooLarge) throw bodyTooLargeToParse(error);
    throw adminBodyNotJson;
  }
}

function readNew(body: unknown, kind: TenantKind): { name: string; description: Readonly<Record<string, unknown>> } {
  const malformed = adminBodyMalformed(isDescribed[kind]);
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw malformed;
  const { name, ...description }: { name?: unknown } = body;
  if (typeof name !== "string") throw malformed;
  const isUnknown = Object.keys(description).some((field) => field !== "shard");
  if (!isDescribed[kind] && isUnknown) throw malformed;
  return { name, description };
}
