import assert from "node:assert/strict";
import { test } from "node:test";
import { replyTooLarge, StoppedUnit } from "../errors.ts";
import { BatchReplies, ReplyBudget } from "./budget.ts";
import { double } from "./reply.ts";

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

test("A-15: the replies of a transaction are at most as long as their limit in RESP", () => {
  const rows: [Parameters<BatchReplies["add"]>[0], number][] = [
    ["x".repeat(50), 66],
    [12, 32],
    [double(-1.5e-300), 32],
    [null, 16],
    [["a", "b"], 50],
  ];
  for (const [reply, bytes] of rows) {
    new BatchReplies(16 + bytes).add(reply);
    assert.throws(
      () => new BatchReplies(15 + bytes).add(reply),
      (error) => error instanceof StoppedUnit && error.reason === replyTooLarge,
    );
  }
});
