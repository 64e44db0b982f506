/** Runs `memory-process.ts`, and prints where the bytes of a vector are. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { table } from "../harness/table.ts";
import type { DataSet } from "./data-set.ts";
import type { MemoryResult } from "./memory-process.ts";

const PROCESS = fileURLToPath(new URL("memory-process.ts", import.meta.url));

export async function measureMemory(set: DataSet, log: (line: string) => void): Promise<string> {
  log(`${set.name}: memory`);
  const args = ["--expose-gc", PROCESS, JSON.stringify(set)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { encoding: "utf8" });
  const { residentBytes, countedBytes, parts, threadBytes, costs } = JSON.parse(stdout) as MemoryResult;
  const bytes = Object.entries({ ...parts, "resident, all of it": residentBytes, "by its account": countedBytes });
  const lines = [
    `Memory of ${set.name}: ids of 12 bytes, metadata of up to 32`,
    table(
      ["part", "bytes for each vector"],
      bytes.map(([part, count]) => [part, count.toFixed(0)]),
    ),
    `The thread that builds graphs took ${(threadBytes / 1e6).toFixed(1)} MB before it built anything, not included above.`,
    table(
      ["call", "microseconds of this thread"],
      Object.entries(costs).map(([call, microseconds]) => [call, microseconds.toFixed(2)]),
    ),
  ];
  return lines.join("\n\n");
}
