/** The real clock, in cases where Node's timers behave differently. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { systemClock } from "./clock.ts";

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
