/** The number of steps of one shape per second, and the time of one without other load. */

import type { LarderServer } from "../messaging/larder.ts";
import { spreadOf } from "../messaging/times.ts";
import type { Application, Shape, Work } from "./application.ts";

export interface NamedShape extends Shape {
  readonly name: string;
  /** Runs at a time. */
  readonly underWay: number;
  readonly isServed: boolean;
}

export interface ShapeResult {
  readonly shape: NamedShape;
  readonly runsPerSecond: number;
  /** Share of larder's core. */
  readonly core: number;
  /** Of one run alone, divided by its steps: median. */
  readonly aloneMs: number;
  /** For a single step, from the request with its result to the delivery of it: larder's part. For raw steps. */
  readonly overhead: { readonly p50Ms: number; readonly p99Ms: number } | undefined;
  /** One fdatasync of the journal, while runs were alone: mean. */
  readonly syncMs: number;
}

export interface Times {
  readonly warmUpMs: number;
  readonly runMs: number;
}

/** Steps that are timed alone. */
const ALONE_STEPS = 200;
/** The pause between single runs, so that none meets unfinished work of the one before. */
const PAUSE_MS = 3;

export async function measureShape(
  larder: LarderServer,
  application: Application,
  { shape, times }: { shape: NamedShape; times: Times },
): Promise<ShapeResult> {
  const work = shape.isServed ? application.servedWork(shape) : application.rawWork(shape);
  application.work = work;
  await load(application, shape.underWay, times.warmUpMs);
  const cpuMs = larder.process.cpuMs() ?? Number.NaN;
  const { runsPerSecond, tookMs } = await load(application, shape.underWay, times.runMs);
  const core = ((larder.process.cpuMs() ?? Number.NaN) - cpuMs) / tookMs;
  return { shape, runsPerSecond, core, ...(await alone(larder, application, { shape, work })) };
}

/** Runs that many runs concurrently for that long, and lets them end. */
async function load(
  application: Application,
  underWay: number,
  runMs: number,
): Promise<{ runsPerSecond: number; tookMs: number }> {
  const isOver = Promise.withResolvers<void>();
  const startMs = performance.now();
  let ended = 0;
  let left = underWay;
  application.ended = () => {
    ended += 1;
    if (performance.now() < startMs + runMs) void application.start();
    else {
      left -= 1;
      if (left === 0) isOver.resolve();
    }
  };
  for (let count = 0; count < underWay; count += 1) void application.start();
  await isOver.promise;
  const tookMs = performance.now() - startMs;
  return { runsPerSecond: (ended / tookMs) * 1_000, tookMs };
}

async function alone(
  larder: LarderServer,
  application: Application,
  { shape, work }: { shape: NamedShape; work: Work },
): Promise<Pick<ShapeResult, "aloneMs" | "overhead" | "syncMs">> {
  const runs = Math.max(10, Math.ceil(ALONE_STEPS / shape.steps));
  const perStep: number[] = [];
  const overheads: number[] = [];
  let done = (): void => {};
  let sentAtMs: number | undefined;
  application.ended = () => done();
  application.work = (delivery) => {
    const nowMs = performance.now();
    if (sentAtMs !== undefined) overheads.push(nowMs - sentAtMs);
    // Raw work sends immediately.
    sentAtMs = nowMs;
    return work(delivery);
  };
  const syncsBefore = await syncs(larder);
  for (let count = 0; count < runs; count += 1) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    sentAtMs = undefined;
    const ending = new Promise<void>((resolve) => {
      done = resolve;
    });
    const startMs = performance.now();
    await application.start();
    await ending;
    perStep.push((performance.now() - startMs) / shape.steps);
  }
  const syncsAfter = await syncs(larder);
  const isTimed = !shape.isServed && !shape.isFork;
  return {
    aloneMs: spreadOf(perStep).p50Ms,
    overhead: isTimed ? spreadOf(overheads) : undefined,
    syncMs: ((syncsAfter.seconds - syncsBefore.seconds) / (syncsAfter.count - syncsBefore.count)) * 1_000,
  };
}

async function syncs(larder: LarderServer): Promise<{ seconds: number; count: number }> {
  const of = (what: string): Promise<number> => larder.metric(`larder_journal_fsync_seconds_${what}{area="messaging"}`);
  return { seconds: await of("sum"), count: await of("count") };
}
