/**
 * The time of starts: without data, with N keys in the journal, and with N
 * keys in a snapshot; and the cost of the process that writes the snapshot.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { pinned, SERVER_CORE } from "../harness/pinned-process.ts";
import { type Spread, spreadOf } from "../harness/statistics.ts";
import { type LarderProcess, type Place, startLarder, TOKEN } from "./subjects.ts";

export interface StartResult {
  /** From the start of the process to the line `running at`. */
  readonly runningMs: Spread;
  /** From the start of the process to the first answer, with a thread for each area. */
  readonly answeredMs: Spread;
  /** The same with one thread for all areas. */
  readonly oneThreadMs: Spread;
}

export interface RecoveryResult {
  readonly count: number;
  readonly journalBytes: number;
  readonly replayMs: number;
  readonly snapshotMs: number;
  readonly snapshotBytes: number;
  readonly loadMs: number;
  /** Resident memory of the serving process per key, after the keys were written through /pipeline. */
  readonly residentBytesPerKey: number | undefined;
  readonly pipelinedPerSecond: number;
}

const KEYS_PER_REQUEST = 1_000;
const CONNECTIONS = 4;

/** Starts with an empty directory. The first start of all, which fills the compile cache, is not counted. */
export async function measureEmptyStarts(place: Place, count: number): Promise<StartResult> {
  const running: number[] = [];
  const answered: number[] = [];
  const withOne: number[] = [];
  for (let i = 0; i <= count; i += 1) {
    const perArea = await timedEmptyStart(place, "per-area");
    const one = await timedEmptyStart(place, "one");
    if (i === 0) continue;
    running.push(perArea.runningMs);
    answered.push(perArea.answeredMs);
    withOne.push(one.answeredMs);
  }
  return { runningMs: spreadOf(running), answeredMs: spreadOf(answered), oneThreadMs: spreadOf(withOne) };
}

async function timedEmptyStart(
  place: Place,
  threads: "one" | "per-area",
): Promise<{ runningMs: number; answeredMs: number }> {
  const directory = mkdtempSync(join(place.parent, "start-"));
  const { server, runningMs, answeredMs } = await timedStart(place, directory, ["--threads", threads]);
  await server.process.stop();
  rmSync(directory, { recursive: true });
  return { runningMs, answeredMs };
}

export async function measureRecovery(place: Place, count: number): Promise<RecoveryResult> {
  const directory = mkdtempSync(join(place.parent, "recovery-"));
  try {
    const { server: first } = await timedStart(place, directory);
    const emptyBytes = first.process.residentBytes();
    const pipelinedPerSecond = await fill(first.port, count);
    const filledBytes = first.process.residentBytes();
    await first.process.stop();
    const journalBytes = bytesIn(directory, ".journal");

    const { server: second, runningMs: replayMs } = await timedStart(place, directory);
    await expectCount(second.port, count);
    // Stopping also closes the segment of this start, so everything is in closed segments.
    await second.process.stop();

    const beganMs = performance.now();
    const role = [process.execPath, place.program, "internal-snapshot", directory, "store"];
    const [program = "", ...args] = pinned(SERVER_CORE, role);
    await promisify(execFile)(program, args);
    const snapshotMs = performance.now() - beganMs;
    const snapshotBytes = bytesIn(directory, ".snapshot");

    const { server: third, runningMs: loadMs } = await timedStart(place, directory);
    await expectCount(third.port, count);
    await third.process.stop();
    return {
      count,
      journalBytes,
      replayMs,
      snapshotMs,
      snapshotBytes,
      loadMs,
      residentBytesPerKey:
        emptyBytes === undefined || filledBytes === undefined ? undefined : (filledBytes - emptyBytes) / count,
      pipelinedPerSecond,
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function timedStart(
  place: Place,
  directory: string,
  flags: readonly string[] = [],
): Promise<{ server: LarderProcess; runningMs: number; answeredMs: number }> {
  const beganMs = performance.now();
  const server = await startLarder(place.program, ["--data-dir", directory, "--snapshots", "off", ...flags]);
  const runningMs = performance.now() - beganMs;
  await call(server.port, "/", ["PING"]);
  return { server, runningMs, answeredMs: performance.now() - beganMs };
}

/** Keys of 16 bytes with values of 6 to 12, in pipelines over a few connections. Returns keys per second. */
async function fill(port: number, count: number): Promise<number> {
  const beganMs = performance.now();
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < count) {
      const from = next;
      next += KEYS_PER_REQUEST;
      const commands = Array.from({ length: Math.min(KEYS_PER_REQUEST, count - from) }, (_, i) => [
        "SET",
        `user:${String(from + i).padStart(11, "0")}`,
        `value:${(from + i) % 1_000_000}`,
      ]);
      await call(port, "/pipeline", commands);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  return Math.round(count / ((performance.now() - beganMs) / 1_000));
}

async function expectCount(port: number, count: number): Promise<void> {
  const { result } = (await call(port, "/", ["DBSIZE"])) as { result: number };
  if (result !== count) throw new Error(`${count} keys went in and ${result} came back`);
}

async function call(port: number, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 200)}`);
  return JSON.parse(text);
}

/** Sum of the files with this ending below a data directory. */
function bytesIn(directory: string, suffix: ".journal" | ".snapshot"): number {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(suffix))
    .reduce((sum, path) => sum + statSync(join(directory, path)).size, 0);
}
