/**
 * Reads a backup file: its index, its manifest, and its files, as if they were
 * in a directory.
 *
 * (1) `open` reads headers and manifest, and accepts only what
 *     `archive-writer.ts` writes: the files of the manifest, in its order, then
 *     the manifest, then zeros.
 * (2) The contents of the files are only known to be correct after `check`.
 */
import { createHash } from "node:crypto";
import { ByteProgress, type OnBytes } from "../byte-progress.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import { readFully, withFile, writeFully } from "../disk/disk.ts";
import { DamagedBackup, NewerFormat } from "../errors.ts";
import { FORMAT } from "../journal/file-format.ts";
import {
  BACKUP_FORMAT,
  type BackedUpFile,
  MANIFEST_NAME,
  MANIFEST_SUM_NAME,
  type Manifest,
  parseManifest,
  printManifestSum,
  UnknownManifest,
} from "./manifest.ts";
import { BLOCK_BYTES, END_BYTES, paddingOf, parseTarHeader } from "./tar.ts";

interface Entry {
  readonly name: string;
  readonly bytes: number;
  /** Where its bytes begin. */
  readonly offset: number;
}

const MANIFEST_BYTES_MAX = 64 * 1024 * 1024;
const COPY_BYTES = 1024 * 1024;

export class Archive {
  readonly path: string;
  readonly manifest: Manifest;
  readonly #file: DiskFile;
  readonly #entries: ReadonlyMap<string, Entry>;

  /** Throws `DamagedBackup` or `NewerFormat`, or the system's error. */
  static async open(disk: Disk, path: string): Promise<Archive> {
    const file = await disk.open(path, "read");
    try {
      const entries = await readIndex(file, path);
      return new Archive({ path, file, entries, manifest: await readManifest(file, path, entries) });
    } catch (fault) {
      await file.close();
      throw fault;
    }
  }

  private constructor(parts: { path: string; file: DiskFile; entries: readonly Entry[]; manifest: Manifest }) {
    this.path = parts.path;
    this.manifest = parts.manifest;
    this.#file = parts.file;
    this.#entries = new Map(parts.entries.map((entry) => [entry.name, entry]));
  }

  /** Compares the checksum of every file. Throws `DamagedBackup`. */
  async check(onBytes?: OnBytes): Promise<void> {
    const progress = this.progress(onBytes);
    for (const file of this.manifest.files) await this.#read(file, async (bytes) => progress.add(bytes.length));
  }

  /** The size of all its files together. */
  progress(onBytes: OnBytes | undefined): ByteProgress {
    const bytes = this.manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    return new ByteProgress("files", bytes, onBytes);
  }

  /** Extracts one file to an unused path and makes it durable. Throws `DamagedBackup`. */
  async extract(
    file: BackedUpFile,
    { disk, to, progress }: { disk: Disk; to: string; progress: ByteProgress },
  ): Promise<void> {
    await withFile(await disk.open(to, "create"), async (copy) => {
      await this.#read(file, async (bytes, offset) => {
        await writeFully(copy, bytes, offset);
        progress.add(bytes.length);
      });
      await copy.fsync();
    });
  }

  /** Its files as a read-only disk; `path` is their directory. */
  asDisk(): Disk {
    const inside = (path: string): string => path.slice(this.path.length + 1);
    const refuse = (): never => {
      throw Object.assign(new Error("A backup file is read-only"), { code: "EROFS" });
    };
    return {
      open: async (path) => {
        const entry = this.#entries.get(inside(path));
        if (entry === undefined) throw Object.assign(new Error(`${path} does not exist`), { code: "ENOENT" });
        return this.#part(entry, refuse);
      },
      list: async (path) => {
        const directory = `${inside(path)}/`;
        const names = [...this.#entries.keys()].filter((name) => name.startsWith(directory));
        return names.map((name) => name.slice(directory.length));
      },
      rename: refuse,
      unlink: refuse,
      link: refuse,
      mkdir: refuse,
      syncDirectory: refuse,
    };
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #part(entry: Entry, refuse: () => never): DiskFile {
    return {
      read: (target, offset) => {
        const wanted = target.subarray(0, Math.max(0, Math.min(target.length, entry.bytes - offset)));
        return wanted.length === 0 ? Promise.resolve(0) : this.#file.read(wanted, entry.offset + offset);
      },
      size: async () => entry.bytes,
      close: async () => {},
      write: refuse,
      writeNow: refuse,
      fdatasync: refuse,
      fsync: refuse,
      truncate: refuse,
    };
  }

  /** Passes the bytes of a file on, and compares their checksum after the last one. */
  async #read(file: BackedUpFile, take: (bytes: Buffer, offset: number) => Promise<void>): Promise<void> {
    const entry = this.#entries.get(file.name);
    if (entry === undefined) throw new DamagedBackup(this.path, 0, `${file.name} is missing`);
    const buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(COPY_BYTES, file.bytes)));
    const hash = createHash("sha256");
    for (let offset = 0; offset < entry.bytes; ) {
      const wanted = buffer.subarray(0, Math.min(buffer.length, entry.bytes - offset));
      const count = await readFully(this.#file, wanted, entry.offset + offset);
      if (count < wanted.length) throw new DamagedBackup(this.path, entry.offset + offset + count, "it breaks off");
      hash.update(wanted);
      await take(wanted, offset);
      offset += count;
    }
    if (hash.digest("hex") !== file.sha256) {
      throw new DamagedBackup(this.path, entry.offset, `${file.name} is not what was backed up`);
    }
  }
}

