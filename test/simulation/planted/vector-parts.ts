/** Bugs of graphs in parts, planted between a namespace, its parts and their files. */
import type { GraphHits, NamespaceGraph } from "../../../src/vector/graph/graph.ts";
import type { PartedGraph } from "../../../src/vector/graph-parts/parted-graph.ts";
import { type PartsPlant, runPartsWorld } from "../vector/parts-world.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

const FIRST_FILE = "graph-1-0";

export const graphPartBugs: PlantedBugs<PartsPlant> = {
  simulation: "graphs in parts",
  run: async (seed, plant) => (await runPartsWorld(seed, plant)).fault,
  runsMax: 20,
  control: { bug: {}, runs: 10 },
  bugs: [
    {
      name: "a part is not searched",
      breaks: "src/vector/search/graph-walk.ts",
      bug: { graph: (graph) => changeSecond(graph, { search: () => NO_HITS, kernel: undefined }) },
      seed: 1,
      found: /\(1\) \d+ hits instead of|\(2\) walks find/,
    },
    {
      name: "the pending records of a part are not scanned",
      breaks: "src/vector/search/graph-walk.ts",
      bug: { graph: (graph) => changeSecond(graph, { pending: [] }) },
      seed: 1,
      found: /\(3\)/,
    },
    {
      name: "a record that moves stays in the part that it leaves",
      breaks: "src/vector/graph-parts/parted-graph.ts",
      bug: { graph: withoutRemovals },
      seed: 1,
      found: /\(4\) part \d+ has \d+ records/,
    },
    {
      name: "the file of a part is loaded for another part",
      breaks: "src/vector/graph/graph-cache.ts",
      bug: {
        files: (files) => {
          const read = files.read.bind(files);
          files.read = () => read(FIRST_FILE);
        },
      },
      seed: 1,
      found: /\(5\) \d+ records are pending/,
    },
  ],
};

const NO_HITS: GraphHits = {
  records: new Uint32Array(0),
  distances: new Float32Array(0),
  count: 0,
  visits: 0,
  isComplete: true,
};

/** Changes members of the graph of the second part, when it has begun. */
function changeSecond({ parts }: PartedGraph, members: Partial<Record<keyof NamespaceGraph, unknown>>): void {
  const [, second] = parts;
  if (second === undefined || Object.hasOwn(second.graph, "isChanged")) return;
  const graph = second.graph;
  const changed = new Proxy(graph, {
    get(target, name): unknown {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  Object.defineProperty(graph, "isChanged", { value: true });
  Object.defineProperty(second, "graph", { value: changed });
}

/** Only the first part hears of the removal of records in its graph. */
function withoutRemovals(graph: PartedGraph): void {
  for (const part of graph.parts.slice(1)) {
    const remove = part.graph.remove.bind(part.graph);
    part.remove = (record) => {
      if (part.graph.isPending(record)) remove(record);
    };
  }
}
