/**
 * The short way for ordinary requests: the head of a request that the HTTP client
 * would send too, byte for byte. Returns undefined for any other one: the client
 * writes it, or refuses it.
 */
import type { HeaderTemplate } from "../../../messaging/mod.ts";
import type { OutboundCall } from "../call.ts";

/** Methods whose requests have a body. Others have rules of their own about length and reuse. */
const methods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Names that change the framing or the connection, or that the client refuses. */
const framingNames: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "expect",
]);

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const PATH = /^\/[\x21-\xff]*$/;

/** Names as given that are plain: calls have the same ones again and again. */
const plainNames = new Set<string>();
const PLAIN_NAMES_MAX = 1_024;

/** With their heads, texts up to this length fit in the buffer on the stack from which Node writes them. */
const TEXT_BYTES_MAX = 12 * 1_024;
/** Longer bodies in pieces are sent in pieces. */
export const JOINED_BYTES_MAX = 128 * 1_024;

/** True if the call may take the short way. */
export function isPlainCall(call: OutboundCall, path: string): boolean {
  const { method, body, template } = call;
  if (!methods.has(method)) return false;
  if (isInPieces(body) && lengthOf(body) > JOINED_BYTES_MAX) return false;
  if (template === undefined) return PATH.test(path) && arePlain(call.headers);
  const lines = linesOf(template);
  if (lines === undefined || (lines.path !== path && !PATH.test(path))) return false;
  for (const value of call.values ?? NO_VALUES) if (NOT_IN_VALUE.test(value)) return false;
  return true;
}

function arePlain(headers: readonly string[]): boolean {
  // Most of our headers are sent in two spellings, one after the other, so every second value is known.
  let plainValue = "";
  for (let i = 0; i < headers.length; i += 2) {
    if (!isPlainName(headers[i] as string)) return false;
    const value = headers[i + 1] as string;
    if (value === plainValue) continue;
    if (NOT_IN_VALUE.test(value)) return false;
    plainValue = value;
  }
  return true;
}

const NO_VALUES: readonly string[] = [];

/** The lines of a template. */
interface Lines {
  /** One more than `values`: the text before, between and after them. */
  readonly texts: readonly string[];
  /** The indexes of the values of a call, in the order in which they are sent. */
  readonly values: readonly number[];
  /** The start of the last request with this template, up to the first value. */
  start: string;
  method: string;
  /** Plain. Empty: none yet. */
  path: string;
  host: string;
}

/** Undefined for a template with headers that are not plain. */
const knownLines = new WeakMap<HeaderTemplate, Lines | undefined>();

function linesOf(template: HeaderTemplate): Lines | undefined {
  const known = knownLines.get(template);
  if (known !== undefined || knownLines.has(template)) return known;
  const lines = template.names.every(isPlainName) ? readLines(template) : undefined;
  knownLines.set(template, lines);
  return lines;
}

function readLines({ names, values }: HeaderTemplate): Lines | undefined {
  const texts: string[] = [];
  const indexes: number[] = [];
  let text = "";
  for (const [i, value] of values.entries()) {
    if (typeof value === "string") {
      if (NOT_IN_VALUE.test(value)) return undefined;
      text += `${names[i]}: ${value}\r\n`;
    } else {
      texts.push(`${text}${names[i]}: `);
      indexes.push(value);
      text = "\r\n";
    }
  }
  texts.push(text);
  return { texts, values: indexes, start: "", method: "", path: "", host: "" };
}

export interface PlainRequest {
  /** The head, and the body if it is short: in Latin-1. */
  readonly text: string;
  /** The body if it is long. */
  readonly body: Buffer | undefined;
}

/** The request of a call for which `isPlainCall` is true. */
export function plainRequest(call: OutboundCall, path: string, host: string): PlainRequest {
  const { body, template } = call;
  const lines = template === undefined ? undefined : linesOf(template);
  let text = lines === undefined ? listedHead(call, path, host) : headFrom(lines, call, { path, host });
  const length = lengthOf(body);
  text += `content-length: ${length}\r\n\r\n`;
  if (length > TEXT_BYTES_MAX) return { text, body: isInPieces(body) ? Buffer.concat(body, length) : body };
  if (!isInPieces(body)) return { text: text + body.latin1Slice(), body: undefined };
  for (const piece of body) text += piece.latin1Slice();
  return { text, body: undefined };
}

function startOf(method: string, path: string, host: string): string {
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
}

function listedHead({ method, headers }: OutboundCall, path: string, host: string): string {
  let text = startOf(method, path, host);
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return text;
}

function headFrom(
  lines: Lines,
  { method, values = NO_VALUES }: OutboundCall,
  { path, host }: { readonly path: string; readonly host: string },
): string {
  const { texts, values: indexes } = lines;
  if (lines.method !== method || lines.path !== path || lines.host !== host) {
    Object.assign(lines, { method, path, host, start: startOf(method, path, host) + texts[0] });
  }
  let text = lines.start;
  for (let i = 0; i < indexes.length; i += 1) text += (values[indexes[i] as number] as string) + texts[i + 1];
  return text;
}

/** In bytes. */
export function lengthOf(body: OutboundCall["body"]): number {
  return isInPieces(body) ? body.reduce((sum, { length }) => sum + length, 0) : body.length;
}

export function isInPieces(body: OutboundCall["body"]): body is readonly Buffer[] {
  return Array.isArray(body);
}

function isPlainName(name: string): boolean {
  if (plainNames.has(name)) return true;
  if (!TOKEN.test(name) || framingNames.has(name.toLowerCase())) return false;
  if (plainNames.size >= PLAIN_NAMES_MAX) plainNames.clear();
  plainNames.add(name);
  return true;
}
