/**
 * `larder cluster import <directory>`: the data of a single server becomes that of
 * a cluster whose areas are empty.
 *
 * (1) The directory is locked, read as a start reads it, and not changed.
 * (2) All areas are written in one transaction, under a new epoch of each shard.
 *     So an interrupted import leaves the cluster empty, and a former owner of a
 *     shard can add nothing.
 * (3) The end of a commit can be unknown. A repetition finds the areas as it would
 *     write them, and proves by a commit of its own that they are safe.
 *
 * The only shard of an area takes its files (`whole-area.ts`). Several shards take
 * its tenants (`split-area.ts`).
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { PostgresLogStore } from "../../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession, Statement } from "../../../../cluster/postgres/session.ts";
import type { TenantKind } from "../../../../edge/admin/routes.ts";
import { systemClock } from "../../../../kernel/clock.ts";
import type { OnBytes } from "../../../../persistence/byte-progress.ts";
import { checkDataDirectory } from "../../../../persistence/data-directory.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { DirectoryInUse } from "../../../../persistence/errors.ts";
import { damageOf, inspectStoredArea } from "../../../areas/inspect-area.ts";
import { describeArea } from "../../../cli/backups/describe-area.ts";
import { reportBytes } from "../../../cli/progress.ts";
import { readStoredTokens } from "../../../cli/running-server.ts";
import { assertRestored, STORED_AREAS } from "../../../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../../../directory/directory-lock.ts";
import { directoryRefusal, StartRefusal } from "../../../refusal.ts";
import type { RunSettings } from "../../../settings/run-settings.ts";
import { areaOfKind } from "../../../tenants/administration.ts";
import { type StoredTenant, type StoredTokens, TOKENS_FILE } from "../../../tenants/stored-tokens.ts";
import { resolveTenants } from "../../../tenants/tokens.ts";
import { type ClusterFacts, firstShardOf, readFacts, withSession } from "../../cluster-facts.ts";
import { ungivenSecrets } from "../../given-secrets.ts";
import { assertNoNode } from "../../node-file.ts";
import { keysOf } from "../../tenants/open-tenants.ts";
import { findLivingNodes, printNodes } from "../living-nodes.ts";
import { type ClusterPlace, changeAtOnce, type Transaction } from "../transaction.ts";
import { upgradeIfOlder } from "../upgrade.ts";
import { type MadeTenant, madeTenants, SealedTokens, type Sealing, withoutMade } from "./sealed-tokens.ts";
import type { ImportSource } from "./source.ts";
import { splitArea } from "./split-area.ts";
import { wholeArea } from "./whole-area.ts";

/** Returns the lines to print. Throws a `StartRefusal`; then the directory is unchanged, and the cluster is empty or whole. */
export async function importDirectory(
  run: RunSettings,
  place: ClusterPlace,
  operand: string,
): Promise<readonly string[]> {
  const directory = resolve(operand);
  const lock = await openSource(directory);
  try {
    const stored = readStoredTokens(directory);
    const made = madeTenants(run, stored);
    // Rows with secrets are of the newest tables.
    if (made.length > 0 && run.settings.clusterKey !== undefined) await upgradeIfOlder(place);
    const { facts, sources, isDone } = await withSession(place.plan, place.place, async (session) => {
      const known = await readFacts(session);
      const read = await readSources(run, directory, { facts: known, session });
      return { facts: known, sources: read, isDone: await isImported(session, known.id, read) };
    });
    const { id, version } = facts;
    const keys = keysOf(run, id);
    const sealing = keys && {
      ...{ tenants: made, keys, shards: facts.shards, isRepeated: isDone },
      place: run.origins.clusterKey.place,
    };
    const reports = sources.map(({ report }) => report);
    const lines = [
      ...reports.map(describeArea),
      ...sources.flatMap((source) => source.lines),
      ...damageOf(reports),
      ...notesOn(run, directory, { stored, made, hasKey: keys !== undefined }),
    ];
    const isThere = `the cluster ${id} already has the data of ${directory}`;
    if (isDone) {
      const added = sealing === undefined ? [] : await changeAtOnce(place, (transaction) => seal(transaction, sealing));
      return [added.length > 0 ? isThere : `${isThere}; nothing was changed`, ...sealedLines(added), ...lines];
    }
    const sealed = await reportBytes(run, (onBytes) =>
      changeAtOnce(place, (transaction) => write(transaction, { sources, version, sealing, onBytes })),
    );
    return [`imported ${directory} into the cluster ${id}`, ...sealedLines(sealed), ...lines];
  } catch (fault) {
    throw directoryRefusal(fault, directory, "the operand");
  } finally {
    lock.release();
  }
}

