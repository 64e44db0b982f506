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
import type { Grant, TokenTable } from "../auth.ts";
import {
  burstExceeded,
  dailyLimitExceeded,
  messagingUnauthorized,
  RequestFailure,
  readOnlyTokenRefused,
  tooLongAsJson,
} from "../errors.ts";
import type { HttpReply, HttpRequest, HttpService, RequestHead } from "../handler.ts";
import { inTurn } from "../limits/in-turn.ts";
import type { RateLimiter } from "../limits/rate-limit.ts";
import { refusalReply } from "../respond.ts";
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
  /** As written, without the `?`. */
  readonly query: string;
  readonly ownQuery: OwnQuery;
}

/** The admission of a request without a token. */
const OPEN: Admission = { grant: { tenant: "", access: "standard" }, isAuthorizationOurs: false };

/** Route name of requests that were refused before a route was found. */
const REFUSED = "C refused";

const routes = new MessagingRoutes(messagingRoutes);

export class MessagingArea implements HttpService {
  readonly #options: MessagingAreaOptions;

  constructor(options: MessagingAreaOptions) {
    this.#options = options;
  }

  bodyBytesMax(target: string): number {
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
    const head = readMessagingHead(request.rawHeaders);
    const { path, query } = splitAtQuery(request.target);
    try {
      const { admission } = this.#admit(request, head, path, splitQuery(query));
      const api = this.#options.messaging.user(admission.grant.tenant);
      const overShare = api === undefined ? undefined : request.claim?.(api);
      if (overShare !== undefined) throw overShare;
      return undefined;
    } catch (thrown) {
      return this.#refusal(thrown);
    }
  }

  readonly handle = (request: HttpRequest): HttpReply | Promise<HttpReply> => {
    const head = readMessagingHead(request.rawHeaders);
    const { path, query } = splitAtQuery(request.target);
    let route = REFUSED;
    try {
      const ownQuery = splitQuery(query);
      const { found, admission } = this.#admit(request, head, path, ownQuery);
      route = found.name;
      if (found.route.isRateLimited) this.#count(admission.grant);
      const tenant = this.#options.turns.tenant("messaging", admission.grant.tenant);
      return inTurn({
        request,
        tenant,
        route,
        run: (hasWaited) => {
          const admitted = { found, admission, query: query ?? "", ownQuery };
          return this.#runAdmitted(request, head, admitted, hasWaited ? path : undefined);
        },
      });
    } catch (thrown) {
      return this.#refusal(thrown, route);
    }
  };

  /** `path`: of a request that has waited. It is admitted again, since its token may have been removed meanwhile. */
  #runAdmitted(
    request: HttpRequest,
    head: MessagingHead,
    admitted: Admitted,
    path: string | undefined,
  ): HttpReply | Promise<HttpReply> {
    const route = admitted.found.name;
    try {
      const again = path === undefined ? undefined : this.#admit(request, head, path, admitted.ownQuery);
      const reply = this.#run(request, head, { ...admitted, ...again });
      if (!(reply instanceof Promise)) return reply;
      return reply.catch((thrown: unknown) => this.#refusal(thrown, route));
    } catch (thrown) {
      return this.#refusal(thrown, route);
    }
  }

  #run(
    request: HttpRequest,
    head: MessagingHead,
    { found, admission, query, ownQuery }: Admitted,
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
    });
    const print = (value: MessagingAnswer): HttpReply | Promise<HttpReply> => {
      const reply = this.#reply(value, found);
      // A publish waits only for its own messages.
      return found.route.body === undefined ? whenUserSafe(reply, api, request) : reply;
    };
    return answer instanceof Promise ? answer.then(print) : print(answer);
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
  #admit(
    request: RequestHead,
    head: MessagingHead,
    path: string,
    { token }: OwnQuery,
  ): { readonly found: FoundRoute; readonly admission: Admission } {
    const open = routes.findOpen(path);
    if (open !== undefined) return { found: open, admission: OPEN };
    const admission = this.#authenticate(head, routes.takesQueryToken(path) ? token : undefined);
    const found = routes.find(request.method, path);
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

  #reply({ value, isRepeat = false }: MessagingAnswer, { route: row, name: route }: FoundRoute): HttpReply {
    const { status = 200, repeatStatus = status } = row;
    const headers = ["Content-Type", "application/json"];
    try {
      return { status: isRepeat ? repeatStatus : status, headers, body: jsonText(value), route };
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
