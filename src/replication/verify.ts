/**
 * Reads everything of the newest generation of a copy, and says which moments can be
 * restored. Objects are compared with their checksums, so their bytes are those that
 * the server had; whether the server's own files were damaged, a restore says.
 */
import { ByteProgress, type OnBytes } from "../persistence/byte-progress.ts";
import { type CopiedArea, type GenerationView, listAll, notesIn, readGenerationAt, viewOf } from "./copy-view.ts";
import { DamagedCopy } from "./errors.ts";
import { fetchObject, inParallel } from "./fetch.ts";
import { beginsOf, objectsOf, planArea } from "./moment.ts";
import { generationPrefix, parseObjectName } from "./names.ts";
import { parseTick, parseTimes, readNote } from "./notes.ts";
import type { ListedObject, ObjectStore } from "./objects/object-store.ts";

export interface VerifiedArea {
  readonly area: string;
  /** The first moment of this generation that can be restored; undefined: none can. */
  readonly fromMs: number | undefined;
  /** Everything that was durable before this time can be restored. */
  readonly completeToMs: number | undefined;
  /** Moments between these times have the state of the first one. */
  readonly lost: readonly { readonly fromMs: number; readonly toMs: number }[];
}

export interface CopyVerified {
  readonly generation: number;
  /** The moment from which on this generation counts; earlier ones are restored from the generations before. */
  readonly beginsAtMs: number;
  readonly objects: number;
  readonly bytes: number;
  readonly areas: readonly VerifiedArea[];
  /** What is wrong, with the names of the objects. */
  readonly damaged: readonly string[];
}

const FETCH_COUNT = 8;

/** Rejects with `UnusableCopy` if there is no generation to verify, or as the store does. */
export async function verifyCopy(store: ObjectStore, onBytes?: OnBytes): Promise<CopyVerified> {
  const whole = await readGenerationAt(store, undefined);
  const { generation, begin } = whole;
  const listed = await listAll(store, "g");
  const names = new Set(listed.map(({ name }) => name));
  const own = listed.filter(({ name }) => name.startsWith(generationPrefix(generation)));
  // Objects of earlier generations are removed when newer ones have their place.
  const areas = begin.areas.map((area) => ({ ...area, objects: area.objects.filter(({ name }) => names.has(name)) }));
  const view = viewOf(generation, { ...begin, areas }, own);
  const objects = [
    ...new Map([...areas.flatMap((area) => area.objects), ...own].map((each) => [each.name, each])).values(),
  ];

  const damaged = new Set<string>();
  const bytes = objects.reduce((sum, object) => sum + object.bytes, 0);
  const progress = new ByteProgress("objects", bytes, onBytes);
  await inParallel(objects, FETCH_COUNT, async (object) => {
    await noting(damaged, () => readObject(store, object));
    progress.add(object.bytes);
  });
  const verified: VerifiedArea[] = [];
  for (const area of whole.areas.keys()) {
    await noting(damaged, () => assertThere(store, { whole, names, area }));
    verified.push(await verifyArea(store, view, { area, damaged }));
  }
  return {
    ...{ generation, beginsAtMs: begin.timeMs, objects: objects.length, bytes },
    ...{ areas: verified, damaged: [...damaged] },
  };
}

/** The value of the work; undefined if it found damage. */
async function noting<Value>(damaged: Set<string>, work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DamagedCopy)) throw error;
    damaged.add(error.message);
    return undefined;
  }
}

async function readObject(store: ObjectStore, object: ListedObject): Promise<void> {
  const name = parseObjectName(object.name)?.name;
  if (name === undefined || name.kind === "begin") return;
  if ("sum" in name) return fetchObject(store, object, () => {});
  const parse: (fields: ReadonlyMap<string, unknown>) => unknown = name.kind === "tick" ? parseTick : parseTimes;
  if ((await readNote(store, object.name, parse)) === undefined) throw new DamagedCopy(object.name, "it is missing");
}

/** The newest state has all its objects. */
async function assertThere(
  store: ObjectStore,
  { whole, names, area }: { whole: GenerationView; names: ReadonlySet<string>; area: string },
): Promise<void> {
  const plan = await planArea(whole, notesIn(store, whole.generation), { name: area, atMs: Number.MAX_SAFE_INTEGER });
  const missing = objectsOf(plan).find(({ name }) => !names.has(name));
  if (missing !== undefined) throw new DamagedCopy(missing.name, "it is missing");
}

async function verifyArea(
  store: ObjectStore,
  view: GenerationView,
  { area: name, damaged }: { area: string; damaged: Set<string> },
): Promise<VerifiedArea> {
  const area = view.areas.get(name) as CopiedArea;
  const notes = notesIn(store, view.generation);
  const newest = await noting(damaged, () => planArea(view, notes, { name, atMs: Number.MAX_SAFE_INTEGER }));
  const begins = await beginsOf(area, notes);
  const starts = [view.begin.timeMs, ...begins.values()].sort((a, b) => a - b);
  let fromMs: number | undefined;
  let first: number | undefined;
  for (const atMs of starts) {
    if (atMs < view.begin.timeMs) continue;
    const plan = await noting(new Set(), () => planArea(view, notes, { name, atMs }));
    if (plan === undefined) continue;
    fromMs = atMs;
    first = plan.segments[0]?.number;
    break;
  }
  const lost: { fromMs: number; toMs: number }[] = [];
  for (const [number, toMs] of begins) {
    if (first === undefined || number <= first || begins.has(number - 1)) continue;
    const before = await noting(damaged, () => planArea(view, notes, { name, atMs: toMs - 1 }));
    if (before !== undefined) lost.push({ fromMs: before.completeToMs, toMs });
  }
  return { area: name, fromMs, completeToMs: newest?.completeToMs, lost };
}
