/**
 * Area C, messaging, over HTTP.
 *
 * Checks in order: token, path and method, rights of a read-only token, rate,
 * route. A route turns a request into one call of the user's `MessagingApi`;
 * `respond.ts` turns its failures into a status. Every failure is
 * `{"error": text}` and names the invalid field.
 *
 * Pages of other origins are never allowed, with any `--cors`: a messaging token
 * makes the server call any address, so it does not belong in a page, and no
 * client of the interface runs in one (threats S-15).
 */

import { bytesFromText } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { JsonTooLong, jsonText } from "../../kernel/json/text.ts";
import type { Turns } from "../../kernel/turns.ts";
import { DailyLimitExceeded, type MessagingApi, MessagingFailure, type MessagingLimits } from "../../messaging/mod.ts";
import { type Grant, type TokenOwner, type TokenTable, tokenOwnerOf } from "../auth.ts";
import {
  burstExceeded,
  dailyLimitExceeded,
  messagingUnauthorized,
  RequestFailure,
  readOnlyTokenRefused,
  tooLongAsJson,
} from "../errors.ts";
import type { HeadMemo, HttpReply, HttpRequest, HttpService, RequestHead } from "../handler.ts";
import { inTurn } from "../limits/in-turn.ts";
import type { RateLimiter } from "../limits/rate-limit.ts";
import { failureReply, refusalReply } from "../respond.ts";
import { type OwnQuery, splitQuery } from "./destination-target.ts";
import { type MessagingHead, readMessagingHead } from "./head.ts";
import { type FoundRoute, type MessagingAnswer, MessagingRoutes } from "./route.ts";
import { messagingRoutes } from "./routes/table.ts";

/** A batch has several messages in JSON, where each byte of a body may take several bytes. */
export const BATCH_BYTES_MAX = 64 * 1024 * 1024;
/** Names, filters, endpoints. */
const FIELDS_BYTES_MAX = 1024 * 1024;

export interface MessagingAreaOptions {
  readonly messaging: { user(name: string): MessagingApi | undefined };
  readonly tokens: TokenTable;
  /** Absent: requests per second are not limited. */
  readonly limiter?: RateLimiter;
  /** Whether a token in the query of a publish is accepted. URLs appear in logs of others, so it can be turned off. */
  readonly queryToken: boolean;
  readonly limits: MessagingLimits;
  readonly clock: Pick<Clock, "nowMs">;
  /** The turns of tenants on the thread. */
  readonly turns: Turns;
  /** Why a URL may not be called, from its text alone, or undefined. */
  readonly destinations: (url: URL) => string | undefined;
  /** Awaited before a message is accepted. Returns undefined if there is no need to wait. */
  readonly acceptBackpressure?: () => Promise<void> | undefined;
  /** Users whose tokens have this `UserID`, for paths of webhooks. Absent: it is the user's name. */
  readonly usersNamed?: (id: string) => readonly string[];
}

interface Admission {
  readonly grant: Grant;
  readonly isAuthorizationOurs: boolean;
}

interface Admitted {
  readonly found: FoundRoute;
  readonly admission: Admission;
}

/** What the area reads from the head of a request, for all requests with the same head. */
class HeadParts {
  readonly head: MessagingHead;
  readonly path: string;
  /** As written, without the `?`. */
  readonly query: string;
  readonly ownQuery: OwnQuery;
  /** The route, once a request has found it. */
  found: FoundRoute | undefined;
  /** For the route. Undefined: the head does not repeat an earlier one. */
  readonly memo: HeadMemo | undefined;

  /** Throws a RequestFailure. */
  constructor({ rawHeaders, target, memo }: Pick<RequestHead, "rawHeaders" | "target" | "memo">) {
    const { path, query } = splitAtQuery(target);
    this.head = readMessagingHead(rawHeaders);
    this.path = path;
    this.query = query ?? "";
    this.ownQuery = splitQuery(query);
    this.memo = memo === undefined ? undefined : { learnt: undefined };
  }

  /** The parts of a head that repeats are read once. Throws a RequestFailure. */
  static of(request: Pick<RequestHead, "rawHeaders" | "target" | "memo">): HeadParts {
    const { memo } = request;
    if (memo?.learnt instanceof HeadParts) return memo.learnt;
    const parts = new HeadParts(request);
    if (memo !== undefined) memo.learnt = parts;
    return parts;
  }
}

/** The admission of a request without a token. */
const OPEN: Admission = { grant: { tenant: "", access: "standard" }, isAuthorizationOurs: false };

/** Route name of requests that were refused before a route was found. */
const REFUSED = "C refused";

const routes = new MessagingRoutes(messagingRoutes);

export class MessagingArea implements HttpService {
  readonly #options: MessagingAreaOptions;
  #lastTarget: string | undefined;
  #lastBytesMax = 0;

