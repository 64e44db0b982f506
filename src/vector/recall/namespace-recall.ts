/**
 * The efforts of one namespace for its recall target, by class of queries, and
 * what was measured of them. Measuring itself is in `recall-round.ts`.
 *
 * (1) The effort of a class follows only measurements of that class, except that
 *     a class that was never measured begins with that of queries without a
 *     filter.
 * (2) A measurement raises a class to the lowest level that reaches the target at
 *     once, and lowers it by one level only: a sample by chance too good costs
 *     little recall, one too bad only time.
 * (3) While checks of the graph show that its walks miss more records than the
 *     target allows, whatever the last measurement found, the effort is the
 *     largest one, or a scan where that costs less.
 * (4) A measurement is of the records at that time: after CHANGED_SHARE of them
 *     have changed, the effort is CHANGED_LEVELS higher until the next one.
 * (5) If no level reaches the target, the class is on the highest one and reported
 *     as missed.
 */
import type { Random } from "../../kernel/random.ts";
import { effortAt, topLevelOf } from "./effort.ts";
import { BASE_CLASS, CLASS_COUNT, classOf, kindOf, rangeOf, unfilteredOf } from "./query-classes.ts";
import { QUERIES_MAX, QuerySample, type SampledQuery } from "./query-sample.ts";
import type { RecallTally } from "./recall-tally.ts";

export interface RecallSettings {
  /** The share of the nearest records that queries should find. */
  readonly recallTarget: number;
  readonly effortMax: number;
}

/** The sizes of a namespace that tell whether it has changed since a measurement. */
export interface NamespaceSize {
  readonly rowCount: number;
  /** The number of rows written so far. */
  readonly insertCount: number;
}

/** What searches need to know of a namespace besides measurements. */
export interface NamespaceState extends NamespaceSize {
  /** The share of the records that walks miss, as the checks of the graph found it. */
  readonly missedShare: number;
}

/** What a measurement of one class found on one level. */
export interface LevelTally {
  /** The queries made of stored records. */
  readonly records: RecallTally;
  /** The recent queries. */
  readonly queries: RecallTally;
  /** The queries that were walks on this level, and those for which a scan costs less. */
  readonly walkCount: number;
  readonly scanCount: number;
}

/** A measurement of one class, from its first level on. */
export interface Measurement {
  readonly firstLevel: number;
  readonly levels: readonly LevelTally[];
  /** The largest number of hits in the sample. */
  readonly countMax: number;
  /** The recent queries of the sample, also those without a hit, which count for nothing. */
  readonly sampledCount: number;
}

export interface RecallReport {
  /** The number of the class. */
  readonly number: number;
  /** The range of topK. */
  readonly topK: string;
  /** The share of records that pass the filter, or `none`. */
  readonly filter: string;
  readonly recall: number;
  /** Of the 95 % interval. */
  readonly lowerBound: number;
  readonly recordCount: number;
  readonly queryCount: number;
  /** For the largest topK of the sample. */
  readonly effort: number;
  /** The share of queries that are scans with this effort, because a walk would cost more. */
  readonly scanShare: number;
  readonly isReached: boolean;
}

/** The lower bound may be this much below the target. */
const MARGIN = 0.01;
/** A sample of recent queries counts on its own from this size on. */
const QUERIES_MIN = 50;
/** A class is measured again when this share of the records is new or gone. */
const CHANGED_SHARE = 0.1;
/** Until then, the effort is twice as large, and at least that of the first level. bench/graph.bench.ts, part `history` */
const CHANGED_LEVELS = 2;
/** With new queries, and with a level to go down, a class is measured again after this time. */
const QUERIES_AGE_MS = 600_000;
const LOWERING_AGE_MS = 60_000;
/** A class whose measurement failed, because records changed too fast, is measured again after this time. */
const POSTPONED_MS = 60_000;

