/** Runs the rows of `data-type-rows.ts` and of redis-server, and formats them as a part of a page. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type RedisProcess, redisMissing, startRedis } from "../../test/differential/redis-process.ts";
import { pinned, SERVER_CORE } from "../harness/pinned-process.ts";
import { lowerQuartile } from "../harness/statistics.ts";
import { figure, table } from "../harness/table.ts";
import { type DataTypeRow, dataTypeRows, PARTS, partOf, type Words } from "./data-type-rows.ts";
import type { OwnResult } from "./data-types-process.ts";

export interface DataTypeResult {
  readonly name: string;
  /** Undefined: the row failed, and the reason was logged. */
  readonly ours: OwnResult | undefined;
  readonly theirs: TheirResult | undefined;
}

interface TheirResult {
  readonly microseconds: number;
  readonly bytesPerElement: number | undefined;
}

export const RATE_MIN = 0.7;
export const WEIGHT_MAX = 3;

const PROCESS = fileURLToPath(new URL("data-types-process.ts", import.meta.url));
const HEAP_MB = 4_096;
/** Commands sent to redis-server at a time. */
const GROUP = 10_000;

/** @param only rows whose name contains this */
export async function measureDataTypes(options: {
  elementCount: number;
  only: string;
  log: (line: string) => void;
}): Promise<readonly DataTypeResult[]> {
  const { elementCount, only, log } = options;
  const results: DataTypeResult[] = [];
  for (const row of dataTypeRows.filter(({ name }) => name.includes(only))) {
    log(`data types: ${row.name}`);
    const failed = (error: unknown): undefined => log(`${row.name}: ${error}`) as undefined;
    const ours = await measureOurs(row, elementCount).catch(failed);
    const isCompared = redisMissing === false && row.isOursAlone !== true;
    const theirs = isCompared ? await measureRedis(row, elementCount).catch(failed) : undefined;
    results.push({ name: row.name, ours, theirs });
  }
  return results;
}

/** redis-server's time divided by ours; undefined if one of them is unknown. */
export function rateOf({ ours, theirs }: DataTypeResult): number | undefined {
  return ours && theirs && theirs.microseconds / ours.microseconds;
}

/** Our bytes per element divided by redis-server's. */
export function weightOf({ ours, theirs }: DataTypeResult): number | undefined {
  if (typeof ours?.bytesPerElement !== "number" || theirs?.bytesPerElement === undefined) return undefined;
  return ours.bytesPerElement / theirs.bytesPerElement;
}

export function dataTypeTable(results: readonly DataTypeResult[]): string {
  const fixed = (value: number | undefined): string => value?.toFixed(2) ?? "";
  const bytes = (value: number | null | undefined): string => (typeof value === "number" ? figure(value) : "");
  return table(
    ["command", "ours, µs", "Redis, µs", "rate", "least, µs", "ours, bytes", "Redis, bytes", "weight"],
    results.map((result) => [
      result.name,
      result.ours === undefined ? "failed" : fixed(result.ours.microseconds),
      fixed(result.theirs?.microseconds),
      fixed(rateOf(result)),
      fixed(result.ours?.floorMicroseconds ?? undefined),
      bytes(result.ours?.bytesPerElement),
      bytes(result.theirs?.bytesPerElement),
      fixed(weightOf(result)),
    ]),
  );
}

async function measureOurs(row: DataTypeRow, elementCount: number): Promise<OwnResult> {
  const node = [process.execPath, "--expose-gc", `--max-old-space-size=${HEAP_MB}`];
  const [program = "", ...args] = pinned(SERVER_CORE, [...node, PROCESS, `${elementCount}`, row.name]);
  const { stdout } = await promisify(execFile)(program, args, { encoding: "utf8" });
  return JSON.parse(stdout) as OwnResult;
}

async function measureRedis(row: DataTypeRow, elementCount: number): Promise<TheirResult> {
  const count = Math.round(elementCount * (row.share ?? 1));
  const { command, times = 0 } = row;
  const redis = await startRedis();
  try {
    const beforeBytes = await usedBytes(redis);
    const filling = await timeOf(redis, { from: 0, to: count }, (i) => row.fill(i, count));
    const bytesPerElement = row.weighs === true ? ((await usedBytes(redis)) - beforeBytes) / count : undefined;
    const microseconds = command === undefined ? filling : await quartileOf(redis, times, (i) => command(i, count));
    return { microseconds, bytesPerElement };
  } finally {
    await redis.stop();
  }
}

async function quartileOf(redis: RedisProcess, times: number, command: (i: number) => Words): Promise<number> {
  const parts: number[] = [];
  for (let part = 0; part < PARTS; part += 1) parts.push(await timeOf(redis, partOf(times, part), command));
  return lowerQuartile(parts);
}

/** The time of the commands inside redis-server, in µs each. */
async function timeOf(
  redis: RedisProcess,
  { from, to }: { from: number; to: number },
  command: (i: number) => Words,
): Promise<number> {
  await redis.call(["CONFIG", "RESETSTAT"]);
  const name = (command(0)[0] ?? "").toLowerCase();
  for (let start = from; start < to; start += GROUP)
    await redis.pipeline(Array.from({ length: Math.min(GROUP, to - start) }, (_, i) => command(start + i)));
  const [, calls = "1", usec = "0"] =
    new RegExp(`cmdstat_${name}:calls=(\\d+),usec=(\\d+)`).exec(await infoOf(redis, "commandstats")) ?? [];
  return Number(usec) / Number(calls);
}

async function usedBytes(redis: RedisProcess): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await infoOf(redis, "memory"))?.[1]);
}

async function infoOf(redis: RedisProcess, section: string): Promise<string> {
  return String(await redis.call(["INFO", section]));
}
