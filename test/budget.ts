/**
 * The time limits and goals of the random suites: one table
 * for the whole product, so that `npm test` takes at most 300 s on two
 * quiet cores and `npm run proof` fifty minutes, whatever is added. A new suite
 * takes its time from the others, not from the total.
 *
 * Four sizes, chosen by `LARDER_TEST_SIZE` (`tools/run-tests.ts` and
 * `npm run long` set it): `ok` and `test` draw time, `proof` runs the counts
 * that were agreed, `long` runs one batch of a rotation that continues for hours.
 */
import { assert } from "../src/kernel/assert.ts";
import { clusterFiles } from "../tools/tests/processes.ts";
import type { SuiteSettingName } from "./harness/cluster/suite-setting.ts";

export interface Budget {
  readonly suite: string;
  /** The unit of the counts. */
  readonly unit: string;
  /** The test files that draw it, from the root of the repository. */
  readonly files: readonly string[];
  /** Time for one test of the suite in `npm test`, in ms. */
  readonly testMs: number;
  /** The count of `npm run proof`, regardless of time. */
  readonly proofCount: number;
  /** The final goal of the counts of `npm run long`. Absent: no goal was agreed. */
  readonly goal?: number;
  /** The suites draw nothing from here: `npm run long` runs the files whole on this server, and a proof as in `npm test`. */
  readonly setting?: SuiteSettingName;
}

