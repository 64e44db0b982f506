/**
 * Graphs on disk. A graph file is a cache that saves the building at the next
 * start: all its contents follow from the records. It is written from time to
 * time and at a stop, read once, and checked before use. Missing records are
 * inserted, and a damaged file is ignored (threats B-06).
 *
 * A file's name has the numbers of its index and namespace, and of the part of a
 * graph in parts, never the names of indexes and namespaces.
 */
import type { Log } from "../../kernel/log.ts";
import { faultFields } from "../../kernel/log.ts";
import type { GraphPart } from "../graph-parts/graph-part.ts";
import { PARTS_MAX } from "../graph-parts/parted-graph.ts";
import type { Namespace } from "../index/namespace.ts";
import type { NamespaceGraph } from "./graph.ts";

/** The storage of graph files. */
export interface GraphFiles {
  names(): Promise<readonly string[]>;
  /** Undefined if the file does not exist. */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Replaces the file: a crash leaves the old one, the new one, or one with a wrong checksum. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
}

/** A namespace and the number of its index. */
export interface PlacedNamespace {
  readonly index: number;
  readonly namespace: Namespace;
}

/** A graph in a file, and the count of its changes when the file was written or read. */
interface SavedPart {
  readonly graph: NamespaceGraph;
  readonly changeCount: number;
}

/** A graph is written again when this share of its records is new or gone. */
const CHANGED_SHARE = 0.1;

export class GraphCache {
  readonly #files: GraphFiles;
  readonly #log: Log;
  /** By file name. */
  readonly #saved = new Map<string, SavedPart>();

  constructor(files: GraphFiles, log: Log) {
    this.#files = files;
    this.#log = log;
  }

  /** Gives every large namespace its graph, from its file or a new one, and removes files without a namespace. */
  async start(namespaces: readonly PlacedNamespace[]): Promise<void> {
    const found = await this.#files.names();
    const namesOf = Map.groupBy(found, nameOfFirstPart);
    const kept = new Set<string>();
    for (const placed of namespaces) {
      if (!placed.namespace.isGraphWanted) continue;
      const names = namesOf.get(fileNameOf(placed, 0)) ?? [];
      const parts = names.map(partOf).filter((number) => number < PARTS_MAX);
      parts.sort((one, other) => one - other);
      await this.#load(placed, parts);
      for (const number of placed.namespace.graph?.parts.map((part) => part.number) ?? parts)
        kept.add(fileNameOf(placed, number));
    }
    for (const name of found) if (!kept.has(name)) await this.#remove(name);
  }

  /** Writes the graphs that changed enough, or `all` that changed; removes files of namespaces without a graph. */
  async save(namespaces: readonly PlacedNamespace[], { all }: { readonly all: boolean }): Promise<void> {
    const current = new Set<string>();
    for (const placed of namespaces)
      for (const part of placed.namespace.graph?.parts ?? []) {
        const name = fileNameOf(placed, part.number);
        current.add(name);
        await this.#save(name, part, { all });
      }
    for (const name of [...this.#saved.keys()]) if (!current.has(name)) await this.#remove(name);
  }

  async #load(placed: PlacedNamespace, parts: readonly number[]): Promise<void> {
    const { namespace } = placed;
    const loaded = new Set(parts);
    await namespace.startGraph({
      parts,
      read: (part) => this.#files.read(fileNameOf(placed, part)),
      refuse: (part, refusal) => {
        loaded.delete(part);
        const file = fileNameOf(placed, part);
        this.#log.warn("a graph file cannot be used, and its graph is built again", { file, refusal });
      },
    });
    for (const { number, graph, changeCount } of namespace.graph?.parts ?? [])
      if (loaded.has(number) && graph.pendingCount === 0)
        this.#saved.set(fileNameOf(placed, number), { graph, changeCount });
  }

  async #save(name: string, { graph, changeCount }: GraphPart, { all }: { readonly all: boolean }): Promise<void> {
    const saved = this.#saved.get(name);
    const newCount = saved?.graph === graph ? changeCount - saved.changeCount : Number.POSITIVE_INFINITY;
    if (newCount === 0 || (!all && newCount < graph.count * CHANGED_SHARE)) return;
    try {
      const bytes = await graph.save();
      if (bytes === undefined) return;
      await this.#files.write(name, bytes);
      this.#saved.set(name, { graph, changeCount });
    } catch (fault) {
      // The file is a cache: without it the next start only takes longer.
      this.#log.warn("a graph file cannot be written", { file: name, ...faultFields(fault) });
    }
  }

  async #remove(name: string): Promise<void> {
    this.#saved.delete(name);
    try {
      await this.#files.remove(name);
    } catch (fault) {
      this.#log.warn("a graph file cannot be removed", { file: name, ...faultFields(fault) });
    }
  }
}

/** The name of the file of a further part. */
const FURTHER_PART = /^(graph-\d+-\d+)-(\d+)$/;

function nameOfFirstPart(name: string): string {
  return FURTHER_PART.exec(name)?.[1] ?? name;
}

function partOf(name: string): number {
  return Number(FURTHER_PART.exec(name)?.[2] ?? 0);
}

/** The first part has the name that the only graph of a namespace has. */
function fileNameOf({ index, namespace }: PlacedNamespace, part: number): string {
  const name = `graph-${index}-${namespace.number}`;
  return part === 0 ? name : `${name}-${part}`;
}
