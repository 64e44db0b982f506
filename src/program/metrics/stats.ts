/**
 * The most important figures of a server, one row each, taken from the metrics,
 * for `GET /v1/stats` and `larder stats`.
 */
import type { FamilySnapshot } from "../../kernel/metrics.ts";
import { type AreaName, areaNames } from "../areas/area.ts";
import type { ShardFigures } from "../cluster/shard-figures.ts";
import type { SeenNode } from "../cluster/status/seen-nodes.ts";
import { type CopyFigures, copyLines } from "./copy-figures.ts";

interface StatRow {
  /** The parts of the server that have it. */
  readonly of: readonly (AreaName | "server")[];
  /** Its name in JSON. */
  readonly name: string;
  /** Its name for people. */
  readonly words: string;
  /** The family of metrics whose series add up to it. */
  readonly family: string;
  readonly unit: "count" | "bytes" | "seconds" | "share";
  /** The figure is the least of the series instead of their sum. */
  readonly isLeast?: true;
  /** It is absent while the family has no series, instead of 0. */
  readonly isOptional?: true;
  /** It only grows, so it has a rate. */
  readonly isTotal?: true;
}

const statRows: readonly StatRow[] = [
  { of: ["server"], name: "uptimeSeconds", words: "up for", family: "process_uptime_seconds", unit: "seconds" },
  { of: ["server"], name: "memoryBytes", words: "memory", family: "process_resident_memory_bytes", unit: "bytes" },
  { of: ["server"], name: "diskFreeBytes", words: "disk free", family: "larder_disk_free_bytes", unit: "bytes" },
  {
    of: areaNames,
    name: "requests",
    words: "requests",
    family: "larder_http_requests_total",
    unit: "count",
    isTotal: true,
  },
  { of: ["store"], name: "keys", words: "keys", family: "larder_store_keys", unit: "count" },
  { of: ["store"], name: "memoryBytes", words: "memory of keys", family: "larder_store_memory_bytes", unit: "bytes" },
  {
    of: ["store"],
    name: "commands",
    words: "commands",
    family: "larder_store_commands_total",
    unit: "count",
    isTotal: true,
  },
  {
    of: ["store"],
    name: "evictedKeys",
    words: "keys evicted",
    family: "larder_store_evicted_keys_total",
    unit: "count",
    isTotal: true,
  },
  { of: ["store"], name: "connections", words: "connections", family: "larder_resp_connections", unit: "count" },
  { of: ["vector"], name: "namespaces", words: "namespaces", family: "larder_vector_namespaces", unit: "count" },
  { of: ["vector"], name: "vectors", words: "vectors", family: "larder_vector_records", unit: "count" },
  {
    of: ["vector"],
    name: "pendingVectors",
    words: "not in a graph yet",
    family: "larder_vector_pending_records",
    unit: "count",
  },
  { of: ["vector"], name: "rowBytes", words: "memory of vectors", family: "larder_vector_row_bytes", unit: "bytes" },
  {
    of: ["vector"],
    name: "rowFileBytes",
    words: "vectors on disk",
    family: "larder_vector_row_file_bytes",
    unit: "bytes",
    isOptional: true,
  },
  {
    of: ["vector"],
    name: "recall",
    words: "lowest recall",
    family: "larder_vector_recall",
    unit: "share",
    isLeast: true,
  },
  {
    of: ["vector"],
    name: "recallMissed",
    words: "recall missed",
    family: "larder_vector_recall_missed",
    unit: "count",
  },
  { of: ["vector"], name: "graphBytes", words: "memory of graphs", family: "larder_vector_graph_bytes", unit: "bytes" },
  {
    of: ["messaging"],
    name: "pendingMessages",
    words: "messages pending",
    family: "larder_messaging_unfinished_messages",
    unit: "count",
  },
  { of: ["messaging"], name: "calls", words: "calls in progress", family: "larder_messaging_calls", unit: "count" },
  {
    of: ["messaging"],
    name: "deadLetters",
    words: "dead letters",
    family: "larder_messaging_dead_letters",
    unit: "count",
  },
  {
    of: ["messaging"],
    name: "runs",
    words: "running workflows",
    family: "larder_messaging_workflow_runs",
    unit: "count",
  },
  { of: ["messaging"], name: "lagSeconds", words: "lag", family: "larder_messaging_lag_seconds", unit: "seconds" },
  {
    of: ["messaging"],
    name: "accepted",
    words: "accepted",
    family: "larder_messaging_accepted_total",
    unit: "count",
    isTotal: true,
  },
  {
    of: ["messaging"],
    name: "delivered",
    words: "delivered",
    family: "larder_messaging_delivered_total",
    unit: "count",
    isTotal: true,
  },
  {
    of: ["messaging"],
    name: "failed",
    words: "failed",
    family: "larder_messaging_failed_total",
    unit: "count",
    isTotal: true,
  },
  { of: areaNames, name: "directoryBytes", words: "on disk", family: "larder_directory_bytes", unit: "bytes" },
  {
    of: areaNames,
    name: "journalPosition",
    words: "journal position",
    family: "larder_journal_end_position",
    unit: "count",
  },
  {
    of: areaNames,
    name: "unshippedBytes",
    words: "not committed",
    family: "larder_cluster_shard_unshipped_bytes",
    unit: "bytes",
  },
  {
    of: areaNames,
    name: "unshippedSeconds",
    words: "commit lag",
    family: "larder_cluster_shard_unshipped_seconds",
    unit: "seconds",
  },
  {
    of: areaNames,
    name: "uncopiedBytes",
    words: "not copied",
    family: "larder_replication_behind_bytes",
    unit: "bytes",
  },
  {
    of: areaNames,
    name: "uncopiedSeconds",
    words: "copy behind",
    family: "larder_replication_behind_seconds",
    unit: "seconds",
  },
];

