/** Faults of a vector index, planted in the plain index that random programs are run on. */
import type { IndexApi, RangePage } from "../../../src/vector/api.ts";
import type { NewRecord, RecordView, ScoredView } from "../../../src/vector/index/record.ts";
import { drawProgram } from "../vector/programs/draw-programs.ts";
import type { PlainIndex } from "../vector/programs/plain-index.ts";
import { plainSums } from "../vector/programs/plain-scores.ts";
import { PlainSubject, type PlantedFault } from "../vector/programs/plain-subject.ts";
import { runProgram } from "../vector/programs/run-program.ts";
import type { OpenSubject } from "../vector/programs/subject.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

export const vectorProgramBugs: PlantedBugs<PlantedFault> = {
  simulation: "programs of the vector index",
  run: async (seed, fault) => {
    const open: OpenSubject = (program, clock) => new PlainSubject(program, clock, fault);
    return (await runProgram(drawProgram(seed), { open }))?.text;
  },
  runsMax: 150,
  control: { bug: {}, runs: 30 },
  bugs: [
    {
      name: "a record put again moves to the end",
      breaks: "src/vector/index/insertion-order.ts",
      bug: methods((index) => ({
        upsert(namespace: string, records: readonly NewRecord[]) {
          const before = index.copy();
          index.upsert(namespace, records);
          if (before.recordsOf(namespace).length === 0) return;
          index.delete(namespace, { kind: "ids", ids: records.map(({ id }) => id) });
          index.upsert(namespace, records);
        },
      })),
      seed: 1,
      found: /^state of index \d+/,
    },
    {
      name: "a record put again keeps its old data",
      breaks: "src/vector/index/index-writes.ts",
      bug: methods((index) => ({
        upsert(namespace: string, records: readonly NewRecord[]) {
          const include = { metadata: false, vectors: false, data: true };
          const kept = index.fetch(namespace, { kind: "ids", ids: records.map(({ id }) => id) }, include);
          index.upsert(
            namespace,
            records.map((record, i) => ({ ...record, data: record.data ?? kept[i]?.data })),
          );
        },
      })),
      seed: 2,
      found: /^state of index \d+/,
    },
    {
      name: "the first of two records with one id wins",
      breaks: "src/vector/index/index-writes.ts",
      bug: methods((index) => ({
        upsert(namespace: string, records: readonly NewRecord[]) {
          index.upsert(namespace, records);
          index.upsert(namespace, records.toReversed());
        },
      })),
      seed: 1,
      found: /^state of index \d+/,
    },
    {
      name: "a refused batch is applied up to the fault",
      breaks: "src/vector/index/index-writes.ts",
      bug: methods((index) => ({
        upsert(namespace: string, records: readonly NewRecord[]) {
          for (const record of records) index.upsert(namespace, [record]);
        },
      })),
      seed: 1,
      found: /^state of index \d+/,
    },
    {
      name: "a patch overwrites",
      breaks: "src/vector/metadata/patch.ts",
      bug: methods((index) => ({
        update: (namespace, change) => index.update(namespace, { ...change, metadataUpdateMode: "OVERWRITE" }),
      })),
      seed: 5,
      found: /^line \d+/,
    },
    {
      name: "a page that ends at the last record names a next page",
      breaks: "src/vector/index/range-cursor.ts",
      bug: methods((index) => ({
        range(namespace, request): RangePage {
          const page = index.range(namespace, request);
          const isFull = page.nextCursor === "" && page.vectors.length === request.limit;
          return isFull ? { ...page, nextCursor: String(Number(request.cursor) + request.limit) } : page;
        },
      })),
      seed: 10,
      found: /engine: next\s+plain: +end/,
    },
    {
      name: "a filter is applied only to the best few",
      breaks: "src/vector/metadata/filter-matcher.ts",
      bug: methods((index) => ({
        query: (namespace, queries) =>
          queries.map((query) => {
            const [passing = []] = index.query(namespace, [query]);
            const [best = []] = index.query(namespace, [{ ...query, filter: "" }]);
            return passing.filter(({ id }) => best.some((other) => other.id === id));
          }),
      })),
      seed: 2,
      found: /^list \d+: line \d+/,
    },
    {
      name: "one answer too few",
      breaks: "src/vector/search/top-hits.ts",
      bug: changedAnswers((views) => views.slice(0, -1)),
      seed: 2,
      found: /engine: nothing/,
    },
    {
      name: "equal scores in the order of their ids",
      breaks: "src/vector/search/top-hits.ts",
      bug: changedAnswers((views) => views.toSorted(byScoreAndId)),
      seed: 2,
      found: /^list \d+: line \d+/,
    },
    {
      name: "scores are doubles",
      breaks: "src/vector/search/scored.ts",
      bug: changedAnswers((views) => views.map((view) => ({ ...view, score: view.score * (1 + Number.EPSILON) }))),
      seed: 2,
      found: /^list \d+: line \d+/,
    },
    {
      name: "parts that were not requested",
      breaks: "src/vector/index/index-queries.ts",
      bug: changedAnswers((views, index, namespace) => {
        const include = { metadata: true, vectors: true, data: true };
        const ids = views.map(({ id }) => id);
        const whole = index.fetch(namespace, { kind: "ids", ids }, include);
        return views.map(({ score }, i) => ({ ...(whole[i] as RecordView), score }));
      }),
      seed: 2,
      found: /^list \d+: line \d+/,
    },
    {
      name: "a resumed query repeats records put again",
      breaks: "src/vector/index/resumable-queries.ts",
      bug: methods((index) => {
        const returned = new Map<string, Set<string>>();
        return {
          resumableQuery(namespace, query, maxIdleSeconds) {
            const start = index.resumableQuery(namespace, query, maxIdleSeconds);
            returned.set(start.uuid, new Set(start.scores.slice(1).map(({ id }) => id)));
            return start;
          },
          resumableQueryNext: (uuid, additionalK) => {
            const scores = index.resumableQueryNext(uuid, additionalK);
            return scores.length === 0 && (returned.get(uuid)?.size ?? 0) > 0 ? [{ id: "again", score: 0 }] : scores;
          },
        };
      }),
      seed: 2,
      found: /engine: 0 "again"/,
    },
    {
      name: "a reset forgets the namespace",
      breaks: "src/vector/index/namespace.ts",
      bug: methods((index) => ({ reset: (name) => void (name && tryDrop(index, name)) })),
      seed: 6,
      found: /^state of index \d+/,
    },
    {
      name: "a rename keeps the records that it should replace",
      breaks: "src/vector/index/index-writes.ts",
      bug: methods((index) => ({
        renameNamespace: (namespace, change) => index.renameNamespace(namespace, { ...change, deletesExisting: false }),
      })),
      seed: 24,
      found: /it is refused: conflict/,
    },
    {
      name: "sums are taken in another order",
      breaks: "src/vector/rows/row-kernel.ts",
      bug: { sums: plainSums },
      seed: 7,
      found: /^list \d+: line \d+/,
    },
    {
      name: "a restart loses the last write",
      breaks: "src/vector/index/index-journal.ts",
      bug: { lostWrites: 1 },
      seed: 2,
      found: /records, dimension \d+/,
    },
  ],
};

function methods(plant: (index: PlainIndex) => Partial<IndexApi>): PlantedFault {
  return { methods: plant };
}

/** Any of the answers to a query, changed. */
function changedAnswers(
  change: (views: readonly ScoredView[], index: PlainIndex, namespace: string) => readonly ScoredView[],
): PlantedFault {
  return methods((index) => ({
    query: (namespace, queries) => index.query(namespace, queries).map((views) => change(views, index, namespace)),
  }));
}

function byScoreAndId(one: ScoredView, other: ScoredView): number {
  return other.score - one.score || (one.id < other.id ? -1 : 1);
}

function tryDrop(index: PlainIndex, name: string): void {
  if (index.namespaceNames().includes(name)) index.deleteNamespace(name);
}
