/**
 * The log store in PostgreSQL. Isolation READ COMMITTED, one statement for each
 * call, no session state: a pooler in transaction mode may be between.
 *
 * (1) Each statement that changes a shard locks its row with FOR NO KEY UPDATE
 *     and compares the epoch. A claim updates the same row, so one of the two
 *     waits for the other, and a statement that waited reads the new epoch.
 *     A weaker lock (FOR SHARE) would let a repeated statement overtake its own
 *     first attempt, and would need multixacts.
 * (2) The lock itself is written to the log of PostgreSQL, so that even a
 *     repetition that finds everything done is a commit that waits for the
 *     standby. A statement that wrote nothing would return at once, although
 *     nothing is replicated (`wrote_xlog && markXidCommitted` in xact.c).
 * (3) A warning means that the commit may be on this server only: that is a
 *     doubtful outcome, never a success (syncrep.c).
 */
import type {
  Append,
  AppendOutcome,
  Claim,
  ClaimedShard,
  ClusterChanges,
  ClusterView,
  FencedOutcome,
  LogRow,
  LogStore,
  NodeRegistration,
  NodeView,
  NumberedNode,
  RemovalOutcome,
  Renewal,
  SegmentView,
  ShardEpoch,
  ShardHead,
  ShardView,
  SnapshotPart,
  SnapshotPointer,
} from "../log-store/log-store.ts";
import { DoubtfulOutcome, SET_BACK_MS_MAX, SnapshotIncomplete } from "../log-store/log-store.ts";
import { SCHEMA_VERSION } from "./schema.ts";
import type { SqlSession, SqlValue, Statement } from "./session.ts";

/** Locks the shard $1 if its epoch is $2. */
const OWN = `own AS MATERIALIZED (
        SELECT id, snapshot_number FROM larder.shard WHERE id = $1::int AND epoch = $2::bigint FOR NO KEY UPDATE)`;
const OWNED = "(SELECT count(*) FROM own)::int AS owned";

/** Of the row of a shard, for `pointerOf`. */
export const POINTER_COLUMNS = `snapshot_epoch::float8 AS snapshot_epoch, snapshot_number::float8 AS number,
      snapshot_parts AS parts, snapshot_bytes::float8 AS bytes, snapshot_address AS address, snapshot_object AS object`;

const ADD_SHARD: Statement = {
  name: "larder-add-shard",
  text: `INSERT INTO larder.shard (id, area, hash_seed) VALUES ($1::int, $2::text, $3::bytea)
    ON CONFLICT (id) DO UPDATE SET area = larder.shard.area RETURNING id`,
};

/** The time that a node reports, unless it is a little before the one that was known. */
const laterClock = (reported: string, before: string): string =>
  `CASE WHEN ${before} - ${reported} BETWEEN 1 AND ${SET_BACK_MS_MAX} THEN ${before} ELSE ${reported} END`;

/**
 * Also matches its own life: then this is a repetition, which keeps the beat. It does not match its own life after that
 * was declared dead, or a repetition that comes late would bring a dead life back.
 */
const REGISTER: Statement = {
  name: "larder-register",
  text: `INSERT INTO larder.node AS n (name, life, address, format, clock_ms, schema_version, tenants_seen, key_checks)
    VALUES ($1::text, $2::uuid, $3::text, $4::int, $5::bigint, ${SCHEMA_VERSION}, $7::bigint, $8::bytea)
    ON CONFLICT (name) DO UPDATE
      SET life = excluded.life, beat = CASE WHEN n.life = excluded.life THEN n.beat ELSE 0 END, is_dead = false,
          address = excluded.address, format = excluded.format, schema_version = excluded.schema_version,
          key_number = CASE WHEN n.life = excluded.life THEN n.key_number ELSE 0 END,
          tenants_seen = excluded.tenants_seen, key_checks = excluded.key_checks,
          clock_ms = ${laterClock("excluded.clock_ms", "n.clock_ms")}
      WHERE CASE WHEN n.life = excluded.life THEN NOT n.is_dead ELSE n.is_dead OR coalesce(n.life = $6::uuid, false) END
    RETURNING 1`,
};

