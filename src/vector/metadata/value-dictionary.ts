/**
 * The distinct values of one field, numbered, so that a condition is tested once
 * for each value instead of once for each record.
 *
 * (1) Two fields share an id only if no operator can distinguish them. So all
 *     objects are one value, and an array is the list of its scalars: its other
 *     elements are never equal to anything. The fields of a path with `[*]` are
 *     one value: the list of the distinct scalars and arrays among them.
 * (2) An id is in use while a record has it. Unused values are removed, and their
 *     ids are assigned to other values.
 */
import { assert } from "../../kernel/assert.ts";
import { spelledNumber } from "../../kernel/json/spelling.ts";
import { isArray, isScalar, type Json, type Scalar } from "../filter/json.ts";
import { NumberTable } from "./number-table.ts";
import { StringTable } from "./string-table.ts";

/** The record does not exist. */
export const ABSENT = 0;
/** The record exists and does not have the field. */
export const MISSING = 1;
const NULL = 2;
const OBJECT = 3;
const FALSE = 4;
const TRUE = 5;
/** The first id that is assigned. */
const GIVEN_FIRST = 6;

const fixedValues: readonly (Json | undefined)[] = [undefined, undefined, null, Object.freeze({}), false, true];

/** The bytes that V8 uses for a string, its map entry and its list entry, besides the characters. */
const ENTRY_BYTES = 80;
const ELEMENT_BYTES = 24;

export class ValueDictionary {
  readonly #stringIds = new StringTable();
  /** By the JSON text of the array. */
  readonly #arrayIds = new StringTable();
  readonly #numberIds = new NumberTable();
  /** Ids of whole numbers outside of float64, by their digits. */
  readonly #largeIds = new StringTable();
  #largeCount = 0;
  /** By id; NaN for other values. Empty until the first number. */
  #numbers = new Float64Array(0);
  /** Strings and arrays by id. Ends after the last of them. */
  readonly #others: (Json | undefined)[] = [];
  readonly #freeIds: number[] = [];
  #limit = GIVEN_FIRST;
  #otherBytes = 0;

  /** One above the highest id. */
  get limit(): number {
    return this.#limit;
  }

  /** About. */
  get byteCount(): number {
    return this.#otherBytes + this.#numbers.byteLength + this.#numberIds.byteCount;
  }

  /** The numbers by id, NaN for other values; ids beyond its end are other values too. */
  get numbers(): Float64Array {
    return this.#numbers;
  }

  /** Whether any value is a number that is not in `numbers`. */
  get hasLargeNumbers(): boolean {
    return this.#largeCount > 0;
  }

  /** The value of an id; undefined for ABSENT, MISSING and unused ids. */
  value(id: number): Json | undefined {
    if (id < GIVEN_FIRST) return fixedValues[id];
    const number = this.#numbers[id];
    if (number !== undefined && !Number.isNaN(number)) return number;
    return this.#others[id];
  }

  /** The id of a field's value in an existing record; a new value gets a new id. */
  idOf(field: Json | undefined): number {
    if (field === undefined) return MISSING;
    if (typeof field === "string") return this.#stringIds.find(field) ?? this.#add(this.#stringIds, field, field);
    if (typeof field === "number") return this.#idOfNumber(field);
    if (typeof field === "bigint") return this.#idOfLarge(field);
    if (typeof field === "boolean") return field ? TRUE : FALSE;
    if (field === null) return NULL;
    return isArray(field) ? this.#idOfArray(field) : OBJECT;
  }

  /** The id of the list of fields that a path with `[*]` has in an existing record. A dictionary has only lists or none. */
  idOfList(fields: readonly Json[]): number {
    if (fields.length === 0) return MISSING;
    // keeps (1): only that they exist is known of null and objects, and a condition passes if one of the others passes.
    const values = new Set<Json>();
    for (const field of fields) {
      if (isScalar(field)) values.add(field);
      else if (isArray(field)) values.add(scalarsOf(field));
    }
    const list = [...values];
    const key = keyOf(list);
    return this.#arrayIds.find(key) ?? this.#add(this.#arrayIds, key, list);
  }

