/**
 * Kills the real program again and again while it accepts and delivers, and
 * looks at the destination whether it kept its word: what was acknowledged is
 * delivered or a dead letter, and what was acknowledged as cancelled is not.
 *
 * The program promises "at least once": a message may come twice if a kill hid
 * how its call ended, and only then.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { defaultLimits } from "../../../src/messaging/limits.ts";
import type { Allowance } from "../../budget.ts";
import { type RunningProgram, startProgram } from "../../program/program-process.ts";
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
  /** Calls that were under way at a kill, by what the program says after its start. */
  repeated: number;
  readonly damages: string[];
}

const ROUNDS_OF_A_LIFE = 5;
const CLIENTS = 12;
const PUBLISH_MS_MIN = 20;
const PUBLISH_MS_MAX = 900;
/** A call whose end a kill hid was answered so shortly before the kill, or was answered after it. */
const HIDDEN_MS_MAX = 2_000;
/** What is left is delivered in this time, or it is lost. */
const DRAIN_MS_MAX = 60_000;
const POLL_MS = 50;

/** Of the user whose messages these are. */
export const MESSAGING_TOKEN: string = Buffer.from(
  JSON.stringify({ UserID: "main", Password: "kill-rounds" }),
).toString("base64");

export async function runMessageKills({
  allowance,
  seed,
  print,
}: {
  allowance: Allowance;
  seed: number;
  print: (line: string) => void;
}): Promise<MessageKillSummary> {
  const startMs = systemClock.monotonicMs();
  const summary = noMessageKills();
  const isLeft = (): boolean =>
    "count" in allowance
      ? summary.rounds < allowance.count
      : systemClock.monotonicMs() - startMs < allowance.budgetMs || summary.rounds === 0;
  for (let life = 0; isLeft() && summary.damages.length === 0; life += 1) {
    const directory = mkdtempSync(join(tmpdir(), "larder-messages-"));
    await liveOnce(directory, { summary, isLeft, random: seededRandom(seed * 1_000_003 + life) });
    if (summary.damages.length > 0) print(`life ${life} of SEED=${seed}; data directory kept: ${directory}`);
    else rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
  return summary;
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

async function liveOnce(
  directory: string,
  { summary, isLeft, random }: { summary: MessageKillSummary; isLeft: () => boolean; random: Random },
): Promise<void> {
  const receiver = await Receiver.start();
  const publishers = new Publishers();
  const killsMs: number[] = [];
  let repeated = 0;
  let server = await start(directory, random);
  try {
    for (let round = 0; round < ROUNDS_OF_A_LIFE && (round === 0 || isLeft()); round += 1) {
      const publishing = publishers.publishUntilLost(targetOf(server, receiver), CLIENTS, random);
      // A refusal in one client must not go unseen while the moment of the kill is awaited.
      await Promise.race([publishing, moment(PUBLISH_MS_MIN + random.below(PUBLISH_MS_MAX - PUBLISH_MS_MIN))]);
      killsMs.push(systemClock.nowMs());
      await server.killGroup();
      await publishing;
      summary.rounds += 1;
      server = await start(directory, random);
      repeated += await readRepeated(server);
    }
    const target = targetOf(server, receiver);
    await drain(server);
    await checkMessages({ target, receiver, publishers, killsMs, repeated, summary });
  } finally {
    await server.killGroup();
    receiver.stop();
  }
}

function start(directory: string, random: Random): Promise<RunningProgram> {
  const threads = random.below(2) === 0 ? "one" : "per-area";
  return startProgram("serve", {
    args: ["--data-dir", directory, "--destinations", "any", "--threads", threads],
    env: { LARDER_MESSAGING_TOKEN: MESSAGING_TOKEN },
    hasOwnGroup: true,
  });
}

/** Calls that a kill left under way, by what the program says after its start. */
export function readRepeated(server: RunningProgram): Promise<number> {
  return readFigure(server, "repeated_attempts_total");
}

export function targetOf(server: RunningProgram, receiver: Receiver): Target {
  return { messagingUrl: server.environment["QSTASH_URL"] ?? "", receiverUrl: receiver.url, token: MESSAGING_TOKEN };
}

/** Waiting for a moment is what this is about: no event tells when a machine kills a process. */
function moment(delayMs: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(delayMs, resolve));
}

/** Waits until nothing but what can only be due later is left. */
export async function drain(server: RunningProgram): Promise<void> {
  const endMs = systemClock.monotonicMs() + DRAIN_MS_MAX;
  while ((await readFigure(server, "unfinished_messages")) > 0 && systemClock.monotonicMs() < endMs)
    await moment(POLL_MS);
}

async function readFigure(server: RunningProgram, name: string): Promise<number> {
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`larder_messaging_${name}{`));
  if (line === undefined) throw new Error(`the figures say nothing of ${name}`);
  return Number(line.slice(line.lastIndexOf(" ")));
}

async function deadLetterIds(target: Target): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let cursor: string | undefined = "";
  while (cursor !== undefined) {
    const answer = await send(target, "GET", `/v2/dlq?count=100${cursor === "" ? "" : `&cursor=${cursor}`}`, {});
    if (answer?.status !== 200) throw new Error(`the dead-letter queue cannot be listed: ${answer?.body}`);
    const page = JSON.parse(answer.body) as { messages: { messageId: string }[]; cursor?: string };
    for (const { messageId } of page.messages) counts.set(messageId, (counts.get(messageId) ?? 0) + 1);
    cursor = page.cursor;
  }
  return counts;
}

/** Adds to the summary what became of everything that was acknowledged, and what is wrong with it. */
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
      if (successes.length > 0) damages.push(`message ${number} was cancelled and is delivered`);
    } else if (kind === "bad") {
      summary.deadLetters += 1;
      if (dead.get(messageId) !== 1)
        damages.push(`message ${number} is ${dead.get(messageId) ?? 0} times a dead letter`);
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
        damages.push(`message ${number} is delivered again, and no kill hid its first delivery`);
    }
  }
  summary.duplicates += duplicates;
  summary.repeated += repeated;
  // The starts of the youngest calls were not written yet, so the program knows nothing of them.
  const bound = repeated + killsMs.length * defaultLimits.originParallelism;
  if (duplicates > bound) damages.push(`${duplicates} are delivered again, and at most ${bound} calls were under way`);
}
