/**
 * Keyspace notifications compared with a real redis-server 7.0.15: random programs of
 * every family, sent to both, notify their subscribers of the same events after each
 * command. Expiries are left out, since only the server's clock advances.
 *
 * Run again: LARDER_DIFFERENTIAL_SEED=<seed> npm run t -- test/differential/keyspace-events.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { joinLine, startSession } from "../harness/store-harness.ts";
import { besideRedis } from "./beside-redis.ts";
import { isSame } from "./compare.ts";
import { emptyServer } from "./empty-server.ts";
import { families } from "./families.ts";
import { type Command, drawProgram, type Family } from "./programs.ts";
import type { RedisProcess } from "./redis-process.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");
const limit = allowanceOf("keyspace-events");

const SETTING: Command = ["CONFIG", "SET", "notify-keyspace-events", "KEg$lshzedtnm"];
/** Published after each command, so that its events can be separated. */
const MARK = "mark";
/** The last second that we distinguish from later ones. */
const CUT_SECONDS = 281_474_976_710;

/** The events of each command, as `channel payload`. */
class EventLog {
  readonly ofCommands: string[][] = [];
  #current: string[] = [];
  #wake: (() => void) | undefined;

  hear(channel: string, payload: string): void {
    if (channel === MARK) {
      this.ofCommands.push(this.#current);
      this.#current = [];
      this.#wake?.();
    } else this.#current.push(`${channel} ${payload}`);
  }

  async until(count: number): Promise<void> {
    while (this.ofCommands.length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  clear(): void {
    this.ofCommands.length = 0;
    this.#current = [];
  }
}

const listeners = new WeakMap<RedisProcess, EventLog>();

async function listenerOf(redis: RedisProcess): Promise<EventLog> {
  const known = listeners.get(redis);
  if (known !== undefined) return known;
  const log = new EventLog();
  await redis.listen("*", (channel, payload) => log.hear(channel, payload));
  await redis.call(SETTING);
  listeners.set(redis, log);
  return log;
}

/** Sends the commands to both and compares the events of subscribers after each. */
async function compare(redis: RedisProcess, commands: readonly Command[], name: string): Promise<void> {
  const theirs = await listenerOf(redis);
  const nowMs = await emptyServer(redis);
  const ours = new EventLog();
  const { database, call } = startSession({ clock: new VirtualClock(nowMs) });
  const subscriber = database.pubsub.open({
    receive: (push) => {
      if (push.kind === "pmessage") ours.hear(push.channel, push.payload);
    },
    drop: () => {},
  });
  database.pubsub.subscribePattern(subscriber, "*");
  call(...SETTING);
  const ourReplies = commands.map((command) => {
    const reply = call(...command);
    call("PUBLISH", MARK, "");
    return reply;
  });
  // Emptying has events too, which come before this mark.
  theirs.clear();
  await redis.call(["PUBLISH", MARK, ""]);
  await theirs.until(1);
  theirs.clear();
  const theirReplies = await redis.pipeline(commands.flatMap((command) => [command, ["PUBLISH", MARK, ""]]));
  await theirs.until(commands.length);
  for (const [index, command] of commands.entries()) {
    const isRefused = kindOf(ourReplies[index]) === "error" || kindOf(theirReplies[2 * index]) === "error";
    const countsMisses = !isRefused && !/^sort/i.test(command[0] ?? "");
    const ourEvents = comparable(ours.ofCommands[index] ?? [], countsMisses);
    const theirEvents = comparable(theirs.ofCommands[index] ?? [], countsMisses);
    if (isSame(ourEvents, theirEvents)) continue;
    const before = commands.slice(Math.max(0, index - 10), index).map(shown);
    assert.deepEqual(ourEvents, theirEvents, `${name}: events of ${shown(command)}\nbehind\n${before.join("\n")}`);
  }
}

/** EXPIRE with GT or LT and a time after the year 10889, which we store as that year (skip-list.ts). */
function comparesCutMoments(command: Command): boolean {
  return command.some((word) => /^(?:gt|lt)$/i.test(word)) && command.some((word) => Number(word) >= CUT_SECONDS);
}

/** Consumers without pending entries are created, and so removed, by other commands than in Redis 7.0 (skip-list.ts). */
const CONSUMER = /^__keyevent@0__:xgroup-(?:create|del)consumer |^__keyspace@0__:.* xgroup-(?:create|del)consumer$/s;

const MISS = /^__keyevent@0__:keymiss |^__keyspace@0__:.* keymiss$/s;

/**
 * Misses come first, in a separate order: keys are looked up in the order of differing hash tables. Misses of a refused
 * command do not count: its words may be read before or after the keys. Nor do those of SORT, where the equal element
 * that is looked up is undefined.
 */
function comparable(events: readonly string[], countsMisses: boolean): readonly string[] {
  const misses = countsMisses ? events.filter((event) => MISS.test(event)).toSorted() : [];
  return [...misses, ...events.filter((event) => !MISS.test(event) && !CONSUMER.test(event))];
}

/** The start of a line, enough to recognize it. */
function shown(command: Command): string {
  return joinLine(command).slice(0, 200);
}

async function runFamily(redis: RedisProcess, family: Family): Promise<number> {
  const startMs = systemClock.monotonicMs();
  let commandCount = 0;
  for (let number = seed; ; number += 1) {
    const { steps } = drawProgram(family, { seed: number, extensions: false });
    const commands = steps.flat().filter((command) => !comparesCutMoments(command));
    await compare(redis, commands, `${family.name}, SEED=${number}`);
    commandCount += commands.length;
    const isDone =
      "count" in limit ? commandCount >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs;
    if (isDone) return commandCount;
  }
}

besideRedis((redis) => {
  for (const family of families) {
    test(`${family.name}: random programs notify of the same events as Redis`, async (context) => {
      const commandCount = await runFamily(redis(), family);
      context.diagnostic(`${family.name}: SEED=${seed}: ${commandCount} commands`);
    });
  }

  test("flags are read and printed as Redis does", async () => {
    const texts = [
      "",
      "K",
      "E",
      "KE",
      "A",
      "KEA",
      "AK",
      "xE",
      "Kg$lshzxedt",
      "KEtdexzhsl$g",
      "Kn",
      "KAn",
      "En",
      "nx$gEK",
      "Km",
      "AmE",
    ];
    const { call } = startSession();
    for (const text of [...texts, "Q", "KEAQ", "k"]) {
      const words = ["CONFIG", "SET", "notify-keyspace-events", text];
      assert.equal(kindOf(call(...words)), kindOf(await redis().call(words)), text);
      const theirs = await redis().call(["CONFIG", "GET", "notify-keyspace-events"]);
      const ours = call("CONFIG", "GET", "notify-keyspace-events");
      assert.deepEqual(JSON.stringify(ours).includes(JSON.stringify(theirs)), true, `${text}: ${JSON.stringify(ours)}`);
    }
  });
});

function kindOf(reply: unknown): "error" | "well" {
  return typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "error" ? "error" : "well";
}