  /** The ids of all values that are equal to an operand according to `=`: at most two. */
  idsLike(operand: Scalar): readonly number[] {
    if (typeof operand === "string") return given(this.#stringIds.find(operand));
    if (typeof operand === "bigint") return this.#idsLikeLarge(operand);
    const number = Number(operand);
    const ids = given(this.#numberIds.find(number + 0, this.#numbers));
    return number === 1 ? [...ids, TRUE] : number === 0 ? [...ids, FALSE] : ids;
  }

  /** Releases an id that no record has any more. */
  release(id: number): void {
    if (id < GIVEN_FIRST) return;
    const value = this.value(id);
    assert(value !== undefined, "a released id was in use");
    if (typeof value === "number") {
      this.#numberIds.remove(id, this.#numbers);
      this.#numbers[id] = Number.NaN;
    } else {
      const [key, ids] = this.#entryOf(value);
      ids.remove(key);
      if (typeof value === "bigint") this.#largeCount -= 1;
      this.#others[id] = undefined;
      this.#otherBytes -= otherBytes(key, value);
    }
    this.#freeIds.push(id);
  }

  #idOfNumber(field: number): number {
    // -0 becomes 0.
    const number = field + 0;
    const known = this.#numberIds.find(number, this.#numbers);
    if (known !== 0) return known;
    const id = this.#nextId();
    if (id >= this.#numbers.length) {
      const longer = new Float64Array(2 * id).fill(Number.NaN, this.#numbers.length);
      longer.set(this.#numbers);
      this.#numbers = longer;
    }
    this.#numbers[id] = number;
    this.#numberIds.add(id, this.#numbers);
    return id;
  }

  #idsLikeLarge(operand: bigint): readonly number[] {
    const ids = given(this.#largeIds.find(String(operand)));
    const number = Number(operand);
    // Values from JSON.parse have the other form.
    return BigInt(number) === operand ? [...ids, ...given(this.#numberIds.find(number, this.#numbers))] : ids;
  }

  #idOfLarge(field: bigint): number {
    const key = String(field);
    const known = this.#largeIds.find(key);
    if (known !== undefined) return known;
    this.#largeCount += 1;
    return this.#add(this.#largeIds, key, field);
  }

  /** The key of a value that is not a float64, and its table. */
  #entryOf(value: Json): readonly [key: string, ids: StringTable] {
    if (typeof value === "string") return [value, this.#stringIds];
    if (typeof value === "bigint") return [String(value), this.#largeIds];
    return [keyOf(value), this.#arrayIds];
  }

  #idOfArray(array: readonly Json[]): number {
    // keeps (1)
    const scalars = scalarsOf(array);
    const key = keyOf(scalars);
    return this.#arrayIds.find(key) ?? this.#add(this.#arrayIds, key, scalars);
  }

  #add(ids: StringTable, key: string, value: Json): number {
    const id = this.#nextId();
    ids.add(key, id);
    // Without gaps: a gap would make V8 turn the array into a hash table.
    while (this.#others.length <= id) this.#others.push(undefined);
    this.#others[id] = value;
    this.#otherBytes += otherBytes(key, value);
    return id;
  }

  #nextId(): number {
    const free = this.#freeIds.pop();
    if (free !== undefined) return free;
    this.#limit += 1;
    return this.#limit - 1;
  }
}

function scalarsOf(array: readonly Json[]): readonly Json[] {
  return array.every(isScalar) ? array : array.filter(isScalar);
}

/** The key of an array: JSON in which values that an operator can distinguish have different texts. */
function keyOf(array: Json): string {
  return JSON.stringify(isArray(array) && !array.every(isPrintable) ? array.map(printable) : array);
}

function isPrintable(value: Json): boolean {
  return typeof value === "number" ? Number.isFinite(value) : typeof value !== "bigint" && !isArray(value);
}

/** With the digits of large numbers. Ranges distinguish infinite numbers, which `JSON.stringify` prints as null. */
function printable(value: Json): unknown {
  if (isArray(value)) return value.map(printable);
  if (isPrintable(value)) return value;
  return spelledNumber(
    typeof value === "bigint" ? String(value) : value === Number.POSITIVE_INFINITY ? "1e999" : "-1e999",
  );
}

function otherBytes(key: string, value: Json): number {
  return ENTRY_BYTES + key.length + (isArray(value) ? ELEMENT_BYTES * value.length : 0);
}

function given(id: number | undefined): readonly number[] {
  return id === undefined || id === 0 ? [] : [id];
}
