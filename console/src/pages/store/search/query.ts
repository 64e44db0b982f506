/** Search indexes by SEARCH.*: their definitions, queries and aggregations. */
import { type Bytes, bytesOfText } from "../values/bytes.ts";
import type { RowsPage } from "../values/pages.ts";
import { ask, bytesOf, listOf, mapOf, numberOf, type Reply, textOfReply } from "../values/run.ts";

export interface IndexField {
  readonly name: string;
  readonly type: string;
  /** FAST, NOSTEM, FROM and the like. */
  readonly options: readonly string[];
}

export interface IndexDefinition {
  readonly name: string;
  /** HASH, JSON or STRING. */
  readonly type: string;
  readonly prefixes: readonly string[];
  readonly language: string;
  readonly bytes: number;
  /** Above 0 until the first scan has ended. */
  readonly pendingUpdates: number;
  readonly fields: readonly IndexField[];
}

/** Undefined if there is no such index. */
export async function describeIndex(
  database: string,
  name: string,
  signal: AbortSignal,
): Promise<IndexDefinition | undefined> {
  const reply = await ask(database, ["SEARCH.DESCRIBE", bytesOfText(name)], signal);
  if (reply === null) return undefined;
  const facts = mapOf(reply);
  return {
    name: textOfReply(facts.get("name")),
    type: textOfReply(facts.get("type")),
    prefixes: listOf(facts.get("prefixes")).map(textOfReply),
    language: textOfReply(facts.get("language")),
    bytes: numberOf(facts.get("indexSize")),
    pendingUpdates: numberOf(facts.get("pendingUpdates")),
    fields: listOf(facts.get("schema")).map((field) => {
      const [fieldName, type, ...options] = listOf(field).map(textOfReply);
      return { name: fieldName ?? "", type: type ?? "", options };
    }),
  };
}

export interface Query {
  /** JSON. */
  readonly filter: string;
  /** A field; empty: by score. */
  readonly order: string;
  readonly isAscending: boolean;
  /** Fields of documents, apart by spaces; empty: whole documents. */
  readonly select: string;
  /** Fields whose words are marked, apart by spaces. */
  readonly highlight: string;
}

export interface Hit {
  readonly key: Bytes;
  readonly score: string;
  readonly content: readonly (readonly [field: string, value: Bytes])[];
}

/** Hits of a page: their documents may be long. */
const HITS = 20;
/** larder's own bound. */
const OFFSET_MAX = 10_000;
/** Around a marked word: no document has them in its text. */
export const MARK_START = "\x01";
export const MARK_END = "\x02";

export async function queryPage(
  database: string,
  index: string,
  { query, offset, signal }: { readonly query: Query; readonly offset: number; readonly signal: AbortSignal },
): Promise<RowsPage<Hit, number>> {
  const { filter, order, isAscending } = query;
  const select = namesOf(query.select);
  const highlight = namesOf(query.highlight);
  const words = [
    ...["SEARCH.QUERY", bytesOfText(index), bytesOfText(filter), "LIMIT", HITS, "OFFSET", offset],
    ...(order === "" ? [] : ["ORDERBY", bytesOfText(order), isAscending ? "ASC" : "DESC"]),
    ...(select.length === 0 ? [] : ["SELECT", select.length, ...select]),
    ...(highlight.length === 0
      ? []
      : ["HIGHLIGHT", "FIELDS", highlight.length, ...highlight, "TAGS", MARK_START, MARK_END]),
  ];
  const rows = listOf(await ask(database, words, signal)).map(hitOf);
  const next = offset + HITS;
  return { rows, next: rows.length < HITS || next > OFFSET_MAX ? undefined : next };
}

function namesOf(text: string): Bytes[] {
  return text
    .split(/[\s,]+/)
    .filter((name) => name !== "")
    .map(bytesOfText);
}

function hitOf(reply: Reply): Hit {
  const [key, score, content] = listOf(reply);
  return {
    key: bytesOf(key),
    score: textOfReply(score),
    content: listOf(content).map((pair) => {
      const [field, value] = listOf(pair);
      return [textOfReply(field), bytesOf(value)];
    }),
  };
}

export async function countHits(
  database: string,
  index: string,
  { filter, signal }: { readonly filter: string; readonly signal: AbortSignal },
): Promise<number> {
  return numberOf(await ask(database, ["SEARCH.COUNT", bytesOfText(index), bytesOfText(filter)], signal));
}

/** The results as JSON text. */
export async function aggregate(
  database: string,
  index: string,
  { filter, aggregations }: { readonly filter: string; readonly aggregations: string },
): Promise<string> {
  const words = ["SEARCH.AGGREGATE", bytesOfText(index), bytesOfText(filter), bytesOfText(aggregations)];
  return JSON.stringify(objectOf(await ask(database, words)), undefined, 2);
}

/** Members whose value is a list of objects, or one object. */
const LISTS: readonly string[] = ["buckets", "values", "children"];

/** Every object is a flat list of names and values. */
function objectOf(reply: Reply): unknown {
  return Object.fromEntries([...mapOf(reply)].map(([name, value]) => [name, valueOfMember(name, value)]));
}

function valueOfMember(name: string, value: Reply): unknown {
  if (!Array.isArray(value)) return typeof value === "string" ? numberOrText(textOfReply(value)) : value;
  const list = listOf(value);
  const isList = LISTS.includes(name) && (list.length === 0 || Array.isArray(list[0]));
  return isList ? list.map(objectOf) : objectOf(value);
}

/** Metrics come as texts of numbers. */
function numberOrText(text: string): number | string {
  return `${Number(text)}` === text ? Number(text) : text;
}
