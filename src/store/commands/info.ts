/**
 * INFO: facts about a database, in the format of Redis. A line is included only
 * if it is true; figures that are not measured are omitted.
 */
import { type Call, noKeys, type Row } from "../command.ts";
import { type CommandFacts, REDIS_VERSION } from "../command-facts.ts";
import type { CommandHost } from "../command-host.ts";
import { type Reply, verbatim } from "../reply/reply.ts";

export const infoRow: Row = {
  name: "INFO",
  summary: "Returns facts and counters of the server",
  arity: -1,
  flags: ["loading", "stale"],
  categories: ["dangerous"],
  keys: noKeys,
  run: info,
};

interface Section {
  readonly name: string;
  readonly lines: (database: CommandHost) => readonly string[];
}

const sections: readonly Section[] = [
  { name: "Server", lines: serverLines },
  { name: "Clients", lines: clientLines },
  { name: "Memory", lines: memoryLines },
  { name: "Persistence", lines: persistenceLines },
  { name: "Stats", lines: statsLines },
  {
    name: "Replication",
    lines: () => ["role:master", "connected_slaves:0", "master_failover_state:no-failover"],
  },
  { name: "Commandstats", lines: commandLines },
  { name: "Errorstats", lines: errorLines },
  { name: "Latencystats", lines: latencyLines },
  { name: "Cluster", lines: () => ["cluster_enabled:0"] },
  { name: "Keyspace", lines: keyspaceLines },
];

/** Names for all sections, which the service treats alike. */
const ALL_NAMES: ReadonlySet<string> = new Set(["ALL", "DEFAULT", "EVERYTHING"]);

function info({ database, word, argCount }: Call): Reply {
  const wanted = new Set<string>();
  for (let i = 1; i < argCount; i += 1) wanted.add(word(i));
  const wantsAll = argCount === 1 || [...wanted].some((name) => ALL_NAMES.has(name));
  const blocks = sections
    .filter(({ name }) => wantsAll || wanted.has(name.toUpperCase()))
    .map(({ name, lines }) => [`# ${name}`, ...lines(database), ""].join("\r\n"));
  return verbatim(blocks.join("\r\n"));
}

function serverLines({ context, keyspace }: CommandHost): readonly string[] {
  const { nowMs } = keyspace;
  const upSeconds = Math.max(0, Math.floor((nowMs - context.startedAtMs) / 1_000));
  return [
    `redis_version:${REDIS_VERSION}`,
    "server_name:larder",
    `larder_version:${context.version}`,
    "redis_mode:standalone",
    "arch_bits:64",
    `server_time_usec:${nowMs * 1_000}`,
    `uptime_in_seconds:${upSeconds}`,
    `uptime_in_days:${Math.floor(upSeconds / 86_400)}`,
  ];
}

/** Counts TCP clients only: HTTP requests have no connection. */
function clientLines({ sessions, waiters }: CommandHost): readonly string[] {
  return [`connected_clients:${sessions.count}`, `blocked_clients:${waiters.count}`, "tracking_clients:0"];
}

function memoryLines({ context, keyspace }: CommandHost): readonly string[] {
  const figures = context.readFigures?.();
  const { usedBytes, tableBytes, meter, memory } = keyspace;
  return [
    // Of this database alone, as limited by its maxmemory.
    `used_memory:${usedBytes}`,
    `used_memory_human:${humanBytes(usedBytes)}`,
    // The keys, and the tables that contain them.
    `used_memory_overhead:${tableBytes}`,
    `used_memory_dataset:${meter.totalBytes}`,
    // Of the process, which serves other databases too.
    ...(figures === undefined
      ? []
      : [
          `used_memory_rss:${figures.residentBytes}`,
          `used_memory_rss_human:${humanBytes(figures.residentBytes)}`,
          `used_memory_thread:${figures.usedBytes}`,
          `used_memory_thread_human:${humanBytes(figures.usedBytes)}`,
        ]),
    `maxmemory:${memory.bytesMax}`,
    `maxmemory_human:${humanBytes(memory.bytesMax)}`,
    `maxmemory_policy:${memory.policy}`,
    "mem_not_counted_for_evict:0",
    "mem_allocator:v8",
  ];
}

