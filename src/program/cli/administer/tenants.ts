/**
 * `larder db`, `larder index` and `larder user`: calls of the admin API of a
 * running server. Its error texts are printed unchanged.
 */
import {
  askForNamespaces,
  askForReset,
  askForTenants,
  askToCreate,
  askToDelete,
  reachIn,
} from "../../../edge/admin/client.ts";
import { NAMESPACES_PAGE_MAX } from "../../../edge/admin/namespaces.ts";
import type { ChangeReach, TenantKind } from "../../../edge/admin/routes.ts";
import { StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import type { Secret } from "../../tenants/tokens.ts";
import { readTenants } from "../environment/print-environment.ts";
import { callServer, readAllPages } from "../running-server.ts";
import { cellOf, tableLines } from "./table.ts";

/** A tenant that a command names, with the options of the command. */
export interface NamedTenant {
  readonly kind: TenantKind;
  readonly name: string;
  readonly options: ReadonlyMap<string, string>;
}

const columns: Readonly<Record<TenantKind, readonly string[]>> = {
  databases: ["name", "source", "memoryBytes"],
  indexes: [
    "name",
    "source",
    "type",
    "dimension",
    "similarity",
    "embedding",
    "sparseEmbedding",
    "recallTarget",
    "rows",
    "memoryBytes",
  ],
  users: ["name", "source", "memoryBytes"],
};

/** The headings of columns that are not the names of their fields. */
const headings: Readonly<Record<string, string>> = {
  sparseEmbedding: "sparse embedding",
  recallTarget: "recall target",
  memoryBytes: "bytes",
};

/** Returns the lines to print. Rejects with a `StartRefusal`, like the other functions. */
export async function listTenants(
  run: RunSettings,
  kind: TenantKind,
  { isJson }: { isJson: boolean },
): Promise<readonly string[]> {
  const tenants = await callServer(run, (call) => askForTenants(call, kind));
  if (isJson) return [JSON.stringify(tenants, undefined, 2)];
  const names = columns[kind];
  return tableLines(
    tenants.map((tenant) => names.map((name) => cellOf(name === "embedding" ? modelOf(tenant[name]) : tenant[name]))),
    names.map((name) => headings[name] ?? name),
  );
}

const namespaceColumns = ["name", "vectorCount", "pendingVectorCount", "memoryBytes"] as const;

/** The namespaces of an index. */
export async function listNamespaces(
  run: RunSettings,
  { name: index, options }: Pick<NamedTenant, "name" | "options">,
): Promise<readonly string[]> {
  const prefix = options.get("prefix");
  const query = { count: String(NAMESPACES_PAGE_MAX), ...(prefix !== undefined && { prefix }) };
  const namespaces = await readAllPages(run, (call, cursor) =>
    askForNamespaces(call, { index, query: { ...query, ...cursor } }),
  );
  if (options.has("json")) return [JSON.stringify(namespaces, undefined, 2)];
  return tableLines(
    namespaces.map((namespace) => namespaceColumns.map((name) => cellOf(namespace[name]))),
    ["name", "records", "pending", "bytes"],
  );
}

export async function createTenant(run: RunSettings, { kind, name, options }: NamedTenant): Promise<readonly string[]> {
  const description = descriptionIn(options);
  const made = await callServer(run, (call) => askToCreate(call, { kind, name, description }));
  return fieldLines(made, options);
}

export async function removeTenant(
  run: RunSettings,
  { kind, name, options, noun }: NamedTenant & { readonly noun: string },
): Promise<readonly string[]> {
  const removed = await callServer(run, (call) => askToDelete(call, { kind, name }));
  if (options.has("json")) return fieldLines(removed, options);
  return [`removed the ${noun} ${name}`, ...reachLines(reachIn(removed))];
}

/** Of a change that not every node of the cluster has yet. */
export function reachLines({ reachedAllNodes, missingNodes }: ChangeReach): readonly string[] {
  if (reachedAllNodes !== false) return [];
  const which = missingNodes === undefined ? "some nodes" : `these nodes: ${missingNodes.join(", ")}`;
  return [`# not yet in effect on ${which}; larder cluster status says when it is`];
}

/** With `reset`, the new ones; otherwise those of the settings, the configuration file or tokens.json. */
export async function tokensOf(run: RunSettings, { kind, name, options }: NamedTenant): Promise<readonly string[]> {
  if (options.has("reset")) {
    const tokens = await callServer(run, (call) => askForReset(call, { kind, name }));
    return fieldLines({ ...tokens }, options);
  }
  const { tenants, assertKnown } = await readTenants(run, { [kind]: name });
  const [tenant] = tenants[kind];
  if (tenant === undefined) throw new StartRefusal(`There is no ${kind}`, 2);
  const secrets: Readonly<Record<string, Secret>> = {
    token: tenant.token,
    readOnlyToken: tenant.readOnlyToken,
    ...("currentSigningKey" in tenant && {
      currentSigningKey: tenant.currentSigningKey as Secret,
      nextSigningKey: tenant.nextSigningKey as Secret,
    }),
  };
  assertKnown(Object.values(secrets));
  const values = Object.entries(secrets).map(([key, { value }]) => [key, value] as const);
  return fieldLines({ name, ...Object.fromEntries(values) }, options);
}

/** The fields of a new tenant besides its name, for the body of the request. */
function descriptionIn(options: ReadonlyMap<string, string>): Readonly<Record<string, unknown>> {
  const text = (name: string): string | undefined => options.get(name);
  const dimension = text("dimension");
  const model = text("embedding");
  const provider = text("provider");
  const sparseEmbedding = text("sparse embedding");
  const recallTarget = text("recall target");
  const rows = text("rows");
  const shard = text("shard");
  return {
    ...(text("type") !== undefined && { type: text("type") }),
    ...(dimension !== undefined && { dimension: numberIn(dimension) }),
    ...(text("similarity") !== undefined && { similarity: text("similarity") }),
    ...((model !== undefined || provider !== undefined) && {
      embedding: { ...(model !== undefined && { model }), ...(provider !== undefined && { provider }) },
    }),
    ...(sparseEmbedding !== undefined && { sparseEmbedding }),
    ...(recallTarget !== undefined && { recallTarget }),
    ...(rows !== undefined && { rows }),
    ...(shard !== undefined && { shard: numberIn(shard) }),
  };
}

/** Another text than that of a number as it is: the server refuses it and names the field. */
function numberIn(text: string): number | string {
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}

function modelOf(embedding: unknown): unknown {
  return typeof embedding === "object" && embedding !== null && "model" in embedding ? embedding.model : embedding;
}

function fieldLines(
  fields: Readonly<Record<string, unknown>>,
  options: ReadonlyMap<string, string>,
): readonly string[] {
  if (options.has("json")) return [JSON.stringify(fields, undefined, 2)];
  return tableLines(Object.entries(fields).map(([name, value]) => [name, cellOf(value)]));
}
