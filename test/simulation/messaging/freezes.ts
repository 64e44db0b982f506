/**
 * Users whose data moves to another shard, seen from outside. A move ends on
 * another server or is undone; here each is undone, or lasts over a crash or a stop.
 *
 * (1) From its begin on no attempt of the user starts, and no request changes
 *     anything: each is refused with the reason.
 * (2) When the engine says that the user stands still, no frame of it is written
 *     until the move has ended, and no call of it has an outcome. What was under
 *     way is given up then, and is called again afterwards.
 */
import { OWNER_MOVES } from "../../../src/kernel/journal.ts";
import { check } from "./violation.ts";

export const REFUSED = `Requests cannot be accepted now: ${OWNER_MOVES}`;

/** How long calls of a user that moves may last. */
export const CALL_MS_MAX = 5_000;

interface Move {
  /** Since it began. */
  readonly spentMs: () => number;
  isStill: boolean;
}

export class Freezes {
  /** By number in this life. */
  readonly #users = new Map<number, Move>();
  /** A move outlives the server. */
  readonly names = new Set<string>();

  begin({ number, name }: { readonly number: number; readonly name: string }, passedMs: () => number): void {
    const startMs = passedMs();
    this.names.add(name);
    this.#users.set(number, { spentMs: () => passedMs() - startMs, isStill: false });
  }

  standsStill(number: number, calls: Iterable<{ readonly user: number; readonly sequence: number }>): void {
    for (const { user, sequence } of calls)
      check(user !== number, () => `The call of ${sequence} is under way, but its user stands still`);
    const move = this.#users.get(number);
    if (move !== undefined) move.isStill = true;
  }

  /** What was under way when the move began may have been given up. */
  isCallTooLong(number: number): boolean {
    return (this.#users.get(number)?.spentMs() ?? 0) >= CALL_MS_MAX;
  }

  /** The move is undone, or the user was removed. */
  end({ number, name }: { readonly number: number; readonly name: string }): void {
    this.names.delete(name);
    this.#users.delete(number);
  }

  /** A server starts. */
  recovered(): void {
    this.#users.clear();
  }

  isMoving(number: number): boolean {
    return this.#users.has(number);
  }

  /** A frame of a user is written. keeps (2) */
  appended(number: number, position: number): void {
    check(
      this.#users.get(number)?.isStill !== true,
      () => `Frame ${position} is of user ${number}, which stands still`,
    );
  }

  /** keeps (1) */
  started(number: number, sequence: number): void {
    check(!this.isMoving(number), () => `Message ${sequence} starts while its user moves`);
  }
}
