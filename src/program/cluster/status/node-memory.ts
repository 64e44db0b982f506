/**
 * The memory of a node and what its shards take of it, as each node reports it to
 * PostgreSQL for `larder cluster status`: from the figures of its areas, which
 * /metrics has too.
 *
 * (1) A report has the life of its process. The next process of the node has not
 *     reported yet.
 * (2) Areas on one thread share their memory: they are one pool.
 */
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";
import type { FamilySnapshot } from "../../../kernel/metrics.ts";
import type { AreaName } from "../../areas/area.ts";
import type { StandbyReport } from "../standby/standby-report.ts";

export interface MemoryPool {
  readonly areas: readonly AreaName[];
  readonly limitBytes: number;
  /** Without garbage. */
  readonly usedBytes: number;
}

export interface NodeMemory {
  readonly pools: readonly MemoryPool[];
  /** The bytes of the data of each shard that the node serves, by its number. */
  readonly shards: Readonly<Record<string, number>>;
  /** The shards that it follows, by their numbers; absent: it follows none. */
  readonly standbys?: Readonly<Record<string, StandbyReport>>;
  /** Why the snapshots of shards cannot be read from the object store or written to it, by their numbers; absent: they can. */
  readonly objects?: Readonly<Record<string, string>>;
}

/** The figures of an area, and the shards of it that the node serves. */
export interface AreaFigures {
  readonly area: AreaName;
  readonly families: readonly FamilySnapshot[];
  readonly served: readonly number[];
}

const LIMIT = "larder_memory_limit_bytes";
const USED = "larder_memory_used_bytes";
const TENANTS = "larder_tenant_memory_bytes";

/** Undefined while an area does not answer. `isShared`: all areas are on one thread. keeps (2) */
export function memoryOf(areas: readonly AreaFigures[], isShared: boolean): NodeMemory | undefined {
  const pools: MemoryPool[] = [];
  const shards: Record<string, number> = {};
  for (const { area, families, served } of areas) {
    const figureOf = (name: string): number | undefined => seriesOf(families, name)[0]?.values[0];
    const limitBytes = figureOf(LIMIT);
    const usedBytes = figureOf(USED);
    if (limitBytes === undefined || usedBytes === undefined) return undefined;
    pools.push({ areas: [area], limitBytes, usedBytes });
    for (const shard of served) shards[shard] = bytesOfShard(families, shard);
  }
  const [first] = pools;
  if (!isShared || first === undefined) return { pools, shards };
  return { pools: [{ ...first, areas: areas.map(({ area }) => area) }], shards };
}

/** The series of an area with one shard do not name it. */
function bytesOfShard(families: readonly FamilySnapshot[], shard: number): number {
  const place = families.find(({ name }) => name === TENANTS)?.labelNames.indexOf("shard") ?? -1;
  return seriesOf(families, TENANTS)
    .filter(({ labelValues }) => place === -1 || labelValues[place] === String(shard))
    .reduce((sum, { values: [bytes = 0] }) => sum + bytes, 0);
}

function seriesOf(families: readonly FamilySnapshot[], name: string): FamilySnapshot["series"] {
  return families.find((family) => family.name === name)?.series ?? [];
}

const REPORT: Statement = {
  name: "larder-report-memory",
  text: "UPDATE larder.node SET memory = $2::json WHERE life = $1::uuid",
};

/** Commands of this version also read the tables of an earlier one, which lack the column. */
const REPORTS: Statement = {
  name: "larder-memory-reports",
  text: "SELECT life, to_jsonb(n) -> 'memory' AS memory FROM larder.node n",
};

/** keeps (1) */
export async function reportMemory(session: SqlSession, life: string, memory: NodeMemory): Promise<void> {
  await session.run(REPORT, [life, JSON.stringify({ life, ...memory })]);
}

/** The last reports by the lives of their processes. */
export async function readMemory(session: SqlSession): Promise<ReadonlyMap<string, NodeMemory>> {
  type Row = { readonly life: string; readonly memory: (NodeMemory & { readonly life: string }) | null };
  const { rows } = await session.run<Row>(REPORTS, []);
  return new Map(rows.flatMap(({ life, memory }) => (memory?.life === life ? [[life, memory]] : [])));
}
