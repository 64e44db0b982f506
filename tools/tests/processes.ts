/**
 * Which test files share a process, and in which order the processes start.
 *
 * (1) Every file runs exactly once, in its own process or in a shard, and in a
 *     proof some suites again for each setting of a cluster.
 * (2) The processes that may take long start first. The shards start last, in
 *     the order of their groups: those at the end are short, so that no
 *     processor is idle then.
 * (3) What measures how long a client waits runs after everything else, alone: beside
 *     another suite it would measure that as well.
 */
import { globSync } from "node:fs";
import { matchesGlob } from "node:path";
import type { SuiteSettingName } from "../../test/harness/cluster/suite-setting.ts";

/** Test files of shared folders that need their own process, with the reason. */
export const ownProcess: Readonly<Record<string, string>> = {
  "test/assembly.test.ts": "the compiler of AssemblyScript adds globals",
  "test/console/log-in.test.ts": "the driver of the browser adds globals",
  "test/console/main-paths.test.ts": "the driver of the browser adds globals",
  "test/console/pages.test.ts": "the driver of the browser adds globals",
};

interface Group {
  readonly name: string;
  /** A glob. The first group with a glob that matches a file has the file. */
  readonly files: string;
  /** How many files share a process, and so roughly how long it takes. */
  readonly filesMax: number;
  /** The same in a proof, where a random suite takes minutes. Absent: as in the other sizes. */
  readonly proofFilesMax?: number;
}

/** The processes of a proof differ from those of the other sizes. */
export interface ProcessOptions {
  readonly isProof: boolean;
}

/** In the order in which their processes start. */
const groups: readonly Group[] = [
  // Tests of the whole program start programs. Those that start nodes of clusters wait for them longest.
  { name: "nodes", files: "test/program/cluster/**", filesMax: 2, proofFilesMax: 1 },
  { name: "starts", files: "test/program/start-and-stop.test.ts", filesMax: 1 },
  { name: "program", files: "test/program/**", filesMax: 6 },
  // Each file starts a browser.
  { name: "console", files: "test/console/**", filesMax: 3 },
  // Started last, one of them would leave a processor idle for long.
  {
    name: "longest",
    files: "test/{differential/{collections,byte-strings},fuzz/vector-metadata,simulation/soak/soak}.test.ts",
    filesMax: 2,
    proofFilesMax: 1,
  },
  // Only in a proof: its servers alone start in ten seconds. It mostly waits.
  { name: "failovers", files: "test/failover/**", filesMax: 1 },
  { name: "object-stores", files: "test/object-stores/**", filesMax: 1 },
  // Random suites and kills take the time of their budget, in a proof for minutes and with much memory.
  { name: "kills", files: "test/simulation/kill/**", filesMax: 3, proofFilesMax: 1 },
  { name: "planted", files: "test/simulation/planted/**", filesMax: 1 },
  { name: "simulation", files: "test/simulation/**", filesMax: 6, proofFilesMax: 1 },
  {
    name: "protocol",
    files: "test/differential/{differential,double-text,redis-process,resp-protocol,resp3-replies,run}.test.ts",
    filesMax: 12,
  },
  { name: "differential", files: "test/differential/**", filesMax: 6, proofFilesMax: 1 },
  { name: "fuzz", files: "test/fuzz/**", filesMax: 8, proofFilesMax: 1 },
  { name: "sdk", files: "test/sdk/**", filesMax: 24 },
  { name: "conformance", files: "test/conformance/**", filesMax: 20 },
  { name: "house", files: "test/**", filesMax: 24 },
  { name: "start-up", files: "src/{program/**,*}", filesMax: 60 },
  { name: "vector", files: "src/vector/**", filesMax: 30 },
  { name: "store", files: "src/store/**", filesMax: 30 },
  { name: "edge", files: "src/edge/**", filesMax: 70 },
  { name: "persistence", files: "src/persistence/**", filesMax: 35 },
  { name: "cluster", files: "src/cluster/**", filesMax: 35 },
  { name: "replication", files: "src/replication/**", filesMax: 35 },
  { name: "testing", files: "src/testing/**", filesMax: 35 },
  { name: "transfer", files: "src/transfer/**", filesMax: 35 },
  { name: "messaging", files: "src/messaging/**", filesMax: 40 },
  { name: "kernel", files: "src/kernel/**", filesMax: 35 },
];

/**
 * The files of a proof that take minutes, the longest first. Each of them has its own process. In a proof they start in this order,
 * before all others.
 */
export const longest: readonly string[] = [
  "test/failover/failovers.test.ts",
  "test/differential/collections.test.ts",
  "test/differential/byte-strings.test.ts",
  "test/simulation/planted/planted-bugs.test.ts",
  "test/program/cluster/moving-tenants.test.ts",
  "test/simulation/kill/vector/kill-rounds.test.ts",
  "test/simulation/vector/thread-searches.test.ts",
  "test/simulation/vector/graph-parts.test.ts",
  "test/simulation/soak/soak.test.ts",
  "test/simulation/kill/store/kill-rounds.test.ts",
  "test/simulation/kill/copy/copy-kill-rounds.test.ts",
  "test/simulation/cluster/nodes/nodes.test.ts",
  "test/differential/tracked-changes.test.ts",
  "test/simulation/vector/large-programs.test.ts",
  "test/fuzz/http-requests.test.ts",
  "test/fuzz/messaging-requests.test.ts",
  "test/simulation/vector/programs.test.ts",
  "test/fuzz/vector-metadata.test.ts",
  "test/fuzz/http-through-nginx.test.ts",
  "test/differential/maxmemory.test.ts",
  "test/simulation/workflow/workflows.test.ts",
  "test/differential/keyspace-events.test.ts",
];

