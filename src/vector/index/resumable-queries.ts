/**
 * Resumable queries of one index (B.resumable): what was asked and
 * which ids were answered. They live in memory and end by themselves when
 * nobody goes on with them.
 *
 * (1) Each has a handle that nobody can guess and that was never used before.
 * (2) There are at most `countMax`; a new one is refused then, and none is
 *     pushed out.
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
  /** Ids that were answered. */
  readonly answered: Set<string>;
  /** Settles when the call that is under way for it has ended. */
  running: Promise<void> | undefined;
}

interface Kept {
  readonly query: ResumableQuery;
  expiresAtMs: number;
}

/** Together they may remember so many ids of one query. */
const ANSWERED_MAX = 1_000_000;

export class ResumableQueries {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #newHandle: () => string;
  readonly #countMax: number;
  readonly #kept = new Map<string, Kept>();

  constructor(options: { clock: Pick<Clock, "monotonicMs">; newHandle: () => string; countMax: number }) {
    this.#clock = options.clock;
    this.#newHandle = options.newHandle;
    this.#countMax = options.countMax;
  }

  /** Throws a `VectorFailure` when there are too many: keeps (2). To be asked before the first search. */
  checkRoom(): void {
    this.#dropIdle();
    if (this.#kept.size >= this.#countMax)
      throw new VectorFailure(
        "too many requests",
        `Too many resumable queries: end one first, or wait until one expires. Limit: ${this.#countMax}`,
      );
  }

  /** Returns its handle. */
  add(query: ResumableQuery): string {
    const handle = this.#newHandle();
    this.#kept.set(handle, { query, expiresAtMs: this.#clock.monotonicMs() + query.maxIdleMs });
    return handle;
  }

  /** The query of a handle, which counts as used now. Throws a `VectorFailure` when there is none any more. */
  use(handle: string): ResumableQuery {
    this.#dropIdle();
    const kept = this.#kept.get(handle);
    if (kept === undefined) throw unknown;
    kept.expiresAtMs = this.#clock.monotonicMs() + kept.query.maxIdleMs;
    if (kept.query.answered.size > ANSWERED_MAX)
      throw new VectorFailure("too many requests", `A resumable query answers at most ${ANSWERED_MAX} vectors`);
    return kept.query;
  }

  /** Throws a `VectorFailure` when there is none any more. */
  end(handle: string): void {
    this.#dropIdle();
    if (!this.#kept.delete(handle)) throw unknown;
  }

  #dropIdle(): void {
    const nowMs = this.#clock.monotonicMs();
    // They have idle times of their own, so all are looked at; there are few.
    for (const [handle, { expiresAtMs }] of this.#kept) if (expiresAtMs <= nowMs) this.#kept.delete(handle);
  }
}

const unknown = notFound("The resumable query does not exist: it was ended, or was idle for too long");
