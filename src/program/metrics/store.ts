/** The metrics of the store: commands by name and outcome over all databases, and keys by database. */
import { type EventStreams, endReasons } from "../../edge/http/event-streams.ts";
import { cutReasons } from "../../edge/resp/connection.ts";
import type { RespListener } from "../../edge/resp/listener.ts";
import type { Metrics, SeriesSnapshot } from "../../kernel/metrics.ts";
import { type CommandFacts, commands, type Store } from "../../store/mod.ts";

const outcomes = ["ok", "failed", "rejected"] as const;

export function measureStore(metrics: Metrics, store: Store): void {
  metrics.readings(
    {
      name: "larder_store_commands_total",
      help: "Commands run or rejected, by name and outcome; unknown counts all names that do not exist",
      kind: "counter",
      labelNames: ["command", "outcome"],
    },
    () => [...allCommands().flatMap((command) => commandSeries(store, command)), ...unknownSeries(store)],
  );
  metrics.readings(
    { name: "larder_store_keys", help: "Keys, by database", kind: "gauge", labelNames: ["database"] },
    () =>
      store.databases.map((database) => ({ labelValues: [database.name], values: [database.keyspace.entries.size] })),
  );
  metrics.readings(
    {
      name: "larder_store_memory_bytes",
      help: "Memory of keys and values, by database; maxmemory limits it",
      kind: "gauge",
      labelNames: ["database"],
    },
    () => store.databases.map(({ name, keyspace }) => ({ labelValues: [name], values: [keyspace.usedBytes] })),
  );
  metrics.readings(
    {
      name: "larder_store_evicted_keys_total",
      help: "Keys evicted because of maxmemory, by database",
      kind: "counter",
      labelNames: ["database"],
    },
    () => store.databases.map(({ name, keyspace }) => ({ labelValues: [name], values: [keyspace.evictedCount] })),
  );
}

export function measureStreams(metrics: Metrics, streams: EventStreams): void {
  metrics.reading(
    "larder_store_event_streams",
    "Open event streams: subscriptions and monitors",
    () => streams.openCount,
  );
  metrics.readings(
    {
      name: "larder_store_event_streams_ended_total",
      help: "Event streams that the server ended, by reason",
      kind: "counter",
      labelNames: ["reason"],
    },
    () => endReasons.map((reason) => ({ labelValues: [reason], values: [streams.endedCount(reason)] })),
  );
}

export function measureResp(metrics: Metrics, listener: RespListener): void {
  metrics.reading("larder_resp_connections", "Open connections to the RESP port", () => listener.connectionCount);
  metrics.readings(
    {
      name: "larder_resp_connections_total",
      help: "Connections to the RESP port, accepted or refused",
      kind: "counter",
      labelNames: ["outcome"],
    },
    () => [
      { labelValues: ["accepted"], values: [listener.acceptedCount] },
      { labelValues: ["rejected"], values: [listener.rejectedCount] },
    ],
  );
  metrics.readings(
    {
      name: "larder_resp_connections_cut_off_total",
      help: "Connections to the RESP port that the server ended, by reason",
      kind: "counter",
      labelNames: ["reason"],
    },
    () => cutReasons.map((reason) => ({ labelValues: [reason], values: [listener.cutCount(reason)] })),
  );
  metrics.reading(
    "larder_resp_received_bytes_total",
    "Bytes received over RESP",
    () => listener.receivedBytes,
    "counter",
  );
  metrics.reading("larder_resp_sent_bytes_total", "Bytes sent over RESP", () => listener.sentBytes, "counter");
}

function allCommands(): readonly CommandFacts[] {
  return commands.flatMap((command) => [command, ...(command.subcommandByName?.values() ?? [])]);
}

function commandSeries(store: Store, command: CommandFacts): readonly SeriesSnapshot[] {
  const sums = { ok: 0, failed: 0, rejected: 0 };
  for (const database of store.databases) {
    const { calls, failed, rejected } = database.countsOf(command);
    sums.ok += calls - failed;
    sums.failed += failed;
    sums.rejected += rejected;
  }
  return outcomes
    .filter((outcome) => sums[outcome] > 0)
    .map((outcome) => ({ labelValues: [command.fullName, outcome], values: [sums[outcome]] }));
}

/** Unknown names from clients must not become labels. */
const UNKNOWN = "unknown";

function unknownSeries(store: Store): readonly SeriesSnapshot[] {
  const count = store.databases.reduce((sum, { unknownCount }) => sum + unknownCount, 0);
  return count === 0 ? [] : [{ labelValues: [UNKNOWN, "rejected"], values: [count] }];
}
