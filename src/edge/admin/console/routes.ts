/**
 * The API of the console, `/console/api/…`: a login, what its pages need of the
 * server, and the ways to the areas and to the admin routes.
 *
 * Checks in order: the caller, path and method, the CSRF token, the route.
 *
 * (1) In dev only clients on this machine are answered, and a request that a proxy
 *     has passed on is not from one. In serve everything but the pages, the login
 *     and the state of the session needs a session.
 * (2) A change needs the CSRF token of its session in a header, which a page of
 *     another origin can neither read nor send. The method does not matter: `GET
 *     /set/key/value` is a change. A login needs none: it proves itself by the
 *     admin token, which another page does not know.
 * (3) The admin token is in no answer. Tokens of tenants are only in answers that
 *     the admin routes give too, and in dev in the environment block.
 * (4) Each change is in the audit log, with the name of its route and its tenant.
 */

import { bytesFromText } from "../../../kernel/bytes.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { parseJson } from "../../../kernel/json/document.ts";
import type { TokenTable } from "../../auth.ts";
import {
  areaNotServing,
  consoleBodyMalformed,
  consoleCsrfMissing,
  consoleMethodNotAllowed,
  consoleNeedsLogin,
  consoleOnlyHere,
  consoleTokenWrong,
  internalFailure,
  noSuchConsolePath,
  RequestFailure,
  tenantMissing,
  tooManyConsoleStreams,
  tooManyLogins,
} from "../../errors.ts";
import type { HttpReply, HttpRequest, HttpService, HttpStream, RequestHead } from "../../handler.ts";
import { isLoopbackAddress } from "../../http/trusted-proxies.ts";
import { REFUSAL_STATUS_MIN } from "../../refusal.ts";
import { failureReply, statusOf } from "../../respond.ts";
import { WrappedRequest } from "../../wrapped-request.ts";
import {
  type AdminChange,
  type Administration,
  adminAreaFor,
  guardHeaders,
  type TenantKind,
  tenantKinds,
} from "../routes.ts";
import { type AreaPlace, answerHeaders, passOn, type StreamGuard } from "./area-client.ts";
import { LoginAttempts } from "./attempts.ts";
import { type CallFacts, type ConsoleArea, factsOfCall } from "./calls.ts";
import { type ConsoleFiles, pageReply } from "./pages.ts";
import { type ConsoleSession, ConsoleSessions, isSameSecret, newSecret, sessionCookie } from "./sessions.ts";

/** The names of the OpenAPI documents. */
export const documentNames = ["store", "vector", "messaging", "admin", "console"] as const;

export type DocumentName = (typeof documentNames)[number];

/** What the console needs of the program. */
export interface ConsoleProgram {
  readonly mode: "dev" | "serve";
  readonly version: string;
  /** The files of the pages; undefined: they are not built. */
  files(): ConsoleFiles | undefined;
  /** The public addresses of the areas, as far as they are known yet. */
  addresses(): Readonly<Record<string, string>>;
  /** Undefined until the area listens. */
  placeOf(area: ConsoleArea): AreaPlace | undefined;
  /** The standard token of a tenant. */
  tokenOf(kind: TenantKind, name: string): string | undefined;
  /** The OpenAPI document of an area, of the admin port or of this API. */
  document(name: DocumentName): Promise<string>;
  /** For the page Home. */
  overview(): Promise<object>;
  /** The variables of the official clients for a tenant; undefined: there is no such tenant. */
  environment(kind: TenantKind, name: string): Readonly<Record<string, string>> | undefined;
}

export interface ConsoleOptions {
  readonly program: ConsoleProgram;
  readonly administration: Administration;
  /** The table with the admin token. */
  readonly tokens: TokenTable;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Whether the admin port speaks TLS. */
  readonly isEncrypted: boolean;
}

interface ConsoleCall {
  readonly request: HttpRequest;
  readonly session: ConsoleSession | undefined;
  /** The segments that the path names, decoded. */
  readonly names: readonly string[];
  /** The part of the path in the place of `*`, as written. */
  readonly rest: string;
  /** As written, with the `?`; empty without one. */
  readonly query: string;
}