function persistenceLines({ context }: CommandHost): readonly string[] {
  const { journal } = context;
  return [
    "loading:0",
    `aof_enabled:${journal.synced === undefined ? 0 : 1}`,
    `aof_last_write_status:${journal.refusal === undefined ? "ok" : "err"}`,
    `journal_frames:${journal.end}`,
    `journal_frames_unsafe:${Math.max(0, journal.end - journal.safe)}`,
  ];
}

function statsLines(database: CommandHost): readonly string[] {
  const { keyspace } = database;
  let callCount = 0;
  for (const command of withSubcommands(database.commands)) callCount += database.countsOf(command).calls;
  return [
    `total_commands_processed:${callCount}`,
    `total_error_replies:${database.errorCounts.total}`,
    `expired_keys:${keyspace.expiredCount}`,
    `expired_subkeys:${keyspace.expiredFieldCount}`,
    `evicted_keys:${keyspace.evictedCount}`,
    `keyspace_hits:${keyspace.hitCount}`,
    `keyspace_misses:${keyspace.missCount}`,
    `pubsub_channels:${database.pubsub.channelCount}`,
    `pubsub_patterns:${database.pubsub.patternCount}`,
    `pubsubshard_channels:${database.pubsub.shardChannelCount}`,
  ];
}

/** Times are estimated from the timed runs (`command-counts.ts`). */
function commandLines(database: CommandHost): readonly string[] {
  const lines: string[] = [];
  for (const command of withSubcommands(database.commands)) {
    const { calls, failed, rejected, usPerCall } = database.countsOf(command);
    if (calls + rejected === 0) continue;
    const times = `usec=${Math.round(usPerCall * calls)},usec_per_call=${usPerCall.toFixed(2)}`;
    lines.push(`cmdstat_${command.fullName}:calls=${calls},${times},rejected_calls=${rejected},failed_calls=${failed}`);
  }
  return lines;
}

function errorLines({ errorCounts }: CommandHost): readonly string[] {
  return [...errorCounts.byName].map(([name, count]) => `errorstat_${name}:count=${count}`);
}

/** The percentiles of the run times in INFO, which CONFIG GET returns too. */
export const LATENCY_PERCENTILES: readonly number[] = [50, 99, 99.9];

function latencyLines(database: CommandHost): readonly string[] {
  const lines: string[] = [];
  for (const command of withSubcommands(database.commands)) {
    const counts = database.countsOf(command);
    const shares: string[] = [];
    for (const percentile of LATENCY_PERCENTILES) {
      const us = counts.usOfShare(percentile / 100);
      if (us !== undefined) shares.push(`p${percentile}=${us.toFixed(3)}`);
    }
    if (shares.length > 0) lines.push(`latency_percentiles_usec_${command.fullName}:${shares.join(",")}`);
  }
  return lines;
}

function keyspaceLines({ keyspace }: CommandHost): readonly string[] {
  const { entries, expiries, fieldExpiryKeys } = keyspace;
  if (entries.size === 0) return [];
  // avg_ttl is an estimate in Redis, and 0 if Redis has none.
  return [`db0:keys=${entries.size},expires=${expiries.size},avg_ttl=0,subexpiry=${fieldExpiryKeys.size}`];
}

function* withSubcommands(commands: readonly CommandFacts[]): Generator<CommandFacts> {
  for (const command of commands) {
    yield command;
    if (command.subcommandByName !== undefined) yield* command.subcommandByName.values();
  }
}

/** Bytes in Redis' readable form: `1.47M`. */
function humanBytes(count: number): string {
  const units = ["B", "K", "M", "G", "T"];
  let unit = 0;
  let rest = count;
  while (rest >= 1_024 && unit < units.length - 1) {
    rest /= 1_024;
    unit += 1;
  }
  return unit === 0 ? `${count}B` : `${rest.toFixed(2)}${units[unit]}`;
}
