/**
 * The tables of a cluster, in the schema `larder`.
 *
 * All shards share the tables: old segments leave by DELETE, which
 * `bench/cluster.bench.ts` compares with a ring of tables for each shard. Bytes
 * are stored uncompressed outside of their rows, because compressing them would
 * take more processor time than it saves, and `shard` and `node` have room in
 * their pages for the next version of a row, so that updates change no index.
 *
 * `tenant` says which shard of its area a database, an index or a user of messaging
 * lives on. `are_tenants_known` of a shard: each tenant that it has data of is in
 * that table. It is false for the shard of a cluster of version 1 and after an
 * import, until an owner has recovered the shard.
 *
 * `memory` of a node is what it reports for `larder cluster status`. Other nodes read what
 * it follows as a standby (`program/cluster/standby/standby-report.ts`), and nothing else.
 * `key_number` of the cluster counts the keys by which nodes know each other. `key`
 * and `former_key` are the secrets of the last two; a null one is derived from the
 * seeds of the shards. `key_number` of a node is the newest key that it accepts.
 * `sealed` of a tenant: it was made at run time, and these are its secrets, which the
 * key of the cluster opens. `is_removed`: its shard may still have its data.
 * `tenants` of the cluster is the version of the last such change, `tenants_seen`
 * of a node the version that it has; it is NULL for a node without the key.
 * `key_check` tells one key from another (`program/cluster/tenants/`), and
 * `key_checks` of a node are those of the keys that it has.
 * `moving_to` of a tenant: no node accepts writes of it, until it is on that shard.
 * `left_on`: that shard may still have its data from before. `moved` is the version
 * of the last change of these, which seals nothing. Nobody claims a shard that
 * `is_held`, because a command replaces its contents
 * (`program/cluster/administer/move/`).
 *
 * `files` of the cluster is the address of the object store that snapshots go to; NULL: they stay in `snapshot_part`.
 * A snapshot whose shard has `snapshot_object` is that object of the store `snapshot_address`, and has no parts.
 *
 * `changed` is the transaction that last changed what other nodes read of a node or a shard
 * (`WATCH` in postgres-log-store.ts): triggers write it, so that no statement can forget it,
 * not even one of an earlier version of larder. `number` of a node stays with its name.
 */

/** Raised by each change of the tables. A store refuses a newer one, and changes an older one (`UPGRADES`). */
export const SCHEMA_VERSION = 7;

/** The columns of a table that other nodes follow. A beat and a clock change all the time, and a snapshot concerns its owner only. */
const WATCHED = {
  node: ["name", "life", "is_dead", "address", "format", "is_drained", "key_number"],
  shard: ["id", "epoch", "area", "owner", "owner_name", "heir", "pin", "writer_format", "tries", "is_held"],
} as const;

/**
 * The triggers that write `changed`, and the indexes of the statements that each node runs again and again: those which
 * find the shards that changed, and the shards of one owner.
 */
const WATCHING = `
CREATE FUNCTION larder.note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed := pg_catalog.txid_current();
  RETURN NEW;
END $$;
${Object.entries(WATCHED)
  .map(([table, columns]) => {
    const values = (row: string): string => `(${columns.map((column) => `${row}.${column}`).join(", ")})`;
    return `CREATE TRIGGER note_insert BEFORE INSERT ON larder.${table}
  FOR EACH ROW EXECUTE FUNCTION larder.note_change();
CREATE TRIGGER note_update BEFORE UPDATE ON larder.${table}
  FOR EACH ROW WHEN (${values("OLD")} IS DISTINCT FROM ${values("NEW")}) EXECUTE FUNCTION larder.note_change();`;
  })
  .join("\n")}
CREATE INDEX shard_changed ON larder.shard (changed);
CREATE INDEX shard_owner ON larder.shard (owner);
`;

