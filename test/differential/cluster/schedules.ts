/**
 * Random schedules of a few sessions that use one log store at the same time:
 * each call stops before its commit, and the schedule decides which call begins,
 * commits or is undone next. Calls wait for each other's locks in between. A reader
 * follows the nodes and shards meanwhile, and must miss nothing of what is committed
 * in whatever order.
 */
import assert from "node:assert/strict";
import type { ClusterView, LogStore } from "../../../src/cluster/log-store/log-store.ts";
import { WatchedCluster } from "../../../src/cluster/node/watched-cluster.ts";
import type { Random } from "../../../src/kernel/random.ts";

export const SESSIONS = 3;
export const SHARDS: readonly number[] = [1, 2];
const LIVES = [1, 2, 3].map((life) => `00000000-0000-4000-8000-00000000000${life}`);
/** The node of each life: the first has had two. */
const NAMES: readonly string[] = ["a", "a", "b"];
const STEPS = 40;
const ROW_BYTES = 4;

/** What a session does: no call, a call that runs, that waits for a lock, or that waits for its commit. */
export type Doing = "idle" | "running" | "waiting" | "ready";

export interface ScheduledSession {
  readonly store: LogStore;
  doing(): Promise<Doing>;
  /** For a session that is ready. */
  end(how: "commit" | "abort"): void;
}

export interface Step {
  readonly text: string;
  run(session: ScheduledSession): unknown;
}

/** A call, drawn so that calls meet in the same few rows, and mostly with the epochs and beats of the moment. */
export function drawCall(random: Random, now: ClusterView): Step {
  const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  const around = (value: number): number => Math.max(0, value + pick([0, 0, 0, 0, 1, -1]));
  const shard = pick(SHARDS);
  const epoch = around(now.shards.find((each) => each.shard === shard)?.epoch ?? 0);
  const life = pick(LIVES);
  const fence = { shard, epoch };
  const segment = 1 + random.below(2);
  const start = random.below(4) * ROW_BYTES;
  const call = (text: string, run: (store: LogStore) => Promise<unknown>): Step => ({
    text,
    run: ({ store }) => run(store),
  });
  const draws: readonly (() => Step)[] = [
    () => {
      const name = NAMES[LIVES.indexOf(life)] as string;
      const formerLife = pick([undefined, ...LIVES]);
      const clockMs = pick([5, 9, 20_000]);
      const node = { name, life, formerLife, address: "127.0.0.1:1", format: 1 + random.below(2), clockMs };
      return call(`register ${JSON.stringify(node)}`, (store) => store.register(node));
    },
    () => {
      const clockMs = pick([7, 10_000]);
      return call(`renew ${life} at ${clockMs}`, (store) => store.renew(life, clockMs));
    },
    () => {
      const beat = around(now.nodes.find((each) => each.life === life)?.beat ?? 0);
      return call(`declare dead ${life} at ${beat}`, (store) => store.declareDead(life, beat));
    },
    ...repeat(3, () => {
      const claim = { shard, epoch, life, format: 1 + random.below(2) };
      return call(`claim ${JSON.stringify(claim)}`, (store) => store.claim(claim));
    }),
    () => call(`recovered ${shard} of ${epoch}`, (store) => store.recovered(fence)),
    () => {
      const node = pick([undefined, "a"]);
      return call(`pin ${shard} to ${node}`, (store) => store.pin(shard, node));
    },
    () => {
      const isDrained = pick([true, false]);
      return call(`node a is drained: ${isDrained}`, (store) => store.setDrained("a", isDrained));
    },
    () => {
      const keyNumber = 1 + random.below(3);
      return call(`${life} notes key ${keyNumber}`, (store) => store.noteKey(life, keyNumber));
    },
    () => call(`forget tries of ${shard}`, (store) => store.forgetTries(shard)),
    () => call(`announce ${shard} of ${epoch} to b`, (store) => store.announce(fence, "b")),
    () => {
      const heir = pick([undefined, "b"]);
      return call(`release ${shard} of ${epoch} to ${heir}`, (store) => store.release(fence, heir));
    },
    ...repeat(6, () => {
      const bytes = Buffer.from(pick(["aaaa", "bbbb"]));
      const append = { ...fence, segment, start, before: Math.max(0, start - ROW_BYTES), bytes };
      return call(`append ${JSON.stringify({ ...append, bytes: `${bytes}` })}`, (store) => store.append(append));
    }),
    () => call(`cut ${shard} of ${epoch}: ${segment} at ${start}`, (store) => store.cut(fence, segment, start)),
    () => call(`remove ${shard} of ${epoch}: ${segment}`, (store) => store.removeSegments(fence, [segment])),
    () => {
      const part = { ...fence, number: segment, part: random.below(2), bytes: Buffer.from(pick(["x", "y"])) };
      const text = `put part ${JSON.stringify({ ...part, bytes: `${part.bytes}` })}`;
      return call(text, (store) => store.putSnapshotPart(part));
    },
    () => {
      const object = { address: "file:///objects", name: pick(["a", "b"]) };
      const snapshot = pick([
        { number: segment, parts: 1 + random.below(2), bytes: 1 },
        { number: segment, parts: 0, bytes: 1, object },
      ]);
      const text = `complete ${shard} of ${epoch}: ${JSON.stringify(snapshot)}`;
      return call(text, (store) => store.completeSnapshot(fence, snapshot));
    },
  ];
  return pick(draws)();
}

