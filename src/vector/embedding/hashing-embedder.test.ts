import assert from "node:assert/strict";
import { test } from "node:test";
import { HashingEmbedder } from "./hashing-embedder.ts";

async function cosine(first: string, second: string, dimension = 384): Promise<number> {
  const [a, b] = await new HashingEmbedder(dimension).embed([first, second]);
  assert.ok(a !== undefined && b !== undefined);
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}

test("the vector of any text has the dimension and the length 1", async () => {
  const texts = ["", " … ", "a", "Hello world", "東京", "\ud800", "word ".repeat(10_000)];
  for (const dimension of [1, 2, 8, 384, 1_536, 65_536]) {
    const vectors = await new HashingEmbedder(dimension).embed(texts);
    assert.equal(vectors.length, texts.length);
    for (const vector of vectors) {
      assert.equal(vector.length, dimension);
      const length = Math.hypot(...vector.filter((value) => value !== 0));
      assert.ok(Math.abs(length - 1) < 1e-6, `${length}`);
    }
  }
});

test("the vector of a text never changes", async () => {
  const [vector] = await new HashingEmbedder(8).embed(["Hello world"]);
  assert.deepEqual(
    [...(vector ?? [])].map((value) => value.toFixed(4)).join(" "),
    "-0.3536 0.3536 0.0000 0.3536 0.0000 0.0000 -0.7071 -0.3536",
  );
});

test("a text without words has the first unit vector", async () => {
  const [vector] = await new HashingEmbedder(3).embed([" … "]);
  assert.deepEqual(vector, Float32Array.of(1, 0, 0));
});

test("same words are nearest, then words that are spelled alike, then others", async () => {
  assert.ok((await cosine("Hello world", "WORLD, hello!")) > 0.999);
  const sameWord = await cosine("hello world", "hello there");
  const alike = await cosine("connected things", "connecting thing");
  const other = await cosine("vector databases", "hello");
  assert.ok(sameWord > 0.4 && alike > 0.4, `${sameWord} ${alike}`);
  assert.ok(Math.abs(other) < 0.2, `${other}`);
});

test("stop words weigh little", async () => {
  assert.ok((await cosine("the fox and the hound", "fox hound")) > 0.95);
});

test("an invalid dimension fails an assertion", () => {
  for (const dimension of [0, -1, 1.5, Number.NaN, 65_537])
    assert.throws(() => new HashingEmbedder(dimension), /a dimension is within bounds/);
});
