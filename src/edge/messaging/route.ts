/**
 * A route of messaging as a row, and the search for the row of a request.
 *
 * Path templates have `:name` for a variable segment, and end in `*` if the route
 * takes the rest of the path as written. A template with more fixed segments is
 * listed before one that would match its requests.
 *
 * The second segment (`schedules`) may have capital letters, as the client in Go
 * writes it: `/v2/Schedules/…`.
 */
import { isIdentifier, type MessagingApi, type MessagingLimits } from "../../messaging/mod.ts";
import { messagingMethodNotAllowed, noSuchMessagingPath, pathNameMissing } from "../errors.ts";
import type { HeadMemo, HttpRequest } from "../handler.ts";
import type { Route } from "../route.ts";
import { decodeText, type OwnQuery } from "./destination-target.ts";
import type { MessagingHead } from "./head.ts";

export interface MessagingCall {
  readonly request: HttpRequest;
  readonly head: MessagingHead;
  readonly api: MessagingApi;
  readonly limits: MessagingLimits;
  readonly nowMs: number;
  /** Whether the token is read-only. */
  readonly isReadOnly: boolean;
  /** Whether the token came in the Authorization header. */
  readonly isAuthorizationOurs: boolean;
  /** The reason why a URL may not be called, or undefined. */
  readonly refusalOf: (url: URL) => string | undefined;
  /** Awaited before a message is accepted. */
  readonly acceptBackpressure: (() => Promise<void> | undefined) | undefined;
  /** The segments that the template names, decoded, in order. */
  readonly names: readonly string[];
  /** The part of the path in the place of `*`, as written. */
  readonly rest: string;
  /** As written, without the `?`. */
  readonly query: string;
  /** The query split for routes with a destination. */
  readonly ownQuery: OwnQuery;
  /** Set if the head repeats an earlier one of its connection: what the route has learnt from it. */
  readonly memo: HeadMemo | undefined;
}

export interface MessagingAnswer {
  /** Becomes JSON. */
  readonly value: unknown;
  /** The JSON of the value, if it is known. */
  readonly text?: string | undefined;
  /** Everything in the request was accepted before. */
  readonly isRepeat?: boolean;
  /** The answer leaves when it resolves. */
  readonly safe?: Promise<void> | undefined;
}

export type MessagingRoute<Id extends string = string> = Route<
  MessagingCall,
  MessagingAnswer | Promise<MessagingAnswer>
> & {
  /** The operation in the OpenAPI document, which has a description for each id (openapi/messaging.ts). */
  readonly id: Id;
  readonly method: Method;
  readonly summary: string;
  /** The status of success; 200 if absent. */
  readonly status?: 201 | 302;
  /** The status of success if everything in the request was accepted before. */
  readonly repeatStatus?: 202;
  /** Open to a read-only token. */
  readonly isForReadOnlyToken?: true;
  /** Counted by the limit on requests per second. */
  readonly isRateLimited: boolean;
  /** Accepts a token in the query. */
  readonly takesQueryToken?: true;
  /** Needs no token: the first name of the path is the user, and the rest is hard to guess. */
  readonly isOpen?: true;
  /** Matches only paths whose names are identifiers; later rows may match other paths. */
  readonly isForIdentifiersOnly?: true;
  /** A run may progress by it: a body that is too large is refused as any other step (append-refusal.ts). */
  readonly takesSteps?: true;
  /** The body is one message or a batch of messages. Other bodies have a few fields. */
  readonly body?: "message" | "batch";
};

/** `ANY`: all methods. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "ANY";

export const ok: MessagingAnswer = { value: {} };

/** Rows with their ids as types, so that an id without a description does not compile. */
export function messagingRows<Id extends string>(rows: readonly MessagingRoute<Id>[]): readonly MessagingRoute<Id>[] {
  return rows;
}

interface CompiledRoute {
  readonly route: MessagingRoute;
  readonly name: string;
  /** Empty for a variable segment. */
  readonly segments: readonly string[];
  /** The names of the variable segments. */
  readonly parameters: readonly string[];
  readonly hasRest: boolean;
}

export interface FoundRoute {
  readonly route: MessagingRoute;
  /** For metrics and the log. */
  readonly name: string;
  readonly names: readonly string[];
  readonly rest: string;
}

