import assert from "node:assert/strict";
import { test } from "node:test";
import { type LocalModelSettings, loadLocalModel } from "./local-model.ts";

const settings: LocalModelSettings = { directory: "/models/bge-m3/", pooling: "cls", precision: "q8" };

interface Tensor {
  dims: number[];
  data: Float32Array;
}

/** A stand-in for the package; `run` is its model. */
function packageWith(run: (texts: readonly string[]) => Tensor) {
  const calls: unknown[] = [];
  const env = { allowRemoteModels: true, allowLocalModels: false, localModelPath: "" };
  const pipeline = async (...words: unknown[]) => {
    calls.push(words);
    return async (texts: readonly string[], options: unknown) => {
      calls.push([texts.length, options]);
      return run(texts);
    };
  };
  return { calls, env, module: { env, pipeline } };
}

/** Text `n` is [n, 0]. */
const plain = (texts: readonly string[]): Tensor => ({
  dims: [texts.length, 2],
  data: Float32Array.from(texts.flatMap((text) => [Number(text), 0])),
});

test("loads a model only from its directory", async () => {
  const { calls, env, module } = packageWith(plain);

  const model = await loadLocalModel(settings, async () => module);
  await model.embed(["1"]);

  assert.deepEqual(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: "/models" });
  assert.deepEqual(calls, [
    ["feature-extraction", "bge-m3", { dtype: "q8" }],
    [1, { pooling: "cls", normalize: true }],
  ]);
});

test("runs sixteen texts at a time and returns their vectors in order", async () => {
  const { calls, module } = packageWith(plain);
  const model = await loadLocalModel(settings, async () => module);

  const vectors = await model.embed(Array.from({ length: 35 }, (_, index) => String(index)));

  assert.deepEqual(
    vectors.map((vector) => vector[0]),
    Array.from({ length: 35 }, (_, index) => index),
  );
  assert.deepEqual(
    calls.slice(1).map((call) => (call as [number])[0]),
    [16, 16, 3],
  );
});

const wrong: readonly (readonly [tensor: Tensor, message: RegExp])[] = [
  [{ dims: [1, 3, 2], data: new Float32Array(6) }, /a tensor of 1 x 3 x 2 for 1 texts/],
  [{ dims: [2, 2], data: new Float32Array(4) }, /a tensor of 2 x 2 for 1 texts/],
  [{ dims: [1, 0], data: new Float32Array(0) }, /a tensor of 1 x 0 for 1 texts/],
  [{ dims: [1, 2], data: Float32Array.of(1, Number.NaN) }, /not finite/],
];

for (const [tensor, message] of wrong) {
  test(`refused: ${message}`, async () => {
    const model = await loadLocalModel(settings, async () => packageWith(() => tensor).module);
    await assert.rejects(model.embed(["1"]), message);
  });
}

test("refuses a package without env and pipeline", async () => {
  await assert.rejects(
    loadLocalModel(settings, async () => ({ env: {} })),
    /does not export env and pipeline/,
  );
});
