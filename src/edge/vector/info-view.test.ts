import assert from "node:assert/strict";
import { test } from "node:test";
import type { IndexDefinition } from "../../vector/mod.ts";
import { infoView } from "./info-view.ts";

const hybrid: IndexDefinition = {
  type: "HYBRID",
  dimension: 3,
  similarity: "EUCLIDEAN",
  denseModel: "BGE_M3",
  sparseModel: "BM25",
};

function shown(definition: IndexDefinition, names: readonly string[] = [""]): unknown {
  const namespaces = names.map((name) => ({ name, vectorCount: 2, pendingVectorCount: 1 }));
  const info = { vectorCount: 4, pendingVectorCount: 1, indexSize: 99, definition, namespaces };
  return JSON.parse(JSON.stringify(infoView(info)));
}

test("B3: a HYBRID index has both parts", () => {
  assert.deepEqual(shown(hybrid), {
    vectorCount: 4,
    pendingVectorCount: 1,
    indexSize: 99,
    dimension: 3,
    similarityFunction: "EUCLIDEAN",
    indexType: "HYBRID",
    denseIndex: { dimension: 3, similarityFunction: "EUCLIDEAN", embeddingModel: "BGE_M3" },
    sparseIndex: { embeddingModel: "BM25" },
    namespaces: { "": { vectorCount: 2, pendingVectorCount: 1 } },
  });
});

test("B3: a DENSE index without a model and without a dimension", () => {
  const definition = { ...hybrid, type: "DENSE", dimension: undefined, denseModel: undefined, sparseModel: undefined };
  assert.deepEqual(shown(definition as IndexDefinition), {
    vectorCount: 4,
    pendingVectorCount: 1,
    indexSize: 99,
    dimension: 0,
    similarityFunction: "EUCLIDEAN",
    indexType: "DENSE",
    denseIndex: { dimension: 0, similarityFunction: "EUCLIDEAN", embeddingModel: "" },
    namespaces: { "": { vectorCount: 2, pendingVectorCount: 1 } },
  });
});

test("B3: a SPARSE index has no dimension and no similarity", () => {
  assert.deepEqual(shown({ ...hybrid, type: "SPARSE", denseModel: undefined, sparseModel: undefined }), {
    vectorCount: 4,
    pendingVectorCount: 1,
    indexSize: 99,
    dimension: 0,
    similarityFunction: "",
    indexType: "SPARSE",
    sparseIndex: { embeddingModel: "" },
    namespaces: { "": { vectorCount: 2, pendingVectorCount: 1 } },
  });
});

test("A-11: any name of a namespace is data", () => {
  const names = ["", "__proto__", "constructor", "toString", "hasOwnProperty", "1", "a/b", "\u0000", "Ä"];
  const { namespaces } = shown(hybrid, names) as { namespaces: Record<string, unknown> };
  assert.deepEqual(Object.keys(namespaces).sort(), [...names].sort());
  for (const name of names) {
    assert.deepEqual(Object.getOwnPropertyDescriptor(namespaces, name)?.value, {
      vectorCount: 2,
      pendingVectorCount: 1,
    });
  }
});

test("B3.recall: an index with a graph shows its target and what was measured", () => {
  const recall = {
    target: 0.99,
    measured: [
      {
        number: 4,
        namespace: "__proto__",
        topK: "11-100",
        filter: "none",
        recall: 0.912345,
        lowerBound: 0.9,
        recordCount: 200,
        queryCount: 64,
        effort: 4_000,
        scanShare: 0,
        isReached: false,
      },
    ],
  };
  const info = { vectorCount: 0, pendingVectorCount: 0, indexSize: 0, definition: hybrid, namespaces: [], recall };
  assert.deepEqual(infoView(info)["recall"], {
    target: 0.99,
    measured: [
      {
        namespace: "__proto__",
        topK: "11-100",
        filter: "none",
        recall: 0.9123,
        lowerBound: 0.9,
        recordCount: 200,
        queryCount: 64,
        effort: 4_000,
        scanShare: 0,
        targetReached: false,
      },
    ],
  });
});
