/**
 * The sessions that are logged in to one database, and the pause that CLIENT
 * PAUSE imposes on them. It has no access to sessions of other databases.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { memoryBytesOf } from "./client-line.ts";
import type { Session } from "./session.ts";
import type { Pause, PauseKind, SessionFigures } from "./session-figures.ts";

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

  figures(): SessionFigures {
    const figures = { unreadBytesMax: 0, queuedBytesMax: 0, pausedCount: 0, subscribedCount: 0, watchingCount: 0 };
    const watchedKeys = new Set<Bytes>();
    for (const { peer, isPaused, listening, transaction } of this.#byId.values()) {
      figures.unreadBytesMax = Math.max(figures.unreadBytesMax, peer.unreadBytes);
      figures.queuedBytesMax = Math.max(figures.queuedBytesMax, peer.queuedBytes);
      if (isPaused) figures.pausedCount += 1;
      if (listening.count > 0) figures.subscribedCount += 1;
      if (transaction.watchedCount > 0) figures.watchingCount += 1;
      for (const key of transaction.watchedKeys) watchedKeys.add(key);
    }
    return { ...figures, watchedKeyCount: watchedKeys.size };
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

  /** The current pause, and how long it lasts. */
  get pause(): Pause | undefined {
    const pause = this.#pause;
    if (pause === undefined) return undefined;
    return { kind: pause.kind, leftMs: Math.ceil(Math.max(0, pause.untilMs - this.#clock.monotonicMs())) };
  }

  /** Begins a pause. Of two pauses the later end and the stricter kind apply, as in Redis. */
  startPause(kind: PauseKind, forMs: number): void {
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
