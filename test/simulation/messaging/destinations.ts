/**
 * The other side: destinations that answer, refuse, hang or ask to wait, with
 * delays in virtual time. They report calls and answers to the ledger.
 */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { DeliveryRequest, DeliveryResult, Outbound } from "../../../src/messaging/delivery/delivery.ts";
import { oneOf, type Swarm } from "./swarm.ts";

export interface Call {
  readonly request: DeliveryRequest;
  readonly messageId: string;
  readonly retried: number;
}

export interface CallWatcher {
  called(call: Call): void;
  /** `tell` hands the result to the engine. */
  ended(call: Call, result: DeliveryResult, tell: () => void): void;
}

const QUICK_MS_MAX = 200;
const SLOW_MS_MAX = 90_000;
const RETRY_AFTER = ["1", "7", "3m", "250ms", "never"] as const;

export class SimulatedDestinations implements Outbound {
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #swarm: Swarm;
  readonly #watcher: CallWatcher;
  /** No more faults. */
  isKind = false;

  constructor(options: { clock: VirtualClock; random: Random; swarm: Swarm; watcher: CallWatcher }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#swarm = options.swarm;
    this.#watcher = options.watcher;
  }

  send(request: DeliveryRequest, done: (result: DeliveryResult) => void): void {
    const call: Call = {
      request,
      messageId: headerOf(request, "Upstash-Message-Id"),
      retried: Number(headerOf(request, "Upstash-Retried")),
    };
    this.#watcher.called(call);
    const { result, afterMs } = this.#draw(request.timeoutMs);
    this.#clock.after(afterMs, () => this.#watcher.ended(call, result, () => done(result)));
  }

  dropUser(): void {}

  #draw(timeoutMs: number): { result: DeliveryResult; afterMs: number } {
    const random = this.#random;
    const { features } = this.#swarm;
    const isSlow = !this.isKind && features.has("slow destinations") && random.below(4) === 0;
    const afterMs = isSlow ? random.below(SLOW_MS_MAX) : random.below(4) === 0 ? 0 : random.below(QUICK_MS_MAX);
    if (afterMs >= timeoutMs) {
      return { afterMs: timeoutMs, result: { kind: "failure", text: "The destination did not answer in time" } };
    }
    const fails = !this.isKind && features.has("failing destinations") && random.below(2) === 0;
    return { afterMs, result: fails ? this.#failure() : answer(oneOf(random, [200, 201, 204, 299])) };
  }

  #failure(): DeliveryResult {
    const random = this.#random;
    if (random.below(4) === 0) return { kind: "failure", text: "Connection refused" };
    const headers: string[] = [];
    if (this.#swarm.features.has("Retry-After") && random.below(2) === 0) {
      headers.push("Retry-After", oneOf(random, RETRY_AFTER));
    }
    const status = oneOf(random, [301, 400, 404, 429, 489, 500, 503]);
    if (status === 489 && random.below(2) === 0) headers.push("Upstash-NonRetryable-Error", "true");
    return answer(status, headers, `status ${status}`);
  }
}

function answer(status: number, headers: readonly string[] = [], body = ""): DeliveryResult {
  return { kind: "answer", status, headers, body: Buffer.from(body) };
}

function headerOf({ headers }: DeliveryRequest, name: string): string {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1] ?? "";
  return "";
}