/** keeps (1) */
async function openSource(directory: string): Promise<DirectoryLock> {
  try {
    if (!existsSync(directory)) throw new StartRefusal(`${directory} does not exist: name a data directory`);
    assertRestored(directory);
    if (!(await checkDataDirectory(fileDisk, directory, STORED_AREAS)))
      throw new StartRefusal(`${directory} is not a data directory: it has no format file`);
    assertNoNode(directory);
    return await lockDirectory(directory);
  } catch (fault) {
    if (fault instanceof DirectoryInUse)
      throw new StartRefusal(`A larder uses ${directory}: stop it with larder stop, and import then`, 1, {
        cause: fault,
      });
    throw directoryRefusal(fault, directory, "the operand");
  }
}

/** The areas of the directory, in their order, with the shards that take them. */
async function readSources(
  run: RunSettings,
  directory: string,
  { facts, session }: { facts: ClusterFacts; session: SqlSession },
): Promise<readonly ImportSource[]> {
  const sources: ImportSource[] = [];
  for (const area of STORED_AREAS) {
    const shards = facts.shards[area].map(({ shard }) => shard);
    const source = await reportBytes(run, async (onBytes) => {
      if (shards.length > 1) return splitArea(directory, { area, shards, session, onBytes });
      const report = await inspectStoredArea(directory, area, onBytes);
      if (report.fault !== undefined) throw new StartRefusal(report.fault);
      return wholeArea(directory, firstShardOf(facts, area).shard, report);
    });
    sources.push(source);
  }
  return sources;
}

/** Whether the cluster has the areas already. Throws a `StartRefusal` if it has others, or if a node lives. */
async function isImported(session: SqlSession, id: string, sources: readonly ImportSource[]): Promise<boolean> {
  let isEmpty = true;
  let isMissing = false;
  const used = new Set<string>();
  const other = new Set<string>();
  for (const { area, shards, filled, contentsOf } of sources)
    for (const shard of shards) {
      const contents = await contentsOf(session, shard);
      if (contents !== "empty") {
        isEmpty = false;
        used.add(area);
      }
      if (contents === "other") other.add(area);
      if (contents !== "same" && filled.includes(shard)) isMissing = true;
    }
  if (isEmpty) {
    const living = await findLivingNodes(new PostgresLogStore(session), systemClock);
    if (living.length === 0) return false;
    throw new StartRefusal(
      `The ${printNodes(living)} of the cluster must not run meanwhile: stop what runs, and import then`,
    );
  }
  if (isMissing || other.size > 0)
    throw new StartRefusal(
      `The cluster ${id} has data already (${[...used].join(", ")}): import into a new cluster, which larder cluster init makes in another database`,
    );
  if ((await session.run(LOCK, [])).isWarned) throw new StartRefusal(NOT_SAFE); // keeps (3)
  return true;
}

/** Changes nothing, and its commit waits for the standby as an import does. */
const LOCK: Statement = { name: "larder-import-lock", text: "SELECT id FROM larder.shard FOR NO KEY UPDATE" };
const NOT_SAFE =
  "PostgreSQL has the data, but perhaps only on its primary: run the command again when its standby is there";

/** Every claim and append waits for the end of the transaction. */
const LOCK_SHARDS = "SELECT id FROM larder.shard ORDER BY id FOR UPDATE";