  constructor(options: MessagingAreaOptions) {
    this.#options = options;
  }

  bodyBytesMax(target: string): number {
    // Requests of all connections mostly have the same target.
    if (target === this.#lastTarget) return this.#lastBytesMax;
    this.#lastTarget = target;
    this.#lastBytesMax = this.#bodyBytesMaxOf(target);
    return this.#lastBytesMax;
  }

  #bodyBytesMaxOf(target: string): number {
    switch (routes.bodyKindOf(splitAtQuery(target).path)) {
      case "message":
        return this.#options.limits.bodyBytesMax;
      case "batch":
        return Math.max(BATCH_BYTES_MAX, this.#options.limits.bodyBytesMax);
      default:
        return FIELDS_BYTES_MAX;
    }
  }

  refuseEarly(request: RequestHead): HttpReply | undefined {
    try {
      const { admission } = this.#admit(request, HeadParts.of(request));
      const api = this.#options.messaging.user(admission.grant.tenant);
      const overShare = api === undefined ? undefined : request.claim?.(api);
      if (overShare !== undefined) throw overShare;
      return undefined;
    } catch (thrown) {
      return this.#refusal(thrown);
    }
  }

  refusal(failure: RequestFailure, target: string): HttpReply {
    const isStep = failure.kind === "too large" && routes.takesSteps(splitAtQuery(target).path);
    return failureReply(isStep ? new RequestFailure("quota exceeded", failure.text) : failure);
  }

  /** Whose token a request has, among those of a table. */
  tokenOwner(request: RequestHead, tokens: TokenTable): TokenOwner {
    let parts: HeadParts;
    try {
      parts = HeadParts.of(request);
    } catch (thrown) {
      if (thrown instanceof RequestFailure) return { kind: "none" };
      throw thrown;
    }
    const { head, ownQuery, path } = parts;
    const byHeader = head.authorization === undefined ? undefined : tokens.findByHeader(head.authorization);
    if (byHeader !== undefined) return tokenOwnerOf(byHeader);
    const mayBeInQuery = this.#options.queryToken && routes.takesQueryToken(path);
    if (mayBeInQuery && ownQuery.token !== undefined) return tokenOwnerOf(tokens.find(bytesFromText(ownQuery.token)));
    return { kind: head.authorization === undefined ? "none" : "unknown" };
  }

  /** The `UserID` in a path that needs no token; undefined: the path needs one. */
  userIdIn(target: string): string | undefined {
    return routes.findOpen(splitAtQuery(target).path)?.names[0];
  }

  readonly handle = (request: HttpRequest): HttpReply | Promise<HttpReply> => {
    let route = REFUSED;
    try {
      const parts = HeadParts.of(request);
      const admitted = this.#admit(request, parts);
      const { found, admission } = admitted;
      route = found.name;
      if (found.route.isRateLimited) this.#count(admission.grant);
      const tenant = this.#options.turns.tenant("messaging", admission.grant.tenant);
      return inTurn({
        request,
        tenant,
        route,
        run: (hasWaited) => this.#runAdmitted(request, parts, hasWaited ? undefined : admitted),
      });
    } catch (thrown) {
      return this.#refusal(thrown, route);
    }
  };

  /** A request that has waited is admitted again, since its token may have been removed meanwhile. */
  #runAdmitted(request: HttpRequest, parts: HeadParts, admitted: Admitted | undefined): HttpReply | Promise<HttpReply> {
    const route = parts.found?.name;
    try {
      const reply = this.#run(request, parts, admitted ?? this.#admit(request, parts));
      if (!(reply instanceof Promise)) return reply;
      return reply.catch((thrown: unknown) => this.#refusal(thrown, route));
    } catch (thrown) {
      return this.#refusal(thrown, route);
    }
  }

  #run(
    request: HttpRequest,
    { head, query, ownQuery, memo }: HeadParts,
    { found, admission }: Admitted,
  ): HttpReply | Promise<HttpReply> {
    const { messaging, limits, clock, destinations, acceptBackpressure } = this.#options;
    const api = found.route.isOpen ? this.#apiOfOpenRoute(found) : messaging.user(admission.grant.tenant);
    // A token is removed shortly after its user was deleted.
    if (api === undefined) throw messagingUnauthorized;
    const overShare = request.claim?.(api);
    if (overShare !== undefined) throw overShare;
    const answer = found.route.run({
      request,
      head,
      api,
      limits,
      nowMs: clock.nowMs(),
      isReadOnly: admission.grant.access !== "standard",
      isAuthorizationOurs: admission.isAuthorizationOurs,
      refusalOf: destinations,
      acceptBackpressure,
      names: found.names,
      rest: found.rest,
      query,
      ownQuery,
      memo,
    });
    if (!(answer instanceof Promise)) return this.#printed(answer, found, { api, request });
    return answer.then((value) => this.#printed(value, found, { api, request }));
  }

  /** The answer as a reply, when it may leave. */
  #printed(
    answer: MessagingAnswer,
    found: FoundRoute,
    { api, request }: { readonly api: MessagingApi; readonly request: HttpRequest },
  ): HttpReply | Promise<HttpReply> {
    const reply = this.#reply(answer, found);
    // A publish waits only for its own messages.
    if (found.route.body === undefined) return whenUserSafe(reply, api, request);
    return answer.safe === undefined ? reply : answer.safe.then(() => reply);
  }

