/**
 * Sessions of people who have logged in to the console with the admin token.
 *
 * (1) The table has the SHA-256 of a session's id. The id, 256 random bits, is only
 *     in the cookie of the browser. Nothing is on disk, so every session ends with
 *     the process; the admin token changes only at a start.
 * (2) A session ends after `IDLE_MS_MAX` without a request, at a logout, and when
 *     it is the least recently used of more than `SESSIONS_MAX`. Its streams end
 *     with it: at once, or when an expired session has its next event.
 * (3) There are no timers: expired sessions are removed when one is opened or found.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../kernel/clock.ts";
import { secretBytes } from "../../../kernel/random.ts";

export const SESSION_COOKIE = "larder_console";
export const IDLE_MS_MAX = 12 * 3_600_000;
export const SESSIONS_MAX = 100;
const SECRET_BYTES = 32;

export class ConsoleSession {
  /** The token that a page sends in a header with each change. */
  readonly csrf: string = newSecret();
  readonly #enders = new Set<() => void>();
  usedAtMs: number;
  isEnded = false;

  constructor(nowMs: number) {
    this.usedAtMs = nowMs;
  }

  /** Calls `end` when the session ends. The returned function forgets it. */
  onEnd(end: () => void): () => void {
    this.#enders.add(end);
    return () => void this.#enders.delete(end);
  }

  end(): void {
    this.isEnded = true;
    for (const end of [...this.#enders]) end();
    this.#enders.clear();
  }
}

export class ConsoleSessions {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By the digest of the id; the least recently used first. */
  readonly #sessions = new Map<string, ConsoleSession>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  get count(): number {
    this.#removeExpired();
    return this.#sessions.size;
  }

  /** The id of a new session, for its cookie. keeps (1), (2) */
  open(): { readonly id: string; readonly session: ConsoleSession } {
    this.#removeExpired();
    for (const [digest, session] of this.#sessions) {
      if (this.#sessions.size < SESSIONS_MAX) break;
      this.#remove(digest, session);
    }
    const id = newSecret();
    const session = new ConsoleSession(this.#clock.monotonicMs());
    this.#sessions.set(digestOf(id), session);
    return { id, session };
  }

  /** The session of a Cookie header, which is in use from now on for `IDLE_MS_MAX`. */
  find(cookies: string | undefined): ConsoleSession | undefined {
    const id = cookies === undefined ? undefined : sessionIdIn(cookies);
    if (id === undefined) return undefined;
    this.#removeExpired();
    const digest = digestOf(id);
    const session = this.#sessions.get(digest);
    if (session === undefined) return undefined;
    session.usedAtMs = this.#clock.monotonicMs();
    this.#sessions.delete(digest);
    this.#sessions.set(digest, session);
    return session;
  }

  /** Whether a session that was found before has neither ended nor expired. */
  isAlive(session: ConsoleSession): boolean {
    if (!session.isEnded && this.#isExpired(session)) this.#removeExpired();
    return !session.isEnded;
  }

  /** A logout. */
  end(session: ConsoleSession): void {
    for (const [digest, each] of this.#sessions) if (each === session) this.#remove(digest, session);
  }

  /** The admin token is no longer valid. */
  endAll(): void {
    for (const [digest, session] of this.#sessions) this.#remove(digest, session);
  }

  #isExpired({ usedAtMs }: ConsoleSession): boolean {
    return this.#clock.monotonicMs() - usedAtMs >= IDLE_MS_MAX;
  }

  /** keeps (3) */
  #removeExpired(): void {
    for (const [digest, session] of this.#sessions) {
      if (!this.#isExpired(session)) return;
      this.#remove(digest, session);
    }
  }

  #remove(digest: string, session: ConsoleSession): void {
    this.#sessions.delete(digest);
    session.end();
  }
}

/** The cookie of a session; an empty `id` removes it. */
export function sessionCookie(id: string, { isSecure }: { readonly isSecure: boolean }): string {
  const attributes = `Path=/console; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
  return `${SESSION_COOKIE}=${id}; ${attributes}; Max-Age=${id === "" ? 0 : IDLE_MS_MAX / 1_000}`;
}

/** Compares two secrets in constant time. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));
}

export function newSecret(): string {
  return secretBytes(SECRET_BYTES).toString("base64url");
}

/** The value of the first cookie of our name. */
function sessionIdIn(cookies: string): string | undefined {
  for (const cookie of cookies.split(";")) {
    const [name, value] = cookie.split("=", 2);
    if (name?.trim() === SESSION_COOKIE) return value?.trim();
  }
  return undefined;
}

function digestOf(id: string): string {
  return hash("sha256", id, "base64");
}
