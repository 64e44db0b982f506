/**
 * A Redis file as a source, with the file of documents that `larder export
 * store` puts beside it.
 *
 * The file is read twice: first completely, so that a damaged file or one with
 * unsupported values changes nothing, then to store its content.
 */
import { existsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { codeOf } from "../../program/refusal.ts";
import { documentsPath, readDocuments } from "../documents-file.ts";
import {
  BATCH_BYTES,
  BATCH_KEYS,
  type SourceBatch,
  type SourceEntry,
  type SourceLibraries,
  type StoreSource,
  sourceRefusal,
} from "../store/source.ts";
import { RdbDamage, type RdbPosition, RdbReader, type RdbRecord, RdbUnsupported } from "./rdb-reader.ts";

export interface RdbSourceOptions {
  readonly path: string;
  /** The database to read; undefined: the only one with keys. */
  readonly database: number | undefined;
}

/** A position in the file, or a line number in the documents. */
type Position = RdbPosition | { readonly documents: number };

export class RdbSource implements StoreSource {
  readonly name: string;
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #size: number;
  readonly #modifiedMs: number;
  #database: number | undefined;
  #codes: Bytes[] = [];
  /** The number of keys with metadata of each class that may be dropped. */
  readonly #metadataCounts = new Map<string, number>();

  constructor(options: RdbSourceOptions, { file, size, modifiedMs }: OpenFile) {
    this.name = options.path;
    this.#path = resolve(options.path);
    this.#file = file;
    this.#size = size;
    this.#modifiedMs = modifiedMs;
    this.#database = options.database;
  }

  get identity(): string {
    return JSON.stringify([this.#path, this.#size, this.#modifiedMs, this.#database]);
  }

  async open(): Promise<{ keyCount: number; remarks: readonly string[] }> {
    const reader = new RdbReader(this.#file, this.#size);
    const keyCounts = new Map<number, number>();
    const slotRanges: string[] = [];
    await this.#reading(async () => {
      await reader.open();
      for (let record = await reader.next(); record !== undefined; record = await reader.next()) {
        if (record.kind === "library") this.#codes.push(record.code);
        else if (record.kind === "module value") this.#refuseModule(record);
        else if (record.kind === "slot import") slotRanges.push(record.ranges);
        else {
          this.#noteMetadata(record);
          keyCounts.set(record.database, (keyCounts.get(record.database) ?? 0) + 1);
        }
      }
    });
    const database = this.#choose(keyCounts);
    const others = [...keyCounts].filter(([number]) => number !== database);
    const remarks = others.map(([number, count]) => `${count} keys of its database ${number} are not imported`);
    if (slotRanges.length > 0)
      remarks.push(
        `its server was importing the slots ${slotRanges.join(" ")}: keys of these slots may be missing or incomplete`,
      );
    for (const [name, count] of this.#metadataCounts)
      remarks.push(`the metadata of the module class ${name} at ${count} keys is not imported`);
    if (!reader.hasChecksum) remarks.push("it has no checksum: damage may be undetected");
    let documentCount = 0;
    if (this.#hasDocuments) for await (const _ of readDocuments(this.#documents)) documentCount += 1;
    if (documentCount > 0) remarks.push(`${documentCount} more keys come from ${documentsPath(this.name)}`);
    return { keyCount: (keyCounts.get(database) ?? 0) + documentCount, remarks };
  }

  async readLibraries(): Promise<SourceLibraries> {
    return { codes: this.#codes };
  }

  /** The identity has the size and the time of the file. */
  continuesAt(): boolean {
    return true;
  }

  async *batches(from: string | undefined): AsyncIterable<SourceBatch> {
    // larder wrote this text itself, beside the identity of the source.
    const position = from === undefined ? undefined : (parseJsonText(from) as Position);
    if (position === undefined || "offset" in position) yield* this.#keys(position);
    if (this.#hasDocuments)
      yield* this.#documentBatches(position !== undefined && "documents" in position ? position.documents : 0);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async *#keys(from: RdbPosition | undefined): AsyncIterable<SourceBatch> {
    const reader = new RdbReader(this.#file, this.#size);
    await this.#reading(() => reader.open(from));
    let batch: SourceEntry[] = [];
    let bytes = 0;
    for (;;) {
      const record = await this.#reading(() => reader.next());
      if (record === undefined) break;
      if (record.kind !== "key" || record.database !== this.#database) continue;
      const { key, atMs, payload } = record;
      batch.push({ key, atMs, value: { kind: "dump", payload: bytesFrom(payload) } });
      bytes += payload.length;
      if (batch.length < BATCH_KEYS && bytes < BATCH_BYTES) continue;
      yield { entries: batch, position: JSON.stringify(reader.position) };
      batch = [];
      bytes = 0;
    }
    if (batch.length > 0) yield { entries: batch, position: JSON.stringify({ documents: 0 }) };
  }

  async *#documentBatches(from: number): AsyncIterable<SourceBatch> {
    let line = from;
    let batch: SourceEntry[] = [];
    for await (const entry of readDocuments(this.#documents, from)) {
      batch.push(entry);
      line += 1;
      if (batch.length < BATCH_KEYS) continue;
      yield { entries: batch, position: JSON.stringify({ documents: line }) };
      batch = [];
    }
    if (batch.length > 0) yield { entries: batch, position: JSON.stringify({ documents: line }) };
  }

  get #documents(): string {
    return documentsPath(this.#path);
  }

  get #hasDocuments(): boolean {
    return existsSync(this.#documents);
  }

  #choose(keyCounts: ReadonlyMap<number, number>): number {
    const [only = 0, ...others] = [...keyCounts.keys()].sort((a, b) => a - b);
    if (this.#database === undefined && others.length > 0) {
      const found = [...keyCounts].map(([number, count]) => `${number} (${count} keys)`).join(", ");
      throw sourceRefusal(this.name, `it has several databases, ${found}: choose one with --source-database`);
    }
    this.#database ??= only;
    return this.#database;
  }

  #refuseModule({ key, module, database }: { key: Bytes; module: string; database: number }): void {
    if (this.#database !== undefined && database !== this.#database) return;
    throw sourceRefusal(
      this.name,
      `the key ${JSON.stringify(key)} holds a value of the module ${module}, whose file format is specific to it: import from the running server instead, where documents are read with JSON.GET`,
    );
  }

  #noteMetadata({ key, database, metadata }: Extract<RdbRecord, { kind: "key" }>): void {
    if (this.#database !== undefined && database !== this.#database) return;
    for (const { name, isIgnorable } of metadata) {
      if (!isIgnorable)
        throw sourceRefusal(
          this.name,
          `the key ${JSON.stringify(key)} has metadata of the module class ${name}, which larder does not have and must not drop: import from the running server instead, where only such keys are refused`,
        );
      this.#metadataCounts.set(name, (this.#metadataCounts.get(name) ?? 0) + 1);
    }
  }

  /** Describes the error in the file as a refusal. */
  async #reading<Result>(read: () => Promise<Result>): Promise<Result> {
    try {
      return await read();
    } catch (fault) {
      if (fault instanceof RdbDamage || fault instanceof RdbUnsupported)
        throw sourceRefusal(this.name, fault.message, fault);
      throw fault;
    }
  }
}

interface OpenFile {
  readonly file: FileHandle;
  readonly size: number;
  readonly modifiedMs: number;
}

/** Opens a file to import. Rejects with a `StartRefusal`. */
export async function openRdbSource(options: RdbSourceOptions): Promise<RdbSource> {
  const { path } = options;
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (fault) {
    const reason =
      codeOf(fault) === "ENOENT" ? "the file does not exist" : `it cannot be read (${String(codeOf(fault))})`;
    throw sourceRefusal(path, reason, fault);
  }
  const { size, mtimeMs } = await file.stat().then((stats) => (stats.isFile() ? stats : { size: -1, mtimeMs: 0 }));
  if (size < 0) {
    await file.close();
    throw sourceRefusal(path, "it is not a regular file, but must be read twice");
  }
  return new RdbSource(options, { file, size, modifiedMs: mtimeMs });
}
