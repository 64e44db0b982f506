/**
 * MEMORY: the memory of a key and of a database. Sizes are counted, not read
 * from an allocator (memory-meter.ts); figures of Redis' allocator that have no
 * counterpart here are omitted.
 */
import { type Call, noKeys, type Row, secondKey } from "../command.ts";
import { syntaxError } from "../errors.ts";
import { double, integer, map, nil, ok, type Reply, verbatim } from "../reply/reply.ts";
import { looked } from "./command-keys.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "DOCTOR",
  "    Return a report on the memory of this database.",
  "MALLOC-STATS",
  "    Report that allocator statistics are not supported.",
  "PURGE",
  "    Changes nothing: the garbage collector of the process releases memory.",
  "STATS",
  "    Return the memory usage of this database and of its process.",
  "USAGE <key> [SAMPLES <count>]",
  "    Return the approximate bytes of the key and its value. All elements are counted, so SAMPLES changes nothing.",
];

const facts = { flags: [], categories: [], keys: noKeys } as const;

export const memoryRow: Row = {
  ...facts,
  name: "MEMORY",
  summary: "Commands for memory usage",
  arity: -2,
  subcommands: [
    { ...facts, name: "DOCTOR", summary: "Returns a report on the memory of the database", arity: 2, run: doctor },
    helpRow(helpLines),
    {
      ...facts,
      name: "MALLOC-STATS",
      summary: "Reports that allocator statistics are not supported",
      arity: 2,
      // As Redis without jemalloc.
      run: () => verbatim("Stats not supported for the current allocator"),
    },
    {
      ...facts,
      name: "PURGE",
      summary: "Changes nothing: memory is released automatically",
      arity: 2,
      run: () => ok,
    },
    {
      ...facts,
      name: "STATS",
      summary: "Returns the memory usage of the database and of its process",
      arity: 2,
      run: stats,
    },
    {
      name: "USAGE",
      summary: "Returns the approximate bytes of a key and its value",
      arity: -3,
      flags: ["readonly", "powerful"],
      categories: [],
      keys: secondKey,
      keyUses: [looked],
      run: usage,
    },
  ],
  run: () => nil,
};

/** The names of Redis, in its order. */
function stats({ database }: Call): Reply {
  const { keyspace, sessions, scripts, context } = database;
  const { usedBytes, tableBytes, meter, entries, expiries } = keyspace;
  const figures = context.process?.readMemory();
  const scriptBytes = scripts.cache.bytes;
  return map([
    ["total.allocated", usedBytes],
    ["replication.backlog", 0],
    ["clients.slaves", 0],
    ["clients.normal", sessions.memoryBytes],
    ["cluster.links", 0],
    ["lua.caches", scriptBytes],
    [
      "db.0",
      map([
        ["overhead.hashtable.main", entries.memoryBytes],
        ["overhead.hashtable.expires", expiries.memoryBytes],
        ["overhead.hashtable.slot-to-keys", 0],
      ]),
    ],
    ["overhead.total", tableBytes],
    ["keys.count", entries.size],
    ["keys.bytes-per-key", entries.size === 0 ? 0 : Math.floor(usedBytes / entries.size)],
    ["dataset.bytes", meter.totalBytes],
    ["dataset.percentage", double(usedBytes === 0 ? 0 : (meter.totalBytes / usedBytes) * 100)],
    // Of the process, which serves other databases too.
    ...(figures === undefined
      ? []
      : ([
          ["allocator.allocated", figures.usedBytes],
          ["allocator.resident", figures.residentBytes],
        ] as const)),
  ]);
}

/** The share of its limit from which a database is reported as nearly full. */
const NEARLY_FULL = 0.9;

function doctor({ keyspace }: Call): Reply {
  const { usedBytes, memory, evictedCount } = keyspace;
  const { bytesMax, policy } = memory;
  const found: string[] = [];
  if (bytesMax > 0 && usedBytes >= bytesMax * NEARLY_FULL) {
    const percent = Math.round((usedBytes / bytesMax) * 100);
    found.push(
      policy === "noeviction"
        ? `${percent} % of maxmemory is used, and the policy is noeviction: writes that take memory will be refused.`
        : `${percent} % of maxmemory is used: keys are evicted by the policy ${policy}.`,
    );
  }
  if (evictedCount > 0) found.push(`${evictedCount} keys were evicted since the start.`);
  if (found.length === 0) found.push("Nothing is wrong with the memory of this database.");
  return verbatim(`${found.join("\n")}\n`);
}

function usage({ keyspace, arg, word, integer: integerAt, argCount }: Call): Reply {
  for (let i = 3; i < argCount; i += 2) {
    if (word(i) !== "SAMPLES" || i + 1 >= argCount) throw syntaxError;
    if (integerAt(i + 1) < 0) throw syntaxError;
  }
  const key = arg(2);
  return keyspace.has(key) ? integer(keyspace.usedBytesOf(key)) : nil;
}
