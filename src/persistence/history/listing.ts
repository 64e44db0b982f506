/**
 * Listings. Without filters by value, a page is a merge of the ranges of its
 * states; with filters it is searched partition by partition, in the order of
 * the page.
 *
 *     partitions that hold a posting of every filter
 *       -> in each: begin with the postings of the rarest filter, or with the
 *          entries in their order, whichever reads fewer rows
 *       -> compare the attributes themselves, because hashes may collide
 *
 * (1) A page is read in one transaction, so it is consistent.
 * (2) An entry is only returned to its user: `entry` has the user's number.
 */
import { type Database, numberOf, type Row, type Statement, textOf } from "./database.ts";
import { PARTITION_ENTRIES } from "./layout.ts";
import { ListingStatements, type ValueFilter } from "./listing-statements.ts";
import { PageBuilder } from "./page-builder.ts";
import {
  BEFORE_FIRST,
  compareKeys,
  type EntryKey,
  type EntryRange,
  type HistoryPage,
  type HistoryQuery,
  rangeOf,
} from "./query.ts";
import { parseAttributes, STATE_MAX } from "./record.ts";
import { ID_NAME, valueHash } from "./value-hash.ts";

/** A found entry, without its detail. */
export interface FoundEntry extends EntryKey {
  readonly state: number;
  readonly message: number;
}

/** The state of one search. */
interface Search {
  readonly query: HistoryQuery;
  readonly filters: readonly ValueFilter[];
  readonly states: readonly number[];
  /** Messages up to this number were dropped with their user. */
  readonly droppedMessage: number;
  /** The result for messages whose attributes were compared. */
  readonly hasValues: Map<number, boolean>;
  rowsRead: number;
  /** True once the entries of a partition were read and did not fill the page. */
  areEntriesSparse: boolean;
}

const ALL_STATES: readonly number[] = Array.from({ length: STATE_MAX + 1 }, (_, state) => state);

/** If the wanted states have fewer entries than this share of a partition, all of them are read. */
const FEW_SHARE = 1 / 16;
/** A search that has read this many rows ends with a cursor to continue from: after a second at most. */
const SEARCH_ROWS_MAX = 1_000_000;
/** A message has about three entries, and a posting leads to each. */
const ENTRIES_OF_MESSAGE = 3;

export class HistoryListing {
  readonly #database: Database;
  readonly #statements: ListingStatements;
  readonly #pages: PageBuilder;
  readonly #findDropped: Statement;
  readonly #findAttributes: Statement;

  readonly #fewEntries: number;

  constructor(database: Database, partitionEntries = PARTITION_ENTRIES) {
    this.#database = database;
    this.#fewEntries = Math.ceil(partitionEntries * FEW_SHARE);
    this.#statements = new ListingStatements(database);
    this.#pages = new PageBuilder(database);
    this.#findDropped = database.prepare("SELECT last_message FROM dropped WHERE user = ?");
    this.#findAttributes = database.prepare("SELECT id, attributes FROM message WHERE number = ?");
  }