/** A commit, because a former primary that is cut off still answers a SELECT. */
const RENEW: Statement = {
  name: "larder-renew",
  text: `WITH me AS (
      UPDATE larder.node SET beat = beat + 1, clock_ms = ${laterClock("$2::bigint", "clock_ms")}
      WHERE life = $1::uuid AND NOT is_dead RETURNING beat)
    SELECT beat::float8 AS beat, extract(epoch FROM clock_timestamp())::float8 * 1000 AS clock,
      (SELECT coalesce(json_agg(json_build_array(id, epoch) ORDER BY id), '[]') FROM larder.shard WHERE owner = $1::uuid)
        AS owned
    FROM me`,
};

/** Commands of this version also read the tables of an earlier one, which lack some columns, as in `TENANTS`. */
const NODES: Statement = {
  name: "larder-nodes",
  text: `SELECT name, life, beat::float8 AS beat, is_dead, address, format,
      coalesce((to_jsonb(n) ->> 'is_drained')::boolean, false) AS is_drained,
      coalesce((to_jsonb(n) ->> 'key_number')::int, 0) AS key_number,
      coalesce((SELECT (to_jsonb(c) ->> 'key_number')::int FROM larder.cluster c), 0) AS newest_key
    FROM larder.node n ORDER BY name`,
};

const TENANTS = "(SELECT (to_jsonb(c) ->> 'tenants')::float8 FROM larder.cluster c)";

const SHARDS: Statement = {
  name: "larder-shards",
  text: `SELECT id, epoch::float8 AS epoch, area, owner, owner_name, heir, pin, writer_format, tries,
      coalesce((to_jsonb(s) ->> 'is_held')::boolean, false) AS is_held, ${TENANTS} AS tenants
    FROM larder.shard s ORDER BY id`,
};

/**
 * What changed since the snapshot $2 of the server $1: rows whose last change that snapshot does not see. It names the
 * transactions that ran, so one that commits late is not missed, whatever the order of their numbers.
 *
 * A server is known by the start of its process: another one may lack transactions, and use their numbers again. The
 * lower bound finds the rows in the index; the upper bound, which is true for every row, tells the planner that there
 * are few. OFFSET keeps the planner from reading the snapshot for each row.
 */
const WATCH: Statement = {
  name: "larder-watch",
  text: `SELECT seen.server, txid_current_snapshot()::text AS snapshot, seen.snapshot IS NULL AS is_whole,
      coalesce((SELECT key_number FROM larder.cluster), 0) AS key_number,
      coalesce((SELECT tenants FROM larder.cluster), 0)::float8 AS tenants,
      (SELECT coalesce(json_agg(json_build_array(number, beat)), '[]') FROM larder.node WHERE NOT is_dead) AS beats,
      (SELECT coalesce(json_agg(json_build_array(
          number, name, life, beat, is_dead, address, format, is_drained, key_number) ORDER BY name), '[]')
        FROM larder.node WHERE txid_visible_in_snapshot(changed, seen.snapshot) IS NOT TRUE) AS nodes,
      (SELECT coalesce(json_agg(json_build_array(
          id, epoch, area, owner, owner_name, heir, pin, writer_format, tries, is_held) ORDER BY id), '[]')
        FROM larder.shard
        WHERE changed >= coalesce(txid_snapshot_xmin(seen.snapshot), 0)
          AND changed < CASE WHEN seen.snapshot IS NULL THEN 9223372036854775807
            ELSE txid_snapshot_xmax(txid_current_snapshot()) END
          AND txid_visible_in_snapshot(changed, seen.snapshot) IS NOT TRUE) AS shards
    FROM (
      SELECT server, CASE server WHEN $1::text THEN $2::text::txid_snapshot END AS snapshot
      FROM (SELECT extract(epoch FROM pg_postmaster_start_time())::text AS server) this OFFSET 0) seen`,
};

