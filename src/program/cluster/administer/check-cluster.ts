/**
 * The part of `larder check` that asks PostgreSQL: why a node could not start or
 * take part in the cluster, in the words of the start. It changes nothing. Each
 * connection and each statement has a time limit, and nothing is repeated.
 */
import type { NodeView } from "../../../cluster/log-store/log-store.ts";
import { RENEWAL_PERIOD_MS, SKEW_MS_MAX } from "../../../cluster/node/bounds.ts";
import { CLOCK_DIFFERS, skewOf } from "../../../cluster/node/renewals.ts";
import { PostgresLogStore } from "../../../cluster/postgres/postgres-log-store.ts";
import { SCHEMA_VERSION } from "../../../cluster/postgres/schema.ts";
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { type ClusterWarning, nameInUseText, readFacts, readWarnings, withSession } from "../cluster-facts.ts";
import { readLives } from "../node-file.ts";
import { clusterConnectionOf, clusterPlaceOf, nodeNameOf } from "../setting-rules.ts";
import { keyProblem, keysOf } from "../tenants/open-tenants.ts";
import { readKeyFacts } from "../tenants/tenant-table.ts";
import { findUnusableStores } from "./files.ts";
import { missingGrantsText, readMissingGrants } from "./grants.ts";

export interface ClusterCheck {
  /** Undefined: it could not be read. */
  readonly id: string | undefined;
  /** A sentence for each; none: a node can start. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** A node that lives renews between two looks. */
const LOOK_AGAIN_MS = 2 * RENEWAL_PERIOD_MS;

/** `directory` is the data directory of the node, which may not exist. */
export async function checkCluster(run: RunSettings, directory: string): Promise<ClusterCheck> {
  const plan = clusterConnectionOf(run);
  if (plan === undefined) throw new Error("The settings name no cluster");
  const place = clusterPlaceOf(run);
  const problems: string[] = [];
  try {
    return await withSession(plan, place, async (session) => {
      const { id, version } = await readFacts(session);
      const isCurrent = version === SCHEMA_VERSION;
      const missing = isCurrent ? await readMissingGrants(session) : [];
      if (missing.length > 0) problems.push(missingGrantsText(missing, place));
      if (isCurrent && missing.length === 0) {
        const problem = keyProblem(keysOf(run, id), await readKeyFacts(session), run);
        if (problem !== undefined) problems.push(problem);
      }
      const unusable = await findUnusableStores(session, id);
      problems.push(...unusable.filter(({ isAway }) => !isAway).map(({ text }) => text));
      const skew = await findSkew(session);
      if (skew !== undefined) problems.push(skew);
      const warnings = (await readWarnings(session, plan)).map(printWarning);
      warnings.push(...unusable.filter(({ isAway }) => isAway).map(({ text }) => text));
      if (!isCurrent)
        warnings.push(
          `the tables of the cluster have version ${version}: the next start of a node of this larder changes them to version ${SCHEMA_VERSION}, if its user owns them`,
        );
      if (missing.length === 0) problems.push(...(await findNameInUse(session, run, directory)));
      return { id, problems, warnings };
    });
  } catch (fault) {
    if (!(fault instanceof StartRefusal)) throw fault;
    return { id: undefined, problems: [...problems, fault.message], warnings: [] };
  }
}

function printWarning({ event, host, remedy }: ClusterWarning): string {
  return `${event}${host === undefined ? "" : ` (${host})`}: ${remedy}`;
}

const CLOCK: Statement = {
  name: "larder-clock",
  text: "SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS clock",
};

async function findSkew(session: SqlSession): Promise<string | undefined> {
  const sentMs = systemClock.nowMs();
  const [row] = (await session.run<{ clock: number }>(CLOCK, [])).rows;
  if (row === undefined) return undefined;
  return skewProblem({ sentMs, answeredMs: systemClock.nowMs(), storeMs: row.clock });
}

/** The sentence about a clock by which the node would claim no shard, as the times of `skewOf` show it. */
export function skewProblem(times: Parameters<typeof skewOf>[0]): string | undefined {
  const skewMs = skewOf(times);
  if (Math.abs(skewMs) <= SKEW_MS_MAX) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  return `The ${CLOCK_DIFFERS} by ${seconds} s: the node would claim no shard. Synchronize both clocks, for example by NTP`;
}

async function findNameInUse(session: SqlSession, run: RunSettings, directory: string): Promise<readonly string[]> {
  const store = new PostgresLogStore(session);
  const name = nodeNameOf(run);
  const { former, next } = readLives(directory);
  // A life of this directory is the node itself, which the next start replaces.
  const findRival = async (): Promise<NodeView | undefined> =>
    (await store.watch()).nodes.find(
      (node) => node.name === name && !node.isDead && node.life !== former && node.life !== next,
    );
  const first = await findRival();
  if (first === undefined) return [];
  await new Promise<void>((resolve) => systemClock.after(LOOK_AGAIN_MS, resolve));
  const last = await findRival();
  const isSilent = last === undefined || (last.life === first.life && last.beat === first.beat);
  return isSilent ? [] : [nameInUseText(name, run.origins.clusterNode.place)];
}
