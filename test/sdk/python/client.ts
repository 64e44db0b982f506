/**
 * The Python client of the store, as far as it is seen from a server: how it reads an answer, and what it makes of the
 * result of each command before its caller gets it. Its requests are the JSON texts in the tables beside this file.
 */
import assert from "node:assert/strict";

/** The body of a request, and what the caller gets. */
export type Row = readonly [request: string, result: Result | Raised];

export type Result = boolean | number | string | null | readonly Result[] | { readonly [name: string]: Result };

/** An exception in Python. */
export interface Raised {
  readonly startsWith: string;
  /** Refused before anything runs: a transaction with it does not run at all. */
  readonly isRefused: boolean;
}

/** The client raises an error with this start. */
export function raises(startsWith: string, when: "refused" | "run" = "run"): Raised {
  return { startsWith, isRefused: when === "refused" };
}

export function isRaised(result: Row[1]): result is Raised {
  return typeof result === "object" && result !== null && "startsWith" in result && "isRefused" in result;
}

type Decoded = string | number | null | readonly Decoded[];

/** What the caller gets for an answer in base64; throws the text of an error. */
export function resultOf(request: readonly unknown[], answer: unknown): Result {
  assert.ok(typeof answer === "object" && answer !== null);
  if ("error" in answer) throw new Error(String(answer.error));
  assert.ok("result" in answer, "an answer has a result or an error");
  return formatted(request, decoded(answer.result));
}

/** The client fails for everything but texts, integers, None and lists of them. */
function decoded(raw: unknown): Decoded {
  if (typeof raw === "string") return raw === "OK" ? "OK" : Buffer.from(raw, "base64").toString("utf8");
  if (raw === null) return null;
  if (Array.isArray(raw)) return raw.map(decoded);
  assert.ok(Number.isInteger(raw), `the client cannot decode ${JSON.stringify(raw)}`);
  return Number(raw);
}

type Formatter = (value: Decoded, words: readonly string[]) => Result;

function formatted(request: readonly unknown[], value: Decoded): Result {
  const words = request.map(String);
  const name = words[0] === "SCRIPT" ? `SCRIPT ${words[1]}` : (words[0] ?? "");
  return formatters.get(name)?.(value, words) ?? value;
}

/** Python's `float`. */
function asFloat(value: Decoded): number {
  assert.match(String(value), /^[+-]?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf)$/, "a text that Python's float reads");
  return Number(String(value).replace("inf", "Infinity"));
}

/** Python's `int`. */
function asInteger(value: Decoded): number {
  assert.match(String(value), /^-?\d+$/, "a text that Python's int reads");
  return Number(value);
}

function listOf(value: Decoded): readonly Decoded[] {
  assert.ok(Array.isArray(value), `a list instead of ${JSON.stringify(value)}`);
  return value;
}

function pairsOf(value: Decoded): readonly (readonly [Decoded, Decoded])[] {
  const items = listOf(value);
  assert.equal(items.length % 2, 0, "pairs in a flat list");
  return Array.from({ length: items.length / 2 }, (_, i) => [items[2 * i] as Decoded, items[2 * i + 1] as Decoded]);
}

const boolean: Formatter = (value) => value !== 0 && value !== null && value !== "";
const okAsBoolean: Formatter = (value) => value === "OK";
const float: Formatter = asFloat;
const optionalFloat: Formatter = (value) => (value === null ? null : asFloat(value));
const booleans: Formatter = (value) => listOf(value).map((one) => boolean(one, []));
const optionalBooleans: Formatter = (value) => listOf(value).map((one) => (one === null ? null : boolean(one, [])));
const optionalFloats: Formatter = (value) => listOf(value).map((one) => optionalFloat(one, []));
const dictionary: Formatter = (value) => Object.fromEntries(pairsOf(value));
const scored: Formatter = (value) => pairsOf(value).map(([member, score]) => [member, asFloat(score)]);
const scoredIfAsked: Formatter = (value, words) => (words.includes("WITHSCORES") ? scored(value, words) : value);
const json: Formatter = (value) => (value === null ? null : JSON.parse(String(value)));
const jsons: Formatter = (value) => listOf(value).map((one) => json(one, []));

