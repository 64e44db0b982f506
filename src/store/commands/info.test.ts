/** INFO: its sections and the lines that clients read. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { settled, startSessions } from "../../../test/harness/session-harness.ts";
import { type Session, startSession } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import type { ProcessFigures } from "../command-host.ts";
import type { Reply } from "../reply/reply.ts";
import { Store } from "../store.ts";

const ALL = [
  "# Server",
  "# Clients",
  "# Memory",
  "# Persistence",
  "# Stats",
  "# Replication",
  "# CPU",
  "# Modules",
  "# Commandstats",
  "# Errorstats",
  "# Latencystats",
  "# Cluster",
  "# Keyspace",
];

function infoText(session: Pick<Session, "run">, line = "INFO"): string {
  const reply = session.run(line);
  assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "verbatim");
  return reply.text;
}

function headingsOf(text: string): string[] {
  return text.split("\r\n").filter((line) => line.startsWith("#"));
}

function lineOf(text: string, name: string): string | undefined {
  return text
    .split("\r\n")
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1);
}

/** Runs a line on the database main of a store without a harness. */
function runOn(store: Store, line: string): Reply {
  const reply = store.database("main").command({ user: defaultUser, transport: "http", address: "" }, line.split(" "));
  assert.ok(!(reply instanceof Promise));
  return reply;
}

test("over HTTP INFO without a section, or with one of three names, returns all sections", () => {
  const session = startSession();
  for (const line of ["INFO", "INFO default", "INFO all", "INFO everything", "INFO nonsense ALL"])
    assert.deepEqual(headingsOf(infoText(session, line)), ALL, line);
});

test("over TCP INFO leaves out the sections that Redis leaves out", () => {
  const one = startSessions().connect();
  const session = { run: (line: string) => one.run(line)[0] as Reply };
  const without = (...names: readonly string[]) => ALL.filter((heading) => !names.includes(heading));
  for (const [line, headings] of [
    ["INFO", without("# Modules", "# Commandstats", "# Latencystats")],
    ["INFO default", without("# Modules", "# Commandstats", "# Latencystats")],
    ["INFO commandstats default", without("# Modules", "# Latencystats")],
    ["INFO ALL", without("# Modules")],
    ["INFO all modules", ALL],
    ["INFO everything", ALL],
    ["INFO cpu errorstats", ["# CPU", "# Errorstats"]],
  ] as const)
    assert.deepEqual(headingsOf(infoText(session, line)), headings, line);
});

test("INFO returns the named sections, in its own order, and nothing for unknown ones", () => {
  const session = startSession();
  assert.deepEqual(headingsOf(infoText(session, "info keyspace SERVER")), ["# Server", "# Keyspace"]);
  assert.equal(infoText(session, "INFO nonsense"), "");
  assert.equal(
    infoText(session, "INFO replication"),
    [
      "# Replication",
      "role:master",
      "connected_slaves:0",
      "master_failover_state:no-failover",
      "master_replid:0000000000000000000000000000000000000000",
      "master_replid2:0000000000000000000000000000000000000000",
      "master_repl_offset:0",
      "second_repl_offset:-1",
      "repl_backlog_active:0",
      "repl_backlog_size:0",
      "repl_backlog_first_byte_offset:0",
      "repl_backlog_histlen:0",
      "",
    ].join("\r\n"),
  );
});

test("INFO keyspace counts keys, keys that expire and hashes with fields that expire", () => {
  const session = startSession();
  assert.equal(infoText(session, "INFO keyspace"), "# Keyspace\r\n");
  session.run("SET a 1");
  session.run("SET b 1 EX 10");
  session.run("HSET h f v");
  assert.equal(infoText(session, "INFO keyspace"), "# Keyspace\r\ndb0:keys=3,expires=1,avg_ttl=10000\r\n");
  session.run("HEXPIRE h 10 FIELDS 1 f");
  session.run("EXPIRE a 20");
  session.clock.advance(1_000);
  assert.equal(infoText(session, "INFO keyspace"), "# Keyspace\r\ndb0:keys=3,expires=2,avg_ttl=14000,subexpiry=1\r\n");
});

