/**
 * The file of an exported index: one JSON value per line.
 *
 *     {"larder":"vector","format":1,"index":{…},"namespaces":[["docs",…],…]}    the index, and about how many records
 *     {"namespace":"docs"}                                 the namespace of the following records
 *     {"id":"a","vector":[…],"metadata":{…},"data":"…"}    a record, as the interface prints it
 *     {"endOf":"docs","count":…,"digest":"…"}              their count and their digest
 *     {"end":true,"namespaces":…,"count":…,"digest":"…"}   the totals
 *
 * A file without the last line is incomplete and is not imported. Only records
 * have an `id`.
 */
import { parseJsonText } from "../../kernel/json/parse.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { readLastLine, readLines } from "../ndjson-file.ts";
import type { IndexFacts } from "./index-client.ts";
import type { TallyState } from "./tally.ts";

const FORMAT = 1;
/** The last line only has a few numbers. */
const END_BYTES_MAX = 4_096;

export interface FileHead {
  readonly facts: IndexFacts;
  /** About how many records each namespace has: all of the file, in its order. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface FileEnd extends TallyState {
  readonly namespaceCount: number;
}

export function headLine({ facts, counts }: FileHead): string {
  return JSON.stringify({ larder: "vector", format: FORMAT, index: facts, namespaces: [...counts] });
}

export function namespaceLine(namespace: string): string {
  return JSON.stringify({ namespace });
}

export function endOfLine(namespace: string, { count, digest }: TallyState): string {
  return JSON.stringify({ endOf: namespace, count, digest });
}

export function endLine({ namespaceCount, count, digest }: FileEnd): string {
  return JSON.stringify({ end: true, namespaces: namespaceCount, count, digest });
}

/** A record as a line: in JSON, line breaks are only between values. */
export function recordLine(text: string): string {
  return /[\n\r]/.test(text) ? text.replaceAll(/[\n\r]/g, " ") : text;
}

export type FileLine =
  | { readonly kind: "namespace"; readonly name: string }
  /** Its content is not parsed yet. */
  | { readonly kind: "record" }
  | { readonly kind: "end of namespace"; readonly name: string; readonly tally: TallyState };

/** Reads the first and the last line. Rejects with a `StartRefusal` if this is not a complete file of an index. */
export async function readEnds(
  path: string,
): Promise<{ readonly head: FileHead; readonly end: FileEnd; readonly bodyAt: number }> {
  let first: { readonly text: string; readonly end: number } | undefined;
  for await (const lines of readLines(path, 0)) {
    first = lines[0];
    break;
  }
  const head = fieldsOf(first?.text ?? "");
  const facts = fieldsIn(head.get("index"));
  if (head.get("larder") !== "vector" || first === undefined)
    throw new StartRefusal(`${path} was not written by larder export vector`);
  if (head.get("format") !== FORMAT)
    throw new StartRefusal(
      `${path} has the format ${String(head.get("format"))}, but this version reads format ${FORMAT}`,
    );
  const end = fieldsOf((await readLastLine(path, END_BYTES_MAX)) ?? "");
  const tally = tallyOf(end);
  if (end.get("end") !== true || tally === undefined)
    throw new StartRefusal(
      `${path} is incomplete: its last line is missing. Export it again, or continue with --resume`,
    );
  const text = (key: string): string => {
    const value = facts.get(key);
    if (typeof value !== "string") throw new StartRefusal(`${path}: index.${key} in the first line is not a string`);
    return value;
  };
  return {
    head: {
      facts: {
        type: text("type"),
        dimension: countOf(facts.get("dimension")),
        similarity: text("similarity"),
        denseModel: text("denseModel"),
        sparseModel: text("sparseModel"),
      },
      counts: countsOf(head.get("namespaces")),
    },
    end: { ...tally, namespaceCount: countOf(end.get("namespaces")) },
    bodyAt: first.end,
  };
}

/** Reads a line after the first; undefined: it is the last. Throws a SyntaxError. */
export function parseLine(text: string): FileLine | undefined {
  // Distinguished before parsing: nearly all lines are records.
  if (!/^\{"(?:namespace|endOf|end)":/.test(text)) return { kind: "record" };
  const fields = fieldsOf(text);
  if (fields.has("id")) return { kind: "record" };
  if (fields.get("end") === true) return undefined;
  const name = fields.get("namespace");
  if (typeof name === "string") return { kind: "namespace", name };
  const ended = fields.get("endOf");
  const tally = tallyOf(fields);
  if (typeof ended !== "string" || tally === undefined) throw new SyntaxError("it is not a line of an exported index");
  return { kind: "end of namespace", name: ended, tally };
}

function tallyOf(fields: ReadonlyMap<string, unknown>): TallyState | undefined {
  const digest = fields.get("digest");
  if (typeof digest !== "string" || !/^[0-9a-f]{32}$/.test(digest)) return undefined;
  return { count: countOf(fields.get("count")), digest };
}

function fieldsOf(text: string): ReadonlyMap<string, unknown> {
  try {
    return fieldsIn(parseJsonText(text));
  } catch {
    return new Map();
  }
}

function fieldsIn(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof value === "object" && value !== null ? Object.entries(value) : []);
}

function countsOf(value: unknown): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const pair of Array.isArray(value) ? value : []) {
    const [name, count]: readonly unknown[] = Array.isArray(pair) ? pair : [];
    if (typeof name === "string") counts.set(name, countOf(count));
  }
  return counts;
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
