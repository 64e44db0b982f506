/**
 * Features that only the tests of Redis need: DEBUG, and CONFIG SET of any name.
 * They exist over TCP, in a store that was started with `--redis-compat`.
 */

export class RedisCompat {
  /** False after DEBUG SET-ACTIVE-EXPIRE 0: expired keys stay until they are accessed. */
  isSweeping = true;
  /** Values that CONFIG SET has set for unknown or fixed parameters: only CONFIG GET reads them. */
  readonly parameters = new Map<string, string>();
  readonly #pause: (ms: number) => void;

  /** `pause` blocks the thread of the store, and so all its clients, for some time; tests pass another function. */
  constructor(pause = pauseThread) {
    this.#pause = pause;
  }

  pause(ms: number): void {
    this.#pause(ms);
  }
}

/**
 * Blocks this thread, and all its work, for some milliseconds. Only for DEBUG SLEEP, with which tests of Redis see
 * what happens while a server does not respond.
 */
export function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