test("INFO commandstats counts calls, refusals and failures by full name", () => {
  const session = startSession();
  session.run("SET a text");
  session.run("INCR a");
  session.run("GET");
  session.run("OBJECT ENCODING a");
  assert.equal(
    infoText(session, "INFO commandstats"),
    [
      "# Commandstats",
      "cmdstat_object|encoding:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0",
      "cmdstat_get:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0",
      "cmdstat_incr:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
      "cmdstat_set:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0",
      "cmdstat_info:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0",
      "",
    ].join("\r\n"),
  );
});

test("INFO commandstats and latencystats report the duration of runs", () => {
  let nowMs = 0;
  const clock = new VirtualClock();
  // Each reading of the clock is 4 µs later than the one before.
  clock.monotonicMs = () => {
    nowMs += 0.004;
    return nowMs;
  };
  const store = new Store({
    journal: new RecordingJournal(),
    clock,
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
  });
  const session = { run: (line: string) => runOn(store, line) };
  session.run("GET a");
  session.run("GET a");
  assert.equal(
    lineOf(infoText(session, "INFO commandstats"), "cmdstat_get"),
    "calls=2,usec=8,usec_per_call=4.00,rejected_calls=0,failed_calls=0",
  );
  assert.equal(
    lineOf(infoText(session, "INFO latencystats"), "latency_percentiles_usec_get"),
    "p50=4.000,p99=4.000,p99.9=4.000",
  );
});

test("INFO errorstats counts errors by their first word, including those of unknown commands", () => {
  const session = startSession();
  session.run("SET a text");
  session.run("INCR a");
  session.run("GET");
  session.run("HGET a f");
  session.run("NOPE");
  assert.equal(
    infoText(session, "INFO errorstats"),
    "# Errorstats\r\nerrorstat_ERR:count=3\r\nerrorstat_WRONGTYPE:count=1\r\n",
  );
  assert.equal(lineOf(infoText(session, "INFO stats"), "total_error_replies"), "4");
  session.run("CONFIG RESETSTAT");
  assert.equal(infoText(session, "INFO errorstats"), "# Errorstats\r\n");
});

test("INFO stats counts expired keys and fields", () => {
  const session = startSession();
  session.run("SET a 1 PX 5");
  session.run("HSET h f v g w");
  session.run("HPEXPIRE h 5 FIELDS 1 f");
  session.clock.advance(6);
  session.run("GET a");
  session.run("HLEN h");
  const text = infoText(session);
  assert.equal(lineOf(text, "expired_keys"), "1");
  assert.equal(lineOf(text, "expired_subkeys"), "1");
});

test("INFO server reports the version of Redis that clients look for, and the uptime", () => {
  const session = startSession();
  session.clock.advance(90_061_000);
  const text = infoText(session, "INFO server");
  assert.equal(lineOf(text, "redis_version"), "7.0.15");
  assert.equal(lineOf(text, "server_name"), "larder");
  assert.equal(lineOf(text, "uptime_in_seconds"), "90061");
  assert.equal(lineOf(text, "uptime_in_days"), "1");
  assert.equal(lineOf(text, "hz"), "10");
});

test("INFO persistence reports whether the last write failed", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  assert.equal(lineOf(infoText(session), "aof_enabled"), "1");
  assert.equal(lineOf(infoText(session), "aof_last_write_status"), "ok");
  journal.refusal = "No space left on device";
  assert.equal(lineOf(infoText(session), "aof_last_write_status"), "err");
  assert.equal(lineOf(infoText(startSession()), "aof_enabled"), "0");
});

const figures: ProcessFigures = {
  processId: 42,
  operatingSystem: "Linux 6.1 x86_64",
  readMemory: () => ({
    usedBytes: 1_538_944,
    heap: { reservedBytes: 2_000_000, residentBytes: 3_000_000 },
    residentBytes: 6_155_776,
    systemBytes: 2 ** 30,
  }),
  readCpu: () => ({
    process: { systemSeconds: 1.5, userSeconds: 2.25 },
    children: { systemSeconds: 0.1, userSeconds: 0.2 },
    thread: { systemSeconds: 0.3, userSeconds: 0.4 },
  }),
  readResp: () => ({
    port: 6_379,
    isEncrypted: false,
    connectionsMax: 10_000,
    keepAliveMs: 300_000,
    output: { listeningBytesMax: 33_554_432, slowBytesMax: 8_388_608, slowMs: 60_000 },
    rejectedCount: 7,
  }),
};

