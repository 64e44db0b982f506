/** Commands on a whole database. The containers and INFO have files of their own. */
import { type Call, family, noKeys } from "../command.ts";
import { syntaxError } from "../errors.ts";
import { clearKeyspace } from "../mutations/generic.ts";
import { ok, type Reply } from "../reply/reply.ts";
import { aclRow } from "./acl.ts";
import { commandRow } from "./command-info.ts";
import { configRow } from "./config.ts";
import { infoRow } from "./info.ts";
import { latencyRow } from "./latency.ts";
import { lolwutRow } from "./lolwut.ts";
import { memoryRow } from "./memory.ts";
import { moduleRow } from "./module.ts";
import { monitorRow } from "./monitor.ts";
import { bgrewriteaofRow, bgsaveRow, lastsaveRow, saveRow } from "./persistence.ts";
import { replicaofRow, roleRow, slaveofRow } from "./replication.ts";
import { slowlogRow } from "./slowlog.ts";

export const serverCommands = family("server", [
  aclRow,
  bgrewriteaofRow,
  bgsaveRow,
  commandRow,
  configRow,
  {
    name: "DBSIZE",
    summary: "Returns the number of keys",
    arity: 1,
    flags: ["readonly", "fast"],
    categories: ["keyspace"],
    keys: noKeys,
    run: ({ keyspace }) => keyspace.size,
  },
  {
    name: "FLUSHALL",
    summary: "Removes all keys of this database",
    arity: -1,
    flags: ["write"],
    categories: ["keyspace", "dangerous"],
    keys: noKeys,
    run: flush,
  },
  {
    name: "FLUSHDB",
    summary: "Removes all keys of this database",
    arity: -1,
    flags: ["write"],
    categories: ["keyspace", "dangerous"],
    keys: noKeys,
    run: flush,
  },
  infoRow,
  lastsaveRow,
  latencyRow,
  lolwutRow,
  memoryRow,
  moduleRow,
  monitorRow,
  replicaofRow,
  roleRow,
  saveRow,
  slaveofRow,
  slowlogRow,
  {
    name: "TIME",
    summary: "Returns the time of the server in seconds and microseconds",
    arity: 1,
    flags: ["loading", "stale", "fast", "public"],
    keys: noKeys,
    run: ({ nowMs }) => [String(Math.floor(nowMs / 1_000)), String((nowMs % 1_000) * 1_000)],
  },
]);

/** Removing everything is one step here, so SYNC and ASYNC are the same. */
function flush({ keyspace, argCount, word }: Call): Reply {
  if (argCount > 2 || (argCount === 2 && word(1) !== "SYNC" && word(1) !== "ASYNC")) throw syntaxError;
  clearKeyspace(keyspace);
  return ok;
}