const DECLARE_DEAD: Statement = {
  name: "larder-declare-dead",
  text: `UPDATE larder.node SET is_dead = true WHERE life = $1::uuid AND beat = $2::bigint
    RETURNING clock_ms::float8 AS clock`,
};

/** The second condition matches the repetition of a claim that was committed, which changes nothing. */
const CLAIM: Statement = {
  name: "larder-claim",
  text: `UPDATE larder.shard s SET epoch = $2::bigint + 1, owner = $3::uuid, heir = NULL, writer_format = $4::int,
      owner_name = (SELECT n.name FROM larder.node n WHERE n.life = $3::uuid),
      tries = CASE s.epoch WHEN $2::bigint THEN s.tries + 1 ELSE s.tries END,
      floor_ms = CASE s.epoch WHEN $2::bigint THEN coalesce((
          SELECT ${laterClock("n.clock_ms", "s.floor_ms")} FROM larder.node n WHERE n.name = s.owner_name), s.floor_ms)
        ELSE s.floor_ms END
    WHERE id = $1::int AND writer_format <= $4::int AND NOT is_held
      AND ((epoch = $2::bigint AND NOT EXISTS (
              SELECT 1 FROM larder.node n WHERE n.life = s.owner AND NOT n.is_dead))
        OR (epoch = $2::bigint + 1 AND owner = $3::uuid))
      AND EXISTS (SELECT 1 FROM larder.node n WHERE n.life = $3::uuid AND NOT n.is_dead)
    RETURNING epoch::float8 AS epoch, floor_ms::float8 AS floor, hash_seed, ${POINTER_COLUMNS}`,
};

const RECOVERED: Statement = {
  name: "larder-recovered",
  text: "UPDATE larder.shard SET tries = 0 WHERE id = $1::int AND epoch = $2::bigint RETURNING 1 AS owned",
};

const PIN: Statement = {
  name: "larder-pin",
  text: "UPDATE larder.shard SET pin = $2::text WHERE id = $1::int",
};

const SET_DRAINED: Statement = {
  name: "larder-set-drained",
  text: "UPDATE larder.node SET is_drained = $2::boolean WHERE name = $1::text",
};

const NOTE_KEY: Statement = {
  name: "larder-note-key",
  text: "UPDATE larder.node SET key_number = $2::int WHERE life = $1::uuid AND key_number < $2::int",
};

const FORGET_TRIES: Statement = {
  name: "larder-forget-tries",
  text: "UPDATE larder.shard SET tries = 0 WHERE id = $1::int",
};

const ANNOUNCE: Statement = {
  name: "larder-announce",
  text: `UPDATE larder.shard SET heir = $3::text WHERE id = $1::int AND epoch = $2::bigint AND owner IS NOT NULL
    RETURNING 1 AS owned`,
};

const RELEASE: Statement = {
  name: "larder-release",
  text: `UPDATE larder.shard SET owner = NULL, heir = $3::text WHERE id = $1::int AND epoch = $2::bigint
    RETURNING 1 AS owned`,
};

/**
 * Nothing is appended to a segment that the snapshot covers: a late first attempt, which still sees the row before its
 * own, could otherwise follow the removal of the segment. `own` is read after the wait for the row.
 */
const APPEND: Statement = {
  name: "larder-append",
  text: `WITH ${OWN},
      put AS (
        INSERT INTO larder.log (shard, segment, start, stop, epoch, bytes)
        SELECT $1::int, $3::bigint, $4::bigint, $4::bigint + length($5::bytea), $2::bigint, $5::bytea FROM own
        WHERE $3::bigint >= coalesce(own.snapshot_number, 0) AND CASE $4::bigint
          WHEN 0 THEN $3::bigint IN (1, own.snapshot_number) OR EXISTS (
            SELECT 1 FROM larder.log p WHERE p.shard = $1::int AND p.segment = $3::bigint - 1)
          ELSE EXISTS (
            SELECT 1 FROM larder.log p
            WHERE p.shard = $1::int AND p.segment = $3::bigint AND p.start = $6::bigint AND p.stop = $4::bigint) END
        ON CONFLICT DO NOTHING RETURNING 1)
    SELECT ${OWNED}, (SELECT count(*) FROM put)::int AS put`,
};

