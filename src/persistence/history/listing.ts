/**
 * Listings. Without filters by value a page is a merge of the stretches of its
 * states; with them it is looked for span by span, in the order of the page.
 *
 *     spans that hold a posting of every filter
 *       -> in each: begin with the postings of the rarest filter, or with the
 *          entries in their order, whichever reads fewer rows
 *       -> compare the attributes themselves, because hashes may be shared
 *
 * (1) All of a page is read in one transaction: it is of one moment.
 * (2) An entry is given to nobody but its user: `entry` has the user's number.
 */
import { type Database, numberOf, type Row, type Statement, textOf } from "./database.ts";
import { SPAN_ENTRIES } from "./layout.ts";
import { ListingStatements, type ValueFilter } from "./listing-statements.ts";
import { PageBuilder } from "./page-builder.ts";
import {
  BEFORE_FIRST,
  comparePlaces,
  type HistoryPage,
  type HistoryQuery,
  type Place,
  type Stretch,
  stretchOf,
} from "./query.ts";
import { parseAttributes, STATE_MAX } from "./record.ts";
import { ID_NAME, valueHash } from "./value-hash.ts";

/** An entry that was found, without what it says. */
export interface FoundEntry extends Place {
  readonly state: number;
  readonly message: number;
}

/** What a look into one stretch of time is given. */
interface Search {
  readonly query: HistoryQuery;
  readonly filters: readonly ValueFilter[];
  readonly states: readonly number[];
  /** Messages up to here were dropped with their user. */
  readonly droppedMessage: number;
  /** Messages whose attributes were compared. */
  readonly hasValues: Map<number, boolean>;
  rowsRead: number;
  /** A span was read by its entries and did not hold enough. */
  areEntriesSparse: boolean;
}

const ALL_STATES: readonly number[] = Array.from({ length: STATE_MAX + 1 }, (_, state) => state);

/** Fewer entries of the wanted states than this part of a span are all looked at. */
const FEW_SHARE = 1 / 16;
/** A search that has read so many rows gives up, with a cursor to go on from: a second at most. */
const SEARCH_ROWS_MAX = 1_000_000;
/** A message has some three entries, and a posting leads to each. */
const ENTRIES_OF_MESSAGE = 3;

export class HistoryListing {
  readonly #database: Database;
  readonly #statements: ListingStatements;
  readonly #pages: PageBuilder;
  readonly #findDropped: Statement;
  readonly #findAttributes: Statement;

  readonly #fewEntries: number;

  constructor(database: Database, spanEntries = SPAN_ENTRIES) {
    this.#database = database;
    this.#fewEntries = Math.ceil(spanEntries * FEW_SHARE);
    this.#statements = new ListingStatements(database);
    this.#pages = new PageBuilder(database);
    this.#findDropped = database.prepare("SELECT last_message FROM dropped WHERE user = ?");
    this.#findAttributes = database.prepare("SELECT id, attributes FROM message WHERE number = ?");
  }

