/**
 * Blocking commands, compared with a real redis-server 7.0.15: random programs of
 * several connections get the same replies, including blocked ones, and leave the
 * same keys; the journal rebuilds them.
 *
 * Run again: LARDER_DIFFERENTIAL_SEED=<seed> npm run t -- test/differential/waiting.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import type { Reply } from "../../src/store/reply/reply.ts";
import type { Waiters } from "../../src/store/session/waiters.ts";
import { allowanceOf } from "../budget.ts";
import { contentOf, RecordingJournal, replayed } from "../harness/recording-journal.ts";
import { seedFrom } from "../harness/seed.ts";
import { joinLine, type Session, startSession } from "../harness/store-harness.ts";
import { connect, transact, type WaitingCaller } from "../harness/waiting-callers.ts";
import { besideRedis } from "./beside-redis.ts";
import { exact, isList, isSame, rawReply, showReply } from "./compare.ts";
import { asStreamInfo } from "./families/stream.ts";
import type { Command } from "./programs.ts";
import type { RawReply, RedisConnection, RedisProcess } from "./redis-process.ts";
import { CONNECTION_COUNT, WaitingDraw, type WaitingStep } from "./waiting-programs.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");
const limit = allowanceOf("waiting");

const PROGRAM_STEPS = 80;
/** The maximum time for an expected reply of Redis. */
const REPLY_MS_MAX = 10_000;

/** A connection to both servers. */
class Pair {
  readonly ours: WaitingCaller;
  readonly theirs: RedisConnection;
  readonly #ourReplies: Reply[] = [];
  readonly #theirReplies: RawReply[] = [];
  #wake: () => void = () => {};