/** Of a row that could not be inserted: a statement of its own, because the one that waited does not see it. */
const FIND_ROW: Statement = {
  name: "larder-find-row",
  text: `SELECT epoch = $2::bigint AND bytes = $5::bytea AS is_same FROM larder.log
    WHERE shard = $1::int AND segment = $3::bigint AND start = $4::bigint`,
};

const SEGMENTS: Statement = {
  name: "larder-segments",
  text: `SELECT segment::float8 AS segment, min(epoch)::float8 AS epoch, max(stop)::float8 AS bytes
    FROM larder.log WHERE shard = $1::int GROUP BY segment ORDER BY segment`,
};

/** Each end of a log is one look at its index. */
const HEADS: Statement = {
  name: "larder-heads",
  text: `SELECT s.id AS shard, s.epoch::float8 AS epoch, ${POINTER_COLUMNS},
      coalesce(a.segment, 0)::float8 AS first, coalesce(z.segment, 0)::float8 AS last, coalesce(z.stop, 0)::float8 AS stop
    FROM larder.shard s
    LEFT JOIN LATERAL (
      SELECT segment FROM larder.log WHERE shard = s.id ORDER BY segment, start LIMIT 1) a ON true
    LEFT JOIN LATERAL (
      SELECT segment, stop FROM larder.log WHERE shard = s.id ORDER BY segment DESC, start DESC LIMIT 1) z ON true
    WHERE s.id = ANY($1::int[]) ORDER BY s.id`,
};

const READ: Statement = {
  name: "larder-read",
  text: `SELECT start::float8 AS start, bytes FROM larder.log
    WHERE shard = $1::int AND segment = $2::bigint AND start >= $3::bigint AND start < $3::bigint + $4::bigint
    ORDER BY start`,
};

const CUT: Statement = {
  name: "larder-cut",
  text: `WITH ${OWN},
      gone AS (
        DELETE FROM larder.log WHERE shard = $1::int AND segment = $3::bigint AND start >= $4::bigint
          AND EXISTS (SELECT 1 FROM own))
    SELECT ${OWNED}`,
};

/** The pointer of the snapshot is compared in the same statement: a failover may have lost it. */
const REMOVE: Statement = {
  name: "larder-remove",
  text: `WITH ${OWN},
      covering AS (SELECT id FROM own WHERE snapshot_number > ALL($3::bigint[])),
      gone AS (
        DELETE FROM larder.log WHERE shard = $1::int AND segment = ANY($3::bigint[]) AND EXISTS (SELECT 1 FROM covering))
    SELECT ${OWNED}, (SELECT count(*) FROM covering)::int AS covering`,
};

const PUT_PART: Statement = {
  name: "larder-put-part",
  text: `WITH ${OWN},
      put AS (
        INSERT INTO larder.snapshot_part (shard, epoch, number, part, bytes)
        SELECT $1::int, $2::bigint, $3::bigint, $4::int, $5::bytea FROM own
        ON CONFLICT (shard, epoch, number, part) DO UPDATE SET bytes = excluded.bytes)
    SELECT ${OWNED}`,
};

/** Changes nothing unless all parts are there. */
const COMPLETE: Statement = {
  name: "larder-complete",
  text: `WITH ${OWN},
      whole AS (
        SELECT id FROM own WHERE $4::int = (
          SELECT count(*) FROM larder.snapshot_part
          WHERE shard = $1::int AND epoch = $2::bigint AND number = $3::bigint AND part < $4::int)),
      pointed AS (
        UPDATE larder.shard SET snapshot_epoch = $2::bigint, snapshot_number = $3::bigint, snapshot_parts = $4::int,
          snapshot_bytes = $5::bigint, snapshot_address = $6::text, snapshot_object = $7::text
        WHERE id = (SELECT id FROM whole) RETURNING 1),
      gone AS (
        DELETE FROM larder.snapshot_part WHERE shard = (SELECT id FROM whole)
          AND NOT (epoch = $2::bigint AND number = $3::bigint AND part < $4::int))
    SELECT ${OWNED}, (SELECT count(*) FROM pointed)::int AS pointed`,
};