test("INFO includes figures of the process if it has them, and omits them otherwise", () => {
  const store = new Store({
    journal: new RecordingJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    version: "1.2.3",
    runId: "00ff".repeat(10),
    process: figures,
  });
  const text = infoText({ run: (line) => runOn(store, line) });
  assert.equal(lineOf(text, "larder_version"), "1.2.3");
  assert.equal(lineOf(text, "used_memory_thread"), "1538944");
  assert.equal(lineOf(text, "used_memory_thread_human"), "1.47M");
  for (const [name, value] of [
    ["os", "Linux 6.1 x86_64"],
    ["process_id", "42"],
    ["run_id", "00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff"],
    ["tcp_port", "6379"],
    ["maxclients", "10000"],
    ["rejected_connections", "7"],
    ["used_memory_rss", "6155776"],
    ["used_memory_rss_human", "5.87M"],
    ["total_system_memory_human", "1.00G"],
    ["allocator_allocated", "1538944"],
    ["allocator_active", "2000000"],
    ["allocator_resident", "3000000"],
    ["allocator_frag_ratio", "1.30"],
    ["allocator_frag_bytes", "461056"],
    ["allocator_rss_ratio", "1.50"],
    ["rss_overhead_bytes", "3155776"],
    ["mem_fragmentation_ratio", "4.00"],
    ["mem_fragmentation_bytes", "4616832"],
    ["used_cpu_sys", "1.500000"],
    ["used_cpu_user", "2.250000"],
    ["used_cpu_sys_children", "0.100000"],
    ["used_cpu_user_children", "0.200000"],
    ["used_cpu_sys_main_thread", "0.300000"],
    ["used_cpu_user_main_thread", "0.400000"],
  ] as const)
    assert.equal(lineOf(text, name), value, name);
  const without = infoText(startSession());
  for (const name of [
    "used_memory_rss",
    "mem_fragmentation_ratio",
    "process_id",
    "tcp_port",
    "maxclients",
    "used_cpu_sys",
  ])
    assert.equal(lineOf(without, name), undefined, name);
});

test("INFO memory reports the used memory of the database, and its limit", () => {
  const session = startSession();
  const emptyBytes = Number(lineOf(infoText(session), "used_memory"));
  session.run("SET k v");
  const text = infoText(session, "INFO memory");
  assert.equal(lineOf(text, "used_memory_dataset"), "24");
  assert.equal(Number(lineOf(text, "used_memory")), emptyBytes + Number(session.run("MEMORY USAGE k")) - 4);
  assert.equal(
    Number(lineOf(text, "used_memory")),
    Number(lineOf(text, "used_memory_overhead")) + Number(lineOf(text, "used_memory_dataset")),
  );
  assert.equal(lineOf(text, "maxmemory"), "0");
  assert.equal(lineOf(text, "maxmemory_human"), "0B");
  assert.equal(lineOf(text, "maxmemory_policy"), "noeviction");
  session.run("CONFIG SET maxmemory 1536kb maxmemory-policy volatile-ttl");
  const changed = infoText(session, "INFO memory");
  assert.equal(lineOf(changed, "maxmemory"), "1572864");
  assert.equal(lineOf(changed, "maxmemory_human"), "1.50M");
  assert.equal(lineOf(changed, "maxmemory_policy"), "volatile-ttl");
});

