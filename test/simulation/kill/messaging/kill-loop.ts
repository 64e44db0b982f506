/**
 * Kills the real program while it accepts and delivers, and checks at the
 * destination the fate of each message: an acknowledged message is delivered or
 * a dead letter, and one with an acknowledged cancel is not delivered.
 *
 * The program promises "at least once": a message may come twice only if a kill
 * hid how its call ended.
 */
import { systemClock } from "../../../../src/kernel/clock.ts";
import type { Random } from "../../../../src/kernel/random.ts";
import { defaultLimits } from "../../../../src/messaging/limits.ts";
import type { RunningProgram } from "../../../program/program-process.ts";
import { moment, readMetric } from "../endings.ts";
import type { KillGround } from "../ground.ts";
import { type KillOptions, type KillPort, runKillRounds, startKilled } from "../rounds.ts";
import { Publishers, send, type Target } from "./publishers.ts";
import { Receiver } from "./receiver.ts";

export interface MessageKillSummary {
  rounds: number;
  acknowledged: number;
  delivered: number;
  deadLetters: number;
  cancelled: number;
  /** Deliveries after the first one. */
  duplicates: number;
  /** Calls under way at a kill, as the program reports them after its start. */
  repeated: number;
  readonly damages: string[];
}

const ROUNDS_OF_A_LIFE = 5;
const CLIENTS = 12;
const PUBLISH_MS_MIN = 20;
const PUBLISH_MS_MAX = 900;
/** A call whose end a kill hid was answered at most this long before the kill, or after it. */
const HIDDEN_MS_MAX = 2_000;
/** Remaining messages are delivered in this time, or they are lost. */
const DRAIN_MS_MAX = 60_000;
const POLL_MS = 50;

/** The user that publishes the messages. */
export const MESSAGING_TOKEN: string = Buffer.from(
  JSON.stringify({ UserID: "main", Password: "kill-rounds" }),
).toString("base64");

interface Life {
  readonly directory: string;
  readonly ground: KillGround;
  readonly random: Random;
  readonly receiver: Receiver;
  readonly publishers: Publishers;
  readonly killsMs: number[];
  repeated: number;
}

export async function runMessageKills(options: KillOptions): Promise<MessageKillSummary> {
  const summary = noMessageKills();
  const port: KillPort<Life, string> = {
    name: "messaging",
    roundsOfALife: ROUNDS_OF_A_LIFE,
    endMs: 0,
    begin: async ({ directory, ground, random }) => ({
      ...{ directory, ground, random, publishers: new Publishers(), killsMs: [], repeated: 0 },
      receiver: await Receiver.start(),
    }),
    start,
    runRound: async (life, server) => ({ server: await killOnce(life, server), damages: [] }),
    acknowledgedCount: ({ publishers }) => publishers.acknowledged.length,
    async checkEverything({ receiver, publishers, killsMs, repeated }, server) {
      await drain(server);
      const target = targetOf(server, receiver);
      await checkMessages({ target, receiver, publishers, killsMs, repeated, summary });
      return summary.damages;
    },
    close: ({ receiver }) => receiver.stop(),
  };
  const { rounds } = await runKillRounds(port, options);
  return { ...summary, rounds };
}

async function killOnce(life: Life, server: RunningProgram): Promise<RunningProgram> {
  const { random, receiver, publishers, killsMs } = life;
  const publishing = publishers.publishUntilLost(targetOf(server, receiver), CLIENTS, random);
  // A refusal in one client must not go unseen during the wait for the kill.
  await Promise.race([publishing, moment(PUBLISH_MS_MIN + random.below(PUBLISH_MS_MAX - PUBLISH_MS_MIN))]);
  killsMs.push(systemClock.nowMs());
  await server.killGroup();
  await publishing;
  const next = await start(life);
  life.repeated += await readRepeated(next);
  return next;
}

export function noMessageKills(): MessageKillSummary {
  return {
    rounds: 0,
    acknowledged: 0,
    delivered: 0,
    deadLetters: 0,
    cancelled: 0,
    duplicates: 0,
    repeated: 0,
    damages: [],
  };
}