const FILES: Statement = { name: "larder-files", text: "SELECT files FROM larder.cluster" };

const READ_PART: Statement = {
  name: "larder-read-part",
  text: `SELECT bytes FROM larder.snapshot_part
    WHERE shard = $1::int AND epoch = $2::bigint AND number = $3::bigint AND part = $4::int`,
};

interface Owned {
  readonly owned: number;
}

interface ShardViewRow {
  readonly id: number;
  readonly epoch: number;
  readonly area: string;
  readonly owner: string | null;
  readonly owner_name: string | null;
  readonly heir: string | null;
  readonly pin: string | null;
  readonly writer_format: number;
  readonly tries: number;
  readonly is_held: boolean;
  readonly tenants: number | null;
}

type NodeArray = readonly [
  number: number,
  name: string,
  life: string,
  beat: number,
  isDead: boolean,
  address: string,
  format: number,
  isDrained: boolean,
  keyNumber: number,
];

type ShardArray = readonly [
  shard: number,
  epoch: number,
  area: string,
  owner: string | null,
  ownerName: string | null,
  heir: string | null,
  pin: string | null,
  writerFormat: number,
  tries: number,
  isHeld: boolean,
];

interface WatchRow {
  readonly server: string;
  readonly snapshot: string;
  readonly is_whole: boolean;
  readonly key_number: number;
  readonly tenants: number;
  readonly beats: ClusterChanges["beats"];
  readonly nodes: readonly NodeArray[];
  readonly shards: readonly ShardArray[];
}

/** The columns of `POINTER_COLUMNS`. */
export interface PointerRow {
  readonly snapshot_epoch: number | null;
  readonly number: number;
  readonly parts: number;
  readonly bytes: number;
  readonly address: string | null;
  readonly object: string | null;
}

interface ClaimRow extends PointerRow {
  readonly epoch: number;
  readonly floor: number;
  readonly hash_seed: Buffer;
}

interface HeadRow extends PointerRow, ShardEpoch {
  readonly first: number;
  readonly last: number;
  readonly stop: number;
}

/** Undefined: the shard has no snapshot. */
export function pointerOf(row: PointerRow): SnapshotPointer | undefined {
  const { snapshot_epoch: epoch, number, parts, bytes, address, object: name } = row;
  if (epoch === null) return undefined;
  return { epoch, number, parts, bytes, ...(address !== null && name !== null && { object: { address, name } }) };
}

export class PostgresLogStore implements LogStore {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  async addShards(shards: readonly { shard: number; area: string; hashSeed: Buffer }[]): Promise<void> {
    for (const { shard, area, hashSeed } of shards) await this.#change(ADD_SHARD, [shard, area, hashSeed]);
  }

  async register(node: NodeRegistration): Promise<boolean> {
    const { name, life, formerLife, address, format, clockMs, tenantsSeen, keyChecks } = node;
    const values = [name, life, address, format, clockMs, formerLife ?? null, tenantsSeen ?? null, keyChecks ?? null];
    const rows = await this.#change(REGISTER, values);
    return rows.length > 0;
  }

  async renew(life: string, clockMs: number): Promise<Renewal | undefined> {
    type Row = { beat: number; clock: number; owned: readonly (readonly [number, number])[] };
    const [row] = await this.#change<Row>(RENEW, [life, clockMs]);
    if (row === undefined) return undefined;
    const owned = row.owned.map(([shard, epoch]) => ({ shard, epoch }));
    return { beat: row.beat, storeClockMs: row.clock, owned };
  }

