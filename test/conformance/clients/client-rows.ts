/**
 * What a client in another language sends and reads: rows of requests with their exact bytes, and the answer as its
 * parser needs it. The rows of a table run one after the other on one server.
 *
 * (1) A field that the parser reads has the type that it reads; missing fields are allowed where the parser allows them.
 *     Further fields are ignored, as the parsers do. A parser may allow null in place of a value; a row does not.
 */
import assert from "node:assert/strict";

/** The types of Go's structures and Python's data classes. */
export type FieldType =
  | "text"
  | "base64"
  | "integer"
  | "number"
  | "boolean"
  | "lists by name"
  | "texts by name"
  /** The parser fails on any value. */
  | "nothing";

export interface Shape {
  /** The parser fails without them. */
  readonly needs: Fields;
  /** Read if they are there. */
  readonly may?: Fields;
}

type Fields = Readonly<Record<string, FieldType | Shape | readonly [Shape]>>;

/** Undefined: the client ignores the body. */
export type Answer = Shape | readonly [Shape] | readonly (Shape | readonly [Shape])[] | undefined;

export interface ClientRow {
  /** The method of the client. */
  readonly call: string;
  /** Method and target; `{name}` is a value that an earlier row saved. */
  readonly request: string;
  /** name, value, … */
  readonly headers?: readonly string[];
  readonly body?: string;
  /** Absent: 200 to 299, the client's only condition. */
  readonly status?: number;
  readonly answer?: Answer;
  /** Fields of the answer, by paths such as `messages.0.dlqId`, that have these values. */
  readonly has?: Readonly<Record<string, unknown>>;
  /** The path of a field that later rows need, by its name there. */
  readonly saves?: Readonly<Record<string, string>>;
}

/** Sends a request and returns its answer. */
export type SendRow = (
  line: string,
  sent: { readonly headers: readonly string[]; readonly body: string },
) => Promise<{ readonly status: number; readonly text: string; readonly json: unknown }>;

/** Sends all rows, with the headers that the HTTP library adds, and returns what a client could not do. */
export async function problemsOf(
  rows: readonly ClientRow[],
  send: SendRow,
  headers: readonly string[],
): Promise<readonly string[]> {
  const saved = new Map<string, string>();
  const problems: string[] = [];
  for (const row of rows) {
    try {
      await check(row, { saved, send, headers });
    } catch (fault) {
      problems.push(fault instanceof Error ? fault.message : String(fault));
    }
  }
  return problems;
}

async function check(
  { call, request, headers: own = [], body = "", status, answer, has = {}, saves = {} }: ClientRow,
  { saved, send, headers }: { saved: Map<string, string>; send: SendRow; headers: readonly string[] },
): Promise<void> {
  const sent = { headers: [...headers, ...own], body: filled(body, saved) };
  const reply = await send(filled(request, saved), sent);
  const what = `${call}: ${reply.status} ${reply.text}`;
  if (status === undefined) assert.ok(reply.status >= 200 && reply.status <= 299, what);
  else assert.equal(reply.status, status, what);
  assertReadable(answer === undefined ? undefined : reply.json, answer, call);
  for (const [path, value] of Object.entries(has)) assert.deepEqual(at(reply.json, path), value, `${what}: ${path}`);
  for (const [name, path] of Object.entries(saves)) saved.set(name, String(at(reply.json, path)));
}

function filled(text: string, saved: ReadonlyMap<string, string>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => saved.get(name) ?? whole);
}

/** The value at a path of an answer. */
function at(answer: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => {
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }, answer);
}

/** Reads an answer as the client does. keeps (1) */
function assertReadable(answer: unknown, expected: Answer, what: string): void {
  if (expected === undefined) return;
  if (!isList(expected)) {
    assertShape(answer, expected, what);
    return;
  }
  assert.ok(Array.isArray(answer), `${what}: a list instead of ${JSON.stringify(answer)}`);
  const [only, ...others] = expected;
  for (const [index, item] of answer.entries())
    assertReadable(item, others.length === 0 ? only : expected[index], `${what}.${index}`);
}

function isList(expected: Exclude<Answer, undefined>): expected is readonly (Shape | readonly [Shape])[] {
  return Array.isArray(expected);
}

function assertShape(answer: unknown, { needs, may = {} }: Shape, what: string): void {
  assert.ok(typeof answer === "object" && answer !== null && !Array.isArray(answer), `${what}: an object`);
  const fields = new Map<string, unknown>(Object.entries(answer));
  for (const [name, type] of Object.entries({ ...may, ...needs })) {
    const value = fields.get(name);
    if (value === undefined && !(name in needs)) continue;
    const place = `${what}.${name}`;
    if (typeof type !== "string") assertReadable(value, type, place);
    else assert.ok(isOfType(value, type), `${place} is ${JSON.stringify(value)} instead of ${type}`);
  }
}

function isOfType(value: unknown, type: FieldType): boolean {
  switch (type) {
    case "text":
      return typeof value === "string";
    case "base64":
      return typeof value === "string" && Buffer.from(value, "base64").toString("base64") === value;
    case "integer":
      return Number.isSafeInteger(value);
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "lists by name":
      return isByName(value, (item) => Array.isArray(item) && item.every((text) => typeof text === "string"));
    case "texts by name":
      return isByName(value, (item) => typeof item === "string");
    case "nothing":
      return false;
    default: {
      const never: never = type;
      return never;
    }
  }
}

function isByName(value: unknown, isRight: (item: unknown) => boolean): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(isRight);
}
