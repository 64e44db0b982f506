/**
 * The state of one index: its definition and its namespaces. Only `apply`
 * changes it, both for new changes and in a replay.
 *
 * (1) The default namespace "" always exists, with the number 0. Its creation is
 *     not recorded.
 * (2) Numbers of namespaces are never used again.
 */
import { assert } from "../../kernel/assert.ts";
import { MemoryAccount } from "../../kernel/memory-guard.ts";
import type { Random } from "../../kernel/random.ts";
import type { GraphBuilder } from "../graph/graph.ts";
import { type IndexRecall, worstReports } from "../recall/index-recall.ts";
import type { RecallSettings } from "../recall/namespace-recall.ts";
import type { RowFileSet } from "../row-files/row-file-set.ts";
import type { RowReads } from "../row-files/row-file-storage.ts";
import type { RowMemory } from "../rows/row-memory.ts";
import { RowStore } from "../rows/row-store.ts";
import type { Change, Put } from "./changes.ts";
import type { IndexDefinition, RowPlacement } from "./definition.ts";
import { Namespace, type NamespaceOptions } from "./namespace.ts";

export const DEFAULT_NAMESPACE = "";
const DEFAULT_NUMBER = 0;
/** The objects of a namespace. test/harness/vector-memory-growth.ts */
const NAMESPACE_BYTES = 9_000;

export interface StateParts {
  readonly memory: RowMemory;
  /** The memory account of a new index; if absent, memory is not counted. */
  openAccount?: ((name: string) => MemoryAccount) | undefined;
  /** The current builder of graphs; undefined if graphs are not built. */
  graphs(): GraphBuilder | undefined;
  /** The multiplications of an exact search from which a namespace gets a graph; `GRAPH_WORK_MIN` if undefined. */
  readonly graphWorkMin?: number | undefined;
  /** The most records of a part of a graph; `partRecordsOf` its dimension if undefined. */
  readonly graphPartRecords?: number | undefined;
  /** The recall target of an index without its own, and the largest effort for a target. */
  readonly recall: RecallSettings;
  readonly random: Random;
  /** The files of rows, if the rows of this index are on disk. */
  readonly rowFiles?: RowFileSet | undefined;
}

/** A change inside one index. */
export type IndexChange = Exclude<Change, { readonly kind: "create index" | "drop index" | "next index" }>;

export class IndexState {
  readonly number: number;
  readonly name: string;
  /** Owns its frames that the journal has not written yet. */
  journalBytes = 0;
  /** Its share of the thread's memory. */
  readonly memory: MemoryAccount;
  /** The share of the nearest records that queries should find, as the operator set it for this index. */
  recallTarget: number | undefined;
  #rowReads: RowReads = { count: 0, bytes: 0 };
  readonly #parts: StateParts;
  #definition: IndexDefinition;
  readonly #byNumber = new Map<number, Namespace>();
  readonly #byName = new Map<string, Namespace>();
  #nextNamespace = DEFAULT_NUMBER;
  #nextVersion = 1;

  constructor(options: { number: number; name: string; definition: IndexDefinition; parts: StateParts }) {
    this.number = options.number;
    this.name = options.name;
    this.#definition = options.definition;
    this.#parts = options.parts;
    this.memory = options.parts.openAccount?.(options.name) ?? new MemoryAccount(options.name);
    this.#addNamespace(DEFAULT_NUMBER, DEFAULT_NAMESPACE); // keeps (1)
  }

  get definition(): IndexDefinition {
    return this.#definition;
  }

  /** Sets the models and limits of the index; type, dimension and similarity stay. */
  set models({ denseModel, sparseModel }: Pick<IndexDefinition, "denseModel" | "sparseModel">) {
    this.#definition = { ...this.#definition, denseModel, sparseModel };
  }

  /** For the recall of searches: the target of this index, or of all. */
  get recallSettings(): RecallSettings {
    const { recallTarget, effortMax } = this.#parts.recall;
    return { recallTarget: this.recallTarget ?? recallTarget, effortMax };
  }