  async watch(): Promise<ClusterView> {
    type Node = Omit<NodeView, "isDead" | "isDrained" | "keyNumber"> & {
      is_dead: boolean;
      is_drained: boolean;
      key_number: number;
      newest_key: number;
    };
    const nodes = await this.#rows<Node>(NODES, []);
    const shards = await this.#rows<ShardViewRow>(SHARDS, []);
    return {
      keyNumber: nodes[0]?.newest_key ?? 0,
      tenants: shards[0]?.tenants ?? 0,
      nodes: nodes.map(
        ({ is_dead: isDead, is_drained: isDrained, key_number: keyNumber, newest_key: _, ...node }): NodeView => ({
          ...node,
          isDead,
          isDrained,
          keyNumber,
        }),
      ),
      shards: shards.map(
        ({ id, owner, owner_name, heir, pin, writer_format, is_held: isHeld, tenants: _, ...shard }): ShardView => ({
          ...shard,
          shard: id,
          owner: owner ?? undefined,
          ownerName: owner_name ?? undefined,
          heir: heir ?? undefined,
          pin: pin ?? undefined,
          writerFormat: writer_format,
          ...(isHeld && { isHeld }),
        }),
      ),
    };
  }

  async watchChanges(position?: string): Promise<ClusterChanges> {
    const [server = null, snapshot = null] = position?.split(" ") ?? [];
    const [row] = await this.#rows<WatchRow>(WATCH, [server, snapshot]);
    if (row === undefined) throw new Error("PostgreSQL answered a look at the nodes and shards with no row");
    return {
      position: `${row.server} ${row.snapshot}`,
      isWhole: row.is_whole,
      keyNumber: row.key_number,
      tenants: row.tenants,
      beats: row.beats,
      nodes: row.nodes.map(nodeOf),
      shards: row.shards.map(shardOf),
    };
  }

  async declareDead(life: string, beat: number): Promise<number | undefined> {
    const [row] = await this.#change<{ clock: number }>(DECLARE_DEAD, [life, beat]);
    return row?.clock;
  }

  async claim({ shard, epoch, life, format }: Claim): Promise<ClaimedShard | undefined> {
    const [row] = await this.#change<ClaimRow>(CLAIM, [shard, epoch, life, format]);
    if (row === undefined) return undefined;
    return { epoch: row.epoch, floorMs: row.floor, hashSeed: row.hash_seed, snapshot: pointerOf(row) };
  }

  recovered({ shard, epoch }: ShardEpoch): Promise<FencedOutcome> {
    return this.#fenced(RECOVERED, [shard, epoch]);
  }

  async pin(shard: number, node: string | undefined): Promise<void> {
    await this.#change(PIN, [shard, node ?? null]);
  }

  async setDrained(node: string, isDrained: boolean): Promise<void> {
    await this.#change(SET_DRAINED, [node, isDrained]);
  }

  async noteKey(life: string, keyNumber: number): Promise<void> {
    await this.#change(NOTE_KEY, [life, keyNumber]);
  }

  async forgetTries(shard: number): Promise<void> {
    await this.#change(FORGET_TRIES, [shard]);
  }

  announce({ shard, epoch }: ShardEpoch, heir: string): Promise<FencedOutcome> {
    return this.#fenced(ANNOUNCE, [shard, epoch, heir]);
  }

  release({ shard, epoch }: ShardEpoch, heir: string | undefined): Promise<FencedOutcome> {
    return this.#fenced(RELEASE, [shard, epoch, heir ?? null]);
  }

  async append({ shard, epoch, segment, start, before, bytes }: Append): Promise<AppendOutcome> {
    const values = [shard, epoch, segment, start, bytes];
    const [row] = await this.#change<Owned & { put: number }>(APPEND, [...values, before]);
    if (row === undefined || row.owned === 0) return "deposed";
    if (row.put === 1) return "committed";
    const [found] = await this.#rows<{ is_same: boolean }>(FIND_ROW, values);
    if (found === undefined) return "missing";
    return found.is_same ? "committed" : "foreign";
  }

  segments(shard: number): Promise<readonly SegmentView[]> {
    return this.#rows<SegmentView>(SEGMENTS, [shard]);
  }

