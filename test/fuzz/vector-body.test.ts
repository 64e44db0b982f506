/**
 * Bodies of the vector index at random: random ones, and random ones with a few
 * characters changed, are refused as invalid JSON exactly if `JSON.parse` refuses
 * them, and otherwise are read like its result.
 *
 * Run again:  LARDER_VECTOR_BODY_SEED=… npm run t -- test/fuzz/vector-body.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { RequestFailure } from "../../src/edge/errors.ts";
import { readDelete, readQueries, readRange, readUpsert } from "../../src/edge/vector/body.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { parseJsonText } from "../../src/kernel/json/parse.ts";
import { parseSpelled } from "../../src/kernel/json/spelling.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { defaultVectorLimits as limits } from "../../src/vector/limits.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";

const seed = seedFrom("LARDER_VECTOR_BODY_SEED");

test("an upsert is accepted and read as a plain reader on top of JSON.parse does", (context) => {
  const random = seededRandom(seed);
  const counts = { read: 0, unprocessable: 0, malformed: 0 };
  const count = repeat(() => {
    const text = drawBody(random);
    const body = Buffer.from(text);
    const wanted = plainUpsert(body.toString());
    const got = outcomeOf(() => readUpsert(body, limits));
    assert.ok(isDeepStrictEqual(got, wanted), `SEED=${seed} ${JSON.stringify(text)}: ${JSON.stringify(got)}`);
    counts[typeof wanted === "string" ? wanted : "read"] += 1;
  });
  const isMixed = Object.values(counts).every((share) => share > count / 20);
  assert.ok(count < 1_000 || isMixed, `SEED=${seed} ${JSON.stringify(counts)}`);
  context.diagnostic(`SEED=${seed}: ${count} bodies, ${JSON.stringify(counts)}`);
});

test("every endpoint refuses a body that JSON.parse refuses, except that a delete takes it as an id", (context) => {
  const random = seededRandom(seed);
  const count = repeat(() => {
    const text = drawBody(random);
    const body = Buffer.from(text);
    const isNoJson = parsed(body.toString()) === undefined;
    // Any other text is an id.
    const isBareId = !/^[ \t\n\r]*(?:$|["{[])/.test(text);
    for (const reader of [readQueries, readDelete, readRange]) {
      const isMalformed = isNoJson && !(reader === readDelete && isBareId);
      const isRefused = outcomeOf(() => reader(body, limits)) === "malformed";
      assert.equal(isRefused, isMalformed, `SEED=${seed} ${reader.name} ${JSON.stringify(text)}`);
    }
  });
  context.diagnostic(`SEED=${seed}: ${count} bodies`);
});

function repeat(once: () => void): number {
  const allowance = allowanceOf("vector-body");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs / 2 : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count / 2 : Number.POSITIVE_INFINITY;
  let count = 0;
  for (; count < countMax && systemClock.monotonicMs() < endMs; count += 1) once();
  return count;
}

type Outcome<Value> = Value | "malformed" | "unprocessable";

function outcomeOf<Value>(read: () => Value): Outcome<Value> {
  try {
    return read();
  } catch (thrown) {
    assert.ok(thrown instanceof RequestFailure, `SEED=${seed} ${String(thrown)}`);
    assert.ok(thrown.kind === "bad request" || thrown.kind === "unprocessable", thrown.kind);
    return thrown.kind === "bad request" ? "malformed" : "unprocessable";
  }
}

// The plain reader.

interface PlainRecord {
  readonly id: string;
  readonly vector: Float32Array | undefined;
  readonly sparseVector: { readonly indices: Int32Array; readonly values: Float32Array } | undefined;
  readonly metadata: string | undefined;
  readonly data: string | undefined;
}

/** Thrown if a rule is broken. */
class Broken extends Error {}

function must(condition: boolean): asserts condition {
  if (!condition) throw new Broken();
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseJsonText(text) };
  } catch {
    return undefined;
  }
}

function plainUpsert(text: string): Outcome<PlainRecord[]> {
  const json = parsed(text);
  if (json === undefined) return "malformed";
  try {
    const spelled = parseSpelled(text);
    const spelledRecords: readonly unknown[] = Array.isArray(spelled) ? spelled : [spelled];
    return (Array.isArray(json.value) ? json.value : [json.value]).map((value, index) =>
      plainRecord(value, spelledRecords[index]),
    );
  } catch (thrown) {
    if (thrown instanceof Broken) return "unprocessable";
    throw thrown;
  }
}

/** `spelled`: the same with numbers that print as they were written. */
function plainRecord(value: unknown, spelled: unknown): PlainRecord {
  must(isObject(value) && isObject(spelled));
  const { namespace } = given(value);
  must(namespace === undefined || namespace === "");
  const { id, vector, sparseVector, metadata, data } = given(value);
  must(typeof id === "string" ? id.isWellFormed() : typeof id === "number" && Number.isFinite(id));
  must(metadata === undefined || (isObject(metadata) && isKeptThroughout(metadata)));
  must(data === undefined || (typeof data === "string" && data.isWellFormed()));
  return {
    id: typeof id === "string" ? id : JSON.stringify(given(spelled).id),
    vector: vector === undefined ? undefined : plainFloats(vector),
    sparseVector: sparseVector === undefined ? undefined : plainSparse(sparseVector),
    metadata: metadata === undefined ? undefined : JSON.stringify(given(spelled).metadata),
    data: typeof data === "string" ? data : undefined,
  };
}

