/**
 * The server of moto, with which clients of AWS are tested: objects are in memory. It checks no signatures and no
 * checksums of bodies, keeps the headers of encryption without encrypting, and conditions of one writer at a time.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { MOTO_SERVER } from "../required-programs.ts";
import { ServerProcesses, type StoreServer } from "./server-process.ts";

/** Starts it in about 3 s, without a bucket. */
export async function startMoto(): Promise<StoreServer> {
  const directory = mkdtempSync(join(tmpdir(), "larder-moto-"));
  const processes = new ServerProcesses(directory);
  const stop = async (): Promise<void> => {
    await processes.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  const port = await freePort();
  try {
    processes.start(MOTO_SERVER, ["--host", "127.0.0.1", "--port", String(port)]);
    await processes.listening(port);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    query: `?endpoint=http://127.0.0.1:${port}`,
    credentials: { AWS_ACCESS_KEY_ID: "larder", AWS_SECRET_ACCESS_KEY: "larder-secret" },
    stop,
  };
}
