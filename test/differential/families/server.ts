/** Random commands on a database as a whole. */
import { commands } from "../../../src/store/commands/table.ts";
import { asMultiset, asPairs, type Comparison, isError, isList, isSame } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import type { RawReply } from "../redis-process.ts";

/** Our names that Redis also has, and an unknown one. */
const NAMES: readonly string[] = [
  ...commands
    .filter(({ family }) =>
      [
        "string",
        "bitmap",
        "hash",
        "list",
        "set",
        "sorted-set",
        "stream",
        "geo",
        "generic",
        "server",
        "connection",
        "pubsub",
        "cluster",
        "hyperloglog",
        "scripting",
      ].includes(family),
    )
    .map(({ name }) => name.toLowerCase()),
  "object|encoding",
  "object|help",
  "command|getkeys",
  "what",
];

/** Replies while nothing is slow. Times differ between servers, so only the form of the other replies is compared. */
const SLOW: readonly (readonly string[])[] = [
  ["SLOWLOG", "GET", "-2"],
  ["SLOWLOG", "GET", "x"],
  ["SLOWLOG", "GET", "9223372036854775808"],
  ["SLOWLOG", "GET", "1", "2"],
  ["SLOWLOG", "GET", "0"],
  ["SLOWLOG", "LEN", "x"],
  ["SLOWLOG", "RESET"],
  ["SLOWLOG", "what"],
  ["LATENCY", "LATEST"],
  ["LATENCY", "HISTORY", "command"],
  ["LATENCY", "GRAPH", "command"],
  ["LATENCY", "RESET"],
  ["LATENCY", "RESET", "command", "what"],
  ["LATENCY", "HISTOGRAM", "what"],
  ["LATENCY", "what"],
  ["LATENCY", "HISTORY"],
];

/** Redis has these since 7.2 and later. */
const LATER_NAMES =
  /^(?:waitaof|delex|delifeq|digest|increx|msetex|sdiffcard|sunioncard|xackdel|xdelex|h(?:p?expire(?:at|time)?|p?ttl|persist|getdel|getex|setex))$/;
const SHARED_NAMES = NAMES.filter((name) => !LATER_NAMES.test(name));

function name(draw: Draw): string {
  return draw.pick(SHARED_NAMES);
}

/** Rows that differ on purpose: UNLINK also accepts no keys, and ranks have options since Redis 7.2. */
const OWN_ARITIES: ReadonlySet<RawReply> = new Set(["unlink", "zrank", "zrevrank"]);

/** Name, arity, flags, key positions and ACL categories of each command; tips and key specifications are shorter here. */
const asFacts: Comparison = ({ ours, theirs }) => {
  if (!isList(ours) || !isList(theirs)) return isSame(ours, theirs);
  return (
    ours.length === theirs.length &&
    ours.every((one, index) => {
      const other = theirs[index] ?? null;
      if (!isList(one) || !isList(other)) return isSame(one, other);
      return [0, 1, 2, 3, 4, 5, 6].every((fact) => {
        if (fact === 1 && OWN_ARITIES.has(one[0] ?? null)) return true;
        return asMultiset({ command: [], ours: one[fact] ?? null, theirs: withoutScriptFlag(other[fact] ?? null) });
      });
    })
  );
};

/** Blocking commands may be in scripts since Redis 7.2. */
function withoutScriptFlag(fact: RawReply): RawReply {
  const isBlocking = isList(fact) && fact.some((flag) => isSame(flag, { kind: "simple", text: "blocking" }));
  return isBlocking ? fact.filter((flag) => !isSame(flag, { kind: "simple", text: "noscript" })) : fact;
}

const asCommand: Comparison = (exchange) => {
  const { command, ours, theirs } = exchange;
  const subcommand = (command[1] ?? "").toUpperCase();
  if (subcommand === "INFO" && command.length > 2) return asFacts(exchange);
  if (subcommand === "GETKEYS" || subcommand === "GETKEYSANDFLAGS") {
    // If several words name a destination key, Redis reports some, and not always the one that it uses: we report all.
    if (isSame(ours, theirs) || (command.filter((word) => /^store(dist)?$/i.test(word)).length > 1 && isList(ours)))
      return true;
    if (isError(theirs) && OWN_ARITIES.has((command[2] ?? "").toLowerCase())) return isList(ours) || isError(ours);
    // Redis runs a PFMERGE without sources, yet finds no keys in it.
    return subcommand === "GETKEYS" && command.length === 4 && (command[2] ?? "").toLowerCase() === "pfmerge";
  }
  // The set of commands differs, and so do their descriptions; both reply in the same form.
  if (isList(ours)) return isList(theirs);
  return typeof ours === "number" ? typeof theirs === "number" : isSame(ours, theirs);
};

/** Commands that name keys in several places; for these, we also compare the flags of each key. */
function manyKeys(draw: Draw): string[] {
  const storing = draw.options([() => ["STORE", draw.key()], () => ["STOREDIST", draw.key()], () => ["GET", "store"]]);
  return draw.pick([
    () => ["sort", draw.key(), ...storing, ...draw.options([() => ["LIMIT", "1", "2"], () => ["BY", "limit"]])],
    () => ["georadius", draw.key(), "1", "2", "3", "m", ...storing],
    () => ["georadiusbymember", draw.key(), "store", "3", "m", ...storing],
    // No odd spellings of the count: Redis then finds the keys differently and reports them in another order.
    () => ["zunionstore", draw.key(), `${draw.below(5)}`, ...draw.keys()],
    () => ["mget", ...draw.keys()],
  ])();
}

