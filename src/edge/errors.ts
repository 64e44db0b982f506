/**
 * Every failure of the edge itself, with its kind and its text. `respond.ts` turns
 * the kind into a status. Errors of commands are in `store/errors.ts`.
 *
 * The texts of the store are those that clients of the interface know (A.errors).
 * Other texts name the field and the remedy.
 */
import { OWNER_MOVES } from "../kernel/journal.ts";
import type { JsonTooLarge } from "../kernel/json/document.ts";

export type FailureKind =
  | "bad request"
  | "unauthorized"
  | "forbidden"
  | "not found"
  | "conflict"
  | "quota exceeded"
  | "method not allowed"
  | "misdirected"
  | "request timeout"
  | "too large"
  | "unprocessable"
  | "unsupported encoding"
  | "expectation failed"
  | "too many requests"
  | "headers too large"
  | "internal"
  | "not implemented"
  | "bad gateway"
  | "unavailable";

/** An answer, not a bug: it has no stack. */
export class RequestFailure {
  readonly kind: FailureKind;
  readonly text: string;
  /** Headers of the failure: name, value, … */
  readonly headers: readonly string[];

  constructor(kind: FailureKind, text: string, headers: readonly string[] = []) {
    this.kind = kind;
    this.text = text;
    this.headers = headers;
  }
}

export const unauthorized = new RequestFailure("unauthorized", "WRONGPASS invalid or missing auth token");

export const malformedCommand = new RequestFailure("bad request", "ERR failed to parse command");
export const emptyCommand = new RequestFailure("bad request", "ERR empty command");
export const malformedPipeline = new RequestFailure("bad request", "ERR failed to parse pipeline request");
export const emptyPipeline = new RequestFailure("bad request", "ERR empty pipeline request");
export const malformedTransaction = new RequestFailure("bad request", "ERR failed to parse transaction request");
export const emptyTransaction = new RequestFailure("bad request", "ERR empty transaction request");

export const resp2WithBase64 = new RequestFailure(
  "bad request",
  "ERR response format resp2 cannot be combined with base64 encoding",
);

export const malformedHttp = new RequestFailure("bad request", "ERR malformed HTTP request");
/** Several tokens count as none (H.bearer). */
export const authorizationRepeated = new RequestFailure(
  "unauthorized",
  "WRONGPASS more than one Authorization header; send one",
);
export const headersTimedOut = new RequestFailure("request timeout", "ERR request was not complete in time");
export function bodyTooSlow(bytesPerSecondMin: number): RequestFailure {
  return new RequestFailure(
    "request timeout",
    `ERR request body is too slow. Minimum rate: ${bytesPerSecondMin} bytes per second`,
  );
}

export const expectationFailed = new RequestFailure("expectation failed", "ERR only Expect: 100-continue is supported");
export const tunnelRefused = new RequestFailure("method not allowed", "ERR HTTP method CONNECT is not allowed");
export const transferEncodingRefused = new RequestFailure(
  "not implemented",
  "ERR transfer encoding is not supported; use chunked",
);
export const busy = new RequestFailure("unavailable", "ERR server is busy; try again", ["Retry-After", "1"]);
/** The text is that of the command. */
export const storeMoves = new RequestFailure("unavailable", `TRYAGAIN Writes are refused: ${OWNER_MOVES}; try again`, [
  "Retry-After",
  "1",
]);

/** `index`: of the word; 0 is the name of the command. */
export function wordOfWrongType(malformed: RequestFailure, index: number): RequestFailure {
  return new RequestFailure(
    "bad request",
    `${malformed.text}: word ${index} of a command must be a string, a number or a boolean`,
  );
}

export function tooManyWords(wordsMax: number): RequestFailure {
  return new RequestFailure("bad request", `ERR too many words in one request. Limit: ${wordsMax}`);
}

export function malformedPercent(part: "path" | "query"): RequestFailure {
  return new RequestFailure("bad request", `ERR malformed percent-encoding in the ${part} of the URL`);
}

export function unknownResponseFormat(value: string): RequestFailure {
  return new RequestFailure("bad request", `ERR invalid response format: '${value}'. Use json or resp2`);
}

export const streamMethodRefused = new RequestFailure("bad request", "ERR HEAD has no event stream; use GET or POST");
export const streamNotAccepted = new RequestFailure(
  "bad request",
  "ERR this is an event stream; send the header Accept: text/event-stream",
);

