/** Processor time and memory of this process. */

/** A function runs for at least so long, and as long before it is measured: V8 compiles what a server runs often. */
const RUN_MS = 250;

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
  runFor(RUN_MS, run);
  const startMs = processorMs();
  const runs = runFor(RUN_MS, run);
  return (processorMs() - startMs) / runs;
}

/** Runs a function again and again; returns how often. */
function runFor(ms: number, run: () => unknown): number {
  const startMs = processorMs();
  let runs = 0;
  for (; processorMs() - startMs < ms; runs += 1) run();
  return runs;
}

/** Bytes that are in use after collections. */
export function collectedBytes(): number {
  for (let i = 0; i < 3; i += 1) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** What a subject measured: by the name of a row; undefined where it has no such thing. */
export type Figures = Readonly<Record<string, number | undefined>>;