test("INFO counts the sessions of its own database", () => {
  const { store, connect } = startSessions();
  connect({ database: store.database("other") }).run("SUBSCRIBE x");
  connect().run("SUBSCRIBE a b");
  connect().run("PSUBSCRIBE a*");
  connect().run("BLPOP list 0");
  const text = infoText({ run: (line) => runOn(store, line) });
  assert.equal(lineOf(text, "connected_clients"), "3");
  assert.equal(lineOf(text, "blocked_clients"), "1");
  assert.equal(lineOf(text, "pubsub_channels"), "2");
  assert.equal(lineOf(text, "pubsub_patterns"), "1");
  assert.equal(lineOf(text, "role"), "master");
});

test("INFO memory reports the peak, and the memory of scripts", () => {
  const session = startSession();
  const startup = Number(lineOf(infoText(session), "used_memory_startup"));
  assert.equal(Number(lineOf(infoText(session), "used_memory")), startup);
  session.run(`SET k ${"v".repeat(10_000)}`);
  const fullBytes = Number(lineOf(infoText(session), "used_memory"));
  assert.equal(lineOf(infoText(session), "used_memory_peak_perc"), "100.00%");
  session.run("DEL k");
  const text = infoText(session, "INFO memory");
  assert.equal(Number(lineOf(text, "used_memory_peak")), fullBytes);
  assert.ok(Number(lineOf(text, "used_memory")) < fullBytes - 10_000);
  assert.equal(lineOf(text, "used_memory_lua"), "0");
  session.run('EVAL "return 1" 0');
  const scripted = infoText(session, "INFO memory");
  assert.equal(lineOf(scripted, "number_of_cached_scripts"), "1");
  assert.equal(lineOf(scripted, "used_memory_scripts_eval"), "208");
  assert.ok(Number(lineOf(scripted, "used_memory_lua")) > 20_000);
  assert.equal(lineOf(scripted, "used_memory_vm_total"), lineOf(scripted, "used_memory_lua"));
  const code = "#!lua name=l\nredis.register_function('f', function() return 1 end)";
  session.call("FUNCTION", "LOAD", code);
  const loaded = infoText(session, "INFO memory");
  assert.equal(lineOf(loaded, "number_of_libraries"), "1");
  assert.equal(lineOf(loaded, "number_of_functions"), "1");
  assert.equal(lineOf(loaded, "used_memory_functions"), "66");
});

test("INFO stats counts commands and connections of one database, and CONFIG RESETSTAT starts again", () => {
  const { store, connect } = startSessions();
  const one = connect();
  connect();
  const other = connect({ database: store.database("other") });
  one.run("SET k v");
  one.run("MULTI");
  one.run("GET k");
  one.run("EXEC");
  other.run("GET k");
  const text = infoText({ run: (line) => runOn(store, line) });
  assert.equal(lineOf(text, "total_connections_received"), "2");
  // SET, MULTI, GET, EXEC, INFO
  assert.equal(lineOf(text, "total_commands_processed"), "5");
  one.run("CONFIG RESETSTAT");
  const reset = infoText({ run: (line) => runOn(store, line) });
  assert.equal(lineOf(reset, "total_connections_received"), "0");
  assert.equal(lineOf(reset, "total_commands_processed"), "1");
});

test("the expiry cycle measures rates", () => {
  const session = startSession();
  const stop = session.store.startExpiryCycle();
  session.clock.advance(100);
  for (let index = 0; index < 32; index += 1) session.run("PING");
  session.database.activity.addInput(16_384);
  session.clock.advance(100);
  const text = infoText(session, "INFO stats");
  assert.equal(lineOf(text, "instantaneous_ops_per_sec"), "20");
  assert.equal(lineOf(text, "instantaneous_input_kbps"), "10.00");
  assert.equal(lineOf(text, "total_net_input_bytes"), "16384");
  session.clock.advance(1_600);
  assert.equal(lineOf(infoText(session, "INFO stats"), "instantaneous_input_kbps"), "0.00");
  stop();
});

