/**
 * Rounds of faults for nodes that forward: clients of all areas ask a drawn living
 * node with each request, something fails, and the clients go on. What they saw of
 * the store must be linearizable, over HTTP and RESP together; each acknowledged
 * message arrives or is a dead letter, and arrives twice only if a shard of messaging
 * changed its owner meanwhile; each acknowledged record is found.
 *
 *     link       the connections from other nodes to one node are cut, several times
 *     silence    bytes from other nodes to one node stop for a while, and then go on
 *     store      the connections of one node to PostgreSQL are cut, several times
 *     move       `larder cluster move` of a shard to another node
 *     restart    kill -9 of a node that owns a shard, which starts again at once
 *     kill       kill -9 of it; others take over before it starts again
 *     away       a node cannot reach PostgreSQL until it is declared dead; then it must end
 *
 * The seed fixes what fails, in which order, and what clients draw; the machine
 * times it.
 */
import { assert } from "../../../src/kernel/assert.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { drawShares } from "../../harness/drawn-shares.ts";
import { secrets } from "../../program/cluster/cluster-program.ts";
import { storeToken } from "../../program/cluster/shard-clients.ts";
import { moment } from "../../simulation/kill/endings.ts";
import { Receiver } from "../../simulation/kill/messaging/receiver.ts";
import { ClusterClient, UnknownOutcome } from "../cluster-requests.ts";
import { Observers } from "../observers.ts";
import { Publisher } from "../publisher.ts";
import { runCommand } from "../store-writers.ts";
import { DATABASES, type FrontNode, FrontNodes, NODE_NAMES, SHARDS } from "./front-nodes.ts";
import { RespRunner } from "./resp-runner.ts";
import { VectorWriter } from "./vector-writer.ts";

const faults = ["link", "silence", "store", "move", "restart", "kill", "away"] as const;
export type Fault = (typeof faults)[number];

/** How many of 24 rounds have which fault. */
const SHARES: Readonly<Record<Fault, number>> = {
  link: 6,
  silence: 3,
  store: 4,
  move: 6,
  restart: 2,
  kill: 2,
  away: 1,
};

export interface FrontSummary {
  readonly rounds: number;
  readonly roundsByFault: ReadonlyMap<Fault, number>;
  readonly operations: number;
  /** Of them, those whose end nobody knows. */
  readonly unknown: number;
  readonly messages: number;
  /** Deliveries after the first one. */
  readonly duplicates: number;
  readonly records: number;
  /** Changes of owners. */
  readonly takeovers: number;
  readonly damages: readonly string[];
}

const HTTP_OBSERVERS = 2;
const RESP_OBSERVERS = 1;
/** Clients work before a fault and after it. */
const WORK_MS = 300;
const CUTS = 4;
const CUT_PAUSE_MS = 80;
const SILENCE_MS = 1_200;
const ARRIVAL_MS_MAX = 60_000;
const LOOK_MS = 20;

export async function runFronts(rounds: number, { seed }: { readonly seed: number }): Promise<FrontSummary> {
  const random = seededRandom(seed);
  // Whatever fails ends all processes.
  await using started = new AsyncDisposableStack();
  const nodes = started.adopt(await FrontNodes.start(), (each) => each.stop());
  const receiver = started.adopt(await Receiver.start(), (each) => each.stop());
  const world = new FrontWorld({ nodes, receiver, random });
  started.defer(() => world.end());
  await world.begin();
  for (const fault of drawShares(SHARES, rounds, random)) {
    await world.round(fault);
    if (world.damages.length > 0) break;
  }
  return await world.summarize();
}

/** The summary as lines. */
export function describeFronts(summary: FrontSummary): string {
  const { rounds, roundsByFault, operations, unknown, messages, duplicates, records, takeovers, damages } = summary;
  const counts = [...roundsByFault].map(([fault, count]) => `${fault} ${count}`).join(", ");
  return [
    ...damages.map((damage) => `WRONG ${damage}`),
    `rounds ${rounds} (${counts}); changes of owners ${takeovers}`,
    `operations ${operations}, of which ${unknown} have an unknown end; messages ${messages}, delivered twice ${duplicates}; records ${records}`,
  ].join("\n");
}

/** When a shard of messaging changed its owner, so that a message may have been delivered twice. */
interface Takeover {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Parts {
  readonly nodes: FrontNodes;
  readonly receiver: Receiver;
  readonly random: Random;
}

class FrontWorld {
  readonly damages: string[] = [];
  readonly #parts: Parts;
  readonly #publisher = new Publisher();
  readonly #vectors = new VectorWriter(tokenOf("LARDER_VECTOR_TOKEN"));
  readonly #takeoversOfMessaging: Takeover[] = [];
  #epochs: ReadonlyMap<string, number> = new Map();
  /** When they were read. */
  #epochsMs = 0;
  readonly #roundsByFault = new Map<Fault, number>();
  #rounds = 0;
  #operations = 0;
  #unknown = 0;
  #takeovers = 0;
  #isOver = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Waits until every area is served. */
  async begin(): Promise<void> {
    await this.#flows();
    this.#epochs = await this.#parts.nodes.epochs();
    this.#epochsMs = systemClock.nowMs();
  }

