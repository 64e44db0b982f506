/**
 * Parses the answer of an OpenAI-compatible endpoint: `{"data": [{"index": 0, "embedding": [0.1, …]}, …]}`. It is
 * strict, because a wrong vector would be stored permanently.
 */
import { type JsonLimits, JsonTooLarge, parseJson, requestJsonLimits } from "../../kernel/json/document.ts";

export interface ExpectedAnswer {
  readonly count: number;
  /** Undefined: any, but the same for all vectors of an answer. */
  readonly dimension: number | undefined;
}

/** The endpoint sent a wrong answer; the text ends the sentence "The endpoint …". */
export class WrongAnswer {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A number of a vector as JSON: 17 digits, a point, a sign, an exponent, comma and space. */
const NUMBER_BYTES_MAX = 32;
/** Limit of a dimension that is not known yet. */
const DIMENSION_GUESS = 8_192;
const FRAME_BYTES_MAX = 64 * 1024;
/** Any number of values: the bytes are limited. */
const answerLimits: JsonLimits = { ...requestJsonLimits, valuesMax: Number.POSITIVE_INFINITY };

/** The most bytes of an answer: its numbers, and room for the rest. */
export function answerBytesMax({ count, dimension = DIMENSION_GUESS }: ExpectedAnswer): number {
  return FRAME_BYTES_MAX + count * (dimension * NUMBER_BYTES_MAX + 1_024);
}

/** The vectors in the order of the texts. Throws `WrongAnswer`. */
export function parseAnswer(body: Buffer, expected: ExpectedAnswer): readonly Float32Array[] {
  const items = itemsOf(body);
  if (items.length !== expected.count) {
    throw new WrongAnswer(`answered ${items.length} embeddings for ${expected.count} texts`);
  }
  const vectors = new Array<Float32Array | undefined>(items.length);
  let { dimension } = expected;
  for (const [position, item] of items.entries()) {
    const { index = position, embedding } = fieldsOf(item);
    if (!isIndex(index, items.length) || vectors[index] !== undefined) {
      throw new WrongAnswer("answered embeddings with an invalid or repeated index");
    }
    const vector = vectorOf(embedding);
    dimension ??= vector.length;
    if (vector.length !== dimension) {
      throw new WrongAnswer(`answered a vector of ${vector.length} dimensions instead of ${dimension}`);
    }
    vectors[index] = vector;
  }
  // There are as many indices as texts, without repetition, so none is missing.
  return vectors as readonly Float32Array[];
}

function itemsOf(body: Buffer): readonly unknown[] {
  let answer: unknown;
  try {
    answer = parseJson(body, answerLimits);
  } catch (error) {
    if (error instanceof JsonTooLarge) throw new WrongAnswer(`answered JSON that ${error.message}`);
    throw new WrongAnswer("answered something that is not JSON");
  }
  const { data } = fieldsOf(answer);
  if (!Array.isArray(data)) throw new WrongAnswer('answered JSON without a list "data"');
  return data;
}

function vectorOf(embedding: unknown): Float32Array {
  if (!Array.isArray(embedding) || embedding.length === 0) {
    throw new WrongAnswer('answered an item whose "embedding" is not a list of numbers');
  }
  const vector = new Float32Array(embedding.length);
  for (const [index, value] of embedding.entries()) {
    if (typeof value !== "number") throw new WrongAnswer('answered an "embedding" with a value that is not a number');
    vector[index] = value;
    // Checked as float32: a JSON number may be beyond its range (B-01).
    if (!Number.isFinite(vector[index])) throw new WrongAnswer("answered a number beyond the range of float32");
  }
  return vector;
}

function isIndex(value: unknown, count: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < count;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
