/**
 * How long the random suites may take: one table for the whole product, so that
 * `npm test` stays below five minutes on two cores however much is added. A new
 * suite takes its time from the others, not from the clock on the wall.
 *
 * Three sizes, chosen by `LARDER_TEST_SIZE` (`tools/run-tests.ts` sets it):
 * `ok` and `test` draw time, `proof` runs the counts that were agreed.
 */
import { assert } from "../src/kernel/assert.ts";

export interface Budget {
  readonly suite: string;
  /** What is counted. */
  readonly unit: string;
  /** Time for one test of the suite in `npm test`, in ms. */
  readonly testMs: number;
  /** What `npm run proof` runs, whatever it takes. */
  readonly proofCount: number;
}

export const budgets: readonly Budget[] = [
  { suite: "differential", unit: "commands for each family", testMs: 2_000, proofCount: 1_000_000 },
  {
    suite: "keyspace-events",
    unit: "commands whose events are compared, for each family",
    testMs: 300,
    proofCount: 100_000,
  },
  { suite: "scripts", unit: "commands about scripts and functions", testMs: 2_000, proofCount: 200_000 },
  { suite: "waiting", unit: "commands of connections that wait", testMs: 1_500, proofCount: 200_000 },
  { suite: "access", unit: "users whose rights are compared", testMs: 1_500, proofCount: 5_000 },
  { suite: "sessions", unit: "commands of conversations in between each other", testMs: 2_000, proofCount: 200_000 },
  { suite: "hit-rate", unit: "reads of a cache for each policy", testMs: 1_000, proofCount: 2_000_000 },
  { suite: "crash-states", unit: "simulated crash states", testMs: 7_000, proofCount: 20_000 },
  { suite: "kept-bodies", unit: "simulated crashes with bodies on disk", testMs: 2_500, proofCount: 10_000 },
  { suite: "kill-rounds", unit: "kill -9 rounds of the real program", testMs: 9_000, proofCount: 100 },
  { suite: "messaging-simulation", unit: "simulated runs of messaging", testMs: 4_000, proofCount: 500 },
  { suite: "workflow-simulation", unit: "simulated lives of workflows", testMs: 2_500, proofCount: 2_000 },
  { suite: "message-kill-rounds", unit: "kill -9 rounds of messaging", testMs: 5_000, proofCount: 100 },
  { suite: "messaging-requests", unit: "requests to messaging", testMs: 1_500, proofCount: 500_000 },
  { suite: "hostile-destinations", unit: "calls of hostile destinations", testMs: 2_000, proofCount: 40_000 },
  { suite: "vector-filter", unit: "metadata filters and texts that are none", testMs: 1_500, proofCount: 400_000 },
  { suite: "vector-metadata", unit: "histories of records and filters over them", testMs: 1_500, proofCount: 20_000 },
  { suite: "vector-programs", unit: "random programs on the vector index", testMs: 4_000, proofCount: 2_000 },
  { suite: "vector-large-programs", unit: "programs with long searches", testMs: 1_000, proofCount: 40 },
  { suite: "vector-graph-programs", unit: "programs with searches in graphs", testMs: 1_000, proofCount: 15 },
  { suite: "float32-text", unit: "floats printed and numbers read", testMs: 1_500, proofCount: 4_000_000 },
  { suite: "vector-body", unit: "bodies of the vector index", testMs: 1_500, proofCount: 1_000_000 },
  { suite: "vector-crash-states", unit: "simulated crash states of vectors", testMs: 3_000, proofCount: 10_000 },
  { suite: "vector-kill-rounds", unit: "kill -9 rounds of the vector index", testMs: 6_000, proofCount: 40 },
  { suite: "json-paths", unit: "JSON paths and texts that are none", testMs: 750, proofCount: 400_000 },
  { suite: "json-documents", unit: "JSON commands", testMs: 750, proofCount: 500_000 },
  { suite: "json-commands", unit: "JSON commands beside a model", testMs: 1_000, proofCount: 1_000_000 },
  { suite: "json-numbers", unit: "sums and products in JSON documents", testMs: 500, proofCount: 500_000 },
  { suite: "backup-files", unit: "damaged backup files", testMs: 750, proofCount: 20_000 },
  { suite: "api-requests", unit: "requests made from the OpenAPI documents", testMs: 2_000, proofCount: 20_000 },
  { suite: "resp-requests", unit: "streams of RESP requests", testMs: 750, proofCount: 300_000 },
  { suite: "soak", unit: "minutes of all areas under load, with kills", testMs: 2_000, proofCount: 5 },
  { suite: "rdb-files", unit: "damaged files of Redis", testMs: 500, proofCount: 100_000 },
];

/** The most that the suites together may draw in `npm test`; the rest of five minutes is for tests that are not random. */
export const TEST_MS_MAX = 90_000;

/** How much a suite may do now: a time or a count. */
export type Allowance = { readonly budgetMs: number } | { readonly count: number };

export function allowanceOf(suite: string): Allowance {
  const budget = budgets.find((row) => row.suite === suite);
  assert(budget !== undefined, `suite ${suite} has a row in the table of budgets`);
  return process.env["LARDER_TEST_SIZE"] === "proof" ? { count: budget.proofCount } : { budgetMs: budget.testMs };
}
