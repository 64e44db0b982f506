/**
 * CONFIG: the parameters of Redis that apply to larder, one row each. A
 * parameter is listed only if its value is true. Most are facts, which CONFIG
 * SET refuses as Redis refuses parameters that can be set only at startup. The
 * values that it sets apply to this database until the next start, or in a
 * cluster until they are set again: there they move with the database.
 *
 * When the tests of Redis run, all other parameters can be set too: this changes
 * nothing, but CONFIG GET returns the new values, as the tests expect.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { ENTRIES_MAX as ACL_LOG_ENTRIES_MAX } from "../acl/acl-log.ts";
import { type Call, noKeys, type Row } from "../command.ts";
import { REDACTED } from "../command-facts.ts";
import type { CommandHost, RespFigures } from "../command-host.ts";
import { diskRefusal, noConfigurationFile, parameterRefused, syntaxError, unknownParameter } from "../errors.ts";
import { SWEEP_EVERY_MS } from "../memory/expiry-sweep.ts";
import {
  evictionPolicies,
  findEvictionPolicy,
  type MemorySettings,
  parseMemorySize,
} from "../memory/memory-settings.ts";
import { chooseSetting } from "../mutations/state/chosen-settings.ts";
import { printEventFlags, readEventFlags } from "../observe/keyspace-events.ts";
import type { SlowSettings } from "../observe/slow-runs.ts";
import { TRACKED_KEYS_MAX } from "../observe/tracking/tracking.ts";
import { map, nil, ok, type Reply } from "../reply/reply.ts";
import { matchesGlob } from "../structures/glob.ts";
import { SPARSE_BYTES_MAX } from "../structures/hyperloglog.ts";
import { BLOCK_ELEMENTS_MAX } from "../structures/list-block.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import {
  CONTENT_BYTES_MAX as STREAM_CHUNK_BYTES_MAX,
  ENTRIES_MAX as STREAM_CHUNK_ENTRIES_MAX,
} from "../structures/stream-chunk.ts";
import { COMPACT_BYTES_MAX, LISTPACK_FIELDS_MAX } from "../values/hash.ts";
import { INTSET_COUNT_MAX } from "../values/set.ts";
import * as sortedSet from "../values/sorted-set.ts";
import { STRING_BYTES_MAX } from "../values/string.ts";
import { helpRow } from "./help.ts";
import { LATENCY_PERCENTILES } from "./info.ts";

interface Parameter {
  readonly name: string;
  /** Its name before Redis 7.0, which works too. */
  readonly oldName?: string;
  /** Undefined if it does not apply to this server. */
  readonly read: (database: CommandHost) => string | undefined;
  /** The settings that a text changes, or the reason to refuse it. Absent for facts. */
  readonly change?: (text: Bytes, database: CommandHost) => Partial<Settings> | string;
}

/** The settings that CONFIG SET can change. */
interface Settings extends MemorySettings, SlowSettings {
  readonly trackedKeysMax: number;
  /** The enabled events, as `readEventFlags` returns them. */
  readonly eventFlags: string;
}

/** The largest count that most parameters of Redis accept. */
const COUNT_MAX = 2 ** 31 - 1;
/** The bound if Redis accepts 64 bits. */
const TIME_MAX = Number.MAX_SAFE_INTEGER;
/** Redis has no bound. An entry takes up to 6 KB. */
const SLOW_LOG_COUNT_MAX = 10_000;