export const budgets: readonly Budget[] = [
  {
    suite: "differential",
    unit: "commands for each family",
    files: ["test/differential/byte-strings.test.ts", "test/differential/collections.test.ts"],
    testMs: 220,
    proofCount: 400_000,
    goal: 20_000_000,
  },
  {
    suite: "full-disk-lives",
    unit: "lives of a database whose disk becomes full",
    files: ["test/simulation/store/full-disks.test.ts"],
    testMs: 250,
    proofCount: 300,
    goal: 30_000,
  },
  {
    suite: "log-store-schedules",
    unit: "schedules of sessions on the log store of a cluster",
    files: ["test/differential/cluster/log-store.test.ts"],
    testMs: 310,
    proofCount: 200,
    goal: 20_000,
  },
  {
    suite: "shipped-lives",
    unit: "lives of nodes that own a shard",
    files: ["test/simulation/cluster/shipped-lives.test.ts"],
    testMs: 430,
    proofCount: 500,
    goal: 50_000,
  },
  {
    suite: "standby-lives",
    unit: "lives of nodes that own a shard, which another node follows",
    files: ["test/simulation/cluster/shipped-lives.test.ts"],
    testMs: 310,
    proofCount: 300,
    goal: 30_000,
  },
  {
    suite: "object-lives",
    unit: "lives of nodes whose snapshots go to an object store",
    files: ["test/simulation/cluster/shipped-lives.test.ts"],
    testMs: 300,
    proofCount: 300,
    goal: 30_000,
  },
  {
    suite: "body-lives",
    unit: "lives of nodes that own a shard with bodies in its segments",
    files: ["test/simulation/cluster/shipped-lives.test.ts"],
    testMs: 190,
    proofCount: 300,
    goal: 30_000,
  },
  {
    suite: "linear-lives",
    unit: "lives of nodes that own a shard, whose clients must see one store",
    files: ["test/simulation/cluster/shipped-lives.test.ts"],
    testMs: 430,
    proofCount: 300,
    goal: 30_000,
  },
  {
    suite: "copy-lives",
    unit: "lives of a server whose data directory is copied to a store of objects",
    files: ["test/simulation/replication/copy-lives.test.ts"],
    testMs: 430,
    proofCount: 300,
    goal: 30_000,
  },
  {
    suite: "object-stores",
    unit: "times that each fault of the network comes at each request to an object store, and of the long cases of all stores",
    files: ["src/replication/objects/network-faults.test.ts", "src/replication/objects/object-store.test.ts"],
    testMs: 0,
    proofCount: 1,
  },
  {
    suite: "follow-lives",
    unit: "lives of a follower of a copy",
    files: ["test/simulation/replication/follow-lives.test.ts"],
    testMs: 250,
    proofCount: 1_000,
    goal: 50_000,
  },
  {
    suite: "cluster-nodes",
    unit: "simulated lives of clusters",
    files: ["test/simulation/cluster/nodes/nodes.test.ts"],
    testMs: 930,
    proofCount: 500,
    goal: 50_000,
  },
  {
    suite: "forwarding-lives",
    unit: "simulated lives of nodes that forward requests",
    files: ["test/simulation/cluster/forwarding/forwarding.test.ts"],
    testMs: 310,
    proofCount: 300,
    goal: 30_000,
  },
  {
    suite: "failovers",
    unit: "failovers of real nodes and of a real PostgreSQL",
    files: ["test/failover/failovers.test.ts"],
    testMs: 0,
    proofCount: 51,
    goal: 1_300,
  },
  {
    suite: "fronts",
    unit: "faults of real nodes that forward, and of their links",
    files: ["test/failover/fronts/fronts.test.ts"],
    testMs: 0,
    proofCount: 6,
    goal: 2_000,
  },
  {
    suite: "front-suites",
    unit: "runs of the suites of what clients see, through a node that owns nothing",
    get files() {
      return clusterFiles("three-front");
    },
    testMs: 0,
    proofCount: 1,
    goal: 100,
    setting: "three-front",
  },
  {
    suite: "rebuilt-states",
    unit: "commands for each family whose state is rebuilt",
    files: ["test/differential/byte-strings.test.ts", "test/differential/collections.test.ts"],
    testMs: 70,
    proofCount: 10_000,
  },
  {
    suite: "keyspace-events",
    unit: "commands whose events are compared, for each family",
    files: ["test/differential/keyspace-events.test.ts"],
    testMs: 70,
    proofCount: 50_000,
    goal: 20_000_000,
  },
  {
    suite: "scripts",
    unit: "commands about scripts and functions",
    files: ["test/differential/scripting.test.ts"],
    testMs: 220,
    proofCount: 200_000,
    goal: 20_000_000,
  },
  {
    suite: "waiting",
    unit: "commands of connections that wait",
    files: ["test/differential/waiting.test.ts"],
    testMs: 220,
    proofCount: 120_000,
    goal: 20_000_000,
  },
  {
    suite: "access",
    unit: "users whose rights are compared",
    files: ["test/differential/access.test.ts"],
    testMs: 220,
    proofCount: 5_000,
    goal: 100_000,
  },
  {
    suite: "sessions",
    unit: "commands of conversations in between each other",
    files: ["test/differential/sessions.test.ts"],
    testMs: 220,
    proofCount: 100_000,
    goal: 20_000_000,
  },
  {
    suite: "front-families",
    unit: "commands for each family, through a node that owns nothing",
    files: ["test/differential/through-front.test.ts"],
    testMs: 50,
    proofCount: 2_000,
    goal: 400_000,
  },
  {
    suite: "tracking",
    unit: "commands of connections that track keys",
    files: ["test/differential/tracking.test.ts"],
    testMs: 310,
    proofCount: 30_000,
    goal: 5_000_000,
  },
  {
    suite: "tracked-changes",
    unit: "commands whose changes are pushed, for each family",
    files: ["test/differential/tracked-changes.test.ts"],
    testMs: 60,
    proofCount: 20_000,
    goal: 5_000_000,
  },
  {
    suite: "hit-rate",
    unit: "reads of a cache for each policy",
    files: ["test/differential/maxmemory.test.ts"],
    testMs: 310,
    proofCount: 2_000_000,
  },
  {
    suite: "crash-states",
    unit: "simulated crash states",
    files: ["test/simulation/store/crash-states.test.ts"],
    testMs: 930,
    proofCount: 20_000,
    goal: 1_000_000,
  },
  {
    suite: "undone-units",
    unit: "transactions and scripts that are stopped and undone",
    files: ["test/simulation/store/undone-units.test.ts"],
    testMs: 620,
    proofCount: 2_000,
    goal: 1_000_000,
  },
  {
    suite: "search-programs",
    unit: "programs on a store with search indexes",
    files: ["test/simulation/search/search-programs.test.ts"],
    testMs: 500,
    proofCount: 600,
    goal: 50_000,
  },
  {
    suite: "search-brute-force",
    unit: "indexes that are compared with a search through all documents, of each kind",
    files: ["src/store/search/query/brute-force.test.ts"],
    testMs: 150,
    proofCount: 30,
    goal: 3_000,
  },
  {
    suite: "kept-bodies",
    unit: "simulated crashes with bodies on disk",
    files: ["test/simulation/bodies/kept-bodies.test.ts", "test/simulation/workflow/kept-runs.test.ts"],
    testMs: 620,
    proofCount: 10_000,
    goal: 1_000_000,
  },
  {
    suite: "kill-rounds",
    unit: "kill -9 rounds of the real program",
    files: ["test/simulation/kill/store/kill-rounds.test.ts"],
    testMs: 1_860,
    proofCount: 60,
    goal: 2_000,
  },
  {
    suite: "copy-kill-rounds",
    unit: "kill -9 rounds of the real program, each restored from its copy or promoted from a follower of it",
    files: ["test/simulation/kill/copy/copy-kill-rounds.test.ts"],
    testMs: 0,
    proofCount: 100,
    goal: 1_000,
  },
  {
    suite: "import-kill-rounds",
    unit: "imports of a live server whose source, target or import is killed midway",
    files: ["test/simulation/kill/import/import-kill-rounds.test.ts"],
    testMs: 0,
    proofCount: 3,
    goal: 100,
  },
  {
    suite: "messaging-simulation",
    unit: "simulated runs of messaging",
    files: ["test/simulation/messaging/messaging.test.ts"],
    testMs: 740,
    proofCount: 500,
    goal: 50_000,
  },
  {
    suite: "workflow-simulation",
    unit: "simulated lives of workflows",
    files: ["test/simulation/workflow/workflows.test.ts"],
    testMs: 620,
    proofCount: 1_200,
    goal: 50_000,
  },
  {
    suite: "message-kill-rounds",
    unit: "kill -9 rounds of messaging",
    files: ["test/simulation/kill/messaging/kill-rounds.test.ts"],
    testMs: 1_240,
    proofCount: 60,
    goal: 2_000,
  },
  {
    suite: "http-requests",
    unit: "streams of HTTP requests, read by Node and by us",
    files: ["test/fuzz/http-requests.test.ts"],
    testMs: 310,
    proofCount: 1_000_000,
    goal: 10_000_000,
  },
  {
    suite: "http-through-nginx",
    unit: "requests that nginx passes on to us",
    files: ["test/fuzz/http-through-nginx.test.ts"],
    testMs: 310,
    proofCount: 400_000,
    goal: 10_000_000,
  },
  {
    suite: "messaging-requests",
    unit: "requests to messaging",
    files: ["test/fuzz/messaging-requests.test.ts"],
    testMs: 310,
    proofCount: 500_000,
  },
  {
    suite: "hostile-destinations",
    unit: "calls of hostile destinations",
    files: ["test/fuzz/hostile-destinations.test.ts"],
    testMs: 310,
    proofCount: 25_000,
  },
  {
    suite: "outbound-answers",
    unit: "answers of destinations, read on the short way and by the HTTP client",
    files: ["test/fuzz/outbound-answers.test.ts"],
    testMs: 120,
    proofCount: 20_000,
    goal: 1_000_000,
  },
  {
    suite: "vector-filter",
    unit: "metadata filters and invalid texts",
    files: ["test/fuzz/vector-filter.test.ts"],
    testMs: 310,
    proofCount: 400_000,
  },
  {
    suite: "vector-metadata",
    unit: "histories of records and filters over them",
    files: ["test/fuzz/vector-metadata.test.ts"],
    testMs: 310,
    proofCount: 6_000,
  },
  {
    suite: "vector-programs",
    unit: "random programs on the vector index",
    files: ["test/simulation/vector/programs.test.ts"],
    testMs: 620,
    proofCount: 2_000,
    goal: 50_000,
  },
  {
    suite: "vector-large-programs",
    unit: "programs with long searches",
    files: ["test/simulation/vector/large-programs.test.ts"],
    testMs: 620,
    proofCount: 20,
  },
  {
    suite: "vector-threads",
    unit: "worlds of searches on threads",
    files: ["test/simulation/vector/thread-searches.test.ts"],
    testMs: 620,
    proofCount: 400,
  },
  {
    suite: "vector-parts",
    unit: "worlds of graphs in parts",
    files: ["test/simulation/vector/graph-parts.test.ts"],
    testMs: 620,
    proofCount: 100,
  },
  {
    suite: "row-files",
    unit: "worlds of rows in files, with crashes and damage",
    files: ["test/simulation/vector/row-files.test.ts"],
    testMs: 310,
    proofCount: 300,
  },
  {
    suite: "vector-graph-programs",
    unit: "programs with searches in graphs",
    files: ["test/simulation/vector/large-programs.test.ts"],
    testMs: 620,
    proofCount: 15,
  },
  {
    suite: "float32-text",
    unit: "floats printed and numbers read",
    files: ["test/fuzz/float32-text.test.ts"],
    testMs: 310,
    proofCount: 4_000_000,
  },
  {
    suite: "vector-body",
    unit: "bodies of the vector index",
    files: ["test/fuzz/vector-body.test.ts"],
    testMs: 310,
    proofCount: 1_000_000,
  },
  {
    suite: "vector-crash-states",
    unit: "simulated crash states of vectors",
    files: ["test/simulation/vector/crash-states.test.ts"],
    testMs: 620,
    proofCount: 10_000,
    goal: 1_000_000,
  },
  {
    suite: "vector-kill-rounds",
    unit: "kill -9 rounds of the vector index",
    files: ["test/simulation/kill/vector/kill-rounds.test.ts"],
    testMs: 930,
    proofCount: 25,
    goal: 2_000,
  },
  {
    suite: "json-paths",
    unit: "JSON paths and invalid texts",
    files: ["test/fuzz/json-paths.test.ts"],
    testMs: 250,
    proofCount: 400_000,
  },
  {
    suite: "json-documents",
    unit: "JSON commands",
    files: ["test/fuzz/json-documents.test.ts"],
    testMs: 250,
    proofCount: 500_000,
  },
  {
    suite: "json-commands",
    unit: "JSON commands beside a model",
    files: ["test/fuzz/json-commands.test.ts"],
    testMs: 310,
    proofCount: 1_000_000,
  },
  {
    suite: "json-numbers",
    unit: "sums and products in JSON documents",
    files: ["test/fuzz/json-numbers.test.ts"],
    testMs: 190,
    proofCount: 500_000,
  },
  {
    suite: "backup-files",
    unit: "damaged backup files",
    files: ["src/persistence/archive/archive.test.ts"],
    testMs: 310,
    proofCount: 20_000,
  },
  {
    suite: "api-requests",
    unit: "requests made from the OpenAPI documents",
    files: ["test/fuzz/api/api-requests.test.ts"],
    testMs: 430,
    proofCount: 20_000,
  },
  {
    suite: "resp-requests",
    unit: "streams of RESP requests",
    files: ["test/fuzz/resp-requests.test.ts"],
    testMs: 250,
    proofCount: 150_000,
  },
  {
    suite: "soak",
    unit: "minutes of all areas under load, with kills",
    files: ["test/simulation/soak/soak.test.ts"],
    testMs: 930,
    proofCount: 3,
    goal: 60,
  },
  {
    suite: "rdb-files",
    unit: "damaged files of Redis",
    files: ["test/fuzz/rdb-files.test.ts"],
    testMs: 190,
    proofCount: 100_000,
  },
  {
    suite: "store-escapes",
    unit: "times that each line goes in every way with every spelling",
    files: ["test/conformance/store-escapes.test.ts"],
    testMs: 740,
    proofCount: 1,
  },
  {
    suite: "isolation",
    unit: "pairs of programs side by side in two databases",
    files: ["src/store/isolation.test.ts"],
    testMs: 500,
    proofCount: 400,
  },
  {
    suite: "memory-figures",
    unit: "kinds of content whose memory is measured",
    files: ["src/store/memory/memory-accuracy.test.ts"],
    testMs: 500,
    proofCount: 25,
  },
  {
    suite: "command-keys",
    unit: "programs of each family whose keys are watched",
    files: ["src/store/commands/command-keys.test.ts"],
    testMs: 50,
    proofCount: 120,
  },
  {
    suite: "row-codes",
    unit: "searches over rows with codes, for each size of row",
    files: ["src/vector/rows/row-codes.test.ts"],
    testMs: 60,
    proofCount: 200,
  },
  {
    suite: "record-tables",
    unit: "changes of ids and of texts",
    files: ["src/vector/records/record-tables.test.ts"],
    testMs: 60,
    proofCount: 300_000,
  },
];

