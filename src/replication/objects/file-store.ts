/**
 * A copy in a directory, on another disk of the machine or on a mounted one.
 *
 *     store/segments/0001   ->   <directory>/store.d/segments.d/0001
 *
 * (1) An object is written beside its place, synced, and then linked to its name, which fails if the name is taken. So
 *     a name has all of its object or does not exist, also after a crash.
 * (2) A call returns after the directory of the name is synced, also if the name was taken: then the object there
 *     outlives a power cut as well.
 * (3) Unfinished files begin with `.partial-` and say who writes them. The next opening removes those of processes that
 *     have ended. If one of a living process is removed by mistake, its link fails and it writes the object again.
 * (4) Directories end in `.d`, and names of objects never do, so that a name and a directory are told apart without
 *     asking the disk, and an object may have the name of a directory.
 */
import { dirname, join } from "node:path";
import { assert } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import {
  codeOf,
  type Disk,
  type DiskFile,
  noSpaceText,
  readFully,
  withFile,
  writeFully,
} from "../../persistence/disk/disk.ts";
import { isLeftOver, type WritingProcess, writerMark } from "../../persistence/disk/writing-process.ts";
import { assertObjectName, assertObjectRange, isObjectName, OBJECTS_PER_CALL_MAX } from "./object-name.ts";
import {
  type FailureKind,
  type ListedObject,
  type ObjectContent,
  type ObjectStore,
  ObjectStoreFailure,
  readContent,
} from "./object-store.ts";
import { WINDOW_BYTES, withWindow } from "./read-window.ts";
import type { RequestKind, StoreRequestObserver } from "./store-requests.ts";

export interface FileStoreOptions {
  /** An absolute path. It must exist: a missing one may be a disk that is not mounted. */
  readonly directory: string;
  readonly disk: Disk;
  readonly clock: Pick<Clock, "nowMs">;
  readonly process: WritingProcess;
  /** `read`: nothing is written at the opening. */
  readonly access: "read" | "write";
  readonly onRequest?: StoreRequestObserver | undefined;
}

const PARTIAL = ".partial-";
const ATTEMPTS_MAX = 3;
/** ext4 has it in the root of each disk, for root alone. */
const LOST_FOUND = "lost+found";

const FAILURES: ReadonlyMap<string, readonly [FailureKind, string]> = new Map([
  ["ENOENT", ["refused", "the directory does not exist: create it, or mount its disk"]],
  ["ENOTDIR", ["refused", "it is not a directory"]],
  ["EISDIR", ["refused", "a directory has the name of an object"]],
  ["EACCES", ["refused", "permission denied: give the user of larder access"]],
  ["EPERM", ["refused", "the file system does not permit it: larder needs one with hard links, such as ext4 or XFS"]],
  ["EROFS", ["refused", "the file system is read-only"]],
  ["EXDEV", ["refused", "a part of the directory is another file system: copy to one file system only"]],
  ["ENAMETOOLONG", ["refused", "the path is too long"]],
  ["ELOOP", ["refused", "the path has too many symbolic links"]],
  ["EOPNOTSUPP", ["refused", "the file system has no hard links: use one that has, such as ext4 or XFS"]],
  ["ENOTSUP", ["refused", "the file system has no hard links: use one that has, such as ext4 or XFS"]],
  ["ENOSYS", ["refused", "the file system has no hard links: use one that has, such as ext4 or XFS"]],
]);

export class FileStore implements ObjectStore {
  readonly #options: FileStoreOptions;
  /** Directories that exist durably, as far as this process knows. */
  readonly #known = new Set<string>();

  private constructor(options: FileStoreOptions) {
    this.#options = options;
  }

  /** Rejects with an `ObjectStoreFailure` if the directory does not exist or, to be written, has no hard links. */
  static async open(options: FileStoreOptions): Promise<FileStore> {
    const store = new FileStore(options);
    const names = await store.#guarded(options.directory, () => options.disk.list(options.directory));
    if (options.access === "write") {
      await store.#removePartials(names);
      await store.#guarded(options.directory, () => store.#tryLinks());
    }
    return store;
  }

