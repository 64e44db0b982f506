/**
 * Writes a backup file. The bytes go to a temporary file beside it, which is
 * renamed to its final name when it is complete and durable (S-07): an
 * incomplete file with the name of a backup is damaged. Each process has a
 * temporary file of its own, so two backups to one name cannot mix. A backup
 * can also be written to a stream, sequentially.
 */
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { NO_LINK_CODES } from "../backup.ts";
import { ByteProgress, type OnBytes } from "../byte-progress.ts";
import { codeOf, type Disk, readFully, withFile, writeFully } from "../disk/disk.ts";
import { isLeftOver, type WritingProcess, writerMark } from "../disk/writing-process.ts";
import {
  type BackedUpFile,
  MANIFEST_NAME,
  MANIFEST_SUM_NAME,
  type Manifest,
  printManifest,
  printManifestSum,
} from "./manifest.ts";
import { END_BYTES, encodeTarHeader, paddingOf } from "./tar.ts";

export interface ArchiveSource {
  /** Its name in the backup (`isEntryName`). */
  readonly name: string;
  readonly path: string;
}

export interface ArchiveContents {
  /** The files must not change while they are read. */
  readonly sources: readonly ArchiveSource[];
  readonly facts: Omit<Manifest, "files">;
  readonly onBytes?: OnBytes;
}

export interface NewArchive extends ArchiveContents {
  readonly path: string;
  /** From `newDraft`. */
  readonly draft: string;
  /**
   * True if absent: an existing file with the backup's name is replaced. Otherwise it stays, and the call fails with
   * EEXIST.
   */
  readonly replaces?: boolean;
}

/** A backup that is being written: its name has the process between these. */
const DRAFT_PREFIX = "larder-backup-";
const DRAFT_SUFFIX = ".partial";

/** The backup contains secrets. */
const FILE_MODE = 0o600;
const COPY_BYTES = 1024 * 1024;

/** Takes all of the bytes before it resolves. */
type Write = (bytes: Uint8Array, offset: number) => Promise<void>;

interface Writer {
  readonly process: WritingProcess;
  readonly nowMs: number;
}

/** The temporary file of a backup: beside it, with a name that no other has. */
export function newDraft(path: string, { process, nowMs }: Writer): string {
  return join(dirname(path), `${DRAFT_PREFIX}${writerMark(process, nowMs)}${DRAFT_SUFFIX}`);
}

/** Removes what crashes have left of backups in the directory of this one. Rejects with the system's error. */
export async function removeLeftDrafts(disk: Disk, path: string, writer: Writer): Promise<void> {
  const directory = dirname(path);
  for (const name of await disk.list(directory)) {
    if (!name.startsWith(DRAFT_PREFIX) || !name.endsWith(DRAFT_SUFFIX)) continue;
    const mark = name.slice(DRAFT_PREFIX.length, -DRAFT_SUFFIX.length);
    if (isLeftOver(mark, writer)) await unlinkIfThere(disk, join(directory, name));
  }
}

/** Writes the backup and returns its size in bytes. Rejects with the system's error. */
export async function writeArchive(
  disk: Disk,
  { path, draft, replaces = true, ...contents }: NewArchive,
): Promise<number> {
  try {
    const bytes = await withFile(await disk.open(draft, "create", FILE_MODE), async (file) => {
      const written = await streamArchive(disk, (part, offset) => writeFully(file, part, offset), contents);
      await file.fsync();
      return written;
    });
    if (replaces) await disk.rename(draft, path);
    else await giveName(disk, draft, path);
    await disk.syncDirectory(dirname(path));
    return bytes;
  } catch (fault) {
    // A partial backup would take the space that a complete one needs.
    await unlinkIfThere(disk, draft);
    throw fault;
  }
}

/**
 * Writes the bytes of a backup in order and returns their count. Rejects as `write` does, or with the system's error.
 */
export async function streamArchive(
  disk: Disk,
  write: Write,
  { sources, facts, onBytes }: ArchiveContents,
): Promise<number> {
  const writer = new TarWriter(write, Math.floor(facts.madeAtMs / 1_000));
  const files: BackedUpFile[] = [];
  const progress = new ByteProgress("files", await sizeOf(disk, sources), onBytes);
  for (const source of sources) files.push(await writer.add(disk, source, progress));
  const manifest = printManifest({ ...facts, files });
  await writer.addText(MANIFEST_NAME, manifest);
  await writer.addText(MANIFEST_SUM_NAME, printManifestSum(manifest));
  await writer.end();
  return writer.bytes;
}

/** Rejects with EEXIST if the name is taken. */
async function giveName(disk: Disk, draft: string, path: string): Promise<void> {
  try {
    await disk.link(draft, path);
  } catch (error) {
    if (!NO_LINK_CODES.includes(codeOf(error))) throw error;
    // Without links, another process could take the name between the check and the rename.
    const names = await disk.list(dirname(path));
    if (names.includes(basename(path))) throw Object.assign(new Error(`EEXIST: ${path}`), { code: "EEXIST" });
    await disk.rename(draft, path);
    return;
  }
  await disk.unlink(draft);
}

class TarWriter {
  readonly #sink: Write;
  readonly #madeAtS: number;
  readonly #buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
  bytes = 0;

  constructor(sink: Write, madeAtS: number) {
    this.#sink = sink;
    this.#madeAtS = madeAtS;
  }

  async add(disk: Disk, { name, path }: ArchiveSource, progress: ByteProgress): Promise<BackedUpFile> {
    return withFile(await disk.open(path, "read"), async (source) => {
      const size = await source.size();
      await this.#header(name, size);
      const hash = createHash("sha256");
      for (let offset = 0; offset < size; ) {
        const wanted = this.#buffer.subarray(0, Math.min(COPY_BYTES, size - offset));
        const count = await readFully(source, wanted, offset);
        if (count < wanted.length) throw new Error(`${path} shrank while it was backed up`);
        hash.update(wanted);
        await this.#write(wanted);
        offset += count;
        progress.add(count);
      }
      await this.#write(Buffer.alloc(paddingOf(size)));
      return { name, bytes: size, sha256: hash.digest("hex") };
    });
  }

  async addText(name: string, text: string): Promise<void> {
    const bytes = Buffer.from(text, "utf8");
    await this.#header(name, bytes.length);
    await this.#write(bytes);
    await this.#write(Buffer.alloc(paddingOf(bytes.length)));
  }

  async end(): Promise<void> {
    await this.#write(Buffer.alloc(END_BYTES));
  }

  #header(name: string, bytes: number): Promise<void> {
    return this.#write(encodeTarHeader({ name, bytes, madeAtS: this.#madeAtS }));
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    await this.#sink(bytes, this.bytes);
    this.bytes += bytes.length;
  }
}

async function sizeOf(disk: Disk, sources: readonly ArchiveSource[]): Promise<number> {
  let bytes = 0;
  for (const { path } of sources) bytes += await withFile(await disk.open(path, "read"), (file) => file.size());
  return bytes;
}

async function unlinkIfThere(disk: Disk, path: string): Promise<void> {
  try {
    await disk.unlink(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
