/** The limits of watched keys and of queued commands. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ok, startSession } from "../../../test/harness/store-harness.ts";
import type { Command } from "../command.ts";
import { transactionTooLarge, watchesTooMany } from "../errors.ts";
import { Transaction } from "./transaction.ts";

const limits = { queueBytesMax: 400, queueCountMax: 3, watchedKeysMax: 2 };

test("WATCH has a limit of keys, and a refused WATCH keeps the earlier ones", () => {
  const { database, expect } = startSession();
  const transaction = new Transaction(limits);
  transaction.watch(database, ["a", "b", "a"]);
  assert.throws(
    () => transaction.watch(database, ["b", "c"]),
    (thrown) => thrown === watchesTooMany,
  );
  assert.equal(transaction.watchedCount, 2);
  expect([["SET c v", ok]]);
  assert.equal(transaction.hasChanged, false);
  expect([["SET b v", ok]]);
  assert.equal(transaction.hasChanged, true);
});

test("WATCH may take the full number of keys again after UNWATCH", () => {
  const { database } = startSession();
  const transaction = new Transaction(limits);
  transaction.watch(database, ["a", "b"]);
  transaction.unwatch();
  transaction.watch(database, ["c", "d"]);
  assert.equal(transaction.watchedCount, 2);
});

test("the queue is limited in bytes, including names and words", () => {
  const { database } = startSession();
  const command = database.findCommand("ECHO") as Command;
  const transaction = new Transaction(limits);
  // 96 bytes, two words of 24, and 5 or 251 bytes of text.
  transaction.queue({ command, words: ["ECHO", "a"] });
  assert.throws(
    () => transaction.queue({ command, words: ["ECHO", "a".repeat(104)] }),
    (thrown) => thrown === transactionTooLarge,
  );
  assert.equal(transaction.queuedBytes, 149);
  transaction.queue({ command, words: ["ECHO", "a".repeat(103)] });
  assert.equal(transaction.queuedBytes, 400);
  assert.equal(transaction.queued.length, 2);
});

test("the queue is limited in commands", () => {
  const { database } = startSession();
  const command = database.findCommand("PING") as Command;
  const transaction = new Transaction({ ...limits, queueBytesMax: 10_000 });
  for (let count = 0; count < 3; count += 1) transaction.queue({ command, words: ["PING"] });
  assert.throws(() => transaction.queue({ command, words: ["PING"] }), {
    text: "ERR the transaction has more than 3 commands: split it",
  });
});