/** Parameters with the same values in both servers, and unknown names. */
const PARAMETERS: readonly string[] = [
  ...["hash-max-*", "HASH-MAX-LISTPACK-VALUE", "hll-sparse-max-bytes", "maxmemory", "maxmemory-policy"],
  ...["proto-max-bulk-len", "set-max-intset-entries", "what", "hash-max-zip*"],
  ...["save", "timeout", "hz", "cluster-enabled", "io-threads", "maxmemory-clients", "stream-node-max-*", "slaveof"],
  ...["replicaof", "unixsocket", "activedefrag", "acllog-max-len", "appendonly"],
  ...["list-compress-depth", "latency-*", "slowlog-*", "notify-keyspace-events", "zset-max-*"],
];

/** Our own help texts, and one database instead of sixteen; everything else is the same. */
const asConfig: Comparison = ({ command, ours, theirs }) => {
  const isOwn = (command[1] ?? "").toUpperCase() === "HELP" || command.includes("databases");
  return isOwn && isList(ours) ? isList(theirs) : asPairs({ command, ours, theirs });
};

/** The number of bytes depends on the server. */
const asUsage: Comparison = ({ ours, theirs }) =>
  (typeof ours === "number" && typeof theirs === "number") ||
  (typeof ours === "string" && typeof theirs === "string") ||
  (isList(ours) && isList(theirs)) ||
  isSame(ours, theirs);

const asText: Comparison = ({ ours, theirs }) =>
  typeof ours === "string" ? typeof theirs === "string" : isSame(ours, theirs);

const asTime: Comparison = ({ ours, theirs }) =>
  isList(ours) ? isList(theirs) && ours.length === theirs.length : isSame(ours, theirs);

export const serverFamily: Family = {
  name: "server",
  commands: [
    (draw) => ["COMMAND", "INFO", ...draw.list(5, () => draw.oddCase(name(draw)))],
    (draw) => ["COMMAND", "GETKEYS", name(draw), ...draw.keys()],
    (draw) => ["COMMAND", draw.pick(["GETKEYS", "GETKEYSANDFLAGS"]), ...manyKeys(draw)],
    (draw) => ["COMMAND", "LIST", "FILTERBY", draw.pick(["ACLCAT", "PATTERN", "MODULE", "what"]), name(draw)],
    (draw) => ["COMMAND", draw.pick(["COUNT", "HELP", "LIST", "what"])],
    (draw) => ["COMMAND", "DOCS", name(draw)],
    (draw) => ["CONFIG", "GET", ...draw.list(2, () => draw.oddCase(draw.pick(PARAMETERS)))],
    (draw) => ["CONFIG", "SET", draw.pick(["what", "databases"]), "1", ...draw.options([() => ["what", "1"]], 1)],
    (draw) => ["CONFIG", draw.pick(["HELP", "RESETSTAT", "what"])],
    () => ["DBSIZE"],
    (draw) => ["MEMORY", "USAGE", draw.key(), ...draw.options([() => ["SAMPLES", draw.count()], () => ["what"]], 2)],
    (draw) => ["MEMORY", draw.pick(["HELP", "what", "PURGE", "STATS", "DOCTOR", "MALLOC-STATS"])],
    (draw) => draw.pick(SLOW).map((word, index) => (index < 2 ? draw.oddCase(word) : word)),
    (draw) => ["SLOWLOG", draw.pick(["GET", "LEN"])],
    (draw) => ["LATENCY", draw.pick(["DOCTOR", "HELP", "HISTOGRAM"])],
    (draw) => ["SLOWLOG", "HELP", ...draw.options([() => ["x"]], 1)],
    (draw) => ["LOLWUT", ...draw.options([() => ["VERSION", draw.pick(["5", "6", "x", "7"])]], 1)],
    (draw) => [
      "LOLWUT",
      "VERSION",
      draw.pick(["5", "6", "7"]),
      ...draw.list(4, () => draw.pick(["1", "3", "NX", "2.5"])),
    ],
    () => ["CONFIG", "REWRITE"],
    (draw) => ["FLUSHALL", ...draw.options([() => ["ASYNC"], () => ["SYNC"]], 2)],
    (draw) => ["FLUSHDB", ...draw.options([() => ["ASYNC"], () => ["SYNC"]], 2)],
    (draw) => ["INFO", ...draw.list(2, () => draw.pick(["server", "KEYSPACE", "what", "all"]))],
    () => ["TIME"],
    (draw) => ["SET", draw.key(), draw.value()],
    (draw) => ["MSET", ...draw.list(4, () => [draw.key(), draw.value()]).flat()],
  ],
  comparisons: new Map<string, Comparison>([
    ["COMMAND", asCommand],
    ["CONFIG", asConfig],
    ["INFO", asText],
    ["MEMORY", asUsage],
    ["SLOWLOG", asUsage],
    ["LATENCY", asUsage],
    ["LOLWUT", asUsage],
    ["TIME", asTime],
  ]),
};
