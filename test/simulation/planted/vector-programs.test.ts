/**
 * The random programs of the vector index find faults: a plain index agrees
 * with itself, and each fault planted in it is found soon.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { IndexApi, RangePage } from "../../../src/vector/api.ts";
import type { NewRecord, RecordView, ScoredView } from "../../../src/vector/index/record.ts";
import { drawProgram } from "../vector/programs/draw-programs.ts";
import type { PlainIndex } from "../vector/programs/plain-index.ts";
import { plainSums } from "../vector/programs/plain-scores.ts";
import { PlainSubject, type PlantedFault } from "../vector/programs/plain-subject.ts";
import { runProgram } from "../vector/programs/run-program.ts";
import type { OpenSubject } from "../vector/programs/subject.ts";

/** Programs within which a fault must be found; most need only a few. */
const PROGRAMS_MAX = 150;

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

const faults: readonly (readonly [fault: string, planted: PlantedFault])[] = [
  [
    "a record put again moves to the end",
    methods((index) => ({
      upsert(namespace: string, records: readonly NewRecord[]) {
        const before = index.copy();
        index.upsert(namespace, records);
        if (before.recordsOf(namespace).length === 0) return;
        index.delete(namespace, { kind: "ids", ids: records.map(({ id }) => id) });
        index.upsert(namespace, records);
      },
    })),
  ],
  [
    "a record put again keeps its old data",
    methods((index) => ({
      upsert(namespace: string, records: readonly NewRecord[]) {
        const include = { metadata: false, vectors: false, data: true };
        const kept = index.fetch(namespace, { kind: "ids", ids: records.map(({ id }) => id) }, include);
        index.upsert(
          namespace,
          records.map((record, i) => ({ ...record, data: record.data ?? kept[i]?.data })),
        );
      },
    })),
  ],
  [
    "the first of two records with one id wins",
    methods((index) => ({
      upsert(namespace: string, records: readonly NewRecord[]) {
        index.upsert(namespace, records);
        index.upsert(namespace, records.toReversed());
      },
    })),
  ],
  [
    "a refused batch is applied up to the fault",
    methods((index) => ({
      upsert(namespace: string, records: readonly NewRecord[]) {
        for (const record of records) index.upsert(namespace, [record]);
      },
    })),
  ],
  [
    "a patch overwrites",
    methods((index) => ({
      update: (namespace, change) => index.update(namespace, { ...change, metadataUpdateMode: "OVERWRITE" }),
    })),
  ],
  [
    "a page that ends at the last record names a next page",
    methods((index) => ({
      range(namespace, request): RangePage {
        const page = index.range(namespace, request);
        const isFull = page.nextCursor === "" && page.vectors.length === request.limit;
        return isFull ? { ...page, nextCursor: String(Number(request.cursor) + request.limit) } : page;
      },
    })),
  ],
  [
    "a filter is applied only to the best few",
    methods((index) => ({
      query: (namespace, queries) =>
        queries.map((query) => {
          const [passing = []] = index.query(namespace, [query]);
          const [best = []] = index.query(namespace, [{ ...query, filter: "" }]);
          return passing.filter(({ id }) => best.some((other) => other.id === id));
        }),
    })),
  ],
  ["one answer too few", changedAnswers((views) => views.slice(0, -1))],
  ["equal scores in the order of their ids", changedAnswers((views) => views.toSorted(byScoreAndId))],
  [
    "scores are doubles",
    changedAnswers((views) => views.map((view) => ({ ...view, score: view.score * (1 + Number.EPSILON) }))),
  ],
  [
    "parts that were not requested",
    changedAnswers((views, index, namespace) => {
      const include = { metadata: true, vectors: true, data: true };
      const ids = views.map(({ id }) => id);
      const whole = index.fetch(namespace, { kind: "ids", ids }, include);
      return views.map(({ score }, i) => ({ ...(whole[i] as RecordView), score }));
    }),
  ],
  [
    "a resumed query repeats records put again",
    methods((index) => {
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
  ],
  ["a reset forgets the namespace", methods((index) => ({ reset: (name) => void (name && tryDrop(index, name)) }))],
  [
    "a rename keeps the records that it should replace",
    methods((index) => ({
      renameNamespace: (namespace, change) => index.renameNamespace(namespace, { ...change, deletesExisting: false }),
    })),
  ],
  ["sums are taken in another order", { sums: plainSums }],
  ["a restart loses the last write", { lostWrites: 1 }],
];

function byScoreAndId(one: ScoredView, other: ScoredView): number {
  return other.score - one.score || (one.id < other.id ? -1 : 1);
}

function tryDrop(index: PlainIndex, name: string): void {
  if (index.namespaceNames().includes(name)) index.deleteNamespace(name);
}

test("a plain index agrees with itself", async () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const failure = await runProgram(drawProgram(seed), { open: (program, clock) => new PlainSubject(program, clock) });
    assert.equal(failure, undefined, `seed ${seed}`);
  }
});

for (const [fault, planted] of faults) {
  test(`found: ${fault}`, async (context) => {
    let seed = 1;
    while (seed <= PROGRAMS_MAX && !(await isFound(planted, seed))) seed += 1;
    context.diagnostic(`after ${seed} programs`);
    assert.ok(seed <= PROGRAMS_MAX, "no program found it");
  });
}

async function isFound(planted: PlantedFault, seed: number): Promise<boolean> {
  const open: OpenSubject = (program, clock) => new PlainSubject(program, clock, planted);
  return (await runProgram(drawProgram(seed), { open })) !== undefined;
}
