/** The times when messages were published, answered and arrived, in ms of one clock, by number. */

export interface TimeSpread {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const CAPACITY_MIN = 65_536;

export class Times {
  publishedCount = 0;
  arrivedCount = 0;
  lastArrivalMs = 0;
  #published = new Float64Array(CAPACITY_MIN);
  #answered = new Float64Array(CAPACITY_MIN);
  #arrived = new Float64Array(CAPACITY_MIN);
  #count = 0;
  #countedFrom = 0;

  /** Messages up to here are warm-up and excluded from results. */
  restart(): void {
    this.#countedFrom = this.#count;
  }

  /** A message is about to be published; returns its number. */
  published(nowMs: number): number {
    const number = this.#count;
    if (number === this.#published.length) this.#grow();
    this.#published[number] = nowMs;
    this.#count += 1;
    return number;
  }

  answered(number: number, nowMs: number): void {
    this.#answered[number] = nowMs;
    this.publishedCount += 1;
  }

  /** It was refused, and will not arrive. */
  withdraw(number: number): void {
    this.#published[number] = Number.NaN;
  }

  /** False if it had arrived before. */
  arrived(number: number, nowMs: number): boolean {
    if (this.#arrived[number] !== 0) return false;
    this.#arrived[number] = nowMs;
    this.arrivedCount += 1;
    this.lastArrivalMs = nowMs;
    return true;
  }

  /** From publish to arrival. */
  arrivalSpread(): TimeSpread {
    return this.#spread((number) => (this.#arrived[number] as number) - (this.#published[number] as number));
  }

  /** From publish to the answer. */
  answerSpread(): TimeSpread {
    return this.#spread((number) => (this.#answered[number] as number) - (this.#published[number] as number));
  }

  /** From `delayMs` after the publish: includes the time of the publish. */
  latenessSpread(delayMs: number): TimeSpread {
    return this.#spread((number) => (this.#arrived[number] as number) - (this.#published[number] as number) - delayMs);
  }

  #spread(timeOf: (number: number) => number): TimeSpread {
    const times: number[] = [];
    for (let number = this.#countedFrom; number < this.#count; number += 1) {
      if (this.#arrived[number] === 0 || this.#answered[number] === 0) continue;
      const time = timeOf(number);
      if (!Number.isNaN(time)) times.push(time);
    }
    return spreadOf(times);
  }

  #grow(): void {
    this.#published = grown(this.#published);
    this.#answered = grown(this.#answered);
    this.#arrived = grown(this.#arrived);
  }
}

export function spreadOf(times: readonly number[]): TimeSpread {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

function grown(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2);
  larger.set(values);
  return larger;
}
