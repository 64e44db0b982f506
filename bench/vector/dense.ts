/** Dense searches in the engine and its peers: speed at each recall, filtered ones, building, memory. */
import { type Spread, spreadOf } from "../harness/statistics.ts";
import type { DataSet } from "./data-set.ts";
import type { BuildFacts, Point, Times } from "./subject.ts";
import { missingPeer, type RunningSubject, type Subject, startSubject } from "./subjects.ts";
import type { Truth } from "./truth.ts";

export interface DenseSize {
  /** The measured efforts of the subjects. */
  readonly efforts: readonly number[];
  readonly rounds: number;
  /** Of one measurement. */
  readonly seconds: number;
  readonly queryCount: number;
  /** Of searches that are slow: exact ones and filtered ones. */
  readonly slowQueryCount: number;
}

export interface DenseRow {
  readonly subject: string;
  readonly point: Point;
  readonly recall: number;
  readonly perSecond: Spread;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface DenseResult {
  readonly set: DataSet;
  readonly builds: readonly ({ readonly subject: string } & BuildFacts)[];
  readonly rows: readonly DenseRow[];
}

export interface DenseOptions {
  readonly set: DataSet;
  readonly truth: Truth;
  readonly subjects: readonly Subject[];
  /** The filters in turn: 1 for everything, others as in `truth.ts`. All of them query the same index. */
  readonly moduli: readonly number[];
  readonly size: DenseSize;
  readonly log: (line: string) => void;
}

const WARM_UP_SECONDS = 0.3;

interface Measured {
  readonly running: RunningSubject;
  readonly point: Point;
  readonly recall: number;
  readonly times: Times[];
}

export async function measureDense(options: DenseOptions): Promise<DenseResult> {
  const { set, size, log } = options;
  const running: RunningSubject[] = [];
  const builds: ({ subject: string } & BuildFacts)[] = [];
  try {
    for (const subject of options.subjects) {
      const missing = missingPeer(subject);
      if (missing !== undefined) {
        log(`${subject.name}: ${missing}`);
        continue;
      }
      log(`${set.name}: building ${subject.name}`);
      const started = await startSubject(
        subject,
        set,
        options.moduli.some((modulus) => modulus > 1),
      );
      running.push(started);
      builds.push({ subject: subject.name, ...(await started.ask({ kind: "build" })) });
    }
    const measured: Measured[] = [];
    for (const each of running)
      for (const point of pointsOf(options, each.subject, builds))
        measured.push({ running: each, point, recall: await recallOf(options, each, point), times: [] });
    for (let round = 0; round < size.rounds; round += 1) {
      log(`${set.name}: round ${round + 1} of ${size.rounds}`);
      for (const { running: each, point, times } of round % 2 === 0 ? measured : measured.toReversed()) {
        await each.ask({ kind: "time", point, seconds: WARM_UP_SECONDS });
        times.push(await each.ask({ kind: "time", point, seconds: size.seconds }));
      }
    }
    return { set, builds, rows: measured.map(rowOf) };
  } finally {
    await Promise.all(running.map((each) => each.stop()));
  }
}

/** Unfiltered at each effort, filtered at one. */
function pointsOf(
  { moduli, size }: DenseOptions,
  { name, efforts, filteredEffort }: Subject,
  builds: readonly ({ readonly subject: string } & BuildFacts)[],
): readonly Point[] {
  const isAdjustable = builds.find(({ subject }) => subject === name)?.isAdjustable === true;
  return moduli.flatMap((modulus) => {
    if (modulus > 1) return filteredEffort === null ? [] : [{ effort: filteredEffort, modulus }];
    return efforts
      .filter((effort) => effort === undefined || (isAdjustable && size.efforts.includes(effort)))
      .map((effort) => ({ effort, modulus }));
  });
}

async function recallOf({ truth, size }: DenseOptions, running: RunningSubject, point: Point): Promise<number> {
  const isSlow = running.subject.isExact || point.modulus > 1;
  const queryCount = isSlow ? size.slowQueryCount : size.queryCount;
  return truth.recallOf(await running.ask({ kind: "hits", point, queryCount }), point.modulus);
}

function rowOf({ running, point, recall, times }: Measured): DenseRow {
  return {
    subject: running.subject.name,
    point,
    recall,
    perSecond: spreadOf(times.map(({ perSecond }) => perSecond)),
    p50Ms: spreadOf(times.map(({ p50Ms }) => p50Ms)).median,
    p99Ms: spreadOf(times.map(({ p99Ms }) => p99Ms)).median,
  };
}
