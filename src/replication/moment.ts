/**
 * Which objects have the state of an area at a moment.
 *
 *     | covered segments … | snapshot | segment | segment | part | part |  · · ·
 *                                                                ^ the last one with a time up to the moment
 *
 * A part, and each time inside of a closed segment, says that its bytes were durable
 * at that time, and that everything that was durable before ends with it, or with the
 * part of the next segment that has the same time. So for every moment of a generation an area
 * has exactly one state:
 *
 * (1) The times of a segment and of the segments after it ascend, because one server
 *     wrote them in this order. The state at a moment ends with the last byte whose
 *     time is not after the moment; it does not depend on later objects.
 * (2) A snapshot with number n is the state before segment n. So it is right for
 *     every moment at which segment n had begun, and it does not matter which of
 *     several such snapshots is taken, or when it was copied.
 * (3) Nothing is left out in silence: if an object of the moment, or a proof of it,
 *     is beyond the last byte that follows without a gap, something is missing, and
 *     the first missing byte is named.
 * (4) Objects of earlier generations count from the beginning of the generation on.
 */
import type { CopiedArea, CopiedSegment, GenerationView, NoteSource } from "./copy-view.ts";
import { DamagedCopy } from "./errors.ts";
import { generationPrefix } from "./names.ts";
import type { AreaProof, TickNote } from "./notes.ts";
import type { ListedObject } from "./objects/object-store.ts";

/** A segment as far as a moment needs it. */
export interface PlannedSegment {
  readonly number: number;
  readonly salt: number;
  /** Its bytes before this are needed. */
  readonly end: number;
  /** It has its end mark. */
  readonly isEnded: boolean;
  /** Objects with the offset of their first byte in the segment: together they have at least all needed bytes. */
  readonly pieces: readonly { readonly object: ListedObject; readonly start: number }[];
}

export interface AreaPlan {
  readonly name: string;
  readonly snapshot: { readonly object: ListedObject; readonly number: number; readonly salt: number } | undefined;
  /** Those that a start reads, ascending. */
  readonly segments: readonly PlannedSegment[];
  /** Segments before the snapshot that the area still had. */
  readonly covered: readonly PlannedSegment[];
  readonly history: ListedObject | undefined;
  /** Everything that was durable before this time is in the state. */
  readonly completeToMs: number;
  /** The time from which on ticks say which covered segments are needed. */
  readonly coveredFromMs: number;
}

interface Cut extends PlannedSegment {
  /** Everything that was durable before this time is in it; 0 if that is not known. */
  readonly completeToMs: number;
}

/** The state of every area at a moment; undefined: the newest one. Rejects with `DamagedCopy`, or as the store does. */
export async function planMoment(
  view: GenerationView,
  notes: NoteSource,
  atMs: number = Number.MAX_SAFE_INTEGER,
): Promise<readonly AreaPlan[]> {
  const plans: AreaPlan[] = [];
  for (const name of view.areas.keys()) plans.push(await planArea(view, notes, { name, atMs }));
  return plans;
}

/** As `planMoment`, for one area of the generation. */
export async function planArea(
  view: GenerationView,
  notes: NoteSource,
  { name, atMs }: { name: string; atMs: number },
): Promise<AreaPlan> {
  const area = view.areas.get(name) as CopiedArea;
  const { snapshot, first } = await startOf(area, notes, atMs);
  const segments: Cut[] = [];
  for (let cut = first; cut !== undefined; ) {
    segments.push(cut);
    if (!cut.isEnded) break;
    cut = await cutOf(area.segments.get(cut.number + 1), notes, atMs);
  }
  const proofs = await proofsOf(view, notes, { name, atMs });
  assertWhole(view, { area, atMs, segments, proofs: proofs.before });
  const insideMs = await provenInside(segments.at(-1), area, notes, atMs);
  const completeToMs = completeTo({ atMs, segments, ...proofs, insideMs });
  const history = area.histories.findLast(({ timeMs }) => timeMs < completeToMs);
  const coveredFromMs = history?.timeMs ?? atMs;
  const covered = await coveredAt(view, notes, { area, atMs, coveredFromMs, number: snapshot?.number ?? 0 });
  return { name, snapshot, segments, covered, history: history?.object, completeToMs, coveredFromMs };
}

