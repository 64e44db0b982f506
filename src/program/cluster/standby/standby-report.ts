/**
 * What a node reports of the shards that it follows, with its memory
 * (`status/node-memory.ts`): for `larder cluster status`, and for the owner of a
 * shard of messaging, which keeps segments until the log of messages of the standby
 * has them.
 *
 * (1) A report counts while its node lives and is the process that made it.
 */
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";

export interface StandbyReport {
  /** What a takeover would have to read from PostgreSQL. */
  readonly bytes: number;
  /** How long something has been missing. */
  readonly seconds: number;
  /** The first segment that its log of messages lacks; null: it has no such log, or this is not known yet. */
  readonly history: number | null;
}

/** keeps (1). The owner follows nothing of its own. */
const HISTORY: Statement = {
  name: "larder-standby-history",
  text: `SELECT max(coalesce((n.memory -> 'standbys' -> $1::text ->> 'history')::float8, 0)) AS history
    FROM larder.node n
    WHERE NOT n.is_dead AND n.memory ->> 'life' = n.life::text AND n.memory -> 'standbys' -> $1::text IS NOT NULL`,
};

/**
 * The first segment of a shard that the log of messages of its standby lacks; 0 if this is not known yet. Undefined if no
 * living node follows the shard.
 */
export async function readStandbyHistory(session: SqlSession, shard: number): Promise<number | undefined> {
  const [row] = (await session.run<{ history: number | null }>(HISTORY, [String(shard)])).rows;
  return row?.history ?? undefined;
}
