/** Appends to a log at a fixed rate, as the journal of a busy shard does, and ends segments. */
import { performance } from "node:perf_hooks";
import type { LogForm } from "./log-forms.ts";

export interface LoadOptions {
  readonly seconds: number;
  readonly appendsPerSecond: number;
  /** The sizes of the rows, in turn. */
  readonly rowBytes: readonly number[];
  readonly segmentBytes: number;
}

export interface LoadResult {
  readonly appends: number;
  readonly bytes: number;
  /** Of all appends, ascending, from the moment when each was due. */
  readonly appendMs: readonly number[];
  /** Of all removals of old segments, ascending. */
  readonly removalMs: readonly number[];
}

export async function load(form: LogForm, options: LoadOptions): Promise<LoadResult> {
  const { seconds, appendsPerSecond, rowBytes, segmentBytes } = options;
  const rows = rowBytes.map((bytes) => Buffer.alloc(bytes, "larder "));
  const appendMs: number[] = [];
  const removalMs: number[] = [];
  const appendsMax = seconds * appendsPerSecond;
  const startMs = performance.now();
  let segment = 1;
  let start = 0;
  let before = 0;
  let bytes = 0;
  for (let i = 0; i < appendsMax; i += 1) {
    const dueMs = startMs + (i * 1_000) / appendsPerSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const row = rows[i % rows.length] as Buffer;
    // A row that is late because of the one before counts from when it was due.
    const beganMs = Math.min(performance.now(), dueMs + 1);
    await form.append({ segment, start, before, bytes: row });
    appendMs.push(performance.now() - beganMs);
    bytes += row.length;
    before = start;
    start += row.length;
    if (start < segmentBytes) continue;
    const endedMs = performance.now();
    if (await form.ended(segment)) removalMs.push(performance.now() - endedMs);
    segment += 1;
    start = 0;
    before = 0;
  }
  const ascending = (a: number, b: number): number => a - b;
  return { appends: appendsMax, bytes, appendMs: appendMs.sort(ascending), removalMs: removalMs.sort(ascending) };
}

/** The value at a share of an ascending list; NaN of an empty one. */
export function quantile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;
}
