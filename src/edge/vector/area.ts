/**
 * Area B, the vector index, over HTTP.
 *
 * Checks in order: token, method, path, whether the token belongs to the index of
 * the path, rights of a read-only token, rate, route. A route turns a request into
 * one call of the index and prints its answer; `respond.ts` turns failures of the
 * index into a status. Every answer is `{"result": …}`, every failure
 * `{"error": text, "status": number}`.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Turns } from "../../kernel/turns.ts";
import { type IndexApi, type VectorApi, VectorFailure, type VectorLimits } from "../../vector/mod.ts";
import { type Grant, type TokenOwner, type TokenTable, tokenOwnerOf } from "../auth.ts";
import {
  burstExceeded,
  namespaceNotTaken,
  noSuchVectorPath,
  RequestFailure,
  readOnlyTokenRefused,
  vectorMethodNotAllowed,
  vectorUnauthorized,
} from "../errors.ts";
import type { HttpReply, HttpRequest, HttpService, RequestHead } from "../handler.ts";
import { corsHeaders, isPreflight, preflightReply } from "../http/cors.ts";
import { inTurn } from "../limits/in-turn.ts";
import type { RateLimiter } from "../limits/rate-limit.ts";
import { HeaderSet } from "../names.ts";
import { bodyBytes, numberedRefusalReply } from "../respond.ts";
import type { JsonBody } from "./json-writer.ts";
import { readNamespace, splitVectorPath } from "./path.ts";
import { type VectorRoute, vectorRouteName } from "./route.ts";
import { vectorRoutes } from "./routes.ts";

export interface VectorAreaOptions {
  readonly vector: VectorApi;
  readonly tokens: TokenTable;
  /** Absent: requests per second are not limited. */
  readonly limiter?: RateLimiter;
  /** Whether pages of other origins may send requests. */
  readonly cors: boolean;
  readonly limits: VectorLimits;
  readonly clock: Pick<Clock, "nowMs">;
  /** The turns of tenants on the thread. */
  readonly turns: Turns;
}

interface VectorHead {
  readonly authorization: string | undefined;
  readonly hasOrigin: boolean;
}

/** A valid target of a request. */
interface Place {
  readonly route: VectorRoute;
  /** The name of the route. */
  readonly name: string;
  /** The name of an index before the command. */
  readonly indexName: string | undefined;
  readonly namespace: string;
  /** As written, without the `?`. */
  readonly query: string;
}

/** What the area has learnt from a head. Its token is looked up for each request. */
class LearntHead {
  readonly head: VectorHead;
  /** Undefined until a request with this head was admitted. */
  place: Place | undefined;

  constructor(head: VectorHead) {
    this.head = head;
  }
}

/** A request that this token may make. */
interface Admission {
  readonly grant: Grant;
  readonly place: Place;
}

/** Route name of requests that were refused before a route was found. */
const REFUSED = "B refused";

/** Clients send POST to every path, the interface documents name other methods (B.methods): all are the same. */
const methods: readonly string[] = ["POST", "GET", "PUT", "DELETE", "HEAD"];
const PREFLIGHT_METHODS = "GET, HEAD, POST, PUT, DELETE";

const routeByCommand = new Map<string, VectorRoute>(vectorRoutes.map((route) => [route.command, route]));
const isCommand = (segment: string): boolean => routeByCommand.has(segment);
const headers = new HeaderSet(["authorization", "origin"]);
const NO_HEADERS: readonly string[] = [];

export class VectorArea implements HttpService {
  readonly #options: VectorAreaOptions;

  constructor(options: VectorAreaOptions) {
    this.#options = options;
  }

  bodyBytesMax(): number {
    return this.#options.limits.requestBytesMax;
  }