/** All objects of the state. */
export function objectsOf({ snapshot, segments, covered, history }: AreaPlan): readonly ListedObject[] {
  return [
    ...(snapshot === undefined ? [] : [snapshot.object]),
    ...[...covered, ...segments].flatMap(({ pieces }) => pieces.map(({ object }) => object)),
    ...(history === undefined ? [] : [history]),
  ];
}

/** The first time of each segment, in their order: from then on it was begun. */
export async function beginsOf(area: CopiedArea, notes: NoteSource): Promise<ReadonlyMap<number, number>> {
  const begins = new Map<number, number>();
  for (const [number, { whole, times, parts }] of [...area.segments].sort(([a], [b]) => a - b)) {
    const found = [
      ...parts.filter(({ start }) => start === 0).map(({ timeMs }) => timeMs),
      ...(whole === undefined ? [] : [whole.timeMs]),
      ...(whole === undefined || times === undefined ? [] : (await notes.times(times)).map(({ timeMs }) => timeMs)),
    ];
    if (found.length > 0) begins.set(number, Math.min(...found));
  }
  return begins;
}

/** The newest snapshot that is right for the moment, and the segment after it. keeps (2) */
async function startOf(
  area: CopiedArea,
  notes: NoteSource,
  atMs: number,
): Promise<{ readonly snapshot: AreaPlan["snapshot"]; readonly first: Cut | undefined }> {
  for (const snapshot of area.snapshots.toSorted((a, b) => b.number - a.number)) {
    const first = await cutOf(area.segments.get(snapshot.number), notes, atMs);
    if (first !== undefined) return { snapshot, first };
  }
  return { snapshot: undefined, first: await cutOf(area.segments.get(1), notes, atMs) };
}

/** The bytes of a segment at a moment; undefined if it had not begun. */
async function cutOf(segment: CopiedSegment | undefined, notes: NoteSource, atMs: number): Promise<Cut | undefined> {
  if (segment === undefined) return undefined;
  const { number, salt, whole, parts } = segment;
  if (whole !== undefined && whole.timeMs <= atMs) {
    const { object } = whole;
    return { number, salt, end: object.bytes, isEnded: true, pieces: [{ object, start: 0 }], completeToMs: 0 };
  }
  if (whole !== undefined && segment.times !== undefined) {
    const times = await notes.times(segment.times);
    const last = times.findLast(({ timeMs }) => timeMs <= atMs);
    if (last !== undefined) {
      const pieces = [{ object: whole.object, start: 0 }];
      return { number, salt, end: last.end, isEnded: false, pieces, completeToMs: last.timeMs };
    }
  }
  const pieces: { object: ListedObject; start: number }[] = [];
  const cut = { end: 0, isEnded: false, completeToMs: 0 };
  for (const { object, start, timeMs, isLast } of parts) {
    if (start !== cut.end || timeMs > atMs) continue;
    pieces.push({ object, start });
    cut.end += object.bytes;
    // Bytes of the next segment may have been durable when this one was ended.
    if (!isLast) cut.completeToMs = timeMs;
    cut.isEnded = isLast;
  }
  return pieces.length === 0 ? undefined : { number, salt, ...cut, pieces };
}

/**
 * The last time inside of segments up to the end that proves completeness: not that of the end of a segment, because the next
 * one may have more. Segments before the snapshot count too.
 */
async function provenInside(last: Cut | undefined, area: CopiedArea, notes: NoteSource, atMs: number): Promise<number> {
  if (last === undefined || last.completeToMs > 0) return last?.completeToMs ?? 0;
  const numbers = [...area.segments.keys()].filter((number) => number <= last.number).sort((a, b) => b - a);
  for (const number of numbers) {
    const segment = area.segments.get(number);
    const times = segment?.whole !== undefined && segment.whole.timeMs <= atMs ? segment.times : undefined;
    const inside =
      times === undefined
        ? (await cutOf(segment, notes, atMs))?.completeToMs
        : (await notes.times(times)).slice(0, -1).at(-1)?.timeMs;
    if (inside !== undefined && inside > 0) return inside;
  }
  return 0;
}