  /** Undefined while no namespace has a graph. */
  get recall(): IndexRecall | undefined {
    const measured = worstReports(this.#byNumber.values());
    return measured && { target: this.recallSettings.recallTarget, measured };
  }

  /** Where the rows of its large namespaces are. */
  get rows(): RowPlacement {
    return this.#parts.rowFiles === undefined ? "memory" : "disk";
  }

  /** The bytes of the files of its rows. */
  get rowFileBytes(): number {
    let bytes = 0;
    for (const { fileRows } of this.#byNumber.values()) bytes += fileRows?.fileBytes ?? 0;
    return bytes;
  }

  /** What was read from them since the start, for searches, answers and graphs. */
  get rowReads(): RowReads {
    return this.#rowReads;
  }

  /** The memory of its graphs. */
  get graphBytes(): number {
    let bytes = 0;
    for (const { graph } of this.#byNumber.values()) bytes += graph?.byteCount ?? 0;
    return bytes;
  }

  /** In the order of creation, the default namespace first. */
  get namespaces(): Iterable<Namespace> {
    return this.#byNumber.values();
  }

  get namespaceCount(): number {
    return this.#byNumber.size;
  }

  /** The number of the next namespace. */
  get nextNamespace(): number {
    return this.#nextNamespace;
  }

  /** The version of the next dense vector. */
  get nextVersion(): number {
    return this.#nextVersion;
  }

  find(name: string): Namespace | undefined {
    return this.#byName.get(name);
  }

  /** Undefined if no namespace has that number any longer. */
  findNumber(number: number): Namespace | undefined {
    return this.#byNumber.get(number);
  }

  /** The namespace of a recorded number. */
  get(number: number): Namespace {
    const namespace = this.#byNumber.get(number);
    assert(namespace !== undefined, "a record names a namespace that exists");
    return namespace;
  }

  apply(change: IndexChange): void {
    switch (change.kind) {
      case "fix dimension":
        this.#definition = { ...this.#definition, dimension: change.dimension };
        return;
      case "create namespace":
        this.#addNamespace(change.namespace, change.name);
        return;
      case "drop namespace":
        this.#dropNamespace(change.namespace);
        return;
      case "clear namespace":
        this.get(change.namespace).clear();
        this.#count(this.get(change.namespace));
        return;
      case "rename namespace":
        this.#rename(change.namespace, change.name);
        return;
      case "put":
        this.put(change.namespace, change.put);
        return;
      case "remove":
        this.get(change.namespace).remove(change.id);
        this.#count(this.get(change.namespace));
        return;
      case "next place":
        this.get(change.namespace).table.order.skipTo(change.place);
        return;
      case "next numbers":
        this.#nextNamespace = Math.max(this.#nextNamespace, change.namespace);
        this.#nextVersion = Math.max(this.#nextVersion, change.version);
        return;
      default: {
        const never: never = change;
        throw never;
      }
    }
  }

  /** Applies a put, for the path of many puts. */
  put(namespace: number, put: Put): void {
    this.#nextVersion = Math.max(this.#nextVersion, put.version + 1);
    const changed = this.get(namespace);
    changed.put(put);
    this.#count(changed);
  }

  /** Updates the account after namespaces got graphs without a change of a record. */
  recount(): void {
    for (const namespace of this.#byNumber.values()) this.#count(namespace);
  }

  /** Throws `OutOfMemory` if a new namespace could not have so many rows now. The test frees its memory again. */
  checkMemory(rowCount: number, dimension: number): void {
    if (rowCount === 0 || dimension === 0) return;
    const rows = new RowStore(this.#parts.memory, dimension);
    rows.ensure(rowCount - 1);
    rows.clear();
  }

  /** The share of a namespace in the account. */
  bytesOf({ countedBytes }: Namespace): number {
    return countedBytes + NAMESPACE_BYTES;
  }

  /** Frees the memory outside the heap. Not used after that. */
  close(): void {
    for (const namespace of this.#byNumber.values()) namespace.close();
    this.memory.close();
  }

  /** Updates the account to the current memory of a namespace. */
  #count(namespace: Namespace): void {
    const bytes = namespace.memoryBytes;
    this.memory.add(bytes - namespace.countedBytes);
    namespace.countedBytes = bytes;
  }

  #addNamespace(number: number, name: string): void {
    const recallSettings = (): RecallSettings => this.recallSettings;
    const { rowFiles, memory, ...parts } = this.#parts;
    const noteReads = ({ count, bytes }: RowReads): void => {
      const before = this.#rowReads;
      this.#rowReads = { count: before.count + count, bytes: before.bytes + bytes };
    };
    const openFileRows: NamespaceOptions["openFileRows"] =
      rowFiles && ((taken) => rowFiles.take({ ...taken, index: this.number, memory, noteReads }));
    const namespace = new Namespace({ ...parts, number, name, index: this, memory, recallSettings, openFileRows });
    this.#byNumber.set(number, namespace);
    this.#byName.set(name, namespace);
    this.memory.add(NAMESPACE_BYTES);
    this.#nextNamespace = Math.max(this.#nextNamespace, number + 1); // keeps (2)
  }

  #dropNamespace(number: number): void {
    const namespace = this.get(number);
    namespace.close();
    this.memory.add(-this.bytesOf(namespace));
    this.#byNumber.delete(number);
    this.#byName.delete(namespace.name);
  }

  #rename(number: number, name: string): void {
    const namespace = this.get(number);
    this.#byName.delete(namespace.name);
    namespace.name = name;
    this.#byName.set(name, namespace);
  }
}