const parameters: readonly Parameter[] = [
  { name: "acllog-max-len", read: () => `${ACL_LOG_ENTRIES_MAX}` },
  { name: "activedefrag", read: () => "no" },
  {
    name: "appendfsync",
    read: ({ context }) => (context.journal.synced === undefined ? undefined : context.settings?.fsync),
  },
  {
    name: "appendonly",
    read: ({ context }) => (context.journal.synced === undefined ? "no" : "yes"),
  },
  { name: "client-output-buffer-limit", read: ({ context }) => printOutputLimits(context.process?.readResp()) },
  { name: "client-query-buffer-limit", read: ({ context }) => context.settings?.requestBytesMax.toString() },
  { name: "cluster-enabled", read: () => "no" },
  { name: "databases", read: () => "1" },
  {
    name: "hash-max-listpack-entries",
    oldName: "hash-max-ziplist-entries",
    read: () => `${LISTPACK_FIELDS_MAX}`,
  },
  { name: "hash-max-listpack-value", oldName: "hash-max-ziplist-value", read: () => `${COMPACT_BYTES_MAX}` },
  { name: "hll-sparse-max-bytes", read: () => `${SPARSE_BYTES_MAX}` },
  { name: "hz", read: () => `${1_000 / SWEEP_EVERY_MS}` },
  { name: "io-threads", read: () => "1" },
  {
    name: "latency-monitor-threshold",
    read: ({ slowRuns }) => `${slowRuns.settings.latencyThresholdMs}`,
    change: changeCount({ min: 0, max: TIME_MAX }, (latencyThresholdMs) => ({ latencyThresholdMs })),
  },
  { name: "latency-tracking", read: () => "yes" },
  { name: "latency-tracking-info-percentiles", read: () => LATENCY_PERCENTILES.join(" ") },
  {
    name: "lfu-decay-time",
    read: ({ keyspace }) => `${keyspace.memory.frequencyDecayMinutes}`,
    change: changeCount({ min: 0 }, (frequencyDecayMinutes) => ({ frequencyDecayMinutes })),
  },
  {
    name: "lfu-log-factor",
    read: ({ keyspace }) => `${keyspace.memory.frequencyLogFactor}`,
    change: changeCount({ min: 0 }, (frequencyLogFactor) => ({ frequencyLogFactor })),
  },
  { name: "list-compress-depth", read: () => "0" },
  // Positive: a number of elements, not bytes.
  { name: "list-max-listpack-size", oldName: "list-max-ziplist-size", read: () => `${BLOCK_ELEMENTS_MAX}` },
  { name: "maxclients", read: ({ context }) => context.process?.readResp()?.connectionsMax.toString() },
  {
    name: "maxmemory",
    read: ({ keyspace }) => `${keyspace.memory.bytesMax}`,
    change: (text, database) => {
      const bytesMax = parseMemorySize(text);
      if (bytesMax === undefined) return "argument must be a memory value";
      // Tokens of the database may lower the limit of the operator, but not raise it.
      const capBytes = database.context.memoryOf(database.name).bytesMax;
      const isOver = capBytes > 0 && (bytesMax === 0 || bytesMax > capBytes);
      return isOver ? `argument must be from 1 to ${capBytes}, the maxmemory that the operator set` : { bytesMax };
    },
  },
  { name: "maxmemory-clients", read: () => "0" },
  {
    name: "maxmemory-policy",
    read: ({ keyspace }) => keyspace.memory.policy,
    change: (text) => {
      const policy = findEvictionPolicy(text);
      if (policy !== undefined) return { policy: policy.name };
      return `argument(s) must be one of the following: ${evictionPolicies.map(({ name }) => name).join(", ")}`;
    },
  },
  {
    name: "maxmemory-samples",
    read: ({ keyspace }) => `${keyspace.memory.samples}`,
    change: changeCount({ min: 1 }, (samples) => ({ samples })),
  },
  {
    name: "notify-keyspace-events",
    read: ({ eventFlags }) => printEventFlags(eventFlags),
    change: (text) => {
      const eventFlags = readEventFlags(text);
      return eventFlags === undefined ? "Invalid event class character. Use 'Ag$lshzxeKEtmdn'." : { eventFlags };
    },
  },
  { name: "port", read: ({ context }) => printPort(context.process?.readResp(), { isEncrypted: false }) },
  { name: "proto-max-bulk-len", read: () => `${STRING_BYTES_MAX}` },
  { name: "replicaof", oldName: "slaveof", read: () => "" },
  // No snapshot is made because of time and changes.
  { name: "save", read: () => "" },
  { name: "set-max-intset-entries", read: () => `${INTSET_COUNT_MAX}` },
  {
    name: "slowlog-log-slower-than",
    read: ({ slowRuns }) => `${slowRuns.settings.slowerThanUs}`,
    change: changeCount({ min: -1, max: TIME_MAX }, (slowerThanUs) => ({ slowerThanUs })),
  },
  {
    name: "slowlog-max-len",
    read: ({ slowRuns }) => `${slowRuns.settings.slowLogCountMax}`,
    change: changeCount({ min: 0, max: SLOW_LOG_COUNT_MAX }, (slowLogCountMax) => ({ slowLogCountMax })),
  },
  { name: "stream-node-max-bytes", read: () => `${STREAM_CHUNK_BYTES_MAX}` },
  { name: "stream-node-max-entries", read: () => `${STREAM_CHUNK_ENTRIES_MAX}` },
  { name: "tcp-keepalive", read: ({ context }) => printSeconds(context.process?.readResp()?.keepAliveMs) },
  // No connection is closed because it is idle.
  { name: "timeout", read: () => "0" },
  { name: "tls-port", read: ({ context }) => printPort(context.process?.readResp(), { isEncrypted: true }) },
  { name: "unixsocket", read: () => "" },
  {
    name: "tracking-table-max-keys",
    read: ({ tracking }) => `${tracking.keysMax}`,
    // Redis takes 0 for no limit.
    change: changeCount({ min: 1, max: TRACKED_KEYS_MAX }, (trackedKeysMax) => ({ trackedKeysMax })),
  },
  {
    name: "zset-max-listpack-entries",
    oldName: "zset-max-ziplist-entries",
    read: () => `${sortedSet.COMPACT_COUNT_MAX}`,
  },
  {
    name: "zset-max-listpack-value",
    oldName: "zset-max-ziplist-value",
    read: () => `${sortedSet.COMPACT_BYTES_MAX}`,
  },
];

function printSeconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${ms / 1_000}`;
}

/** As in Redis, the port of the other kind is 0. */
function printPort(resp: RespFigures | undefined, { isEncrypted }: { isEncrypted: boolean }): string | undefined {
  return resp === undefined ? undefined : `${resp.isEncrypted === isEncrypted ? resp.port : 0}`;
}

/** Other clients are not closed: their commands wait. There are no replicas. */
function printOutputLimits(resp: RespFigures | undefined): string | undefined {
  if (resp === undefined) return undefined;
  const { listeningBytesMax, slowBytesMax, slowMs } = resp.output;
  return `normal 0 0 0 slave 0 0 0 pubsub ${listeningBytesMax} ${slowBytesMax} ${slowMs / 1_000}`;
}

/** Every name of every parameter, in the order in which CONFIG GET returns them. */
const named: readonly (readonly [name: string, parameter: Parameter])[] = parameters.flatMap((parameter) =>
  [parameter.name, parameter.oldName].filter((name) => name !== undefined).map((name) => [name, parameter] as const),
);

const helpLines: readonly string[] = [
  "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "GET <pattern> [<pattern> ...]",
  "    Return the parameters whose names match, with their values.",
  "RESETSTAT",
  "    Reset the counters of INFO.",
  "REWRITE",
  "    Refused: larder has no Redis configuration file to write to.",
  "SET <name> <value> [<name> <value> ...]",
  "    Sets maxmemory, maxmemory-policy, maxmemory-samples, lfu-log-factor, lfu-decay-time, notify-keyspace-events,",
  "    slowlog-log-slower-than, slowlog-max-len, latency-monitor-threshold or tracking-table-max-keys for this database",
  "    until the next start, or in a cluster until they are set again.",
  "    Refused for every other parameter.",
];

export const configRow: Row = {
  name: "CONFIG",
  summary: "Commands for the configuration of the store",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "GET",
      summary: "Returns the parameters whose names match one of the patterns",
      arity: -3,
      flags: ["admin", "noscript", "loading", "stale"],
      keys: noKeys,
      run: get,
    },
    helpRow(helpLines),
    {
      name: "RESETSTAT",
      summary: "Resets the counters of INFO",
      arity: 2,
      flags: ["admin", "noscript", "loading", "stale"],
      keys: noKeys,
      run: ({ database }) => {
        database.resetCounts();
        return ok;
      },
    },
    {
      name: "REWRITE",
      summary: "Refused: larder has no Redis configuration file to write to",
      arity: 2,
      flags: ["admin", "noscript", "loading", "stale"],
      keys: noKeys,
      run: () => {
        throw noConfigurationFile;
      },
    },
    {
      name: "SET",
      summary:
        "Sets memory limit, eviction, slow log and keyspace events of this database: until the next start, or in a cluster for good",
      arity: -4,
      flags: ["admin", "noscript", "loading", "stale"],
      keys: noKeys,
      shownWords: (words) => words.map((word, index) => (isSecretOfSet(words, index) ? REDACTED : word)),
      run: set,
    },
  ],
  run: () => nil,
};

/** Parameters of Redis that hold secrets. They are refused here, but the refused command contains the secret. */
const SECRET_PARAMETERS: ReadonlySet<string> = new Set([
  "masterauth",
  "masteruser",
  "requirepass",
  "tls-client-key-file-pass",
  "tls-key-file-pass",
]);

function isSecretOfSet(words: readonly Bytes[], index: number): boolean {
  return index > 2 && index % 2 === 1 && SECRET_PARAMETERS.has((words[index - 1] as Bytes).toLowerCase());
}

const GLOB = /[*?[]/;

/** A name without a pattern is returned in the letter case of the request, as Redis does. */
function get({ database, argsFrom, compat }: Call): Reply {
  const values = new Map<string, () => string | undefined>(
    named.map(([name, { read }]) => [name, () => read(database)]),
  );
  for (const [name, value] of compat?.parameters ?? []) values.set(name, () => value);
  const spellings = new Map<string, string>();
  for (const pattern of argsFrom(2)) {
    const lowerName = pattern.toLowerCase();
    for (const name of values.keys()) {
      if (GLOB.test(pattern) ? !matchesGlob(pattern, name, { ignoreCase: true }) : lowerName !== name) continue;
      if (!spellings.has(name)) spellings.set(name, GLOB.test(pattern) ? name : pattern);
    }
  }
  const pairs: [Reply, Reply][] = [];
  for (const [name, read] of values) {
    const spelling = spellings.get(name);
    const value = spelling === undefined ? undefined : read();
    if (spelling !== undefined && value !== undefined) pairs.push([spelling, value]);
  }
  return map(pairs);
}

/** All names are checked before any value, and all values before anything is set. */
function set({ arg, argCount, database, compat }: Call): Reply {
  if (argCount % 2 !== 0) throw syntaxError;
  const requested = new Map<Parameter, Bytes>();
  const compatValues = new Map<string, string>();
  for (let i = 2; i < argCount; i += 2) {
    const name = arg(i);
    const [, parameter] = named.find(([known]) => known === name.toLowerCase()) ?? [];
    if (parameter?.change !== undefined) {
      if (requested.has(parameter)) throw parameterRefused(name, "duplicate parameter");
      requested.set(parameter, arg(i + 1));
    } else if (compat !== undefined) {
      compatValues.set(name.toLowerCase(), arg(i + 1));
    } else {
      throw parameter === undefined ? unknownParameter(name) : parameterRefused(name, "can't set immutable config");
    }
  }
  const before = settingsOf(database);
  let settings = before;
  for (const [{ name, change }, text] of requested) {
    const changed = change?.(text, database);
    if (typeof changed === "string") throw parameterRefused(name, changed);
    settings = { ...settings, ...changed };
  }
  if (database.context.keepsSettings) {
    if (database.journalRefusal !== undefined) throw diskRefusal(database.journalRefusal);
    willChoose(database, before);
    apply(database, settings);
    for (const { name, read } of requested.keys()) chooseSetting(database, name, read(database) ?? "");
  } else apply(database, settings);
  database.setMemory(database.keyspace.memory);
  for (const [name, value] of compatValues) compat?.parameters.set(name, value);
  return ok;
}

function settingsOf({ keyspace, slowRuns, eventFlags, tracking }: CommandHost): Settings {
  return { ...keyspace.memory, ...slowRuns.settings, eventFlags, trackedKeysMax: tracking.keysMax };
}

/** Evicts nothing. */
function apply(database: CommandHost, settings: Settings): void {
  const { eventFlags, trackedKeysMax, slowerThanUs, slowLogCountMax, latencyThresholdMs, ...memory } = settings;
  database.slowRuns.settings = { slowerThanUs, slowLogCountMax, latencyThresholdMs };
  database.setMemory(memory, { evicts: false });
  database.setEventFlags(eventFlags);
  database.tracking.keysMax = trackedKeysMax;
}

/** Memory of the settings and of a text in the undo log. */
const SETTINGS_BYTES = 512;

/** A transaction that is undone has stored nothing, so its settings do not apply either. */
function willChoose(database: CommandHost, before: Settings): void {
  const { chosen, keyspace } = database;
  const texts = [...chosen];
  keyspace.undo?.push(SETTINGS_BYTES, () => {
    chosen.clear();
    for (const [name, text] of texts) chosen.set(name, text);
    apply(database, before);
  });
}

/**
 * Applies what was chosen before the start. What is refused now stays chosen but does not apply, such as a `maxmemory`
 * above the limit that the operator has set since.
 */
export function restoreSettings(database: CommandHost): void {
  let settings = settingsOf(database);
  for (const [name, text] of database.chosen) {
    const changed = parameters.find((parameter) => parameter.name === name)?.change?.(text, database);
    if (typeof changed !== "string") settings = { ...settings, ...changed };
  }
  apply(database, settings);
}

function changeCount(
  { min, max = COUNT_MAX }: { readonly min: number; readonly max?: number },
  change: (count: number) => Partial<Settings>,
): (text: Bytes) => Partial<Settings> | string {
  return (text) => {
    const count = parseInteger(text);
    if (count === undefined) return "argument couldn't be parsed into an integer";
    if (count < min || count > max) return `argument must be between ${min} and ${max} inclusive`;
    return change(Number(count));
  };
}