test("INFO clients counts blocked, paused, subscribed and watching clients", () => {
  const { store, connect, clock } = startSessions();
  const read = () => infoText({ run: (line) => runOn(store, line) }, "INFO clients");
  assert.equal(lineOf(read(), "paused_reason"), "none");
  assert.equal(lineOf(read(), "paused_actions"), "none");
  assert.equal(lineOf(read(), "paused_timeout_milliseconds"), "0");
  connect().run("BLPOP a b 10");
  connect().run("BLPOP a 0");
  connect().run("SSUBSCRIBE c");
  const watching = connect();
  watching.run("WATCH k l");
  connect().run("WATCH k");
  connect().run("CLIENT PAUSE 5000 WRITE");
  watching.run("SET k v");
  clock.advance(1_000);
  const text = read();
  for (const [name, value] of [
    ["blocked_clients", "3"],
    ["clients_in_timeout_table", "1"],
    ["total_blocking_keys", "2"],
    ["pubsub_clients", "1"],
    ["watching_clients", "2"],
    ["total_watched_keys", "2"],
    ["paused_reason", "client_pause"],
    ["paused_actions", "write"],
    ["paused_timeout_milliseconds", "4000"],
  ] as const)
    assert.equal(lineOf(text, name), value, name);
  connect().run("CLIENT UNPAUSE");
  assert.equal(lineOf(read(), "blocked_clients"), "2");
});

/** Lines of a section without the times. */
function countsOf(text: string): string[] {
  return text
    .split("\r\n")
    .slice(1, -1)
    .map((line) => line.replace(/usec=\d+,usec_per_call=[\d.]+,/, ""))
    .filter((line) => !line.startsWith("cmdstat_info"));
}

test("a script that ends with an error has failed, also if the error is that of one of its commands", () => {
  for (const [script, failedCount, others] of [
    ["return redis.error_reply('MY x')", 1, []],
    ["error('x')", 1, []],
    ["return redis.call('incr', 'text')", 1, ["cmdstat_incr:calls=1,rejected_calls=0,failed_calls=1"]],
    ["return redis.pcall('incr', 'text')", 1, ["cmdstat_incr:calls=1,rejected_calls=0,failed_calls=1"]],
    ["redis.pcall('incr', 'text') return 1", 0, ["cmdstat_incr:calls=1,rejected_calls=0,failed_calls=1"]],
    ["return redis.call('nope')", 1, []],
    ["return redis.call('get')", 1, ["cmdstat_get:calls=0,rejected_calls=1,failed_calls=0"]],
  ] as const) {
    const session = startSession();
    session.run("SET text x");
    session.run("CONFIG RESETSTAT");
    session.call("EVAL", script, "0");
    assert.deepEqual(
      countsOf(infoText(session, "INFO commandstats")).toSorted(),
      [`cmdstat_eval:calls=1,rejected_calls=0,failed_calls=${failedCount}`, ...others].toSorted(),
      script,
    );
    assert.equal(lineOf(infoText(session, "INFO stats"), "total_error_replies"), "1", script);
  }
});

test("a blocked command that ends with an error has failed, and the error is counted", async () => {
  const { store, connect } = startSessions();
  const read = (section: string) => countsOf(infoText({ run: (line) => runOn(store, line) }, `INFO ${section}`));
  const one = connect();
  const popping = connect();
  const moving = connect();
  const reading = connect();
  one.run("SET text x");
  one.run("XGROUP CREATE s g $ MKSTREAM");
  popping.run("BLPOP k 0");
  moving.run("BLMOVE from text LEFT LEFT 0");
  reading.run("XREADGROUP GROUP g c BLOCK 0 STREAMS s >");
  one.run("CONFIG RESETSTAT");
  one.run("CLIENT UNBLOCK 2 ERROR");
  one.run("RPUSH from e");
  one.run("DEL s");
  await settled();
  assert.deepEqual(read("errorstats"), [
    "errorstat_UNBLOCKED:count=1",
    "errorstat_WRONGTYPE:count=1",
    "errorstat_NOGROUP:count=1",
  ]);
  const failed = read("commandstats").filter((line) => line.endsWith("failed_calls=1"));
  assert.deepEqual(
    failed.map((line) => line.split(":")[0]),
    ["cmdstat_blmove", "cmdstat_blpop", "cmdstat_xreadgroup"],
  );
});

