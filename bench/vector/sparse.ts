/** Runs `sparse-process.ts`. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SparseResult } from "./sparse-process.ts";

const PROCESS = fileURLToPath(new URL("sparse-process.ts", import.meta.url));
const HEAP_MB = 4_096;

export interface SparseSize {
  readonly documentCount: number;
  readonly queryCount: number;
  readonly seconds: number;
}

export async function measureSparse({ documentCount, queryCount, seconds }: SparseSize): Promise<SparseResult> {
  const options = ["--expose-gc", `--max-old-space-size=${HEAP_MB}`];
  const args = [...options, PROCESS, `${documentCount}`, `${queryCount}`, `${seconds}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { encoding: "utf8" });
  return JSON.parse(stdout) as SparseResult;
}
