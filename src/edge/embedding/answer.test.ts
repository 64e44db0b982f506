import assert from "node:assert/strict";
import { test } from "node:test";
import { answerBytesMax, parseAnswer, type WrongAnswer } from "./answer.ts";

const two = { count: 2, dimension: 2 };

test("returns vectors in the order of their index, or of the list without indices", () => {
  const indexed = '{"data":[{"index":1,"embedding":[0.5,1]},{"index":0,"embedding":[-2,0.1]}],"model":"m"}';
  assert.deepEqual(parseAnswer(Buffer.from(indexed), two), [new Float32Array([-2, 0.1]), new Float32Array([0.5, 1])]);
  const plain = '{"data":[{"embedding":[1,2]},{"embedding":[3,4]}]}';
  assert.deepEqual(parseAnswer(Buffer.from(plain), two), [new Float32Array([1, 2]), new Float32Array([3, 4])]);
});

test("an unknown dimension is that of all vectors", () => {
  const body = '{"data":[{"embedding":[1,2,3]}]}';
  assert.deepEqual(parseAnswer(Buffer.from(body), { count: 1, dimension: undefined }), [new Float32Array([1, 2, 3])]);
});

test("the limit of an answer depends on its numbers", () => {
  assert.equal(answerBytesMax({ count: 64, dimension: 1_024 }), 2_228_224);
  const numbers = Array.from({ length: 1_024 }, () => -1.2345678901234568e-5);
  const body = JSON.stringify({ data: [{ object: "embedding", index: 0, embedding: numbers }] }, undefined, 1);
  assert.ok(body.length < answerBytesMax({ count: 1, dimension: 1_024 }));
});

const wrong: readonly (readonly [body: string, text: string])[] = [
  ["<html>", "answered something that is not JSON"],
  ["[]", 'answered JSON without a list "data"'],
  ['{"data":{}}', 'answered JSON without a list "data"'],
  ['{"data":[{"embedding":[1,2]}]}', "answered 1 embeddings for 2 texts"],
  [
    '{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}',
    "answered embeddings with an invalid or repeated index",
  ],
  [
    '{"data":[{"index":0,"embedding":[1,2]},{"index":2,"embedding":[1,2]}]}',
    "answered embeddings with an invalid or repeated index",
  ],
  [
    '{"data":[{"index":"0","embedding":[1,2]},{"index":1,"embedding":[1,2]}]}',
    "answered embeddings with an invalid or repeated index",
  ],
  ['{"data":[{"embedding":[1,2,3]},{"embedding":[1,2]}]}', "answered a vector of 3 dimensions instead of 2"],
  ['{"data":[{"embedding":"AAAA"},{}]}', 'answered an item whose "embedding" is not a list of numbers'],
  ['{"data":[null,7]}', 'answered an item whose "embedding" is not a list of numbers'],
  ['{"data":[{"embedding":[1,"2"]},{}]}', 'answered an "embedding" with a value that is not a number'],
  ['{"data":[{"embedding":[1,null]},{}]}', 'answered an "embedding" with a value that is not a number'],
  ['{"data":[{"embedding":[1,1e39]},{}]}', "answered a number beyond the range of float32"],
];

for (const [body, text] of wrong) {
  test(`refused: ${body}`, () => {
    assert.throws(
      () => parseAnswer(Buffer.from(body), two),
      (failure: WrongAnswer) => failure.text === text,
    );
  });
}

test("refuses vectors of different dimensions if none is known", () => {
  assert.throws(
    () =>
      parseAnswer(Buffer.from('{"data":[{"embedding":[1,2,3]},{"embedding":[1,2]}]}'), {
        count: 2,
        dimension: undefined,
      }),
    (failure: WrongAnswer) => failure.text === "answered a vector of 2 dimensions instead of 3",
  );
});
