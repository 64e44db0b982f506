/**
 * The lines of INFO about a server, in the order of Redis. A database is a
 * server of its own here: counters, memory, clients and rates are those of the
 * database, so that no tenant sees those of another. The process, its memory and
 * its processor time are shared by all; these lines are left out where they
 * cannot be measured.
 *
 * Monitoring tools read some lines about features that do not exist here
 * (replicas, forks, defragmentation). They have the values of a Redis that does
 * not use them.
 */
import { REDIS_VERSION } from "../command-facts.ts";
import type { CommandHost, MemoryFigures, SnapshotFacts } from "../command-host.ts";
import { SWEEP_EVERY_MS } from "../memory/expiry-sweep.ts";

export type Line = readonly [name: string, value: string | number];

/** Lines that are always 0. */
function zeros(...names: readonly string[]): readonly Line[] {
  return names.map((name) => [name, 0]);
}

export function serverLines({ context, keyspace }: CommandHost): readonly Line[] {
  const { nowMs } = keyspace;
  const { process } = context;
  const resp = process?.readResp();
  const upSeconds = Math.max(0, Math.floor((nowMs - context.startedAtMs) / 1_000));
  return [
    ["redis_version", REDIS_VERSION],
    ["server_name", "larder"],
    ["larder_version", context.version],
    ["redis_mode", "standalone"],
    ...(process === undefined ? [] : ([["os", process.operatingSystem]] as const)),
    ["arch_bits", 64],
    ...(process === undefined ? [] : ([["process_id", process.processId]] as const)),
    ["run_id", context.runId],
    ...(resp === undefined ? [] : ([["tcp_port", resp.port]] as const)),
    ["server_time_usec", nowMs * 1_000],
    ["uptime_in_seconds", upSeconds],
    ["uptime_in_days", Math.floor(upSeconds / 86_400)],
    ["hz", 1_000 / SWEEP_EVERY_MS],
    ["configured_hz", 1_000 / SWEEP_EVERY_MS],
  ];
}

/** Counts TCP clients only: HTTP requests have no connection. */
export function clientLines({ sessions, waiters, tracking, context }: CommandHost): readonly Line[] {
  const resp = context.process?.readResp();
  const clients = sessions.figures();
  const { pause } = sessions;
  return [
    ["connected_clients", sessions.count],
    ["cluster_connections", 0],
    ...(resp === undefined ? [] : ([["maxclients", resp.connectionsMax]] as const)),
    ["client_recent_max_input_buffer", clients.unreadBytesMax],
    ["client_recent_max_output_buffer", clients.queuedBytesMax],
    // As in Redis, a client that waits for the end of a pause is blocked.
    ["blocked_clients", waiters.count + clients.pausedCount],
    ["tracking_clients", tracking.clientCount],
    ["pubsub_clients", clients.subscribedCount],
    ["watching_clients", clients.watchingCount],
    ["clients_in_timeout_table", waiters.timedCount],
    ["total_watched_keys", clients.watchedKeyCount],
    ["total_blocking_keys", waiters.keyCount],
    ["paused_reason", pause === undefined ? "none" : "client_pause"],
    ["paused_actions", pause === undefined ? "none" : pause.kind],
    ["paused_timeout_milliseconds", pause === undefined ? 0 : pause.leftMs],
  ];
}

export function memoryLines(database: CommandHost): readonly Line[] {
  const { context, keyspace, scripts, sessions, activity, journalBytes } = database;
  const figures = context.process?.readMemory();
  const { usedBytes, tableBytes, meter, memory } = keyspace;
  const peakBytes = Math.max(activity.usedBytesPeak, usedBytes);
  const luaBytes = scripts.stateBytes;
  const scriptBytes = scripts.cache.bytes;
  const functionBytes = scripts.libraries.codeBytes;
  return [
    // Of this database alone, as limited by its maxmemory.
    ...bytes("used_memory", usedBytes),
    ...(figures === undefined ? [] : bytes("used_memory_rss", figures.residentBytes)),
    ...bytes("used_memory_peak", peakBytes),
    ["used_memory_peak_perc", percent(usedBytes, peakBytes)],
    // The keys, and the tables that contain them.
    ["used_memory_overhead", tableBytes],
    ["used_memory_startup", keyspace.emptyBytes],
    ["used_memory_dataset", meter.totalBytes],
    ["used_memory_dataset_perc", percent(meter.totalBytes, usedBytes - keyspace.emptyBytes)],
    ...(figures === undefined ? [] : processMemoryLines(figures)),
    ...bytes("used_memory_lua", luaBytes),
    // Scripts and functions run in the same states.
    ["used_memory_vm_eval", luaBytes],
    ["used_memory_vm_functions", 0],
    ...bytes("used_memory_vm_total", luaBytes),
    ["used_memory_scripts_eval", scriptBytes],
    ["number_of_cached_scripts", scripts.cache.count],
    ["number_of_functions", scripts.libraries.functionCount],
    ["number_of_libraries", scripts.libraries.libraryCount],
    ["used_memory_functions", functionBytes],
    ...bytes("used_memory_scripts", scriptBytes + functionBytes),
    ...bytes("maxmemory", memory.bytesMax),
    ["maxmemory_policy", memory.policy],
    ...(figures === undefined ? [] : fragmentationLines(figures)),
    ...zeros("mem_not_counted_for_evict", "mem_replication_backlog", "mem_total_replication_buffers"),
    ["mem_clients_slaves", 0],
    ["mem_clients_normal", sessions.memoryBytes],
    ["mem_cluster_links", 0],
    ["mem_aof_buffer", journalBytes],
    ["mem_allocator", "v8"],
    ...zeros("active_defrag_running", "lazyfree_pending_objects", "lazyfreed_objects"),
  ];
}