function repeat<Item>(count: number, item: Item): Item[] {
  return new Array<Item>(count).fill(item);
}

/** Follows the nodes and shards of a store by what changed. */
class Follower {
  readonly #store: LogStore;
  readonly #watched = new WatchedCluster(0);

  constructor(store: LogStore) {
    this.#store = store;
  }

  /** What changed since the look before, as one text. Throws if what is known is not what the store has. */
  async look(): Promise<string> {
    const changes = await this.#store.watchChanges(this.#watched.positionAt(0));
    const { view } = this.#watched.apply(changes, 0);
    assert.deepEqual(view, await this.#store.watch(), "a change was missed");
    // Numbers of nodes are drawn, and so are those of transactions.
    const nodes = changes.nodes.map(({ number: _, ...node }) => node);
    return textOf({ ...changes, position: undefined, nodes, beats: changes.beats.map(([, beat]) => beat).toSorted() });
  }
}

/**
 * Both stores run the same schedule, and a reader of each follows it. Throws at the first difference, with the steps so
 * far.
 */
export async function runSchedule(
  random: Random,
  [model, real]: readonly [readonly ScheduledSession[], readonly ScheduledSession[]],
  readers: readonly [LogStore, LogStore],
): Promise<void> {
  const followers = readers.map((store) => new Follower(store));
  const steps: string[] = [];
  const results: [string[], string[]] = [[], []];
  const both = async (index: number, step: (session: ScheduledSession) => unknown): Promise<void> => {
    for (const sessions of [model, real]) step(sessions[index] as ScheduledSession);
    await Promise.resolve();
  };
  const begin = ({ text, run }: Step, index: number): Promise<void> => {
    steps.push(`${index}: ${text}`);
    const number = steps.length;
    return both(index, (session) => {
      const side = model.includes(session) ? 0 : 1;
      const note = (result: string): void => void results[side].push(`${number}: ${result}`);
      Promise.resolve(run(session)).then(
        (result) => note(textOf(result)),
        (error: Error) => note(error.name === "Error" ? error.message : error.name),
      );
    });
  };
  const look = async (): Promise<readonly Doing[]> => {
    const doing = [await settled(model), await settled(real)];
    const [ofModel, ofReal] = [
      `${doing[0]?.join(", ")}\n${results[0].toSorted().join("\n")}`,
      `${doing[1]?.join(", ")}\n${results[1].toSorted().join("\n")}`,
    ];
    if (ofModel !== ofReal)
      throw new Error(`The stores differ after\n${steps.join("\n")}\nmodel: ${ofModel}\nPostgreSQL: ${ofReal}`);
    return doing[0] ?? [];
  };
  const follow = async (): Promise<void> => {
    const [ofModel, ofReal] = await Promise.all(followers.map((follower) => follower.look()));
    assert.equal(ofReal, ofModel, `The stores say that other rows have changed after\n${steps.join("\n")}`);
  };
  let doing = await look();
  for (let step = 0; step < STEPS || doing.some((each) => each !== "idle"); step += 1) {
    // PostgreSQL promises no order among those who wait for the same row, so only one waits at a time.
    const mayBegin = step < STEPS && !doing.includes("waiting");
    const candidates = doing.flatMap((each, index) =>
      each === "ready" || (each === "idle" && mayBegin) ? [index] : [],
    );
    const index = candidates[random.below(candidates.length)] as number;
    if (doing[index] === "idle")
      await begin(drawCall(random, await (model[index] as ScheduledSession).store.watch()), index);
    else {
      const how = random.below(5) === 0 ? "abort" : "commit";
      steps.push(`${index}: ${how}`);
      await both(index, (session) => session.end(how));
    }
    doing = await look();
    if (random.below(2) === 0) await follow();
  }
  await follow();
}

/**
 * What the sessions do when none can go further without another step. A call that waits may continue when another one ends
 * its own wait, so two looks must agree.
 */
async function settled(sessions: readonly ScheduledSession[]): Promise<readonly Doing[]> {
  let before: readonly Doing[] = [];
  for (;;) {
    const now: Doing[] = [];
    for (const session of sessions) now.push(await session.doing());
    if (!now.includes("running") && now.join() === before.join()) return now;
    before = now;
  }
}

/** All that readers see, as one text. */
export async function contents(store: LogStore): Promise<string> {
  const all: unknown[] = [await store.watch(), await store.heads(SHARDS)];
  for (const shard of SHARDS) {
    const segments = await store.segments(shard);
    all.push(segments);
    for (const { segment } of segments) all.push(await store.read(shard, segment, 0, 1_000));
  }
  return textOf(all);
}

/** The clock of the store is not compared, and neither is the order of members. */
function textOf(value: unknown): string {
  const sorted = (_: string, each: unknown): unknown =>
    typeof each !== "object" || each === null || Array.isArray(each)
      ? each
      : Object.fromEntries(
          Object.entries(each)
            .filter(([name]) => name !== "storeClockMs")
            .toSorted(([a], [b]) => (a < b ? -1 : 1)),
        );
  return JSON.stringify(value, sorted) ?? "undefined";
}
