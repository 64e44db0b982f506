/**
 * The distinct values of one field, numbered, so that a condition is tested once
 * for each value instead of once for each record.
 *
 * (1) Two fields get one id only if no operator can tell them apart. So all
 *     objects are one value, and an array is the list of its scalars: the others
 *     are never equal to anything.
 * (2) An id is in use while a record has it. What nobody has is forgotten, and
 *     its id given to another value.
 */
import { assert } from "../../kernel/assert.ts";
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
/** Ids from here on are given out. */
const GIVEN_FIRST = 6;

const fixedValues: readonly (Json | undefined)[] = [undefined, undefined, null, Object.freeze({}), false, true];

/** What V8 takes for a string, its entry in a map and its place in the list, beside its characters. */
const ENTRY_BYTES = 80;
const ELEMENT_BYTES = 24;

export class ValueDictionary {
  readonly #stringIds = new StringTable();
  /** By the JSON text of the array. */
  readonly #arrayIds = new StringTable();
  readonly #numberIds = new NumberTable();
  /** By id; NaN for what is no number. Empty until the first number comes. */
  #numbers = new Float64Array(0);
  /** Strings and arrays by id. Ends behind the last of them. */
  readonly #others: (Json | undefined)[] = [];
  readonly #freeIds: number[] = [];
  #limit = GIVEN_FIRST;
  #otherBytes = 0;

  /** Behind the highest id. */
  get limit(): number {
    return this.#limit;
  }

  /** About. */
  get byteCount(): number {
    return this.#otherBytes + this.#numbers.byteLength + this.#numberIds.byteCount;
  }

  /** The numbers by id, NaN for what is no number; ids beyond its end are of no numbers either. */
  get numbers(): Float64Array {
    return this.#numbers;
  }

  /** The value of an id; undefined for ABSENT, MISSING and an id that is not in use. */
  value(id: number): Json | undefined {
    if (id < GIVEN_FIRST) return fixedValues[id];
    const number = this.#numbers[id];
    if (number !== undefined && !Number.isNaN(number)) return number;
    return this.#others[id];
  }

  /** The id of a field of a record that exists; a new value gets one. */
  idOf(field: Json | undefined): number {
    if (field === undefined) return MISSING;
    if (typeof field === "string") return this.#stringIds.find(field) ?? this.#add(this.#stringIds, field, field);
    if (typeof field === "number") return this.#idOfNumber(field);
    if (typeof field === "boolean") return field ? TRUE : FALSE;
    if (field === null) return NULL;
    return isArray(field) ? this.#idOfArray(field) : OBJECT;
  }

  /** The ids of all values that are equal to an operand, as `=` sees it: at most two. */
  idsLike(operand: Scalar): readonly number[] {
    if (typeof operand === "string") return given(this.#stringIds.find(operand));
    const number = Number(operand);
    const ids = given(this.#numberIds.find(number + 0, this.#numbers));
    return number === 1 ? [...ids, TRUE] : number === 0 ? [...ids, FALSE] : ids;
  }

  /** No record has this id any more. */
  release(id: number): void {
    if (id < GIVEN_FIRST) return;
    const value = this.value(id);
    assert(value !== undefined, "an id that is released was in use");
    if (typeof value === "number") {
      this.#numberIds.remove(id, this.#numbers);
      this.#numbers[id] = Number.NaN;
    } else {
      const [key, ids] = typeof value === "string" ? [value, this.#stringIds] : [keyOf(value), this.#arrayIds];
      ids.remove(key);
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

  #idOfArray(array: readonly Json[]): number {
    // keeps (1)
    const scalars = array.every(isScalar) ? array : array.filter(isScalar);
    const key = keyOf(scalars);
    return this.#arrayIds.find(key) ?? this.#add(this.#arrayIds, key, scalars);
  }

  #add(ids: StringTable, key: string, value: Json): number {
    const id = this.#nextId();
    ids.add(key, id);
    // One after the other: a gap would make V8 turn the array into a hash table.
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

/** One text for all infinite numbers, which no filter can ask for. */
function keyOf(scalars: Json): string {
  return JSON.stringify(scalars);
}

function otherBytes(key: string, value: Json): number {
  return ENTRY_BYTES + key.length + (isArray(value) ? ELEMENT_BYTES * value.length : 0);
}

function given(id: number | undefined): readonly number[] {
  return id === undefined || id === 0 ? [] : [id];
}
