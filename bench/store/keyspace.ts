/** Runs `keyspace-process.ts` on the core of the servers, with room for its heap. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pinned, SERVER_CORE } from "../harness/pinned-process.ts";
import type { KeyspaceResult } from "./keyspace-process.ts";

const PROCESS = fileURLToPath(new URL("keyspace-process.ts", import.meta.url));
const HEAP_MB = 8_192;

export async function measureKeyspace(count: number): Promise<KeyspaceResult> {
  const node = [process.execPath, "--expose-gc", `--max-old-space-size=${HEAP_MB}`];
  const [program = "", ...args] = pinned(SERVER_CORE, [...node, PROCESS, `${count}`]);
  const { stdout } = await promisify(execFile)(program, args, { encoding: "utf8" });
  return JSON.parse(stdout) as KeyspaceResult;
}