/** The lines that redis_exporter, Datadog, Telegraf, RedisInsight and the usual dashboards of Grafana read. */
const READ_BY_TOOLS: readonly string[] = [
  ...["redis_version", "redis_mode", "os", "arch_bits", "process_id", "run_id", "tcp_port", "uptime_in_seconds"],
  ...["connected_clients", "maxclients", "blocked_clients", "tracking_clients", "clients_in_timeout_table"],
  ...["client_recent_max_input_buffer", "client_recent_max_output_buffer", "cluster_connections"],
  ...["used_memory", "used_memory_human", "used_memory_rss", "used_memory_peak", "used_memory_peak_human"],
  ...["used_memory_peak_perc", "used_memory_overhead", "used_memory_startup", "used_memory_dataset"],
  ...["used_memory_dataset_perc", "used_memory_lua", "used_memory_vm_total", "used_memory_scripts", "maxmemory"],
  ...["number_of_cached_scripts", "total_system_memory", "maxmemory_policy", "allocator_allocated", "allocator_active"],
  ...["allocator_resident", "allocator_frag_ratio", "allocator_frag_bytes", "allocator_rss_ratio"],
  ...["allocator_rss_bytes", "rss_overhead_ratio", "rss_overhead_bytes", "mem_fragmentation_ratio"],
  ...["mem_fragmentation_bytes", "mem_not_counted_for_evict", "mem_replication_backlog", "mem_clients_slaves"],
  ...["mem_clients_normal", "mem_aof_buffer", "active_defrag_running", "lazyfree_pending_objects"],
  ...["loading", "rdb_changes_since_last_save", "rdb_bgsave_in_progress", "rdb_last_save_time"],
  ...["rdb_last_bgsave_status", "rdb_last_bgsave_time_sec", "rdb_current_bgsave_time_sec", "rdb_last_cow_size"],
  ...["aof_enabled", "aof_rewrite_in_progress", "aof_rewrite_scheduled", "aof_last_rewrite_time_sec"],
  ...["aof_current_rewrite_time_sec", "aof_last_bgrewrite_status", "aof_last_write_status", "aof_last_cow_size"],
  ...["aof_buffer_length", "aof_pending_bio_fsync", "module_fork_in_progress", "module_fork_last_cow_size"],
  ...["total_connections_received", "total_commands_processed", "instantaneous_ops_per_sec"],
  ...["total_net_input_bytes", "total_net_output_bytes", "instantaneous_input_kbps", "instantaneous_output_kbps"],
  ...["rejected_connections", "sync_full", "sync_partial_ok", "sync_partial_err", "expired_keys", "evicted_keys"],
  ...["expired_stale_perc", "expired_time_cap_reached_count"],
  ...["expire_cycle_cpu_milliseconds", "keyspace_hits", "keyspace_misses", "pubsub_channels", "pubsub_patterns"],
  ...["latest_fork_usec", "migrate_cached_sockets", "slave_expires_tracked_keys", "active_defrag_hits"],
  ...["active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses", "tracking_total_keys"],
  ...["tracking_total_items", "tracking_total_prefixes", "unexpected_error_replies", "total_error_replies"],
  ...["total_reads_processed", "total_writes_processed", "io_threaded_reads_processed", "io_threaded_writes_processed"],
  ...["role", "connected_slaves", "master_replid", "master_repl_offset", "second_repl_offset", "repl_backlog_active"],
  ...["repl_backlog_size", "repl_backlog_first_byte_offset", "repl_backlog_histlen", "used_cpu_sys", "used_cpu_user"],
  ...["used_cpu_sys_children", "used_cpu_user_children", "cluster_enabled", "db0"],
];

test("over TCP INFO has every line that monitoring tools read, once", () => {
  const { connect } = startSessions({ process: figures });
  const one = connect();
  one.run("SET k v");
  const names = infoText({ run: (line) => one.run(line)[0] as Reply })
    .split("\r\n")
    .flatMap((line) => (line.includes(":") ? [line.slice(0, line.indexOf(":"))] : []));
  assert.deepEqual(
    READ_BY_TOOLS.filter((name) => !names.includes(name)),
    [],
  );
  assert.equal(new Set(names).size, names.length);
});