export type Figures = Readonly<Record<string, number>>;

export interface AreaStats {
  /** `serving` and the like. */
  readonly state: string;
  /** Databases, indexes or users; undefined while the area does not report them. */
  readonly tenants: number | undefined;
  /** By the names of the rows. */
  readonly figures: Figures;
  /** How many requests since the start took up to so many seconds, and longer than the pair before; null: longer than all. */
  readonly durations: readonly (readonly [endSeconds: number | null, count: number])[];
  /** Only of a node of a cluster: the shard of the area, or `shards` if it has several. */
  readonly shard?: ShardFigures;
  readonly shards?: readonly ShardFigures[];
}

export interface ServerStats {
  readonly version: string;
  readonly server: Figures;
  readonly areas: Readonly<Record<AreaName, AreaStats>>;
  /** Of a server that copies its data directory (`--replicate`). */
  readonly replication?: CopyFigures;
  /** Of a node of a cluster: its name, and all nodes as it sees them. */
  readonly cluster?: { readonly node: string; readonly nodes: readonly SeenNode[] };
}

/** Whether a value is the response of a server of this version. */
export function isServerStats(value: unknown): value is ServerStats {
  if (typeof value !== "object" || value === null || !("version" in value) || !("server" in value)) return false;
  const areas = "areas" in value ? value.areas : undefined;
  return typeof areas === "object" && areas !== null && areaNames.every((name) => Object.hasOwn(areas, name));
}

/** The figures of the server or of an area; figures that it does not have are absent. */
export function figuresIn(families: readonly FamilySnapshot[], of: AreaName | "server"): Figures {
  const byName = new Map(families.map((family) => [family.name, family]));
  const figures: [string, number][] = [];
  for (const row of statRows) {
    const family = row.of.includes(of) ? byName.get(row.family) : undefined;
    if (family === undefined || (row.isOptional === true && family.series.length === 0)) continue;
    const all = family.series.map(({ values }) => values[0] ?? 0);
    // The least of nothing is infinite.
    const figure = row.isLeast ? Math.min(...all) : all.reduce((total, value) => total + value, 0);
    // JSON has no NaN or infinity.
    if (Number.isFinite(figure)) figures.push([row.name, figure]);
  }
  return Object.fromEntries(figures);
}

/** The durations of the requests of an area. */
export function durationsIn(families: readonly FamilySnapshot[]): AreaStats["durations"] {
  const family = families.find(({ name }) => name === "larder_http_request_duration_seconds");
  if (family === undefined) return [];
  // The last value of a series is the sum of the durations.
  return [...family.buckets, null].map((endSeconds, index) => [
    endSeconds,
    family.series.reduce((total, { values }) => total + (values[index] ?? 0), 0),
  ]);
}

const tenantWords: Readonly<Record<AreaName, string>> = { store: "databases", vector: "indexes", messaging: "users" };

/** The lines for people; `before` is from `seconds` earlier and gives the rates. */
export function printStats(stats: ServerStats, before: ServerStats, seconds: number): readonly string[] {
  const lines = [`larder ${stats.version}`, ...linesOf("server", [stats.server, before.server], seconds)];
  for (const area of areaNames) {
    const { state, tenants, figures, shard: only, shards = only === undefined ? [] : [only] } = stats.areas[area];
    lines.push(`${area} (${state})`);
    for (const { shard, condition, epoch, owner } of shards)
      lines.push(line("shard", `${shard}: ${condition}, epoch ${epoch}, owner ${owner ?? "none"}`));
    if (tenants !== undefined) lines.push(line(tenantWords[area], String(tenants)));
    lines.push(...linesOf(area, [figures, before.areas[area].figures], seconds));
  }
  if (stats.cluster !== undefined) lines.push("nodes", ...stats.cluster.nodes.map(nodeLine));
  if (stats.replication !== undefined)
    lines.push(
      ...copyLines(stats.replication).map(([words, value]) => (value === undefined ? words : line(words, value))),
    );
  return lines;
}

function nodeLine({ name, isAlive, isDrained, isFront, format, since }: SeenNode): string {
  const facts = [isAlive ? "alive" : "dead", ...(isDrained ? ["drained"] : []), `since ${since}`];
  facts.push(isFront ? "front" : `format ${format}`);
  return line(name, facts.join(", "));
}

function linesOf(of: AreaName | "server", [now, before]: readonly [Figures, Figures], seconds: number): string[] {
  return statRows.flatMap((row) => {
    const value = now[row.name];
    if (!row.of.includes(of) || value === undefined) return [];
    const rate = row.isTotal === true ? `  ${Math.round((value - (before[row.name] ?? 0)) / seconds)}/s` : "";
    return [line(row.words, `${printValue(value, row.unit)}${rate}`)];
  });
}

const WORDS_LENGTH = 20;

function line(words: string, value: string): string {
  return `  ${words.padEnd(WORDS_LENGTH)}${value}`;
}

const UNITS = ["bytes", "kb", "mb", "gb", "tb"] as const;

function printValue(value: number, unit: StatRow["unit"]): string {
  if (unit === "count") return String(value);
  if (unit === "share") return `${Math.round(value * 1_000) / 10} %`;
  if (unit === "seconds") return `${value < 10 ? Math.round(value * 1_000) / 1_000 : Math.round(value)} s`;
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  return `${Math.round((value / 2 ** (10 * power)) * 10) / 10} ${UNITS[power]}`;
}
