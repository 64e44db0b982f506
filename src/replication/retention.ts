/**
 * Which objects of a copy no restore needs any more.
 *
 * (1) Everything that a restore to a moment since `fromMs` reads stays, and all of a
 *     generation that has one of these moments, except the newest one's own.
 * (2) In the newest generation an object goes only when others that are listed have
 *     its place: a newer snapshot and all bytes after it for files, a closed segment
 *     with its times for parts.
 * (3) A later generation takes over only objects of the newest state, or of a
 *     generation that never began and that is not the newest. (1) retains the
 *     former, and only a server with a higher number removes the latter. So nothing
 *     goes that somebody is about to take over.
 * (4) Objects whose names are unknown stay.
 */
import type { CopiedArea, GenerationView, NoteSource } from "./copy-view.ts";
import { planMoment } from "./moment.ts";
import { beginNameOf, objectName, parseObjectName } from "./names.ts";
import type { BeginNote, TickNote } from "./notes.ts";
import type { ListedObject } from "./objects/object-store.ts";

export interface RetainedGeneration {
  readonly generation: number;
  readonly begin: BeginNote | undefined;
  /** Of one that is over, and of the newest one. */
  readonly objects: readonly ListedObject[];
}

export interface RetentionOptions {
  /** All up to the newest one, ascending. */
  readonly generations: readonly RetainedGeneration[];
  /** The newest one, which has begun. */
  readonly own: GenerationView;
  readonly notes: NoteSource;
  /** Moments from this time on can be restored. */
  readonly fromMs: number;
}

/** Whether no moment from a time on has the state of this generation. */
export function isOver(
  generation: number,
  generations: readonly Pick<RetainedGeneration, "generation" | "begin">[],
  fromMs: number,
): boolean {
  return generations.some(
    (later) => later.generation > generation && later.begin !== undefined && later.begin.timeMs <= fromMs,
  );
}

/** The names of objects to remove. Rejects with `DamagedCopy`, or as the store does; then nothing may be removed. */
export async function findUnneeded({ generations, own, notes, fromMs }: RetentionOptions): Promise<readonly string[]> {
  const needed = new Set<string>();
  for (const { generation, begin, objects } of generations) {
    if (isOver(generation, generations, fromMs) || generation === own.generation) continue;
    for (const { name } of objects) needed.add(name); // keeps (1)
    for (const { objects: earlier } of begin?.areas ?? []) for (const { name } of earlier) needed.add(name);
  }
  for (const name of await neededOfOwn(own, notes, fromMs)) needed.add(name);
  return generations
    .flatMap(({ objects }) => objects)
    .filter(({ name }) => !needed.has(name) && parseObjectName(name) !== undefined) // keeps (4)
    .map(({ name }) => name);
}

/** The objects of the newest generation, and of its past, that are needed. keeps (2) */
async function neededOfOwn(own: GenerationView, notes: NoteSource, fromMs: number): Promise<readonly string[]> {
  const atMs = Math.max(fromMs, own.begin.timeMs);
  const plans = await planMoment(own, notes, atMs);
  const coveredFromMs = Math.min(atMs, ...plans.map((plan) => plan.coveredFromMs));
  // The tick before the first moment says which covered segments it needs.
  const firstTick = own.ticks.findLast((timeMs) => timeMs <= coveredFromMs);
  const ticks: TickNote[] = [];
  for (const timeMs of own.ticks) if (timeMs >= (firstTick ?? 0)) ticks.push(await notes.tick(timeMs));
  const needed: string[] = [];
  for (const plan of plans) {
    const area = own.areas.get(plan.name) as CopiedArea;
    const first = plan.snapshot?.number ?? 0;
    const existed = firstTick === undefined ? undefined : segmentsIn(ticks, plan.name);
    for (const { number, object } of area.snapshots) if (number >= first) needed.push(object.name);
    for (const [number, { whole, times, parts }] of area.segments) {
      const isNeeded = number >= first || existed === undefined || number >= existed.from || existed.has(number);
      if (!isNeeded) continue;
      if (whole !== undefined) needed.push(whole.object.name);
      if (times !== undefined) needed.push(times.name);
      const hasPlace = whole !== undefined && (times !== undefined || whole.timeMs <= own.begin.timeMs);
      if (!hasPlace) needed.push(...parts.map(({ object }) => object.name));
    }
    for (const { object, timeMs } of area.histories)
      if (timeMs >= plan.coveredFromMs || object === plan.history) needed.push(object.name);
  }
  const { tokens } = own;
  const firstTokens = tokens.findLast(({ timeMs }) => timeMs <= atMs)?.timeMs ?? 0;
  needed.push(...tokens.filter(({ timeMs }) => timeMs >= firstTokens).map(({ object }) => object.name));
  for (const { timeMs } of ticks) needed.push(objectName(own.generation, { kind: "tick", timeMs }));
  return [...needed, beginNameOf(own.generation)];
}

interface ExistingSegments {
  /** All segments from this one on are later than the first tick. */
  readonly from: number;
  has(number: number): boolean;
}

function segmentsIn(ticks: readonly TickNote[], name: string): ExistingSegments {
  const areas = ticks.flatMap((tick) => tick.areas.filter((area) => area.name === name));
  const numbers = new Set(areas.flatMap(({ segments }) => segments));
  return { from: areas[0]?.segmentsFrom ?? 0, has: (number) => numbers.has(number) };
}