interface Measured {
  readonly atMs: number;
  readonly size: NamespaceSize;
  readonly settings: RecallSettings;
  readonly notedCount: number;
  readonly sampledCount: number;
  readonly report: RecallReport;
  /** A lower level reaches the target too. */
  readonly mayLower: boolean;
}

interface ClassState {
  level: number;
  /** The class has its own level: a measurement set it. */
  hasLevel: boolean;
  readonly sample: QuerySample;
  measured: Measured | undefined;
  /** Not measured before this time. */
  fromMs: number;
}

export class NamespaceRecall {
  readonly #settings: () => RecallSettings;
  readonly #random: Random;
  readonly #state: () => NamespaceState;
  /** By class; absent until it is asked for. */
  readonly #classes: (ClassState | undefined)[] = new Array(CLASS_COUNT).fill(undefined);

  /** `state` returns the current state of the namespace. */
  constructor(settings: () => RecallSettings, random: Random, state: () => NamespaceState) {
    this.#settings = settings;
    this.#random = random;
    this.#state = state;
    this.#open(BASE_CLASS);
  }

  /** The approximate memory of the samples. */
  get byteCount(): number {
    let bytes = 0;
    for (const state of this.#classes) bytes += state?.sample.byteCount ?? 0;
    return bytes;
  }

  get settings(): RecallSettings {
    return this.#settings();
  }

  /** The effort of a walk for `wanted` hits; `share` of the records pass the filter, undefined without one. */
  effortFor(wanted: number, share: number | undefined): number {
    const { recallTarget, effortMax } = this.#settings();
    const state = this.#state();
    // keeps (3)
    const isUnsafe = state.missedShare > 1 - recallTarget;
    const level = isUnsafe ? topLevelOf(effortMax) : this.#levelNow(classOf(wanted, share), state);
    return effortAt(level, wanted, effortMax);
  }

  /** keeps (4) */
  #levelNow(number: number, size: NamespaceSize): number {
    const level = this.levelOf(number);
    const owner = this.#classes[number]?.hasLevel === true ? number : unfilteredOf(number);
    const measured = this.#classes[owner]?.measured;
    if (measured === undefined || !hasChanged(measured.size, size)) return level;
    return Math.max(level + CHANGED_LEVELS, rangeOf(number).firstLevel);
  }

  /** keeps (1) */
  levelOf(number: number): number {
    const state = this.#classes[number];
    if (state?.hasLevel === true) return state.level;
    const unfiltered = this.#classes[unfilteredOf(number)];
    return unfiltered?.hasLevel === true ? unfiltered.level : rangeOf(number).firstLevel;
  }