  /** Throws `MalformedCursor`, and SQLite's errors. */
  list(query: HistoryQuery): HistoryPage {
    const stretch = stretchOf(query);
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
      // One more than the page holds tells whether another page follows.
      const { found, end } = this.#find(search, stretch, query.count + 1);
      return this.#pages.build(found, query.count, end);
    });
  }

  /** `end` is where the search was given up, undefined if it was not. */
  #find(search: Search, stretch: Stretch, wanted: number): { found: FoundEntry[]; end: Place | undefined } {
    const { filters, query } = search;
    if (filters.length === 0) return { found: this.#readStates(search, stretch, wanted), end: undefined };
    if (filters.some(({ hashes }) => hashes.length === 0)) return { found: [], end: undefined };
    const few = this.#fewEntries;
    if (query.states !== undefined && this.#countEntries(search, stretch, few) < few) {
      const found = this.#readStates(search, stretch, few).filter((entry) => this.#hasValues(entry, search));
      return { found: found.slice(0, wanted), end: undefined };
    }
    const found: FoundEntry[] = [];
    for (const span of this.#statements.spans(query.order, filters, stretch)) {
      let rest = clip(stretch, numberOf(span["start_ms"]), numberOf(span["end_ms"]));
      if (search.rowsRead > SEARCH_ROWS_MAX) return { found, end: nearEnd(rest, query.order) };
      for (;;) {
        const missing = wanted - found.length;
        const entries = this.#readSpan(search, { span, stretch: rest, wanted: missing });
        for (const entry of entries) if (this.#hasValues(entry, search)) found.push(entry);
        const last = entries.at(-1);
        if (found.length === wanted) return { found, end: undefined };
        if (last === undefined || entries.length < missing) break;
        rest = query.order === "latest first" ? { ...rest, before: last } : { ...rest, after: last };
      }
    }
    return { found, end: undefined };
  }

  /** Entries of one span whose messages have a posting of every filter. */
  #readSpan(search: Search, part: { span: Row; stretch: Stretch; wanted: number }): FoundEntry[] {
    const { filters, query, states } = search;
    const { stretch, wanted } = part;
    const span = numberOf(part.span["number"]);
    const spanEntries = numberOf(part.span["entry_count"]);
    const entries = query.states === undefined ? spanEntries : this.#countEntries(search, stretch, spanEntries);
    if (entries === 0) return [];
    // No filter is counted further than it takes to see that another is rarer, or that the entries are fewer.
    let fewest = Math.ceil(entries / ENTRIES_OF_MESSAGE);
    let rarest: ValueFilter | undefined;
    for (const filter of filters) {
      const count = this.#statements.countPostings(span, filter, fewest + 1);
      if (count > fewest) continue;
      fewest = count;
      rarest = filter;
    }
    const untilEnough = (wanted * spanEntries * states.length) / Math.max(1, fewest * ENTRIES_OF_MESSAGE);
    const entriesRead = search.areEntriesSparse ? entries : Math.min(entries, untilEnough);
    if (rarest === undefined || entriesRead < fewest * ENTRIES_OF_MESSAGE) {
      const found = this.#readStates(search, stretch, wanted, span);
      // What the filters have in common is rarer than each of them: it is not tried again.
      if (found.length < wanted) search.areEntriesSparse = true;
      search.rowsRead += found.length < wanted ? entries : entriesRead;
      return found;
    }
    search.rowsRead += fewest * ENTRIES_OF_MESSAGE;
    const ordered = [rarest, ...filters.filter((filter) => filter !== rarest)];
    const bounds = { user: query.user, states, stretch, wanted, span, droppedMessage: search.droppedMessage };
    return this.#statements.byPostings(query.order, ordered, bounds).map(foundEntry);
  }

  /** How many entries of the wanted states a stretch has, counted up to `countMax`. */
  #countEntries({ query, states }: Search, stretch: Stretch, countMax: number): number {
    let count = 0;
    for (const state of states) {
      if (count >= countMax) break;
      count += this.#statements.countEntries({ user: query.user, state, stretch, wanted: countMax - count });
    }
    return count;
  }

  /** Merges the stretches of the states; with a span, only entries whose messages have a posting of every filter. */
  #readStates(search: Search, stretch: Stretch, wanted: number, span?: number): FoundEntry[] {
    const { query, filters, states, droppedMessage } = search;
    const read = this.#statements.byState(query.order, span === undefined ? [] : filters);
    const found: FoundEntry[] = [];
    for (const state of states) {
      for (const row of read({ user: query.user, state, stretch, wanted, span, droppedMessage })) {
        found.push(foundEntry(row));
      }
    }
    const sign = query.order === "latest first" ? -1 : 1;
    return found.sort((a, b) => sign * comparePlaces(a, b)).slice(0, wanted);
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

/** The place of a stretch at which a page in this order begins. */
function nearEnd({ after, before }: Stretch, order: HistoryQuery["order"]): Place {
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

/** The part of a stretch that lies within [startMs, endMs). */
function clip({ after, before }: Stretch, startMs: number, endMs: number): Stretch {
  const start = { timeMs: startMs, number: BEFORE_FIRST };
  const end = { timeMs: endMs, number: BEFORE_FIRST };
  return {
    after: comparePlaces(start, after) > 0 ? start : after,
    before: comparePlaces(end, before) < 0 ? end : before,
  };
}
