/** `$terms`: a bucket for each distinct value, the most frequent ones first. */
import { type Bytes, textFromBytes } from "../../../../kernel/bytes.ts";
import type { JsonNode } from "../../../json/node.ts";
import { JsonObject } from "../../../json/object.ts";
import { compilePattern, matches, type Pattern, PatternFailure } from "../../../json/pattern.ts";
import type { FieldType } from "../../definition.ts";
import type { InSlices, Spend } from "../../slices.ts";
import {
  type Bucket,
  type Bucketing,
  type Chosen,
  type MetricOfCell,
  type MetricOrder,
  NO_CELL,
  planBuckets,
} from "../buckets.ts";
import { inChunks, numbersOf, wordsOf } from "../columns.ts";
import { firstBuckets } from "../first-buckets.ts";
import { keysOfWords, NO_KEY } from "../keys.ts";
import { type Cells, NumberOrdinals } from "../ordinals.ts";
import type { AggregationParameters } from "../parameters.ts";
import type { Aggregation, Members, Metric, Plan, PlannedField, Run } from "../plan.ts";
import { keyMembers, numberText } from "../print.ts";
import { SLOT_KEYS_MAX, tiePlaces } from "./tie-order.ts";

const SIZE = 10;
const PATTERN_BYTES_MAX = 1_024;
const LISTED_TERMS_MAX = 10_000;
/** What `order` compares. */
type Target =
  | { readonly by: "count" }
  | { readonly by: "key" }
  | { readonly by: "metric"; readonly order: MetricOrder };

type Order = Target & { readonly isAscending: boolean };

interface Terms {
  readonly size: number;
  readonly minDocCount: number;
  readonly order: Order;
  /** Whether docCountErrorUpperBound is shown. */
  readonly showsError: boolean;
}

export function planTerms(
  field: PlannedField,
  parameters: AggregationParameters,
  subAggregations: readonly Aggregation[],
): Plan {
  const order = parseOrder(parameters, subAggregations);
  const showsError = parameters.boolean("showTermDocCountError", false);
  const terms: Terms = {
    size: parameters.integer("size", 1, SIZE),
    minDocCount: parameters.integer("minDocCount", 0, 1),
    order,
    showsError: showsError || (order.by === "count" && !order.isAscending),
  };
  // Counts are exact, so no larger number of candidates makes them better.
  parameters.integer("segmentSize", 1, undefined);
  const begin =
    field.field.type === "KEYWORD" ? beginWords(field, parameters, terms) : beginNumbers(field, parameters, terms);
  return planBuckets(begin, {
    isKeyed: false,
    subAggregations,
    order: order.by === "metric" ? order.order : undefined,
  });
}

function parseOrder(parameters: AggregationParameters, subAggregations: readonly Aggregation[]): Order {
  const node = parameters.node("order");
  if (node === undefined) return { by: "count", isAscending: false };
  const [name] = node instanceof JsonObject && node.size === 1 ? node.names() : [];
  const direction = node instanceof JsonObject && name !== undefined ? node.get(name) : undefined;
  if (name === undefined || (direction !== "asc" && direction !== "desc"))
    throw parameters.invalid("order", 'must be an object with one member, whose value is "asc" or "desc"');
  return { ...parseTarget(name, { parameters, subAggregations }), isAscending: direction === "asc" };
}

/** `count`, `key`, the alias of a sub-aggregation, or one with a dot and the name of its metric. */
function parseTarget(
  name: Bytes,
  { parameters, subAggregations }: { parameters: AggregationParameters; subAggregations: readonly Aggregation[] },
): Target {
  if (name === "count" || name === "key") return { by: name };
  for (const aggregation of subAggregations) {
    const [first] = aggregation.metrics;
    // Which of several metrics is meant must be said.
    if (name === aggregation.alias && first !== undefined && aggregation.metrics.length === 1)
      return { by: "metric", order: { aggregation, metric: first } };
    const metric = aggregation.metrics.find((each) => name === `${aggregation.alias}.${each}`);
    if (metric !== undefined) return { by: "metric", order: { aggregation, metric } };
  }
  throw parameters.invalid("order", `names no metric of $aggs: ${name}`);
}

function beginNumbers(
  { field, number }: PlannedField,
  parameters: AggregationParameters,
  terms: Terms,
): (run: Run) => Bucketing {
  const missing = parameters.missingNumber(field);
  return (run) => {
    const column = numbersOf(run, number);
    const ordinals = new NumberOrdinals(run.spend);
    const valueOfKey = (key: number): number | bigint => ordinals.valueAt(key);
    return {
      keys: {
        countOf: (document) => column.countOf(document),
        keyOf: (document, at) => ordinals.ordinalOf(column.valueOf(document, at)),
        missing: missing === undefined ? NO_KEY : ordinals.ordinalOf(missing),
        limit: undefined,
      },
      choose: chooser(terms, run, {
        compareKeys: (one, other) => compareValues(valueOfKey(one), valueOfKey(other)),
        membersOf: (key) => keyMembers(valueOfKey(key), field.type),
        nameOf: (key) => numberText(valueOfKey(key)),
        tieKeyOf: hasSlots(field.type) ? valueOfKey : undefined,
        emptyKeys: noKeys,
      }),
    };
  };
}

