"use strict";
/*
 * Loaded into the program with `--require` by tests of reports about slow
 * operations. The monotonic clock runs faster, so every operation seems slow.
 * Timers use real time.
 */
const FACTOR = 10_000;

const now = performance.now.bind(performance);
performance.now = () => FACTOR * now();
