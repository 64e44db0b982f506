import assert from "node:assert/strict";
import { test } from "node:test";
import { plainFloat32Text } from "../../kernel/float32/text.virtual.ts";
import { fuse, fusionAlgorithms } from "./fusion.ts";
import type { ScoredRecord } from "./scored.ts";

type List = readonly (readonly [record: number, score: number])[];

const byRecord = (record: number): number => record;

function listOf(list: List): ScoredRecord[] {
  return list.map(([record, score]) => ({ record, score: Math.fround(score) }));
}

/** Scores with the fewest digits that identify a float32, as in answers. */
function fused(name: "RRF" | "DBSF", dense: List, sparse: List, count = 10): [number, number][] {
  return fuse(name, listOf(dense), listOf(sparse), { count, order: byRecord }).map(({ record, score }) => {
    assert.equal(score, Math.fround(score));
    return [record, Number(plainFloat32Text(score))];
  });
}

const table: readonly [string, "RRF" | "DBSF", List, List, List][] = [
  ["RRF: first in both lists", "RRF", [[7, 0.9]], [[7, 12]], [[7, 0.033333335]]],
  [
    "RRF: ranks 0 and 2",
    "RRF",
    [
      [1, 0.9],
      [2, 0.8],
      [3, 0.7],
    ],
    [[3, 5]],
    [
      [3, 0.032795697],
      [1, 0.016666668],
      [2, 0.016393442],
    ],
  ],
  [
    "RRF: what the scores are does not matter",
    "RRF",
    [
      [1, 0],
      [2, -5],
    ],
    [],
    [
      [1, 0.016666668],
      [2, 0.016393442],
    ],
  ],
  [
    "DBSF: two hits",
    "DBSF",
    [
      [1, 0.9],
      [2, 0.2],
    ],
    [],
    [
      [1, 0.61785114],
      [2, 0.38214886],
    ],
  ],
  ["DBSF: one hit is in the middle", "DBSF", [[1, 0.9]], [], [[1, 0.5]]],
  ["DBSF: one hit in each list", "DBSF", [[1, 0.9]], [[1, 3]], [[1, 1]]],
  [
    "DBSF: equal scores are in the middle, also when their mean is not their value in float32",
    "DBSF",
    [
      [1, 0.1],
      [2, 0.1],
      [3, 0.1],
    ],
    [[3, 0.2]],
    [
      [3, 1],
      [1, 0.5],
      [2, 0.5],
    ],
  ],
  [
    "DBSF: scores whose squares are no float32 are in the middle",
    "DBSF",
    [
      [1, 3e38],
      [2, -3e38],
    ],
    [],
    [
      [1, 0.5],
      [2, 0.5],
    ],
  ],
  [
    "DBSF: the sums of two lists",
    "DBSF",
    [
      [1, 1],
      [2, 0.5],
      [3, 0],
    ],
    [
      [3, 4],
      [1, 2],
      [4, 0],
    ],
    [
      [1, 1.1666667],
      [3, 1],
      [2, 0.5],
      [4, 0.33333334],
    ],
  ],
  ["nothing and nothing is nothing", "DBSF", [], [], []],
  ["nothing and nothing is nothing", "RRF", [], [], []],
];

for (const [name, algorithm, dense, sparse, wanted] of table)
  test(name, () => {
    assert.deepEqual(fused(algorithm, dense, sparse), wanted);
  });

test("equal sums are in insertion order, and the count cuts after that", () => {
  const dense: List = [
    [9, 0.9],
    [4, 0.8],
  ];
  const sparse: List = [
    [4, 2],
    [9, 1],
  ];
  assert.deepEqual(
    fused("RRF", dense, sparse, 1).map(([record]) => record),
    [4],
  );
  const [first] = fuse("RRF", listOf(dense), listOf(sparse), { count: 1, order: (record) => -record });
  assert.equal(first?.record, 9);
});

test("every algorithm has a row", () => {
  assert.deepEqual(
    fusionAlgorithms.map(({ name }) => name),
    ["RRF", "DBSF"],
  );
});