/**
 * The maximum time of all suites together in `npm test`: a twentieth of the 300 s of two cores. Some suites
 * have several tests. The rest is for tests that are not random.
 * New suites take at most 4 s for each subject below, from existing rows.
 */
export const TEST_MS_MAX = 30_000;

export interface ProofCeiling {
  readonly subject: string;
  readonly minutesMax: number;
  /** Its suites are in the table above. Absent: reserved time. */
  readonly isThere?: true;
}

/** Minutes of `npm run proof` on two quiet cores, by subject: existing suites, and reserves for planned ones. */
export const proofCeilings: readonly ProofCeiling[] = [
  { subject: "store, vector index, messaging and workflows on one machine", minutesMax: 22, isThere: true },
  { subject: "names, packages and the command line", minutesMax: 1, isThere: true },
  { subject: "the newest commands of the store", minutesMax: 2, isThere: true },
  { subject: "the HTTP listener", minutesMax: 2, isThere: true },
  { subject: "recall of the vector graph", minutesMax: 3, isThere: true },
  { subject: "a journal in PostgreSQL", minutesMax: 4, isThere: true },
  { subject: "the cluster", minutesMax: 9 },
  { subject: "replication to object storage", minutesMax: 3 },
  { subject: "search in the store", minutesMax: 2, isThere: true },
  { subject: "the console", minutesMax: 1 },
  { subject: "adoption by a team", minutesMax: 1 },
];

