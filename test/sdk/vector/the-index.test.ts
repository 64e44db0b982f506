/** The description of an index, and operations on whole namespaces. */
import assert from "node:assert/strict";
import { refusalOf, testMethods } from "./served.ts";

testMethods("The index", [
  [
    ["info"],
    "an empty dense index is described",
    async (open) => {
      const { indexSize, ...info } = await open().info();

      assert.ok(Number.isInteger(indexSize) && indexSize >= 0);
      assert.deepEqual(info, {
        vectorCount: 0,
        pendingVectorCount: 0,
        dimension: 2,
        similarityFunction: "COSINE",
        indexType: "DENSE",
        denseIndex: { dimension: 2, similarityFunction: "COSINE", embeddingModel: "" },
        namespaces: { "": { vectorCount: 0, pendingVectorCount: 0 } },
      });
    },
  ],
  [
    ["info"],
    "sparse and hybrid indexes, and the names of models",
    async (open) => {
      const { indexSize: _, ...sparse } = await open("sparseTexts").info();
      assert.deepEqual(sparse, {
        vectorCount: 0,
        pendingVectorCount: 0,
        dimension: 0,
        similarityFunction: "",
        indexType: "SPARSE",
        sparseIndex: { embeddingModel: "BM25" },
        namespaces: { "": { vectorCount: 0, pendingVectorCount: 0 } },
      });
      const { denseIndex, sparseIndex, ...hybrid } = await open("hybridTexts").info();
      assert.deepEqual(denseIndex, { dimension: 384, similarityFunction: "COSINE", embeddingModel: "LETTERS" });
      assert.deepEqual(sparseIndex, { embeddingModel: "BM25" });
      assert.deepEqual(Reflect.get(hybrid, "indexType"), "HYBRID");
      assert.deepEqual((await open("hybrid").info()).sparseIndex, { embeddingModel: "" });
    },
  ],
  [
    ["info"],
    "records are counted at once, by namespace and together",
    async (open) => {
      const index = open();
      await index.upsert({ id: "foo", vector: [0, 1] });
      await index.upsert(
        [1, 2].map((id) => ({ id, vector: [id, 1] })),
        { namespace: "ns" },
      );
      await index.upsert({ id: "foo", vector: [1, 1] });

      const { vectorCount, pendingVectorCount, namespaces } = await index.info();

      assert.deepEqual([vectorCount, pendingVectorCount], [3, 0]);
      assert.deepEqual(namespaces, {
        "": { vectorCount: 1, pendingVectorCount: 0 },
        ns: { vectorCount: 2, pendingVectorCount: 0 },
      });
    },
  ],
  [
    ["listNamespaces", "reset", "info"],
    "a namespace exists from its first record on, and stays when it is reset",
    async (open) => {
      const index = open();
      assert.deepEqual(await index.listNamespaces(), [""]);
      await index.upsert({ id: 1, vector: [1, 1] }, { namespace: "ns" });

      assert.equal(await index.reset({ namespace: "ns" }), "Success");

      assert.deepEqual(await index.listNamespaces(), ["", "ns"]);
      assert.deepEqual((await index.info()).namespaces["ns"], { vectorCount: 0, pendingVectorCount: 0 });
    },
  ],
  [
    ["reset", "info"],
    "without a name the default namespace is reset, with all every namespace",
    async (open) => {
      const index = open();
      const counts = async () => Object.values((await index.info()).namespaces).map(({ vectorCount }) => vectorCount);
      await index.upsert({ id: 1, vector: [1, 1] });
      for (const namespace of ["a", "b"]) await index.upsert({ id: 1, vector: [1, 1] }, { namespace });

      assert.equal(await index.reset(), "Success");
      assert.deepEqual(await counts(), [0, 1, 1]);
      assert.deepEqual(await index.fetch(["1"]), [null]);

      assert.equal(await index.reset({ all: true }), "Success");
      assert.deepEqual(await counts(), [0, 0, 0]);
    },
  ],
  [
    ["reset", "listNamespaces"],
    "a missing namespace may be reset, which does not create it",
    async (open) => {
      const index = open();

      assert.equal(await index.reset({ namespace: "never-made" }), "Success");

      assert.deepEqual(await index.listNamespaces(), [""]);
    },
  ],
  [
    ["deleteNamespace", "listNamespaces"],
    "a namespace is deleted with its records",
    async (open) => {
      const index = open();
      await index.upsert({ id: 1, vector: [1, 1] }, { namespace: "ns" });

      assert.equal(await index.deleteNamespace("ns"), "Success");

      assert.deepEqual(await index.listNamespaces(), [""]);
      assert.deepEqual(await index.fetch(["1"], { namespace: "ns" }), [null]);
    },
  ],
  [
    ["deleteNamespace"],
    "neither a missing namespace nor the default one can be deleted",
    async (open) => {
      const index = open();

      assert.equal(
        await refusalOf(index.deleteNamespace("never-made")),
        "Namespace never-made for the index plain does not exist",
      );
      assert.equal(
        await refusalOf(index.deleteNamespace("")),
        'The default namespace, which is the empty string "", cannot be deleted.',
      );
    },
  ],
  [
    ["namespace"],
    "names are used unchanged",
    async (open) => {
      const index = open();
      const names = ["__proto__", "constructor", "a/b", "with space", "ünïcode-\u{1F600}", "~!$&'()*+,;=:@"];

      for (const [id, name] of names.entries()) await index.namespace(name).upsert({ id, vector: [id, 1] });

      assert.deepEqual(await index.listNamespaces(), ["", ...names]);
      for (const [id, name] of names.entries())
        assert.deepEqual(await index.namespace(name).fetch([id]), [{ id: String(id) }]);
      const { namespaces } = await index.info();
      assert.deepEqual(Object.keys(namespaces), ["", ...names]);
    },
  ],
]);