  async putNew(name: string, content: ObjectContent): Promise<"stored" | "exists"> {
    assertObjectName(name);
    const path = this.#pathOf(name);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const outcome = await this.#guarded(path, () => this.#putOnce(path, content));
      this.#count("put", { sentBytes: outcome === "stored" ? content.bytes : 0 });
      if (outcome !== "lost") return outcome;
      this.#known.clear();
    }
    throw new ObjectStoreFailure("unavailable", `${path}: another process removes the unfinished file again and again`);
  }

  async get(
    name: string,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<Buffer | undefined> {
    assertObjectRange(name, { start, end });
    const path = this.#pathOf(name);
    const bytes = await this.#guarded(path, async () => {
      const file = await unlessMissing(this.#options.disk.open(path, "read"));
      if (file === undefined) return undefined;
      return withFile(file, async () => {
        // A range may be far longer than the object.
        const target = Buffer.alloc(Math.max(0, Math.min(end, await file.size()) - start));
        return target.subarray(0, await readFully(file, target, start));
      });
    });
    this.#count("get", { receivedBytes: bytes?.length ?? 0 });
    return bytes;
  }

  async list(prefix: string, after?: string): Promise<readonly ListedObject[]> {
    const { directory } = this.#options;
    const found: ListedObject[] = [];
    await this.#guarded(directory, async () => {
      for await (const { name, path } of this.#walk(directory, "", { prefix, after })) {
        const bytes = await this.#sizeOf(path);
        if (bytes !== undefined) found.push({ name, bytes });
        if (found.length >= OBJECTS_PER_CALL_MAX) break;
      }
    });
    this.#count("list", {});
    return found;
  }

  async remove(names: readonly string[]): Promise<void> {
    assert(names.length <= OBJECTS_PER_CALL_MAX, "few objects are removed at once");
    for (const name of names) assertObjectName(name);
    const { disk, directory } = this.#options;
    await this.#guarded(directory, async () => {
      const directories = new Set<string>();
      for (const name of names) {
        const path = this.#pathOf(name);
        if ((await unlessMissing(disk.unlink(path).then(() => true))) === true) directories.add(dirname(path));
      }
      for (const each of directories) await disk.syncDirectory(each);
    });
    this.#count("delete", {});
  }

  async close(): Promise<void> {}

  /** `lost`: the unfinished file or a directory was removed meanwhile. keeps (1) and (2) */
  async #putOnce(path: string, content: ObjectContent): Promise<"stored" | "exists" | "lost"> {
    const { disk } = this.#options;
    const directory = dirname(path);
    await this.#makeDirectory(directory);
    // Without this, a call that is repeated would write a large object only to find its name taken.
    if ((await this.#sizeOf(path)) !== undefined) {
      await disk.syncDirectory(directory);
      return "exists";
    }
    const partial = this.#partialPath();
    const file = await disk.open(partial, "create");
    try {
      await withFile(file, async () => {
        await writeContent(file, content);
        await file.fsync();
      });
      const outcome = await linkOutcome(disk, partial, path);
      if (outcome !== "lost") await disk.syncDirectory(directory);
      return outcome;
    } finally {
      // If this fails, the next opening does it: keeps (3).
      await disk.unlink(partial).catch(() => undefined);
    }
  }

  async #makeDirectory(directory: string): Promise<void> {
    if (directory === this.#options.directory || this.#known.has(directory)) return;
    const parent = dirname(directory);
    await this.#makeDirectory(parent);
    await this.#options.disk.mkdir(directory);
    // Also if it existed: the process that made it may have crashed before.
    await this.#options.disk.syncDirectory(parent);
    this.#known.add(directory);
  }

  /** Objects in the order of their names. A directory sorts as its name with `/`, which all names in it begin with. */
  async *#walk(
    directory: string,
    above: string,
    range: { readonly prefix: string; readonly after: string | undefined },
  ): AsyncIterable<{ readonly name: string; readonly path: string }> {
    const { prefix, after } = range;
    const entries: { name: string; path: string; isDirectory: boolean }[] = [];
    for (const raw of (await unlessMissing(this.#options.disk.list(directory))) ?? []) {
      const entry = entryOf(raw);
      if (entry === undefined || (above === "" && raw === LOST_FOUND)) continue;
      const name = `${above}${entry.segment}${entry.isDirectory ? "/" : ""}`;
      entries.push({ name, path: join(directory, raw), isDirectory: entry.isDirectory });
    }
    entries.sort((left, right) => (left.name < right.name ? -1 : 1));
    for (const { name, path, isDirectory } of entries) {
      if (!name.startsWith(prefix) && !(isDirectory && prefix.startsWith(name))) continue;
      if (after !== undefined && name <= after && !(isDirectory && after.startsWith(name))) continue;
      if (isDirectory) yield* this.#walk(path, name, range);
      else if (isObjectName(name)) yield { name, path };
    }
  }

  async #sizeOf(path: string): Promise<number | undefined> {
    const file = await unlessMissing(this.#options.disk.open(path, "read"));
    return file === undefined ? undefined : withFile(file, () => file.size());
  }

  /** keeps (3) */
  async #removePartials(names: readonly string[]): Promise<void> {
    const { clock, directory, disk, process } = this.#options;
    const now = { process, nowMs: clock.nowMs() };
    for (const name of names)
      if (name.startsWith(PARTIAL) && isLeftOver(name.slice(PARTIAL.length), now))
        await this.#guarded(directory, () => unlessMissing(disk.unlink(join(directory, name))));
  }

  #partialPath(): string {
    const { clock, directory, process } = this.#options;
    return join(directory, `${PARTIAL}${writerMark(process, clock.nowMs())}`);
  }

  /** So that a file system without hard links is noticed at the start. */
  async #tryLinks(): Promise<void> {
    const { disk } = this.#options;
    const [first, second] = [this.#partialPath(), this.#partialPath()];
    await (await disk.open(first, "create")).close();
    try {
      // Lost: by mistake of another process, which has links then.
      if ((await linkOutcome(disk, first, second)) === "stored") await unlessMissing(disk.unlink(second));
    } finally {
      await unlessMissing(disk.unlink(first));
    }
  }

  #pathOf(name: string): string {
    const segments = name.split("/");
    const encoded = segments.map((segment, index) => fileNameOf(segment, index < segments.length - 1));
    return join(this.#options.directory, ...encoded);
  }

  #count(kind: RequestKind, bytes: { sentBytes?: number; receivedBytes?: number }): void {
    this.#options.onRequest?.({ kind, sentBytes: 0, receivedBytes: 0, hasFailed: false, ...bytes });
  }

  /** Turns errors of the disk into failures. */
  async #guarded<Result>(path: string, use: () => Promise<Result>): Promise<Result> {
    try {
      return await use();
    } catch (error) {
      if (error instanceof ContentFault) throw error.cause;
      const code = codeOf(error);
      if (code === undefined || error instanceof ObjectStoreFailure) throw error;
      const noSpace = noSpaceText(error);
      const [kind, text] =
        noSpace === undefined
          ? (FAILURES.get(code) ?? (["unavailable", code] as const))
          : (["refused", noSpace] as const);
      throw new ObjectStoreFailure(kind, `${path}: ${text}`, { cause: error });
    }
  }
}

