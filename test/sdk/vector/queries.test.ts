/** Scores to the last digit, filters and fusion. A float32 prints as its shortest decimal. */
import assert from "node:assert/strict";
import { FusionAlgorithm, type QueryResult, WeightingStrategy } from "@upstash/vector";
import { refusalOf, testMethods } from "./served.ts";

const wide = Array.from({ length: 384 }, (_, i) => (i * 211) % 385);

/** Three records whose sparse vectors overlap one by one. */
const chain = [
  { id: "id0", sparseVector: { indices: [0, 1], values: [0.1, 0.2] } },
  { id: "id1", sparseVector: { indices: [1, 2], values: [0.2, 0.3] }, metadata: { key: "value" } },
  { id: "id2", sparseVector: { indices: [2, 3], values: [0.3, 0.4] }, metadata: { key: "value" }, data: "data" },
];
const hybridChain = chain.map((record, i) => ({
  ...record,
  vector:
    [
      [0.1, 0.2],
      [0.2, 0.3],
      [0.3, 0.4],
    ][i] ?? [],
}));

function scoresOf(results: readonly QueryResult[]): readonly (readonly [unknown, number])[] {
  return results.map(({ id, score }) => [id, score]);
}

testMethods("Queries", [
  [
    ["query"],
    "the stored vector itself scores exactly 1, whatever its dimension",
    async (open) => {
      const index = open("wide");
      await index.upsert({ id: 33, vector: wide });

      assert.deepEqual(await index.query({ vector: wide, topK: 1, includeVectors: true }), [
        { id: "33", score: 1, vector: wide },
      ]);
      for (let start = 0; start < 50; start += 1) {
        const vector = wide.map((_, i) => Math.sin(start * 400 + i));
        await index.upsert({ id: start, vector });
        assert.deepEqual(scoresOf(await index.query({ vector, topK: 1 })), [[String(start), 1]]);
      }
    },
  ],
  [
    ["query"],
    "cosine: (1 + cos) / 2",
    async (open) => {
      const index = open();
      await index.upsert([
        { id: "a", vector: [1, 0] },
        { id: "b", vector: [0.6, 0.8] },
        { id: "c", vector: [0, 1] },
        { id: "d", vector: [-1, 0] },
      ]);

      const expected = [
        ["a", 1],
        ["b", 0.8],
        ["c", 0.5],
        ["d", 0],
      ];
      assert.deepEqual(scoresOf(await index.query({ vector: [1, 0], topK: 10 })), expected);
      assert.deepEqual(scoresOf(await index.query({ vector: [3, 0], topK: 10 })), expected);
      assert.deepEqual(scoresOf(await index.query({ vector: [0.1, 0.2], topK: 10 })), [
        ["b", 0.99193496],
        ["c", 0.9472136],
        ["a", 0.7236068],
        ["d", 0.2763932],
      ]);
    },
  ],
  [
    ["query"],
    "euclidean: 1 / (1 + d²)",
    async (open) => {
      const index = open("euclidean");
      await index.upsert([
        { id: "d", vector: [-1, 0] },
        { id: "c", vector: [0, 1] },
        { id: "b", vector: [0.6, 0.8] },
        { id: "a", vector: [1, 0] },
      ]);

      assert.deepEqual(scoresOf(await index.query({ vector: [1, 0], topK: 3 })), [
        ["a", 1],
        ["b", 0.5555556],
        ["c", 0.33333334],
      ]);
      assert.deepEqual(scoresOf(await index.query({ vector: [3, 0], topK: 10 })), [
        ["a", 0.2],
        ["b", 0.13513513],
        ["c", 0.09090909],
        ["d", 0.05882353],
      ]);
    },
  ],
  [
    ["query"],
    "dot product: (1 + dot) / 2, which is ranked before it is clamped to 0 and 1",
    async (open) => {
      const index = open("dotProduct");
      await index.upsert([
        { id: "b", vector: [0.6, 0.8] },
        { id: "c", vector: [0, 1] },
        { id: "a", vector: [1, 0] },
        { id: "d", vector: [-1, 0] },
      ]);

      assert.deepEqual(scoresOf(await index.query({ vector: [0.1, 0.2], topK: 10 })), [
        ["b", 0.61],
        ["c", 0.6],
        ["a", 0.55],
        ["d", 0.45],
      ]);
      assert.deepEqual(scoresOf(await index.query({ vector: [3, 0], topK: 10 })), [
        ["a", 1],
        ["b", 1],
        ["c", 0.5],
        ["d", 0],
      ]);
    },
  ],
  [
    ["query"],
    "B2.order: equal scores are in the order of the records, also with a filter",
    async (open) => {
      const index = open();
      await index.upsert([
        { id: "id1", vector: [0.1, 0.2], metadata: { foo: "bar" } },
        { id: "id2", vector: [0.1, 0.2], metadata: { foo: "nay" } },
        { id: "id3", vector: [0.2, 0.3], metadata: { foo: "bar" } },
      ]);
      const query = { vector: [0.1, 0.2], topK: 2, includeMetadata: true };

      assert.deepEqual(await index.query(query), [
        { id: "id1", score: 1, metadata: { foo: "bar" } },
        { id: "id2", score: 1, metadata: { foo: "nay" } },
      ]);
      assert.deepEqual(await index.query({ ...query, filter: "foo = 'bar'" }), [
        { id: "id1", score: 1, metadata: { foo: "bar" } },
        { id: "id3", score: 0.99613893, metadata: { foo: "bar" } },
      ]);
      assert.deepEqual(await index.query({ ...query, filter: "" }), await index.query(query));
    },
  ],
  [
    ["query"],
    "filters reach nested fields and elements, and topK is filled after them",
    async (open) => {
      const index = open("wide");
      const city = { city: "Istanbul", population: 1_546_000, geography: { continent: "Asia" } };
      await index.upsert([
        { id: "other", vector: wide, metadata: { population: 900_000, geography: { continent: "Asia" } } },
        { id: 34, vector: wide, metadata: city },
        { id: 1, vector: wide, metadata: { animal: "elephant", tags: ["mammal"], diet: "herbivore" } },
        { id: 2, vector: wide, metadata: { animal: "tiger", tags: ["mammal"], diet: "carnivore" } },
        { id: "bare", vector: wide },
      ]);
      const query = { vector: wide, topK: 1, includeMetadata: true };

      assert.deepEqual(
        await index.query({ ...query, filter: "population > 1000000 AND geography.continent = 'Asia'" }),
        [{ id: "34", score: 1, metadata: city }],
      );
      assert.deepEqual(await index.query({ ...query, filter: "tags[0] = 'mammal' AND diet = 'carnivore'" }), [
        { id: "2", score: 1, metadata: { animal: "tiger", tags: ["mammal"], diet: "carnivore" } },
      ]);
      assert.deepEqual(await index.query({ ...query, filter: "HAS NOT FIELD population AND HAS NOT FIELD tags" }), [
        { id: "bare", score: 1 },
      ]);
      assert.deepEqual(await index.query({ ...query, filter: "population > 2000000" }), []);
    },
  ],
  [
    ["query"],
    "a record shows its parts only if they are requested and present",
    async (open) => {
      const index = open();
      const whole = { id: "whole", vector: [0.1, 0.1], metadata: { country: "US" }, data: "Los Angeles" };
      await index.upsert([whole, { id: "bare", vector: [0.2, 0.1] }]);
      const query = { vector: [0.1, 0.1], topK: 2 };

      assert.deepEqual(
        await index.query({ ...query, includeVectors: true, includeMetadata: true, includeData: true }),
        [
          { ...whole, score: 1 },
          { id: "bare", score: 0.97434163, vector: [0.2, 0.1] },
        ],
      );
      assert.deepEqual(await index.query({ ...query, topK: 1, includeData: true }), [
        { id: "whole", score: 1, data: "Los Angeles" },
      ]);
      assert.deepEqual(await index.query({ ...query, topK: 1 }), [{ id: "whole", score: 1 }]);
    },
  ],
  [
    ["query"],
    "sparse: the inner product over shared indices; without shared indices there is no hit",
    async (open) => {
      const index = open("sparse");
      await index.upsert(chain);
      const sparseVector = { indices: [0, 1, 3], values: [0.1, 0.5, 0.1] };

      assert.deepEqual(scoresOf(await index.query({ sparseVector, topK: 5 })), [
        ["id0", 0.11],
        ["id1", 0.1],
        ["id2", 0.040000003],
      ]);
      assert.deepEqual(await index.query({ sparseVector, topK: 1, includeVectors: true, includeMetadata: true }), [
        { id: "id0", score: 0.11, sparseVector: { indices: [0, 1], values: [0.1, 0.2] } },
      ]);
      assert.deepEqual(await index.query({ sparseVector: { indices: [7], values: [1] }, topK: 5 }), []);
    },
  ],
  [
    ["query"],
    "IDF weights indices that are rare in the namespace",
    async (open) => {
      const index = open("sparse");
      await index.upsert(chain);
      await index.upsert(
        ["id0", "id1", "id2"].map((id, i) => ({ id, sparseVector: { indices: [i, i + 1], values: [0.1, 0.1] } })),
        { namespace: "even" },
      );
      const idf = { topK: 5, weightingStrategy: WeightingStrategy.IDF };

      const common = { sparseVector: { indices: [0, 1], values: [0.1, 0.2] }, ...idf };
      assert.deepEqual(scoresOf(await index.query(common)), [
        ["id0", 0.028608438],
        ["id1", 0.018800145],
      ]);
      const rare = { sparseVector: { indices: [0, 1, 3], values: [0.2, 0.1, 0.1] }, ...idf };
      assert.deepEqual(scoresOf(await index.query(rare, { namespace: "even" })), [
        ["id0", 0.024316622],
        ["id2", 0.009808293],
        ["id1", 0.0047000363],
      ]);
    },
  ],
  [
    ["query"],
    "a query of a hybrid index with one vector returns its scores, without fusion",
    async (open) => {
      const index = open("hybrid");
      await index.upsert(hybridChain);
      const { DBSF } = FusionAlgorithm;

      assert.deepEqual(scoresOf(await index.query({ vector: [0.1, 0.1], topK: 3, fusionAlgorithm: DBSF })), [
        ["id2", 0.9949748],
        ["id1", 0.99029034],
        ["id0", 0.97434163],
      ]);
      const sparseVector = { indices: [2, 3], values: [0.5, 0.5] };
      assert.deepEqual(scoresOf(await index.query({ sparseVector, topK: 3, fusionAlgorithm: DBSF })), [
        ["id2", 0.35000002],
        ["id1", 0.15],
      ]);
    },
  ],
  [
    ["query"],
    "DBSF: the distance from the mean, in standard deviations of the sample",
    async (open) => {
      const index = open("hybrid");
      await index.upsert(hybridChain);
      const fused = { vector: [0.1, 0.1], topK: 3, fusionAlgorithm: FusionAlgorithm.DBSF };

      assert.deepEqual(
        scoresOf(await index.query({ ...fused, sparseVector: { indices: [3, 4], values: [0.1, 0.2] } })),
        [
          ["id2", 1.1300322],
          ["id1", 0.5578543],
          ["id0", 0.31211674],
        ],
      );
    },
  ],
  [
    ["query"],
    "DBSF: a value far above the rest puts its record above the first by rank",
    async (open) => {
      const index = open("hybrid");
      const vectors = [
        [0.8, 0.9],
        [0.9, 0.9],
        [0.3, 0.9],
      ];
      await index.upsert(
        vectors.map((vector, i) => ({
          id: `id${i}`,
          vector,
          sparseVector: { indices: [i, i + 1], values: [0.1, 0.1] },
        })),
      );
      const query = { vector: [0.9, 0.9], sparseVector: { indices: [0, 1, 3], values: [0.1, 0.1, 100] }, topK: 10 };

      assert.deepEqual(scoresOf(await index.query({ ...query, fusionAlgorithm: FusionAlgorithm.DBSF })), [
        ["id1", 1.0022241],
        ["id2", 1.0000193],
        ["id0", 0.9977561],
      ]);
      assert.deepEqual(scoresOf(await index.query(query)), [
        ["id1", 0.032795697],
        ["id2", 0.032795697],
        ["id0", 0.032786883],
      ]);
    },
  ],
  [
    ["queryMany"],
    "each query of a batch has its own vectors, fusion and weights",
    async (open) => {
      const index = open("hybrid");
      await index.upsert(hybridChain, { namespace: "query-hybrid" });

      const lists = await index.queryMany(
        [
          {
            topK: 1,
            vector: [0.1, 0.1],
            sparseVector: { indices: [3, 4], values: [0.1, 0.2] },
            fusionAlgorithm: FusionAlgorithm.RRF,
          },
          {
            topK: 1,
            vector: [0.5, 0.1],
            sparseVector: { indices: [0, 1], values: [0.5, 0.1] },
            includeVectors: true,
          },
          {
            topK: 1,
            sparseVector: { indices: [2, 3], values: [0.5, 0.5] },
            weightingStrategy: WeightingStrategy.IDF,
            fusionAlgorithm: FusionAlgorithm.DBSF,
            includeMetadata: true,
          },
        ],
        { namespace: "query-hybrid" },
      );

      assert.deepEqual(lists, [
        [{ id: "id2", score: 0.033333335 }],
        [
          {
            id: "id0",
            score: 0.032795697,
            vector: [0.1, 0.2],
            sparseVector: { indices: [0, 1], values: [0.1, 0.2] },
          },
        ],
        [{ id: "id2", score: 0.26666638, metadata: { key: "value" } }],
      ]);
    },
  ],
  [
    ["queryMany"],
    "a batch of one is a list in a list, and one bad query refuses all",
    async (open) => {
      const index = open();
      await index.upsert([
        { id: "1", vector: [0.6, 0.3], metadata: { continent: "NA" } },
        { id: "2", vector: [0.2, 0.2], metadata: { continent: "EU" } },
      ]);
      const query = { vector: [0.2, 0.2], topK: 1 };

      assert.deepEqual(await index.queryMany([{ ...query, filter: "continent = 'NA'" }]), [
        [{ id: "1", score: 0.97434163 }],
      ]);
      assert.deepEqual(await index.queryMany([query, { ...query, topK: 2 }]), [
        [{ id: "2", score: 1 }],
        [
          { id: "2", score: 1 },
          { id: "1", score: 0.97434163 },
        ],
      ]);
      assert.equal(
        await refusalOf(index.queryMany([query, { vector: [1, 2, 3], topK: 1 }])),
        "Invalid vector dimension: 3, expected: 2",
      );
    },
  ],
]);
