/**
 * Rounds of failovers: clients write to three nodes of larder on a PostgreSQL of
 * three members, something fails, the clients go on, and then everything that was
 * acknowledged must be there, and what the clients saw must be linearizable. Beside them a schedule fires each minute.
 *
 *     restart      kill -9 of the node that owns the store, which starts again at once
 *     kill         kill -9 of it; another node takes over before it starts again
 *     switchover   the standby becomes the primary
 *     immediate    pg_ctl stop -m immediate of the primary
 *     primary      the machine of the primary is gone, and comes back later
 *     pause        the node that owns the store stands still until another has taken over; awake again, it must end
 *     etcd         etcd is gone, so the primary steps down, and comes back later
 *
 * The seed fixes what fails, in which order, and what clients draw; the machine
 * times it.
 */
import { assert } from "../../src/kernel/assert.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { drawShares } from "../harness/drawn-shares.ts";
import { PatroniCluster } from "../harness/patroni.ts";
import { secrets } from "../program/cluster/cluster-program.ts";
import { moment } from "../simulation/kill/endings.ts";
import { Receiver } from "../simulation/kill/messaging/receiver.ts";
import { Ledger } from "../simulation/kill/store/ledger.ts";
import { LarderNodes } from "./larder-nodes.ts";
import { MinutelySchedule } from "./minutely-schedule.ts";
import { Observers } from "./observers.ts";
import { Publisher } from "./publisher.ts";
import { checkStore, probeStore, writeThrough } from "./store-writers.ts";

const failures = ["restart", "kill", "switchover", "immediate", "primary", "pause", "etcd"] as const;
export type Failure = (typeof failures)[number];

/** How many of 51 rounds have which failure. */
const SHARES: Readonly<Record<Failure, number>> = {
  restart: 20,
  kill: 20,
  switchover: 5,
  immediate: 3,
  primary: 1,
  pause: 1,
  etcd: 1,
};

export interface FailoverSummary {
  readonly rounds: number;
  readonly roundsByFailure: ReadonlyMap<Failure, number>;
  readonly acknowledgedWrites: number;
  readonly acknowledgedMessages: number;
  /** Deliveries after the first one. */
  readonly duplicates: number;
  /** The longest time from a failure to the next acknowledgement, by failure, in ms. */
  readonly longestMs: ReadonlyMap<Failure, number>;
  readonly damages: readonly string[];
}

const CLIENTS = 6;
const OBSERVERS = 3;
const WRITE_MS_MAX = 500;
/** A failure after which nothing is acknowledged for so long does not end. */
const SILENCE_MS_MAX = 120_000;
const ARRIVAL_MS_MAX = 60_000;
const LOOK_MS = 20;
/** Acknowledgements after a failure that end a round. */
const ENOUGH = CLIENTS * 4;

export async function runFailovers(
  rounds: number,
  { seed, print }: { seed: number; print: (line: string) => void },
): Promise<FailoverSummary> {
  const random = seededRandom(seed);
  // Whatever fails ends all processes.
  await using started = new AsyncDisposableStack();
  const postgres = started.adopt(await PatroniCluster.start(), (each) => each.stop());
  const nodes = started.adopt(await LarderNodes.start(postgres.connectionString), (each) => each.stop());
  const receiver = started.adopt(await Receiver.start(), (each) => each.stop());
  const world = new World({ postgres, nodes, receiver, random });
  started.defer(() => world.end());
  await world.begin();
  for (const failure of drawShares(SHARES, rounds, random)) {
    await world.round(failure);
    if (world.damages.length > 0) {
      print(postgres.describe());
      break;
    }
  }
  return await world.summarize();
}

/** The summary as lines. */
export function describeFailovers(summary: FailoverSummary): string {
  const { rounds, roundsByFailure, acknowledgedWrites, acknowledgedMessages, duplicates, longestMs, damages } = summary;
  const counts = [...roundsByFailure].map(([failure, count]) => `${failure} ${count}`).join(", ");
  const times = [...longestMs].map(([failure, ms]) => `${failure} ${(ms / 1_000).toFixed(1)} s`).join(", ");
  return [
    ...damages.map((damage) => `WRONG ${damage}`),
    `rounds ${rounds} (${counts}); acknowledged writes ${acknowledgedWrites}, messages ${acknowledgedMessages}, delivered twice ${duplicates}`,
    `longest time until the next acknowledgement: ${times}`,
  ].join("\n");
}

interface Parts {
  readonly postgres: PatroniCluster;
  readonly nodes: LarderNodes;
  readonly receiver: Receiver;
  readonly random: Random;
}