/** Times and truth values are no whole numbers for the engine whose order of ties this follows. */
function hasSlots(type: FieldType): boolean {
  return type === "U64" || type === "I64" || type === "F64";
}

function beginWords(
  { field, number }: PlannedField,
  parameters: AggregationParameters,
  terms: Terms,
): (run: Run) => Bucketing {
  const missing = parameters.missing(field) as Bytes | undefined;
  const include = parseTermFilter(parameters, "include");
  const exclude = parseTermFilter(parameters, "exclude");
  return (run) => {
    const words = keysOfWords(run, number, missing);
    const isAllowed = rememberedByKey(words.limit ?? 0, (key) => {
      const word = words.wordOf(key);
      return include?.(word, run.spend) !== false && exclude?.(word, run.spend) !== true;
    });
    const hasFilter = include !== undefined || exclude !== undefined;
    const isShown = (key: number): boolean => !hasFilter || isAllowed(key);
    const allowedKey = (key: number): number => (key === NO_KEY || isAllowed(key) ? key : NO_KEY);
    const keys = hasFilter
      ? {
          ...words,
          keyOf: (document: number, at: number) => allowedKey(words.keyOf(document, at)),
          missing: allowedKey(words.missing),
          singles: undefined,
        }
      : words;
    return {
      keys,
      choose: chooser(terms, run, {
        compareKeys: (one, other) => compareValues(words.wordOf(one), words.wordOf(other)),
        membersOf: (key) => [["key", words.wordOf(key)]],
        nameOf: words.wordOf,
        tieKeyOf: undefined,
        emptyKeys: terms.minDocCount === 0 ? remembered(() => liveKeys(run, number, isShown)) : noKeys,
      }),
    };
  };
}

/** The keys of all words that a live document has: with a minDocCount of 0 they are shown without documents. */
function* liveKeys(run: Run, number: number, isShown: (key: number) => boolean): InSlices<number[]> {
  const { index, spend } = run;
  const column = wordsOf(run, number);
  const seen = new Uint8Array(column.ordinalLimit);
  const keys: number[] = [];
  yield* inChunks(index.documentLimit, spend, (start, end) => {
    for (let document = start; document < end; document += 1) {
      if (!index.isLive(document)) continue;
      for (let at = 0; at < column.countOf(document); at += 1) {
        const key = column.ordinalOf(document, at);
        if (seen[key] !== 0) continue;
        seen[key] = 1;
        if (isShown(key)) keys.push(key);
      }
    }
  });
  return keys;
}

type KeyList = () => InSlices<readonly number[]>;

// biome-ignore lint/correctness/useYield: there is nothing to do.
const noKeys: KeyList = function* () {
  return [];
};

/** Computes the keys once. */
function remembered(compute: KeyList): KeyList {
  let known: readonly number[] | undefined;
  return function* () {
    known ??= yield* compute();
    return known;
  };
}

/** What the values of a field are as buckets. */
interface TermKeys {
  readonly compareKeys: (one: number, other: number) => number;
  readonly membersOf: (key: number) => Members;
  readonly nameOf: (key: number) => Bytes;
  /** The number that has a place in the table of ties; undefined: ties are in the order of their first occurrence. */
  readonly tieKeyOf: ((key: number) => number | bigint) | undefined;
  /** Keys that are shown without documents. */
  readonly emptyKeys: KeyList;
}

interface Candidate {
  readonly key: number;
  readonly cell: number;
  readonly docCount: number;
}

function chooser({ size, minDocCount, order, showsError }: Terms, run: Run, keys: TermKeys): Bucketing["choose"] {
  const after = (shown: readonly Candidate[], docCount: number): Members => {
    const sumOtherDocCount = shown.reduce((left, bucket) => left - bucket.docCount, docCount);
    const members: Members = [["sumOtherDocCount", sumOtherDocCount]];
    return showsError ? [...members, ["docCountErrorUpperBound", 0]] : members;
  };
  return function* (own, cells, metricOf): InSlices<Chosen> {
    const { candidates, docCount } = yield* candidatesOf(own, { cells, minDocCount, run, keys });
    const compare = yield* comparison(candidates, { order, keys, metricOf, run });
    const first = yield* firstBuckets(run, { count: candidates.length, size, compare });
    const shown = first.map((at) => candidates[at] as Candidate);
    const buckets = shown.map(
      ({ key, cell, docCount: ownCount }): Bucket => ({
        cell,
        name: keys.nameOf(key),
        members: [...keys.membersOf(key), ["docCount", ownCount]],
      }),
    );
    return { buckets, after: after(shown, docCount) };
  };
}

/** The buckets that may be shown, and the sum of their documents. */
interface Candidates {
  readonly candidates: readonly Candidate[];
  readonly docCount: number;
}

