/**
 * Reads that trust no clock: a reply leaves when a renewal that was sent after it
 * was made has returned. Replies of one turn, and all that come while a renewal
 * is under way, share the next one.
 */
import type { ReadGuard } from "./lease.ts";
import type { Renewals } from "./renewals.ts";

export class ConfirmedReads implements ReadGuard {
  readonly #renewals: Pick<Renewals, "confirm">;

  constructor(renewals: Pick<Renewals, "confirm">) {
    this.#renewals = renewals;
  }

  /** Never: only the renewal after a reply can say so. Each reply waits for its own promise. */
  isFresh(): boolean {
    return false;
  }

  whenFresh(): Promise<void> {
    return this.#renewals.confirm();
  }
}
