/**
 * The sessions that are logged in to one database, and the pause that CLIENT
 * PAUSE imposes on them. It has no access to sessions of other databases.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { memoryBytesOf } from "./client-line.ts";
import type { Session } from "./session.ts";

/** What a pause delays: every command, or those that may change something. */
export type PauseKind = "all" | "write";

export class Sessions {
  readonly #clock: Clock;
  readonly #byId = new Map<number, Session>();
  #pause: { readonly kind: PauseKind; readonly untilMs: number } | undefined;
  #cancelPauseEnd = (): void => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#byId.size;
  }

  /** Memory of all sessions: pending requests and replies, and queued commands. */
  get memoryBytes(): number {
    let bytes = 0;
    for (const session of this.#byId.values()) bytes += memoryBytesOf(session);
    return bytes;
  }

  /** In the order of login. */
  all(): Iterable<Session> {
    return this.#byId.values();
  }

  find(id: number): Session | undefined {
    return this.#byId.get(id);
  }

  /** Called by a session only, when it logs in and leaves. */
  enter(session: Session): void {
    this.#byId.set(session.id, session);
    if (this.#byId.size === 1) this.#awaitPauseEnd();
  }

  leave(session: Session): void {
    this.#byId.delete(session.id);
    // No session is paused, so no timer has to keep the process alive.
    if (this.#byId.size === 0) this.#cancelPauseEnd();
  }

  /** The database was dropped. */
  killAll(): void {
    this.#cancelPauseEnd();
    for (const session of [...this.#byId.values()]) session.kill();
  }

  /** The rights of these users changed, or they were deleted. `changedBy`: the session that did it. */
  usersChanged(names: readonly Bytes[], changedBy: Session | undefined): void {
    for (const session of [...this.#byId.values()])
      if (names.includes(session.user.name)) session.userChanged({ isOwnChange: session === changedBy });
  }

  get pauseKind(): PauseKind | undefined {
    return this.#pause?.kind;
  }

  /** Begins a pause. Of two pauses the later end and the stricter kind apply, as in Redis. */
  pause(kind: PauseKind, forMs: number): void {
    const untilMs = Math.max(this.#clock.monotonicMs() + forMs, this.#pause?.untilMs ?? 0);
    this.#pause = { kind: this.#pause?.kind === "all" ? "all" : kind, untilMs };
    this.#awaitPauseEnd();
    for (const session of this.#byId.values()) session.pauseChanged();
  }

  /** Ends the pause. */
  unpause(): void {
    this.#cancelPauseEnd();
    this.#pause = undefined;
    for (const session of [...this.#byId.values()]) session.pauseChanged();
  }

  #awaitPauseEnd(): void {
    const pause = this.#pause;
    this.#cancelPauseEnd();
    if (pause === undefined) return;
    const leftMs = Math.max(0, pause.untilMs - this.#clock.monotonicMs());
    this.#cancelPauseEnd = this.#clock.after(leftMs, () => this.unpause());
  }
}