/** The original's text for connections. */
export function tooManyStreams(limit: number): RequestFailure {
  return new RequestFailure(
    "bad request",
    `ERR max concurrent connections exceeded. Limit: ${limit} event streams of one token`,
  );
}

export function tooManyChannels(limit: number): RequestFailure {
  return new RequestFailure("bad request", `ERR too many channels in one event stream. Limit: ${limit}`);
}

export function methodNotAllowed(method: string): RequestFailure {
  return new RequestFailure(
    "method not allowed",
    `ERR HTTP method ${method} is not allowed; use HEAD, GET, POST or PUT`,
    ["Allow", "HEAD, GET, POST, PUT"],
  );
}

/** The original's text; its status is 400, not 413 (A.limits.request). */
export function requestTooLarge(limitBytes: number, actualBytes: number): RequestFailure {
  return new RequestFailure(
    "too large",
    `ERR max request size exceeded. Limit: ${limitBytes} bytes, Actual: ${actualBytes} bytes`,
  );
}

/** A body that is not parsed (threats A-14). */
export function bodyTooLargeToParse({ message }: JsonTooLarge): RequestFailure {
  return new RequestFailure("bad request", `The body ${message}`);
}

/** A control character takes six characters in JSON, so a body within its limit may not fit in a string. */
export const tooLongAsJson = new RequestFailure(
  "too large",
  "The request or its answer has more than 536870888 characters as JSON: ask for less, or send a shorter body",
);

export function headersTooLarge(limitBytes: number): RequestFailure {
  return new RequestFailure("headers too large", `ERR max header size exceeded. Limit: ${limitBytes} bytes`);
}

export function contentEncodingRefused(encoding: string): RequestFailure {
  return new RequestFailure(
    "unsupported encoding",
    `ERR content encoding is not supported: '${encoding}'. Send the body uncompressed`,
    ["Accept-Encoding", "identity"],
  );
}

export function tooManyRequests(perSecond: number, retryAfterMs: number): RequestFailure {
  return new RequestFailure("too many requests", `ERR max request rate exceeded. Limit: ${perSecond} per second`, [
    "Retry-After",
    String(Math.max(1, Math.ceil(retryAfterMs / 1_000))),
  ]);
}

export function noSuchArea(prefixes: readonly string[]): RequestFailure {
  return new RequestFailure("not found", `ERR no area at this path; paths start with ${prefixes.join(", ")}`);
}

export const noSuchAdminPath = new RequestFailure("not found", "ERR no such path on the admin port");
const SHOWN_HOST_LENGTH_MAX = 100;

/** `host`: the name in the Host header. */
export function hostNotAllowed(host: string): RequestFailure {
  return new RequestFailure(
    "misdirected",
    `ERR the admin port does not answer to the host ${JSON.stringify(host.slice(0, SHOWN_HOST_LENGTH_MAX))}; use an IP address or localhost, or list the name in --admin-allowed-hosts`,
  );
}

export const foreignOrigin = new RequestFailure(
  "forbidden",
  "ERR the admin port answers no page of another origin; behind a proxy, pass on Host and list its name in --admin-allowed-hosts",
);
export const foreignSite = new RequestFailure(
  "forbidden",
  "ERR the admin port answers no request from another site; open its address in a new tab",
);

export const consoleOff = new RequestFailure("not found", "ERR the console is off; start with --console on");
export const consoleOnlyHere = new RequestFailure(
  "forbidden",
  "The console of larder dev answers only to this machine, without a proxy; elsewhere use larder serve --console on",
);
export const consoleNeedsLogin = new RequestFailure("unauthorized", "Log in with the admin token");
export const consoleTokenWrong = new RequestFailure("unauthorized", "This is not the admin token");
export const consoleCsrfMissing = new RequestFailure(
  "forbidden",
  "The header X-Larder-Csrf is missing or old: send the value of csrf in the answer of GET /console/api/session",
);
export const noSuchConsolePath = new RequestFailure("not found", "There is no such path below /console/api");
export const consoleFileMissing = new RequestFailure(
  "not found",
  "There is no such file of the console: reload the page",
);

export function consoleBodyMalformed(expected: string): RequestFailure {
  return new RequestFailure("bad request", `Invalid body: send ${expected}`);
}

export function consoleMethodNotAllowed(method: string, allowed = "GET or HEAD"): RequestFailure {
  return new RequestFailure("method not allowed", `HTTP method ${method} is not allowed; use ${allowed}`, [
    "Allow",
    allowed.replaceAll(" or ", ", "),
  ]);
}

