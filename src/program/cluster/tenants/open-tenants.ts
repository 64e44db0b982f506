/**
 * The start of a node with the tenants that were made at run time: it compares its
 * key with that of the cluster, and reads them.
 */
import type { SqlSession } from "../../../cluster/postgres/session.ts";
import { parseJsonText } from "../../../kernel/json/parse.ts";
import { StartRefusal } from "../../refusal.ts";
import { FieldReader } from "../../settings/field-reader.ts";
import { INDEX_KEYS, type IndexPlan, type IndexRules, readIndexPlan } from "../../settings/index-settings.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { nodeNameOf } from "../setting-rules.ts";
import { ClusterKey, ClusterKeys } from "./cluster-key.ts";
import { giveKey, type KeyFacts, readKeyFacts } from "./tenant-table.ts";

/** The keys of this node; undefined: it has none. Throws a `StartRefusal` if none is that of the cluster. */
export async function openKeys(
  session: SqlSession,
  run: RunSettings,
  cluster: string,
): Promise<ClusterKeys | undefined> {
  const keys = keysOf(run, cluster);
  if (keys !== undefined) await giveKey(session, keys.newest.check, nodeNameOf(run));
  const problem = keyProblem(keys, await readKeyFacts(session), run);
  if (problem !== undefined) throw new StartRefusal(problem);
  return keys;
}

/** Those of the settings; undefined: they have none. `cluster`: its id. */
export function keysOf({ settings }: RunSettings, cluster: string): ClusterKeys | undefined {
  const { clusterKey, clusterKeyOld } = settings;
  if (clusterKey === undefined) return undefined;
  const former = clusterKeyOld === undefined ? undefined : new ClusterKey(clusterKeyOld, cluster);
  return new ClusterKeys(new ClusterKey(clusterKey, cluster), former);
}

/** Why a node may not start with its key, or without one. */
export function keyProblem(
  keys: ClusterKeys | undefined,
  { check, sealed }: KeyFacts,
  { origins }: Pick<RunSettings, "origins">,
): string | undefined {
  const { place } = origins.clusterKey;
  if (keys === undefined)
    return sealed === 0
      ? undefined
      : `${place} is not set, and the cluster has ${sealed} databases, indexes or users that were made at run time: set it to the key of the other nodes`;
  if (check === undefined || keys.find(check) !== undefined) return undefined;
  return keys.former === undefined
    ? `${place} is not the key of the cluster: set it to the key of the other nodes`
    : `Neither ${place} nor ${origins.clusterKeyOld.place} is the key of the cluster: set one of them to the key of the other nodes`;
}

/** Reads the definition of an index in the tables. Throws an `Error` that names the fields which this node cannot serve. */
export function readTenantIndex(definition: string, rules: IndexRules): IndexPlan {
  const reader = new FieldReader();
  const fields = reader.object(parseJsonText(definition), "definition", INDEX_KEYS);
  const plan = readIndexPlan(reader, fields, { path: "definition", rules });
  if (reader.problems.length > 0) throw new Error(reader.problems.join("; "));
  return plan;
}
