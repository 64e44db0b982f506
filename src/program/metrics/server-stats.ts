/** What `GET /v1/stats` answers, from the parts of a running server. */
import type { Administration } from "../../edge/admin/routes.ts";
import { RequestFailure } from "../../edge/errors.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { LabelledSnapshot, Metrics } from "../../kernel/metrics.ts";
import type { AreaName } from "../areas/area.ts";
import type { AreaSlot } from "../areas/area-slot.ts";
import type { ClusterMember } from "../cluster/cluster-member.ts";
import type { ShardFigures } from "../cluster/shard-figures.ts";
import { kindOfArea } from "../tenants/administration.ts";
import type { CopyThread } from "../workers/copy-thread.ts";
import { type AreaStats, durationsIn, figuresIn, type ServerStats } from "./stats.ts";

/** How long the metrics wait for the figures, and for the tenants, of an area. */
const FIGURES_MS_MAX = 2_000;

type MeasuredSlot = Pick<AreaSlot, "name" | "api" | "status">;

export interface MeasuredServer extends Pick<Administration, "listTenants"> {
  readonly version: string;
  readonly slots: readonly MeasuredSlot[];
  /** Of the main thread. */
  readonly metrics: Metrics;
  /** Undefined on a single server. */
  readonly cluster: Pick<ClusterMember, "name" | "nodes" | "shardFigures"> | undefined;
  /** Undefined: the data directory is not copied. */
  readonly copy: Pick<CopyThread, "familiesOf" | "figures"> | undefined;
}

export async function readServerStats(server: MeasuredServer): Promise<ServerStats> {
  const { version, slots, metrics, cluster, copy } = server;
  const areas = await Promise.all(
    slots.map(async (slot): Promise<[AreaName, AreaStats]> => {
      const { families: own } = await figuresOf(slot);
      const families = [...own, ...(copy?.familiesOf(slot.name) ?? [])];
      const stats = {
        state: slot.status,
        tenants: await tenantCountOf(server, slot.name),
        figures: figuresIn(families, slot.name),
        durations: durationsIn(families),
        ...shardStats(cluster?.shardFigures(slot.name)),
      };
      return [slot.name, stats];
    }),
  );
  return {
    version,
    server: figuresIn(metrics.snapshot(), "server"),
    areas: Object.fromEntries(areas) as Record<AreaName, AreaStats>,
    ...(copy !== undefined && { replication: copy.figures }),
    ...(cluster !== undefined && { cluster: { node: cluster.name, nodes: cluster.nodes } }),
  };
}

/** An area that does not answer has no figures, and does not delay those of the others. */
export async function figuresOf({ name, api }: Pick<MeasuredSlot, "name" | "api">): Promise<LabelledSnapshot> {
  const figures = (api?.control.figures() ?? Promise.resolve([])).catch(() => []);
  return { labels: { area: name }, families: await inTime(figures, []) };
}

/** The answer of an area, or `late` after the time limit. */
async function inTime<Value>(answer: Promise<Value>, late: Value): Promise<Value> {
  const limit = Promise.withResolvers<Value>();
  const cancel = systemClock.after(FIGURES_MS_MAX, () => limit.resolve(late));
  try {
    return await Promise.race([answer, limit.promise]);
  } finally {
    cancel();
  }
}

async function tenantCountOf({ listTenants }: MeasuredServer, area: AreaName): Promise<number | undefined> {
  const listed = listTenants(kindOfArea[area]).catch((fault: unknown) => {
    // While it opens or stops, an area does not report them; its other figures are still useful.
    if (fault instanceof RequestFailure) return undefined;
    throw fault;
  });
  return (await inTime(listed, undefined))?.length;
}

/** The shards of an area; undefined: of a single server. */
function shardStats(shards: readonly ShardFigures[] | undefined): Pick<AreaStats, "shard" | "shards"> {
  if (shards === undefined) return {};
  const [only, ...others] = shards;
  return only !== undefined && others.length === 0 ? { shard: only } : { shards };
}
