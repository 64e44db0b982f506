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

  /** `pause` stops the thread of the store, and so everybody, for some time. */
  constructor(pause: (ms: number) => void) {
    this.#pause = pause;
  }

  pause(ms: number): void {
    this.#pause(ms);
  }
}
