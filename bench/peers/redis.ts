/**
 * redis-server with an append-only file that is synced once a second, the
 * guarantee of the store, or at each write, the guarantee of messaging.
 * Everything else is its default.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../test/harness/free-port.ts";
import { isInstalled } from "../harness/machine.ts";
import { LOAD_CORE, type PinnedProcess, pinned, SERVER_CORE, startPinned } from "../harness/pinned-process.ts";

export const hasRedis: boolean = isInstalled("redis-server");
export const hasRedisBenchmark: boolean = hasRedis && isInstalled("redis-benchmark");

export interface RedisPeer {
  readonly port: number;
  readonly process: PinnedProcess;
  stop(): Promise<void>;
}

/** @param parent folder of its own directory */
export async function startRedis(
  parent: string,
  fsync: "everysec" | "always" = "everysec",
  core: number | "any" = SERVER_CORE,
): Promise<RedisPeer> {
  const directory = mkdtempSync(join(parent, "redis-"));
  const port = await freePort();
  const settings = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", directory, "--save", ""];
  const server = await startPinned({
    command: ["redis-server", ...settings, "--appendonly", "yes", "--appendfsync", fsync],
    core,
    until: /Ready to accept connections/,
  });
  return {
    port,
    process: server,
    stop: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export interface BenchmarkResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** One test of redis-benchmark, for about this many seconds. Null if it prints no result. */
export function runRedisBenchmark(options: {
  port: number;
  test: "set" | "get" | "incr" | "lpush";
  /** The password of the server, if it requires one. */
  password?: string;
  pipelined: number;
  connections: number;
  valueBytes: number;
  seconds: number;
}): BenchmarkResult | null {
  const { seconds } = options;
  // It runs for a count, not for a time, so a short run determines the count.
  const trial = benchmarkOnce({ ...options, requests: 20_000 * options.pipelined });
  if (trial === null) return null;
  return benchmarkOnce({ ...options, requests: Math.ceil(trial.perSecond * seconds) });
}

function benchmarkOnce(options: {
  port: number;
  test: string;
  password?: string;
  pipelined: number;
  connections: number;
  valueBytes: number;
  requests: number;
}): BenchmarkResult | null {
  const [program = "", ...args] = pinned(LOAD_CORE, [
    "redis-benchmark",
    ...["-p", `${options.port}`, "-t", options.test, "-c", `${options.connections}`, "-P", `${options.pipelined}`],
    ...(options.password === undefined ? [] : ["-a", options.password]),
    ...["-d", `${options.valueBytes}`, "-n", `${options.requests}`, "-r", "10000", "--csv"],
  ]);
  const { stdout } = spawnSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  // "SET","71839.08","0.711","0.128","0.639","1.519","1.751","3.543": name, per second, mean, min, p50, p95, p99, max
  const line = stdout.split("\n").find((each) => each.startsWith(`"${options.test.toUpperCase()}"`));
  if (line === undefined) return null;
  const [perSecond = 0, , , p50Ms = 0, , p99Ms = 0] = line.replaceAll('"', "").split(",").slice(1).map(Number);
  return { perSecond, p50Ms, p99Ms };
}