/** A page of a scan: the cursor as an integer, and the elements in this form. */
function page(elements: Formatter): Formatter {
  return (value, words) => {
    const [cursor = null, found = null] = listOf(value);
    return [asInteger(cursor), elements(found, words)];
  };
}

/** The properties of a found place follow its name in this order. */
const places: Formatter = (value, words) => {
  const [distance, hash, coordinates] = ["WITHDIST", "WITHHASH", "WITHCOORD"].map((word) => words.includes(word));
  if (distance !== true && hash !== true && coordinates !== true) return value;
  return listOf(value).map((found) => {
    const [member = null, ...rest] = listOf(found);
    const place: Record<string, Result> = { member };
    if (distance === true) place["distance"] = asFloat(rest.shift() ?? null);
    if (hash === true) place["hash"] = asInteger(rest.shift() ?? null);
    if (coordinates === true) {
      const [longitude = null, latitude = null] = listOf(rest.shift() ?? null);
      place["longitude"] = asFloat(longitude);
      place["latitude"] = asFloat(latitude);
    }
    return place;
  });
};

const formatters: ReadonlyMap<string, Formatter> = new Map([
  ...["COPY", "EXPIRE", "EXPIREAT", "PERSIST", "PEXPIRE", "PEXPIREAT", "RENAMENX", "HEXISTS", "HSETNX"].map(
    (name): [string, Formatter] => [name, boolean],
  ),
  ...["PFADD", "SISMEMBER", "SMOVE", "SETNX", "MSETNX"].map((name): [string, Formatter] => [name, boolean]),
  ...["RENAME", "PFMERGE", "FLUSHALL", "FLUSHDB", "PSETEX", "SETEX", "MSET", "HMSET", "LSET", "SCRIPT FLUSH"].map(
    (name): [string, Formatter] => [name, okAsBoolean],
  ),
  ...["JSON.SET", "JSON.MERGE", "JSON.MSET"].map((name): [string, Formatter] => [name, okAsBoolean]),
  ["SET", (value, words) => (words.slice(3).includes("GET") ? value : value === "OK")],
  ...["INCRBYFLOAT", "HINCRBYFLOAT", "ZINCRBY"].map((name): [string, Formatter] => [name, float]),
  ...["GEODIST", "ZSCORE"].map((name): [string, Formatter] => [name, optionalFloat]),
  ["ZADD", (value, words) => (words.includes("INCR") ? optionalFloat(value, words) : value)],
  ["SMISMEMBER", booleans],
  ["SCRIPT EXISTS", booleans],
  ["JSON.TOGGLE", optionalBooleans],
  ["ZMSCORE", optionalFloats],
  ["HGETALL", dictionary],
  ["HRANDFIELD", (value, words) => (words.includes("WITHVALUES") ? dictionary(value, words) : value)],
  ["SCAN", page((value) => value)],
  ["SSCAN", page((value) => value)],
  ["HSCAN", page(dictionary)],
  ["ZSCAN", page(scored)],
  ["ZPOPMAX", scored],
  ["ZPOPMIN", scored],
  ...["ZDIFF", "ZINTER", "ZUNION", "ZRANDMEMBER", "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE"].map(
    (name): [string, Formatter] => [name, scoredIfAsked],
  ),
  ...["GEORADIUS", "GEORADIUS_RO", "GEORADIUSBYMEMBER", "GEORADIUSBYMEMBER_RO", "GEOSEARCH"].map(
    (name): [string, Formatter] => [name, places],
  ),
  ["GEOPOS", (value) => listOf(value).map((one) => (Array.isArray(one) ? one.map(asFloat) : null))],
  ["TIME", (value) => listOf(value).map(asInteger)],
  ["JSON.GET", json],
  ["JSON.NUMINCRBY", json],
  ["JSON.NUMMULTBY", json],
  ["JSON.ARRPOP", jsons],
  ["JSON.MGET", jsons],
  ["XREAD", (value) => value ?? []],
  ["XREADGROUP", (value) => value ?? []],
]);
