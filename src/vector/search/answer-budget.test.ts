import assert from "node:assert/strict";
import { test } from "node:test";
import { VectorFailure } from "../failure.ts";
import { AnswerBudget } from "./answer-budget.ts";

test("B-05: an answer takes records up to its bound in bytes", () => {
  const budget = new AnswerBudget(1_000);

  assert.equal(budget.take({ id: "a", data: "x".repeat(500) }), true);
  assert.equal(budget.take({ id: "b", data: "x".repeat(500) }), false);
});

test("a single record of any size is returned", () => {
  assert.equal(new AnswerBudget(10).take({ id: "a", data: "x".repeat(500) }), true);
});

test("vectors count by the length of their numbers as text", () => {
  const budget = new AnswerBudget(1_000);
  budget.spend({ id: "a", vector: new Float32Array(50) });

  assert.throws(
    () => budget.spend({ id: "b", vector: new Float32Array(50) }),
    (fault) => fault instanceof VectorFailure && fault.text.startsWith("The answer would be larger than 1000 bytes"),
  );
});