/** Of the thread and the process, which serve other databases too. */
function processMemoryLines({ heap, usedBytes, systemBytes }: MemoryFigures): readonly Line[] {
  return [
    ["allocator_allocated", usedBytes],
    ["allocator_active", heap.reservedBytes],
    ["allocator_resident", heap.residentBytes],
    ...bytes("total_system_memory", systemBytes),
    ...bytes("used_memory_thread", usedBytes),
  ];
}

/** Redis compares with its used memory, so we compare with that of the thread, not of one database. */
function fragmentationLines({ heap, usedBytes, residentBytes }: MemoryFigures): readonly Line[] {
  const pairs = [
    ["allocator_frag", heap.reservedBytes, usedBytes],
    ["allocator_rss", heap.residentBytes, heap.reservedBytes],
    ["rss_overhead", residentBytes, heap.residentBytes],
    ["mem_fragmentation", residentBytes, usedBytes],
  ] as const;
  return pairs.flatMap(([name, whole, part]): Line[] => [
    [`${name}_ratio`, (part === 0 ? 0 : whole / part).toFixed(2)],
    [`${name}_bytes`, whole - part],
  ]);
}

/**
 * A snapshot is what Redis calls both an RDB file and a rewrite of its append only file: it replaces the journal before
 * it. The changes are those of the database, the rest is about the store.
 */
export function persistenceLines({ context, journalBytes, activity }: CommandHost): readonly Line[] {
  const { journal, snapshots } = context;
  const running = snapshots?.runningMs === undefined ? 0 : 1;
  const status = snapshots?.hasFailed === true ? "err" : "ok";
  const lastSeconds = wholeSeconds(snapshots?.lastTookMs);
  const runningSeconds = wholeSeconds(snapshots?.runningMs);
  return [
    ...zeros("loading", "async_loading"),
    ["rdb_changes_since_last_save", activity.unsavedChangeCount],
    ["rdb_bgsave_in_progress", running],
    ["rdb_last_save_time", Math.floor((snapshots?.lastSavedAtMs ?? context.startedAtMs) / 1_000)],
    ["rdb_last_bgsave_status", status],
    ["rdb_last_bgsave_time_sec", lastSeconds],
    ["rdb_current_bgsave_time_sec", runningSeconds],
    ["rdb_saves", snapshots?.writtenCount ?? 0],
    ["rdb_last_cow_size", 0],
    ["aof_enabled", journal.synced === undefined ? 0 : 1],
    ["aof_rewrite_in_progress", running],
    ["aof_rewrite_scheduled", 0],
    ["aof_last_rewrite_time_sec", lastSeconds],
    ["aof_current_rewrite_time_sec", runningSeconds],
    ["aof_last_bgrewrite_status", status],
    ["aof_rewrites", snapshots?.writtenCount ?? 0],
    ["aof_last_write_status", journal.refusal === undefined ? "ok" : "err"],
    ["aof_last_cow_size", 0],
    ...(snapshots === undefined ? [] : journalSizes(snapshots)),
    ["aof_buffer_length", journalBytes],
    ["aof_pending_bio_fsync", (journal.synced ?? journal.end) < journal.end ? 1 : 0],
    ...zeros("module_fork_in_progress", "module_fork_last_cow_size"),
    ["journal_frames", journal.end],
    ["journal_frames_unsafe", Math.max(0, journal.end - journal.safe)],
  ];
}

function journalSizes({ bytes }: SnapshotFacts): readonly Line[] {
  const { snapshotBytes, journalBytes } = bytes;
  return [
    ["aof_current_size", snapshotBytes + journalBytes],
    ["aof_base_size", snapshotBytes],
    ["aof_pending_rewrite", 0],
  ];
}

