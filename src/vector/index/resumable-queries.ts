/**
 * Resumable queries of one index (B.resumable): the query and the ids that were
 * returned. They are in memory and expire when they are idle.
 *
 * (1) Each has a handle that cannot be guessed and was never used before.
 * (2) There are at most `countMax`; a further one is refused, and none is
 *     evicted.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { VectorQuery } from "../api.ts";
import { notFound, VectorFailure } from "../failure.ts";
import type { Filter } from "../filter/filter.ts";

export interface ResumableQuery {
  readonly namespace: string;
  readonly query: VectorQuery;
  readonly filter: Filter;
  readonly maxIdleMs: number;
  /** Ids that were returned. */
  readonly answered: Set<string>;
  /** Settles when its running call has ended. */
  running: Promise<void> | undefined;
}

interface StoredQuery {
  readonly query: ResumableQuery;
  expiresAtMs: number;
}

/** The most ids that are remembered for one query. */
const ANSWERED_MAX = 1_000_000;

export class ResumableQueries {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #newHandle: () => string;
  readonly #countMax: number;
  readonly #stored = new Map<string, StoredQuery>();

  constructor(options: { clock: Pick<Clock, "monotonicMs">; newHandle: () => string; countMax: number }) {
    this.#clock = options.clock;
    this.#newHandle = options.newHandle;
    this.#countMax = options.countMax;
  }

  /** Throws a `VectorFailure` if there are too many: keeps (2). Call it before the first search. */
  checkRoom(): void {
    this.#dropIdle();
    if (this.#stored.size >= this.#countMax)
      throw new VectorFailure(
        "too many requests",
        `Too many resumable queries: end one first, or wait until one expires. Limit: ${this.#countMax}`,
      );
  }

  /** Stores a query and returns its handle. */
  add(query: ResumableQuery): string {
    const handle = this.#newHandle();
    this.#stored.set(handle, { query, expiresAtMs: this.#clock.monotonicMs() + query.maxIdleMs });
    return handle;
  }

  /** The query of a handle, which counts as used now. Throws a `VectorFailure` if it does not exist. */
  use(handle: string): ResumableQuery {
    this.#dropIdle();
    const stored = this.#stored.get(handle);
    if (stored === undefined) throw unknown;
    stored.expiresAtMs = this.#clock.monotonicMs() + stored.query.maxIdleMs;
    if (stored.query.answered.size > ANSWERED_MAX)
      throw new VectorFailure("too many requests", `A resumable query answers at most ${ANSWERED_MAX} vectors`);
    return stored.query;
  }

  /** Ends a query. Throws a `VectorFailure` if it does not exist. */
  end(handle: string): void {
    this.#dropIdle();
    if (!this.#stored.delete(handle)) throw unknown;
  }

  #dropIdle(): void {
    const nowMs = this.#clock.monotonicMs();
    // Their idle times differ, so all are examined; there are few.
    for (const [handle, { expiresAtMs }] of this.#stored) if (expiresAtMs <= nowMs) this.#stored.delete(handle);
  }
}

const unknown = notFound("The resumable query does not exist: it was ended, or was idle for too long");
