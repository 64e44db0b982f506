/** What all operators with buckets share: the chosen buckets of each owner, and the sub-aggregations in them. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { map, type Reply } from "../../reply/reply.ts";
import type { InSlices } from "../slices.ts";
import { collectCells, type Keys, type Pairs } from "./keys.ts";
import type { Cells } from "./ordinals.ts";
import {
  type Aggregation,
  type Group,
  type Members,
  type Metric,
  type Outcome,
  type Plan,
  type Run,
  resultOf,
} from "./plan.ts";

/** To make a bucket, and the result of each aggregation in it. */
const REPLY_STEPS = 30;

/** The cell of a bucket that no document is in. */
export const NO_CELL = -1;

/** A bucket of an answer. */
export interface Bucket {
  readonly cell: number;
  /** Its name in a keyed answer. */
  readonly name: Bytes;
  /** What it says before its sub-aggregations: key, docCount, … */
  readonly members: Members;
}

/** The buckets of one owner, and the members after them. */
export interface Chosen {
  readonly buckets: readonly Bucket[];
  readonly after?: Members;
}

/** One run of an operator: its keys, and how it makes buckets of cells. */
export interface Bucketing {
  readonly keys: Keys;
  /** Chooses and orders the buckets of an owner, whose cells are in the order of their first occurrence. */
  readonly choose: (own: Uint32Array, cells: Cells, metricOf: MetricOfCell) => InSlices<Chosen>;
}

/** A metric of the sub-aggregation that orders the buckets. */
export type MetricOfCell = (cell: number) => Metric;

/** The metric that orders buckets. */
export interface MetricOrder {
  readonly aggregation: Aggregation;
  readonly metric: Bytes;
}

export interface BucketOptions {
  readonly isKeyed: boolean;
  readonly subAggregations: readonly Aggregation[];
  /** Undefined: no sub-aggregation orders the buckets. */
  readonly order?: MetricOrder | undefined;
}

/** A plan with buckets. `begin` makes the keys for one run. */
export function planBuckets(begin: (run: Run) => Bucketing, options: BucketOptions): Plan {
  return { run: (group, run) => runBuckets(begin(run), { group, run, options }) };
}

interface Context {
  readonly group: Group;
  readonly run: Run;
  readonly options: BucketOptions;
}

function* runBuckets({ keys, choose }: Bucketing, { group, run, options }: Context): InSlices<Outcome> {
  const { isKeyed, subAggregations, order } = options;
  const { cells, pairs } = yield* collectCells(group, run, { keys, keepsPairs: subAggregations.length > 0 });
  const ordering = order === undefined ? undefined : yield* order.aggregation.plan.run(allCells(cells, pairs), run);
  const metricOf: MetricOfCell = (cell) => ordering?.metricOf?.(cell, order?.metric ?? "") ?? null;

  const cellsOf = cells.byOwner(group.ownerCount);
  const chosen: Chosen[] = [];
  for (let owner = 0; owner < group.ownerCount; owner += 1) {
    const choice = yield* choose(cellsOf(owner), cells, metricOf);
    // Those of the empty owner are counted where they are shown.
    if (owner !== group.emptyOwner) run.countBuckets(choice.buckets.length);
    chosen.push(choice);
  }

  const { below, ownerOf } = yield* keptCells({ chosen, cells, pairs, run });
  const outcomes: ResultOfCells[] = [];
  for (const aggregation of subAggregations) {
    const { alias } = aggregation;
    if (ordering !== undefined && aggregation === order?.aggregation)
      outcomes.push({ alias, outcome: ordering, ownerOf: sameCell, emptyOwner: cells.count });
    else {
      const outcome = yield* aggregation.plan.run(below, run);
      outcomes.push({ alias, outcome, ownerOf, emptyOwner: below.emptyOwner });
    }
  }

  const replySteps = REPLY_STEPS * (1 + outcomes.length);
  const replyOf = function* ({ cell, members }: Bucket): InSlices<Reply> {
    if (run.spend(replySteps)) yield;
    const results: Members[number][] = [...members];
    for (const { alias, outcome, ownerOf, emptyOwner } of outcomes) {
      const owner = cell === NO_CELL ? (emptyOwner as number) : ownerOf(cell);
      results.push([alias, "bucketsOf" in outcome ? yield* resultOf(outcome, owner) : map(outcome.membersOf(owner))]);
    }
    return map(results);
  };

  return {
    bucketsOf: function* (owner) {
      const { buckets, after } = chosen[owner] as Chosen;
      if (owner === group.emptyOwner) run.countBuckets(buckets.length);
      const replies: Members[number][] = [];
      for (const bucket of buckets) replies.push([bucket.name, yield* replyOf(bucket)]);
      return [["buckets", isKeyed ? map(replies) : replies.map(([, reply]) => reply)], ...(after ?? [])];
    },
  };
}

/** The results of a sub-aggregation, by the cells of the buckets. */
interface ResultOfCells {
  readonly alias: Bytes;
  readonly outcome: Outcome;
  readonly ownerOf: (cell: number) => number;
  readonly emptyOwner: number | undefined;
}

const sameCell = (cell: number): number => cell;

/** The group of all cells, for a sub-aggregation that orders them. */
function allCells(cells: Cells, { documents, cells: owners }: Pairs): Group {
  return { documents, owners, ownerCount: cells.count + 1, emptyOwner: cells.count };
}

/** The group of the chosen cells, and the owner in it of each. Changes the pairs. */
function* keptCells({
  chosen,
  cells,
  pairs,
  run,
}: {
  chosen: readonly Chosen[];
  cells: Cells;
  pairs: Pairs;
  run: Run;
}): InSlices<{ below: Group; ownerOf: (cell: number) => number }> {
  /** By cell: its owner plus one; 0: it was not chosen. */
  const owners = new Uint32Array(cells.count);
  let keptCount = 0;
  for (const { buckets } of chosen)
    for (const { cell } of buckets) {
      if (cell === NO_CELL) continue;
      keptCount += 1;
      owners[cell] = keptCount;
    }
  if (keptCount === cells.count) return { below: allCells(cells, pairs), ownerOf: sameCell };
  yield* pairs.keep(owners, run.spend);
  return {
    below: { documents: pairs.documents, owners: pairs.cells, ownerCount: keptCount + 1, emptyOwner: keptCount },
    ownerOf: (cell) => (owners[cell] as number) - 1,
  };
}
