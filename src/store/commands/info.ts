/**
 * INFO: facts about a database, in the format of Redis. A line is included only
 * if it is true; figures that are not measured are omitted. `info-lines.ts` has
 * the lines of a server; this file has those of commands, errors and keys.
 */
import { type Call, noKeys, type Row } from "../command.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { CommandHost } from "../command-host.ts";
import type { Keyspace } from "../keyspace.ts";
import { type Reply, verbatim } from "../reply/reply.ts";
import {
  clientLines,
  cpuLines,
  type Line,
  memoryLines,
  persistenceLines,
  replicationLines,
  serverLines,
  statsLines,
} from "./info-lines.ts";

export const infoRow: Row = {
  name: "INFO",
  summary: "Returns facts and counters of the server",
  arity: -1,
  flags: ["loading", "stale"],
  categories: ["dangerous"],
  keys: noKeys,
  run: info,
};

interface Section {
  readonly name: string;
  readonly lines: (database: CommandHost) => readonly Line[];
  /** The least of the names for several sections that includes it; absent: DEFAULT. */
  readonly from?: "ALL" | "EVERYTHING";
}

const sections: readonly Section[] = [
  { name: "Server", lines: serverLines },
  { name: "Clients", lines: clientLines },
  { name: "Memory", lines: memoryLines },
  { name: "Persistence", lines: persistenceLines },
  { name: "Stats", lines: statsLines },
  { name: "Replication", lines: replicationLines },
  { name: "CPU", lines: cpuLines },
  { name: "Modules", lines: () => [], from: "EVERYTHING" },
  { name: "Commandstats", lines: commandLines, from: "ALL" },
  { name: "Errorstats", lines: errorLines },
  { name: "Latencystats", lines: latencyLines, from: "ALL" },
  { name: "Cluster", lines: () => [["cluster_enabled", 0]] },
  { name: "Keyspace", lines: keyspaceLines },
];

/** Names for several sections, and the sections that they leave out. */
const LEFT_OUT: ReadonlyMap<string, readonly Section["from"][]> = new Map([
  ["DEFAULT", ["ALL", "EVERYTHING"]],
  ["ALL", ["EVERYTHING"]],
  ["EVERYTHING", []],
]);

/** The hosted service returns everything for each of these names; over TCP they are those of Redis. */
function info({ database, caller, word, argCount }: Call): Reply {
  const wanted = new Set<string>();
  for (let i = 1; i < argCount; i += 1) wanted.add(word(i));
  if (argCount === 1) wanted.add("DEFAULT");
  const leftOut = [...wanted].flatMap((name) => {
    const names = LEFT_OUT.get(name);
    return names === undefined ? [] : [caller.transport === "http" ? [] : names];
  });
  const blocks = sections
    .filter(({ name, from }) => wanted.has(name.toUpperCase()) || leftOut.some((names) => !names.includes(from)))
    .map(({ name, lines }) =>
      [`# ${name}`, ...lines(database).map(([field, value]) => `${field}:${value}`), ""].join("\r\n"),
    );
  return verbatim(blocks.join("\r\n"));
}

/** Times are estimated from the timed runs (`command-counts.ts`). */
function commandLines(database: CommandHost): readonly Line[] {
  const lines: Line[] = [];
  for (const command of withSubcommands(database.commands)) {
    const { calls, failed, rejected, usPerCall } = database.countsOf(command);
    if (calls + failed + rejected === 0) continue;
    const times = `usec=${Math.round(usPerCall * calls)},usec_per_call=${usPerCall.toFixed(2)}`;
    lines.push([
      `cmdstat_${command.fullName}`,
      `calls=${calls},${times},rejected_calls=${rejected},failed_calls=${failed}`,
    ]);
  }
  return lines;
}

function errorLines({ errorCounts }: CommandHost): readonly Line[] {
  return [...errorCounts.byName].map(([name, count]) => [`errorstat_${name}`, `count=${count}`]);
}

/** The percentiles of the run times in INFO, which CONFIG GET returns too. */
export const LATENCY_PERCENTILES: readonly number[] = [50, 99, 99.9];

function latencyLines(database: CommandHost): readonly Line[] {
  const lines: Line[] = [];
  for (const command of withSubcommands(database.commands)) {
    const counts = database.countsOf(command);
    const shares: string[] = [];
    for (const percentile of LATENCY_PERCENTILES) {
      const us = counts.usOfShare(percentile / 100);
      if (us !== undefined) shares.push(`p${percentile}=${us.toFixed(3)}`);
    }
    if (shares.length > 0) lines.push([`latency_percentiles_usec_${command.fullName}`, shares.join(",")]);
  }
  return lines;
}

/** Exporters of Redis before 7.4 count no keys if a fourth figure follows, so it is only there if it says something. */
function keyspaceLines({ keyspace }: CommandHost): readonly Line[] {
  const { entries, expiries, fieldExpiryKeys } = keyspace;
  if (entries.size === 0) return [];
  const figures = [`keys=${entries.size}`, `expires=${expiries.size}`, `avg_ttl=${averageTimeToLiveMs(keyspace)}`];
  if (fieldExpiryKeys.size > 0) figures.push(`subexpiry=${fieldExpiryKeys.size}`);
  return [["db0", figures.join(",")]];
}

/** Of more expiries, as many are read that are evenly spread over the table: Redis estimates it too. */
const EXPIRIES_READ_MAX = 1_000;

function averageTimeToLiveMs({ expiries, nowMs }: Keyspace): number {
  const count = Math.min(expiries.size, EXPIRIES_READ_MAX);
  let sumMs = 0;
  for (let index = 0; index < count; index += 1)
    sumMs += Math.max(0, expiries.valueAt(Math.floor((index * expiries.size) / count)) - nowMs);
  return count === 0 ? 0 : Math.round(sumMs / count);
}

function* withSubcommands(commands: readonly CommandFacts[]): Generator<CommandFacts> {
  for (const command of commands) {
    yield command;
    if (command.subcommandByName !== undefined) yield* command.subcommandByName.values();
  }
}
