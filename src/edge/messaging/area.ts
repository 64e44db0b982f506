/**
 * Area C, messaging, over HTTP.
 *
 * In order: token, path and method, what a read-only token may do, rate, route.
 * A route turns a request into one call on the user's door; what the door
 * refuses becomes a status in `respond.ts`. Every failure is `{"error": text}`
 * and names the field at fault.
 *
 * Pages of other origins are not let in, whatever `--cors` says: a token of
 * messaging makes the server call any address, so it does not belong in a page,
 * and no client of the interface runs in one (threats S-15).
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

/** A batch is whole messages in JSON, where every byte of a body may take several. */
export const BATCH_BYTES_MAX = 64 * 1024 * 1024;
/** Names, filters, endpoints. */
const FIELDS_BYTES_MAX = 1024 * 1024;

export interface MessagingAreaOptions {
  readonly messaging: { user(name: string): MessagingApi | undefined };
  readonly tokens: TokenTable;
  /** Absent: requests per second are not limited. */
  readonly limiter?: RateLimiter;
  /** Whether a token in the query of a publish counts. URLs end up in other people's logs, so it can be turned off. */
  readonly queryToken: boolean;
  readonly limits: MessagingLimits;
  readonly clock: Pick<Clock, "nowMs">;
  /** Who has the thread next. */
  readonly turns: Turns;
  /** Why a URL may not be called, as far as its text tells, or undefined. */
  readonly destinations: (url: URL) => string | undefined;
  /** Awaited before a message is accepted. Returns undefined when nothing is to be waited for. */
  readonly acceptBrake?: () => Promise<void> | undefined;
  /** Users whose tokens have this `UserID`: webhooks name it. Absent: the user's name is it. */
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

/** Who comes without a token. */
const OPEN: Admission = { grant: { tenant: "", access: "standard" }, isAuthorizationOurs: false };

/** In place of a route for what was refused before one was found. */
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
      const door = this.#options.messaging.user(admission.grant.tenant);
      const overShare = door === undefined ? undefined : request.claim?.(door);
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

  /** `path`: of a request that has waited. Its token may have been removed meanwhile, so it is admitted again. */
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
    const { messaging, limits, clock, destinations, acceptBrake } = this.#options;
    const door = found.route.isOpen ? this.#openDoor(found) : messaging.user(admission.grant.tenant);
    // The token outlives its user by a moment when a user is deleted.
    if (door === undefined) throw messagingUnauthorized;
    const overShare = request.claim?.(door);
    if (overShare !== undefined) throw overShare;
    const answer = found.route.run({
      request,
      head,
      door,
      limits,
      nowMs: clock.nowMs(),
      isReadOnly: admission.grant.access !== "standard",
      isAuthorizationOurs: admission.isAuthorizationOurs,
      refusalOf: destinations,
      acceptBrake,
      names: found.names,
      rest: found.rest,
      query,
      ownQuery,
    });
    const print = (given: MessagingAnswer): HttpReply | Promise<HttpReply> => {
      const reply = this.#reply(given, found);
      // What publishes waits for its own messages alone.
      return found.route.body === undefined ? whenTold(reply, door, request) : reply;
    };
    return answer instanceof Promise ? answer.then(print) : print(answer);
  }

  /** The door of whose run the path names. */
  #openDoor({ names }: FoundRoute): MessagingApi {
    const { messaging, usersNamed } = this.#options;
    const [name = "", runId = ""] = names;
    for (const user of usersNamed?.(name) ?? [name]) {
      const door = messaging.user(user);
      if (door?.workflows.find(runId) !== undefined) return door;
    }
    throw new MessagingFailure("not found", `workflow run ${runId} not found`);
  }

  /** Who asks, and for what: refused unless this token may ask it. Throws a RequestFailure. */
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

  /** A token in the query counts where the Authorization header opens nothing: it may be meant for the destination. */
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

  /** A failure of the request as a reply; whatever else was thrown is our bug and goes on. */
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

/** An answer leaves when all that it may have seen is on the disk: a crash must not take back what somebody was told. */
function whenTold(reply: HttpReply, door: MessagingApi, request: HttpRequest): HttpReply | Promise<HttpReply> {
  const safe = door.whenSafe();
  if (safe === undefined) return reply;
  request.holdReply?.(reply.body.length);
  return safe.then(() => reply);
}

/** Without a `?` the query is undefined, behind one it may be empty. */
function splitAtQuery(target: string): { readonly path: string; readonly query: string | undefined } {
  const mark = target.indexOf("?");
  return mark < 0 ? { path: target, query: undefined } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
