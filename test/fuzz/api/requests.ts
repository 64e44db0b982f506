/** Requests of an operation: valid by the document, nearly valid, and invalid. */

import type { ReadOperation, ReadParameter } from "./document.ts";
import type { Drawer } from "./draw.ts";

export type Mode = "valid" | "nearly valid" | "junk";

export interface DrawnRequest {
  readonly mode: Mode;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** name, value, … */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** Names of its parameters and fields, in any place. */
  readonly names: readonly string[];
}

/** For optional parameters. */
const OPTIONAL_SHARE = { query: 0.08, header: 0.05 } as const;

export function drawRequest(operation: ReadOperation, drawer: Drawer): DrawnRequest {
  const mode = drawer.chance(0.62) ? "valid" : drawer.chance(0.75) ? "nearly valid" : "junk";
  const spoilt = mode === "valid" ? undefined : drawer.oneOf(["path", "query", "header", "body", "body"] as const);
  const names = new Set<string>();
  let path = operation.path;
  const query: string[] = [];
  const headers: string[] = [];
  for (const parameter of operation.parameters) {
    const place = parameter.in;
    const isWanted = place === "path" || parameter.required || drawer.chance(OPTIONAL_SHARE[place]);
    const isSpoilt = place === spoilt && drawer.chance(mode === "junk" ? 0.9 : 0.5);
    if (!isWanted && !isSpoilt) continue;
    if (place !== "path" && isSpoilt && parameter.required && drawer.chance(0.4)) continue;
    names.add(parameter.name);
    const texts = textsOf(parameter, drawer, isSpoilt);
    if (place === "path") path = path.replace(`{${parameter.name}}`, () => pathText(texts[0] ?? "", drawer));
    else if (place === "query") {
      for (const text of texts) query.push(`${encodeURIComponent(parameter.name)}=${encodeText(text)}`);
    } else headers.push(spelled(parameter.name, drawer), headerText(texts[0] ?? ""));
  }
  if (spoilt === "query" && drawer.chance(0.4)) {
    query.push(`${encodeText(drawer.junk())}=${encodeText(drawer.junk())}`);
  }
  const body = drawBody(operation, drawer, { mode: spoilt === "body" ? mode : "valid", names });
  if (body.length > 0 && operation.body !== undefined) headers.push("Content-Type", operation.body.contentType);
  const mark = path.includes("?") ? "&" : "?";
  return {
    mode,
    method: operation.method,
    target: query.length === 0 ? path : `${path}${mark}${query.join("&")}`,
    headers,
    body,
    names: [...names],
  };
}

function textsOf({ name, schema }: ReadParameter, drawer: Drawer, isSpoilt: boolean): readonly string[] {
  if (isSpoilt) return [drawer.junk()];
  const value = drawer.value(schema, name);
  const texts = (Array.isArray(value) ? value : [value]).map(String);
  if (texts.length === 0) return [drawer.word()];
  return drawer.chance(0.5) ? [texts.join(",")] : texts;
}

/** No percent-encoding. */
const MALFORMED = "%zz";

/** A destination needs no encoding. An empty segment would make another path. */
function pathText(text: string, drawer: Drawer): string {
  if (text === "") return "%20";
  return /^https?:\/\/[\x21-\x7e]+$/.test(text) && drawer.chance(0.6) ? text : encodeText(text);
}

function encodeText(text: string): string {
  if (text === MALFORMED) return text;
  return encodeURIComponent(text.toWellFormed());
}

/** Bytes, as a transport passes them on. */
function headerText(text: string): string {
  return Buffer.from(text.replace(/[\r\n\0]/g, "")).toString("latin1");
}

/** Both spellings of larder's headers are equivalent. */
function spelled(name: string, drawer: Drawer): string {
  return drawer.chance(0.3) ? name.replace(/^Service-/, "upstash-") : name;
}

function drawBody(
  { body, path }: ReadOperation,
  drawer: Drawer,
  { mode, names }: { readonly mode: Mode; readonly names: Set<string> },
): Buffer {
  if (body === undefined) return drawer.chance(0.02) ? Buffer.from(drawer.junk()) : Buffer.alloc(0);
  if (!body.contentType.includes("json")) return Buffer.from(drawer.oneOf(["", "hello", '{"a":1}', "\u0000é"]));
  if (!body.isRequired && mode === "valid" && drawer.chance(0.7)) return Buffer.alloc(0);
  if (mode === "junk" && drawer.chance(0.5)) {
    return Buffer.from(drawer.oneOf(["", "{", "[]", "null", "1", '"x"', "\ufeff{}", "[[[[", '{"a":1}x', "\u0000"]));
  }
  let value = isOfCommands(path) ? drawCommands(path, drawer) : drawer.value(body.schema);
  if (mode !== "valid") value = drawer.spoiled(value);
  for (const name of fieldNames(value)) names.add(name);
  return Buffer.from(JSON.stringify(value) ?? "");
}

function isOfCommands(path: string): boolean {
  return path === "/" || path === "/pipeline" || path === "/multi-exec";
}

function drawCommands(path: string, drawer: Drawer): unknown {
  if (path === "/") return drawer.commandWords();
  return Array.from({ length: 1 + drawer.random.below(4) }, () => drawer.commandWords());
}

function fieldNames(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(fieldNames);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...fieldNames(member)]);
}
