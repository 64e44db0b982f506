/** Load on one server: the order and the result of the load process, and its start on the load's core. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { LOAD_CORE, pinned } from "../harness/pinned-process.ts";
import type { TimeSpread } from "./times.ts";

export interface LoadOrder {
  readonly port: number;
  /** The prefix of the destination's URL. */
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly signingKey: string;
  readonly bodyBytes: number;
  readonly publishers: number;
  /** Each publisher waits for the arrival of its message, then this long before the next; absent: for the answer. */
  readonly gapMs?: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** In addition to the load, delayed messages at an interval. */
  readonly delayed?: {
    readonly everyMs: number;
    readonly delayMs: number;
    readonly headers: readonly (readonly [string, string])[];
  };
}

export interface LoadResult {
  readonly acceptedPerSecond: number;
  readonly deliveredPerSecond: number;
  /** From publish to arrival. */
  readonly arrival: TimeSpread;
  /** From publish to the answer. */
  readonly answer: TimeSpread;
  /** Accepted and not arrived, at the end. */
  readonly outstanding: number;
  readonly outstandingMax: number;
  readonly isBacklogGrowing: boolean;
  /** From the end to the last arrival. */
  readonly drainMs: number;
  /** Accepted and not arrived at the end of the wait for them. */
  readonly lost: number;
  /** Publishes that were not accepted. */
  readonly failed: number;
  /** Repeated arrivals. */
  readonly duplicates: number;
  /** Signatures that were checked. */
  readonly verified: number;
  /** The share of its core that the load process used. */
  readonly loadCore: number;
  /** The lateness of delayed messages. */
  readonly delayed: TimeSpread | undefined;
}

const PROCESS = fileURLToPath(new URL("load-process.ts", import.meta.url));

export async function runLoad(order: LoadOrder): Promise<LoadResult> {
  return JSON.parse(await runOnLoadCore([PROCESS, JSON.stringify(order)])) as LoadResult;
}

/** Runs a bench process on the load's core and resolves with the last line that it prints. */
export async function runOnLoadCore(args: readonly string[]): Promise<string> {
  const [program = "", ...rest] = pinned(LOAD_CORE, [process.execPath, ...args]);
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}\n${output}`);
  return output.trim().split("\n").at(-1) ?? "";
}