export const SCHEMA = `
CREATE SCHEMA larder;
CREATE TABLE larder.cluster (
  is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one),
  id uuid NOT NULL,
  branch uuid NOT NULL,
  schema_version int NOT NULL,
  key_number int NOT NULL DEFAULT 0,
  key bytea,
  former_key bytea,
  tenants bigint NOT NULL DEFAULT 0,
  key_check bytea,
  files text
);
CREATE TABLE larder.node (
  name text PRIMARY KEY,
  life uuid NOT NULL UNIQUE,
  beat bigint NOT NULL DEFAULT 0,
  is_dead boolean NOT NULL DEFAULT false,
  address text NOT NULL,
  format int NOT NULL,
  clock_ms bigint NOT NULL,
  schema_version int NOT NULL DEFAULT 1,
  is_drained boolean NOT NULL DEFAULT false,
  memory json,
  key_number int NOT NULL DEFAULT 0,
  tenants_seen bigint,
  number int NOT NULL GENERATED ALWAYS AS IDENTITY,
  changed bigint NOT NULL DEFAULT 0,
  key_checks bytea
) WITH (fillfactor = 20);
CREATE TABLE larder.shard (
  id int PRIMARY KEY,
  area text NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  owner uuid,
  owner_name text,
  heir text,
  pin text,
  tries int NOT NULL DEFAULT 0,
  floor_ms bigint NOT NULL DEFAULT 0,
  writer_format int NOT NULL DEFAULT 1,
  hash_seed bytea NOT NULL,
  snapshot_epoch bigint,
  snapshot_number bigint,
  snapshot_parts int,
  snapshot_bytes bigint,
  are_tenants_known boolean NOT NULL DEFAULT false,
  changed bigint NOT NULL DEFAULT 0,
  is_held boolean NOT NULL DEFAULT false,
  snapshot_address text,
  snapshot_object text
) WITH (fillfactor = 20);
CREATE TABLE larder.tenant (
  area text NOT NULL,
  name text NOT NULL,
  shard int NOT NULL,
  definition jsonb,
  sealed bytea,
  version bigint NOT NULL DEFAULT 0,
  is_removed boolean NOT NULL DEFAULT false,
  moving_to int,
  left_on int,
  moved bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (area, name)
);
CREATE TABLE larder.log (
  shard int NOT NULL,
  segment bigint NOT NULL,
  start bigint NOT NULL,
  stop bigint NOT NULL,
  epoch bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (shard, segment, start) INCLUDE (stop, epoch)
);
ALTER TABLE larder.log ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE larder.snapshot_part (
  shard int NOT NULL,
  epoch bigint NOT NULL,
  number bigint NOT NULL,
  part int NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (shard, epoch, number, part)
);
ALTER TABLE larder.snapshot_part ALTER COLUMN bytes SET STORAGE EXTERNAL;
${WATCHING}`;

/**
 * The statements that change the tables of each earlier version into those of the next one. Nodes of the earlier version
 * that run meanwhile go on, so they only add.
 */
export const UPGRADES: ReadonlyMap<number, string> = new Map([
  [
    1,
    `
ALTER TABLE larder.node ADD COLUMN schema_version int NOT NULL DEFAULT 1;
ALTER TABLE larder.shard ADD COLUMN are_tenants_known boolean NOT NULL DEFAULT false;
CREATE TABLE larder.tenant (
  area text NOT NULL,
  name text NOT NULL,
  shard int NOT NULL,
  PRIMARY KEY (area, name)
);
`,
  ],
  [2, "ALTER TABLE larder.node ADD COLUMN is_drained boolean NOT NULL DEFAULT false"],
  [
    3,
    `
ALTER TABLE larder.cluster ADD COLUMN key_number int NOT NULL DEFAULT 0, ADD COLUMN key bytea, ADD COLUMN former_key bytea;
ALTER TABLE larder.node ADD COLUMN key_number int NOT NULL DEFAULT 0, ADD COLUMN memory json;
`,
  ],
  [
    4,
    `
ALTER TABLE larder.cluster ADD COLUMN tenants bigint NOT NULL DEFAULT 0, ADD COLUMN key_check bytea;
ALTER TABLE larder.node ADD COLUMN tenants_seen bigint;
ALTER TABLE larder.tenant ADD COLUMN definition jsonb, ADD COLUMN sealed bytea,
  ADD COLUMN version bigint NOT NULL DEFAULT 0, ADD COLUMN is_removed boolean NOT NULL DEFAULT false;
`,
  ],
  [
    5,
    `
ALTER TABLE larder.node ADD COLUMN key_checks bytea, ADD COLUMN number int NOT NULL GENERATED ALWAYS AS IDENTITY,
  ADD COLUMN changed bigint NOT NULL DEFAULT 0;
ALTER TABLE larder.shard ADD COLUMN is_held boolean NOT NULL DEFAULT false, ADD COLUMN changed bigint NOT NULL DEFAULT 0;
ALTER TABLE larder.tenant ADD COLUMN moving_to int, ADD COLUMN left_on int, ADD COLUMN moved bigint NOT NULL DEFAULT 0;
${WATCHING}`,
  ],
  [
    6,
    `
ALTER TABLE larder.cluster ADD COLUMN files text;
ALTER TABLE larder.shard ADD COLUMN snapshot_address text, ADD COLUMN snapshot_object text;
`,
  ],
]);
