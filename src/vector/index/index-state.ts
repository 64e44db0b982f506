/**
 * The state of one index: its definition and its namespaces. Only `apply`
 * changes it, for a request that was just recorded as for a frame of the past.
 *
 * (1) The default namespace, called "", always exists, as number 0. It is never
 *     recorded that it was made.
 * (2) Numbers of namespaces are never used again.
 */
import { assert } from "../../kernel/assert.ts";
import { MemoryAccount } from "../../kernel/memory-guard.ts";
import type { GraphBuilder } from "../graph/graph.ts";
import type { RowMemory } from "../rows/row-memory.ts";
import { RowStore } from "../rows/row-store.ts";
import type { Change, Put } from "./changes.ts";
import type { IndexDefinition } from "./definition.ts";
import { Namespace } from "./namespace.ts";

export const DEFAULT_NAMESPACE = "";
const DEFAULT_NUMBER = 0;
/** An empty namespace. */
const NAMESPACE_BYTES = 4_000;

export interface StateParts {
  readonly memory: RowMemory;
  /** The account of a new index; absent: nobody counts. */
  openAccount?: ((name: string) => MemoryAccount) | undefined;
  /** What builds graphs now; undefined: nothing does. */
  graphs(): GraphBuilder | undefined;
  /** Work of an exact search from which a namespace gets a graph, in multiplications; undefined: `GRAPH_WORK_MIN`. */
  readonly graphWorkMin?: number | undefined;
}

/** A change inside one index. */
export type IndexChange = Exclude<Change, { readonly kind: "create index" | "drop index" | "next index" }>;

export class IndexState {
  readonly number: number;
  readonly name: string;
  /** Of its frames, what the journal has not written yet. */
  journalBytes = 0;
  /** What it takes of the thread's memory. */
  readonly memory: MemoryAccount;
  /** Of that, graphs, as they were when their namespaces changed last. */
  graphBytes = 0;
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

  /** The index is run with these models and limits from now on; type, dimension and similarity stay. */
  set models({ denseModel, sparseModel }: Pick<IndexDefinition, "denseModel" | "sparseModel">) {
    this.#definition = { ...this.#definition, denseModel, sparseModel };
  }

  /** In the order they were made, the default namespace first. */
  get namespaces(): Iterable<Namespace> {
    return this.#byNumber.values();
  }

  get namespaceCount(): number {
    return this.#byNumber.size;
  }

  /** The number that the next namespace gets. */
  get nextNamespace(): number {
    return this.#nextNamespace;
  }

  /** The version that the next dense vector gets. */
  get nextVersion(): number {
    return this.#nextVersion;
  }

  find(name: string): Namespace | undefined {
    return this.#byName.get(name);
  }

  /** Undefined: no namespace has that number any more. */
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

  /** The same as applying a put, for the path of many puts. */
  put(namespace: number, put: Put): void {
    this.#nextVersion = Math.max(this.#nextVersion, put.version + 1);
    const changed = this.get(namespace);
    changed.put(put);
    this.#count(changed);
  }

  /** Throws `OutOfMemory` when a new namespace could not have so many rows now. What is freed here is there for it next. */
  checkMemory(rowCount: number, dimension: number): void {
    if (rowCount === 0 || dimension === 0) return;
    const rows = new RowStore(this.#parts.memory, dimension);
    rows.ensure(rowCount - 1);
    rows.clear();
  }

  /** Gives back what lies outside the heap. Not used after that. */
  close(): void {
    for (const namespace of this.#byNumber.values()) namespace.close();
    this.memory.close();
    this.graphBytes = 0;
  }

  /** Brings the account to what a namespace takes now. */
  #count(namespace: Namespace): void {
    const graphBytes = namespace.graph?.byteCount ?? 0;
    const bytes = namespace.memoryBytes + graphBytes;
    this.memory.add(bytes - namespace.countedBytes);
    this.graphBytes += graphBytes - namespace.countedGraphBytes;
    namespace.countedBytes = bytes;
    namespace.countedGraphBytes = graphBytes;
  }

  #addNamespace(number: number, name: string): void {
    const namespace = new Namespace({ number, name, index: this, ...this.#parts });
    this.#byNumber.set(number, namespace);
    this.#byName.set(name, namespace);
    this.memory.add(NAMESPACE_BYTES);
    this.#nextNamespace = Math.max(this.#nextNamespace, number + 1); // keeps (2)
  }

  #dropNamespace(number: number): void {
    const namespace = this.get(number);
    namespace.close();
    this.memory.add(-namespace.countedBytes - NAMESPACE_BYTES);
    this.graphBytes -= namespace.countedGraphBytes;
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