/** An error of the content, which is thrown as it is: it is no failure of the store. */
class ContentFault extends Error {}

function writeContent(file: DiskFile, content: ObjectContent): Promise<void> {
  return withWindow(async (window) => {
    for (let start = 0; start < content.bytes; start += WINDOW_BYTES) {
      const end = Math.min(content.bytes, start + WINDOW_BYTES);
      let piece: Buffer;
      try {
        piece = await readContent(content, { start, end, into: window });
      } catch (cause) {
        throw new ContentFault("", { cause });
      }
      await writeFully(file, piece, start);
    }
  });
}

async function linkOutcome(disk: Disk, from: string, to: string): Promise<"stored" | "exists" | "lost"> {
  try {
    await disk.link(from, to);
    return "stored";
  } catch (error) {
    if (codeOf(error) === "EEXIST") return "exists";
    if (codeOf(error) === "ENOENT") return "lost";
    throw error;
  }
}

/** keeps (4): the escapes are those of URLs, only where they are needed. */
function fileNameOf(segment: string, isDirectory: boolean): string {
  const escaped = segment.replaceAll("%", "%25").replace(/^\./, "%2E").replace(/\.d$/, ".%64");
  return isDirectory ? `${escaped}.d` : escaped;
}

/** Undefined: not a name that `fileNameOf` makes. */
function entryOf(fileName: string): { readonly segment: string; readonly isDirectory: boolean } | undefined {
  const isDirectory = fileName.endsWith(".d");
  const escaped = isDirectory ? fileName.slice(0, -2) : fileName;
  const segment = escaped.replace(/%(25|2E|64)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return segment !== "" && fileNameOf(segment, isDirectory) === fileName ? { segment, isDirectory } : undefined;
}

/** Undefined if the file does not exist, or if what should be its directory is a file. */
async function unlessMissing<Result>(call: Promise<Result>): Promise<Result | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
