/**
 * The traffic and the work of a database since the start, for INFO.
 *
 * (1) Commands and connections only add to plain numbers. The expiry
 *     cycle takes a sample of them ten times a second, and a rate is the average
 *     of the last 16 samples, as in Redis.
 */
import type { Sweep } from "../memory/expiry-sweep.ts";

const SAMPLE_COUNT = 16;
/** The cycle runs more often while it evicts. */
const SAMPLE_EVERY_MS = 100;
/** The weight of the last sweep in the share of expired keys, as in Redis. */
const SWEEP_WEIGHT = 0.05;

/** How much a number grew per second, in the last samples. */
class Rate {
  readonly #samples: number[] = new Array(SAMPLE_COUNT).fill(0);
  #next = 0;
  #value = 0;

  take(value: number, elapsedMs: number): void {
    this.#samples[this.#next] = ((value - this.#value) * 1_000) / elapsedMs;
    this.#next = (this.#next + 1) % SAMPLE_COUNT;
    this.#value = value;
  }

  /** Begins a sample. */
  start(value: number): void {
    this.#value = value;
  }

  reset(): void {
    this.#samples.fill(0);
    this.#value = 0;
  }

  get perSecond(): number {
    return this.#samples.reduce((sum, sample) => sum + sample, 0) / SAMPLE_COUNT;
  }
}

export class Activity {
  /** Commands that ran, those of transactions and scripts too. */
  commandCount = 0;
  /** Logins of connections over TCP. */
  connectionCount = 0;
  /** Over TCP all bytes after the login, over HTTP those of bodies. */
  inputBytes = 0;
  outputBytes = 0;
  /** Packets over TCP, and requests and replies over HTTP. */
  readCount = 0;
  writeCount = 0;
  /** The most memory that keys and values have taken. A reset of the counters leaves it, as in Redis. */
  usedBytesPeak = 0;
  /** Units of work that changed something since the start. */
  changeCount = 0;
  #snapshotChangeCount = 0;
  #savedChangeCount = 0;
  /** Time of the expiry cycle, and how often it ended because of its time. */
  sweepMs = 0;
  cutSweepCount = 0;
  /** The share of expired keys among those with an expiry, as the cycle has found it. */
  #staleShare = 0;
  readonly commands = new Rate();
  readonly input = new Rate();
  readonly output = new Rate();
  #sampledAtMs: number | undefined;

  /** Called by the expiry cycle, at a time of a clock that does not step. keeps (1) */
  sample(nowMs: number): void {
    const elapsedMs = this.#sampledAtMs === undefined ? undefined : nowMs - this.#sampledAtMs;
    if (elapsedMs === undefined) {
      this.commands.start(this.commandCount);
      this.input.start(this.inputBytes);
      this.output.start(this.outputBytes);
    } else {
      if (elapsedMs < SAMPLE_EVERY_MS) return;
      this.commands.take(this.commandCount, elapsedMs);
      this.input.take(this.inputBytes, elapsedMs);
      this.output.take(this.outputBytes, elapsedMs);
    }
    this.#sampledAtMs = nowMs;
  }

  /** Units of work that changed something since the last snapshot. */
  get unsavedChangeCount(): number {
    return this.changeCount - this.#savedChangeCount;
  }

  /** A snapshot of everything up to now begins. */
  beginSnapshot(): void {
    this.#snapshotChangeCount = this.changeCount;
  }

  endSnapshot(isWritten: boolean): void {
    if (isWritten) this.#savedChangeCount = this.#snapshotChangeCount;
  }

  /** Adds a sweep of the expiry cycle. */
  addSweep({ visitedKeyCount, staleKeyCount, isCutShort }: Sweep, tookMs: number): void {
    this.sweepMs += tookMs;
    if (isCutShort) this.cutSweepCount += 1;
    const share = visitedKeyCount === 0 ? 0 : staleKeyCount / visitedKeyCount;
    this.#staleShare += (share - this.#staleShare) * SWEEP_WEIGHT;
  }

  get stalePercent(): number {
    return this.#staleShare * 100;
  }

  addInput(bytes: number): void {
    this.inputBytes += bytes;
    this.readCount += 1;
  }

  addOutput(bytes: number): void {
    this.outputBytes += bytes;
    this.writeCount += 1;
  }

  /** CONFIG RESETSTAT. */
  reset(): void {
    this.commandCount = 0;
    this.connectionCount = 0;
    this.inputBytes = 0;
    this.outputBytes = 0;
    this.readCount = 0;
    this.writeCount = 0;
    this.sweepMs = 0;
    this.cutSweepCount = 0;
    this.#staleShare = 0;
    for (const rate of [this.commands, this.input, this.output]) rate.reset();
  }
}