export function describeMessageKills(summary: MessageKillSummary): string {
  const { rounds, acknowledged, delivered, deadLetters, cancelled, duplicates, repeated, damages } = summary;
  return [
    ...damages.map((damage) => `WRONG ${damage}`),
    `rounds ${rounds}, acknowledged ${acknowledged}: delivered ${delivered}, dead letters ${deadLetters}, cancelled ${cancelled}; delivered twice ${duplicates}; calls known to be under way at the kills ${repeated}`,
  ].join("\n");
}

function start({ directory, ground, random }: Life): Promise<RunningProgram> {
  const threads = random.below(2) === 0 ? "one" : "per-area";
  return startKilled(ground, {
    args: ["--data-dir", directory, "--destinations", "any", "--threads", threads],
    env: { LARDER_MESSAGING_TOKEN: MESSAGING_TOKEN },
  });
}

/** Calls that a kill left under way, as the program reports them after its start. */
export function readRepeated(server: RunningProgram): Promise<number> {
  return readMetric(server, "larder_messaging_repeated_attempts_total");
}

export function targetOf(server: RunningProgram, receiver: Receiver): Target {
  return { messagingUrl: server.environment["QSTASH_URL"] ?? "", receiverUrl: receiver.url, token: MESSAGING_TOKEN };
}

/** Waits until all remaining messages are due later. */
export async function drain(server: RunningProgram): Promise<void> {
  const endMs = systemClock.monotonicMs() + DRAIN_MS_MAX;
  while ((await readMetric(server, "larder_messaging_unfinished_messages")) > 0 && systemClock.monotonicMs() < endMs)
    await moment(POLL_MS);
}

async function deadLetterIds(target: Target): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let cursor: string | undefined = "";
  while (cursor !== undefined) {
    const answer = await send(target, "GET", `/v2/dlq?count=100${cursor === "" ? "" : `&cursor=${cursor}`}`, {});
    if (answer?.status !== 200) throw new Error(`listing the dead-letter queue failed: ${answer?.body}`);
    const page = JSON.parse(answer.body) as { messages: { messageId: string }[]; cursor?: string };
    for (const { messageId } of page.messages) counts.set(messageId, (counts.get(messageId) ?? 0) + 1);
    cursor = page.cursor;
  }
  return counts;
}

/** Adds to the summary the fate of every acknowledged message, and what is wrong with it. */
export async function checkMessages({
  target,
  receiver,
  publishers,
  killsMs,
  repeated,
  summary,
}: {
  target: Target;
  receiver: Receiver;
  publishers: Publishers;
  killsMs: readonly number[];
  repeated: number;
  summary: MessageKillSummary;
}): Promise<void> {
  const { damages } = summary;
  const dead = await deadLetterIds(target);
  for (const publication of publishers.acknowledged) {
    const { number, kind, messageId, cancelledAtMs, isCancelOpen } = publication;
    const successes = receiver.successes.get(number) ?? [];
    summary.acknowledged += 1;
    if (cancelledAtMs !== undefined) {
      summary.cancelled += 1;
      if (successes.length > 0) damages.push(`message ${number} was cancelled but delivered`);
    } else if (kind === "bad") {
      summary.deadLetters += 1;
      if (dead.get(messageId) !== 1) damages.push(`message ${number} has ${dead.get(messageId) ?? 0} dead letters`);
    } else {
      if (successes.length > 0) summary.delivered += 1;
      else if (isCancelOpen !== true) damages.push(`message ${number} (${kind}) is lost`);
      if (dead.has(messageId)) damages.push(`message ${number} (${kind}) is a dead letter`);
    }
  }
  let duplicates = 0;
  for (const [number, successes] of receiver.successes) {
    duplicates += successes.length - 1;
    for (const [index, { atMs, messageId }] of successes.entries()) {
      if (messageId !== successes[0]?.messageId) damages.push(`message ${number} has two ids`);
      const isLast = index === successes.length - 1;
      const isHidden = killsMs.some((killMs) => atMs >= killMs - HIDDEN_MS_MAX && atMs <= killMs + HIDDEN_MS_MAX);
      if (!isLast && !isHidden)
        damages.push(`message ${number} is delivered again, but no kill hid its first delivery`);
    }
  }
  summary.duplicates += duplicates;
  summary.repeated += repeated;
  // The starts of the youngest calls were not yet written, so the program does not know them.
  const bound = repeated + killsMs.length * defaultLimits.originParallelism;
  if (duplicates > bound) damages.push(`${duplicates} are delivered again, but at most ${bound} calls were under way`);
}