export interface ConsoleRoute<Id extends string = string> {
  /** The operation in the OpenAPI document, which has a description for each id (openapi/console.ts). */
  readonly id: Id;
  /** `ANY`: all methods; the route has its own check of (2). */
  readonly method: "GET" | "POST" | "ANY";
  /** A segment in angle brackets is a parameter; `*` is the rest of the path. */
  readonly path: string;
  readonly summary: string;
  /** Open routes need no session. */
  readonly access: "open" | "session";
  /** It needs no CSRF token, although it is not a GET. keeps (2) */
  readonly needsNoCsrf?: true;
  handle(service: Console, call: ConsoleCall): Promise<HttpReply | HttpStream> | HttpReply | HttpStream;
}

/** The kind of an area's tenants. */
const kindOf: Readonly<Record<ConsoleArea, TenantKind>> = { store: "databases", vector: "indexes", messaging: "users" };
const nounOf: Readonly<Record<TenantKind, string>> = { databases: "database", indexes: "index", users: "user" };

/** Rows with their ids as types, so that an id without a description does not compile. */
function consoleRows<Id extends string>(rows: readonly ConsoleRoute<Id>[]): readonly ConsoleRoute<Id>[] {
  return rows;
}

export const consoleRoutes = consoleRows([
  {
    id: "getConsoleDocument",
    method: "GET",
    path: "/console/api/openapi.json",
    summary: "returns the OpenAPI document of the console",
    access: "open",
    handle: (service) => service.document("console"),
  },
  {
    id: "getAreaDocument",
    method: "GET",
    path: "/console/api/openapi/<area>",
    summary: "returns the OpenAPI document of an area or of the admin port",
    access: "session",
    handle: (service, { names: [area = ""] }) => service.document(area),
  },
  {
    id: "getSession",
    method: "GET",
    path: "/console/api/session",
    summary: "returns whether the browser is logged in, its CSRF token, and the tenants",
    access: "open",
    handle: (service, call) => service.describeSession(call),
  },
  {
    id: "logIn",
    method: "POST",
    path: "/console/api/login",
    summary: "opens a session with the admin token in the body, `{token}`",
    access: "open",
    needsNoCsrf: true,
    handle: (service, call) => service.logIn(call),
  },
  {
    id: "logOut",
    method: "POST",
    path: "/console/api/logout",
    summary: "ends the session",
    access: "session",
    handle: (service, call) => service.logOut(call),
  },
  {
    id: "getOverview",
    method: "GET",
    path: "/console/api/overview",
    summary: "returns the state of the server and its areas, and the last problems",
    access: "session",
    handle: async (service) => json(await service.options.program.overview()),
  },
  {
    id: "getEnvironment",
    method: "GET",
    path: "/console/api/env/<kind>/<name>",
    summary: "returns the variables of a tenant, as `larder env` does; in serve with placeholders for secrets",
    access: "session",
    handle: (service, call) => service.environment(call),
  },
  {
    id: "reveal",
    method: "POST",
    path: "/console/api/reveal",
    summary: "notes in the audit log that a masked value, `{what}`, is shown",
    access: "session",
    handle: (service, call) => service.reveal(call),
  },
  {
    id: "callAdmin",
    method: "ANY",
    path: "/console/api/admin/*",
    summary: "calls a route of the admin port",
    access: "session",
    handle: (service, call) => service.callAdmin(call),
  },
  areaRow("callStore", "store"),
  areaRow("callVector", "vector"),
  areaRow("callMessaging", "messaging"),
]);

export type ConsoleOperationId = (typeof consoleRoutes)[number]["id"];

function areaRow<Id extends string>(id: Id, area: ConsoleArea): ConsoleRoute<Id> {
  return {
    id,
    method: "ANY",
    path: `/console/api/${area}/<name>/*`,
    summary: `calls a route of ${area} with the standard token of the ${nounOf[kindOf[area]]}`,
    access: "session",
    handle: (service, call) => service.callArea(area, call),
  };
}

