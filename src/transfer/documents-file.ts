/**
 * The second file beside a Redis file (RDB), with values that a plain
 * redis-server cannot hold: JSON documents, hashes whose fields expire, and search
 * indexes. Each has one line of JSON:
 *
 *     {"key":"user:1","expiresAtMs":1764000000000,"json":"{\"name\":\"Ada\"}"}
 *     {"keyBase64":"/w==","dumpBase64":"GAAA…"}
 *     {"key":"users","searchBase64":"T04A…","aliasesBase64":""}
 *
 * A key is text if it is UTF-8; a hash is a payload of DUMP, for RESTORE of
 * larder or of Redis 7.4. The words of SEARCH.CREATE after the name, and the aliases of
 * an index, have a zero byte between them, which only this file forbids in them.
 */

import { isUtf8 } from "node:buffer";
import { createReadStream, statSync } from "node:fs";
import { type Bytes, bufferFrom, bytesFromText, textFromBytes } from "../kernel/bytes.ts";
import { parseJsonText } from "../kernel/json/parse.ts";
import { otherKind } from "../persistence/disk/file-kind.ts";
import { StartRefusal } from "../program/refusal.ts";
import { type SourceEntry, sourceRefusal } from "./store/source.ts";

/** The name of the second file. */
export function documentsPath(rdbPath: string): string {
  return `${rdbPath}.documents.ndjson`;
}

/** A line without its end. Refused entries have no line. */
export function printDocument({ key, atMs, value }: SourceEntry): string {
  const keyBytes = bufferFrom(key);
  const named = isUtf8(keyBytes) ? { key: textFromBytes(key) } : { keyBase64: keyBytes.toString("base64") };
  const expiry = atMs === undefined ? {} : { expiresAtMs: atMs };
  switch (value.kind) {
    case "document":
      return JSON.stringify({ ...named, ...expiry, json: textFromBytes(value.text) });
    case "dump":
      return JSON.stringify({ ...named, ...expiry, dumpBase64: bufferFrom(value.payload).toString("base64") });
    case "index":
      return JSON.stringify({ ...named, searchBase64: joined(value.words), aliasesBase64: joined(value.aliases) });
    case "refused":
      throw new Error("refused entries are not written");
    default: {
      const never: never = value;
      throw new Error(`Unknown value ${String(never)}`);
    }
  }
}

/** The entry of each line from line `from` on, counted from 0. Fails with a `StartRefusal` that names the line. */
export async function* readDocuments(path: string, from = 0): AsyncIterable<SourceEntry> {
  const what = otherKind(statSync(path));
  if (what !== undefined) throw sourceRefusal(path, `it is ${what}, not a file`);
  let line = 0;
  for await (const bytes of linesOf(path)) {
    line += 1;
    if (!isUtf8(bytes)) throw sourceRefusal(path, `line ${line} is not UTF-8`);
    if (line > from && bytes.length > 0) yield parseDocument(bytes.utf8Slice(), { path, line });
  }
}

function parseDocument(text: string, { path, line }: { path: string; line: number }): SourceEntry {
  const wrong = (reason: string): never => {
    throw sourceRefusal(path, `line ${line} ${reason}`);
  };
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch {
    wrong("is not valid JSON");
  }
  const fields = new Map<string, unknown>(typeof value === "object" && value !== null ? Object.entries(value) : []);
  const stringAt = (name: string): string | undefined => {
    const field = fields.get(name);
    return field === undefined || typeof field === "string" ? field : wrong(`has a ${name} that is not a string`);
  };
  const [key, keyBase64] = [stringAt("key"), stringAt("keyBase64")];
  const [json, dump, search] = [stringAt("json"), stringAt("dumpBase64"), stringAt("searchBase64")];
  const aliases = stringAt("aliasesBase64");
  const atMs = fields.get("expiresAtMs");
  if ((key === undefined) === (keyBase64 === undefined)) wrong("must have either key or keyBase64");
  if ([json, dump, search].filter((field) => field !== undefined).length !== 1)
    wrong("must have one of json, dumpBase64 and searchBase64");
  if (atMs !== undefined && !(typeof atMs === "number" && Number.isSafeInteger(atMs) && atMs > 0))
    wrong("has an expiresAtMs that is not a time in ms");
  const parsed = (): SourceEntry["value"] => {
    if (json !== undefined) return { kind: "document", text: bytesFromText(json) };
    if (search === undefined) return { kind: "dump", payload: bytesOfBase64(dump ?? "") };
    return { kind: "index", words: parted(search), aliases: parted(aliases ?? "") };
  };
  return {
    key: key === undefined ? bytesOfBase64(keyBase64 ?? "") : bytesFromText(key),
    atMs: typeof atMs === "number" ? atMs : undefined,
    value: parsed(),
  };
}

const SEPARATOR = "\0";

/** Words as base64. Throws a `StartRefusal` for one with a zero byte. */
function joined(words: readonly Bytes[]): string {
  if (words.some((word) => word.includes(SEPARATOR)))
    throw new StartRefusal("a search index has a zero byte in its prefixes, fields or aliases, and cannot be exported");
  return Buffer.from(words.join(SEPARATOR), "latin1").toString("base64");
}

function parted(base64: string): readonly Bytes[] {
  return base64 === "" ? [] : bytesOfBase64(base64).split(SEPARATOR);
}

function bytesOfBase64(text: string): Bytes {
  return Buffer.from(text, "base64").latin1Slice();
}

const LINE_FEED = 0x0a;

async function* linesOf(path: string): AsyncIterable<Buffer> {
  let parts: Buffer[] = [];
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      parts.push(chunk.subarray(from, end));
      yield Buffer.concat(parts);
      parts = [];
      from = end + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}