export function tooManyLogins(seconds: number): RequestFailure {
  return new RequestFailure("too many requests", `Too many wrong tokens from this address: try again in ${seconds} s`, [
    "Retry-After",
    String(seconds),
  ]);
}

export function tooManyConsoleStreams(countMax: number): RequestFailure {
  return new RequestFailure("too many requests", `Too many event streams of the console. Limit: ${countMax}`);
}

/** `reason`: of the system or of the HTTP client. */
export function areaUnreachable(area: string, reason: string): RequestFailure {
  return new RequestFailure("bad gateway", `The console cannot reach ${area}: ${reason}`);
}

export function consoleAnswerTooLong(bytesMax: number): RequestFailure {
  return new RequestFailure(
    "bad gateway",
    `The answer is too long for the console: ask for less, or use the API. Limit: ${bytesMax} bytes`,
  );
}

export const adminBodyNotJson = new RequestFailure("bad request", "ERR failed to parse the body; send a JSON object");

/** `isDescribed`: fields other than the name are allowed. */
export function adminBodyMalformed(isDescribed: boolean): RequestFailure {
  const fields = isDescribed ? 'at least the field "name", a string' : 'only the field "name", a string';
  return new RequestFailure("bad request", `ERR failed to parse the body; send a JSON object with ${fields}`);
}

const SHOWN_PARAMETER_LENGTH_MAX = 80;

export function adminParameterUnknown(name: string, known: readonly string[]): RequestFailure {
  const shown = JSON.stringify(name.slice(0, SHOWN_PARAMETER_LENGTH_MAX));
  return new RequestFailure("bad request", `Unknown parameter ${shown}: the parameters are ${known.join(", ")}`);
}

export function adminParameterRepeated(name: string): RequestFailure {
  return new RequestFailure("bad request", `The parameter ${name} is given twice`);
}

/** `expected` completes "is not …". */
export function adminParameterInvalid(name: string, value: string, expected: string): RequestFailure {
  const shown = JSON.stringify(value.slice(0, SHOWN_PARAMETER_LENGTH_MAX));
  return new RequestFailure("bad request", `Invalid value for ${name}: ${shown} is not ${expected}`);
}

export const noAuditLog = new RequestFailure(
  "conflict",
  "This server has no data directory for an audit log: start it with --data-dir",
);
export const auditCursorUnknown = new RequestFailure(
  "bad request",
  "Invalid value for cursor: no file of the audit log has this place any more; begin again without it",
);

export function adminMethodNotAllowed(method: string, allowed: readonly string[]): RequestFailure {
  return new RequestFailure(
    "method not allowed",
    `ERR HTTP method ${method} is not allowed; use ${allowed.join(" or ")}`,
    ["Allow", allowed.join(", ")],
  );
}

/** Contains only the id of the request, with which the log has the cause. */
export function internalFailure(id: string): RequestFailure {
  return new RequestFailure("internal", `ERR internal error. See request ${id} in the log`);
}

/** `problems` name the fields. */
export function tenantDescriptionRefused(kind: string, problems: readonly string[]): RequestFailure {
  return new RequestFailure("bad request", `Invalid ${kind}: ${problems.join("; ")}`);
}

export function tenantNameMalformed(rule: string): RequestFailure {
  return new RequestFailure("bad request", `Invalid value for name: a name has ${rule}`);
}

/** `kind`: `database`, `index` or `user`. */
export function tenantMissing(kind: string, name: string): RequestFailure {
  return new RequestFailure("not found", `There is no ${kind} ${name}`);
}

export function clientMissing(id: number): RequestFailure {
  return new RequestFailure("not found", `There is no client ${id}`);
}

export function tenantExists(kind: string, name: string): RequestFailure {
  return new RequestFailure("conflict", `The ${kind} ${name} already exists`);
}

export function tenantHasOldData(kind: string, name: string): RequestFailure {
  return new RequestFailure(
    "conflict",
    `The data directory still has data of ${withArticle(kind)} ${name}: delete it first, or list it in the configuration file to use it`,
  );
}

