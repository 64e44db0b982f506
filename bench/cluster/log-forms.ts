/**
 * The journal of one shard in PostgreSQL in two forms that differ in how old
 * segments leave: TRUNCATE of one of three tables in turn, or DELETE from one.
 *
 * Both append with one statement that locks and compares the epoch of the shard,
 * so that a former owner adds nothing, and inserts a row only after the row
 * before it.
 */
import type { Client } from "pg";

export const SHARD = 1;
export const EPOCH = 7;

/** Segments that stay although a snapshot covers them: the newest ones. */
const KEPT_SEGMENTS = 2;
const TRUNCATE_LOCK_MS = 250;

export interface LogForm {
  readonly name: string;
  /** Creates the tables. */
  create(): Promise<void>;
  /** Resolves when the row is committed. Throws if the row was not inserted. */
  append(row: LogRow): Promise<void>;
  /** Called when a segment has ended. Removes what is covered by then. Resolves with whether rows were removed. */
  ended(segment: number): Promise<boolean>;
  /** The size of all tables with their TOAST tables and indexes. */
  bytes(): Promise<number>;
}

export interface LogRow {
  readonly segment: number;
  /** The offset of the bytes in the segment, and of the row before; the same for the first row. */
  readonly start: number;
  readonly before: number;
  readonly bytes: Buffer;
}

export async function createShard(client: Client): Promise<void> {
  await client.query("DROP SCHEMA IF EXISTS larder CASCADE; CREATE SCHEMA larder; SET search_path TO larder");
  await client.query("CREATE TABLE shard (id int PRIMARY KEY, epoch bigint NOT NULL) WITH (fillfactor = 20)");
  await client.query("INSERT INTO shard VALUES ($1, $2)", [SHARD, EPOCH]);
}

/** Three tables: one is filled, one is covered by the next snapshot, one is empty. */
export function ringForm(client: Client, segmentsOfTable: number): LogForm {
  const tables = ["log_1_0", "log_1_1", "log_1_2"];
  let current = 0;
  let segments = 0;
  return {
    name: "ring of three",
    create: async () => {
      for (const table of tables) await createLog(client, table);
    },
    append: (row) => append(client, tables[current] as string, row),
    ended: async () => {
      segments += 1;
      if (segments < segmentsOfTable) return false;
      segments = 0;
      current = (current + 1) % tables.length;
      await truncate(client, tables[(current + 1) % tables.length] as string);
      return true;
    },
    bytes: () => totalBytes(client, tables),
  };
}

export function deleteForm(client: Client): LogForm {
  return {
    name: "DELETE from one table",
    create: () => createLog(client, "log_1"),
    append: (row) => append(client, "log_1", row),
    ended: async (segment) => {
      const text = `WITH own AS MATERIALIZED (SELECT id FROM shard WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE)
        DELETE FROM log_1 WHERE segment <= $3 AND EXISTS (SELECT 1 FROM own)`;
      const { rowCount } = await client.query(text, [SHARD, EPOCH, segment - KEPT_SEGMENTS]);
      return (rowCount ?? 0) > 0;
    },
    bytes: () => totalBytes(client, ["log_1"]),
  };
}

async function createLog(client: Client, table: string): Promise<void> {
  await client.query(`CREATE TABLE ${table} (segment bigint, start bigint, stop bigint NOT NULL, epoch bigint NOT NULL,
    bytes bytea NOT NULL, PRIMARY KEY (segment, start))`);
  // Journals hold what clients sent; what can be compressed is not worth the processor time of each append.
  await client.query(`ALTER TABLE ${table} ALTER COLUMN bytes SET STORAGE EXTERNAL`);
}

async function append(client: Client, table: string, { segment, start, before, bytes }: LogRow): Promise<void> {
  const text = `WITH own AS MATERIALIZED (SELECT id FROM shard WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE),
      put AS (INSERT INTO ${table} (segment, start, stop, epoch, bytes)
              SELECT $3::bigint, $4::bigint, $4::bigint + length($5::bytea), $2, $5::bytea FROM own
              WHERE $4::bigint = 0
                 OR EXISTS (SELECT 1 FROM ${table} p WHERE p.segment = $3 AND p.start = $6::bigint AND p.stop = $4)
              ON CONFLICT DO NOTHING RETURNING 1)
    SELECT (SELECT count(*) FROM own)::int AS owned, (SELECT count(*) FROM put)::int AS put`;
  const values = [SHARD, EPOCH, segment, start, bytes, before];
  const { rows } = await client.query<{ owned: number; put: number }>({ name: `append-${table}`, text, values });
  if (rows[0]?.owned !== 1 || rows[0].put !== 1) throw new Error("The row was not inserted");
}

async function truncate(client: Client, table: string): Promise<void> {
  await client.query("BEGIN");
  await client.query("SELECT 1 FROM shard WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE", [SHARD, EPOCH]);
  await client.query(`SET LOCAL lock_timeout = ${TRUNCATE_LOCK_MS}`);
  await client.query(`TRUNCATE ${table}`);
  await client.query("COMMIT");
}

async function totalBytes(client: Client, tables: readonly string[]): Promise<number> {
  const text =
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::float8 AS bytes FROM pg_class WHERE relname = ANY($1)";
  const { rows } = await client.query<{ bytes: number }>(text, [tables]);
  return rows[0]?.bytes ?? 0;
}
