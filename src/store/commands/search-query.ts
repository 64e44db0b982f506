/** SEARCH.QUERY, SEARCH.COUNT and SEARCH.AGGREGATE. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { noPermissionFor } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { nilArray, type Reply } from "../reply/reply.ts";
import { aggregate } from "../search/aggregation/aggregate.ts";
import type { Aggregations } from "../search/aggregation/contract.ts";
import { parseAggregations } from "../search/aggregation/parse.ts";
import { compileTokenPattern } from "../search/index/token-pattern.ts";
import { indexRebuilding } from "../search/index-errors.ts";
import type { Filter, Ranking } from "../search/query/contract.ts";
import { makeFilterParser } from "../search/query/filter-parser.ts";
import { readQueryOptions } from "../search/query/options.ts";
import { countMatches, findHits, matchingDocuments } from "../search/query/search.ts";
import { contentInUnit } from "../search/search-errors.ts";
import type { InSlices, SearchSteps } from "../search/slices.ts";
import { analyzerFor } from "../search/text/analyzer.ts";
import type { LiveIndex } from "../search/upkeep/live-index.ts";
import { valueBytesOf } from "../values/table.ts";
import { contentPrinter } from "./search-content.ts";

const parseFilter = makeFilterParser({ analyzerFor, compilePattern: compileTokenPattern });

/** Steps for each hit that is printed, and for each byte of it. */
const STEPS_OF_A_HIT = 50;
const NO_SUCH_INDEX = -1;

export function queryDocuments(call: Call): Reply {
  const live = findSearched(call);
  if (live === undefined) return nilArray;
  const { keyspace, arg } = call;
  const { definition } = live.value;
  const options = readQueryOptions(call.argsFrom(3), definition);
  const { limit, offset, ranking, isWithoutContent } = options;
  if (!isWithoutContent && call.isPartOfUnit) throw contentInUnit;
  const filter = parseFilter(arg(2), definition);
  const print = isWithoutContent ? undefined : contentPrinter({ definition, options, filter, nowMs: call.nowMs });
  const query: Query = { live, filter, find: { ranking, offset, limit }, keyspace, print };
  return searched(call, live, (steps) => runQuery(query, steps));
}

interface Query {
  readonly live: LiveIndex;
  readonly filter: Filter;
  readonly find: { readonly ranking: Ranking; readonly offset: number; readonly limit: number };
  readonly keyspace: Keyspace;
  /** Undefined: hits are printed without content. */
  readonly print: ReturnType<typeof contentPrinter> | undefined;
}

// Not a closure: V8 makes a map for the generators of each function, so one in each call would cost two microseconds.
function* runQuery({ live, filter, find, keyspace, print }: Query, steps: SearchSteps): InSlices<Reply> {
  const { ranking, offset, limit } = find;
  const hits = yield* findHits(live.index, filter, { ranking, offset, limit, spend: steps.spend });
  const budget = new ReplyBudget();
  const replies: Reply[] = [];
  for (const { document, score } of hits) {
    const key = live.index.keyOf(document);
    budget.take(key.length + score.length);
    const scoreReply: Reply = { kind: "double", value: Number(score), text: score };
    if (print === undefined) {
      replies.push([key, scoreReply]);
      continue;
    }
    const value = keyspace.find(key);
    if (value === undefined) continue;
    replies.push([key, scoreReply, print(value, budget)]);
    if (steps.spendBeside(STEPS_OF_A_HIT + valueBytesOf(value))) yield;
  }
  return replies;
}

export function countDocuments(call: Call): Reply {
  const live = findSearched(call);
  if (live === undefined) return NO_SUCH_INDEX;
  const filter = parseFilter(call.arg(2), live.value.definition);
  return searched(call, live, ({ spend }) => countMatches(live.index, filter, spend));
}

export function aggregateDocuments(call: Call): Reply {
  const live = findSearched(call);
  if (live === undefined) return nilArray;
  const { definition } = live.value;
  const filter = parseFilter(call.arg(2), definition);
  const aggregations = parseAggregations(call.arg(3), definition);
  return searched(call, live, (steps) => runAggregations({ live, filter, aggregations }, steps));
}

interface AggregationQuery {
  readonly live: LiveIndex;
  readonly filter: Filter;
  readonly aggregations: Aggregations;
}

function* runAggregations({ live, filter, aggregations }: AggregationQuery, { spend }: SearchSteps): InSlices<Reply> {
  const documents = yield* matchingDocuments(live.index, filter, spend);
  return yield* aggregate(live.index, documents, { aggregations, spend });
}

type Search = (steps: SearchSteps) => InSlices<Reply>;

/** The reply of a search, in slices, once its index is right. */
function searched(call: Call, live: LiveIndex, search: Search): Reply {
  const { sliced } = call.database;
  return sliced.run(call, live.mustPrepare ? (steps) => preparedSearch(live, search, steps) : search);
}

function* preparedSearch(live: LiveIndex, search: Search, steps: SearchSteps): InSlices<Reply> {
  yield* live.prepare(steps.spendBeside);
  return yield* search(steps);
}

/** The index that a command searches, or undefined if it does not exist. Throws if the caller may not read its keys. */
function findSearched(call: Call): LiveIndex | undefined {
  const name: Bytes = call.arg(1);
  const found = call.database.search.find(name);
  if (found === undefined) return undefined;
  const { live } = found;
  if (!call.caller.user.mayReadPrefixes(call.command, call.argsFrom(0), live.value.definition.prefixes))
    throw noPermissionFor("key", name);
  // Outside of units the request has waited (session/request-waits.ts).
  if (live.isRebuilding) throw indexRebuilding(found.name);
  return live;
}
