/** The routes of the vector index that the pages use. */
import { ApiError, type Json, of, request } from "../../api/client.ts";
import type { PageOf } from "../../api/pages.ts";
import { pagePath } from "../../places.ts";

export interface SparseVector {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

/** A record, with the parts that were asked for and that it has. */
export interface VectorRecord {
  readonly id: string;
  readonly score?: number;
  readonly vector?: readonly number[];
  readonly sparseVector?: SparseVector;
  readonly metadata?: Json;
  readonly data?: string;
}

interface NamespaceInfo {
  readonly vectorCount: number;
  readonly pendingVectorCount: number;
}

/** What was measured for a range of topK and of the share of records that pass a filter. */
export interface MeasuredRecall {
  readonly namespace: string;
  readonly topK: string;
  readonly filter: string;
  readonly recall: number;
  readonly lowerBound: number;
  readonly recordCount: number;
  readonly queryCount: number;
  readonly effort: number;
  readonly targetReached: boolean;
}

export interface IndexInfo extends NamespaceInfo {
  readonly indexSize: number;
  readonly dimension: number;
  readonly similarityFunction: string;
  readonly indexType: string;
  readonly denseIndex?: { readonly embeddingModel?: string };
  readonly sparseIndex?: { readonly embeddingModel?: string };
  /** Absent while no namespace has a graph: then every search is exact. */
  readonly recall?: { readonly target: number; readonly measured: readonly MeasuredRecall[] };
  /** By name; the default namespace has the empty name. */
  readonly namespaces: Readonly<Record<string, NamespaceInfo>>;
  /** Further facts. */
  readonly [fact: string]: unknown;
}

export const ALL_PARTS = { includeMetadata: true, includeVectors: true, includeData: true } as const;

/** Calls a route; `namespace`: empty for the default one, undefined for routes without one. */
export async function callIndex<Result>(
  index: string,
  route: string,
  { namespace = "", json, signal }: { namespace?: string; json?: unknown; signal?: AbortSignal } = {},
): Promise<Result> {
  const place = namespace === "" ? route : `${route}/${encodeURIComponent(namespace)}`;
  const { result } = await request<{ result: Result }>(of("vector", index) + place, {
    json: json ?? {},
    ...(signal !== undefined && { signal }),
  });
  return result;
}

export function infoOf(index: string, signal?: AbortSignal): Promise<IndexInfo> {
  return callIndex(index, "info", signal === undefined ? {} : { signal });
}

/** The memory of an index, as it counts for the limit; undefined on a node of a cluster that does not serve it. */
export async function memoryOf(index: string, signal?: AbortSignal): Promise<number | undefined> {
  const { indexes } = await request<{ indexes: readonly { name: string; memoryBytes?: number }[] }>(
    "admin/v1/indexes",
    signal === undefined ? {} : { signal },
  );
  return indexes.find(({ name }) => name === index)?.memoryBytes;
}

export interface NamespaceRow extends NamespaceInfo {
  readonly name: string;
  /** Undefined on a node of a cluster that does not serve the index. */
  readonly memoryBytes?: number;
}

/** The most namespaces of a page. */
const PAGE_MAX = 1_000;
const CONFLICT = 409;

interface WantedNamespaces {
  readonly prefix?: string;
  readonly count: number;
  readonly cursor?: string | undefined;
}

/** A page of namespaces. A node of a cluster that does not serve the index has all of them, but not their memory. */
export async function namespacePage(
  index: string,
  { prefix = "", count, cursor }: WantedNamespaces,
  signal: AbortSignal,
): Promise<PageOf<NamespaceRow>> {
  const query = { prefix: prefix === "" ? undefined : prefix, count, cursor };
  const path = `admin/v1/indexes/${encodeURIComponent(index)}/namespaces`;
  try {
    const page = await request<{ namespaces: readonly NamespaceRow[]; cursor?: string }>(path, { query, signal });
    return { rows: page.namespaces, cursor: page.cursor };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== CONFLICT) throw error;
    const { namespaces } = await infoOf(index, signal);
    const rows = Object.entries(namespaces).map(([name, info]) => ({ name, ...info }));
    return { rows: rows.filter(({ name }) => name.startsWith(prefix)) };
  }
}

/** The first namespaces, at least so many if there are. */
export async function firstNamespaces(
  index: string,
  wanted: number,
  signal: AbortSignal,
): Promise<PageOf<NamespaceRow>> {
  const rows: NamespaceRow[] = [];
  let cursor: string | undefined;
  do {
    const count = Math.min(wanted - rows.length, PAGE_MAX);
    const page = await namespacePage(index, { count, cursor }, signal);
    rows.push(...page.rows);
    ({ cursor } = page);
  } while (cursor !== undefined && rows.length < wanted);
  return { rows, cursor };
}

/** The address of a page of an index: `indexPage("main", "records", { namespace, id })`. */
export function indexPage(index: string, name: string, query: Readonly<Record<string, string>>): string {
  return `${pagePath("vector", index, name)}?${new URLSearchParams(query)}`;
}

export function namespaceText(name: string): string {
  return name === "" ? "(default)" : name;
}
