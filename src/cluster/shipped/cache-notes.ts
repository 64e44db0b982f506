/**
 * What a node may still have of a shard from an earlier life: closed segments and
 * a snapshot, noted in the file `cache.json` of the shard's directory.
 *
 * (1) A file is noted when the log store has all of it and it is durable here,
 *     with its name. Nothing else of the directory is believed at a start.
 * (2) Notes of another branch of the database are not believed: after a restore
 *     of the database, equal numbers do not mean equal contents.
 */
import { parseJsonText } from "../../kernel/json/parse.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { segmentPath, snapshotPath } from "../../persistence/area-files.ts";
import { type Disk, withFile } from "../../persistence/disk/disk.ts";
import { readFileIfThere, writeFileDurably } from "../../persistence/disk/durable-file.ts";

export interface NotedSegment {
  readonly number: number;
  /** The epoch of its first row. */
  readonly epoch: number;
  readonly salt: number;
  readonly bytes: number;
}

export interface NotedSnapshot {
  readonly number: number;
  /** The epoch of its writer. */
  readonly epoch: number;
  readonly bytes: number;
}

export interface CacheNotesOptions {
  readonly local: Disk;
  readonly directory: string;
  /** A UUID, which changes when the database is restored to an earlier time. */
  readonly branch: string;
  readonly log: Log;
}

export const CACHE_FILE = "cache.json";
const FILE_MODE = 0o600;

export class CacheNotes {
  readonly #options: CacheNotesOptions;
  readonly #segments: Map<number, NotedSegment>;
  #snapshot: NotedSnapshot | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: CacheNotesOptions, noted: readonly NotedSegment[], snapshot: NotedSnapshot | undefined) {
    this.#options = options;
    this.#segments = new Map(noted.map((segment) => [segment.number, segment]));
    this.#snapshot = snapshot;
  }

  /** Reads the notes of an earlier life; none if there is no file, or it has another branch. */
  static async read(options: CacheNotesOptions): Promise<CacheNotes> {
    const { local, directory, branch, log } = options;
    const bytes = await readFileIfThere(local, `${directory}/${CACHE_FILE}`);
    const found = bytes === undefined ? undefined : parseNotes(bytes.toString("utf8"));
    if (bytes !== undefined && found === undefined) log.warn("the notes of a cache are damaged", { directory });
    if (found?.branch !== branch) return new CacheNotes(options, [], undefined);
    return new CacheNotes(options, found.segments, found.snapshot);
  }

  segment(number: number): NotedSegment | undefined {
    return this.#segments.get(number);
  }

  get snapshot(): NotedSnapshot | undefined {
    return this.#snapshot;
  }

  /** Makes a closed segment durable and notes it. Nobody waits for that: without the note it is fetched at a start. */
  noteSegment(segment: NotedSegment): void {
    this.#note(segmentPath(this.#options.directory, segment.number), () => {
      this.#segments.set(segment.number, segment);
    });
  }

  /** The same for the latest snapshot. */
  noteSnapshot(snapshot: NotedSnapshot): void {
    this.#note(snapshotPath(this.#options.directory, snapshot.number), () => {
      this.#snapshot = snapshot;
    });
  }

  /** To be called before a file is removed or replaced. */
  forgetSegment(number: number): void {
    this.#segments.delete(number);
  }

  forgetSnapshot(): void {
    this.#snapshot = undefined;
  }

  /** Resolves when everything noted so far is written, or could not be. */
  settled(): Promise<void> {
    return this.#writing;
  }

  #note(path: string, note: () => void): void {
    const { local, directory, log } = this.#options;
    this.#writing = this.#writing
      .then(async () => {
        await withFile(await local.open(path, "update"), (file) => file.fsync());
        await local.syncDirectory(directory);
        note(); // keeps (1)
        await writeFileDurably(`${directory}/${CACHE_FILE}`, this.#text, { mode: FILE_MODE, disk: local });
      })
      .catch((fault: unknown) => log.warn("cannot note a file of the cache", faultFields(fault)));
  }

  get #text(): string {
    const { branch } = this.#options;
    return `${JSON.stringify({ branch, segments: [...this.#segments.values()], snapshot: this.#snapshot })}\n`;
  }
}

/** The branch of the database whose files a directory has; undefined if no note says so. */
export async function cachedBranch(local: Disk, directory: string): Promise<string | undefined> {
  const bytes = await readFileIfThere(local, `${directory}/${CACHE_FILE}`);
  return bytes === undefined ? undefined : parseNotes(bytes.toString("utf8"))?.branch;
}

interface Notes {
  readonly branch: string;
  readonly segments: readonly NotedSegment[];
  readonly snapshot: NotedSnapshot | undefined;
}

/** Undefined if the text does not have the form of notes. */
function parseNotes(text: string): Notes | undefined {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch {
    return undefined; // Not JSON.
  }
  const { branch, segments, snapshot } = membersOf(value);
  if (typeof branch !== "string" || !Array.isArray(segments)) return undefined;
  const noted = segments.map((each: unknown): NotedSegment | undefined => {
    const { number, epoch, salt, bytes } = membersOf(each);
    return isCount(number) && isCount(epoch) && isCount(salt) && isCount(bytes)
      ? { number, epoch, salt, bytes }
      : undefined;
  });
  const { number, epoch, bytes } = membersOf(snapshot);
  const latest = isCount(number) && isCount(epoch) && isCount(bytes) ? { number, epoch, bytes } : undefined;
  return { branch, segments: noted.filter((each) => each !== undefined), snapshot: latest };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
