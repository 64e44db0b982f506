/** Texts in an index without a model, for which another model stands in, beside vectors of clients. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "../../../test/harness/at-once.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { seededRandom } from "../../kernel/random.ts";
import { STAND_IN_DIMENSION } from "../embedding/embedders.ts";
import { HashingEmbedder } from "../embedding/hashing-embedder.ts";
import { defaultVectorLimits } from "../limits.ts";
import { VectorEngine } from "./vector-engine.ts";
import type { VectorIndex } from "./vector-index.ts";

function newIndex(): VectorIndex {
  const engine = new VectorEngine({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs: undefined,
    newHandle: () => "handle",
  });
  return engine.define(
    "docs",
    { type: "DENSE", dimension: undefined, similarity: "COSINE", denseModel: undefined, sparseModel: undefined },
    {
      dense: new HashingEmbedder(() => engine.index("docs")?.definition.dimension ?? STAND_IN_DIMENSION),
      sparse: undefined,
      isStandIn: true,
    },
  );
}

/** The vector of a record. */
function vectorOf(index: VectorIndex, id: string): readonly number[] {
  const include = { vectors: true, metadata: false, data: false };
  const [record] = atOnce(index.fetch("", { kind: "ids", ids: [id] }, include));
  return [...(record?.vector ?? [])];
}

test("the first text fixes the dimension of an index, and an upsert of another one names the remedy", async () => {
  const index = newIndex();
  await index.upsertData("", [{ id: "a", data: "hello world" }]);
  assert.equal(index.definition.dimension, 384);
  const text =
    "Invalid vector dimension: 3, expected: 384. The index got this dimension from its first text: define it with dimension 3, or upsert a vector before the first text";
  assert.throws(() => index.upsert("", [{ id: "b", vector: new Float32Array([1, 0, 0]) }]), { text });
  assert.throws(
    () => index.update("", { id: "a", vector: new Float32Array([1, 0, 0]), metadataUpdateMode: "OVERWRITE" }),
    { text },
  );
});

test("texts after a vector have the dimension of the vector", async () => {
  const index = newIndex();
  index.upsert("", [{ id: "a", vector: new Float32Array([1, 0, 0]) }]);
  await index.upsertData("", [{ id: "b", data: "hello" }]);
  assert.equal(vectorOf(index, "b").length, 3);
  assert.throws(() => index.upsert("", [{ id: "c", vector: new Float32Array([1, 0]) }]), {
    text: "Invalid vector dimension: 2, expected: 3",
  });
});

test("a change of the text replaces only a vector that was made from the text before", async () => {
  const index = newIndex();
  index.upsert("", [
    { id: "with text", vector: new Float32Array([1, 0, 0]), data: "of a client" },
    { id: "without", vector: new Float32Array([0, 1, 0]) },
  ]);
  await index.upsertData("", [{ id: "made", data: "hello" }]);
  const made = vectorOf(index, "made");

  for (const id of ["with text", "without", "made"])
    assert.equal(await index.update("", { id, data: "something quite different", metadataUpdateMode: "OVERWRITE" }), 1);

  assert.deepEqual(vectorOf(index, "with text"), [1, 0, 0]);
  assert.deepEqual(vectorOf(index, "without"), [0, 1, 0]);
  assert.notDeepEqual(vectorOf(index, "made"), made);
});
