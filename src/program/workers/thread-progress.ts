/**
 * The progress of a thread, in memory shared with main: a count that changes with
 * each unit of work, and the tenant and command that run. So main knows that a
 * busy thread makes progress, and which command does not end, without an answer
 * from the thread.
 *
 *     cells    count, place of the tenant's name, place of the command's name
 *     places   a byte with the length of the name, then the name
 *
 * A name is written to its place once, before the cell that names the place. A
 * name without space has the empty name of the first place.
 */
import type { Tenant, TurnObserver } from "../../kernel/turns.ts";

const CELL_COUNT = 3;
const COUNT = 0;
const TENANT = 1;
const COMMAND = 2;
const PLACE_COUNT = 2_048;
const PLACE_BYTES = 64;

/** The memory of a thread. */
export function newProgressMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(CELL_COUNT * 4 + PLACE_COUNT * PLACE_BYTES);
}

/** The thread's end. */
export class ProgressWriter implements TurnObserver {
  readonly #cells: Int32Array;
  readonly #places: Uint8Array;
  readonly #placeOf = new Map<string, number>([["", 0]]);
  /** The tenant of the latest unit, and its place: mostly it has the next unit too. */
  #tenant: Tenant | undefined;
  #tenantPlace = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory, 0, CELL_COUNT);
    this.#places = new Uint8Array(memory, CELL_COUNT * 4);
  }

  unit(tenant: Tenant | undefined): void {
    const cells = this.#cells;
    cells[COUNT] = (cells[COUNT] as number) + 1;
    cells[COMMAND] = 0;
    if (tenant !== undefined && tenant !== this.#tenant) {
      this.#tenant = tenant;
      this.#tenantPlace = this.#place(tenant.name);
    }
    cells[TENANT] = tenant === undefined ? 0 : this.#tenantPlace;
  }

  command(name: string): void {
    const cells = this.#cells;
    cells[COUNT] = (cells[COUNT] as number) + 1;
    cells[COMMAND] = this.#place(name);
  }

  #place(name: string): number {
    const known = this.#placeOf.get(name);
    if (known !== undefined) return known;
    const place = this.#placeOf.size;
    if (place >= PLACE_COUNT) return 0;
    const text = Buffer.from(name).subarray(0, PLACE_BYTES - 1);
    this.#places.set(text, place * PLACE_BYTES + 1);
    this.#places[place * PLACE_BYTES] = text.length;
    this.#placeOf.set(name, place);
    return place;
  }
}

/** Main's end. */
export class ProgressReader {
  readonly #cells: Int32Array;
  readonly #places: Uint8Array;

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory, 0, CELL_COUNT);
    this.#places = new Uint8Array(memory, CELL_COUNT * 4);
  }

  get count(): number {
    return Atomics.load(this.#cells, COUNT);
  }

  /** The tenant of the running or the latest unit; empty: none, or unknown. */
  get tenant(): string {
    return this.#nameAt(Atomics.load(this.#cells, TENANT));
  }

  /** The command or route; quick commands are not shown. */
  get command(): string {
    return this.#nameAt(Atomics.load(this.#cells, COMMAND));
  }

  #nameAt(place: number): string {
    const start = place * PLACE_BYTES;
    const length = this.#places[start] ?? 0;
    return Buffer.from(this.#places.slice(start + 1, start + 1 + length)).toString();
  }
}