  async round(fault: Fault): Promise<void> {
    const { nodes, receiver, random } = this.#parts;
    this.#isOver = false;
    const clients = { nodes: () => nodes.running, isOver: () => this.#isOver, front: random };
    const observers = DATABASES.map((name) => ({
      token: storeToken(name),
      all: new Observers(`${name}:${this.#rounds}`),
    }));
    const runners: RespRunner[] = [];
    const recordsBefore = this.#vectors.acknowledged.length;
    const work = Promise.all([
      ...observers.flatMap(({ token, all }) => [
        ...Array.from({ length: HTTP_OBSERVERS }, () => all.observeThrough({ ...clients, random, token })),
        ...Array.from({ length: RESP_OBSERVERS }, () => {
          const runner = new RespRunner({ ...clients, random, token });
          runners.push(runner);
          return all.observeWith(runner.run, { isOver: clients.isOver, random });
        }),
      ]),
      this.#publisher.publishThrough({
        ...clients,
        ...{ receiver, token: tokenOf("LARDER_MESSAGING_TOKEN"), hasDeadLetters: true },
      }),
      this.#vectors.writeThrough(clients),
    ]);
    // A refusal must not go unseen while a fault is waited for.
    await Promise.race([work, this.#disturb(fault)]);
    this.#isOver = true;
    await work;
    for (const runner of runners) runner.close();
    await this.#flows();
    await this.#noteTakeovers();
    await this.#check(fault, observers);
    const missing = await this.#vectors.missing(clients, recordsBefore);
    for (const number of missing) this.damages.push(`${fault}: record ${number} was lost`);
    this.damages.push(...(await nodes.ended()));
    this.#rounds += 1;
    this.#roundsByFault.set(fault, (this.#roundsByFault.get(fault) ?? 0) + 1);
  }

  /** Waits until every message has arrived, or is a dead letter. */
  async summarize(): Promise<FrontSummary> {
    const { receiver } = this.#parts;
    const endMs = systemClock.monotonicMs() + ARRIVAL_MS_MAX;
    let missing = this.#publisher.missing(receiver);
    let missingDead = this.#publisher.missingDead(await this.#deadLetters());
    while (missing.length + missingDead.length > 0 && systemClock.monotonicMs() < endMs) {
      await moment(LOOK_MS);
      missing = this.#publisher.missing(receiver);
      missingDead = this.#publisher.missingDead(await this.#deadLetters());
    }
    for (const number of missing) this.damages.push(`message ${number} was lost`);
    for (const number of missingDead) this.damages.push(`message ${number} is no dead letter`);
    await this.#noteTakeovers();
    const duplicates = this.#judgeDuplicates();
    // Every record of all rounds.
    const records = await this.#vectors.missing({ nodes: () => this.#parts.nodes.running }, 0);
    for (const number of records) this.damages.push(`record ${number} was lost later`);
    return {
      rounds: this.#rounds,
      roundsByFault: this.#roundsByFault,
      operations: this.#operations,
      unknown: this.#unknown,
      messages: this.#publisher.acknowledged.length,
      duplicates,
      records: this.#vectors.acknowledged.length,
      takeovers: this.#takeovers,
      damages: this.damages,
    };
  }

  /** Clients that still work end. */
  end(): void {
    this.#isOver = true;
  }

  /** Those since the last call. */
  async #noteTakeovers(): Promise<void> {
    const epochs = await this.#parts.nodes.epochs();
    const toMs = systemClock.nowMs();
    for (const [area, epoch] of epochs) {
      const count = epoch - (this.#epochs.get(area) ?? 0);
      this.#takeovers += count;
      if (area === "messaging" && count > 0) this.#takeoversOfMessaging.push({ fromMs: this.#epochsMs, toMs });
    }
    this.#epochs = epochs;
    this.#epochsMs = toMs;
  }

  /** A delivery after the first one needs a takeover in between. Returns their count. */
  #judgeDuplicates(): number {
    let count = 0;
    for (const [number, successes] of this.#parts.receiver.successes) {
      count += successes.length - 1;
      for (const [index, { atMs }] of successes.entries()) {
        const before = successes[index - 1]?.atMs;
        if (before === undefined) continue;
        const isExcused = this.#takeoversOfMessaging.some(({ fromMs, toMs }) => fromMs <= atMs && toMs >= before);
        if (!isExcused) this.damages.push(`message ${number} arrived twice, and no other node took it over`);
      }
    }
    return count;
  }

