/** Resource use of a process under load, and whether it stays bounded. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { RunningProgram } from "../../program/program-process.ts";

export interface Sample {
  /** JavaScript heaps of all threads. */
  readonly heapBytes: number;
  /** Open file descriptors; undefined if the system does not list them. */
  readonly handles: number | undefined;
  readonly directoryBytes: number;
}

export async function takeSample(server: RunningProgram, directory: string): Promise<Sample> {
  const figures = await (await fetch(`${server.adminUrl}/metrics`)).text();
  const heaps = figures.matchAll(/^larder_heap_used_bytes\{[^}]*\} (\S+)$/gm);
  return {
    heapBytes: Array.from(heaps, ([, text]) => Number(text)).reduce((sum, bytes) => sum + bytes, 0),
    handles: handlesOf(server.pid),
    directoryBytes: bytesIn(directory),
  };
}

function handlesOf(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
  }
}

/** Files may disappear while they are counted. */
function bytesIn(directory: string): number {
  let bytes = 0;
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    bytes += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

const MB = 2 ** 20;

interface Bound {
  readonly what: string;
  /** The minimum or the maximum of the samples of a third. */
  readonly of: (samples: readonly Sample[]) => number;
  /** Normal variation: collections, connections, segments before a snapshot. */
  readonly slack: number;
}

const bounds: readonly Bound[] = [
  // The live contents of a heap show after its collections.
  { what: "heap bytes", of: (samples) => Math.min(...samples.map((sample) => sample.heapBytes)), slack: 48 * MB },
  { what: "handles", of: (samples) => Math.max(...samples.map((sample) => sample.handles ?? 0)), slack: 32 },
  {
    what: "bytes of the data directory",
    of: (samples) => Math.max(...samples.map((sample) => sample.directoryBytes)),
    slack: 256 * MB,
  },
];

/** A sentence for each figure whose last third is above its middle third by more than half and its slack. */
export function excesses(samples: readonly Sample[]): readonly string[] {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return [];
  const middle = samples.slice(third, 2 * third);
  const last = samples.slice(2 * third);
  return bounds.flatMap(({ what, of, slack }) => {
    const before = of(middle);
    const after = of(last);
    return after > before * 1.5 + slack ? [`${what} grew from ${before} to ${after}`] : [];
  });
}
