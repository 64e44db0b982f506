/**
 * Repeats calls of a store that may succeed later.
 *
 * (1) Only `unavailable` is repeated, with growing pauses, for at most three minutes. Then the call fails with it.
 * (2) A new object whose answer was lost is not a name that another writer took: if the name is taken after an attempt
 *     that failed, the object there is compared with the content, and equal bytes are `stored`. So writers that must
 *     be told apart put something of their own into the content.
 * (3) A pause is at least what the store asks for with `Retry-After`, within the limit of (1).
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import { type ListedObject, type ObjectContent, type ObjectStore, ObjectStoreFailure } from "./object-store.ts";

/** The store is busy, and may have said for how long. */
export class ThrottledFailure extends ObjectStoreFailure {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super("unavailable", message);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface RetryingOptions {
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  readonly random: Random;
  /** Told before each pause. */
  readonly onRetry?: (failure: ObjectStoreFailure, pauseMs: number) => void;
  /** How long a call is repeated. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 3 * 60_000;
const PAUSE_MS_FIRST = 200;
const PAUSE_MS_MAX = 20_000;
/** Objects are compared in pieces of this length. */
const COMPARED_BYTES = 4 * 1024 * 1024;
/** Above this, a repeated call asks whether the name is taken before it sends everything again. */
const ASKED_BYTES_MIN = 1024 * 1024;

export class RetryingStore implements ObjectStore {
  readonly #store: ObjectStore;
  readonly #options: RetryingOptions;
  /** Ends each pause that is under way. */
  readonly #pauses = new Set<() => void>();
  #isClosed = false;

  constructor(store: ObjectStore, options: RetryingOptions) {
    this.#store = store;
    this.#options = options;
  }

  putNew(name: string, content: ObjectContent): Promise<"stored" | "exists"> {
    let isDoubtful = false;
    return this.#repeated(async () => {
      // keeps (2)
      if (isDoubtful && content.bytes >= ASKED_BYTES_MIN && (await this.#isThere(name)))
        return (await this.#isEqual(name, content)) ? "stored" : "exists";
      const wasDoubtful = isDoubtful;
      isDoubtful = true;
      const outcome = await this.#store.putNew(name, content);
      if (outcome === "exists" && wasDoubtful && (await this.#isEqual(name, content))) return "stored";
      return outcome;
    });
  }

  get(name: string, range: { readonly start: number; readonly end: number }): Promise<Buffer | undefined> {
    return this.#repeated(() => this.#store.get(name, range));
  }

  list(prefix: string, after?: string): Promise<readonly ListedObject[]> {
    return this.#repeated(() => this.#store.list(prefix, after));
  }

  remove(names: readonly string[]): Promise<void> {
    return this.#repeated(() => this.#store.remove(names));
  }

  /** Ends pauses: their calls fail with the failure before the pause. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const end of [...this.#pauses]) end();
    await this.#store.close();
  }

  async #isThere(name: string): Promise<boolean> {
    return (await this.#store.get(name, { start: 0, end: 1 })) !== undefined;
  }

  /** Rejects with `unavailable` if the store says that the name is taken and does not have the object yet. */
  async #isEqual(name: string, content: ObjectContent): Promise<boolean> {
    // One byte more than the content: a longer object is another one.
    for (let start = 0; start <= content.bytes; start += COMPARED_BYTES) {
      const end = Math.min(start + COMPARED_BYTES, content.bytes + 1);
      const there = await this.#store.get(name, { start, end });
      if (there === undefined)
        throw new ObjectStoreFailure("unavailable", `${name}: the name is taken, and the object cannot be read yet`);
      const own = start === content.bytes ? Buffer.alloc(0) : await content.read(start, Math.min(end, content.bytes));
      if (!there.equals(own)) return false;
    }
    return true;
  }

  async #repeated<Result>(call: () => Promise<Result>): Promise<Result> {
    const { clock, patienceMs = PATIENCE_MS } = this.#options;
    const endMs = clock.monotonicMs() + patienceMs;
    for (let failureCount = 1; ; failureCount += 1) {
      try {
        return await call();
      } catch (failure) {
        // keeps (1)
        if (!(failure instanceof ObjectStoreFailure) || failure.kind !== "unavailable" || this.#isClosed) throw failure;
        const pauseMs = this.#pauseMs(failure, failureCount);
        if (clock.monotonicMs() + pauseMs >= endMs) throw failure;
        this.#options.onRetry?.(failure, pauseMs);
        await this.#pause(pauseMs);
        if (this.#isClosed) throw failure;
      }
    }
  }

  /** Between a half and all of what doubles with each failure, so that many clients do not return at once. */
  #pauseMs(failure: ObjectStoreFailure, failureCount: number): number {
    const fullMs = Math.min(PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** Math.min(failureCount - 1, 16));
    const drawnMs = fullMs * (0.5 + this.#options.random.unit() / 2);
    // keeps (3)
    return Math.ceil(failure instanceof ThrottledFailure ? Math.max(drawnMs, failure.retryAfterMs) : drawnMs);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        this.#pauses.delete(end);
        resolve();
      };
      const cancel = this.#options.clock.after(ms, end);
      this.#pauses.add(end);
    });
  }
}
