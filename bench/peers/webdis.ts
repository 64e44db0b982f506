/** webdis, an HTTP server in C in front of a redis-server, configured for one core. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../test/harness/free-port.ts";
import { isInstalled } from "../harness/machine.ts";
import { type PinnedProcess, startPinned } from "../harness/pinned-process.ts";
import { hasRedis, startRedis } from "./redis.ts";

export const hasWebdis: boolean = hasRedis && isInstalled("webdis");

export interface WebdisPeer {
  readonly port: number;
  readonly processes: readonly PinnedProcess[];
  stop(): Promise<void>;
}

export async function startWebdis(parent: string): Promise<WebdisPeer> {
  const redis = await startRedis(parent);
  const directory = mkdtempSync(join(parent, "webdis-"));
  const port = await freePort();
  const configuration = {
    redis_host: "127.0.0.1",
    redis_port: redis.port,
    http_host: "127.0.0.1",
    http_port: port,
    // The best on one core: 24 µs of processor time for a SET; 20 connections took 29, four threads 36.
    threads: 1,
    pool_size: 1,
    daemonize: false,
    http_max_request_size: 16 * 1024 * 1024,
    verbosity: 5,
    logfile: "/dev/stdout",
  };
  const file = join(directory, "webdis.json");
  writeFileSync(file, JSON.stringify(configuration));
  const server = await startPinned({ command: ["webdis", file], until: /up and running/ });
  return {
    port,
    processes: [server, redis.process],
    stop: async () => {
      await server.stop();
      await redis.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