  refuseEarly(request: RequestHead): HttpReply | undefined {
    const learnt = learntHeadOf(request);
    const { head } = learnt;
    try {
      const { grant } = this.#admit(request, learnt);
      const index = this.#options.vector.index(grant.tenant);
      const overShare = index === undefined ? undefined : request.claim?.(index);
      if (overShare !== undefined) throw overShare;
      return undefined;
    } catch (thrown) {
      return this.#refusal(thrown, head);
    }
  }

  refusal(failure: RequestFailure): HttpReply {
    return numberedRefusalReply(failure);
  }

  /** Whose token a request has, among those of a table. */
  tokenOwner(request: RequestHead, tokens: TokenTable): TokenOwner {
    const { authorization } = learntHeadOf(request).head;
    return authorization === undefined ? { kind: "none" } : tokenOwnerOf(tokens.findByHeader(authorization));
  }

  readonly handle = (request: HttpRequest): HttpReply | Promise<HttpReply> => {
    const learnt = learntHeadOf(request);
    const { head } = learnt;
    if (head.hasOrigin && this.#options.cors && isPreflight(request)) return preflightReply(request, PREFLIGHT_METHODS);
    let name = REFUSED;
    try {
      const admission = this.#admit(request, learnt);
      name = admission.place.name;
      this.#count(admission.grant);
      const tenant = this.#options.turns.tenant("vector", admission.grant.tenant);
      return inTurn({
        request,
        tenant,
        route: name,
        run: (hasWaited) => this.#runAdmitted(request, hasWaited ? undefined : admission, learnt),
      });
    } catch (thrown) {
      return this.#refusal(thrown, head, name);
    }
  };

  /** `admitted`: undefined if the request has waited. Its token may have been removed meanwhile. */
  #runAdmitted(
    request: HttpRequest,
    admitted: Admission | undefined,
    learnt: LearntHead,
  ): HttpReply | Promise<HttpReply> {
    const { head } = learnt;
    const name = learnt.place?.name;
    try {
      const admission = admitted ?? this.#admit(request, learnt);
      const index = this.#options.vector.index(admission.grant.tenant);
      // A token is removed shortly after its index was deleted.
      if (index === undefined) throw vectorUnauthorized;
      const overShare = request.claim?.(index);
      if (overShare !== undefined) throw overShare;
      return this.#run(request, admission.place, { index, head });
    } catch (thrown) {
      return this.#refusal(thrown, head, name);
    }
  }

