/**
 * The sessions that are logged in to one database, and the pause that CLIENT
 * PAUSE imposes on them. Nobody else's sessions are seen from here.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { memoryBytesOf } from "./client-line.ts";
import type { Session } from "./session.ts";

/** What waits while it lasts: every command, or those that may change something. */
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

  /** What all of them take: requests and replies under way, and queued commands. */
  get memoryBytes(): number {
    let bytes = 0;
    for (const session of this.#byId.values()) bytes += memoryBytesOf(session);
    return bytes;
  }

  /** In the order in which they logged in. */
  all(): Iterable<Session> {
    return this.#byId.values();
  }

  find(id: number): Session | undefined {
    return this.#byId.get(id);
  }

  /** For a session alone, as it logs in and leaves. */
  enter(session: Session): void {
    this.#byId.set(session.id, session);
    if (this.#byId.size === 1) this.#awaitPauseEnd();
  }

  leave(session: Session): void {
    this.#byId.delete(session.id);
    // Nobody is held up, so no timer has to keep the process alive.
    if (this.#byId.size === 0) this.#cancelPauseEnd();
  }

  /** The database has gone. */
  killAll(): void {
    this.#cancelPauseEnd();
    for (const session of [...this.#byId.values()]) session.kill();
  }

  /** The rights of these users are others now, or there are no such users any more. One of the sessions has asked for it. */
  usersChanged(names: readonly Bytes[], asking: Session | undefined): void {
    for (const session of [...this.#byId.values()])
      if (names.includes(session.user.name)) session.userChanged({ isAsking: session === asking });
  }

  get pauseKind(): PauseKind | undefined {
    return this.#pause?.kind;
  }

  /** Lets commands wait from now on. Of two pauses the later end counts, and the stricter kind, as in Redis. */
  pause(kind: PauseKind, forMs: number): void {
    const untilMs = Math.max(this.#clock.monotonicMs() + forMs, this.#pause?.untilMs ?? 0);
    this.#pause = { kind: this.#pause?.kind === "all" ? "all" : kind, untilMs };
    this.#awaitPauseEnd();
    for (const session of this.#byId.values()) session.pauseChanged();
  }

  /** Lets everybody go on. */
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