  /** Throws `MalformedCursor`, and SQLite's errors. */
  list(query: HistoryQuery): HistoryPage {
    const range = rangeOf(query);
    return this.#database.inSnapshot(() => {
      const dropped = this.#findDropped.get(query.user);
      const search: Search = {
        query,
        filters: filtersOf(query),
        states: query.states === undefined ? ALL_STATES : [...new Set(query.states)],
        droppedMessage: dropped === undefined ? -1 : numberOf(dropped["last_message"]),
        hasValues: new Map(),
        rowsRead: 0,
        areEntriesSparse: false,
      };
      // One entry more than the page holds shows whether another page follows.
      const { found, end } = this.#find(search, range, query.count + 1);
      return this.#pages.build(found, query.count, end);
    });
  }

  /** `end` is where the search ended early, undefined if it did not. */
  #find(search: Search, range: EntryRange, wanted: number): { found: FoundEntry[]; end: EntryKey | undefined } {
    const { filters, query } = search;
    if (filters.length === 0) return { found: this.#readStates(search, range, wanted), end: undefined };
    if (filters.some(({ hashes }) => hashes.length === 0)) return { found: [], end: undefined };
    const few = this.#fewEntries;
    if (query.states !== undefined && this.#countEntries(search, range, few) < few) {
      const found = this.#readStates(search, range, few).filter((entry) => this.#hasValues(entry, search));
      return { found: found.slice(0, wanted), end: undefined };
    }
    const found: FoundEntry[] = [];
    for (const partition of this.#statements.partitions(query.order, filters, range)) {
      let rest = clip(range, numberOf(partition["start_ms"]), numberOf(partition["end_ms"]));
      if (search.rowsRead > SEARCH_ROWS_MAX) return { found, end: nearEnd(rest, query.order) };
      for (;;) {
        const missing = wanted - found.length;
        const entries = this.#readPartition(search, { partition, range: rest, wanted: missing });
        for (const entry of entries) if (this.#hasValues(entry, search)) found.push(entry);
        const last = entries.at(-1);
        if (found.length === wanted) return { found, end: undefined };
        if (last === undefined || entries.length < missing) break;
        rest = query.order === "latest first" ? { ...rest, before: last } : { ...rest, after: last };
      }
    }
    return { found, end: undefined };
  }

  /** Entries of one partition whose messages have a posting of every filter. */
  #readPartition(search: Search, part: { partition: Row; range: EntryRange; wanted: number }): FoundEntry[] {
    const { filters, query, states } = search;
    const { range, wanted } = part;
    const partition = numberOf(part.partition["number"]);
    const partitionEntries = numberOf(part.partition["entry_count"]);
    const entries = query.states === undefined ? partitionEntries : this.#countEntries(search, range, partitionEntries);
    if (entries === 0) return [];
    // Each count stops as soon as another filter is rarer, or the entries are fewer.
    let fewest = Math.ceil(entries / ENTRIES_OF_MESSAGE);
    let rarest: ValueFilter | undefined;
    for (const filter of filters) {
      const count = this.#statements.countPostings(partition, filter, fewest + 1);
      if (count > fewest) continue;
      fewest = count;
      rarest = filter;
    }
    const untilEnough = (wanted * partitionEntries * states.length) / Math.max(1, fewest * ENTRIES_OF_MESSAGE);
    const entriesRead = search.areEntriesSparse ? entries : Math.min(entries, untilEnough);
    if (rarest === undefined || entriesRead < fewest * ENTRIES_OF_MESSAGE) {
      const found = this.#readStates(search, range, wanted, partition);
      // The intersection of the filters is rarer than each of them, so this is not tried again.
      if (found.length < wanted) search.areEntriesSparse = true;
      search.rowsRead += found.length < wanted ? entries : entriesRead;
      return found;
    }
    search.rowsRead += fewest * ENTRIES_OF_MESSAGE;
    const ordered = [rarest, ...filters.filter((filter) => filter !== rarest)];
    const bounds = { user: query.user, states, range, wanted, partition, droppedMessage: search.droppedMessage };
    return this.#statements.byPostings(query.order, ordered, bounds).map(foundEntry);
  }

  /** Counts the entries of the wanted states in a range, up to `countMax`. */
  #countEntries({ query, states }: Search, range: EntryRange, countMax: number): number {
    let count = 0;
    for (const state of states) {
      if (count >= countMax) break;
      count += this.#statements.countEntries({ user: query.user, state, range, wanted: countMax - count });
    }
    return count;
  }

  /** Merges the ranges of the states. With a partition, only entries of messages with a posting of every filter. */
  #readStates(search: Search, range: EntryRange, wanted: number, partition?: number): FoundEntry[] {
    const { query, filters, states, droppedMessage } = search;
    const read = this.#statements.byState(query.order, partition === undefined ? [] : filters);
    const found: FoundEntry[] = [];
    for (const state of states) {
      for (const row of read({ user: query.user, state, range, wanted, partition, droppedMessage })) {
        found.push(foundEntry(row));
      }
    }
    const sign = query.order === "latest first" ? -1 : 1;
    return found.sort((a, b) => sign * compareKeys(a, b)).slice(0, wanted);
  }

  #hasValues({ message }: FoundEntry, { filters, hasValues }: Search): boolean {
    let hasAll = hasValues.get(message);
    if (hasAll === undefined) {
      const row = this.#findAttributes.get(message);
      hasAll = row !== undefined && matches(row, filters);
      hasValues.set(message, hasAll);
    }
    return hasAll;
  }
}

function matches(row: Row, filters: readonly ValueFilter[]): boolean {
  const attributes = parseAttributes(textOf(row["attributes"]));
  return filters.every(({ name, values }) =>
    name === ID_NAME
      ? values.has(textOf(row["id"]))
      : attributes.some((attribute) => attribute[0] === name && values.has(attribute[1])),
  );
}

function filtersOf({ user, messageIds, attributes }: HistoryQuery): readonly ValueFilter[] {
  const lists: (readonly [string, readonly string[]])[] = [...attributes];
  if (messageIds !== undefined) lists.push([ID_NAME, messageIds]);
  return lists.map(([name, list]) => {
    const values = new Set(list);
    return { name, values, hashes: [...values].map((value) => valueHash(user, name, value)) };
  });
}

/** The end of a range at which a page in this order begins. */
function nearEnd({ after, before }: EntryRange, order: HistoryQuery["order"]): EntryKey {
  return order === "latest first" ? before : after;
}

function foundEntry(row: Row): FoundEntry {
  return {
    timeMs: numberOf(row["time_ms"]),
    number: numberOf(row["number"]),
    state: numberOf(row["state"]),
    message: numberOf(row["message"]),
  };
}

/** The part of a range within [startMs, endMs). */
function clip({ after, before }: EntryRange, startMs: number, endMs: number): EntryRange {
  const start = { timeMs: startMs, number: BEFORE_FIRST };
  const end = { timeMs: endMs, number: BEFORE_FIRST };
  return {
    after: compareKeys(start, after) > 0 ? start : after,
    before: compareKeys(end, before) < 0 ? end : before,
  };
}