  #run(
    request: HttpRequest,
    { route, name, namespace, query }: Place,
    { index, head }: { readonly index: IndexApi; readonly head: VectorHead },
  ): HttpReply | Promise<HttpReply> {
    const answer = (printed: JsonBody): HttpReply | Promise<HttpReply> =>
      whenIndexSafe(index, this.#reply(printed, head, name), request);
    const refuse = (thrown: unknown): HttpReply | Promise<HttpReply> => {
      const reply = this.#refusal(thrown, head, name);
      return revealsState(thrown) ? whenIndexSafe(index, reply, request) : reply;
    };
    try {
      const printed = route.run({ index, namespace, query, body: request.body, limits: this.#options.limits });
      return printed instanceof Promise ? printed.then(answer, refuse) : answer(printed);
    } catch (thrown) {
      return refuse(thrown);
    }
  }

  /** Checks that the token may make the request. Throws a RequestFailure. */
  #admit({ method, target }: RequestHead, learnt: LearntHead): Admission {
    const { authorization } = learnt.head;
    const grant = authorization === undefined ? undefined : this.#options.tokens.findByHeader(authorization);
    if (grant === undefined || grant.access === "acl") throw vectorUnauthorized;
    if (!methods.includes(method)) throw vectorMethodNotAllowed;
    const { place } = learnt;
    if (place === undefined) {
      learnt.place = this.#admitNew(target, grant);
      return { grant, place: learnt.place };
    }
    checkIndexName(place.indexName, grant);
    checkAccess(place.route, grant);
    return { grant, place };
  }

  /** Checks the target of a head that was not admitted before. */
  #admitNew(target: string, grant: Grant): Place {
    const mark = target.indexOf("?");
    const path = splitVectorPath(mark < 0 ? target : target.slice(0, mark), isCommand);
    const route = path === undefined ? undefined : routeByCommand.get(path.command);
    if (path === undefined || route === undefined) throw noSuchVectorPath;
    const { indexName, rest } = path;
    checkIndexName(indexName, grant);
    if (!route.takesNamespace && rest !== "") throw namespaceNotTaken(route.command);
    checkAccess(route, grant);
    return {
      route,
      name: vectorRouteName(route),
      indexName,
      namespace: readNamespace(rest, this.#options.limits.namespaceBytesMax),
      query: mark < 0 ? "" : target.slice(mark + 1),
    };
  }

  #count(grant: Grant): void {
    const { limiter, clock } = this.#options;
    const retryAfterMs = limiter?.count(grant) ?? 0;
    if (limiter === undefined || retryAfterMs === 0) return;
    throw burstExceeded(limiter.perSecond, { resetAtMs: clock.nowMs() + retryAfterMs, retryAfterMs });
  }

  #reply(body: JsonBody, head: VectorHead, route: string): HttpReply {
    const headers = ["Content-Type", "application/json", ...this.#corsHeaders(head)];
    // Text in ASCII is its own bytes, so that it is not measured again.
    const bodyIsBytes = typeof body === "string" && Buffer.byteLength(body) === body.length;
    return { status: 200, headers, body, bodyIsBytes, route };
  }

  /** A failure of the request as a reply. Rethrows other errors, which are our bugs. */
  #refusal(thrown: unknown, head: VectorHead, route = REFUSED): HttpReply {
    if (!(thrown instanceof RequestFailure) && !(thrown instanceof VectorFailure)) throw thrown;
    const failure =
      thrown.kind === "unavailable" ? new RequestFailure(thrown.kind, thrown.text, ["Retry-After", "1"]) : thrown;
    return { ...numberedRefusalReply(failure, this.#corsHeaders(head)), route };
  }

  #corsHeaders({ hasOrigin }: VectorHead): readonly string[] {
    return hasOrigin && this.#options.cors ? corsHeaders : NO_HEADERS;
  }
}

function checkIndexName(indexName: string | undefined, { tenant }: Grant): void {
  if (indexName !== undefined && indexName !== tenant) throw vectorUnauthorized;
}

function checkAccess({ access }: VectorRoute, grant: Grant): void {
  if (access === "write" && grant.access !== "standard") throw readOnlyTokenRefused;
}

/** As `readHead`; the headers of a head that repeats are read once. */
function learntHeadOf(request: RequestHead): LearntHead {
  const { memo } = request;
  if (memo?.learnt instanceof LearntHead) return memo.learnt;
  // Only here, since the list of a head that repeats is made on demand.
  const learnt = new LearntHead(readHead(request.rawHeaders));
  if (memo !== undefined) memo.learnt = learnt;
  return learnt;
}

/** The first Authorization counts. */
function readHead(rawHeaders: readonly string[]): VectorHead {
  let authorization: string | undefined;
  let hasOrigin = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = headers.find(rawHeaders[i] as string);
    if (name === "authorization") authorization ??= rawHeaders[i + 1];
    else if (name !== undefined) hasOrigin = true;
  }
  return { authorization, hasOrigin };
}

/** Holds a reply until everything that it may have seen is as safe as the setting promises. */
function whenIndexSafe(index: IndexApi, reply: HttpReply, request: HttpRequest): HttpReply | Promise<HttpReply> {
  const safe = index.whenSafe();
  if (safe === undefined) return reply;
  request.holdReply?.(bodyBytes(reply));
  return safe.then(() => reply);
}

/**
 * Whether a refusal reveals the state of the index, such as a missing namespace. "unavailable" does not, and must be
 * sent while nothing becomes safe.
 */
function revealsState(thrown: unknown): boolean {
  return thrown instanceof VectorFailure && thrown.kind !== "unavailable";
}
