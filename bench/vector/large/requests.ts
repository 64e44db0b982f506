/** Upserts of vectors that are drawn while they are sent, and queries whose times are taken. */
import type { Draw } from "../data-set.ts";
import type { VectorServer } from "../larder-server.ts";
import { BATCH_ROWS, queryBody, vectorText } from "../requests.ts";
import type { BestRows } from "./best-rows.ts";

export interface Upserts {
  readonly rowCount: number;
  readonly dimension: number;
  readonly draw: Draw;
  readonly truth: BestRows;
  /** Called after each PROGRESS_ROWS; the next ones are sent when it has ended. */
  progress(sentRows: number): Promise<void>;
}

export interface QueryTimes {
  readonly connections: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const PROGRESS_ROWS = 100_000;
const REQUESTS_AT_ONCE = 2;

/** Ids are the numbers of the rows. */
export async function upsertAll(server: VectorServer, upserts: Upserts): Promise<void> {
  const { rowCount, dimension, draw, truth, progress } = upserts;
  const open = new Set<Promise<unknown>>();
  for (let first = 0; first < rowCount; first += BATCH_ROWS) {
    const rows = new Float32Array(Math.min(BATCH_ROWS, rowCount - first) * dimension);
    draw(rows);
    const records: string[] = [];
    for (let at = 0, row = first; at < rows.length; at += dimension, row += 1) {
      const vector = rows.subarray(at, at + dimension);
      truth.see(row, vector);
      records.push(`{"id":"${row}","vector":${vectorText(vector, "7 decimals")}}`);
    }
    while (open.size >= REQUESTS_AT_ONCE) await Promise.race(open);
    const sent = server.call("/upsert", `[${records.join()}]`).finally(() => open.delete(sent));
    open.add(sent);
    if ((first + BATCH_ROWS) % PROGRESS_ROWS === 0) await progress(first + BATCH_ROWS);
  }
  await Promise.all(open);
}

/** Over that many connections for that long, each with one query at a time. */
export async function measureQueries(
  server: VectorServer,
  {
    queries,
    connections,
    seconds,
  }: { readonly queries: readonly Float32Array[]; readonly connections: number; readonly seconds: number },
): Promise<QueryTimes> {
  const bodies = queries.map((query) => queryBody(query));
  const times: number[] = [];
  let next = 0;
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1_000;
  const ask = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const startMs = performance.now();
      await server.call("/query", bodies[next++ % bodies.length] ?? "");
      times.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, ask));
  const perSecond = (times.length * 1_000) / (performance.now() - beganMs);
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? Number.NaN;
  return { connections, perSecond, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}