  /** Notes a query that left its effort to the index. */
  note(query: SampledQuery, share: number | undefined): void {
    const number = classOf(query.count, share);
    (this.#classes[number] ?? this.#open(number)).sample.note(query);
  }

  /**
   * A class that should be measured now; undefined if all are known. The one that was measured longest ago goes first:
   * while records change fast, each is due again before the others were measured.
   */
  findDue(nowMs: number, size: NamespaceSize): number | undefined {
    let due: number | undefined;
    let leastMs = Number.POSITIVE_INFINITY;
    for (const [number, state] of this.#classes.entries()) {
      const atMs = state?.measured?.atMs ?? Number.NEGATIVE_INFINITY;
      if (state === undefined || atMs >= leastMs || !this.#isDue(state, nowMs, size)) continue;
      due = number;
      leastMs = atMs;
    }
    return due;
  }

  /** The recent queries of a class. */
  queriesOf(number: number): readonly SampledQuery[] {
    return this.#classes[number]?.sample.queries ?? [];
  }

  /** Raises a class before its measurement has ended, if it is certain that its level is too low. */
  raise(number: number, { firstLevel, levels }: Measurement): void {
    const state = this.#classes[number];
    const current = this.levelOf(number);
    const tally = levels[current - firstLevel];
    const { recallTarget } = this.settings;
    if (state === undefined || tally === undefined) return;
    if (tally.records.plus(tally.queries).upperBound >= recallTarget) return;
    const found = levels.findIndex(({ records, queries }) => records.plus(queries).recall >= recallTarget);
    this.#setLevel(state, firstLevel + (found < 0 ? levels.length - 1 : found));
  }

  /** Takes over a complete measurement. keeps (2) and (5) */
  settle(number: number, measurement: Measurement, { nowMs, size }: { nowMs: number; size: NamespaceSize }): void {
    const state = this.#classes[number];
    if (state === undefined) return;
    const { firstLevel, levels, countMax, sampledCount } = measurement;
    const { settings } = this;
    const found = levels.findIndex((tally) => isReached(tally, settings.recallTarget));
    const wanted = firstLevel + (found < 0 ? levels.length - 1 : found);
    const current = this.levelOf(number);
    this.#setLevel(state, wanted < current ? Math.max(wanted, current - 1) : wanted);
    const tally = levels[state.level - firstLevel] as LevelTally;
    const all = tally.records.plus(tally.queries);
    state.measured = {
      atMs: nowMs,
      size,
      settings,
      notedCount: state.sample.notedCount,
      sampledCount,
      mayLower: found >= 0 && (wanted < state.level || (found === 0 && state.level > 0)),
      report: {
        number,
        topK: rangeOf(number).name,
        filter: kindOf(number).name,
        recall: all.recall,
        lowerBound: all.lowerBound,
        recordCount: tally.records.queryCount,
        queryCount: tally.queries.queryCount,
        effort: effortAt(state.level, countMax, settings.effortMax),
        scanShare: tally.scanCount / Math.max(1, tally.scanCount + tally.walkCount),
        isReached: found >= 0,
      },
    };
  }

  /** Leaves a class as it is for a while. */
  postpone(number: number, nowMs: number): void {
    const state = this.#classes[number];
    if (state !== undefined) state.fromMs = nowMs + POSTPONED_MS;
  }

  /** What was measured last, of each class that was measured. */
  get reports(): readonly RecallReport[] {
    return this.#classes.flatMap((state) => (state?.measured === undefined ? [] : [state.measured.report]));
  }

  #open(number: number): ClassState {
    const state = { level: 0, hasLevel: false, sample: new QuerySample(this.#random), measured: undefined, fromMs: 0 };
    this.#classes[number] = state;
    return state;
  }

  #setLevel(state: ClassState, level: number): void {
    state.level = Math.min(level, topLevelOf(this.settings.effortMax));
    state.hasLevel = true;
  }

  #isDue(state: ClassState, nowMs: number, size: NamespaceSize): boolean {
    const { measured, sample, fromMs } = state;
    if (nowMs < fromMs) return false;
    if (measured === undefined) return true;
    const { settings } = this;
    if (settings.recallTarget !== measured.settings.recallTarget) return true;
    if (settings.effortMax !== measured.settings.effortMax) return true;
    if (hasChanged(measured.size, size)) return true;
    const queryCount = sample.notedCount - measured.notedCount;
    if (measured.sampledCount < QUERIES_MIN && sample.queries.length >= QUERIES_MIN) return true;
    if (measured.mayLower && queryCount > 0 && nowMs - measured.atMs >= LOWERING_AGE_MS) return true;
    return queryCount >= QUERIES_MAX && nowMs - measured.atMs >= QUERIES_AGE_MS;
  }
}

function hasChanged(before: NamespaceSize, { rowCount, insertCount }: NamespaceSize): boolean {
  const changedCount = insertCount - before.insertCount + Math.max(0, before.rowCount - rowCount);
  return changedCount > rowCount * CHANGED_SHARE;
}

/** Whether a level reaches the target: for both samples together, and for the recent queries alone if they are enough. */
function isReached({ records, queries }: LevelTally, target: number): boolean {
  const all = records.plus(queries);
  if (all.recall < target || all.lowerBound < target - MARGIN) return false;
  return queries.queryCount < QUERIES_MIN || queries.recall >= target;
}