/** The maximum time of `npm run proof` in total. */
export const PROOF_MINUTES_MAX = 50;

/** The share of a proof in one batch of `npm run long`: batches then take seconds, at most some minutes. */
const BATCH_SHARE = 1 / 4;

/** The current allowance of a suite: a time or a count. */
export type Allowance = { readonly budgetMs: number } | { readonly count: number };

export function allowanceOf(suite: string): Allowance {
  const budget = budgets.find((row) => row.suite === suite);
  assert(budget !== undefined, `suite ${suite} has a row in the table of budgets`);
  switch (process.env["LARDER_TEST_SIZE"]) {
    case "proof":
      return { count: budget.proofCount };
    case "long":
      return { count: batchCountOf(budget) };
    default:
      return { budgetMs: budget.testMs };
  }
}

/** Whether the run has the counts that were agreed: for checks that try everything there, and a part elsewhere. */
export function isProof(): boolean {
  return process.env["LARDER_TEST_SIZE"] === "proof";
}

/** Whether the run is `npm test`: for tables of checks of which it draws a part, because the proof has all. */
export function drawsLess(): boolean {
  return process.env["LARDER_TEST_SIZE"] === "test";
}

/** Whether an allowance that begins now is spent after a count of cases. It is enough for at least one. */
export function spending(allowance: Allowance): (count: number) => boolean {
  if ("count" in allowance) return (count) => count >= allowance.count;
  const endMs = performance.now() + allowance.budgetMs;
  return (count) => count > 0 && performance.now() >= endMs;
}

/** The count of one batch of `npm run long`. */
export function batchCountOf({ proofCount }: Budget): number {
  return Math.ceil(proofCount * BATCH_SHARE);
}
