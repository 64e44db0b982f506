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

/** Whether more than a name may be said of a new one. */
const isDescribed: Readonly<Record<TenantKind, boolean>> = { databases: false, indexes: true, users: false };

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

const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

export interface AdminRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** A segment in angle brackets is a parameter. */
  readonly path: string;
  /** Open routes tell nothing that a stranger may not know. */
  readonly access: "open" | "admin";
  /** What it changes, as the audit log calls it. */
  readonly changes?: string;
  handle(call: { administration: Administration; name: string; body: unknown }): Promise<Answer> | Answer;
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly body: string;
}

export const adminRoutes: readonly AdminRoute[] = [
  { method: "GET", path: "/health/live", access: "open", handle: () => json(200, { status: "live" }) },
  {
    method: "GET",
    path: "/health/ready",
    access: "open",
    handle({ administration }) {
      const { isReady, areas, reasons } = administration.readiness();
      return json(isReady ? 200 : 503, { status: isReady ? "ready" : "not ready", areas, reasons });
    },
  },
  {
    method: "GET",
    path: "/health/startup",
    access: "open",
    handle({ administration }) {
      const { hasStarted, areas } = administration.readiness();
      return json(hasStarted ? 200 : 503, { status: hasStarted ? "started" : "starting", areas });
    },
  },
  {
    method: "GET",
    path: "/version",
    access: "open",
    handle: ({ administration }) => json(200, administration.version),
  },
  {
    method: "GET",
    path: "/metrics",
    access: "open",
    handle: async ({ administration }) => ({ status: 200, type: TEXT_FORMAT, body: await administration.metrics() }),
  },
  ...tenantKinds.flatMap(tenantRoutes),
  {
    method: "GET",
    path: "/v1/stats",
    access: "admin",
    handle: async ({ administration }) => json(200, await administration.stats()),
  },
  {
    method: "POST",
    path: "/v1/snapshot",
    access: "admin",
    changes: "snapshot",
    handle({ administration }) {
      if (!administration.snapshot()) throw nothingToBackUp;
      return json(202, { status: "started" });
    },
  },
  {
    method: "POST",
    path: "/v1/backup",
    access: "admin",
    changes: "backup",
    async handle({ administration }) {
      if (administration.backUp === undefined) throw nothingToBackUp;
      return json(200, await administration.backUp());
    },
  },
  {
    method: "POST",
    path: "/reset",
    access: "admin",
    changes: "reset",
    async handle({ administration }) {
      if (administration.reset === undefined) throw noSuchAdminPath;
      await administration.reset();
      return json(200, { status: "reset" });
    },
  },
];

function tenantRoutes(kind: TenantKind): readonly AdminRoute[] {
  return [
    {
      method: "GET",
      path: `/v1/${kind}`,
      access: "admin",
      handle: async ({ administration }) => json(200, { [kind]: await administration.listTenants(kind) }),
    },
    {
      method: "POST",
      path: `/v1/${kind}`,
      access: "admin",
      changes: `${kind}.create`,
      async handle({ administration, body }) {
        const { name, description } = readNew(body, kind);
        return json(201, await administration.createTenant(kind, name, description));
      },
    },
    {
      method: "DELETE",
      path: `/v1/${kind}/<name>`,
      access: "admin",
      changes: `${kind}.delete`,
      async handle({ administration, name }) {
        await administration.deleteTenant(kind, name);
        return json(200, { name });
      },
    },
    {
      method: "POST",
      path: `/v1/${kind}/<name>/reset-password`,
      access: "admin",
      changes: `${kind}.reset-password`,
      handle: async ({ administration, name }) => json(200, await administration.resetPassword(kind, name)),
    },
  ];
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
        const { status, type, body: text } = await handleRoute(found, request, administration);
        return reply(status, type ?? "application/json", text, path);
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

function reply(status: number, type: string, body: string, route: string): HttpReply {
  return { status, headers: [...guardHeaders, "Content-Type", type], body, route };
}

function json(status: number, value: unknown): Answer {
  return { status, body: JSON.stringify(value) };
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
