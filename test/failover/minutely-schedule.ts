/** A schedule that fires each minute, whatever fails: each minute once. */
import { systemClock } from "../../src/kernel/clock.ts";
import type { Receiver } from "../simulation/kill/messaging/receiver.ts";
import { type ClientOptions, ClusterClient } from "./cluster-requests.ts";

const MINUTE_MS = 60_000;
/** In the path of its destination: no message has this number. */
const NUMBER = 1_000_000_000;

export class MinutelySchedule {
  readonly #receiver: Receiver;
  /** When its creation was asked for, and when it was acknowledged. */
  readonly #askedMs: number;
  readonly #createdMs: number;

  private constructor(receiver: Receiver, times: { askedMs: number; createdMs: number }) {
    this.#receiver = receiver;
    this.#askedMs = times.askedMs;
    this.#createdMs = times.createdMs;
  }

  static async create(
    receiver: Receiver,
    { nodes, token }: Pick<ClientOptions, "nodes"> & { token: string },
  ): Promise<MinutelySchedule> {
    const client = new ClusterClient({ nodes, isOver: () => false });
    const askedMs = systemClock.nowMs();
    const path = `/v2/schedules/${receiver.url}/ok/${NUMBER}`;
    const headers = { authorization: `Bearer ${token}`, "upstash-cron": "* * * * *" };
    const { status, text } = await client.ask({ area: "messaging", method: "POST", path, headers });
    client.close();
    if (status !== 200 && status !== 201) throw new Error(`a schedule was refused with ${status}: ${text}`);
    return new MinutelySchedule(receiver, { askedMs, createdMs: systemClock.nowMs() });
  }

  /** How many minutes that it must have fired for, up to a time, have no message that arrived. */
  missingAt(timeMs: number): number {
    return Math.max(0, minutesIn(this.#createdMs, timeMs) - this.#firedCount);
  }

  /** How often it has fired too much. */
  get surplus(): number {
    return Math.max(0, this.#firedCount - minutesIn(this.#askedMs, systemClock.nowMs()));
  }

  /** A message that arrives twice is one firing. */
  get #firedCount(): number {
    const successes = this.#receiver.successes.get(NUMBER) ?? [];
    return new Set(successes.map(({ messageId }) => messageId)).size;
  }
}

/** Beginnings of minutes after one time, up to another. */
function minutesIn(fromMs: number, toMs: number): number {
  return Math.floor(toMs / MINUTE_MS) - Math.floor(fromMs / MINUTE_MS);
}
