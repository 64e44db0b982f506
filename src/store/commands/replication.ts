/**
 * Replication, as a Redis without replicas answers: ROLE, and the commands that
 * would make a server the replica of another one. WAIT and WAITAOF are in
 * `generic.ts`, as in Redis' reference.
 */
import { type Call, noKeys, type Row } from "../command.ts";
import { noReplication } from "../errors.ts";
import { emptyArray, ok, type Reply } from "../reply/reply.ts";

const replicaofFacts: Pick<Row, "arity" | "flags" | "keys" | "run"> = {
  arity: 3,
  flags: ["admin", "noscript", "stale", "no_async_loading", "tcp-only"],
  keys: noKeys,
  run: replicateNobody,
};

export const roleRow: Row = {
  name: "ROLE",
  summary: "Returns master, the offset 0 and no replicas",
  arity: 1,
  flags: ["noscript", "loading", "stale", "fast", "tcp-only"],
  categories: ["admin", "dangerous"],
  keys: noKeys,
  run: () => ["master", 0, emptyArray],
};

export const replicaofRow: Row = {
  ...replicaofFacts,
  name: "REPLICAOF",
  summary: "With NO ONE changes nothing; any other server is refused, because replication does not exist",
};

export const slaveofRow: Row = { ...replicaofFacts, name: "SLAVEOF", summary: "The old name of REPLICAOF" };

function replicateNobody({ word }: Call): Reply {
  if (word(1) !== "NO" || word(2) !== "ONE") throw noReplication;
  return ok;
}
