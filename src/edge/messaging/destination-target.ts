/**
 * The destination of a publish: the rest of the path, as written on the request
 * line (C15.destination, C.options.query).
 *
 * (1) The destination's own query is unchanged, byte for byte and in order. Our
 *     options and our token are removed from it, so that no destination ever sees
 *     the token (threats C-12).
 * (2) A URL is stored as published, because receivers compare it with the signed
 *     one. Only its scheme becomes lower case, and a slash that a proxy dropped
 *     from `https://` is restored.
 */

import { textFromBytes } from "../../kernel/bytes.ts";
import { badRequest, identifierRule, isIdentifier, isKnownHeader } from "../../messaging/mod.ts";
import { percentDecode } from "../http/percent.ts";
import { unprefixedParameter } from "../names.ts";

export interface OwnQuery {
  /** Options, as headers without prefix: name, value, name, value, … */
  readonly own: readonly string[];
  readonly token: string | undefined;
  /** The rest, as written, without the `?`. */
  readonly rest: string;
  /** The query of the destination. Undefined: no query, not even an empty one. */
  readonly ofDestination: string | undefined;
}

const NO_QUERY: OwnQuery = { own: [], token: undefined, rest: "", ofDestination: undefined };
const TOKEN = "token";

/** Separates our parameters from the destination's query. `query`: without `?`; undefined without one. keeps (1) */
export function splitQuery(query: string | undefined): OwnQuery {
  if (query === undefined) return NO_QUERY;
  if (!mayHaveOwn(query)) return { own: [], token: undefined, rest: query, ofDestination: query };
  const own: string[] = [];
  const others: string[] = [];
  let token: string | undefined;
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    const nameEnd = equals < 0 ? pair.length : equals;
    const name = ownName(pair.slice(0, nameEnd));
    if (name === undefined) others.push(pair);
    else {
      const value = decodeText(pair.slice(Math.min(nameEnd + 1, pair.length)), "query");
      if (name === TOKEN) token ??= value;
      else own.push(name, value);
    }
  }
  const rest = others.join("&");
  return { own, token, rest, ofDestination: others.length === 0 ? undefined : rest };
}

/** Fast path: most queries contain none of our parameters. */
function mayHaveOwn(query: string): boolean {
  return query.includes("stash") || query.includes("service") || query.includes("%");
}

/** The name of our parameter without its prefix, or undefined for others. */
function ownName(written: string): string | undefined {
  // A name that cannot be decoded is not ours; the destination may interpret it.
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

/** The decoded text of a part of a target. Throws a RequestFailure at a malformed `%`. */
export function decodeText(written: string, part: "path" | "query"): string {
  return textFromBytes(percentDecode(written, { start: 0, end: written.length, part }));
}

/** A supported scheme and its slashes, one of which a proxy may have dropped. */
const SCHEME = /^(https?):\/{1,2}(?=[^/])/i;
const ANY_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** Characters that URLs only contain encoded. */
const UNPRINTABLE = /[^\x21-\x7e]/;
const SHOWN_LENGTH_MAX = 200;

/**
 * The destination in a path: a URL, including the query, or a group. Throws a `MessagingFailure` that names the
 * destination.
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

/** A cache of valid destinations, from written to called form; thousands of messages have the same one. */
type Checked = Map<string, string>;

/** A cache for each policy, whose verdicts never change: parsing a URL takes as long as signing a message. */
const checkedBy = new WeakMap<(url: URL) => string | undefined, Checked>();
const CHECKED_MAX = 1_024;
/** Longer destinations are not cached. */
const CHECKED_LENGTH_MAX = 512;

/** Checks a destination from a batch or a path. Throws a `MessagingFailure`. keeps (2) */
export function checkDestination(written: string, refusalOf: (url: URL) => string | undefined): string {
  let checked = checkedBy.get(refusalOf);
  if (checked === undefined) {
    checked = new Map();
    checkedBy.set(refusalOf, checked);
  }
  const known = checked.get(written);
  if (known !== undefined) return known;
  if (written.length > CHECKED_LENGTH_MAX) return readDestination(written, refusalOf);
  // A copy: a slice of a long target would hold all of it in memory.
  const text = Buffer.from(written).utf8Slice();
  const destination = readDestination(text, refusalOf);
  if (checked.size >= CHECKED_MAX) checked.clear();
  checked.set(text, destination);
  return destination;
}

function readDestination(destination: string, refusalOf: (url: URL) => string | undefined): string {
  const text = destination.trim();
  if (text === "") throw badRequest("destination is missing: give a URL or the name of a URL group");
  const scheme = SCHEME.exec(text);
  if (scheme === null) return checkGroupName(text);
  const [written = "", name = ""] = scheme;
  const spelled = `${name.toLowerCase()}://${text.slice(written.length)}`;
  const url = URL.parse(spelled);
  if (url === null || url.hostname === "") throw invalidDestination(text, "it is not a URL");
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
