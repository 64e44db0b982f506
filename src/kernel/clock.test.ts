/** The real clock, in cases where Node's timers behave differently. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mock, test } from "node:test";
import { Worker } from "node:worker_threads";
import { machineClock, systemClock } from "./clock.ts";

/** The longest delay that Node's timers take. */
const TIMER_MS_MAX = 2 ** 31 - 1;

test("waits for a delay beyond the limit of Node's timers, and can cancel it", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const ran: string[] = [];
    systemClock.after(2 * TIMER_MS_MAX + 100, () => ran.push("kept"));
    const cancel = systemClock.after(2 * TIMER_MS_MAX + 100, () => ran.push("cancelled"));
    mock.timers.tick(TIMER_MS_MAX);
    cancel();
    mock.timers.tick(TIMER_MS_MAX);
    mock.timers.tick(99);
    assert.deepEqual(ran, []);
    mock.timers.tick(1);
    assert.deepEqual(ran, ["kept"]);
  } finally {
    mock.timers.reset();
  }
});

test("the clock of the machine has one origin in all threads", async () => {
  const source = `
    import { parentPort } from "node:worker_threads";
    const { machineClock } = await import(${JSON.stringify(new URL("./clock.ts", import.meta.url).href)});
    parentPort.postMessage(machineClock.monotonicMs());
  `;
  const beforeMs = machineClock.monotonicMs();
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  const [inThreadMs] = (await once(worker, "message")) as [number];
  assert.ok(inThreadMs > beforeMs && inThreadMs < machineClock.monotonicMs());
});
