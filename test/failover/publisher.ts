/** A client that publishes through failovers. Each acknowledged message arrives at least once. */
import { moment } from "../simulation/kill/endings.ts";
import type { Receiver } from "../simulation/kill/messaging/receiver.ts";
import { type ClientOptions, ClusterClient, RoundOver, UnknownOutcome } from "./cluster-requests.ts";

export interface Publishing extends ClientOptions {
  readonly token: string;
  readonly receiver: Receiver;
  /** Whether some messages go to a destination that always fails. */
  readonly hasDeadLetters?: true;
}

/** Every so often: the store's writers are the load. */
const PAUSE_MS = 10;
/** Every fourth message fails the first time. */
const FLAKY_EVERY = 4;
/** With dead letters, every tenth message fails always. */
const BAD_EVERY = 10;

export class Publisher {
  /** The numbers of acknowledged messages. */
  readonly acknowledged: number[] = [];
  /** Those of them whose destination always fails. */
  readonly #bad = new Set<number>();
  #number = 0;

  /** Publishes until the round is over. Rejects if a message is refused. */
  async publishThrough(publishing: Publishing): Promise<void> {
    const client = new ClusterClient(publishing);
    try {
      while (!publishing.isOver()) {
        await this.#publish(client, publishing);
        await moment(PAUSE_MS);
      }
    } catch (failure) {
      if (!(failure instanceof RoundOver)) throw failure;
    } finally {
      client.close();
    }
  }

  /** Messages that were acknowledged and have not arrived, without those that never can. */
  missing({ successes }: Receiver): readonly number[] {
    return this.acknowledged.filter((number) => !successes.has(number) && !this.#bad.has(number));
  }

  /** Messages that were acknowledged, cannot arrive, and are not among these dead letters. */
  missingDead(dead: ReadonlySet<number>): readonly number[] {
    return this.acknowledged.filter((number) => this.#bad.has(number) && !dead.has(number));
  }

  async #publish(client: ClusterClient, { token, receiver, hasDeadLetters }: Publishing): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    const isBad = hasDeadLetters === true && number % BAD_EVERY === 0;
    if (isBad) this.#bad.add(number);
    const kind = isBad ? "bad" : number % FLAKY_EVERY === 0 ? "flaky" : "ok";
    const path = `/v2/publish/${receiver.url}/${kind}/${number}`;
    const headers = {
      authorization: `Bearer ${token}`,
      "upstash-retry-delay": "100",
      ...(isBad && { "upstash-retries": "0" }),
    };
    try {
      const { status, text } = await client.ask({
        area: "messaging",
        method: "POST",
        path,
        headers,
        body: `${number}`,
      });
      if (status !== 200) throw new Error(`a message was refused with ${status}: ${text.slice(0, 200)}`);
      this.acknowledged.push(number);
    } catch (failure) {
      // It may arrive, and need not.
      if (!(failure instanceof UnknownOutcome)) throw failure;
    }
  }
}