interface Proofs {
  /** Up to the moment. */
  readonly before: readonly AreaProof[];
  /** The first one after it. */
  readonly after: AreaProof | undefined;
}

async function proofsOf(
  view: GenerationView,
  notes: NoteSource,
  { name, atMs }: { name: string; atMs: number },
): Promise<Proofs> {
  const of = (note: TickNote | undefined): readonly AreaProof[] =>
    note?.areas.filter((area) => area.name === name) ?? [];
  const begun = view.begin.areas.filter((area) => area.name === name);
  const before = view.ticks.findLast((timeMs) => timeMs <= atMs);
  const after = view.ticks.find((timeMs) => timeMs > atMs);
  return {
    before: [...begun, ...of(before === undefined ? undefined : await notes.tick(before))],
    after: of(after === undefined ? undefined : await notes.tick(after))[0],
  };
}

/** keeps (3) */
function assertWhole(
  { generation }: GenerationView,
  {
    area,
    atMs,
    segments,
    proofs,
  }: { area: CopiedArea; atMs: number; segments: readonly Cut[]; proofs: readonly AreaProof[] },
): void {
  const last = segments.at(-1);
  const end = last === undefined ? { segment: 1, offset: 0 } : endOf(last);
  const isBeyond = (place: { segment: number; offset: number }): boolean =>
    place.segment > end.segment || (place.segment === end.segment && place.offset > end.offset);
  const isMissing =
    last === undefined ||
    proofs.some(isBeyond) ||
    [...area.segments.values()].some(({ number: segment, whole, times, parts }) => {
      if (segment < (segments[0]?.number ?? 0)) return false;
      // One without times was closed before the generation began, or before a snapshot that it comes with.
      const isOfState = whole !== undefined && times !== undefined && whole.timeMs <= atMs;
      if (isOfState && isBeyond({ segment, offset: whole.object.bytes })) return true;
      return parts.some(
        ({ start, object, timeMs }) => timeMs <= atMs && isBeyond({ segment, offset: start + object.bytes }),
      );
    });
  if (!isMissing) return;
  const what = `it is missing from byte ${end.offset} on, and later bytes of the moment were copied`;
  throw new DamagedCopy(`${generationPrefix(generation)}${area.name}: segment ${end.segment}`, what);
}

/** Where the bytes after a cut are. */
function endOf({ number, end, isEnded }: PlannedSegment): { readonly segment: number; readonly offset: number } {
  return isEnded ? { segment: number + 1, offset: 0 } : { segment: number, offset: end };
}

interface Completeness extends Proofs {
  readonly atMs: number;
  readonly segments: readonly Cut[];
  /** What times inside of the segments prove. */
  readonly insideMs: number;
}

function completeTo({ atMs, segments, before, after, insideMs }: Completeness): number {
  const completeToMs = Math.max(insideMs, ...before.map((proof) => proof.completeToMs));
  if (after === undefined || after.completeToMs < atMs || completeToMs >= atMs) return completeToMs;
  // Nothing was copied between the moment and a later proof, so nothing had changed.
  const end = endOf(segments.at(-1) as Cut);
  return after.segment === end.segment && after.offset === end.offset ? atMs : completeToMs;
}

async function coveredAt(
  view: GenerationView,
  notes: NoteSource,
  { area, atMs, coveredFromMs, number }: { area: CopiedArea; atMs: number; coveredFromMs: number; number: number },
): Promise<readonly PlannedSegment[]> {
  const tickMs = view.ticks.findLast((timeMs) => timeMs <= Math.min(atMs, coveredFromMs));
  const ticked = tickMs === undefined ? undefined : await notes.tick(tickMs);
  const existed = ticked?.areas.find(({ name }) => name === area.name);
  const covered: PlannedSegment[] = [];
  for (const segment of [...area.segments.values()].sort((a, b) => a.number - b.number)) {
    if (segment.number >= number) break;
    const isThere =
      existed === undefined || segment.number >= existed.segmentsFrom || existed.segments.includes(segment.number);
    const cut = isThere ? await cutOf(segment, notes, atMs) : undefined;
    if (cut?.isEnded === true) covered.push(cut);
  }
  return covered;
}
