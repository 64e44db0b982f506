/**
 * Load over HTTP: 64 connections, each with one request in flight, from core
 * 1. wrk generates it if it is installed; otherwise our own small generator,
 * which costs more per request and so measures lower rates.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInstalled } from "./machine.ts";
import { LOAD_CORE, pinned } from "./pinned-process.ts";

export const CONNECTIONS = 64;

export interface Load {
  readonly port: number;
  /** Whole requests, head and body, sent cyclically. */
  readonly requests: readonly Buffer[];
  readonly seconds: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly durationMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Connections, reads, writes, timeouts and answers that are not 2xx or 3xx. */
  readonly failed: number;
}

export const generator: "wrk" | "own" = isInstalled("wrk") ? "wrk" : "own";

const REPLAY = fileURLToPath(new URL("replay.lua", import.meta.url));
const OWN_GENERATOR = fileURLToPath(new URL("own-generator.ts", import.meta.url));

export async function runLoad({ port, requests, seconds }: Load): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), "larder-bench-"));
  const file = join(folder, "requests");
  writeFileSync(file, Buffer.concat(requests.flatMap((request) => [Buffer.from(`${request.length}\n`), request])));
  const command =
    generator === "wrk"
      ? [
          "wrk",
          "-t1",
          `-c${CONNECTIONS}`,
          `-d${seconds}s`,
          "--timeout",
          "30s",
          "-s",
          REPLAY,
          `http://127.0.0.1:${port}`,
        ]
      : [process.execPath, OWN_GENERATOR, `${port}`, `${CONNECTIONS}`, `${seconds}`];
  try {
    const output = await run(pinned(LOAD_CORE, command), { REQUESTS: file });
    const line = output.split("\n").find((each) => each.startsWith("{"));
    if (line === undefined) throw new Error(`the load generator printed no result:\n${output}`);
    return JSON.parse(line) as LoadResult;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** One request as bytes on the wire. */
export function httpRequest(options: {
  method: "GET" | "POST" | "PUT";
  path: string;
  headers: readonly (readonly [string, string])[];
  body?: string;
}): Buffer {
  const { method, path, headers, body } = options;
  const lines = [`${method} ${path} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

async function run(command: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}\n${output}`);
  return output;
}
