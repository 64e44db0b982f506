/**
 * The servers that are measured over HTTP: the store in both thread layouts and
 * with both readers of HTTP, its peers if they are installed, and the least that
 * a server in JavaScript can do. Each starts fresh, with its own data directory
 * on disk, and shares core 0 with its helper processes.
 */
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childCpuMsOf, type PinnedProcess, startPinned } from "../harness/pinned-process.ts";
import { hasRedis, startRedis } from "../peers/redis.ts";
import { hasWebdis, startWebdis } from "../peers/webdis.ts";
import type { Dialect } from "./workloads.ts";

export const TOKEN = "bench-token-that-nobody-else-knows";

export interface Subject {
  readonly name: string;
  /** A missing requirement on this machine; undefined: it can run. */
  readonly missing: string | undefined;
  readonly dialect: Dialect;
  start(place: Place): Promise<RunningSubject>;
}

export interface Place {
  /** The parent of data directories: on disk. */
  readonly parent: string;
  /** The published program's `bin/larder.cjs`. */
  readonly program: string;
}

export interface RunningSubject {
  readonly port: number;
  /** Processor time of all its processes so far, in ms. */
  cpuMs(): number;
  stop(): Promise<void>;
}

export const subjects: readonly Subject[] = [
  larder("larder, one thread", ["--threads", "one"]),
  larder("larder, thread per area", ["--threads", "per-area"]),
  larder("larder, one thread, --http node", ["--threads", "one", "--http", "node"]),
  {
    name: "bare reader",
    missing: undefined,
    dialect: "store",
    start: () => startPeer("bare-reader.ts"),
  },
  {
    name: "webdis + redis-server",
    missing: hasWebdis ? undefined : "webdis or redis-server is not installed",
    dialect: "webdis",
    start: async ({ parent }) => {
      const { port, processes, stop } = await startWebdis(parent);
      return { port, cpuMs: () => sumCpuMs(processes), stop };
    },
  },
  {
    name: "ioredis gateway + redis-server",
    missing: hasRedis ? undefined : "redis-server is not installed",
    dialect: "gateway",
    start: startGateway,
  },
];

const repository = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The published program: `bin/`, `dist/` and `vendor/` without the sources, which `bin/larder.cjs` would otherwise
 * run. Returns the path of `bin/larder.cjs`.
 */
export function publishedProgram(parent: string): string {
  const folder = mkdtempSync(join(parent, "published-"));
  for (const part of ["bin", "dist", "vendor", "package.json"])
    cpSync(join(repository, part), join(folder, part), { recursive: true });
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  return join(folder, "bin", "larder.cjs");
}

export interface LarderProcess {
  readonly port: number;
  readonly process: PinnedProcess;
}

/** Starts the published program on free ports. */
export async function startLarder(program: string, flags: readonly string[]): Promise<LarderProcess> {
  const server = await startPinned({
    command: [process.execPath, program, "serve", ...flags],
    env: {
      LARDER_STORE_TOKEN: TOKEN,
      LARDER_STORE_PORT: "0",
      LARDER_VECTOR_PORT: "0",
      LARDER_MESSAGING_PORT: "0",
      LARDER_ADMIN_PORT: "0",
    },
    until: /running at[\s\S]*UPSTASH_REDIS_REST_URL="[^"]+"/,
  });
  const port = /UPSTASH_REDIS_REST_URL="http:\/\/[^"]*:(\d+)"/.exec(server.output())?.[1];
  return { port: Number(port), process: server };
}

function larder(name: string, flags: readonly string[]): Subject {
  return {
    name,
    missing: undefined,
    dialect: "store",
    start: async ({ parent, program }) => {
      const directory = mkdtempSync(join(parent, "larder-"));
      const server = await startLarder(program, ["--data-dir", directory, "--fsync", "everysec", ...flags]);
      return {
        port: server.port,
        cpuMs: () => sumCpuMs([server.process]) + childCpuMsOf(server.process.pid),
        stop: async () => {
          await server.process.stop();
          rmSync(directory, { recursive: true, force: true });
        },
      };
    },
  };
}

async function startGateway({ parent }: Place): Promise<RunningSubject> {
  const redis = await startRedis(parent);
  const gateway = await startPeer("gateway.ts", `${redis.port}`);
  return {
    port: gateway.port,
    cpuMs: () => gateway.cpuMs() + sumCpuMs([redis.process]),
    stop: async () => {
      await gateway.stop();
      await redis.stop();
    },
  };
}

async function startPeer(file: string, ...words: string[]): Promise<RunningSubject> {
  const peer = await startPinned({
    command: [process.execPath, fileURLToPath(new URL(`../peers/${file}`, import.meta.url)), ...words],
    env: { TOKEN },
    until: /listening on \d+/,
  });
  return {
    port: Number(/listening on (\d+)/.exec(peer.output())?.[1]),
    cpuMs: () => sumCpuMs([peer]),
    stop: async () => {
      await peer.stop();
    },
  };
}

function sumCpuMs(processes: readonly PinnedProcess[]): number {
  return processes.reduce((sum, each) => sum + (each.cpuMs() ?? Number.NaN), 0);
}
