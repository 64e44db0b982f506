/** Requests to a vector index as bytes on the wire, and clients on the load's core that send them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { httpRequest } from "../harness/http-load.ts";
import { LOAD_CORE, pinned } from "../harness/pinned-process.ts";
import type { RawResult } from "../harness/raw-client.ts";
import { chunksOf, type DataSet, readQueries } from "./data-set.ts";
import { HIT_COUNT } from "./truth.ts";

export interface RequestOrder {
  readonly port: number;
  readonly connections: number;
  /** Each request once; otherwise cyclically until it is stopped. */
  readonly isOnce: boolean;
  readonly perSecondMax?: number | undefined;
}

export interface Client {
  begin(): void;
  stop(): void;
  readonly done: Promise<RawResult>;
}

/** The format of values: with the digits that embedding services send, or all digits of a float32 as a double. */
export type Digits = "7 decimals" | "all digits";

export const BATCH_ROWS = 1_000;
export const TOKEN = "bench-token-that-nobody-else-knows";

const DECIMALS = 1e7;
const PROCESS = fileURLToPath(new URL("request-process.ts", import.meta.url));

/** A file of upserts with all rows; ids are the numbers of rows. */
export function writeUpserts(set: DataSet, digits: Digits): string {
  const path = join(set.folder, `upserts, ${digits}`);
  const file = openSync(path, "w");
  for (const { first, rows } of chunksOf(set, BATCH_ROWS)) {
    const records: string[] = [];
    for (let at = 0; at < rows.length; at += set.dimension) {
      const vector = vectorText(rows.subarray(at, at + set.dimension), digits);
      records.push(`{"id":"${first + at / set.dimension}","vector":${vector}}`);
    }
    writeRequest(file, post("/upsert", `[${records.join()}]`));
  }
  closeSync(file);
  return path;
}

export function writeQueries(set: DataSet, asked: Asked = {}): string {
  const path = join(set.folder, "query requests");
  const file = openSync(path, "w");
  for (const query of readQueries(set)) writeRequest(file, post("/query", queryBody(query, asked)));
  closeSync(file);
  return path;
}

export interface Asked {
  readonly topK?: number;
  /** Undefined: the index chooses it. */
  readonly effort?: number | undefined;
}

export function queryBody(query: Float32Array, { topK = HIT_COUNT, effort }: Asked = {}): string {
  const walk = effort === undefined ? "" : `,"effort":${effort}`;
  return `{"vector":${vectorText(query, "7 decimals")},"topK":${topK}${walk}}`;
}

/** Starts a client on the load's core, and resolves when it has read its requests. */
export async function startClient(file: string, order: RequestOrder): Promise<Client> {
  const [program = "", ...args] = pinned(LOAD_CORE, [process.execPath, PROCESS, file, JSON.stringify(order)]);
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const killWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithUs);
  await messageOf(child);
  const done = messageOf(child).finally(() => process.removeListener("exit", killWithUs)) as Promise<RawResult>;
  return { begin: () => child.send("begin"), stop: () => child.send("stop"), done };
}

async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`a client ended with ${code}`)));
  const [message] = await Promise.race([once(child, "message"), ended]);
  ended.catch(() => {});
  return message;
}

/** The values as a JSON array. */
export function vectorText(values: Float32Array, digits: Digits): string {
  if (digits === "all digits") return `[${Array.from(values).join()}]`;
  return `[${Array.from(values, (value) => Math.round(value * DECIMALS) / DECIMALS).join()}]`;
}

/** The headers of the official client through fetch. */
function post(path: string, body: string): Buffer {
  return httpRequest({
    method: "POST",
    path,
    headers: [
      ["host", "127.0.0.1"],
      ["authorization", `Bearer ${TOKEN}`],
      ["content-type", "application/json"],
      ["upstash-telemetry-sdk", "upstash-vector-js@1.2.3"],
      ["upstash-telemetry-platform", "unknown"],
      ["upstash-telemetry-runtime", "node@v26.10.0"],
      ["accept", "*/*"],
      ["accept-language", "*"],
      ["sec-fetch-mode", "cors"],
      ["user-agent", "node"],
      ["accept-encoding", "gzip, deflate"],
    ],
    body,
  });
}

function writeRequest(file: number, request: Buffer): void {
  writeSync(file, `${request.length}\n`);
  for (let at = 0; at < request.length; ) at += writeSync(file, request, at);
}
