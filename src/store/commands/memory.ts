/**
 * MEMORY: what a key takes, and a database. Sizes are counted, not asked of an
 * allocator (memory-meter.ts); figures of Redis' allocator that have no
 * counterpart here are left out.
 */
import { type Call, noKeys, type Row, secondKey } from "../command.ts";
import { syntaxError } from "../errors.ts";
import { double, integer, map, nil, ok, type Reply, verbatim } from "../reply/reply.ts";
import { looked } from "./command-keys.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "DOCTOR",
  "    A report on what this database takes, in words.",
  "MALLOC-STATS",
  "    That the allocator has nothing to tell.",
  "PURGE",
  "    Changes nothing: memory is given back by the collector of the process.",
  "STATS",
  "    What this database takes, and the process around it.",
  "USAGE <key> [SAMPLES <count>]",
  "    About how many bytes the key and its value take. All elements are always counted, so SAMPLES changes nothing.",
];

const facts = { flags: [], categories: [], keys: noKeys } as const;

export const memoryRow: Row = {
  ...facts,
  name: "MEMORY",
  summary: "Commands that tell how much memory is used",
  arity: -2,
  subcommands: [
    { ...facts, name: "DOCTOR", summary: "A report on the memory of the database", arity: 2, run: doctor },
    helpRow(helpLines),
    {
      ...facts,
      name: "MALLOC-STATS",
      summary: "That the allocator has nothing to tell",
      arity: 2,
      // As Redis without jemalloc.
      run: () => verbatim("Stats not supported for the current allocator"),
    },
    {
      ...facts,
      name: "PURGE",
      summary: "Changes nothing: memory is given back by itself",
      arity: 2,
      run: () => ok,
    },
    { ...facts, name: "STATS", summary: "What the database takes, and the process around it", arity: 2, run: stats },
    {
      name: "USAGE",
      summary: "About how many bytes a key and its value take",
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

/** In the order of Redis, by its names. */
function stats({ database }: Call): Reply {
  const { keyspace, sessions, scripts, context } = database;
  const { usedBytes, tableBytes, meter, entries, expiries } = keyspace;
  const figures = context.readFigures?.();
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
    // Of the process, which has other databases too.
    ...(figures === undefined
      ? []
      : ([
          ["allocator.allocated", figures.usedBytes],
          ["allocator.resident", figures.residentBytes],
        ] as const)),
  ]);
}

/** From so large a share of its limit on a database is said to be nearly full. */
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
        : `${percent} % of maxmemory is used: keys are evicted, by the policy ${policy}.`,
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