const API = "/console/api";
const NAMES_SHOWN_CHARACTERS = 80;
/** Event streams of all browsers together. */
const STREAMS_MAX = 100;

/** The service of `/console`. */
export function consoleService(options: ConsoleOptions): HttpService {
  return new Console(options);
}

class Console implements HttpService {
  readonly options: ConsoleOptions;
  readonly #sessions: ConsoleSessions;
  readonly #attempts: LoginAttempts;
  /** Of callers without a session: in dev of everyone. */
  readonly #csrf = newSecret();
  readonly #admin: HttpService;
  #streamCount = 0;

  constructor(options: ConsoleOptions) {
    this.options = options;
    this.#sessions = new ConsoleSessions(options.clock);
    this.#attempts = new LoginAttempts(options.clock);
    options.tokens.onRemoved(() => this.#sessions.endAll());
    this.#admin = adminAreaFor(options.administration, { admits: () => true, callerOf });
  }

  bodyBytesMax(): number {
    return 0; // The mount decides, because it is asked before this code is loaded.
  }

  refuseEarly(head: RequestHead): HttpReply | undefined {
    try {
      this.#checkCaller(head);
      const { route } = findRoute(head);
      const session = this.#admit(route, head);
      if (!isSafe(head) && route.needsNoCsrf !== true) this.#checkCsrf(head, session);
      return undefined;
    } catch (failure) {
      return this.#refusal(failure, head.id);
    }
  }

  readonly handle = (request: HttpRequest): HttpReply | HttpStream | Promise<HttpReply | HttpStream> => {
    try {
      this.#checkCaller(request);
      const path = pathOf(request.target);
      if (path !== API && !path.startsWith(`${API}/`)) return pageReply(request, path, this.options.program.files());
      const { route, ...found } = findRoute(request);
      const session = this.#admit(route, request);
      if (!isSafe(request) && route.needsNoCsrf !== true) this.#checkCsrf(request, session);
      const answer = route.handle(this, { request, session, ...found });
      if (!(answer instanceof Promise)) return { ...answer, route: route.path };
      return answer.then(
        (late) => ({ ...late, route: route.path }),
        (failure: unknown) => this.#refusal(failure, request.id),
      );
    } catch (failure) {
      return this.#refusal(failure, request.id);
    }
  };

  async document(given: string): Promise<HttpReply> {
    const name = documentNames.find((each) => each === given);
    if (name === undefined) throw noSuchConsolePath;
    return { ...json({}), body: await this.options.program.document(name) };
  }

  /** It waits for no area: the first request of a page must be answered while an area is opening or busy, too. */
  describeSession({ session }: ConsoleCall): HttpReply {
    const { program, administration } = this.options;
    const { mode, version } = program;
    const isIn = this.#isIn(session);
    const names = (kind: TenantKind): readonly string[] => administration.knownTenants(kind).map(({ name }) => name);
    return json({
      ...{ mode, loggedIn: isIn, csrf: session?.csrf ?? this.#csrf },
      ...(isIn && {
        version,
        addresses: program.addresses(),
        tenants: Object.fromEntries(tenantKinds.map((kind) => [kind, names(kind)])),
      }),
    });
  }

  logIn({ request }: ConsoleCall): HttpReply {
    const { program, tokens, isEncrypted } = this.options;
    const address = request.remoteAddress;
    const waitMs = this.#attempts.waitMs(address);
    if (waitMs > 0) throw tooManyLogins(Math.ceil(waitMs / 1_000));
    const token = textIn(request, "token");
    if (tokens.find(bytesFromText(token))?.access !== "standard") {
      this.#attempts.noteWrong(address);
      this.#note({ action: "console.login", request, outcome: "refused", reason: "wrong token" });
      throw consoleTokenWrong;
    }
    this.#note({ action: "console.login", request, outcome: "done" });
    if (program.mode === "dev") return json({ ok: true, csrf: this.#csrf });
    const { id, session } = this.#sessions.open();
    const isSecure = isEncrypted || request.header("origin")?.startsWith("https:") === true;
    return json({ ok: true, csrf: session.csrf }, ["Set-Cookie", sessionCookie(id, { isSecure })]);
  }

  logOut({ request, session }: ConsoleCall): HttpReply {
    if (session !== undefined) this.#sessions.end(session);
    this.#note({ action: "console.logout", request, outcome: "done" });
    return json({ ok: true }, ["Set-Cookie", sessionCookie("", { isSecure: this.options.isEncrypted })]);
  }

  environment({ names: [given = "", name = ""] }: ConsoleCall): HttpReply {
    const kind = tenantKinds.find((each) => each === given);
    if (kind === undefined) throw noSuchConsolePath;
    const variables = this.options.program.environment(kind, name);
    if (variables === undefined) throw tenantMissing(nounOf[kind], shown(name));
    return json({ variables });
  }

  reveal({ request }: ConsoleCall): HttpReply {
    this.#note({ action: "console.reveal", request, subject: shown(textIn(request, "what")), outcome: "done" });
    return json({ ok: true });
  }

  /** keeps (4): the admin routes note their changes themselves. */
  async callAdmin({ request, rest, query }: ConsoleCall): Promise<HttpReply | HttpStream> {
    const reply = await this.#admin.handle(new WrappedRequest(request, { target: `/${rest}${query}` }));
    return { ...reply, headers: [...answerHeaders, ...reply.headers.slice(guardHeaders.length)] };
  }

  async callArea(area: ConsoleArea, call: ConsoleCall): Promise<HttpReply | HttpStream> {
    const { request, session, names, rest, query } = call;
    const { program } = this.options;
    const [name = ""] = names;
    const { method, body } = request;
    const facts = factsOfCall[area]({ method, path: `/${rest}`, body });
    if (isSafe(request) && !facts.isRead) this.#checkCsrf(request, session); // keeps (2)
    const kind = kindOf[area];
    const token = program.tokenOf(kind, name);
    if (token === undefined) throw tenantMissing(nounOf[kind], shown(name));
    const place = program.placeOf(area);
    if (place === undefined) throw areaNotServing(area);
    const note = (status: number): void => this.#noteCall({ area, name, request, facts }, status);
    try {
      const passed = { area, place, token, target: `/${rest}${query}`, route: area };
      const { status, reply } = await passOn(request, passed, this.#guardOf(session));
      note(status);
      return "open" in reply ? this.#countStream(reply) : reply;
    } catch (failure) {
      note(failure instanceof RequestFailure ? statusOf(failure.kind) : statusOf("internal"));
      throw failure;
    }
  }

  /** keeps (1) */
  #checkCaller(head: RequestHead): void {
    if (this.options.program.mode !== "dev") return;
    const isPassedOn = head.header("x-forwarded-for") !== undefined || head.header("forwarded") !== undefined;
    if (isPassedOn || !isLoopbackAddress(head.remoteAddress)) throw consoleOnlyHere;
  }

  /** keeps (1). The session of the request, if it has one. */
  #admit({ access }: ConsoleRoute, head: RequestHead): ConsoleSession | undefined {
    const session = this.#sessions.find(head.header("cookie"));
    if (access === "session" && !this.#isIn(session)) throw consoleNeedsLogin;
    return session;
  }

  #isIn(session: ConsoleSession | undefined): boolean {
    return session !== undefined || this.options.program.mode === "dev";
  }

  /** keeps (2) */
  #checkCsrf(head: RequestHead, session: ConsoleSession | undefined): void {
    if (!isSameSecret(head.header("x-larder-csrf") ?? "", session?.csrf ?? this.#csrf)) throw consoleCsrfMissing;
  }

  #guardOf(session: ConsoleSession | undefined): StreamGuard {
    return {
      isAlive: () => session === undefined || this.#sessions.isAlive(session),
      onEnd: (end) => session?.onEnd(end) ?? (() => {}),
    };
  }

  #countStream(stream: HttpStream): HttpStream {
    if (this.#streamCount >= STREAMS_MAX) {
      stream.open({ write: () => true, queuedBytes: 0, end: () => {}, abort: () => {} })();
      throw tooManyConsoleStreams(STREAMS_MAX);
    }
    return {
      ...stream,
      open: (sink) => {
        this.#streamCount += 1;
        const close = stream.open(sink);
        return () => {
          this.#streamCount -= 1;
          close();
        };
      },
    };
  }

  /** keeps (4) */
  #noteCall(
    { area, name, request, facts }: { area: string; name: string; request: HttpRequest; facts: CallFacts },
    status: number,
  ): void {
    if (facts.isRead) return;
    const action = `console.${area} ${facts.name}`;
    const outcome = status < REFUSAL_STATUS_MIN ? "done" : "refused";
    this.#note({
      action,
      request,
      subject: name,
      outcome,
      ...(outcome === "refused" && { reason: `status ${status}` }),
    });
  }

  #note({
    request,
    ...change
  }: Omit<AdminChange, "caller" | "subject"> & { subject?: string; request: HttpRequest }): void {
    this.options.administration.onChange?.({ subject: undefined, ...change, caller: callerOf(request) });
  }

  #refusal(failure: unknown, id: string): HttpReply {
    if (failure instanceof RequestFailure) return { ...failureReply(failure, answerHeaders), route: "console refused" };
    this.options.administration.onFault(failure, id);
    return { ...failureReply(internalFailure(id), answerHeaders), route: "console failed" };
  }
}