/** keeps (1) */
async function readIndex(file: DiskFile, path: string): Promise<readonly Entry[]> {
  const size = await file.size();
  const entries: Entry[] = [];
  const block = Buffer.alloc(END_BYTES);
  for (let at = 0; ; ) {
    const count = await readFully(file, block, at);
    if (count === END_BYTES && isZero(block)) {
      if (at + END_BYTES !== size) throw new DamagedBackup(path, at + END_BYTES, "it has extra bytes after its end");
      return entries;
    }
    const header = count < BLOCK_BYTES ? undefined : parseTarHeader(block.subarray(0, BLOCK_BYTES));
    if (header === undefined) {
      throw new DamagedBackup(path, at, at === 0 ? "it is not a backup file" : "this is not the start of a file");
    }
    const { name, bytes } = header;
    const offset = at + BLOCK_BYTES;
    const end = offset + bytes + paddingOf(bytes);
    if (end + END_BYTES > size) throw new DamagedBackup(path, size, `it ends inside ${name}`);
    const padding = block.subarray(0, paddingOf(bytes));
    await readFully(file, padding, offset + bytes);
    if (!isZero(padding)) throw new DamagedBackup(path, offset + bytes, `there are extra bytes after ${name}`);
    entries.push({ name, bytes, offset });
    at = end;
  }
}

async function readManifest(file: DiskFile, path: string, entries: readonly Entry[]): Promise<Manifest> {
  const [manifestEntry, sumEntry] = entries.slice(-2);
  if (manifestEntry?.name !== MANIFEST_NAME || sumEntry?.name !== MANIFEST_SUM_NAME) {
    throw new DamagedBackup(path, 0, "it has no manifest");
  }
  const { offset } = manifestEntry;
  if (manifestEntry.bytes > MANIFEST_BYTES_MAX) throw new DamagedBackup(path, offset, "its manifest is too long");
  const manifestBytes = await readEntry(file, manifestEntry);
  if ((await readEntry(file, sumEntry)).toString("latin1") !== printManifestSum(manifestBytes)) {
    throw new DamagedBackup(path, offset, "the checksum of its manifest does not match");
  }
  const manifest = parse(manifestBytes.toString("utf8"), path, offset);
  const listed = entries.slice(0, -2);
  const isListed = listed.every(({ name, bytes }, index) => {
    const wanted = manifest.files[index];
    return wanted?.name === name && wanted.bytes === bytes;
  });
  if (
    !isListed ||
    listed.length !== manifest.files.length ||
    new Set(listed.map(({ name }) => name)).size !== listed.length
  ) {
    throw new DamagedBackup(path, offset, "its manifest lists other files than it has");
  }
  return manifest;
}

function parse(text: string, path: string, offset: number): Manifest {
  try {
    const manifest = parseManifest(text);
    if (manifest.dataFormat > FORMAT) throw new NewerFormat(path, manifest.dataFormat, FORMAT);
    return manifest;
  } catch (fault) {
    if (!(fault instanceof UnknownManifest || fault instanceof SyntaxError)) throw fault;
    const format = fault instanceof UnknownManifest ? fault.format : undefined;
    if (format !== undefined) throw new NewerFormat(path, format, BACKUP_FORMAT);
    throw new DamagedBackup(path, offset, `its manifest cannot be read: ${fault.message}`);
  }
}

async function readEntry(file: DiskFile, { bytes, offset }: Entry): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  await readFully(file, buffer, offset);
  return buffer;
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
