import assert from "node:assert/strict";
import { test } from "node:test";
import { replyTooLarge } from "../errors.ts";
import { ReplyBudget } from "./budget.ts";

test("A-15: a budget takes elements until their bytes, and 16 for each of them, are used up", () => {
  const budget = new ReplyBudget(100);
  budget.take(34);
  budget.take(34);
  assert.throws(
    () => budget.take(0),
    (error) => error === replyTooLarge,
  );
});

test("A-15: so many elements as can never fit are refused before they are built", () => {
  const budget = new ReplyBudget(100);
  budget.expect(6);
  assert.throws(
    () => budget.expect(7),
    (error) => error === replyTooLarge,
  );
});
