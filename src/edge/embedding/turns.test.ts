import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "./turns.ts";

const noSignal = new AbortController().signal;

test("turns are given in the order of coming, as many as there are", async () => {
  const turns = new Turns(2, 10);
  const order: string[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    void turns.take(noSignal)?.then((isMine) => order.push(`${name} ${isMine}`));
  }
  await Promise.resolve();
  assert.deepEqual(order, ["a true", "b true"]);

  turns.giveBack();
  await Promise.resolve();
  assert.deepEqual(order, ["a true", "b true", "c true"]);

  turns.giveBack();
  await Promise.resolve();
  assert.deepEqual(order, ["a true", "b true", "c true", "d true"]);
});

test("who gives up gets no turn and costs nobody one", async () => {
  const turns = new Turns(1, 10);
  await turns.take(noSignal);
  const giver = new AbortController();
  const given = turns.take(giver.signal);
  const next = turns.take(noSignal);

  giver.abort();
  assert.equal(await given, false);
  assert.equal(await turns.take(giver.signal), false);

  turns.giveBack();
  assert.equal(await next, true);
});

test("no more wait than may", async () => {
  const turns = new Turns(1, 1);
  await turns.take(noSignal);
  void turns.take(noSignal);
  assert.equal(turns.take(noSignal), undefined);
});
