/** What `larder cluster status` says of the tenants that were made at run time, and of the nodes that follow them. */
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";

/** What a node has of them: all changes, not the last one, or nothing because it has no key of the cluster. */
export type TenantsState = "current" | "behind" | "without key";

/** What the tables have of tenants that were made at run time. */
export interface MadeTenants {
  readonly count: number;
  /** By the lives of nodes with the key of the cluster: the last change that the node has. */
  readonly seen: ReadonlyMap<string, number>;
}

/** The version of the tables that brought tenants at run time. */
const TENANTS_SINCE = 5;

const MADE: Statement = {
  name: "larder-made-tenants",
  text: `SELECT (SELECT count(sealed) FROM larder.tenant)::int AS count,
    coalesce((SELECT json_object_agg(life, tenants_seen::float8) FROM larder.node), '{}') AS seen`,
};

/** `version`: that of the tables. Earlier ones have none. */
export async function readMadeTenants(session: SqlSession, version: number): Promise<MadeTenants> {
  if (version < TENANTS_SINCE) return { count: 0, seen: new Map() };
  type Row = { count: number; seen: Readonly<Record<string, number | null>> };
  const [row] = (await session.run<Row>(MADE, [])).rows;
  const seen = Object.entries(row?.seen ?? {}).flatMap(([life, at]): [string, number][] =>
    at === null ? [] : [[life, at]],
  );
  return { count: row?.count ?? 0, seen: new Map(seen) };
}

/** `last`: the version of the last change. */
export function tenantsStateOf({ seen }: MadeTenants, life: string, last: number): TenantsState {
  const at = seen.get(life);
  if (at === undefined) return "without key";
  return at < last ? "behind" : "current";
}
