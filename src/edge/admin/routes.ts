/**
 * The admin port: health, version, metrics and the administration of
 * databases, indexes and users. It listens on an address of its own, loopback
 * unless configured, and everything that tells or changes anything needs the
 * admin token in a header, so that a page in the operator's browser cannot use
 * it (threats S-14).
 *
 * A route reads what was sent and makes one call on `Administration`.
 */
import { JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import type { TokenTable } from "../auth.ts";
import {
  adminBodyMalformed,
  adminBodyNotJson,
  adminMethodNotAllowed,
  bodyTooLargeToParse,
  internalFailure,
  noSuchAdminPath,
  nothingToBackUp,
  RequestFailure,
  unauthorized,
} from "../errors.ts";
import type { HttpReply, HttpRequest, HttpService } from "../handler.ts";
import { failureReply } from "../respond.ts";

export interface Readiness {
  readonly isReady: boolean;
  /** Every area has served once: what keeps it from being ready now is no long start. */
  readonly hasStarted: boolean;
  /** Area to its state, such as `serving` or `replaying`. */
  readonly areas: Readonly<Record<string, string>>;
  /** Why not, a short sentence each. */
  readonly reasons: readonly string[];
}

export interface VersionFacts {
  readonly version: string;
  readonly node: string;
  /** The newest format of each kind of file that this version writes. */
  readonly formats: Readonly<Record<string, number>>;
}

/** What is administered at run time, as its paths call it. */
export const tenantKinds = ["databases", "indexes", "users"] as const;

export type TenantKind = (typeof tenantKinds)[number];

/** `databases` to what one of them is called. */
const oneOf = { databases: "Database", indexes: "Index", users: "User" } as const satisfies Record<TenantKind, string>;

/** Whether more than a name may be said of a new one. */
export const isDescribed: Readonly<Record<TenantKind, boolean>> = { databases: false, indexes: true, users: false };

export interface TenantFacts {
  readonly name: string;
  /** Who decides that it exists: `configuration`, `environment`, `larder dev`, `data directory`, or `unlisted`: nobody does. */
  readonly source: string;
  /** What it is, where it was described. */
  readonly [fact: string]: unknown;
}

export interface TenantTokens {
  readonly name: string;
  readonly token: string;
  readonly readOnlyToken: string;
}

/** A directory inside the data directory from which a backup file can be made. */
export interface BackupMade {
  /** Its name there. */
  readonly directory: string;
  /** Each with the position up to which it has everything. */
  readonly areas: readonly { readonly name: string; readonly position: number }[];
}

/** What was asked to be changed, for whoever keeps account of it. Never holds a token. */
export interface AdminChange {
  /** Such as `databases.create`. */
  readonly action: string;
  /** The name that was sent, as it was. */
  readonly subject: string | undefined;
  /** The address that asked. */
  readonly caller: string;
  readonly outcome: "done" | "refused" | "failed";
  /** The kind of the refusal. */
  readonly reason?: string;
}

/** What the admin port may ask of the program. Refusals are thrown as `RequestFailure`. */
export interface Administration {
  readiness(): Readiness;
  readonly version: VersionFacts;
  /** Prometheus text. */
  metrics(): Promise<string>;
  /** What the server has and does, as JSON. */
  stats(): Promise<object>;
  /** Begins a snapshot of each area. False where nothing is kept. */
  snapshot(): boolean;
  listTenants(kind: TenantKind): Promise<readonly TenantFacts[]>;
  /** `description`: what was sent besides the name; nothing of it is checked yet. */
  createTenant(kind: TenantKind, name: string, description?: Readonly<Record<string, unknown>>): Promise<TenantTokens>;
  deleteTenant(kind: TenantKind, name: string): Promise<void>;
  resetPassword(kind: TenantKind, name: string): Promise<TenantTokens>;
  /** Makes a backup of everything that was acknowledged before. Absent where nothing is kept. */
  backUp?(): Promise<BackupMade>;
  /** Empties all areas. Absent outside dev. */
  reset?(): Promise<void>;
  /** Told of each change, and of each that was refused, before it is answered. Not of callers without the token. */
  onChange?(change: AdminChange): void;
  /** A fault of ours while answering request `id`. */
  onFault(fault: unknown, id: string): void;
}

/** Bodies are names and descriptions; there is nothing large to send. */
const ADMIN_BODY_BYTES_MAX = 16 * 1_024;

export interface AdminRoute<Id extends string = string> {
  /** The operation in the OpenAPI document, which has a description for each id (openapi/admin.ts). */
  readonly id: Id;
  readonly method: "GET" | "POST" | "DELETE";
  /** A segment in angle brackets is a parameter. */
  readonly path: string;
  readonly summary: string;
  /** Open routes tell nothing that a stranger may not know. */
  readonly access: "open" | "admin";
  /** What it changes, as the audit log calls it. */
  readonly changes?: string;
  /** The status of success; 200 if absent. */
  readonly status?: 201 | 202;
  /** The status if the answer is no. */
  readonly negativeStatus?: 503;
  /** The type of the answer, whose value is then a string; JSON if absent. */
  readonly contentType?: string;
  handle(call: { administration: Administration; name: string; body: unknown }): Promise<Answer> | Answer;
}

interface Answer {
  readonly value: unknown;
  /** The answer is no. */
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
      summary: "whether the process answers",
      access: "open",
      handle: () => ({ value: { status: "live" } }),
    },
    {
      id: "isReady",
      method: "GET",
      path: "/health/ready",
      summary: "whether every area serves",
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
      summary: "whether every area has served since the start",
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
      summary: "what runs",
      access: "open",
      handle: ({ administration }) => ({ value: administration.version }),
    },
    {
      id: "getMetrics",
      method: "GET",
      path: "/metrics",
      summary: "all figures, for Prometheus",
      access: "open",
      contentType: "text/plain; version=0.0.4; charset=utf-8",
      handle: async ({ administration }) => ({ value: await administration.metrics() }),
    },
  ]),
  ...tenantKinds.flatMap(tenantRoutes),
  ...adminRows([
    {
      id: "getStats",
      method: "GET",
      path: "/v1/stats",
      summary: "what the server has and does: the figures that somebody asks for first",
      access: "admin",
      handle: async ({ administration }) => ({ value: await administration.stats() }),
    },
    {
      id: "makeSnapshot",
      method: "POST",
      path: "/v1/snapshot",
      summary: "begins a snapshot of each area, which shortens the next start",
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
      summary: "makes a directory of links inside the data directory, from which larder backup makes its file",
      access: "admin",
      changes: "backup",
      async handle({ administration }) {
        if (administration.backUp === undefined) throw nothingToBackUp;
        return { value: await administration.backUp() };
      },
    },
    {
      id: "reset",
      method: "POST",
      path: "/reset",
      summary: "empties every area; of a development server alone",
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
      id: `list${one}s` as const,
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
      summary: `creates one of the ${kind}`,
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
      summary: `deletes one of the ${kind} and all its data`,
      access: "admin",
      changes: `${kind}.delete`,
      async handle({ administration, name }) {
        await administration.deleteTenant(kind, name);
        return { value: { name } };
      },
    },
    {
      id: `reset${one}Password` as const,
      method: "POST",
      path: `/v1/${kind}/<name>/reset-password`,
      summary: "gives it new tokens and refuses the old ones",
      access: "admin",
      changes: `${kind}.reset-password`,
      handle: async ({ administration, name }) => ({ value: await administration.resetPassword(kind, name) }),
    },
  ]);
}