  constructor(session: Session, theirs: RedisConnection) {
    this.ours = connect(session, (reply) => this.#ourReplies.push(reply));
    this.theirs = theirs;
  }

  get theirReplyCount(): number {
    return this.#theirReplies.length;
  }

  send(commands: readonly Command[], ourReply: Reply): void {
    const isLater =
      typeof ourReply === "object" && ourReply !== null && "kind" in ourReply && ourReply.kind === "later";
    if (!isLater) this.#ourReplies.push(ourReply);
    void this.theirs.send(commands).then(
      (replies) => {
        this.#theirReplies.push(replies.at(-1) as RawReply);
        this.#wake();
      },
      // The connection is closed.
      () => {},
    );
  }

  /** True if Redis has served the client with no entries, and it waits here. It then no longer waits here either. */
  stopsWaitingForNone(waiters: Waiters): boolean {
    const { waiting, isWaiting } = this.ours;
    const [theirs = null] = this.#theirReplies;
    if (!isWaiting || waiting === undefined || !isServedNone(theirs)) return false;
    waiters.leave(waiting);
    this.#theirReplies.length = 0;
    return true;
  }

  /** Waits until Redis has answered as often as we have, and compares. */
  async compare(what: () => string): Promise<void> {
    while (this.#theirReplies.length < this.#ourReplies.length) {
      const cancel = systemClock.after(REPLY_MS_MAX, () => this.#wake());
      const count = this.#theirReplies.length;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      cancel();
      if (this.#theirReplies.length === count)
        assert.fail(`Redis does not answer ${showOurs(this.#ourReplies)}\n${what()}`);
    }
    for (const [index, ours] of this.#ourReplies.splice(0).entries()) {
      const theirs = this.#theirReplies[index] as RawReply;
      const raw = rawReply(ours);
      if (!isSame(raw, theirs) && !areAwokenErrors(raw, theirs))
        assert.fail(`ours:   ${showReply(raw)}\ntheirs: ${showReply(theirs)}\n${what()}`);
    }
    this.#theirReplies.length = 0;
  }
}

/** Redis 7.0 serves a client whose new entries were deleted again with none. Later versions let it wait, as here. */
function isServedNone(reply: RawReply): boolean {
  if (!isList(reply)) return false;
  return reply.every((stream) => {
    const [, entries = null] = isList(stream) ? stream : [];
    return isList(entries) && entries.length === 0;
  });
}

/** The errors of an awoken reader: Redis 7.0 has texts of its own, later versions those that the command has then. */
const AWOKEN_ERRORS = /^(?:NOGROUP|UNBLOCKED the stream key|WRONGTYPE)/;

function areAwokenErrors(...replies: readonly RawReply[]): boolean {
  return replies.every(
    (reply) => typeof reply === "object" && reply !== null && "error" in reply && AWOKEN_ERRORS.test(reply.error.text),
  );
}

function showOurs(replies: readonly Reply[]): string {
  return replies.map((reply) => showReply(rawReply(reply))).join(" ");
}

/** Resolves when as many clients wait at Redis as here, or when it has answered a client that should wait. */
async function untilAsManyWait(
  redis: RedisProcess,
  waiters: Waiters,
  { pairs, what }: { readonly pairs: readonly Pair[]; readonly what: () => string },
): Promise<void> {
  const startMs = systemClock.monotonicMs();
  for (;;) {
    const text = String(await redis.call(["INFO", "clients"]));
    // After the other replies have arrived, and before one of them counts as an answer.
    for (const pair of pairs) pair.stopsWaitingForNone(waiters);
    const theirs = Number(/blocked_clients:(\d+)/.exec(text)?.[1]);
    const hasAnswered = pairs.some((pair) => pair.ours.isWaiting && pair.theirReplyCount > 0);
    if (theirs === waiters.count || hasAnswered) return;
    const tookMs = systemClock.monotonicMs() - startMs;
    if (tookMs >= REPLY_MS_MAX) assert.fail(`${waiters.count} wait here, ${theirs} at Redis\n${what()}`);
  }
}

function show(step: WaitingStep): string {
  if (step.kind === "leave") return `${step.by}: leaves`;
  const lines = step.kind === "command" ? [step.command] : step.commands;
  return `${step.by}: ${lines.map(joinLine).join(" ; ")}`;
}

async function runProgram(redis: RedisProcess, number: number): Promise<number> {
  await redis.call(["FLUSHALL"]);
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  const { waiters } = session.database;
  const draw = new WaitingDraw(number);
  const pairs: Pair[] = [];
  for (let i = 0; i < CONNECTION_COUNT; i += 1) pairs.push(new Pair(session, await redis.connect()));
  const steps: WaitingStep[] = [];
  const what = (): string => `program ${number}\n${steps.slice(-25).map(show).join("\n")}`;
  while (steps.length < PROGRAM_STEPS) {
    const canSpeak = [...pairs.keys()].filter((index) => pairs[index]?.ours.isWaiting === false);
    const step = draw.step(canSpeak);
    steps.push(step);
    const pair = pairs[step.by] as Pair;
    if (step.kind === "leave") {
      if (pair.ours.waiting !== undefined) waiters.leave(pair.ours.waiting);
      pair.theirs.close();
      pairs[step.by] = new Pair(session, await redis.connect());
    } else if (step.kind === "command") {
      pair.send([step.command], pair.ours.run(step.command));
    } else {
      const commands = [["MULTI"], ...step.commands, ["EXEC"]];
      pair.send(commands, transact(session, step.commands));
    }
    // If a client waits here and not there, Redis has answered it, which the comparison of the next turn reports.
    await untilAsManyWait(redis, waiters, { pairs, what });
    for (const one of pairs) await one.compare(what);
    for (const one of pairs) one.stopsWaitingForNone(waiters);
    if (pairs.some((one) => one.theirReplyCount > 0)) assert.fail(`Redis answers a client that waits here\n${what()}`);
  }
  await compareStates(redis, session, what);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store), what());
  for (const { theirs, ours } of pairs) {
    theirs.close();
    if (ours.waiting !== undefined) waiters.leave(ours.waiting);
  }
  await untilAsManyWait(redis, waiters, { pairs: [], what });
  return steps.length;
}

async function compareStates(redis: RedisProcess, session: Session, what: () => string): Promise<void> {
  const keys = session.call("KEYS", "*") as readonly string[];
  const commands: Command[] = [["DBSIZE"]];
  for (const key of keys) {
    const type = session.call("TYPE", key) as { readonly text: string };
    if (type.text === "list") commands.push(["LRANGE", key, "0", "-1"]);
    else if (type.text === "zset") commands.push(["ZRANGE", key, "0", "-1", "WITHSCORES"]);
    else if (type.text === "stream") {
      commands.push(["XRANGE", key, "-", "+"], ["XINFO", "GROUPS", key]);
      for (const group of ["g", "h"]) commands.push(["XPENDING", key, group]);
    } else commands.push(["GET", key]);
  }
  const theirs = await redis.pipeline(commands);
  for (const [index, command] of commands.entries()) {
    const ours = rawReply(session.call(...command));
    const comparison = command[0] === "XINFO" ? asStreamInfo : exact;
    if (!comparison({ command, ours, theirs: theirs[index] as RawReply }))
      assert.fail(
        `${joinLine(command)}\nours:   ${showReply(ours)}\ntheirs: ${showReply(theirs[index] as RawReply)}\n${what()}`,
      );
  }
}

besideRedis((redis) => {
  test("several connections, some of them blocked, get the same replies as from Redis", async (context) => {
    context.diagnostic(`LARDER_DIFFERENTIAL_SEED=${seed}`);
    const startMs = systemClock.monotonicMs();
    let stepCount = 0;
    for (let number = seed; ; number += 1) {
      stepCount += await runProgram(redis(), number);
      if ("count" in limit ? stepCount >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs) break;
    }
    context.diagnostic(`${stepCount} commands`);
  });
});
