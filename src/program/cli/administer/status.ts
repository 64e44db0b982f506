/** `larder status`: the server that uses a data directory, or the development server without one. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type AdminCall, askForHealth, askForStats, askForVersion } from "../../../edge/admin/client.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { isStale } from "../../../replication/follow/follower.ts";
import { type FollowPhase, type FollowRecord, readRecord } from "../../../replication/follow/record.ts";
import { isUsedDirectory, readServing } from "../../directory/data-directory.ts";
import { type CopyFigures, copyLines, printMoment } from "../../metrics/copy-figures.ts";
import { isServerStats } from "../../metrics/stats.ts";
import { StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import type { Addresses } from "../env-block.ts";
import { configuredAddresses } from "../environment/print-environment.ts";
import { callServer, isDirectoryInUse } from "../running-server.ts";
import { tableLines } from "./table.ts";

/** The status as JSON prints it. */
export interface Status {
  readonly state: "ready" | "not ready" | "not running" | "following";
  readonly version?: string;
  readonly command?: string;
  readonly pid?: number | undefined;
  readonly dataDirectory: string | null;
  readonly addresses?: Addresses;
  readonly areas?: Readonly<Record<string, string>>;
  /** The copy of its data directory; absent: nothing is copied. */
  readonly replication?: CopyFigures;
  /** The copy that the directory follows; absent: it is a data directory. */
  readonly following?: FollowFigures;
  /** The reasons why it is not ready, or does not follow as it should. */
  readonly reasons: readonly string[];
}

/** The state of a directory that follows a copy. */
export interface FollowFigures {
  /** Without parameters. */
  readonly address: string;
  readonly phase: FollowPhase;
  readonly generation: number;
  /** When the store was last read without a failure, as RFC 3339; null: never. */
  readonly checkedAt: string | null;
  readonly tokens: FollowRecord["tokens"];
  readonly areas: readonly {
    readonly area: string;
    readonly completeTo: string;
    /** The time since then: a promotion loses no write that is older. */
    readonly behindSeconds: number;
  }[];
}

/** Rejects with a `StartRefusal` if the server does not answer. */
export async function readStatus(run: RunSettings): Promise<Status> {
  const dataDirectory = run.settings.dataDirectory === undefined ? null : resolve(run.settings.dataDirectory);
  const followed =
    dataDirectory === null || isUsedDirectory(dataDirectory) ? undefined : await readFollowed(dataDirectory);
  if (followed !== undefined) return followed;
  if (dataDirectory !== null && !(isUsedDirectory(dataDirectory) && (await isDirectoryInUse(dataDirectory)))) {
    return { state: "not running", dataDirectory, reasons: [`no larder uses ${dataDirectory}`] };
  }
  const both = async (call: AdminCall) => {
    const health = await askForHealth(call);
    const version = await askForVersion(call);
    if (health.kind !== "done") return health;
    if (version.kind !== "done") return version;
    const stats = await askForStats(call);
    const replication = stats.kind === "done" && isServerStats(stats.value) ? stats.value.replication : undefined;
    return { kind: "done" as const, value: { ...health.value, version: version.value, replication } };
  };
  const answer = await callServer(run, both).catch((fault: unknown) => {
    // Without a data directory, only the port tells whether a server runs.
    if (dataDirectory === null && fault instanceof StartRefusal && fault.exitCode === 1) return fault.message;
    throw fault;
  });
  if (typeof answer === "string") return { state: "not running", dataDirectory, reasons: [answer] };
  const { isReady, version, areas, reasons, replication } = answer;
  const serving = dataDirectory === null ? undefined : readServing(dataDirectory);
  const addresses = dataDirectory === null ? configuredAddresses(run) : serving?.addresses;
  return {
    state: isReady ? "ready" : "not ready",
    version,
    command: `larder ${dataDirectory === null ? "dev" : (serving?.command ?? "serve")}`,
    ...(serving?.pid !== undefined && { pid: serving.pid }),
    dataDirectory,
    ...(addresses !== undefined && { addresses }),
    areas,
    ...(replication !== undefined && { replication }),
    reasons,
  };
}

/** The status of a directory that follows; undefined: it does not. */
async function readFollowed(dataDirectory: string): Promise<Status | undefined> {
  const record = existsSync(dataDirectory) ? await readRecord(fileDisk, dataDirectory) : undefined;
  if (record === undefined) return undefined;
  const { phase, generation, checkedAtMs, tokens, areas, problem } = record;
  const isRunning = await isDirectoryInUse(dataDirectory);
  const nowMs = systemClock.nowMs();
  const reasons = [
    ...(isRunning ? [] : ["no larder follow runs on the directory"]),
    ...(problem === "" ? [] : [problem]),
    ...(phase === "following" ? [] : ["nothing can be promoted yet"]),
    ...(isStale(record, nowMs) ? ["the copy has had nothing new for more than 15 minutes"] : []),
  ];
  return {
    state: isRunning ? "following" : "not running",
    dataDirectory,
    following: {
      ...{ address: record.address.split("?")[0] ?? "", phase, generation, tokens },
      checkedAt: checkedAtMs === 0 ? null : printMoment(checkedAtMs),
      areas: areas.map(({ name: area, completeToMs }) => ({
        ...{ area, completeTo: printMoment(completeToMs) },
        behindSeconds: Math.max(0, Math.round((nowMs - completeToMs) / 1_000)),
      })),
    },
    reasons,
  };
}

/** Whether the state is the one that an operator wants. */
export function isAsWanted({ state, reasons }: Status): boolean {
  return state === "ready" || (state === "following" && reasons.length === 0);
}

export function statusLines(status: Status): readonly string[] {
  const { state, version, command, pid, dataDirectory, addresses, areas = {}, reasons, replication } = status;
  if (status.following !== undefined) return followLines(status, status.following);
  if (state === "not running") return [`not running: ${reasons.join(", ")}`];
  const urls = Object.entries(addresses ?? {}).filter(([name]) => name !== "resp");
  const rows = [
    ["state", [state, ...reasons].join(", ")],
    ["version", version ?? ""],
    ["command", command ?? ""],
    ...(pid === undefined ? [] : [["process", String(pid)]]),
    ["data directory", dataDirectory ?? "none"],
    ...urls.map(([name, url]) => [name, [String(url), areas[name] ?? ""].join("  ").trimEnd()]),
    ...(addresses?.resp === undefined ? [] : [["resp", addresses.resp.host]]),
  ];
  const [[title = ""] = [], ...copied] = replication === undefined ? [] : copyLines(replication);
  if (replication !== undefined) rows.push([title, replication.address]);
  rows.push(...copied.slice(1).map(([words, value = ""]) => [`copy: ${words}`, value]));
  return tableLines(rows);
}

function followLines(
  { state, reasons, dataDirectory }: Status,
  { address, phase, generation, checkedAt, tokens, areas }: FollowFigures,
): readonly string[] {
  return tableLines([
    ["state", [state, ...reasons].join(", ")],
    ["directory", dataDirectory ?? ""],
    ["copy", address],
    ["files", phase],
    ["generation", String(generation)],
    ["checked at", checkedAt ?? "never"],
    ["tokens", tokens],
    ...areas.map(({ area, completeTo, behindSeconds }) => [
      area,
      `complete to ${completeTo}, at most ${behindSeconds} s behind`,
    ]),
  ]);
}