  /** The numbers of the messages that are dead letters. */
  async #deadLetters(): Promise<ReadonlySet<number>> {
    const numbers = new Set<number>();
    await this.#ask(async (client) => {
      numbers.clear();
      let cursor: string | undefined;
      do {
        const path = `/v2/dlq?count=100${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
        const headers = { authorization: `Bearer ${tokenOf("LARDER_MESSAGING_TOKEN")}` };
        const { status, text } = await client.ask({ area: "messaging", method: "GET", path, headers });
        if (status !== 200) throw new Error(`the dead letters were refused with ${status}: ${text.slice(0, 200)}`);
        const page = JSON.parse(text) as { cursor?: string; messages: readonly { url: string }[] };
        for (const { url } of page.messages) numbers.add(Number(url.slice(url.lastIndexOf("/") + 1)));
        cursor = page.cursor;
      } while (cursor !== undefined && cursor !== "");
    });
    return numbers;
  }

  async #check(fault: Fault, observers: readonly { readonly token: string; readonly all: Observers }[]): Promise<void> {
    for (const { token, all } of observers) {
      await this.#ask((client) => all.readAll((command) => runCommand(client, command, token)));
      this.#operations += all.count;
      this.#unknown += all.unknownCount;
      const seen = all.check();
      if (seen !== undefined) this.damages.push(`${fault}: ${seen}`);
    }
  }

  /** Resolves when every area carries requests out, in both shards of the store. */
  async #flows(): Promise<void> {
    for (const name of DATABASES)
      await this.#ask((client) => runCommand(client, ["SET", "probe", "1"], storeToken(name)).then(() => {}));
    await this.#deadLetters();
    await this.#vectors.missing({ nodes: () => this.#parts.nodes.running }, this.#vectors.acknowledged.length - 1);
  }

  /** Asks any node, and again if nobody knows what came of it. */
  async #ask(work: (client: ClusterClient) => Promise<void>): Promise<void> {
    const { nodes, random } = this.#parts;
    for (;;) {
      const client = new ClusterClient({ nodes: () => nodes.running, isOver: () => false, front: random });
      try {
        await work(client);
        return;
      } catch (failure) {
        if (!(failure instanceof UnknownOutcome)) throw failure;
      } finally {
        client.close();
      }
    }
  }

  async #disturb(fault: Fault): Promise<void> {
    const { nodes, random } = this.#parts;
    await moment(WORK_MS + random.below(WORK_MS));
    const node = this.#any();
    switch (fault) {
      case "link":
        for (let cut = 0; cut < CUTS; cut += 1) {
          for (const link of this.#any().inward) link.cut();
          await moment(random.below(CUT_PAUSE_MS));
        }
        break;
      case "silence": {
        for (const link of node.inward) link.become("silent");
        await moment(random.below(SILENCE_MS));
        for (const link of node.inward) link.become("whole");
        break;
      }
      case "store":
        for (let cut = 0; cut < CUTS; cut += 1) {
          node.store.cut();
          await moment(random.below(CUT_PAUSE_MS));
        }
        break;
      case "move": {
        const shard = SHARDS[random.below(SHARDS.length)] as number;
        const { code, stdout, stderr } = await nodes.move(shard, this.#any().name);
        // A node that did not take a shard once, because its links were cut, gets none from the same owner for minutes.
        const isLate = stdout.includes("it moves as soon as it can");
        if (code !== 0 && !isLate) this.damages.push(`move: shard ${shard} stayed: ${stdout}${stderr}`);
        break;
      }
      case "restart":
      case "kill":
        await nodes.kill(node);
        if (fault === "kill") await this.#flows();
        await nodes.startNode(node.name);
        break;
      case "away":
        node.store.become("refusing");
        await nodes.untilDead(node);
        // Only PostgreSQL can say so to the node, whose shards are suspended until then.
        node.store.become("whole");
        await nodes.ends(node);
        await nodes.startNode(node.name);
        break;
      default: {
        const never: never = fault;
        throw new Error(`Unknown fault: ${String(never)}`);
      }
    }
    await this.#flows();
    await moment(WORK_MS);
  }

  #any(): FrontNode {
    const { nodes, random } = this.#parts;
    const node = nodes.running[random.below(NODE_NAMES.length)];
    assert(node !== undefined, "all nodes run when a fault begins");
    return node;
  }
}

function tokenOf(name: string): string {
  const token = secrets[name];
  assert(token !== undefined, "the nodes have a token");
  return token;
}