function callerOf({ remoteAddress }: RequestHead): string {
  return `console ${remoteAddress}`;
}

function isSafe({ method }: RequestHead): boolean {
  return method === "GET" || method === "HEAD";
}

function json(value: object, headers: readonly string[] = []): HttpReply {
  const all = [...answerHeaders, "Content-Type", "application/json", ...headers];
  return { status: 200, headers: all, body: JSON.stringify(value) };
}

/** A field of a body that is an object with only that field, a string. */
function textIn({ body }: HttpRequest, field: string): string {
  let given: unknown;
  try {
    given = parseJson(body);
  } catch {
    given = undefined;
  }
  const value: unknown =
    typeof given === "object" && given !== null
      ? Object.entries(given).find(([name]) => name === field)?.[1]
      : undefined;
  if (typeof value !== "string" || value === "") throw consoleBodyMalformed(`{"${field}": "…"}`);
  return value;
}

/** A text of the caller, for errors and the log. */
function shown(text: string): string {
  return text.slice(0, NAMES_SHOWN_CHARACTERS);
}

function pathOf(target: string): string {
  return target.split("?", 1)[0] ?? "";
}

function findRoute({
  method,
  target,
}: RequestHead): Omit<ConsoleCall, "request" | "session"> & { route: ConsoleRoute } {
  const path = pathOf(target);
  const wanted = method === "HEAD" ? "GET" : method;
  const allowed: string[] = [];
  for (const route of consoleRoutes) {
    const matched = match(route.path, path);
    if (matched === undefined) continue;
    if (route.method === wanted || route.method === "ANY")
      return { route, ...matched, query: target.slice(path.length) };
    allowed.push(route.method);
  }
  throw allowed.length > 0 ? consoleMethodNotAllowed(method, allowed.join(" or ")) : noSuchConsolePath;
}

function match(template: string, path: string): Pick<ConsoleCall, "names" | "rest"> | undefined {
  const names: string[] = [];
  let start = 1;
  for (const segment of template.slice(1).split("/")) {
    if (start > path.length && segment !== "*") return undefined;
    if (segment === "*") return { names, rest: path.slice(start) };
    const slash = path.indexOf("/", start);
    const given = path.slice(start, slash < 0 ? path.length : slash);
    if (segment.startsWith("<")) names.push(decodedName(given));
    else if (segment !== given) return undefined;
    start += given.length + 1;
  }
  return start > path.length ? { names, rest: "" } : undefined;
}

function decodedName(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw noSuchConsolePath;
  }
}