function* candidatesOf(
  own: Uint32Array,
  { cells, minDocCount, run, keys }: { cells: Cells; minDocCount: number; run: Run; keys: TermKeys },
): InSlices<Candidates> {
  const candidates: Candidate[] = [];
  let sum = 0;
  yield* inChunks(own.length, run.spend, (start, end) => {
    for (let at = start; at < end; at += 1) {
      const cell = own[at] as number;
      const docCount = cells.countOf(cell);
      if (docCount < minDocCount) continue;
      candidates.push({ key: cells.keyOf(cell), cell, docCount });
      sum += docCount;
    }
  });
  const emptyKeys = yield* keys.emptyKeys();
  if (emptyKeys.length > 0) {
    const used = new Set(candidates.map(({ key }) => key));
    yield* inChunks(emptyKeys.length, run.spend, (start, end) => {
      for (let at = start; at < end; at += 1) {
        const key = emptyKeys[at] as number;
        if (!used.has(key)) candidates.push({ key, cell: NO_CELL, docCount: 0 });
      }
    });
  }
  return { candidates, docCount: sum };
}

/** Compares two places in the candidates. */
function* comparison(
  candidates: readonly Candidate[],
  { order, keys, metricOf, run }: { order: Order; keys: TermKeys; metricOf: MetricOfCell; run: Run },
): InSlices<(one: number, other: number) => number> {
  const at = (place: number): Candidate => candidates[place] as Candidate;
  const sign = order.isAscending ? 1 : -1;
  const byKey = (one: number, other: number): number => keys.compareKeys(at(one).key, at(other).key);
  switch (order.by) {
    case "key":
      return (one, other) => sign * byKey(one, other);
    case "metric": {
      const metrics: Metric[] = [];
      yield* inChunks(candidates.length, run.spend, (start, end) => {
        for (let place = start; place < end; place += 1) {
          const { cell } = at(place);
          metrics.push(cell === NO_CELL ? null : metricOf(cell));
        }
      });
      return (one, other) =>
        compareMetrics(metrics[one] as Metric, metrics[other] as Metric, sign) || byKey(one, other);
    }
    case "count": {
      const byCount = (one: number, other: number): number => sign * (at(one).docCount - at(other).docCount);
      const ties = tiesOf(candidates, { byCount, tieKeyOf: keys.tieKeyOf });
      return ties === undefined
        ? byCount
        : (one, other) => byCount(one, other) || (ties[one] as number) - (ties[other] as number);
    }
  }
}

/** By place in the candidates: the place in the order of ties. Undefined: the order of the candidates. */
function tiesOf(
  candidates: readonly Candidate[],
  {
    byCount,
    tieKeyOf,
  }: { byCount: (one: number, other: number) => number; tieKeyOf: ((key: number) => number | bigint) | undefined },
): Uint32Array | undefined {
  if (tieKeyOf === undefined || candidates.length > SLOT_KEYS_MAX) return undefined;
  const sorted = candidates.map((_, place) => place).sort(byCount);
  const places = tiePlaces(sorted.map((place) => tieKeyOf((candidates[place] as Candidate).key)));
  const ties = new Uint32Array(candidates.length);
  sorted.forEach((place, index) => {
    ties[place] = places[index] as number;
  });
  return ties;
}

/** Buckets without a value come last both ways. */
function compareMetrics(one: Metric, other: Metric, sign: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return sign * compareValues(one, other);
}

function compareValues<Value extends number | bigint | Bytes>(one: Value, other: Value): number {
  return one < other ? -1 : Number(one > other);
}

type TermFilter = (word: Bytes, spend: Spend) => boolean;

/** `include` or `exclude`: a pattern of whole terms, or a list of terms. */
function parseTermFilter(parameters: AggregationParameters, name: Bytes): TermFilter | undefined {
  const node = parameters.node(name);
  if (node === undefined) return undefined;
  if (typeof node === "string") {
    const pattern = parsePattern(node, { parameters, name });
    return (word, spend) => matches(pattern, textFromBytes(word), { isWhole: true, spend });
  }
  if (!Array.isArray(node) || node.length > LISTED_TERMS_MAX || !node.every((each) => typeof each === "string"))
    throw parameters.invalid(name, `must be a pattern or an array of at most ${LISTED_TERMS_MAX} strings`);
  const words: ReadonlySet<JsonNode> = new Set(node);
  return (word) => words.has(word);
}

function parsePattern(text: Bytes, { parameters, name }: { parameters: AggregationParameters; name: Bytes }): Pattern {
  if (text.length > PATTERN_BYTES_MAX) throw parameters.invalid(name, `must be at most ${PATTERN_BYTES_MAX} bytes`);
  try {
    return compilePattern(textFromBytes(text));
  } catch (error) {
    if (!(error instanceof PatternFailure)) throw error;
    throw parameters.invalid(name, `is not a valid pattern: ${error.reason}`);
  }
}

/** Asks once for each key. */
function rememberedByKey(limit: number, ask: (key: number) => boolean): (key: number) => boolean {
  const answers = new Uint8Array(limit);
  return (key) => {
    const known = answers[key] as number;
    if (known !== 0) return known === 1;
    const answer = ask(key);
    answers[key] = answer ? 1 : 2;
    return answer;
  };
}