/** A statement of its own, because one that waits for a lock does not see the rows of the log that were added meanwhile. */
const SHARD_STATES = `SELECT id, epoch::float8 AS epoch,
    snapshot_number IS NOT NULL OR EXISTS (SELECT 1 FROM larder.log WHERE shard = s.id) AS is_used,
    EXISTS (SELECT 1 FROM larder.node n WHERE n.life = s.owner AND NOT n.is_dead) AS is_owned
  FROM larder.shard s`;

/** The names of the imported tenants of an area with one shard are in the data: the next owner of the shard notes them. */
const FORGET_TENANTS = "UPDATE larder.shard SET are_tenants_known = false WHERE area = ANY($1::text[])";

interface Writing {
  readonly sources: readonly ImportSource[];
  /** Of the tables. */
  readonly version: number;
  /** Undefined: there is no key to seal tokens with. */
  readonly sealing: Sealing | undefined;
  readonly onBytes: OnBytes;
}

/** keeps (2). Resolves with the tenants whose tokens were sealed. */
async function write(
  transaction: Transaction,
  { sources, version, sealing, onBytes }: Writing,
): Promise<readonly MadeTenant[]> {
  type Shard = { id: number; epoch: number; is_used: boolean; is_owned: boolean };
  const tokens = await beginSealing(transaction, sealing);
  await transaction.rows(LOCK_SHARDS);
  const shards = await transaction.rows<Shard>(SHARD_STATES);
  if (shards.some(({ is_used, is_owned }) => is_used || is_owned))
    throw new StartRefusal("A node has started in the cluster meanwhile: stop it, and import into a new cluster");
  const epochOf = (shard: number): number => (shards.find(({ id }) => id === shard)?.epoch ?? 0) + 1;
  for (const source of sources) await source.write(transaction, { epochOf, onBytes });
  const whole = sources.filter((source) => source.shards.length === 1).map(({ area }) => area);
  if (version > 1) await transaction.rows(FORGET_TENANTS, [whole]);
  return (await tokens?.write()) ?? [];
}

/** Of data that the cluster has already. */
async function seal(transaction: Transaction, sealing: Sealing): Promise<readonly MadeTenant[]> {
  return (await (await beginSealing(transaction, sealing))?.write()) ?? [];
}

async function beginSealing(transaction: Transaction, sealing: Sealing | undefined): Promise<SealedTokens | undefined> {
  if (sealing === undefined || sealing.tenants.length === 0) return undefined;
  return SealedTokens.begin(transaction, sealing);
}

function sealedLines(sealed: readonly MadeTenant[]): readonly string[] {
  if (sealed.length === 0) return [];
  const names = sealed.map(({ kind, name }) => `${areaOfKind[kind]}/${name}`);
  return [`sealed the tokens of tenants that were made at run time: ${names.join(", ")}`];
}

interface Noted {
  readonly stored: StoredTokens;
  /** The tenants whose tokens can be sealed. */
  readonly made: readonly MadeTenant[];
  readonly hasKey: boolean;
}

/** What the operator has to do about secrets and definitions that are not in the cluster. */
function notesOn(run: RunSettings, directory: string, { stored, made, hasKey }: Noted): readonly string[] {
  const notes = [`do not start a single server on ${directory} again: what it accepts is not in the cluster`];
  const sealed = hasKey ? made : [];
  const ungiven = ungivenSecrets(withoutMade(resolveTenants(run, stored).tenants, sealed));
  if (ungiven.length > 0)
    notes.push(`${join(directory, TOKENS_FILE)} has secrets that a cluster does not store:`, ...ungiven);
  if (!hasKey && made.length > 0)
    notes.push(
      `to seal the tokens of those that were made at run time, run this command again with ${run.origins.clusterKey.place}, before a node starts`,
    );
  const lists: readonly (readonly [TenantKind, string, readonly StoredTenant[] | undefined])[] = [
    ["databases", "database", stored.databases],
    ["indexes", "index", stored.indexes],
    ["users", "messaging user", stored.users],
  ];
  for (const [kind, noun, tenants] of lists)
    for (const { name, madeBy } of tenants ?? [])
      if (madeBy === "admin" && !sealed.some((each) => each.kind === kind && each.name === name))
        notes.push(`The ${noun} ${name} was made at run time: list it in the configuration file of every node`);
  return notes;
}
