/**
 * The SQL of listings. A statement's text depends on the order and on how many
 * values its filters have; values are always bound, never part of the text.
 */
import { type Database, numberOf, type Parameters, type Row, type Statement } from "./database.ts";
import type { EntryRange, HistoryQuery } from "./query.ts";

type Order = HistoryQuery["order"];

/** An attribute's name with the values that match. */
export interface ValueFilter {
  readonly name: string;
  readonly values: ReadonlySet<string>;
  readonly hashes: readonly number[];
}

/** A range of one user's entries, and the most that are read. */
interface EntryBounds {
  readonly user: number;
  readonly range: EntryRange;
  readonly wanted: number;
}

interface FilteredBounds extends EntryBounds {
  /** Undefined if there are no filters. */
  readonly partition: number | undefined;
  /** Messages up to this number are skipped. */
  readonly droppedMessage: number;
}

/** The most statements in memory: their texts differ by the counts of values. */
const STATEMENTS_MAX = 64;

const DIRECTION: Readonly<Record<Order, string>> = { "latest first": "DESC", "earliest first": "ASC" };

const IN_RANGE =
  "(e.time_ms, e.number) > ($afterMs, $afterNumber) AND (e.time_ms, e.number) < ($beforeMs, $beforeNumber)";
const COLUMNS = "e.time_ms, e.number, e.state, e.message";

export class ListingStatements {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** The partitions of a range with a posting of every filter, in the order of the page. */
  partitions(order: Order, filters: readonly ValueFilter[], { after, before }: EntryRange): NodeJS.Iterator<Row> {
    const having = filters.map((filter, index) => `EXISTS (${postings(filter, index, "s.number")})`);
    const sql = `SELECT s.number, s.start_ms, s.end_ms, s.entry_count FROM span s
      WHERE s.end_ms > $afterMs AND s.start_ms <= $beforeMs AND ${having.join(" AND ")}
      ORDER BY s.number ${DIRECTION[order]}`;
    const bounds = { afterMs: after.timeMs, beforeMs: before.timeMs };
    return this.#prepare(sql).iterate({ ...bounds, ...valuesOf(filters) });
  }

  /** Counts the messages of a partition that have a value, up to `countMax`. */
  countPostings(partition: number, filter: ValueFilter, countMax: number): number {
    const sql = `SELECT count(*) AS count FROM (${postings(filter, 0, "$partition")} LIMIT $countMax)`;
    return numberOf(this.#prepare(sql).get({ partition, countMax, ...valuesOf([filter]) })?.["count"]);
  }

  /** Counts the entries of one state in a range, up to `wanted`. */
  countEntries({ state, ...bounds }: EntryBounds & { state: number }): number {
    const sql = `SELECT count(*) AS count FROM (
      SELECT 1 FROM entry e WHERE e.user = $user AND e.state = $state AND ${IN_RANGE} LIMIT $wanted)`;
    return numberOf(this.#prepare(sql).get({ state, ...boundsOf(bounds) })?.["count"]);
  }

  /** Reads the entries of one state in order, for messages with a posting of every filter. */
  byState(order: Order, filters: readonly ValueFilter[]): (bounds: FilteredBounds & { state: number }) => Row[] {
    const statement = this.#prepare(`SELECT ${COLUMNS} FROM entry e
      WHERE e.user = $user AND e.state = $state AND ${IN_RANGE} AND e.message > $droppedMessage ${having(filters, "e.message")}
      ORDER BY e.time_ms ${DIRECTION[order]}, e.number ${DIRECTION[order]} LIMIT $wanted`);
    const values = valuesOf(filters);
    return ({ state, partition, droppedMessage, ...bounds }) =>
      statement.all({
        state,
        droppedMessage,
        ...(partition !== undefined && { partition }),
        ...boundsOf(bounds),
        ...values,
      });
  }

  /** The same for several states, beginning with the postings of the first filter. */
  byPostings(
    order: Order,
    filters: readonly ValueFilter[],
    { partition, states, droppedMessage, ...bounds }: FilteredBounds & { partition: number; states: readonly number[] },
  ): Row[] {
    const [first, ...others] = filters;
    if (first === undefined) return [];
    const sql = `SELECT ${COLUMNS}
      FROM (SELECT DISTINCT f.message AS number FROM posting f
        WHERE f.span = $partition AND f.value IN ${list(first, 0)} ${having(others, "f.message", 1)}) m
      CROSS JOIN entry e INDEXED BY entry_of_message ON e.message = m.number
      WHERE e.user = $user AND (1 << e.state) & $states AND ${IN_RANGE} AND e.message > $droppedMessage
      ORDER BY e.time_ms ${DIRECTION[order]}, e.number ${DIRECTION[order]} LIMIT $wanted`;
    const wantedStates = states.reduce((bits, state) => bits | (1 << state), 0);
    const parameters = { partition, droppedMessage, states: wantedStates, ...boundsOf(bounds), ...valuesOf(filters) };
    return this.#prepare(sql).all(parameters);
  }

  #prepare(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear();
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Requires a posting of every filter for a message; `firstIndex` numbers the values of the first filter. */
function having(filters: readonly ValueFilter[], message: string, firstIndex = 0): string {
  return filters
    .map(
      (filter, index) =>
        `AND EXISTS (${postings(filter, firstIndex + index, "$partition")} AND p.message = ${message})`,
    )
    .join(" ");
}

function postings(filter: ValueFilter, index: number, partition: string): string {
  return `SELECT 1 FROM posting p WHERE p.span = ${partition} AND p.value IN ${list(filter, index)}`;
}

function list({ hashes }: ValueFilter, index: number): string {
  return `(${hashes.map((_, value) => `$value${index}x${value}`).join(",")})`;
}

function valuesOf(filters: readonly ValueFilter[]): Parameters {
  const values: Parameters = {};
  for (const [index, { hashes }] of filters.entries()) {
    for (const [value, hash] of hashes.entries()) values[`value${index}x${value}`] = hash;
  }
  return values;
}

function boundsOf({ user, range: { after, before }, wanted }: EntryBounds): Parameters {
  return {
    user,
    wanted,
    afterMs: after.timeMs,
    afterNumber: after.number,
    beforeMs: before.timeMs,
    beforeNumber: before.number,
  };
}
