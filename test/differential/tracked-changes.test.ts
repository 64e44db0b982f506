/**
 * The changes of keys that a client is notified of, compared with a real
 * redis-server 7.0.15: random programs of every family run on a connection that
 * has read all keys, and after each command the same keys are invalid. Redis
 * reports some keys that the command has left as they were (LTRIM that removes
 * nothing), and misses some that have changed (BITFIELD that fails after it has
 * grown the string). We report what has changed.
 *
 * Run again: LARDER_DIFFERENTIAL_SEED=<seed> npm run t -- test/differential/tracked-changes.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pushText } from "../../src/edge/resp/push-text.ts";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { isPushed, startSessions } from "../harness/session-harness.ts";
import { joinLine } from "../harness/store-harness.ts";
import { besideRedis } from "./beside-redis.ts";
import { KEYS } from "./draw.ts";
import { emptyServer } from "./empty-server.ts";
import { jsonFamily } from "./families/json.ts";
import { families } from "./families.ts";
import { Line } from "./far-sessions.ts";
import { type Command, drawProgram, type Family } from "./programs.ts";
import type { RedisProcess } from "./redis-process.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");
const limit = allowanceOf("tracked-changes");

/**
 * The groups of a stream are left out: Redis reports none of their changes, and we report new, moved and removed groups,
 * but not what is pending in them.
 */
const CHANGES_GROUPS = /^x(?:readgroup|ack|claim|autoclaim|group)$/i;
const NOW_MS = Date.UTC(2026, 0, 1);
/** Reads all keys, so that the connection tracks them. */
const READ_ALL: Command = ["EXISTS", ...KEYS];
/** Published after each command, to separate its pushes. */
const MARK = "mark";
const MARK_TEXT = pushText({ kind: "message", channel: MARK, payload: "" }, 2);
const SUBSCRIBED = "*3\r\n$9\r\nsubscribe\r\n$4\r\nmark\r\n:1\r\n";

const INVALIDATED = /\*3\r\n\$7\r\nmessage\r\n\$20\r\n__redis__:invalidate\r\n(\$-1|\*1\r\n\$\d+\r\n)/;

/** The keys of the pushes in the output of a subscriber, sorted. `all`: a flush. */
function keysOf(output: Bytes): Bytes[] {
  const keys: Bytes[] = [];
  for (let rest = output; ; ) {
    const found = INVALIDATED.exec(rest);
    if (found === null) {
      assert.equal(rest, "");
      return keys.sort();
    }
    const [head, operand = ""] = found;
    assert.equal(found.index, 0);
    const length = Number(/\$(-?\d+)/.exec(operand)?.[1]);
    keys.push(length < 0 ? "all" : rest.slice(head.length, head.length + length));
    rest = rest.slice(head.length + Math.max(length, 0) + 2);
  }
}

interface Changes {
  /** The keys of our pushes. */
  readonly pushed: readonly Bytes[];
  /** The keys whose value or expiry is not as it was. */
  readonly changed: readonly Bytes[];
}

/** What each command changes in our store. */
function ourChanges(commands: readonly Command[], nowMs: number): readonly Changes[] {
  const { connect } = startSessions({ hasScripts: true, clock: new VirtualClock(nowMs) });
  const subscriber = connect();
  const client = connect();
  subscriber.say("SUBSCRIBE", MARK);
  client.say("CLIENT", "TRACKING", "ON", "REDIRECT", `${subscriber.session.id}`);
  const observer = connect();
  const stateOf = (key: Bytes): string => {
    const [dump] = observer.say("DUMP", key);
    if (dump === null) return "none";
    // Only a document has an error instead of a dump.
    const value = typeof dump === "string" ? dump : observer.say("JSON.GET", key);
    return JSON.stringify([value, observer.say("PEXPIRETIME", key)]);
  };
  let states = KEYS.map(stateOf);
  return commands.map((command) => {
    client.say(...READ_ALL);
    client.say(...command);
    const before = states;
    states = KEYS.map(stateOf);
    const texts = subscriber.listen().map((one) => (isPushed(one) ? pushText(one, 2) : ""));
    return {
      pushed: keysOf(texts.join("")).filter(isDrawn),
      changed: KEYS.filter((_, index) => states[index] !== before[index]),
    };
  });
}