function withArticle(kind: string): string {
  return /^[aeio]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

/** `place`: the setting that defines it, such as `store.databases[0] in larder.json:3` or `LARDER_STORE_TOKEN`. */
export function tenantNotOurs(kind: string, name: string, place: string): RequestFailure {
  return new RequestFailure("conflict", `The ${kind} ${name} is set by ${place}: change it there and start again`);
}

/** `kinds`: in the plural, such as `databases`. */
export function tooManyTenants(kinds: string, countMax: number): RequestFailure {
  return new RequestFailure("conflict", `Too many ${kinds}. Limit: ${countMax}`);
}

export const nothingToBackUp = new RequestFailure(
  "conflict",
  "This server has no data directory to back up: start it with --data-dir",
);

/** The area is starting or stopping. */
export function areaNotServing(area: string): RequestFailure {
  return new RequestFailure("unavailable", `ERR ${area} is not available; try again`, ["Retry-After", "1"]);
}

/** Of the admin port of a process that follows a copy. */
export const followsOnly = new RequestFailure(
  "unavailable",
  "ERR this larder follows a copy and serves nothing yet: larder promote makes it the server",
  ["Retry-After", "10"],
);

/** Of a node of a cluster that cannot seal tokens. */
export const clusterKeyMissing = new RequestFailure(
  "conflict",
  "Databases, indexes and users of a cluster are made and changed at run time with a key: set LARDER_CLUSTER_KEY on every node, or list this one in the configuration of every node",
);

export const clusterHasOtherKey = new RequestFailure(
  "conflict",
  "The cluster has another key than this node: set LARDER_CLUSTER_KEY to the key of the other nodes",
);

/** `nodes`: the names of those that run and could not open what is sealed, such as `a, b`. */
export function nodesWithoutClusterKey(nodes: string): RequestFailure {
  return new RequestFailure(
    "conflict",
    `A node of the cluster has no key (${nodes}): start it again with LARDER_CLUSTER_KEY`,
  );
}

/** It was removed, and the node of its shard has not removed its data yet. */
export function tenantIsGoing(kind: string, name: string): RequestFailure {
  return new RequestFailure("conflict", `The ${kind} ${name} is being removed: try again when its data is gone`);
}

/** A move to another shard is under way, or the data is not yet removed from the shard before. */
export function tenantIsMoving(kind: string, name: string): RequestFailure {
  return new RequestFailure("conflict", `The ${kind} ${name} is moving to another shard: try again when it is there`);
}

export const shardNeedsCluster = new RequestFailure(
  "bad request",
  "shard has a meaning in a cluster only: leave it out",
);

export function shardMalformed(shard: string): RequestFailure {
  return new RequestFailure("bad request", `shard must be the number of a shard: ${shard}`);
}

/** `shards`: those that it may be on. */
export function shardNotOfArea(shard: string, area: string, shards: string): RequestFailure {
  return new RequestFailure(
    "bad request",
    `shard ${shard} is not one of the ${area} that this node knows: name one of ${shards}`,
  );
}

/** Its data is on a shard that this node of a cluster does not serve. */
export function tenantElsewhere(kind: string, name: string): RequestFailure {
  return new RequestFailure(
    "conflict",
    `Another node serves the data of the ${kind} ${name}: send the request to the admin port of that node`,
  );
}

/** A configuration has, or had, a tenant of this name. */
export function tenantNameTaken(kind: string, name: string): RequestFailure {
  return new RequestFailure(
    "conflict",
    `The name ${name} belongs to ${withArticle(kind)} of the configuration, or of an earlier one: choose another name`,
  );
}

/** After an import or an upgrade, until the node that serves the area has noted the names in its data. */
export function tenantsNotKnown(area: string): RequestFailure {
  return new RequestFailure(
    "unavailable",
    `The names in the data of ${area} are not known yet: try again when a node serves it`,
    ["Retry-After", "1"],
  );
}

/** `reason`: a sentence without a full stop. `kinds`: in the plural, such as `databases`. */
export function clusterDoesNotChange(kinds: string, reason: string): RequestFailure {
  return new RequestFailure("unavailable", `${reason} (list the ${kinds} to see whether the change was made)`, [
    "Retry-After",
    "1",
  ]);
}

export const backupOfCluster = new RequestFailure(
  "conflict",
  "In a cluster, PostgreSQL has the data: back up its database with the tools of PostgreSQL",
);

/** This node of a cluster has not carried the request out: another one may be asked. */
export function notOwner(area: string): RequestFailure {
  return new RequestFailure(
    "misdirected",
    `larder-not-executed: this node does not serve ${area} now; send the request to the node that does`,
    ["Retry-After", "1"],
  );
}

/** No node serves the area, or none that can be reached, as long as a request may wait. */
export function noOwner(area: string): RequestFailure {
  return new RequestFailure("unavailable", `larder-not-executed: no node serves ${area} now; try again`, [
    "Retry-After",
    "1",
  ]);
}

/** The node that serves the area was sent the request, and its answer is missing. */
export function answerLost(area: string): RequestFailure {
  return new RequestFailure(
    "bad gateway",
    `ERR the answer of the node that serves ${area} was lost: the request may have been carried out`,
  );
}

/** The port is for requests that the nodes of a cluster forward. */
export const notForwarded = new RequestFailure(
  "misdirected",
  "larder-not-executed: the request does not say for which client a node of this cluster has forwarded it",
);

export const messagingUnauthorized = new RequestFailure(
  "unauthorized",
  "Missing or invalid token: send it as Authorization: Bearer <token>",
);
export const readOnlyTokenRefused = new RequestFailure("forbidden", "A read-only token may only read");
export const chatNotAvailable = new RequestFailure(
  "not implemented",
  "Chat completions are not implemented: publish to the URL of the service itself",
);

export function noSuchMessagingPath(method: string): RequestFailure {
  return new RequestFailure("not found", `There is no such path for ${method}; paths start with /v2`);
}

export function messagingMethodNotAllowed(method: string, allowed: readonly string[]): RequestFailure {
  return new RequestFailure(
    "method not allowed",
    `HTTP method ${method} is not allowed here; use ${allowed.join(" or ")}`,
    ["Allow", allowed.join(", ")],
  );
}

/** `name`: the missing part of the path, such as `flowControlKey`. */
export function pathNameMissing(name: string): RequestFailure {
  return new RequestFailure("bad request", `${name} is missing in the path`);
}

export function bodyMalformed(expected: string): RequestFailure {
  return new RequestFailure("bad request", `Invalid body: send ${expected}`);
}

/** The text that clients of the vector index know (B.authentication). */
export const vectorUnauthorized = new RequestFailure("unauthorized", "Unauthorized: Invalid auth token");
export const noSuchVectorPath = new RequestFailure(
  "not found",
  "There is no such path; paths start with a command, such as /query, or with the name of the index and a command",
);
export const vectorMethodNotAllowed = new RequestFailure(
  "method not allowed",
  "This HTTP method is not allowed; use GET, HEAD, POST, PUT or DELETE",
  ["Allow", "GET, HEAD, POST, PUT, DELETE"],
);
export const namespaceMalformed = new RequestFailure(
  "bad request",
  "Invalid namespace in the path: it must be percent-encoded UTF-8",
);

export function namespaceTooLong(actualBytes: number, limitBytes: number): RequestFailure {
  return new RequestFailure(
    "unprocessable",
    `Invalid namespace in the path: it has ${actualBytes} bytes. Limit: ${limitBytes} bytes`,
  );
}

export const emptyQueryList = new RequestFailure("unprocessable", "The body is an empty list of queries");

/** `command`: from the path, such as `info`. */
export function namespaceNotTaken(command: string): RequestFailure {
  return new RequestFailure("not found", `There is no such path; /${command} takes no namespace`);
}

export const resetAllMalformed = new RequestFailure("unprocessable", "Invalid value for all: send ?all or ?all=true");
export const resetOfAllAndOne = new RequestFailure(
  "unprocessable",
  "Send either a namespace in the path or ?all, which resets every namespace",
);

/** Has the headers from which messaging clients create their error (C.limits.rate). */
export function burstExceeded(perSecond: number, { resetAtMs, retryAfterMs }: BurstReset): RequestFailure {
  return new RequestFailure("too many requests", `Too many requests: at most ${perSecond} per second`, [
    "Retry-After",
    String(Math.max(1, Math.ceil(retryAfterMs / 1_000))),
    "Burst-RateLimit-Limit",
    String(perSecond),
    "Burst-RateLimit-Remaining",
    "0",
    "Burst-RateLimit-Reset",
    String(Math.ceil(resetAtMs / 1_000)),
  ]);
}

/** The same for the daily limit of messages of a user. */
export function dailyLimitExceeded(text: string, messagesMax: number, resetAtMs: number): RequestFailure {
  return new RequestFailure("too many requests", text, [
    "RateLimit-Limit",
    String(messagesMax),
    "RateLimit-Remaining",
    "0",
    "RateLimit-Reset",
    String(Math.ceil(resetAtMs / 1_000)),
  ]);
}

interface BurstReset {
  /** Wall clock. */
  readonly resetAtMs: number;
  readonly retryAfterMs: number;
}