  /** Finds the user of the run in an open path. */
  #apiOfOpenRoute({ names }: FoundRoute): MessagingApi {
    const { messaging, usersNamed } = this.#options;
    const [name = "", runId = ""] = names;
    for (const user of usersNamed?.(name) ?? [name]) {
      const api = messaging.user(user);
      if (api?.workflows.find(runId) !== undefined) return api;
    }
    throw new MessagingFailure("not found", `workflow run ${runId} not found`);
  }

  /** Checks that the token may make the request. Throws a RequestFailure. */
  #admit({ method }: RequestHead, parts: HeadParts): Admitted {
    const { head, path, ownQuery } = parts;
    const open = parts.found === undefined ? routes.findOpen(path) : parts.found.route.isOpen && parts.found;
    if (open) {
      parts.found = open;
      return { found: open, admission: OPEN };
    }
    const { token } = ownQuery;
    const queryToken = token !== undefined && routes.takesQueryToken(path) ? token : undefined;
    const admission = this.#authenticate(head, queryToken);
    parts.found ??= routes.find(method, path);
    const { found } = parts;
    const { grant } = admission;
    if (grant.access === "acl") throw messagingUnauthorized;
    if (grant.access !== "standard" && !found.route.isForReadOnlyToken) throw readOnlyTokenRefused;
    return { found, admission };
  }

  /** A token in the query counts if the Authorization header has no valid one, as it may be for the destination. */
  #authenticate({ authorization }: MessagingHead, queryToken: string | undefined): Admission {
    const { tokens, queryToken: isQueryTokenAllowed } = this.#options;
    const byHeader = authorization === undefined ? undefined : tokens.findByHeader(authorization);
    if (byHeader !== undefined) return { grant: byHeader, isAuthorizationOurs: true };
    const byQuery =
      queryToken === undefined || !isQueryTokenAllowed ? undefined : tokens.find(bytesFromText(queryToken));
    if (byQuery === undefined) throw messagingUnauthorized;
    return { grant: byQuery, isAuthorizationOurs: false };
  }

  #count(grant: Grant): void {
    const { limiter, clock } = this.#options;
    const retryAfterMs = limiter?.count(grant) ?? 0;
    if (limiter === undefined || retryAfterMs === 0) return;
    throw burstExceeded(limiter.perSecond, { resetAtMs: clock.nowMs() + retryAfterMs, retryAfterMs });
  }

  #reply({ value, text, isRepeat = false }: MessagingAnswer, { route: row, name: route }: FoundRoute): HttpReply {
    const { status = 200, repeatStatus = status } = row;
    const headers = ["Content-Type", "application/json"];
    try {
      return { status: isRepeat ? repeatStatus : status, headers, body: text ?? jsonText(value), route };
    } catch (thrown) {
      return this.#refusal(thrown, route);
    }
  }

  /** A failure of the request as a reply. Rethrows other errors, which are our bugs. */
  #refusal(thrown: unknown, route = REFUSED): HttpReply {
    if (thrown instanceof JsonTooLong) return this.#refusal(tooLongAsJson, route);
    if (!(thrown instanceof RequestFailure) && !(thrown instanceof MessagingFailure)) throw thrown;
    const failure =
      thrown instanceof DailyLimitExceeded
        ? dailyLimitExceeded(thrown.text, thrown.messagesPerDayMax, thrown.resetAtMs)
        : thrown.kind === "unavailable"
          ? new RequestFailure(thrown.kind, thrown.text, ["Retry-After", "1"])
          : thrown;
    return { ...refusalReply(failure), route };
  }
}

/** Holds an answer until everything that it may have seen is on the disk, so that no crash revokes it. */
function whenUserSafe(reply: HttpReply, api: MessagingApi, request: HttpRequest): HttpReply | Promise<HttpReply> {
  const safe = api.whenSafe();
  if (safe === undefined) return reply;
  request.holdReply?.(reply.body.length);
  return safe.then(() => reply);
}

/** Without a `?` the query is undefined; after one it may be empty. */
function splitAtQuery(target: string): { readonly path: string; readonly query: string | undefined } {
  const mark = target.indexOf("?");
  return mark < 0 ? { path: target, query: undefined } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
