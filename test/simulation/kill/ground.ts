/**
 * What outlives the servers of a life of kill rounds: their data directory, and in the suites of a
 * cluster (`harness/cluster/suite-setting.ts`) a PostgreSQL, of which that directory is only a cache.
 */
import { parseClusterUrl } from "../../../src/program/cluster/connection-plan.ts";
import { initCluster } from "../../../src/program/cluster/init.ts";
import { type Allowance, allowanceOf } from "../../budget.ts";
import { suiteSetting } from "../../harness/cluster/suite-setting.ts";
import { startPostgres } from "../../harness/postgres-process.ts";
import { NodeClient, secrets } from "../../program/cluster/cluster-program.ts";
import type { RunningProgram } from "../../program/program-process.ts";

/** The arguments and variables of a start. */
export interface KilledStart {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface KillGround {
  /** The same start on this ground. */
  startOf(start: KilledStart): Required<KilledStart>;
  /** Resolves when a server that has printed its addresses serves. */
  untilServing(server: RunningProgram): Promise<void>;
  /** The token of the store. */
  storeTokenOf(server: RunningProgram): string;
  /** How often a start may be killed while it recovers, before one that must succeed. */
  readonly startKillsMax: number;
  close(): Promise<void>;
}

const alone: KillGround = {
  startOf: ({ args, env = {} }) => ({ args, env }),
  untilServing: async () => {},
  storeTokenOf: ({ storeToken }) => storeToken,
  startKillsMax: 3,
  close: async () => {},
};

export async function openGround(): Promise<KillGround> {
  const setting = suiteSetting();
  if (setting === undefined) return alone;
  const { connectionString, stop } = await startPostgres(["fsync=off"]);
  await initCluster({ plan: parseClusterUrl(connectionString), place: "the cluster of the kill rounds", shards: 1 });
  const node = ["--cluster", connectionString, "--cluster-node", "killed", "--reads", setting.reads];
  return {
    startOf: ({ args, env = {} }) => ({
      args: [...args, ...node, "--log-format", "json"],
      env: { ...secrets, ...env },
    }),
    untilServing: (server) => new NodeClient(server).untilServing(),
    storeTokenOf: () => secrets["LARDER_STORE_TOKEN"] ?? "",
    // After three claims without a recovery a shard waits for a person.
    startKillsMax: 2,
    close: stop,
  };
}

/** The rounds of each area on a cluster. */
const CLUSTER_ROUNDS = 6;

/** The allowance of a suite of kills. */
export function killAllowance(suite: string): Allowance {
  return suiteSetting() === undefined ? allowanceOf(suite) : { count: CLUSTER_ROUNDS };
}

/** With `everysec` the writes of the last moment are only in the memory of a node. */
export function fsyncOf<Mode>(drawn: Mode): Mode | "always" {
  return suiteSetting() === undefined ? drawn : "always";
}
