/**
 * Memory for calls with large bodies: so many bytes of them are under way at
 * once, all users together, and of one user half. What was answered to a message
 * may be several times longer than messages are, and comes back as the body of
 * its callbacks.
 *
 * (1) A call that is alone may be longer than all of it.
 * (2) Calls of one user start in the order in which they came, and where the
 *     room of all is full, those of all users.
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
  readonly #ofUsers = new Map<User, number>();
  #waiting: Waiting[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Of calls under way. */
  get bytes(): number {
    return this.#bytes;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Calls `start` now or when there is room. The caller calls `leave` afterwards. */
  enter(user: User, bytes: number, start: () => void): void {
    this.#waiting.push({ user, bytes, start });
    this.#startAll();
  }

  leave(user: User, bytes: number): void {
    this.#bytes -= bytes;
    const rest = (this.#ofUsers.get(user) ?? 0) - bytes;
    if (rest > 0) this.#ofUsers.set(user, rest);
    else this.#ofUsers.delete(user);
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
      this.#ofUsers.set(call.user, (this.#ofUsers.get(call.user) ?? 0) + call.bytes);
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
    const taken = this.#ofUsers.get(user) ?? 0;
    return taken === 0 || taken + bytes <= this.#bytesMax / 2;
  }
}
