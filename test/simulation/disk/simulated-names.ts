/**
 * The directories of a simulated disk: which names exist now, and which would
 * exist after a power cut.
 *
 * (1) The creation, removal or replacement of a name is durable after a sync of
 *     its directory. Until then a power cut keeps any of the changes and loses
 *     any of the others.
 * (2) A rename is one change: both of its names have changed, or neither has.
 * (3) A lost directory takes everything in it with it.
 */
import { dirname } from "node:path/posix";
import type { Random } from "../../../src/kernel/random.ts";
import { SimulatedFile } from "./simulated-file.ts";

export const ROOT = "/";

type Entry = SimulatedFile | "directory";

/** The new targets of some paths; undefined for a removed name. */
type NameChange = ReadonlyMap<string, Entry | undefined>;

interface Directory {
  /** Changes that no sync has covered, oldest first. */
  changes: NameChange[];
  /** Changes that were covered. */
  settledCount: number;
}

export class SimulatedNames {
  readonly #current = new Map<string, Entry>();
  readonly #durable = new Map<string, Entry>();
  readonly #directories = new Map<string, Directory>([[ROOT, { changes: [], settledCount: 0 }]]);

  find(path: string): Entry | undefined {
    return this.#current.get(path);
  }

  isDirectory(path: string): boolean {
    return this.#directories.has(path);
  }

  /** Paths of all files. */
  get files(): readonly string[] {
    return [...this.#current].filter(([, entry]) => entry !== "directory").map(([path]) => path);
  }

  /** Names in a directory. */
  list(directory: string): string[] {
    const paths = [...this.#current.keys()].filter((path) => dirname(path) === directory);
    return paths.map((path) => path.slice(directory === ROOT ? 1 : directory.length + 1));
  }

  /** Gives names to entries, and removes names. All of them are in one directory. */
  change(change: NameChange): void {
    for (const [path, entry] of change) set(this.#current, path, entry);
    const [first = ROOT] = change.keys();
    this.#directory(dirname(first)).changes.push(change);
  }

  makeDirectory(path: string): void {
    this.change(new Map([[path, "directory"]]));
    this.#directories.set(path, { changes: [], settledCount: 0 });
  }

  /** The number of changes of a directory: what a sync requested now will cover. */
  changeCount(directory: string): number {
    const { changes, settledCount } = this.#directory(directory);
    return settledCount + changes.length;
  }

  sync(directory: string, changeCount: number): void {
    const state = this.#directory(directory);
    const covered = state.changes.splice(0, Math.max(0, changeCount - state.settledCount));
    state.settledCount += covered.length;
    for (const change of covered) for (const [path, entry] of change) set(this.#durable, path, entry);
  }

  /** The same state, with files of its own. */
  copy(): SimulatedNames {
    const files = new Map<SimulatedFile, SimulatedFile>();
    return this.#mapped((file) => memoised(files, file, () => file.copy()));
  }

  /** What a power cut leaves. */
  afterPowerCut(random: Random): SimulatedNames {
    const kept = new Map(this.#durable);
    for (const { changes } of this.#directories.values()) {
      const draw = keepDraw(changes.length, random);
      // keeps (2)
      for (const change of changes) if (draw()) for (const [path, entry] of change) set(kept, path, entry);
    }
    const left = new SimulatedNames();
    const files = new Map<SimulatedFile, SimulatedFile>();
    // Shorter paths first: a directory comes before its contents, so (3) needs one look.
    for (const [path, entry] of [...kept].sort(([a], [b]) => a.length - b.length)) {
      if (!left.#directories.has(dirname(path))) continue; // keeps (3)
      if (entry === "directory") left.#directories.set(path, { changes: [], settledCount: 0 });
      const found = entry === "directory" ? entry : memoised(files, entry, () => entry.afterPowerCut(random));
      left.#current.set(path, found);
      left.#durable.set(path, found);
    }
    return left;
  }

  #directory(path: string): Directory {
    const directory = this.#directories.get(path);
    if (directory === undefined) throw new Error(`${path} is not a directory of the simulated disk`);
    return directory;
  }

  #mapped(fileOf: (file: SimulatedFile) => SimulatedFile): SimulatedNames {
    const copy = new SimulatedNames();
    const mapped = (entry: Entry | undefined): Entry | undefined =>
      entry instanceof SimulatedFile ? fileOf(entry) : entry;
    for (const [path, entry] of this.#current) set(copy.#current, path, mapped(entry));
    for (const [path, entry] of this.#durable) set(copy.#durable, path, mapped(entry));
    for (const [path, { changes, settledCount }] of this.#directories) {
      const copied = changes.map((change) => new Map([...change].map(([name, entry]) => [name, mapped(entry)])));
      copy.#directories.set(path, { changes: copied, settledCount });
    }
    return copy;
  }
}

/** Draws which changes reached the disk. All, none and the first few are as likely as any subset. */
function keepDraw(count: number, random: Random): () => boolean {
  const first = random.below(count + 1);
  let seen = 0;
  switch (random.below(4)) {
    case 0:
      return () => true;
    case 1:
      return () => false;
    case 2:
      return () => seen++ < first;
    default:
      return () => random.below(2) === 0;
  }
}

function set(names: Map<string, Entry>, path: string, entry: Entry | undefined): void {
  if (entry === undefined) names.delete(path);
  else names.set(path, entry);
}

function memoised<Key, Value>(memo: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = memo.get(key);
  if (known !== undefined) return known;
  const made = make();
  memo.set(key, made);
  return made;
}