class World {
  readonly damages: string[] = [];
  readonly #parts: Parts;
  readonly #ledger = new Ledger(CLIENTS);
  readonly #publisher = new Publisher();
  readonly #roundsByFailure = new Map<Failure, number>();
  readonly #longestMs = new Map<Failure, number>();
  #schedule: MinutelySchedule | undefined;
  #rounds = 0;
  /** Acknowledged writes since they were last counted. */
  #acknowledged = 0;
  #isOver = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async begin(): Promise<void> {
    const { nodes, receiver } = this.#parts;
    const token = tokenOf("LARDER_MESSAGING_TOKEN");
    this.#schedule = await MinutelySchedule.create(receiver, { nodes: () => nodes.running, token });
  }

  async round(failure: Failure): Promise<void> {
    const { nodes, random } = this.#parts;
    this.#isOver = false;
    const clients = { nodes: () => nodes.running, isOver: () => this.#isOver };
    const storeToken = tokenOf("LARDER_STORE_TOKEN");
    const observers = new Observers(`seen:${this.#rounds}`);
    const work = Promise.all([
      ...Array.from({ length: OBSERVERS }, () => observers.observeThrough({ ...clients, random, token: storeToken })),
      ...this.#ledger.owners.map((owner) =>
        writeThrough(owner, {
          ...clients,
          ...{ ledger: this.#ledger, random, token: storeToken },
          acknowledged: () => {
            this.#acknowledged += 1;
          },
        }),
      ),
      this.#publisher.publishThrough({
        ...clients,
        ...{ receiver: this.#parts.receiver, token: tokenOf("LARDER_MESSAGING_TOKEN") },
      }),
    ]);
    // A refusal must not go unseen while a failure is waited for.
    await Promise.race([work, this.#fail(failure)]);
    this.#isOver = true;
    await work;
    this.#ledger.closeOpenWrites();
    const damages = await checkStore(this.#ledger, { nodes: clients.nodes, token: storeToken });
    this.damages.push(...damages.map(({ kind, owner, what }) => `${failure}: ${kind} of ${owner}: ${what}`));
    const seen = observers.check();
    if (seen !== undefined) this.damages.push(`${failure}: ${seen}`);
    this.damages.push(...(await nodes.ended));
    this.#rounds += 1;
    this.#roundsByFailure.set(failure, (this.#roundsByFailure.get(failure) ?? 0) + 1);
  }

  /** Waits until every message has arrived. */
  async summarize(): Promise<FailoverSummary> {
    const { receiver } = this.#parts;
    const schedule = this.#schedule;
    assert(schedule !== undefined, "a world that ends has begun");
    const overMs = systemClock.nowMs();
    const isComplete = (): boolean =>
      this.#publisher.missing(receiver).length === 0 && schedule.missingAt(overMs) === 0;
    const endMs = systemClock.monotonicMs() + ARRIVAL_MS_MAX;
    while (!isComplete() && systemClock.monotonicMs() < endMs) await moment(LOOK_MS);
    for (const number of this.#publisher.missing(receiver)) this.damages.push(`message ${number} was lost`);
    const { surplus } = schedule;
    const missing = schedule.missingAt(overMs);
    if (missing > 0) this.damages.push(`a schedule did not fire in ${missing} minutes`);
    if (surplus > 0) this.damages.push(`a schedule fired ${surplus} times too much`);
    let duplicates = 0;
    for (const successes of receiver.successes.values()) duplicates += successes.length - 1;
    return {
      rounds: this.#rounds,
      roundsByFailure: this.#roundsByFailure,
      acknowledgedWrites: this.#ledger.ackedCount,
      acknowledgedMessages: this.#publisher.acknowledged.length,
      duplicates,
      longestMs: this.#longestMs,
      damages: this.damages,
    };
  }

  /** Clients that still write end. */
  end(): void {
    this.#isOver = true;
  }

  async #fail(failure: Failure): Promise<void> {
    const { postgres, nodes, random } = this.#parts;
    await this.#untilAcknowledged(1);
    await moment(random.below(WRITE_MS_MAX));
    const startMs = systemClock.monotonicMs();
    const flowsAgain = async (): Promise<void> => {
      await probeStore({ nodes: () => nodes.running, token: tokenOf("LARDER_STORE_TOKEN") });
      const ms = systemClock.monotonicMs() - startMs;
      this.#longestMs.set(failure, Math.max(ms, this.#longestMs.get(failure) ?? 0));
    };
    switch (failure) {
      case "restart":
      case "kill": {
        const owner = await nodes.owner();
        assert(owner !== undefined, "a node owns the store before a failure");
        await nodes.kill(owner);
        if (failure === "restart") await nodes.startNode(owner.name);
        await flowsAgain();
        if (failure === "kill") await nodes.startNode(owner.name);
        break;
      }
      case "pause": {
        const owner = await nodes.owner();
        assert(owner !== undefined, "a node owns the store before a failure");
        await nodes.pause(owner, flowsAgain);
        await nodes.startNode(owner.name);
        break;
      }
      case "etcd":
        await postgres.stopEtcd();
        await postgres.untilNoPrimary();
        postgres.startEtcd();
        await flowsAgain();
        await this.#untilAcknowledged(ENOUGH);
        await postgres.untilWhole();
        break;
      case "switchover":
        await postgres.switchOver();
        await flowsAgain();
        await this.#untilAcknowledged(ENOUGH);
        await postgres.untilWhole();
        break;
      case "immediate":
        postgres.stopImmediately(await postgres.untilSynchronous());
        await flowsAgain();
        await this.#untilAcknowledged(ENOUGH);
        await postgres.untilWhole();
        break;
      case "primary": {
        const primary = await postgres.untilSynchronous();
        await postgres.killMember(primary);
        await flowsAgain();
        await this.#untilAcknowledged(ENOUGH);
        postgres.startMember(primary);
        await postgres.untilWhole();
        break;
      }
    }
  }

  /** Of the clients: those that were writing when a node was killed write no more in the round. */
  async #untilAcknowledged(count: number): Promise<void> {
    this.#acknowledged = 0;
    const endMs = systemClock.monotonicMs() + SILENCE_MS_MAX;
    while (this.#acknowledged < count) {
      if (systemClock.monotonicMs() > endMs) throw new Error("nothing is acknowledged any more");
      await moment(LOOK_MS);
    }
  }
}

function tokenOf(name: string): string {
  const token = secrets[name];
  assert(token !== undefined, "the nodes have a token");
  return token;
}
