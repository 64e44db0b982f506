/** The real clock, where Node's timers would do something else. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { systemClock } from "./clock.ts";

/** The longest delay that Node's timers take. */
const TIMER_MS_MAX = 2 ** 31 - 1;

test("a delay longer than Node's timers can wait is waited for, and can be cancelled on the way", () => {
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