function plainSparse(value: unknown): NonNullable<PlainRecord["sparseVector"]> {
  must(isObject(value));
  const { indices, values } = given(value);
  must(Array.isArray(indices));
  for (const index of indices) must(Number.isInteger(index) && (index | 0) === Number(index));
  const floats = plainFloats(values);
  must(floats.length === indices.length);
  return { indices: Int32Array.from(indices), values: floats };
}

function plainFloats(value: unknown): Float32Array {
  must(Array.isArray(value));
  for (const element of value) must(typeof element === "number" && Number.isFinite(Math.fround(element)));
  return Float32Array.from(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own members that are not null. */
function given(object: Record<string, unknown>): Readonly<Record<string, unknown>> & KnownMembers {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

interface KnownMembers {
  readonly id?: unknown;
  readonly vector?: unknown;
  readonly sparseVector?: unknown;
  readonly metadata?: unknown;
  readonly data?: unknown;
  readonly namespace?: unknown;
  readonly indices?: unknown;
  readonly values?: unknown;
}

/** Checks for finite numbers, and text without lone surrogates. */
function isKeptThroughout(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isKeptThroughout(member));
}

// The generator.

const recordNames = ["id", "vector", "sparseVector", "metadata", "data", "namespace", "__proto__", "i\\u0064", "é", ""];
const sparseNames = ["indices", "values", "v\\u0061lues", "x"];
const spaces = ["", "", "", "", " ", "\n\t\r "];
const numbers = [
  "0",
  "-0",
  "1",
  "-12",
  "1.5",
  "1e2",
  "0.1",
  "-2.5E-3",
  "1e39",
  "1e400",
  "2147483648",
  "100e-2",
  "1.0",
  "9007199254740993",
];
const strings = ['""', '"a"', '"é😀"', '"\\n\\"\\\\\\/"', '"\\ud83d\\ude00"', '"\\ud800"', '"[1,2]"', '"{"', '"id"'];
const junk = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "\\",
  "0",
  "1",
  ".",
  "e",
  "-",
  "t",
  "n",
  " ",
  "\n",
  "\u0000",
  "é",
  "\ufeff",
  "u",
];

function drawBody(random: Random): string {
  let text = space(random, drawValueOf(random, random.below(4) === 0 ? "anything" : "records", 0));
  if (random.below(2) === 0) return text;
  for (let changes = 1 + random.below(2); changes > 0; changes -= 1) {
    const at = random.below(text.length + 1);
    const cut = random.below(3);
    text = text.slice(0, at) + (random.below(3) === 0 ? "" : pick(random, junk)) + text.slice(at + cut);
  }
  return text;
}

type Shape = "records" | "record" | "vector" | "indices" | "sparse" | "string" | "anything" | "object";

function drawValueOf(random: Random, shape: Shape, depth: number): string {
  const sometimes = random.below(12);
  if (depth > 0 && sometimes === 0) return "null";
  if (depth > 0 && sometimes === 1 && shape !== "anything") return drawValueOf(random, "anything", depth);
  switch (shape) {
    case "records":
      return random.below(2) === 0 ? drawValueOf(random, "record", depth) : list(random, 3, "record", depth);
    case "record":
      return object(random, depth, random.below(6) === 0 ? [] : [`"id":${drawId(random)}`], recordNames);
    case "vector":
      return `[${Array.from({ length: random.below(5) }, () => space(random, drawNumber(random))).join(",")}]`;
    case "indices":
      return `[${Array.from({ length: random.below(3) }, () => space(random, String(random.below(9)))).join(",")}]`;
    case "sparse":
      return random.below(3) === 0 ? object(random, depth, [], sparseNames) : '{"indices":[3, -4],"values":[0.5,1.0]}';
    case "string":
      return pick(random, strings);
    case "object":
      return object(random, depth, [], recordNames);
    default: {
      const kind = random.below(depth > 4 ? 3 : 5);
      if (kind === 0) return pick(random, numbers);
      if (kind === 1) return pick(random, strings);
      if (kind === 2) return pick(random, ["true", "false", "null"]);
      return kind === 3 ? list(random, 3, "anything", depth) : object(random, depth, [], recordNames);
    }
  }
}

function drawId(random: Random): string {
  return random.below(2) === 0 ? String(random.below(100)) : pick(random, strings);
}

function drawNumber(random: Random): string {
  return random.below(4) === 0 ? pick(random, numbers) : String(random.unit());
}

const shapeOf: Readonly<Record<string, Shape>> = {
  vector: "vector",
  values: "vector",
  indices: "indices",
  sparseVector: "sparse",
  metadata: "object",
  data: "string",
  id: "string",
};

function object(random: Random, depth: number, first: readonly string[], names: readonly string[]): string {
  const members = [...first];
  for (let count = random.below(4); count > 0; count -= 1) {
    const name = pick(random, names);
    const value = drawValueOf(random, shapeOf[name] ?? "anything", depth + 1);
    members.push(`${space(random, `"${name}"`)}:${space(random, value)}`);
  }
  return `{${members.join(",")}${pick(random, spaces)}}`;
}

function list(random: Random, countMax: number, shape: Shape, depth: number): string {
  const elements = Array.from({ length: random.below(countMax + 1) }, () =>
    space(random, drawValueOf(random, shape, depth + 1)),
  );
  return `[${elements.join(",")}]`;
}

function space(random: Random, text: string): string {
  return pick(random, spaces) + text + pick(random, spaces);
}

function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[random.below(values.length)] as Value;
}
