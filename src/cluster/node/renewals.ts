/**
 * The renewals of a node's lease, one at a time, in time or when a reader asks
 * for one.
 *
 * (1) Only a renewal that returned with a row extends the lease.
 * (2) A renewal without a row means that the node was declared dead: it is lost.
 *     So is one that no longer lists a shard, or lists another epoch of it.
 * (3) A renewal that fails proves nothing and is repeated.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/turn.ts";
import type { LogStore, Renewal, ShardEpoch } from "../log-store/log-store.ts";
import { GAP_MS_MAX, RENEWAL_PERIOD_MS, RETRY_MS, SKEW_MS_MAX, SKEW_WARNING_MS } from "./bounds.ts";
import type { Lease, LeaseStart } from "./lease.ts";

export interface RenewalsOptions {
  readonly store: Pick<LogStore, "renew">;
  readonly life: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly lease: Lease;
  /** The time of the engines of this node. */
  engineMs(): number;
  /** The shards that the node owns as far as it knows. */
  owned(): readonly ShardEpoch[];
  /** A renewal failed or took too long: perhaps no node can renew. */
  onOutage(): void;
  /** It must call `stop`. */
  onLost(reason: string): void;
}

export const CLOCK_DIFFERS = "clock differs from that of PostgreSQL";

/** How far a wall clock is ahead of that of the store; 0 if the time of the answer can explain the difference. */
export function skewOf(times: {
  /** By the wall clock. */
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly storeMs: number;
}): number {
  const { sentMs, answeredMs, storeMs } = times;
  return storeMs < sentMs ? sentMs - storeMs : Math.min(0, answeredMs - storeMs);
}

export class Renewals {
  readonly #options: RenewalsOptions;
  #cancel: () => void = () => {};
  #isStopped = false;
  /** By the monotonic clock: when the renewal that is under way was sent. */
  #sentMs: number | undefined;
  #isRequested = false;
  #confirming: (() => void)[] = [];
  #beat = 0;
  #skewMs = 0;
  /** The bound whose excess was logged. */
  #warnedMs = 0;

  constructor(options: RenewalsOptions) {
    this.#options = options;
  }

  /** Of the last renewal. */
  get beat(): number {
    return this.#beat;
  }

  /** How far the wall clock is ahead of the clock of the store; 0 if the time of the answer can explain the difference. */
  get skewMs(): number {
    return this.#skewMs;
  }

  /** Whether a renewal has been under way for so long that perhaps no node can renew. */
  get isSlow(): boolean {
    return this.#sentMs !== undefined && this.#options.clock.monotonicMs() - this.#sentMs > GAP_MS_MAX;
  }

  start(): void {
    void this.#renew();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Resolves when a renewal that was sent after this call has returned with a row. */
  confirm(): Promise<void> {
    const confirmed = new Promise<void>((resolve) => this.#confirming.push(resolve));
    this.#request();
    return confirmed;
  }

  /** Sends a renewal at the end of this turn, or after the one that is under way. */
  #request(): void {
    if (this.#isRequested || this.#sentMs !== undefined) return;
    this.#isRequested = true;
    void nextTurn().then(() => {
      this.#isRequested = false;
      // keeps one at a time: the timer may have been earlier.
      if (this.#sentMs === undefined) void this.#renew();
    });
  }

  async #renew(): Promise<void> {
    if (this.#isStopped) return;
    const { store, life, clock, log, lease } = this.#options;
    this.#cancel();
    const confirming = this.#confirming;
    this.#confirming = [];
    const owned = this.#options.owned();
    const start = lease.begin();
    this.#sentMs = clock.monotonicMs();
    try {
      const renewal = await store.renew(life, this.#options.engineMs());
      if (!this.#isStopped) this.#returned(renewal, { start, owned, confirming });
    } catch (error) {
      // keeps (3): those who wait for it wait for a later one.
      log.warn("lease not renewed", faultFields(error));
      this.#confirming = [...confirming, ...this.#confirming];
      this.#options.onOutage();
      this.#next(RETRY_MS);
    }
  }

  #returned(
    renewal: Renewal | undefined,
    sent: { start: LeaseStart; owned: readonly ShardEpoch[]; confirming: readonly (() => void)[] },
  ): void {
    const { clock, lease, onOutage } = this.#options;
    if (renewal === undefined) {
      this.#options.onLost("The node was declared dead");
      return;
    }
    const gone = this.#findGone(renewal, sent.owned);
    if (gone !== undefined) {
      this.#options.onLost(`Shard ${gone.shard} is no longer owned under epoch ${gone.epoch}`);
      return;
    }
    if (this.isSlow) onOutage();
    this.#beat = renewal.beat;
    lease.extend(sent.start);
    this.#measureSkew(sent.start.wallMs, renewal.storeClockMs);
    for (const resolve of sent.confirming) resolve();
    // The clock of the lease may have another origin.
    const tookMs = clock.monotonicMs() - (this.#sentMs ?? clock.monotonicMs());
    this.#next(this.#confirming.length > 0 ? 0 : Math.max(0, RENEWAL_PERIOD_MS - tookMs));
  }

  /** A shard that was owned all the time, as far as the node knows, but not in the store: keeps (2). */
  #findGone(renewal: Renewal, sent: readonly ShardEpoch[]): ShardEpoch | undefined {
    const now = new Map(this.#options.owned().map(({ shard, epoch }) => [shard, epoch]));
    const stored = new Map(renewal.owned.map(({ shard, epoch }) => [shard, epoch]));
    return sent.find(({ shard, epoch }) => now.get(shard) === epoch && stored.get(shard) !== epoch);
  }

  #measureSkew(sentMs: number, storeMs: number): void {
    const { clock, log } = this.#options;
    this.#skewMs = skewOf({ sentMs, answeredMs: clock.nowMs(), storeMs });
    const skewMs = Math.round(this.#skewMs);
    const differenceMs = Math.abs(skewMs);
    if (differenceMs > SKEW_MS_MAX && this.#warnedMs < SKEW_MS_MAX) {
      this.#warnedMs = SKEW_MS_MAX;
      log.error(`${CLOCK_DIFFERS}: this node claims no shard`, { skewMs });
    } else if (differenceMs > SKEW_WARNING_MS && this.#warnedMs < SKEW_WARNING_MS) {
      this.#warnedMs = SKEW_WARNING_MS;
      log.warn(CLOCK_DIFFERS, { skewMs });
    }
    // A difference near a bound, which each answer hides more or less of, is reported once.
    if (differenceMs < this.#warnedMs / 2) this.#warnedMs = differenceMs > SKEW_WARNING_MS ? SKEW_WARNING_MS : 0;
  }

  #next(delayMs: number): void {
    this.#sentMs = undefined;
    if (!this.#isStopped) this.#cancel = this.#options.clock.after(delayMs, () => void this.#renew());
  }
}
