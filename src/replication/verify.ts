/**
 * Reads everything of a copy, and says which moments can be restored. Objects are
 * compared with their checksums, so their bytes are those that the server had; whether
 * the server's own files were damaged, a restore says.
 *
 * (1) Every generation that has a moment is read: from its beginning until a later one
 *     began.
 * (2) A server may copy meanwhile. An object that it has removed is no damage, and all
 *     moments are looked for among those that are listed after that, with the notes as they
 *     were read: one that is removed later is not missed.
 */
import { ByteProgress, type OnBytes } from "../persistence/byte-progress.ts";
import {
  type CopiedArea,
  type GenerationView,
  listAll,
  type NoteSource,
  notesIn,
  readBegin,
  viewOf,
} from "./copy-view.ts";
import { DamagedCopy, UnusableCopy } from "./errors.ts";
import { fetchObject, inParallel } from "./fetch.ts";
import { beginsOf, objectsOf, planArea } from "./moment.ts";
import { generationOfOwner, generationPrefix, OWNERS_PREFIX, objectName, parseObjectName } from "./names.ts";
import {
  type BeginNote,
  parseOwner,
  parseTick,
  parseTimes,
  readNote,
  type SegmentTime,
  type TickNote,
} from "./notes.ts";
import type { ListedObject, ObjectStore } from "./objects/object-store.ts";

export interface VerifiedArea {
  readonly area: string;
  /**
   * The moments of each generation that can be restored, ascending: from the first one, and everything that was durable before
   * the last one. Moments after that have its state. Empty: none can.
   */
  readonly spans: readonly { readonly fromMs: number; readonly completeToMs: number }[];
  /** Moments between these times have the state of the first one. */
  readonly lost: readonly { readonly fromMs: number; readonly toMs: number }[];
}

export interface CopyVerified {
  /** The newest one. */
  readonly generation: number;
  readonly objects: number;
  readonly bytes: number;
  readonly areas: readonly VerifiedArea[];
  /** What is wrong, with the names of the objects. */
  readonly damaged: readonly string[];
}

/** A generation that has moments. */
interface Span {
  /** With the objects of earlier generations that are there: they are removed when newer ones have their place. */
  readonly view: GenerationView;
  /** With all that it began with. */
  readonly whole: GenerationView;
  /** Its last moment. */
  readonly lastMs: number;
}

const FETCH_COUNT = 8;
/** An hour is between two removals. */
const LOOK_COUNT_MAX = 3;

/** What is wrong, by the object or the place. */
type Damage = Map<string, string>;

/** Notes that were read, by their names. */
interface ReadNotes {
  readonly ticks: Map<string, TickNote>;
  readonly times: Map<string, readonly SegmentTime[]>;
}

/** Rejects with `UnusableCopy` if there is no generation to verify, or as the store does. */
export async function verifyCopy(store: ObjectStore, onBytes?: OnBytes): Promise<CopyVerified> {
  const damage: Damage = new Map();
  const read = new Map<string, ListedObject>();
  const notes: ReadNotes = { ticks: new Map(), times: new Map() };
  let progress: ByteProgress | undefined;
  let found = await look(store, damage);
  for (let count = 1; ; count += 1) {
    const unread = found.objects.filter(({ name }) => !read.has(name));
    progress ??= new ByteProgress("objects", bytesOf(unread), onBytes);
    for (const object of unread) read.set(object.name, object);
    await inParallel(unread, FETCH_COUNT, async (object) => {
      await noting(damage, () => readObject(store, object, notes));
      progress?.add(object.bytes);
    });
    if (!unread.some(({ name }) => damage.has(name)) || count === LOOK_COUNT_MAX) break;
    const before = [...damage.keys()];
    found = await look(store, damage);
    // keeps (2)
    const names = new Set(found.objects.map(({ name }) => name));
    for (const name of before) if (read.has(name) && !names.has(name)) damage.delete(name);
  }
  const areas = new Map<string, VerifiedArea>();
  for (const span of found.spans) {
    const source = sourceOf(store, span.view.generation, notes);
    for (const name of span.whole.areas.keys()) {
      const before = areas.get(name) ?? { area: name, spans: [], lost: [] };
      const { spans, lost } = await verifySpan(span, { name, damage, notes: source });
      areas.set(name, { area: name, spans: [...before.spans, ...spans], lost: [...before.lost, ...lost] });
    }
  }
  return {
    ...{
      generation: found.spans.at(-1)?.whole.generation ?? 0,
      objects: read.size,
      bytes: bytesOf([...read.values()]),
    },
    ...{ areas: [...areas.values()], damaged: [...damage.values()] },
  };
}

