/**
 * Limits the memory of calls with large bodies: their bytes under way are bounded
 * for all users together, and for one user by half of that. Bodies of callbacks may
 * be several times longer than messages, because they contain answers.
 *
 * (1) A single call may exceed the limit.
 * (2) Calls of one user start in order of arrival; when the common limit is
 *     reached, calls of all users do.
 */
import type { User } from "../state/user.ts";

/** Calls with shorter bodies start at once, and are not counted. */
export const LARGE_CALL_BYTES = 1024 * 1024;

interface Waiting {
  readonly user: User;
  readonly bytes: number;
  readonly start: () => void;
}

export class LargeCalls {
  readonly #bytesMax: number;
  #bytes = 0;
  readonly #bytesByUser = new Map<User, number>();
  #waiting: Waiting[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of calls under way. */
  get bytes(): number {
    return this.#bytes;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Calls `start` now or when the limits allow it. The caller calls `leave` afterwards. */
  enter(user: User, bytes: number, start: () => void): void {
    this.#waiting.push({ user, bytes, start });
    this.#startAll();
  }

  leave(user: User, bytes: number): void {
    this.#bytes -= bytes;
    const rest = (this.#bytesByUser.get(user) ?? 0) - bytes;
    if (rest > 0) this.#bytesByUser.set(user, rest);
    else this.#bytesByUser.delete(user);
    this.#startAll();
  }

  /** keeps (2) */
  #startAll(): void {
    const starting: Waiting[] = [];
    const held = new Set<User>();
    let isFull = false;
    this.#waiting = this.#waiting.filter((call) => {
      if (isFull || held.has(call.user)) return true;
      if (!this.#hasRoomOfUser(call.user, call.bytes)) {
        held.add(call.user);
        return true;
      }
      isFull = !this.#hasRoomOfAll(call.bytes);
      if (isFull) return true;
      this.#bytes += call.bytes;
      this.#bytesByUser.set(call.user, (this.#bytesByUser.get(call.user) ?? 0) + call.bytes);
      starting.push(call);
      return false;
    });
    for (const { start } of starting) start();
  }

  /** keeps (1) */
  #hasRoomOfAll(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#bytesMax;
  }

  /** keeps (1) */
  #hasRoomOfUser(user: User, bytes: number): boolean {
    const taken = this.#bytesByUser.get(user) ?? 0;
    return taken === 0 || taken + bytes <= this.#bytesMax / 2;
  }
}
