/**
 * What the tests of Redis ask of a server besides its commands, and what nobody
 * else should: DEBUG, and CONFIG SET of whatever name. It exists over TCP, in a
 * store that was started with `--redis-compat`.
 */

export class RedisCompat {
  /** False while DEBUG SET-ACTIVE-EXPIRE 0 holds: what is expired stays until somebody asks for it. */
  isSweeping = true;
  /** What CONFIG SET was told for parameters that are facts here, or nothing: only CONFIG GET knows of it. */
  readonly parameters = new Map<string, string>();
  readonly #pause: (ms: number) => void;

  /** `pause` stops the thread of the store, and so everybody, for some time; tests give another one. */
  constructor(pause = pauseThread) {
    this.#pause = pause;
  }

  pause(ms: number): void {
    this.#pause(ms);
  }
}

/**
 * Stops this thread for some milliseconds, and everything that it would do. Nothing that serves may call it: it is there for
 * DEBUG SLEEP, by which tests of Redis see what happens while a server does not answer.
 */
export function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
