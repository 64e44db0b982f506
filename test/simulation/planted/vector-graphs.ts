/** Bugs of graphs and of their files, planted between a namespace and its graph. */
import type { Eventually } from "../../../src/vector/api.ts";
import type { GraphBuilder, LoadedGraph, NamespaceGraph } from "../../../src/vector/graph/graph.ts";
import { checksumOf } from "../../../src/vector/graph/graph-file.ts";
import { findBelieved } from "../vector/damaged-graph-files.ts";
import { GraphWorld, MemoryFiles } from "../vector/graph-world.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

const FILE = "graph-1-0";
const SAMPLE = 100;

/** Fills a namespace with a bug in it, and resolves with what the checks of graphs find. */
type GraphCheck = () => Promise<string | undefined>;

export const graphBugs: PlantedBugs<GraphCheck> = {
  simulation: "graphs of the vector index",
  run: (_seed, check) => check(),
  runsMax: 1,
  bugs: [
    {
      name: "an update keeps the old row in the graph",
      breaks: "src/vector/graph/graph-writer.ts",
      bug: async () => {
        const world = new GraphWorld((builder) => new ChangedBuilder(builder, keepingOldRows));
        await world.fill();
        await world.write();
        const faults = world.faults(SAMPLE);
        world.close();
        return faults.length === 0 ? undefined : faults.join("\n");
      },
      seed: 1,
      found: /r-\d+ is found as/,
    },
    {
      name: "a graph file is trusted without its checksum",
      breaks: "src/vector/graph/graph-file.ts",
      bug: async () => {
        const world = new GraphWorld();
        await world.fill();
        const files = new MemoryFiles();
        await world.save(files);
        const trusting = new ChangedBuilder(world.builder, (graph) => graph);
        trusting.seen = withFittingChecksum;
        const believed = findBelieved(trusting, world, files.files.get(FILE) as Uint8Array);
        world.close();
        return believed;
      },
      seed: 1,
      found: / at \d+$/,
    },
  ],
};

/** A builder whose graphs behave differently, or that sees other file contents. */
class ChangedBuilder implements GraphBuilder {
  readonly #builder: GraphBuilder;
  readonly #change: (graph: NamespaceGraph) => NamespaceGraph;
  seen = (bytes: Uint8Array): Uint8Array => bytes;

  constructor(builder: GraphBuilder, change: (graph: NamespaceGraph) => NamespaceGraph) {
    this.#builder = builder;
    this.#change = change;
  }

  open(options: Parameters<GraphBuilder["open"]>[0]): NamespaceGraph {
    return this.#change(this.#builder.open(options));
  }

  load(...[options, bytes, records]: Parameters<GraphBuilder["load"]>): Eventually<LoadedGraph> {
    return this.#builder.load(options, this.seen(bytes), records);
  }

  close(): Promise<void> {
    return this.#builder.close();
  }
}

function keepingOldRows(graph: NamespaceGraph): NamespaceGraph {
  const known = new Set<number>();
  return new Proxy(graph, {
    get(target, name): unknown {
      if (name === "insert") {
        return (record: number, version: number): void => {
          if (!known.has(record)) target.insert(record, version);
          known.add(record);
        };
      }
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function withFittingChecksum(bytes: Uint8Array): Uint8Array {
  if (bytes.length % 4 !== 0) return bytes;
  const words = new Uint32Array(bytes.slice().buffer);
  words[words.length - 1] = checksumOf(words.subarray(0, -1), 0);
  return new Uint8Array(words.buffer);
}
