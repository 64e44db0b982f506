/** Bugs of measuring the recall, planted in the source of chance, the rows and the efforts of a namespace. */
import type { Random } from "../../../src/kernel/random.ts";
import type { RowStore } from "../../../src/vector/rows/row-store.ts";
import { NEW_FROM, RECORDS, RecallWorld } from "../vector/recall-world.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

const MEASURED_MS = 20_000;
const ASKED = 60;
const CHECKED = 60;
const TARGET = 0.95;
/** More than chance makes of CHECKED queries. */
const DIFFERENCE_MAX = 0.04;

interface Bug {
  readonly random?: (random: Random) => Random;
  readonly plant?: (world: RecallWorld) => void;
}

/** Measures, and compares what is reported with what clients get. */
async function faultOf({ random, plant }: Bug): Promise<string | undefined> {
  // The graph is bad for old records, which are most of them and have no new ones near them.
  const missed = (record: number): number => (record < NEW_FROM ? 20 : 0);
  const world = new RecallWorld({ missed, hitsMax: 130, ...(random && { random }) });
  await world.fill(TARGET);
  plant?.(world);
  for (const topK of [10, 100]) world.ask(ASKED, { topK });
  await world.measure(MEASURED_MS);
  const exact = world.recallOf(CHECKED, { topK: 10, effort: "exact" });
  const recalls = [world.recallOf(CHECKED, { topK: 10 }), world.recallOf(CHECKED, { topK: 100 })] as const;
  const reports = [world.report("1-10"), world.report("11-100")] as const;
  world.close();
  if (exact < 1) return `an exact search has a recall of ${exact}`;
  for (const [i, topK] of [10, 100].entries()) {
    const report = reports[i];
    const recall = recalls[i] as number;
    if (report === undefined) return `topK ${topK} is not reported`;
    if (report.isReached && recall < TARGET - DIFFERENCE_MAX)
      return `topK ${topK} is reported with a recall of ${report.recall}, but it is ${recall}`;
  }
  return undefined;
}

export const recallBugs: PlantedBugs<Bug> = {
  simulation: "recall of the vector index",
  run: (_seed, bug) => faultOf(bug),
  runsMax: 1,
  control: { bug: {}, runs: 1 },
  bugs: [
    {
      name: "the sample sees only new records",
      breaks: "src/vector/recall/recall-round.ts",
      bug: {
        random: (random) => ({
          unit: () => random.unit(),
          below: (bound) => (bound === RECORDS ? NEW_FROM + random.below(RECORDS - NEW_FROM) : random.below(bound)),
        }),
        // Queries would show what the records do not.
        plant: ({ namespace: { recall } }) => {
          if (recall !== undefined) recall.queriesOf = () => [];
        },
      },
      seed: 1,
      found: /^topK 10 is reported with a recall of/,
    },
    {
      name: "a scan stops early",
      breaks: "src/vector/rows/exact-scan.ts",
      bug: {
        plant: ({ namespace }) => {
          const { rows } = namespace;
          if (rows !== undefined) Object.defineProperty(namespace, "rows", { value: endingEarly(rows) });
        },
      },
      seed: 1,
      found: /^an exact search has a recall of/,
    },
    {
      name: "the effort grows for one range of topK only",
      breaks: "src/vector/recall/namespace-recall.ts",
      bug: {
        plant: ({ namespace: { recall } }) => {
          if (recall === undefined) return;
          const { settle, raise } = recall;
          recall.settle = (_number, ...others) => settle.call(recall, 0, ...others);
          recall.raise = (_number, ...others) => raise.call(recall, 0, ...others);
        },
      },
      seed: 1,
      found: /^topK 100 is not reported$/,
    },
  ],
};

/** Rows that have no block after the first half of the records. */
function endingEarly(rows: RowStore): RowStore {
  return new Proxy(rows, {
    get(target, name): unknown {
      if (name === "findBlock")
        return (record: number) => (record < RECORDS / 2 ? target.findBlock(record) : undefined);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
