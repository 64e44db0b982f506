import assert from "node:assert/strict";
import { test } from "node:test";
import { Semaphore } from "./semaphore.ts";

const noSignal = new AbortController().signal;

test("gives permits in the order of arrival, up to the limit", async () => {
  const semaphore = new Semaphore(2, 10);
  const order: string[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    void semaphore.acquire(noSignal)?.then((isAcquired) => order.push(`${name} ${isAcquired}`));
  }
  await Promise.resolve();
  assert.deepEqual(order, ["a true", "b true"]);

  semaphore.release();
  await Promise.resolve();
  assert.deepEqual(order, ["a true", "b true", "c true"]);

  semaphore.release();
  await Promise.resolve();
  assert.deepEqual(order, ["a true", "b true", "c true", "d true"]);
});

test("an aborted waiter gets no permit and costs no other waiter one", async () => {
  const semaphore = new Semaphore(1, 10);
  await semaphore.acquire(noSignal);
  const aborting = new AbortController();
  const aborted = semaphore.acquire(aborting.signal);
  const next = semaphore.acquire(noSignal);

  aborting.abort();
  assert.equal(await aborted, false);
  assert.equal(await semaphore.acquire(aborting.signal), false);

  semaphore.release();
  assert.equal(await next, true);
});

test("limits the waiters", async () => {
  const semaphore = new Semaphore(1, 1);
  await semaphore.acquire(noSignal);
  void semaphore.acquire(noSignal);
  assert.equal(semaphore.acquire(noSignal), undefined);
});
