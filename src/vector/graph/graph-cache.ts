/**
 * Graphs on disk. A graph file is a cache that saves the building at the next
 * start: all its contents follow from the records. It is written from time to
 * time and at a stop, read once, and checked before use. Missing records are
 * inserted, and a damaged file is ignored (threats B-06).
 *
 * A file's name has the numbers of its index and namespace, never their names.
 */
import type { Log } from "../../kernel/log.ts";
import { faultFields } from "../../kernel/log.ts";
import type { Namespace } from "../index/namespace.ts";

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

/** A graph is written again when this share of its records is new. */
const NEW_SHARE = 0.1;

export class GraphCache {
  readonly #files: GraphFiles;
  readonly #log: Log;
  /** By file name, the number of rows passed to the graph when the file was written or read. */
  readonly #savedAt = new Map<string, number>();

  constructor(files: GraphFiles, log: Log) {
    this.#files = files;
    this.#log = log;
  }

  /** Gives every large namespace its graph, from its file or a new one, and removes files without a namespace. */
  async start(namespaces: readonly PlacedNamespace[]): Promise<void> {
    const wanted = new Map(
      namespaces.filter(({ namespace }) => namespace.isGraphWanted).map((placed) => [fileNameOf(placed), placed]),
    );
    const found = new Set(await this.#files.names());
    for (const [name, { namespace }] of wanted) {
      const bytes = found.has(name) ? await this.#files.read(name) : undefined;
      const refusal = await namespace.startGraph(bytes);
      if (refusal !== undefined)
        this.#log.warn("a graph file cannot be used, and its graph is built again", { file: name, refusal });
      const isCurrent = bytes !== undefined && refusal === undefined && namespace.pendingCount === 0;
      if (isCurrent) this.#savedAt.set(name, namespace.graphInsertCount);
    }
    for (const name of found) if (!wanted.has(name)) await this.#remove(name);
  }

  /** Writes the graphs that changed enough, or `all` that changed; removes files of namespaces without a graph. */
  async save(namespaces: readonly PlacedNamespace[], { all }: { readonly all: boolean }): Promise<void> {
    const current = new Set<string>();
    for (const placed of namespaces) {
      const { graph, graphInsertCount } = placed.namespace;
      if (graph === undefined) continue;
      const name = fileNameOf(placed);
      current.add(name);
      const newCount = graphInsertCount - (this.#savedAt.get(name) ?? Number.NEGATIVE_INFINITY);
      if (newCount === 0 || (!all && newCount < graph.count * NEW_SHARE)) continue;
      try {
        const bytes = await graph.save();
        if (bytes === undefined) continue;
        await this.#files.write(name, bytes);
        this.#savedAt.set(name, graphInsertCount);
      } catch (fault) {
        // The file is a cache: without it the next start only takes longer.
        this.#log.warn("a graph file cannot be written", { file: name, ...faultFields(fault) });
      }
    }
    for (const name of [...this.#savedAt.keys()]) if (!current.has(name)) await this.#remove(name);
  }

  async #remove(name: string): Promise<void> {
    this.#savedAt.delete(name);
    try {
      await this.#files.remove(name);
    } catch (fault) {
      this.#log.warn("a graph file cannot be removed", { file: name, ...faultFields(fault) });
    }
  }
}

function fileNameOf({ index, namespace }: PlacedNamespace): string {
  return `graph-${index}-${namespace.number}`;
}
