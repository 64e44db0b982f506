/** The peers as subjects: each job queue behind the same small gateway (peer-gateway.ts), on the servers' core. */
import { fileURLToPath } from "node:url";
import { type PinnedProcess, startPinned } from "../harness/pinned-process.ts";
import { peersFolder, peerVersion } from "../peers/modules.ts";
import { hasPostgres, startPostgres } from "../peers/postgres.ts";
import { hasRedis, startRedis } from "../peers/redis.ts";
import { publishHeaders } from "./larder.ts";
import { PEER_KEY } from "./peer-gateway.ts";
import type { Place, RunningSubject, Subject } from "./subjects.ts";

export const BULLMQ = "BullMQ + redis-server";
export const PG_BOSS = "pg-boss + PostgreSQL";

export const peers: readonly Subject[] = [
  {
    name: BULLMQ,
    missing: hasRedis ? missingModule("bullmq") : "redis-server is not installed",
    ...gatewayFacts(),
    start: startBullMq,
  },
  {
    name: PG_BOSS,
    missing: hasPostgres ? missingModule("pg-boss") : "PostgreSQL is not installed",
    ...gatewayFacts(),
    start: startPgBoss,
  },
];

function missingModule(name: string): string | undefined {
  return peerVersion(name) === undefined ? `${name} is not in ${peersFolder}/node_modules` : undefined;
}

function gatewayFacts(): Pick<Subject, "publishPath" | "headers" | "delayHeaders"> {
  return {
    publishPath: "/v2/publish/",
    headers: publishHeaders,
    delayHeaders: (seconds) => [["delay-seconds", `${seconds}`]],
  };
}

async function startBullMq({ parent }: Place): Promise<RunningSubject> {
  const redis = await startRedis(parent, "always");
  const gateway = await startGateway("bullmq-process.ts", `${redis.port}`);
  return running(gateway, { cpuMs: () => redis.process.cpuMs() ?? Number.NaN, stop: () => redis.stop() });
}

async function startPgBoss({ parent }: Place): Promise<RunningSubject> {
  const postgres = await startPostgres(parent);
  const gateway = await startGateway("pg-boss-process.ts", postgres.connection);
  return running(gateway, postgres);
}

function startGateway(file: string, argument: string): Promise<PinnedProcess> {
  return startPinned({
    command: [process.execPath, fileURLToPath(new URL(file, import.meta.url)), argument],
    env: { BENCH_PEERS: peersFolder },
    until: /listening on \d+/,
  });
}

function running(gateway: PinnedProcess, server: { cpuMs(): number; stop(): Promise<void> }): RunningSubject {
  return {
    port: Number(/listening on (\d+)/.exec(gateway.output())?.[1]),
    signingKey: PEER_KEY,
    cpuMs: () => (gateway.cpuMs() ?? Number.NaN) + server.cpuMs(),
    residentBytes: () => gateway.residentBytes(),
    stop: async () => {
      await gateway.stop();
      await server.stop();
    },
  };
}
