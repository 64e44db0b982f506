/**
 * A set of record numbers that costs eight bytes for each number up to the
 * highest, so that it can hold a backlog of a million records.
 */
export class RecordSet implements Iterable<number> {
  #members = new Uint32Array(64);
  /** The index among the members plus one by record; 0 for other records. */
  #places = new Uint32Array(64);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  has(record: number): boolean {
    return record < this.#places.length && this.#places[record] !== 0;
  }

  add(record: number): void {
    if (this.has(record)) return;
    this.#places = grown(this.#places, record + 1);
    this.#members = grown(this.#members, this.#count + 1);
    this.#members[this.#count] = record;
    this.#count += 1;
    this.#places[record] = this.#count;
  }

  /** Returns false if the record was not a member. */
  delete(record: number): boolean {
    if (!this.has(record)) return false;
    const place = this.#places[record] as number;
    const last = this.#members[this.#count - 1] as number;
    this.#members[place - 1] = last;
    this.#places[last] = place;
    this.#places[record] = 0;
    this.#count -= 1;
    return true;
  }

  /** Removes any member and returns it. */
  take(): number | undefined {
    if (this.#count === 0) return undefined;
    const record = this.#members[this.#count - 1] as number;
    this.#places[record] = 0;
    this.#count -= 1;
    return record;
  }

  *[Symbol.iterator](): Generator<number> {
    for (let i = 0; i < this.#count; i += 1) yield this.#members[i] as number;
  }
}

/** `numbers`, or a copy at least `length` long. */
export function grown<Numbers extends Uint32Array | Float64Array>(numbers: Numbers, length: number): Numbers {
  if (length <= numbers.length) return numbers;
  const Kind = numbers.constructor as new (length: number) => Numbers;
  const larger = new Kind(Math.max(length, numbers.length * 2));
  larger.set(numbers);
  return larger;
}