/** As in Redis, -1 if there is no duration. */
function wholeSeconds(ms: number | undefined): number {
  return ms === undefined ? -1 : Math.floor(ms / 1_000);
}

export function statsLines(database: CommandHost): readonly Line[] {
  const { keyspace, pubsub, tracking, activity, errorCounts, context } = database;
  const resp = context.process?.readResp();
  return [
    ["total_connections_received", activity.connectionCount],
    ["total_commands_processed", activity.commandCount],
    ["instantaneous_ops_per_sec", Math.round(activity.commands.perSecond)],
    ["total_net_input_bytes", activity.inputBytes],
    ["total_net_output_bytes", activity.outputBytes],
    ...zeros("total_net_repl_input_bytes", "total_net_repl_output_bytes"),
    ["instantaneous_input_kbps", kilobytes(activity.input.perSecond)],
    ["instantaneous_output_kbps", kilobytes(activity.output.perSecond)],
    ["instantaneous_input_repl_kbps", "0.00"],
    ["instantaneous_output_repl_kbps", "0.00"],
    ...(resp === undefined ? [] : ([["rejected_connections", resp.rejectedCount]] as const)),
    ...zeros("sync_full", "sync_partial_ok", "sync_partial_err"),
    ["expired_keys", keyspace.expiredCount],
    ["expired_subkeys", keyspace.expiredFieldCount],
    ["expired_stale_perc", activity.stalePercent.toFixed(2)],
    ["expired_time_cap_reached_count", activity.cutSweepCount],
    ["expire_cycle_cpu_milliseconds", Math.round(activity.sweepMs)],
    ["evicted_keys", keyspace.evictedCount],
    ["evicted_clients", 0],
    ["keyspace_hits", keyspace.hitCount],
    ["keyspace_misses", keyspace.missCount],
    ["pubsub_channels", pubsub.channelCount],
    ["pubsub_patterns", pubsub.patternCount],
    ["pubsubshard_channels", pubsub.shardChannelCount],
    ...zeros("latest_fork_usec", "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys"),
    ...zeros("active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses"),
    ["tracking_total_keys", tracking.keyCount],
    ["tracking_total_items", tracking.itemCount],
    ["tracking_total_prefixes", tracking.prefixCount],
    // Ours: the memory of these keys and items.
    ["tracking_total_bytes", tracking.bytes],
    ["unexpected_error_replies", 0],
    ["total_error_replies", errorCounts.total],
    ["total_reads_processed", activity.readCount],
    ["total_writes_processed", activity.writeCount],
    ...zeros("io_threaded_reads_processed", "io_threaded_writes_processed"),
  ];
}

const NO_REPLICATION_ID = "0".repeat(40);

/** The id of the history that replicas would follow is that of the run, since it does not outlive it in Redis either. */
export function replicationLines({ context }: CommandHost): readonly Line[] {
  return [
    ["role", "master"],
    ["connected_slaves", 0],
    ["master_failover_state", "no-failover"],
    ["master_replid", context.runId],
    ["master_replid2", NO_REPLICATION_ID],
    ["master_repl_offset", 0],
    ["second_repl_offset", -1],
    ...zeros("repl_backlog_active", "repl_backlog_size", "repl_backlog_first_byte_offset", "repl_backlog_histlen"),
  ];
}

/** Seconds of the process, of the processes that it has started (for snapshots), and of this thread. */
export function cpuLines({ context }: CommandHost): readonly Line[] {
  const cpu = context.process?.readCpu();
  if (cpu === undefined) return [];
  const { process, children, thread } = cpu;
  return [
    ["used_cpu_sys", process.systemSeconds.toFixed(6)],
    ["used_cpu_user", process.userSeconds.toFixed(6)],
    ["used_cpu_sys_children", children.systemSeconds.toFixed(6)],
    ["used_cpu_user_children", children.userSeconds.toFixed(6)],
    ["used_cpu_sys_main_thread", thread.systemSeconds.toFixed(6)],
    ["used_cpu_user_main_thread", thread.userSeconds.toFixed(6)],
  ];
}

/** A count of bytes, and the same in Redis' readable form: `1.47M`. */
function bytes(name: string, count: number): readonly Line[] {
  return [
    [name, count],
    [`${name}_human`, humanBytes(count)],
  ];
}

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

function percent(part: number, whole: number): string {
  return `${(whole <= 0 ? 0 : (part / whole) * 100).toFixed(2)}%`;
}

function kilobytes(bytesPerSecond: number): string {
  return (bytesPerSecond / 1_024).toFixed(2);
}