/** What there is now. keeps (1) */
async function look(
  store: ObjectStore,
  damage: Damage,
): Promise<{ readonly spans: readonly Span[]; readonly objects: readonly ListedObject[] }> {
  const owners = await listAll(store, OWNERS_PREFIX);
  const begun: { readonly generation: number; readonly begin: BeginNote }[] = [];
  for (const { name } of owners) {
    const generation = generationOfOwner(name);
    const begin = generation === undefined ? undefined : await noting(damage, async () => readBegin(store, generation));
    if (generation !== undefined && begin !== undefined) begun.push({ generation, begin });
  }
  if (begun.length === 0 && damage.size === 0)
    throw new UnusableCopy("no server has copied a whole data directory to it");
  const listed = new Map((await listAll(store, "g")).map((object) => [object.name, object]));
  const spans: Span[] = [];
  const objects = new Map(owners.map((each) => [each.name, each]));
  for (const [index, { generation, begin }] of begun.entries()) {
    const lastMs = Math.min(Number.MAX_SAFE_INTEGER, ...begun.slice(index + 1).map((later) => later.begin.timeMs - 1));
    if (lastMs < begin.timeMs) continue;
    const own = [...listed.values()].filter(({ name }) => name.startsWith(generationPrefix(generation)));
    const areas = begin.areas.map((area) => ({
      ...area,
      objects: area.objects.filter(({ name }) => listed.has(name)),
    }));
    // Of the size that it has, which may not be that of the note.
    for (const { name } of [...areas.flatMap((area) => area.objects), ...own])
      objects.set(name, listed.get(name) as ListedObject);
    spans.push({
      view: viewOf(generation, { ...begin, areas }, own),
      whole: viewOf(generation, begin, own),
      lastMs,
    });
  }
  return { spans, objects: [...objects.values()] };
}

function bytesOf(objects: readonly ListedObject[]): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The value of the work; undefined if it found damage. */
async function noting<Value>(damage: Damage, work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DamagedCopy)) throw error;
    damage.set(error.object, error.message);
    return undefined;
  }
}

async function readObject(store: ObjectStore, object: ListedObject, { ticks, times }: ReadNotes): Promise<void> {
  const { name: text } = object;
  const noteOf = async <Note>(parse: (fields: ReadonlyMap<string, unknown>) => Note): Promise<Note> => {
    const note = await readNote(store, text, parse);
    if (note === undefined) throw new DamagedCopy(text, "it is missing");
    return note;
  };
  if (generationOfOwner(text) !== undefined) return void (await noteOf(parseOwner));
  const name = parseObjectName(text)?.name;
  if (name?.kind === "tick") ticks.set(text, await noteOf(parseTick));
  else if (name?.kind === "times") times.set(text, (await noteOf(parseTimes)).times);
  else if (name !== undefined && "sum" in name) await fetchObject(store, object, () => {});
}

/** keeps (2). A note that could not be read is read again, for its fault. */
function sourceOf(store: ObjectStore, generation: number, { ticks, times }: ReadNotes): NoteSource {
  const stored = notesIn(store, generation);
  return {
    tick: async (timeMs) => ticks.get(objectName(generation, { kind: "tick", timeMs })) ?? stored.tick(timeMs),
    times: async (object) => times.get(object.name) ?? stored.times(object),
  };
}

/** Of one area of a generation. */
async function verifySpan(
  { view, whole, lastMs }: Span,
  { name, damage, notes }: { name: string; damage: Damage; notes: NoteSource },
): Promise<Pick<VerifiedArea, "spans" | "lost">> {
  const area = view.areas.get(name) as CopiedArea;
  await noting(damage, async () => {
    // Its last state has all its objects.
    const there = new Set(objectsIn(area).map((each) => each.name));
    const plan = await planArea(whole, notes, { name, atMs: lastMs });
    const missing = objectsOf(plan).find((each) => !there.has(each.name));
    if (missing !== undefined) throw new DamagedCopy(missing.name, "it is missing");
  });
  const last = await noting(damage, () => planArea(view, notes, { name, atMs: lastMs }));
  const begins = (await noting(damage, () => beginsOf(area, notes))) ?? new Map<number, number>();
  const starts = [view.begin.timeMs, ...begins.values()].sort((a, b) => a - b);
  let fromMs: number | undefined;
  let first: number | undefined;
  for (const atMs of starts) {
    if (atMs < view.begin.timeMs || atMs > lastMs) continue;
    const plan = await noting(new Map(), () => planArea(view, notes, { name, atMs }));
    if (plan === undefined) continue;
    fromMs = atMs;
    first = plan.segments[0]?.number;
    break;
  }
  const lost: { fromMs: number; toMs: number }[] = [];
  for (const [number, toMs] of begins) {
    if (first === undefined || number <= first || begins.has(number - 1) || toMs > lastMs) continue;
    const before = await noting(damage, () => planArea(view, notes, { name, atMs: toMs - 1 }));
    if (before !== undefined) lost.push({ fromMs: before.completeToMs, toMs });
  }
  if (fromMs === undefined || last === undefined) return { spans: [], lost };
  return { spans: [{ fromMs, completeToMs: last.completeToMs }], lost };
}

function objectsIn({ snapshots, segments, histories }: CopiedArea): readonly ListedObject[] {
  return [
    ...[...snapshots, ...histories].map(({ object }) => object),
    ...[...segments.values()].flatMap(({ whole, parts }) =>
      [...(whole === undefined ? [] : [whole]), ...parts].map(({ object }) => object),
    ),
  ];
}
