/**
 * The indexes of a database and their upkeep.
 *
 * A change of a key only notes the key (`note`); the key becomes a document before
 * the next search of its index, in a slice while the thread is idle, or by the
 * command after which more work than `PENDING_STEPS_MAX` would wait. So a key that
 * is written a hundred times is indexed once, and results do not depend on when
 * slices run.
 *
 * (1) While the database has an index, every change of a key is noted. A database
 *     without one pays nothing.
 * (2) The indexes are those of the definitions in the keyspace. A definition that
 *     has none (after a start) gets one, which must first read all keys.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Keyspace } from "../../keyspace.ts";
import type { KeyObservers } from "../../observe/key-observers.ts";
import type { SearchDefinition } from "../../values/search-definition.ts";
import type { InSlices } from "../slices.ts";
import { type OrderSlice, recordOrderOf } from "./document-order.ts";
import { LiveIndex, type NotedChanges, SLICE_STEPS } from "./live-index.ts";
import { PrefixTable } from "./prefix-table.ts";

/** An index that was found by its name or an alias. */
export interface FoundIndex {
  /** Its own name. */
  readonly name: Bytes;
  readonly live: LiveIndex;
}

export class SearchUpkeep {
  readonly #keyspace: Keyspace;
  readonly #lives = new WeakMap<SearchDefinition, LiveIndex>();
  /** Those of the definitions, unless `#isStale`. */
  #current: readonly LiveIndex[] = [];
  #prefixes = new PrefixTable<LiveIndex>([]);
  #firstBytes = this.#prefixes.firstBytes;
  /** True if a definition was added or removed since. */
  #isStale = false;
  readonly #noted: NotedChanges = { isAny: false };
  /** False if no index is scanning: every request asks. */
  #maybeScans = false;

  constructor(keyspace: Keyspace, observers: KeyObservers) {
    this.#keyspace = keyspace;
    // keeps (1)
    keyspace.search.onChange = () => {
      this.#isStale = true;
      if (keyspace.search.definitions.size > 0) observers.observeAll(this.#note);
      else observers.leaveAll(this.#note);
    };
  }

  /** The index of this name or alias, as it is; undefined if it does not exist. */
  find(name: Bytes): FoundIndex | undefined {
    const found = this.#keyspace.search.find(name);
    if (found === undefined) return undefined;
    const { current } = this;
    const live = this.#lives.get(found.value);
    return live === undefined || !current.includes(live) ? undefined : { name: found.name, live };
  }

  /** The indexes as they are; one that a start has not begun is left out. */
  get found(): readonly FoundIndex[] {
    const found: FoundIndex[] = [];
    for (const [name, value] of this.#keyspace.search.definitions) {
      const live = this.#lives.get(value);
      if (live !== undefined) found.push({ name, live });
    }
    return found;
  }

  /**
   * Begins the index of a definition that SEARCH.CREATE has just put. With `scans` it reads all keys: the first ones at
   * once, so that the index of a small database is complete.
   */
  begin(value: SearchDefinition, { scans }: { readonly scans: boolean }): void {
    const live = this.#open(value);
    if (!scans) return;
    live.startScan({ shows: true });
    this.#maybeScans = true;
    live.runSlice();
  }

  /** Reads all keys of an index again. */
  restart(live: LiveIndex): void {
    live.restart();
    this.#maybeScans = true;
    live.runSlice();
  }

  /** True if keys have changed: `catchUp` is due. */
  get hasNoted(): boolean {
    return this.#noted.isAny;
  }

  /**
   * Indexes changed keys until no more work waits than may. Called after each command, and after each unit of work,
   * because one that is undone notes keys again. While a search is under way its index must not change.
   */
  catchUp(): void {
    this.#noted.isAny = false;
    for (const live of this.current) if (!live.dirty.isWeighed) live.catchUp();
  }

  /** True while slices have something to do. */
  get hasBacklog(): boolean {
    if (!this.#isStale && this.#current.length === 0) return false;
    return this.current.some((live) => live.hasBacklog);
  }

  /** True while a search may have to wait. */
  get isScanning(): boolean {
    if (!this.#maybeScans && !this.#isStale) return false;
    this.#maybeScans = this.current.some((live) => live.isScanning);
    return this.#maybeScans;
  }

  /** Records the order of the documents of each complete index, if it is another one than that of the records. */
  *recordOrders(slice: OrderSlice): InSlices<void> {
    for (const [name, value] of [...this.#keyspace.search.definitions]) {
      const live = this.#lives.get(value);
      if (live?.hasNewOrder === true) yield* recordOrderOf({ name, live, keyspace: this.#keyspace }, slice);
    }
  }

  /** One slice of work for all indexes together, the first one first. */
  runSlice(): void {
    let left = SLICE_STEPS;
    for (const live of this.current) {
      if (left <= 0) return;
      if (live.hasBacklog) left = live.runSlice(left);
    }
  }

  /**
   * Takes the document of an evicted key out at once: else its memory would count until the next search, and more keys
   * would be evicted than must be.
   */
  remove(key: Bytes): void {
    if (!this.#isStale && this.#current.length === 0) return;
    if (this.#isStale) this.current;
    this.#prefixes.visit(key, removeFrom);
  }

  /** The indexes of the definitions. keeps (2) */
  get current(): readonly LiveIndex[] {
    if (!this.#isStale) return this.#current;
    this.#isStale = false;
    const { definitions } = this.#keyspace.search;
    this.#current = Array.from(definitions.values(), (value) => {
      const known = this.#lives.get(value);
      if (known !== undefined) return known;
      const live = this.#open(value);
      live.startScan({ shows: false });
      this.#maybeScans = true;
      return live;
    });
    this.#prefixes = new PrefixTable(
      this.#current.flatMap((live) => live.value.definition.prefixes.map((prefix) => [prefix, live] as const)),
    );
    this.#firstBytes = this.#prefixes.firstBytes;
    return this.#current;
  }

  #open(value: SearchDefinition): LiveIndex {
    const live = new LiveIndex(this.#keyspace, value, this.#noted);
    this.#keyspace.meter.change(value);
    value.index = live;
    this.#lives.set(value, live);
    return live;
  }

  /** A key is about to change. `undefined`: every key, and all indexes with them. */
  readonly #note = (key: Bytes | undefined): void => {
    if (key === undefined) return;
    if (this.#isStale) this.current;
    // Most keys of no index leave here.
    if (key.length > 0 && this.#firstBytes[key.charCodeAt(0)] === 0) return;
    this.#prefixes.visit(key, noteIn);
  };
}

function noteIn(live: LiveIndex, key: Bytes): void {
  live.note(key);
}

function removeFrom(live: LiveIndex, key: Bytes): void {
  live.remove(key);
}