  async heads(shards: readonly number[]): Promise<readonly ShardHead[]> {
    const rows = await this.#rows<HeadRow>(HEADS, [shards]);
    return rows.map((row) => ({
      shard: row.shard,
      epoch: row.epoch,
      snapshot: pointerOf(row),
      firstSegment: row.first,
      lastSegment: row.last,
      lastBytes: row.stop,
    }));
  }

  async read(shard: number, segment: number, start: number, bytesMax: number): Promise<readonly LogRow[]> {
    const rows = await this.#rows<Omit<LogRow, "segment">>(READ, [shard, segment, start, Math.max(1, bytesMax)]);
    return rows.map((row) => ({ segment, ...row }));
  }

  cut({ shard, epoch }: ShardEpoch, segment: number, start: number): Promise<FencedOutcome> {
    return this.#fenced(CUT, [shard, epoch, segment, start]);
  }

  async removeSegments({ shard, epoch }: ShardEpoch, segments: readonly number[]): Promise<RemovalOutcome> {
    const [row] = await this.#change<Owned & { covering: number }>(REMOVE, [shard, epoch, segments]);
    if (row === undefined || row.owned === 0) return "deposed";
    return row.covering === 1 ? "committed" : "uncovered";
  }

  putSnapshotPart({ shard, epoch, number, part, bytes }: SnapshotPart): Promise<FencedOutcome> {
    return this.#fenced(PUT_PART, [shard, epoch, number, part, bytes]);
  }

  async filesAddress(): Promise<string | undefined> {
    const [row] = await this.#rows<{ files: string | null }>(FILES, []);
    return row?.files ?? undefined;
  }

  async completeSnapshot(
    { shard, epoch }: ShardEpoch,
    { number, parts, bytes, object }: Omit<SnapshotPointer, "epoch">,
  ): Promise<FencedOutcome> {
    const place = [object?.address ?? null, object?.name ?? null];
    const [row] = await this.#change<Owned & { pointed: number }>(COMPLETE, [
      ...[shard, epoch, number, parts, bytes],
      ...place,
    ]);
    if (row === undefined || row.owned === 0) return "deposed";
    if (row.pointed === 0) throw new SnapshotIncomplete(`Snapshot ${number} of shard ${shard} lacks parts`);
    return "committed";
  }

  async readSnapshotPart(shard: number, { epoch, number }: SnapshotPointer, part: number): Promise<Buffer | undefined> {
    const [row] = await this.#rows<{ bytes: Buffer }>(READ_PART, [shard, epoch, number, part]);
    return row?.bytes;
  }

  async #fenced(statement: Statement, values: readonly SqlValue[]): Promise<FencedOutcome> {
    const [row] = await this.#change<Owned>(statement, values);
    return row === undefined || row.owned === 0 ? "deposed" : "committed";
  }

  /** Runs a statement that changes something: keeps (3). */
  async #change<Row>(statement: Statement, values: readonly SqlValue[]): Promise<readonly Row[]> {
    const { rows, isWarned } = await this.#session.run<Row>(statement, values);
    if (isWarned) throw new DoubtfulOutcome("PostgreSQL committed with a warning: a standby may not have it");
    return rows;
  }

  async #rows<Row>(statement: Statement, values: readonly SqlValue[]): Promise<readonly Row[]> {
    return (await this.#session.run<Row>(statement, values)).rows;
  }
}

function nodeOf(columns: NodeArray): NumberedNode {
  const [number, name, life, beat, isDead, address, format, isDrained, keyNumber] = columns;
  return { number, name, life, beat, isDead, address, format, isDrained, keyNumber };
}

function shardOf([
  shard,
  epoch,
  area,
  owner,
  ownerName,
  heir,
  pin,
  writerFormat,
  tries,
  isHeld,
]: ShardArray): ShardView {
  return {
    ...{ shard, epoch, area, writerFormat, tries },
    owner: owner ?? undefined,
    ownerName: ownerName ?? undefined,
    heir: heir ?? undefined,
    pin: pin ?? undefined,
    ...(isHeld && { isHeld }),
  };
}
