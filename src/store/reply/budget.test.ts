import assert from "node:assert/strict";
import { test } from "node:test";
import { replyTooLarge } from "../errors.ts";
import { ReplyBudget } from "./budget.ts";

test("A-15: a budget accepts elements until their bytes, plus 16 for each, are used up", () => {
  const budget = new ReplyBudget(100);
  budget.take(34);
  budget.take(34);
  assert.throws(
    () => budget.take(0),
    (error) => error === replyTooLarge,
  );
});

test("A-15: a number of elements that can never fit is refused before they are built", () => {
  const budget = new ReplyBudget(100);
  budget.expect(6);
  assert.throws(
    () => budget.expect(7),
    (error) => error === replyTooLarge,
  );
});
