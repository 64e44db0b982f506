/**
 * Stops this thread, and all that it would do, for some milliseconds. Nothing
 * that serves may call it: it is there for DEBUG SLEEP, which tests of Redis use
 * to see what happens while a server does not answer.
 */
export function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
