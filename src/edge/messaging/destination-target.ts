/**
 * The destination of a publish: what follows the path of the route, as it was
 * written on the request line (C15.destination, C.options.query).
 *
 * (1) The destination's own query stays as it is, byte for byte and in order.
 *     What is ours in it, options and the token, is taken out, so that no
 *     destination ever sees our token (threats C-12).
 * (2) A URL is kept as it was published, because receivers compare it with the
 *     one that is signed. Only its scheme is put in lower case, and a slash
 *     that a proxy dropped from `https://` is put back.
 */

import { textFromBytes } from "../../kernel/bytes.ts";
import { badRequest, identifierRule, isIdentifier, isKnownHeader } from "../../messaging/mod.ts";
import { percentDecode } from "../http/percent.ts";
import { unprefixedParameter } from "../names.ts";

export interface OwnQuery {
  /** Options, as headers without prefix: name, value, name, value, … */
  readonly own: readonly string[];
  readonly token: string | undefined;
  /** The rest, as it was written, without the `?`. */
  readonly rest: string;
  /** The same where it belongs to the destination. Undefined: it has no query, not even an empty one. */
  readonly ofDestination: string | undefined;
}

const NO_QUERY: OwnQuery = { own: [], token: undefined, rest: "", ofDestination: undefined };
const TOKEN = "token";

/** Parts a query, without its `?`, into what is ours and what is the destination's; undefined: there is no `?`. keeps (1) */
export function splitQuery(query: string | undefined): OwnQuery {
  if (query === undefined) return NO_QUERY;
  if (!mayHoldOurs(query)) return { own: [], token: undefined, rest: query, ofDestination: query };
  const own: string[] = [];
  const kept: string[] = [];
  let token: string | undefined;
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    const nameEnd = equals < 0 ? pair.length : equals;
    const name = ownName(pair.slice(0, nameEnd));
    if (name === undefined) kept.push(pair);
    else {
      const value = decodeText(pair.slice(Math.min(nameEnd + 1, pair.length)), "query");
      if (name === TOKEN) token ??= value;
      else own.push(name, value);
    }
  }
  const rest = kept.join("&");
  return { own, token, rest, ofDestination: kept.length === 0 ? undefined : rest };
}

/** Most queries hold nothing of ours, and are not taken apart. */
function mayHoldOurs(query: string): boolean {
  return query.includes("stash") || query.includes("service") || query.includes("%");
}

/** The name without prefix of a parameter that is ours, or undefined. */
function ownName(written: string): string | undefined {
  // A name that cannot be decoded is not ours; the destination may make of it what it likes.
  const name = written.includes("%") ? decodeURIComponentOrNothing(written) : written;
  const own = name === undefined ? undefined : unprefixedParameter(name);
  if (own === undefined || own === TOKEN) return own;
  const isHeaderName = name?.[name.length - own.length - 1] === "-";
  return isHeaderName && isKnownHeader(own) ? own : undefined;
}

function decodeURIComponentOrNothing(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The text that a part of a target spells. Throws a RequestFailure at a malformed `%`. */
export function decodeText(written: string, part: "path" | "query"): string {
  return textFromBytes(percentDecode(written, { start: 0, end: written.length, part }));
}

/** A scheme that we call, and the slashes behind it, of which a proxy may have dropped one. */
const SCHEME = /^(https?):\/{1,2}(?=[^/])/i;
const ANY_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** What no URL holds as it is. */
const UNPRINTABLE = /[^\x21-\x7e]/;
const SHOWN_LENGTH_MAX = 200;

/**
 * The destination that a path names: a URL, to which the query belongs, or a group. Throws a `MessagingFailure` that
 * names it.
 */
export function destinationOf(
  path: string,
  query: string | undefined,
  refusalOf: (url: URL) => string | undefined,
): string {
  if (SCHEME.test(path)) return checkDestination(query === undefined ? path : `${path}?${query}`, refusalOf);
  const decoded = path.includes("%") ? (decodeURIComponentOrNothing(path) ?? path) : path;
  if (!SCHEME.test(decoded)) return checkDestination(decoded, refusalOf);
  const mark = decoded.includes("?") ? "&" : "?";
  return checkDestination(query === undefined || query === "" ? decoded : decoded + mark + query, refusalOf);
}

/** Destinations that were found valid, as given and as they are called; the same one comes with thousands of messages. */
type Checked = Map<string, string>;

/** What a policy says of a URL never changes, so each has its own: reading a URL anew takes as long as signing a message. */
const checkedBy = new WeakMap<(url: URL) => string | undefined, Checked>();
const CHECKED_MAX = 1_024;
/** Long ones are not worth their memory. */
const CHECKED_LENGTH_MAX = 512;

/** A destination as it is written in a batch, or as it was taken from a path. Throws a `MessagingFailure`. keeps (2) */
export function checkDestination(given: string, refusalOf: (url: URL) => string | undefined): string {
  let checked = checkedBy.get(refusalOf);
  if (checked === undefined) {
    checked = new Map();
    checkedBy.set(refusalOf, checked);
  }
  const known = checked.get(given);
  if (known !== undefined) return known;
  if (given.length > CHECKED_LENGTH_MAX) return readDestination(given, refusalOf);
  // A copy: what was cut from a long target would keep all of it.
  const text = Buffer.from(given).utf8Slice();
  const destination = readDestination(text, refusalOf);
  if (checked.size >= CHECKED_MAX) checked.clear();
  checked.set(text, destination);
  return destination;
}

function readDestination(given: string, refusalOf: (url: URL) => string | undefined): string {
  const text = given.trim();
  if (text === "") throw badRequest("destination is missing: give a URL or the name of a URL group");
  const scheme = SCHEME.exec(text);
  if (scheme === null) return checkGroupName(text);
  const [written = "", name = ""] = scheme;
  const spelled = `${name.toLowerCase()}://${text.slice(written.length)}`;
  const url = URL.parse(spelled);
  if (url === null || url.hostname === "") throw invalidDestination(text, "it is no URL");
  const refusal = refusalOf(url);
  if (refusal !== undefined) throw badRequest(`Invalid destination: ${refusal}`);
  return UNPRINTABLE.test(spelled) ? url.href : spelled;
}

function checkGroupName(text: string): string {
  if (text === "api" || text.startsWith("api/")) {
    throw invalidDestination(text, "there are no built-in destinations; publish to the URL of the service itself");
  }
  if (ANY_SCHEME.test(text)) throw invalidDestination(text, "a URL starts with http:// or https://");
  if (!isIdentifier(text)) {
    throw invalidDestination(
      text,
      `a URL starts with http:// or https://, and the name of a URL group ${identifierRule}`,
    );
  }
  return text;
}

function invalidDestination(text: string, remedy: string): unknown {
  const shown = text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
  return badRequest(`Invalid destination: ${JSON.stringify(shown)}: ${remedy}`);
}
