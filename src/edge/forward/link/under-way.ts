/**
 * The requests under way on a link, by number. Most end before many others have
 * begun, so they have places in a ring; one that does not end moves to a map when its
 * place is needed again.
 *
 * A map of all of them gets a new table every few requests, and the garbage
 * collector keeps what former tables have until it looks at everything. With such
 * maps here and in the listener, it took a third of the processor time of the owner.
 */
const PLACES = 1_024;

export class UnderWay<Each extends { readonly number: number }> {
  readonly #ring: (Each | undefined)[] = new Array<Each | undefined>(PLACES).fill(undefined);
  readonly #older = new Map<number, Each>();
  size = 0;

  /** Its number is larger than all before. */
  add(each: Each): void {
    const place = each.number % PLACES;
    const before = this.#ring[place];
    if (before !== undefined) this.#older.set(before.number, before);
    this.#ring[place] = each;
    this.size += 1;
  }

  find(number: number): Each | undefined {
    const each = this.#ring[number % PLACES];
    return each?.number === number ? each : this.#older.get(number);
  }

  delete(number: number): void {
    const place = number % PLACES;
    if (this.#ring[place]?.number === number) this.#ring[place] = undefined;
    else if (!this.#older.delete(number)) return;
    this.size -= 1;
  }

  /** All, in no order. */
  values(): readonly Each[] {
    return [...this.#older.values(), ...this.#ring.filter((each) => each !== undefined)];
  }

  clear(): void {
    this.#ring.fill(undefined);
    this.#older.clear();
    this.size = 0;
  }
}
