/** Processor time and memory of this process. */

/** A function runs for at least so long. */
const RUN_MS = 250;
const WARM_UP_RUNS = 3;

export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Processor time of this thread: without that of collections beside it. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The mean processor time of a function, in ms. */
export function meanMs(run: () => unknown): number {
  for (let i = 0; i < WARM_UP_RUNS; i += 1) run();
  let runs = 0;
  const startMs = processorMs();
  for (; processorMs() - startMs < RUN_MS; runs += 1) run();
  return (processorMs() - startMs) / runs;
}

/** Bytes that are in use after collections. */
export function collectedBytes(): number {
  for (let i = 0; i < 3; i += 1) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** What a subject measured: by the name of a row; undefined where it has no such thing. */
export type Figures = Readonly<Record<string, number | undefined>>;
