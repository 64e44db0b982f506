/**
 * What a node reports of the shards that it follows, with its memory
 * (`status/node-memory.ts`): for `larder cluster status`, and for the owner of a
 * shard of messaging, which keeps segments until the log of messages of the standby
 * has them.
 *
 * (1) A report counts while its node lives and is the process that made it.
 * (2) A living node that has not reported yet may follow any shard: it counts as a
 *     standby that has nothing.
 * (3) A report names every shard that its node follows, also those that it has not
 *     looked at yet.
 */
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";

export interface StandbyReport {
  /** What a takeover would have to read from PostgreSQL; null: the node has not looked at the shard yet. */
  readonly bytes: number | null;
  /** How long something has been missing. */
  readonly seconds: number;
  /** The first segment that its log of messages lacks; null: it has no such log, or this is not known yet. */
  readonly history: number | null;
}

/** keeps (1) and (2). The owner follows nothing of its own. */
const HISTORY: Statement = {
  name: "larder-standby-history",
  text: `SELECT max(CASE WHEN n.memory ->> 'life' = n.life::text
        THEN coalesce((n.memory -> 'standbys' -> $1::text ->> 'history')::float8, 0) ELSE 0 END) AS history
    FROM larder.node n
    WHERE NOT n.is_dead
      AND n.life IS DISTINCT FROM (SELECT s.owner FROM larder.shard s WHERE s.id = $1::text::int)
      AND (n.memory ->> 'life' IS DISTINCT FROM n.life::text OR n.memory -> 'standbys' -> $1::text IS NOT NULL)`,
};

/**
 * The first segment of a shard that the log of messages of its standby lacks; 0 if this is not known yet. Undefined if no
 * living node follows the shard, or may follow it.
 */
export async function readStandbyHistory(session: SqlSession, shard: number): Promise<number | undefined> {
  const [row] = (await session.run<{ history: number | null }>(HISTORY, [String(shard)])).rows;
  return row?.history ?? undefined;
}
