/**
 * What a copy has: its generations, and the objects of each by area.
 *
 * (1) A generation has its own objects, and those of earlier generations that its
 *     note `begin` names. It counts from the time of that note on.
 * (2) The state of a moment is that of the highest generation that counts then.
 */
import { DamagedCopy, UnusableCopy } from "./errors.ts";
import {
  beginNameOf,
  type FileIdentity,
  generationOfOwner,
  generationPrefix,
  type NameOf,
  OWNERS_PREFIX,
  objectName,
  parseObjectName,
} from "./names.ts";
import {
  type BeginNote,
  parseBegin,
  parseTick,
  parseTimes,
  readNote,
  type SegmentTime,
  type TickNote,
} from "./notes.ts";
import type { ListedObject, ObjectStore } from "./objects/object-store.ts";

export interface CopiedPart {
  readonly object: ListedObject;
  readonly start: number;
  /** When it was complete; 0 for an object of an earlier generation. */
  readonly timeMs: number;
  readonly isLast: boolean;
}

export interface CopiedSegment extends FileIdentity {
  /** The closed segment as one object; `timeMs` as for a part. */
  whole: { readonly object: ListedObject; readonly timeMs: number } | undefined;
  /** The note with the times inside of it, of this generation. */
  times: ListedObject | undefined;
  readonly parts: CopiedPart[];
}

export interface CopiedArea {
  readonly name: string;
  readonly snapshots: (FileIdentity & { readonly object: ListedObject })[];
  readonly segments: Map<number, CopiedSegment>;
  readonly histories: { readonly object: ListedObject; readonly timeMs: number }[];
}

export interface GenerationView {
  readonly generation: number;
  readonly begin: BeginNote;
  readonly areas: ReadonlyMap<string, CopiedArea>;
  /** Times, ascending. */
  readonly ticks: readonly number[];
  readonly tokens: readonly { readonly object: ListedObject; readonly timeMs: number }[];
}

/** All objects whose names begin with `prefix`. Rejects as the store does. */
export async function listAll(store: ObjectStore, prefix: string): Promise<readonly ListedObject[]> {
  const found: ListedObject[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.list(prefix, after);
    found.push(...page);
    after = page.at(-1)?.name;
    if (after === undefined) return found;
  }
}

/** The generations that have an owner, ascending. */
export async function readGenerations(store: ObjectStore): Promise<readonly number[]> {
  const owners = await listAll(store, OWNERS_PREFIX);
  return owners.map(({ name }) => generationOfOwner(name)).filter((number) => number !== undefined);
}

/** The note with which a generation began; undefined if it has not begun. */
export function readBegin(store: ObjectStore, generation: number): Promise<BeginNote | undefined> {
  return readNote(store, beginNameOf(generation), parseBegin);
}

/**
 * The generation that has the state of a moment, or the newest one that has begun. keeps (2). Rejects with `UnusableCopy`,
 * with `DamagedCopy`, or as the store does.
 */
export async function readGenerationAt(store: ObjectStore, atMs: number | undefined): Promise<GenerationView> {
  const generations = await readGenerations(store);
  const found = await findGenerationAt(store, generations, atMs);
  if (found !== undefined) return found;
  for (const generation of generations) {
    const begin = await readBegin(store, generation);
    if (begin === undefined) continue;
    throw new UnusableCopy(`it begins at ${new Date(begin.timeMs).toISOString()}, after that moment`);
  }
  throw new UnusableCopy("no server has copied a whole data directory to it");
}

export async function findGenerationAt(
  store: ObjectStore,
  generations: readonly number[],
  atMs: number | undefined,
): Promise<GenerationView | undefined> {
  for (const generation of generations.toReversed()) {
    const begin = await readBegin(store, generation);
    if (begin === undefined || begin.timeMs > (atMs ?? Number.POSITIVE_INFINITY)) continue;
    return viewOf(generation, begin, await listAll(store, generationPrefix(generation)));
  }
  return undefined;
}

/** keeps (1) */
export function viewOf(generation: number, begin: BeginNote, own: readonly ListedObject[]): GenerationView {
  const areas = new Map<string, CopiedArea>();
  const ticks: number[] = [];
  const tokens: { object: ListedObject; timeMs: number }[] = [];
  for (const { name, objects } of begin.areas) {
    const area: CopiedArea = { name, snapshots: [], segments: new Map(), histories: [] };
    areas.set(name, area);
    for (const object of objects) addObject(area, object, true);
  }
  for (const object of own) {
    const name = parseObjectName(object.name)?.name;
    if (name === undefined) continue;
    if ("area" in name) {
      const area = areas.get(name.area);
      if (area !== undefined) addObject(area, object, false);
    } else if (name.kind === "tick") ticks.push(name.timeMs);
    else if (name.kind === "tokens") tokens.push({ object, timeMs: name.timeMs });
  }
  for (const { segments } of areas.values())
    for (const { parts } of segments.values())
      parts.sort((a, b) => a.start - b.start || b.object.bytes - a.object.bytes);
  return { generation, begin, areas, ticks: ticks.sort((a, b) => a - b), tokens };
}

function addObject(area: CopiedArea, object: ListedObject, isEarlier: boolean): void {
  const parsed = parseObjectName(object.name);
  if (parsed === undefined || !("area" in parsed.name)) return;
  const { name } = parsed;
  switch (name.kind) {
    case "snapshot":
      area.snapshots.push({ object, number: name.number, salt: name.salt });
      break;
    case "history":
      area.histories.push({ object, timeMs: name.timeMs });
      break;
    case "segment":
      segmentIn(area, name).whole = { object, timeMs: isEarlier ? 0 : name.timeMs };
      break;
    case "times":
      if (!isEarlier) segmentIn(area, name).times = object;
      break;
    case "part": {
      const { start, isLast } = name;
      segmentIn(area, name).parts.push({ object, start, isLast, timeMs: isEarlier ? 0 : name.timeMs });
      break;
    }
    default:
      name satisfies never;
  }
}

function segmentIn(area: CopiedArea, { number, salt }: NameOf<"segment" | "times" | "part">): CopiedSegment {
  const found = area.segments.get(number);
  if (found !== undefined) return found;
  const made: CopiedSegment = { number, salt, whole: undefined, times: undefined, parts: [] };
  area.segments.set(number, made);
  return made;
}

/** Notes of a copy. The server that wrote them has them in memory. */
export interface NoteSource {
  tick(timeMs: number): Promise<TickNote>;
  times(object: ListedObject): Promise<readonly SegmentTime[]>;
}

export function notesIn(store: ObjectStore, generation: number): NoteSource {
  return {
    async tick(timeMs) {
      const name = objectName(generation, { kind: "tick", timeMs });
      const note = await readNote(store, name, parseTick);
      if (note === undefined) throw new DamagedCopy(name, "it is missing");
      return note;
    },
    async times({ name }) {
      const note = await readNote(store, name, parseTimes);
      if (note === undefined) throw new DamagedCopy(name, "it is missing");
      return note.times;
    },
  };
}