/** Scripts read other keys too. */
function isDrawn(key: Bytes): boolean {
  return key === "all" || KEYS.includes(key);
}

async function theirChanges(redis: RedisProcess, commands: readonly Command[]): Promise<(readonly Bytes[])[]> {
  const subscriber = await Line.open(redis.port);
  const client = await redis.connect();
  try {
    subscriber.send(["CLIENT", "ID"]);
    await subscriber.until(1);
    const id = subscriber.received.slice(1).trim();
    await subscriber.ask(["SUBSCRIBE", MARK], SUBSCRIBED.length);
    subscriber.received = "";
    await client.send([["CLIENT", "TRACKING", "ON", "REDIRECT", id]]);
    await client.send(commands.flatMap((command) => [READ_ALL, command, ["PUBLISH", MARK, ""]]));
    await client.send([["PING"]]);
    for (let parts = subscriber.received.split(MARK_TEXT); ; parts = subscriber.received.split(MARK_TEXT)) {
      if (parts.length > commands.length) return parts.slice(0, -1).map((part) => keysOf(part).filter(isDrawn));
      await subscriber.until(subscriber.received.length + 1);
    }
  } finally {
    client.close();
    subscriber.close();
  }
}

async function compare(redis: RedisProcess, commands: readonly Command[], name: string): Promise<void> {
  const nowMs = await emptyServer(redis);
  const ours = ourChanges(commands, nowMs);
  const theirs = await theirChanges(redis, commands);
  for (const [index, command] of commands.entries()) {
    if (CHANGES_GROUPS.test(command[0] ?? "")) continue;
    const { pushed, changed } = ours[index] as Changes;
    const reported = theirs[index] ?? [];
    const missed = changed.find((key) => !pushed.includes(key) && !pushed.includes("all"));
    const surplus = pushed.find((key) => !reported.includes(key) && !changed.includes(key));
    if (missed === undefined && surplus === undefined) continue;
    const before = commands.slice(Math.max(0, index - 10), index).map(shown);
    const what = missed === undefined ? `${surplus} does not change in` : `${missed} changes in`;
    assert.fail(`${what} ${name}: ${shown(command)}\nafter\n${before.join("\n")}`);
  }
}

/** The start of a line, enough to recognize it. */
function shown(command: Command): string {
  return joinLine(command).slice(0, 200);
}

async function runFamily(redis: RedisProcess, family: Family): Promise<number> {
  const startMs = systemClock.monotonicMs();
  let commandCount = 0;
  for (let number = seed; ; number += 1) {
    const commands = drawProgram(family, { seed: number, extensions: false }).steps.flat();
    await compare(redis, commands, `${family.name}, SEED=${number}`);
    commandCount += commands.length;
    const isDone =
      "count" in limit ? commandCount >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs;
    if (isDone) return commandCount;
  }
}

test("JSON documents, and commands that Redis 7.0 does not know: each changed key is pushed", () => {
  let changeCount = 0;
  for (const family of [...families, jsonFamily].filter(({ extensions }) => extensions !== undefined)) {
    const commands = drawProgram(family, { seed, extensions: true }).steps.flat();
    for (const [index, { pushed, changed }] of ourChanges(commands, NOW_MS).entries()) {
      const command = commands[index] as Command;
      if (CHANGES_GROUPS.test(command[0] ?? "")) continue;
      changeCount += changed.length;
      for (const key of changed)
        assert.ok(pushed.includes(key) || pushed.includes("all"), `SEED=${seed}: ${key} changes in ${shown(command)}`);
    }
  }
  assert.ok(changeCount > 100, `${changeCount} changes`);
});

besideRedis((redis) => {
  for (const family of families) {
    test(`${family.name}: random programs invalidate the same keys as in Redis`, async (context) => {
      const commandCount = await runFamily(redis(), family);
      context.diagnostic(`${family.name}: SEED=${seed}: ${commandCount} commands`);
    });
  }
});
