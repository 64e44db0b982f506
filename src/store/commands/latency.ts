/**
 * LATENCY: events that took longer than `latency-monitor-threshold`, and the
 * distribution of the run times of each command. Reports are texts for people,
 * in our own words.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, noKeys, type Row } from "../command.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { CommandHost } from "../command-host.ts";
import { noLatencySamples } from "../errors.ts";
import type { LatencyEvent } from "../observe/latency-events.ts";
import { emptyArray, map, nil, type Reply, verbatim } from "../reply/reply.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "DOCTOR",
  "    Return a report on all events.",
  "GRAPH <event>",
  "    Draw the samples of an event as bars.",
  "HISTOGRAM [<command> ...]",
  "    Return the run times of these commands, or of all: how many runs ended within each power of two of microseconds.",
  "HISTORY <event>",
  "    Return the samples of an event: seconds and milliseconds.",
  "LATEST",
  "    Return the latest and the longest sample of each event.",
  "RESET [<event> ...]",
  "    Reset these events, or all of them, and return how many existed.",
];

const facts = { flags: ["admin", "noscript", "loading", "stale"], categories: [], keys: noKeys } as const;

export const latencyRow: Row = {
  name: "LATENCY",
  summary: "Commands for latency events",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    { ...facts, name: "DOCTOR", summary: "Returns a report on latency events", arity: 2, run: doctor },
    { ...facts, name: "GRAPH", summary: "Draws the samples of an event as bars", arity: 3, run: graph },
    helpRow(helpLines, { categories: [] }),
    {
      ...facts,
      name: "HISTOGRAM",
      summary: "Returns the distribution of the run times of commands",
      arity: -2,
      run: histogram,
    },
    { ...facts, name: "HISTORY", summary: "Returns the samples of an event", arity: 3, run: history },
    { ...facts, name: "LATEST", summary: "Returns the latest sample of each event", arity: 2, run: latest },
    { ...facts, name: "RESET", summary: "Resets events and returns how many existed", arity: -2, run: reset },
  ],
  run: () => nil,
};

function latest({ database }: Call): Reply {
  return database.slowRuns.events.all().map(({ name, samples, worstMs }) => {
    const last = samples.at(-1);
    return [name, last?.atSeconds ?? 0, last?.tookMs ?? 0, worstMs];
  });
}

function history({ database, arg }: Call): Reply {
  const event = database.slowRuns.events.find(arg(2));
  return event === undefined ? emptyArray : event.samples.map(({ atSeconds, tookMs }) => [atSeconds, tookMs]);
}

function reset({ database, argCount, argsFrom }: Call): Reply {
  const { events } = database.slowRuns;
  const names = argCount === 2 ? events.all().map(({ name }) => name) : argsFrom(2);
  return names.filter((name) => events.forget(name)).length;
}

const GRAPH_LINES_MAX = 40;
const BAR_LENGTH = 50;

/** One line for each of the latest samples, the newest last. */
function graph({ database, arg, nowMs }: Call): Reply {
  const event = database.slowRuns.events.find(arg(2));
  if (event === undefined) throw noLatencySamples(arg(2));
  const samples = event.samples.slice(-GRAPH_LINES_MAX);
  const highMs = Math.max(...samples.map(({ tookMs }) => tookMs), 1);
  const lowMs = Math.min(...samples.map(({ tookMs }) => tookMs));
  const lines = samples.map(({ atSeconds, tookMs }) => {
    const bar = "#".repeat(Math.max(1, Math.round((tookMs / highMs) * BAR_LENGTH)));
    return `${age(nowMs, atSeconds).padStart(5)} ${bar} ${tookMs} ms`;
  });
  return verbatim(
    [`${event.name} - high ${highMs} ms, low ${lowMs} ms (all time high ${event.worstMs} ms)`, ...lines, ""].join("\n"),
  );
}

/** `15s`, `3m`, `2h`, `4d`. */
function age(nowMs: number, atSeconds: number): string {
  const seconds = Math.max(0, Math.floor(nowMs / 1_000) - atSeconds);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

const advice: Readonly<Record<LatencyEvent["name"], string>> = {
  command: "SLOWLOG GET lists the slow commands. Split or limit those that read whole collections",
  "fast-command": "If short commands are slow, the process was stalled: by garbage collection, or by the machine",
  "expire-cycle": "Many keys expire at the same time; vary their expiry times",
};

function doctor({ database, nowMs }: Call): Reply {
  const { events, settings } = database.slowRuns;
  const found = events.all();
  if (settings.latencyThresholdMs === 0 && found.length === 0)
    return verbatim(
      "Latency monitoring is disabled. CONFIG SET latency-monitor-threshold <milliseconds> enables it.\n",
    );
  if (found.length === 0) return verbatim("No event took longer than the threshold.\n");
  const lines = found.map((event, index) => `${index + 1}. ${reportOf(event, nowMs)}`);
  return verbatim(`${[...lines, "", ...found.map(({ name }) => `${name}: ${advice[name]}.`)].join("\n")}\n`);
}

function reportOf({ name, samples, worstMs }: LatencyEvent, nowMs: number): string {
  const count = samples.length;
  const meanMs = samples.reduce((sum, { tookMs }) => sum + tookMs, 0) / count;
  const deviationMs = samples.reduce((sum, { tookMs }) => sum + Math.abs(tookMs - meanMs), 0) / count;
  const seconds = Math.max(0, nowMs / 1_000 - (samples[0]?.atSeconds ?? 0));
  const facts = `average ${Math.round(meanMs)}ms, mean deviation ${Math.round(deviationMs)}ms`;
  const period = `period ${(seconds / count).toFixed(2)} sec`;
  return `${name}: ${count} latency spikes (${facts}, ${period}). Worst all time event ${worstMs}ms.`;
}

/** Skips unknown commands and commands that never ran. */
function histogram({ database, argCount, argsFrom }: Call): Reply {
  const wanted =
    argCount === 2 ? database.commands : argsFrom(2).flatMap((name) => database.findByFullName(name) ?? []);
  const pairs: [Bytes, Reply][] = [];
  for (const command of wanted)
    for (const one of [command, ...(command.subcommandByName?.values() ?? [])]) {
      const spread = spreadOf(database, one);
      if (spread !== undefined) pairs.push([one.fullName, spread]);
    }
  return map(pairs);
}

function spreadOf(database: CommandHost, command: CommandFacts): Reply | undefined {
  const { callCount, within } = database.countsOf(command).spread();
  if (callCount === 0) return undefined;
  return map([
    ["calls", callCount],
    ["histogram_usec", map(within)],
  ]);
}