/** The admin port as an area of its own. `tokens` holds the admin token. */
export function adminArea(administration: Administration, tokens: TokenTable): HttpService {
  return {
    bodyBytesMax: () => ADMIN_BODY_BYTES_MAX,
    async handle(request) {
      let path = "unknown";
      try {
        const found = findRoute(request);
        path = found.route.path;
        if (
          found.route.access === "admin" &&
          tokens.findByHeader(request.header("authorization") ?? "")?.access !== "standard"
        ) {
          throw unauthorized;
        }
        return replyOf(found.route, await handleRoute(found, request, administration));
      } catch (failure) {
        if (failure instanceof RequestFailure) return { ...failureReply(failure, guardHeaders), route: path };
        administration.onFault(failure, request.id);
        return { ...failureReply(internalFailure(request.id), guardHeaders), route: path };
      }
    },
  };
}

/** Handles a request that may be handled, and tells what it changed. */
async function handleRoute(
  { route, name }: { route: AdminRoute; name: string },
  request: HttpRequest,
  administration: Administration,
): Promise<Answer> {
  let body: unknown;
  const tell = (outcome: AdminChange["outcome"], reason?: string): void => {
    if (route.changes === undefined) return;
    const subject = name === "" ? nameIn(body) : name;
    const change = { action: route.changes, subject, caller: request.remoteAddress, outcome };
    administration.onChange?.({ ...change, ...(reason !== undefined && { reason }) });
  };
  try {
    body = readBody(request);
    const answer = await route.handle({ administration, name, body });
    tell("done");
    return answer;
  } catch (failure) {
    if (failure instanceof RequestFailure) tell("refused", failure.kind);
    else tell("failed");
    throw failure;
  }
}

function nameIn(body: unknown): string | undefined {
  const name = typeof body === "object" && body !== null && "name" in body ? body.name : undefined;
  return typeof name === "string" ? name : undefined;
}

/** For a browser that got here by mistake or by malice: nothing to guess, nothing to run, nothing to keep. */
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
  const path = request.target.split("?", 1)[0] ?? "";
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

/** The parameter of a matching path, empty for a route without one; undefined: it does not match. */
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
  if (!isDescribed[kind] && Object.keys(description).length > 0) throw malformed;
  return { name, description };
}
