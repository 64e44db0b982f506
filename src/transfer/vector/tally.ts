/**
 * Counts records and sums up their hashes in any order: two namespaces with the
 * same tally hold the same records.
 *
 * (1) A record is hashed in a canonical form, independent of its text: float32 as
 *     bits, metadata with sorted names. -0 counts as 0, because an index of another
 *     version or service may print it so.
 * (2) The digest is the sum of the first 128 bits of the records' SHA-256,
 *     modulo 2^128. The name of the namespace is part of each record.
 */
import { createHash, type Hash } from "node:crypto";
import { parseJsonText } from "../../kernel/json/parse.ts";

/** A record as an index prints it; missing fields are undefined or null. */
export interface RecordFields {
  readonly id: string;
  readonly vector: readonly number[] | undefined;
  readonly sparseVector: { readonly indices: readonly number[]; readonly values: readonly number[] } | undefined;
  readonly metadata: unknown;
  readonly data: string | undefined;
}

export interface TallyState {
  readonly count: number;
  /** 32 hexadecimal digits. */
  readonly digest: string;
}

const MODULUS_BITS = 128;
const HEX_DIGITS = MODULUS_BITS / 4;

export const emptyTally: TallyState = { count: 0, digest: "0".repeat(HEX_DIGITS) };

export class Tally {
  #count: number;
  #sum: bigint;

  constructor({ count, digest }: TallyState = emptyTally) {
    this.#count = count;
    this.#sum = BigInt(`0x${digest}`);
  }

  get state(): TallyState {
    return { count: this.#count, digest: this.#sum.toString(16).padStart(HEX_DIGITS, "0") };
  }

  add(namespace: string, record: RecordFields): void {
    this.#count += 1;
    this.#sum = BigInt.asUintN(MODULUS_BITS, this.#sum + hashOf(namespace, record));
  }

  addAll({ count, digest }: TallyState): void {
    this.#count += count;
    this.#sum = BigInt.asUintN(MODULUS_BITS, this.#sum + BigInt(`0x${digest}`));
  }
}

export function isSameTally(one: TallyState, other: TallyState): boolean {
  return one.count === other.count && one.digest === other.digest;
}

/** Parses the text of a record. Throws a SyntaxError that describes the problem. */
export function parseRecord(text: string): RecordFields {
  const value: unknown = parseJsonText(text);
  if (typeof value !== "object" || value === null) throw new SyntaxError("a record must be an object");
  const { id, vector, sparseVector, metadata, data }: Partial<Record<keyof RecordFields, unknown>> = value;
  if (typeof id !== "string") throw new SyntaxError("the id of a record is a string");
  const named = (what: string): SyntaxError =>
    new SyntaxError(`the ${what} of the record ${JSON.stringify(id)} is not valid`);
  if (isGiven(vector) && !isNumbers(vector)) throw named("vector");
  if (isGiven(sparseVector) && !isSparse(sparseVector)) throw named("sparseVector");
  if (isGiven(data) && typeof data !== "string") throw named("data");
  return {
    id,
    vector: isNumbers(vector) ? vector : undefined,
    sparseVector: isSparse(sparseVector) ? sparseVector : undefined,
    metadata: metadata ?? undefined,
    data: typeof data === "string" ? data : undefined,
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((each) => typeof each === "number");
}

function isSparse(value: unknown): value is NonNullable<RecordFields["sparseVector"]> {
  if (typeof value !== "object" || value === null) return false;
  const { indices, values }: { indices?: unknown; values?: unknown } = value;
  return isNumbers(indices) && isNumbers(values) && indices.length === values.length;
}

/** keeps (1) and (2) */
function hashOf(namespace: string, { id, vector, sparseVector, metadata, data }: RecordFields): bigint {
  const hash = createHash("sha256");
  part(hash, "namespace", Buffer.from(namespace));
  part(hash, "id", Buffer.from(id));
  if (vector !== undefined) part(hash, "vector", bitsOf(vector));
  if (sparseVector !== undefined) {
    part(hash, "indices", Buffer.from(Int32Array.from(sparseVector.indices).buffer));
    part(hash, "values", bitsOf(sparseVector.values));
  }
  if (metadata !== undefined) part(hash, "metadata", Buffer.from(sortedText(metadata)));
  if (data !== undefined) part(hash, "data", Buffer.from(data));
  return BigInt(`0x${hash.digest("hex").slice(0, HEX_DIGITS)}`);
}

function part(hash: Hash, name: string, bytes: Buffer): void {
  hash.update(`${name} ${bytes.length}:`);
  hash.update(bytes);
}

function bitsOf(values: readonly number[]): Buffer {
  const floats = new Float32Array(values.length);
  // -0 + 0 is 0
  for (let i = 0; i < values.length; i += 1) floats[i] = (values[i] as number) + 0;
  return Buffer.from(floats.buffer);
}

/** The JSON of a value with the members of each object in the order of their names. */
function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${sortedText(member)}`).join(",")}}`;
}
