/**
 * The commands of a cluster. A database is a server of its own, so each of them
 * is refused with the text of a Redis without cluster mode, which matches
 * `cluster_enabled:0` and `redis_mode:standalone` of INFO. Tools that look for a
 * cluster (RedisInsight, redis_exporter, redis-benchmark) take this refusal for
 * "one server". If CLUSTER INFO and SLOTS described a cluster of one node, they
 * would connect to the addresses in it, which may lead nowhere outside of a
 * container, and would refuse commands whose keys have different slots.
 */
import { type Call, family, noKeys, type Row } from "../command.ts";
import { clusterDisabled } from "../errors.ts";
import type { Reply } from "../reply/reply.ts";

const WHY = "Refused: a database is not a cluster";

const connectionFacts: Pick<Row, "summary" | "keys" | "categories" | "run"> = {
  summary: WHY,
  keys: noKeys,
  categories: ["connection"],
  run: refuse,
};

/** Names and arities. As in Redis, a wrong arity is reported first. */
const subcommands: readonly (readonly [name: string, arity: number])[] = [
  ["COUNTKEYSINSLOT", 3],
  ["GETKEYSINSLOT", 4],
  ["HELP", 2],
  ["INFO", 2],
  ["KEYSLOT", 3],
  ["LINKS", 2],
  ["MYID", 2],
  ["NODES", 2],
  ["SHARDS", 2],
  ["SLOTS", 2],
];

export const clusterCommands = family("cluster", [
  { ...connectionFacts, name: "ASKING", arity: 1, flags: ["fast", "tcp-only"] },
  {
    name: "CLUSTER",
    summary: "Commands for a cluster, all refused",
    arity: -2,
    flags: ["tcp-only"],
    categories: [],
    keys: noKeys,
    subcommands: subcommands.map(([name, arity]) => ({
      name,
      summary: WHY,
      arity,
      flags: name === "HELP" ? ["loading", "stale", "tcp-only"] : ["stale", "tcp-only"],
      categories: [],
      keys: noKeys,
      run: refuse,
    })),
    run: refuse,
  },
  { ...connectionFacts, name: "READONLY", arity: 1, flags: ["loading", "stale", "fast", "tcp-only"] },
  { ...connectionFacts, name: "READWRITE", arity: 1, flags: ["loading", "stale", "fast", "tcp-only"] },
]);

function refuse(_call: Call): Reply {
  throw clusterDisabled;
}
