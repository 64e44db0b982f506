/**
 * CONFIG: the parameters of Redis that mean something here, one row each. A
 * parameter stands here only if what it says is true; all of them are facts,
 * so CONFIG SET refuses them as Redis refuses what can be set at a start only.
 */
import { type Call, noKeys, type Row } from "../command.ts";
import type { Database } from "../database.ts";
import { immutableParameter, syntaxError, unknownParameter } from "../errors.ts";
import { map, nil, ok, type Reply, simple } from "../reply.ts";
import { matchesGlob } from "../structures/glob.ts";
import { SPARSE_BYTES_MAX } from "../structures/hyperloglog.ts";
import { BLOCK_ELEMENTS_MAX } from "../structures/list-block.ts";
import { COMPACT_BYTES_MAX, LISTPACK_FIELDS_MAX } from "../values/hash.ts";
import { INTSET_COUNT_MAX } from "../values/set.ts";
import * as sortedSet from "../values/sorted-set.ts";
import { STRING_BYTES_MAX } from "../values/string.ts";
import { LATENCY_PERCENTILES } from "./info.ts";

interface Parameter {
  readonly name: string;
  /** What Redis called it before 7.0; answers to both. */
  readonly oldName?: string;
  readonly read: (database: Database) => string;
}

const parameters: readonly Parameter[] = [
  {
    name: "appendonly",
    read: ({ context }) => (context.journal.synced === undefined ? "no" : "yes"),
  },
  { name: "databases", read: () => "1" },
  {
    name: "hash-max-listpack-entries",
    oldName: "hash-max-ziplist-entries",
    read: () => `${LISTPACK_FIELDS_MAX}`,
  },
  { name: "hash-max-listpack-value", oldName: "hash-max-ziplist-value", read: () => `${COMPACT_BYTES_MAX}` },
  { name: "hll-sparse-max-bytes", read: () => `${SPARSE_BYTES_MAX}` },
  { name: "latency-tracking", read: () => "yes" },
  { name: "latency-tracking-info-percentiles", read: () => LATENCY_PERCENTILES.join(" ") },
  { name: "list-compress-depth", read: () => "0" },
  // Positive: so many elements, not bytes.
  { name: "list-max-listpack-size", oldName: "list-max-ziplist-size", read: () => `${BLOCK_ELEMENTS_MAX}` },
  { name: "maxmemory", read: () => "0" },
  { name: "maxmemory-policy", read: () => "noeviction" },
  // Nobody is told of events until there are subscribers.
  { name: "notify-keyspace-events", read: () => "" },
  { name: "proto-max-bulk-len", read: () => `${STRING_BYTES_MAX}` },
  { name: "set-max-intset-entries", read: () => `${INTSET_COUNT_MAX}` },
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

/** Every name that a parameter answers to, in the order in which they are told. */
const named: readonly (readonly [name: string, parameter: Parameter])[] = parameters.flatMap((parameter) =>
  [parameter.name, parameter.oldName].filter((name) => name !== undefined).map((name) => [name, parameter] as const),
);

export const configRow: Row = {
  name: "CONFIG",
  summary: "Commands that tell how the store is set up",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "GET",
      summary: "The parameters whose names match one of the patterns",
      arity: -3,
      flags: ["admin", "noscript", "loading", "stale"],
      keys: noKeys,
      run: get,
    },
    {
      name: "HELP",
      summary: "What the subcommands do",
      arity: 2,
      flags: ["loading", "stale"],
      keys: noKeys,
      run: () => helpLines.map(simple),
    },
    {
      name: "RESETSTAT",
      summary: "Lets the counters of INFO start anew",
      arity: 2,
      flags: ["admin", "noscript", "loading", "stale"],
      keys: noKeys,
      run: ({ database }) => {
        database.resetCounts();
        return ok;
      },
    },
    {
      name: "SET",
      summary: "Refused: every parameter is a fact, or set when the server starts",
      arity: -4,
      flags: ["admin", "noscript", "loading", "stale"],
      keys: noKeys,
      run: set,
    },
  ],
  run: () => nil,
};

const helpLines: readonly string[] = [
  "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "GET <pattern> [<pattern> ...]",
  "    The parameters whose names match, with their values.",
  "RESETSTAT",
  "    Lets the counters of INFO start anew.",
  "SET <name> <value> [<name> <value> ...]",
  "    Refused: every parameter is a fact, or set when the server starts.",
  "HELP",
  "    Prints this help.",
];

const GLOB = /[*?[]/;

/** A whole name is answered in the letters in which it was asked for, as Redis does. */
function get({ database, argsFrom }: Call): Reply {
  const spellings = new Map<string, string>();
  for (const pattern of argsFrom(2)) {
    const asked = pattern.toLowerCase();
    for (const [name] of named) {
      if (GLOB.test(pattern) ? !matchesGlob(pattern, name, { ignoreCase: true }) : asked !== name) continue;
      if (!spellings.has(name)) spellings.set(name, GLOB.test(pattern) ? name : pattern);
    }
  }
  return map(
    named
      .filter(([name]) => spellings.has(name))
      .map(([name, parameter]) => [spellings.get(name) ?? name, parameter.read(database)] as const),
  );
}

/** The first name decides: no parameter can be set. */
function set({ arg, argCount }: Call): Reply {
  if (argCount % 2 !== 0) throw syntaxError;
  const name = arg(2);
  const isKnown = named.some(([known]) => known === name.toLowerCase());
  throw isKnown ? immutableParameter(name) : unknownParameter(name);
}
