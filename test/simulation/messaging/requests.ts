/** What the simulated users publish. */
import type { Random } from "../../../src/kernel/random.ts";
import type { CallbackPlan, FlowControl } from "../../../src/messaging/options/envelope.ts";
import type { PublishOptions, PublishRequest } from "../../../src/messaging/options/publish-request.ts";
import { retryExpressions } from "./expected-outcome.ts";
import { type Feature, oneOf, type Swarm } from "./swarm.ts";

export const queueNames = ["first", "second", "wide"] as const;
export const keyNames = ["left", "right"] as const;
export const groupNames = ["group", "other"] as const;
export const labelNames = ["red", "blue"] as const;
const DEDUPLICATION_IDS = ["one", "two", "three"] as const;
const DELAYS_MS = [1, 500, 15_000, 60_000, 600_000, 3_600_000] as const;
const PERIODS_MS = [1_000, 10_000, 60_000, 600_000] as const;
const LARGE_BYTES_MAX = 6_000;

export class Requests {
  /** The wall clock of this life. */
  nowMs: () => number = () => 0;
  readonly #random: Random;
  readonly #swarm: Swarm;
  #count = 0;

  constructor(random: Random, swarm: Swarm) {
    this.#random = random;
    this.#swarm = swarm;
  }

  /** True if the feature is on, and then with a chance of one in `oneIn`. */
  chance(feature: Feature, oneIn: number): boolean {
    return this.#swarm.features.has(feature) && this.#random.below(oneIn) === 0;
  }

  /** Existing groups; a destination may be one. */
  draw(groups: readonly string[]): PublishRequest {
    const isToGroup = groups.length > 0 && this.#random.below(3) === 0;
    const destination = isToGroup ? oneOf(this.#random, groups) : this.url();
    return { destination, body: this.body(), callerIp: "203.0.113.7", options: this.options() };
  }

  url(): string {
    return `https://${oneOf(this.#random, ["a", "b", "c"])}.test/${this.#random.below(3)}`;
  }

  body(): Buffer {
    this.#count += 1;
    const text = `${this.#count} of ${this.#random.below(2 ** 32)} `;
    if (this.chance("large bodies", 4)) return Buffer.alloc(this.#random.below(LARGE_BYTES_MAX), text);
    return this.#random.below(8) === 0 ? Buffer.alloc(0) : Buffer.from(text);
  }

  options(): PublishOptions {
    const random = this.#random;
    const isById = this.chance("deduplication", 2);
    return {
      method: oneOf(random, ["POST", "PUT"]),
      headers: random.below(3) === 0 ? ["Content-Type", "text/plain"] : [],
      retriesMax: random.below(4),
      ...(this.chance("retry expressions", 2) && { retryDelay: oneOf(random, [...retryExpressions.keys()]) }),
      ...(this.chance("timeouts", 3) && { timeoutMs: oneOf(random, [1, 100, 5_000]) }),
      ...(this.chance("delays", 3) && { delayMs: oneOf(random, DELAYS_MS) }),
      ...(this.chance("moments", 6) && { notBeforeMs: this.nowMs() + oneOf(random, DELAYS_MS) }),
      ...(this.chance("queues", 2) && { queueName: oneOf(random, queueNames) }),
      ...(this.chance("flow keys", 2) && { flowControl: this.#flowControl() }),
      ...(this.chance("callbacks", 3) && { callback: this.#callback() }),
      ...(this.chance("failure callbacks", 3) && { failureCallback: this.#callback() }),
      ...(isById && { deduplicationId: oneOf(random, DEDUPLICATION_IDS) }),
      ...(random.below(2) === 0 && { labels: [oneOf(random, labelNames)] }),
    };
  }

  #flowControl(): FlowControl {
    const random = this.#random;
    const withRate = this.chance("rates", 2);
    return {
      key: oneOf(random, keyNames),
      ...((!withRate || random.below(2) === 0) && { parallelism: 1 + random.below(3) }),
      ...(withRate && { rate: 1 + random.below(4), periodMs: oneOf(random, PERIODS_MS) }),
    };
  }

  #callback(): CallbackPlan {
    const given: (readonly [string, string])[] = [["retries", String(this.#random.below(2))]];
    if (this.chance("flow keys", 4)) given.push(["flow-control-key", "left"], ["flow-control-value", "parallelism=1"]);
    return { url: "https://callback.test/", given };
  }
}