/** The files of a proof for (3): planned moves on real nodes took 1.5 s alone, and up to 5.4 s beside another cluster. */
export const measuring: readonly string[] = ["test/failover/planned-moves.test.ts"];

/** One process of a run. */
export interface TestProcess {
  /** `store-2`, or the path of its only file. */
  readonly name: string;
  /** From the root of the repository. More than one: a shard. */
  readonly files: readonly string[];
  /** The server that the suites test; absent: a single one. */
  readonly setting?: SuiteSettingName;
  /** keeps (3) */
  readonly isAlone?: boolean;
}

interface ClusterSuite extends Pick<Group, "name" | "files" | "filesMax"> {
  readonly settings: readonly SuiteSettingName[];
}

/** The only node, which trusts no clock; the owner of three, with leases; and one of three that owns nothing. */
const ALL = ["one-confirm", "three-lease", "three-front"] as const;
const FRONT = ["three-front"] as const;

/**
 * The suites of what clients see, and kills with a restart in place, which a proof runs on a node of a cluster too. In the order
 * in which their processes start.
 */
const clusterSuites: readonly ClusterSuite[] = [
  // Beside others, one of them would take over meanwhile (`test/failover/`).
  {
    name: "kills",
    files: "test/simulation/kill/**/kill-rounds.test.ts",
    filesMax: 3,
    settings: ["one-confirm"],
  },
  { name: "sdk", files: "test/sdk/**/*.test.ts", filesMax: 24, settings: ALL },
  {
    name: "conformance",
    files: "test/conformance/{http-hardening,trusted-proxies,store-*,vector-*,messaging-*,workflow-*}.test.ts",
    filesMax: 20,
    settings: ALL,
  },
  // What a front reads before it forwards: framing of HTTP, and sessions of RESP beside those of redis-server.
  {
    name: "wire",
    files: "test/{conformance/http-smuggling,differential/{sessions,tracking}}.test.ts",
    filesMax: 3,
    settings: FRONT,
  },
];

/** Files of the suites of what clients see that have no server which could be a node or behind one, with the reason. */
export const singleOnly: Readonly<Record<string, string>> = {
  "test/conformance/json-depth.test.ts": "calls the areas without a connection",
  "test/conformance/query-parameters.test.ts": "calls the areas without a connection",
  "test/conformance/request-bodies.test.ts": "calls the areas without a connection",
  "test/conformance/openapi.test.ts": "starts development servers, which print the documents of the program",
  "test/sdk/forms.test.ts": "starts development servers",
  "test/sdk/pages.test.ts": "starts a development server, as the pages say",
  "test/sdk/ratelimit.test.ts": "its clock stands still for the whole process, and so would the lease",
};

/** The processes of the suites that a proof runs on a cluster, in the order of their start. */
export function clusterProcesses(): TestProcess[] {
  return clusterSuites.flatMap(({ name, files: pattern, filesMax, settings }) => {
    const files = globSync(pattern)
      .filter((file) => !Object.hasOwn(singleOnly, file))
      .sort();
    return settings.flatMap((setting) =>
      shardsOf({ name: `${setting}-${name}`, filesMax }, files).map((one) => ({ ...one, setting })),
    );
  });
}

/** The files that a proof runs with a setting of a cluster. */
export function clusterFiles(setting: SuiteSettingName): readonly string[] {
  return clusterProcesses().flatMap((one) => (one.setting === setting ? one.files : []));
}

/** The name of a file of a process in the results of a run. */
export function nameOf(file: string, { setting }: Pick<TestProcess, "setting">): string {
  return setting === undefined ? file : `${file} (${setting})`;
}

/** The processes for the test files that one of `patterns` matches, in the order of their start. */
export function processesOf(patterns: readonly string[], { isProof }: ProcessOptions): TestProcess[] {
  const files = [...new Set(globSync([...patterns]))].sort();
  const ofGroup = Map.groupBy(files, groupOf);
  const alone: TestProcess[] = [];
  const shards: TestProcess[] = [];
  // Keeps (2).
  for (const group of groups) {
    const filesMax = isProof ? (group.proofFilesMax ?? group.filesMax) : group.filesMax;
    const hasOwnProcess = (file: string): boolean => filesMax === 1 || Object.hasOwn(ownProcess, file);
    const [own = [], shared = []] = split(ofGroup.get(group) ?? [], hasOwnProcess);
    alone.push(...own.map((file) => ({ name: file, files: [file] })));
    shards.push(...shardsOf({ name: group.name, filesMax }, shared));
  }
  if (!isProof) return [...alone, ...shards];
  alone.sort((one, other) => rankOf(one) - rankOf(other));
  return [...alone.map((one) => (measuring.includes(one.name) ? { ...one, isAlone: true } : one)), ...shards];
}

function rankOf({ name }: TestProcess): number {
  const rank = longest.indexOf(name);
  return rank < 0 ? longest.length : rank;
}

function groupOf(file: string): Group {
  const group = groups.find((candidate) => matchesGlob(file, candidate.files));
  if (group === undefined) throw new Error(`${file} is in none of the groups of tools/tests/processes.ts`);
  return group;
}

function split(files: readonly string[], isFirst: (file: string) => boolean): [string[], string[]] {
  return [files.filter(isFirst), files.filter((file) => !isFirst(file))];
}

/** Neighbours share a process, because they import the same sources. The shards of a group are of one size. */
function shardsOf({ name, filesMax }: Pick<Group, "name" | "filesMax">, files: readonly string[]): TestProcess[] {
  const count = Math.ceil(files.length / filesMax);
  const size = Math.ceil(files.length / count);
  return Array.from({ length: count }, (_, index) => ({
    name: `${name}-${index + 1}`,
    files: files.slice(index * size, (index + 1) * size),
  }));
}
