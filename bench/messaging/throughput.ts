/** One kind of load on one subject, from a fresh start. Rounds alternate, so that a noisy neighbour affects all. */
import { type Spread, spreadOf as spread } from "../harness/statistics.ts";
import { type LoadOrder, type LoadResult, runLoad } from "./load.ts";
import type { Place, Subject } from "./subjects.ts";

export interface Workload {
  readonly name: string;
  readonly publishers: number;
  readonly gapMs?: number;
  /** Delayed messages at an interval. */
  readonly delayedEveryMs?: number;
}

export interface Row {
  readonly subject: string;
  readonly workload: Workload;
  readonly accepted: Spread;
  readonly delivered: Spread;
  readonly arrivalP50: Spread;
  readonly arrivalP99: Spread;
  readonly answerP50: Spread;
  readonly answerP99: Spread;
  /** The number of rounds that ended with a growing backlog. */
  readonly growingRounds: number;
  readonly outstandingMax: number;
  /** Share of the servers' core, in percent. */
  readonly serverCore: number;
  readonly loadCore: number;
  /** Messages that a second of the servers' processor time delivers. */
  readonly perCpuSecond: number;
  readonly faults: number;
  readonly delayedP50: number | undefined;
  readonly delayedP99: number | undefined;
}

export interface Plan {
  readonly place: Place;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly log: (line: string) => void;
}

interface Run {
  readonly result: LoadResult;
  readonly serverCore: number;
}

const BODY_BYTES = 300;
const DELAY_SECONDS = 1;

export async function measureThroughput(
  pairs: readonly (readonly [Subject, Workload])[],
  plan: Plan,
): Promise<readonly Row[]> {
  const runs = pairs.map((): Run[] => []);
  for (let round = 0; round < plan.rounds; round += 1) {
    const order = pairs.map((_, index) => (round % 2 === 0 ? index : pairs.length - 1 - index));
    for (const index of order) {
      const [subject, workload] = pairs[index] as readonly [Subject, Workload];
      plan.log(`round ${round + 1}: ${subject.name}: ${workload.name}`);
      runs[index]?.push(await runOnce(subject, workload, plan));
    }
  }
  return pairs.map(([subject, workload], index) => rowOf(subject.name, workload, runs[index] ?? []));
}

async function runOnce(subject: Subject, workload: Workload, plan: Plan): Promise<Run> {
  const server = await subject.start(plan.place);
  try {
    const order: LoadOrder = {
      port: server.port,
      path: subject.publishPath,
      headers: subject.headers,
      signingKey: server.signingKey,
      bodyBytes: BODY_BYTES,
      publishers: workload.publishers,
      ...(workload.gapMs !== undefined && { gapMs: workload.gapMs }),
      warmUpMs: plan.warmUpSeconds * 1_000,
      durationMs: plan.seconds * 1_000,
      ...(workload.delayedEveryMs !== undefined && {
        delayed: {
          everyMs: workload.delayedEveryMs,
          delayMs: DELAY_SECONDS * 1_000,
          headers: subject.delayHeaders(DELAY_SECONDS),
        },
      }),
    };
    const loading = runLoad(order);
    const serverCore = await shareOfCore(server, plan);
    return { result: await loading, serverCore };
  } finally {
    await server.stop();
  }
}

/** The use of the servers' core, during the measured load. */
async function shareOfCore(server: { cpuMs(): number }, { warmUpSeconds, seconds }: Plan): Promise<number> {
  await new Promise((done) => setTimeout(done, warmUpSeconds * 1_000));
  const cpuMs = server.cpuMs();
  const startMs = performance.now();
  await new Promise((done) => setTimeout(done, seconds * 1_000));
  return ((server.cpuMs() - cpuMs) / (performance.now() - startMs)) * 100;
}

function rowOf(subject: string, workload: Workload, runs: readonly Run[]): Row {
  const of = (read: (result: LoadResult) => number): Spread => spread(runs.map(({ result }) => read(result)));
  const delivered = of(({ deliveredPerSecond }) => deliveredPerSecond);
  const serverCore = spread(runs.map((run) => run.serverCore)).median;
  const hasDelayed = workload.delayedEveryMs !== undefined;
  return {
    subject,
    workload,
    accepted: of(({ acceptedPerSecond }) => acceptedPerSecond),
    delivered,
    arrivalP50: of(({ arrival }) => arrival.p50Ms),
    arrivalP99: of(({ arrival }) => arrival.p99Ms),
    answerP50: of(({ answer }) => answer.p50Ms),
    answerP99: of(({ answer }) => answer.p99Ms),
    growingRounds: runs.filter(({ result }) => result.isBacklogGrowing).length,
    outstandingMax: of(({ outstandingMax }) => outstandingMax).max,
    serverCore,
    loadCore: of(({ loadCore }) => loadCore * 100).median,
    perCpuSecond: spread(runs.map((run) => (run.result.deliveredPerSecond * 100) / run.serverCore)).median,
    faults: of(({ lost, failed, duplicates }) => lost + failed + duplicates).max,
    delayedP50: hasDelayed ? of(({ delayed }) => delayed?.p50Ms ?? Number.NaN).median : undefined,
    delayedP99: hasDelayed ? of(({ delayed }) => delayed?.p99Ms ?? Number.NaN).median : undefined,
  };
}