export class MessagingRoutes {
  /** By the second segment of their path in lower case: `publish` of `/v2/publish`. */
  readonly #bySegment = new Map<string, CompiledRoute[]>();

  constructor(routes: readonly MessagingRoute[]) {
    for (const route of routes) {
      const compiled = compile(route);
      const key = compiled.segments[RESOURCE]?.toLowerCase() ?? "";
      const sameSegment = this.#bySegment.get(key);
      if (sameSegment === undefined) this.#bySegment.set(key, [compiled]);
      else sameSegment.push(compiled);
    }
  }

  /** Finds the row of a path without query. Throws a RequestFailure. */
  find(method: string, path: string): FoundRoute {
    const wanted = method === "HEAD" ? "GET" : method;
    const allowed: string[] = [];
    for (const compiled of this.#rowsOf(path)) {
      const matched = match(compiled, path);
      if (matched === undefined) continue;
      const { route } = compiled;
      if (route.method !== wanted && route.method !== "ANY") {
        if (!allowed.includes(route.method)) allowed.push(route.method);
        continue;
      }
      for (const [index, name] of matched.names.entries()) {
        if (name === "") throw pathNameMissing(compiled.parameters[index] ?? "");
      }
      return { route, name: compiled.name, ...matched };
    }
    throw allowed.length > 0 ? messagingMethodNotAllowed(method, allowed) : noSuchMessagingPath(method);
  }

  /** The row of a path if that needs no token. */
  findOpen(path: string): FoundRoute | undefined {
    for (const compiled of this.#rowsOf(path)) {
      if (compiled.route.isOpen !== true) continue;
      const matched = match(compiled, path);
      if (matched?.names.every((name) => name !== ""))
        return { route: compiled.route, name: compiled.name, ...matched };
    }
    return undefined;
  }

  /** The kind of the largest body that a request to this path may have. */
  bodyKindOf(path: string): MessagingRoute["body"] {
    return this.#rowsOf(path).find(({ route }) => route.body !== undefined)?.route.body;
  }

  /** Whether a route of this path takes steps of runs. */
  takesSteps(path: string): boolean {
    return this.#rowsOf(path).some((row) => row.route.takesSteps === true && match(row, path) !== undefined);
  }

  /** Whether a route of this path accepts a token in the query. */
  takesQueryToken(path: string): boolean {
    return this.#rowsOf(path).some(({ route }) => route.takesQueryToken);
  }

  #rowsOf(path: string): readonly CompiledRoute[] {
    const start = path.indexOf("/", 1) + 1;
    if (start === 0) return NO_ROWS;
    const end = path.indexOf("/", start);
    const segment = path.slice(start, end < 0 ? path.length : end);
    return this.#bySegment.get(segment) ?? this.#bySegment.get(segment.toLowerCase()) ?? NO_ROWS;
  }
}

const NO_ROWS: readonly CompiledRoute[] = [];
/** The place of the segment that `#rowsOf` has compared. */
const RESOURCE = 1;

function compile(route: MessagingRoute): CompiledRoute {
  const segments = route.template.slice(1).split("/");
  const hasRest = segments.at(-1) === "*";
  if (hasRest) segments.pop();
  return {
    route,
    name: `${route.rule} ${route.method} ${route.template}`,
    segments: segments.map((segment) => (segment.startsWith(":") ? "" : segment)),
    parameters: segments.filter((segment) => segment.startsWith(":")).map((segment) => segment.slice(1)),
    hasRest,
  };
}

function match(
  { route, segments, hasRest }: CompiledRoute,
  path: string,
): { readonly names: readonly string[]; readonly rest: string } | undefined {
  const names: string[] = [];
  let start = 1;
  for (const [place, segment] of segments.entries()) {
    if (start > path.length) return undefined;
    const slash = path.indexOf("/", start);
    const end = slash < 0 ? path.length : slash;
    if (segment !== "") {
      if (end - start !== segment.length) return undefined;
      if (place !== RESOURCE && !path.startsWith(segment, start)) return undefined;
    } else names.push(path.slice(start, end));
    start = end + 1;
  }
  if (!hasRest && start <= path.length) return undefined;
  const decoded = names.map((name) => (name.includes("%") ? decodeText(name, "path") : name));
  if (route.isForIdentifiersOnly && !decoded.every(isIdentifier)) return undefined;
  return { names: decoded, rest: start > path.length ? "" : path.slice(start) };
}
