/**
 * Client-side caching, compared with a real redis-server 7.0.15: connections
 * that track keys in each mode, one that changes keys, and one that others
 * redirect their pushes to. The output of each connection is compared byte by
 * byte after each command, pushes in their order.
 *
 * Left out, because we differ intentionally:
 * - A connection that turns tracking off has nothing remembered when it turns it on again.
 * - Scripts count the keys that they read, as in Redis since 7.2; here they read the keys that they declare.
 * - With NOLOOP and BCAST, changes of one's own scripts are not pushed; Redis takes a script for another client.
 * - Three prefixes of one command, of which later ones overlap: Redis answers an error, and OK.
 * - Pushes that others cause come after the reply of the running command, as in Redis since 7.2.
 * - A push about all keys has the null of the version of RESP of its receiver.
 *
 * Run again: LARDER_DIFFERENTIAL_SEED=<seed> npm run t -- test/differential/tracking.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { isPushed, type Speaker, startSessions } from "../harness/session-harness.ts";
import { joinLine } from "../harness/store-harness.ts";
import { besideRedis } from "./beside-redis.ts";
import { isSame } from "./compare.ts";
import { Draw } from "./draw.ts";
import { Far, printed, startPort } from "./far-sessions.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");
const limit = allowanceOf("tracking");

const CONNECTION_COUNT = 4;
/** The first two track keys. */
const WRITER = 2;
/** Gets the pushes of others. */
const SINK = 3;
const STEP_COUNT = 150;

const KEYS: readonly Bytes[] = ["a", "b", "ab", "c"];
const PREFIXES: readonly Bytes[] = ["a", "ab", "b", "c", "", "x"];

function drawRead(draw: Draw): Bytes[] {
  const key = draw.pick(KEYS);
  return draw.pick([
    () => ["GET", key],
    () => ["GET", key],
    () => ["MGET", ...draw.list(3, () => draw.pick(KEYS))],
    () => ["EXISTS", key, draw.pick(KEYS)],
    () => ["LRANGE", key, "0", "-1"],
    () => ["TYPE", key],
    () => ["STRLEN"],
    () => ["DBSIZE"],
    () => ["EVAL", "return redis.call('exists', KEYS[1])", "1", key],
    () => ["EVAL_RO", "return redis.call('type', KEYS[1])", "1", key],
  ])();
}

function drawWrite(draw: Draw, at: number): Bytes[] {
  const key = draw.pick(KEYS);
  const other = draw.pick(KEYS);
  return draw.pick([
    () => ["SET", key, "1"],
    () => ["SET", key, "1"],
    () => ["MSET", key, "1", other, "2"],
    () => ["INCR", key],
    () => ["APPEND", key, ""],
    () => ["DEL", key, other],
    () => ["LPUSH", key, "e"],
    () => ["LPOP", key],
    () => ["GETDEL", key],
    () => ["EXPIRE", key, "1000"],
    () => ["PERSIST", key],
    () => (at === WRITER ? ["EVAL", "return redis.call('set', KEYS[1], '1')", "1", key] : ["SET", key, "2"]),
    () => ["FLUSHALL"],
    () => ["SET", key],
  ])();
}

function drawTracking(draw: Draw, self: number): Bytes[] {
  if (draw.oneIn(10)) return ["CLIENT", "TRACKING", "OFF"];
  const words: Bytes[] = ["CLIENT", "TRACKING", draw.oneIn(30) ? "what" : "ON"];
  const kind = draw.below(8);
  if (kind < 3) words.push("BCAST");
  if (kind === 3 || kind === 4) words.push(draw.pick(["OPTIN", "OPTOUT"]));
  if (draw.oneIn(3)) words.push("NOLOOP");
  if (draw.oneIn(3)) words.push("REDIRECT", draw.pick(["$3", "$3", "$3", `$${self}`, "99999", "x"]));
  if (kind < 3 || draw.oneIn(20))
    for (let left = draw.below(3); left > 0; left -= 1) words.push("PREFIX", draw.pick(PREFIXES));
  if (draw.oneIn(15)) words.push(draw.pick(["OPTIN", "OPTOUT", "BCAST", "what", "PREFIX"]));
  return words;
}

/** A command that is possible now, with `$n` for the id of a connection. */
function drawCommand(draw: Draw, at: number, { session }: Speaker): Bytes[] {
  const { transaction, listening } = session;
  if (at === SINK) {
    // Redirections to it are broken from then on.
    if (draw.oneIn(10)) return ["QUIT"];
    if (listening.count > 0 && session.respVersion === 2)
      return draw.pick([["PING"], ["UNSUBSCRIBE", "x"], ["SUBSCRIBE", "x"], ["SUBSCRIBE", "y"]]);
    return draw.pick([
      ["HELLO", "2"],
      ["HELLO", "3"],
      ["SUBSCRIBE", "x"],
      ["SUBSCRIBE", "x"],
      ["PING"],
      ["SET", "a", "1"],
    ]);
  }
  if (at === WRITER) return drawWrite(draw, at);
  if (transaction.isOpen)
    return draw.pick([
      () => drawRead(draw),
      () => drawWrite(draw, at),
      () => ["EXEC"],
      () => ["EXEC"],
      () => ["DISCARD"],
    ])();
  return draw.pick([
    () => drawRead(draw),
    () => drawRead(draw),
    () => drawRead(draw),
    () => drawWrite(draw, at),
    () => drawTracking(draw, at),
    () => drawTracking(draw, at),
    () => ["CLIENT", "CACHING", draw.pick(["YES", "YES", "NO", "NO", "what"])],
    () => ["CLIENT", draw.pick(["TRACKINGINFO", "GETREDIR", "GETNAME"])],
    () => ["HELLO", draw.pick(["2", "3", "3"])],
    () => ["MULTI"],
    () => ["PING"],
    () => (draw.oneIn(3) ? ["RESET"] : ["PING"]),
  ])();
}

/** After it, the tables of Redis and ours may differ until all keys are flushed. */
function endsTracking(command: readonly Bytes[]): boolean {
  return command[0] === "RESET" || command[2] === "OFF";
}

/** The id of a connection in a reply, and the null of a push about all keys. */
function comparable(text: Bytes, ids: readonly number[], isId: boolean): Bytes {
  let shown = text.replace(/(\$2\r\nid\r\n):\d+/g, "$1:0").replaceAll("invalidate\r\n$-1\r\n", "invalidate\r\n_\r\n");
  for (const [index, id] of ids.entries())
    shown = shown
      .replaceAll(`redirect\r\n:${id}\r\n`, `redirect\r\n:#${index}\r\n`)
      .replaceAll(`redir-broken\r\n:${id}\r\n`, `redir-broken\r\n:#${index}\r\n`)
      .replace(new RegExp(`^:${id}\r\n$`), isId ? `:#${index}\r\n` : "$&");
  const [pushes, rest] = parted(shown);
  return rest + pushes;
}

const PUSH =
  /[>*]\d\r\n\$(?:10\r\ninvalidate|7\r\nmessage\r\n\$20\r\n__redis__:invalidate)\r\n(?:_\r\n|\*(\d+)\r\n(?:\$\d+\r\n[a-c]+\r\n)+)|>2\r\n\$21\r\ntracking-redir-broken\r\n:#\d\r\n/g;

/** Pushes, and the rest. */
function parted(text: Bytes): [Bytes, Bytes] {
  return [(text.match(PUSH) ?? []).join(""), text.replace(PUSH, "")];
}

async function idsOf(ports: ReadonlyMap<string, number>, fars: readonly Far[], speakers: readonly Speaker[]) {
  assert.equal(ports.size, fars.length);
  const ids = new Map<Far | undefined, readonly number[]>([[undefined, speakers.map(({ session }) => session.id)]]);
  for (const far of fars) {
    const own: number[] = [];
    for (let at = 0; at < CONNECTION_COUNT; at += 1) {
      const none = Array.from({ length: CONNECTION_COUNT }, (_, index) => (index === at ? ":1\r\n" : ""));
      own.push(Number((await far.say(at, ["CLIENT", "ID"], none))[at]?.slice(1)));
    }
    ids.set(far, own);
  }
  return ids;
}

async function runProgram(ports: ReadonlyMap<string, number>, programSeed: number): Promise<number> {
  const draw = new Draw(programSeed);
  const { connect } = startSessions({ hasScripts: true });
  const speakers = Array.from({ length: CONNECTION_COUNT }, () => connect());
  const fars = await Promise.all(
    [...ports].map(([name, port]) => Far.open(name, { port, connectionCount: CONNECTION_COUNT })),
  );
  const said: string[] = [];
  try {
    const ids = await idsOf(ports, fars, speakers);
    const wordsFor = (far: Far | undefined, command: readonly Bytes[]): Bytes[] =>
      command.map((word) => (/^\$\d$/.test(word) ? `${ids.get(far)?.[Number(word[1])]}` : word));
    let mustFlush = false;
    for (let step = 0; step < STEP_COUNT; step += 1) {
      const isSinkOpen = speakers[SINK]?.closed === undefined;
      let at = draw.pick([0, 0, 0, 1, 1, WRITER, WRITER, isSinkOpen ? SINK : WRITER]);
      let command = drawCommand(draw, at, speakers[at] as Speaker);
      if (mustFlush) {
        at = WRITER;
        command = ["FLUSHALL"];
      }
      mustFlush = !mustFlush && endsTracking(command);
      said.push(`${at}: ${joinLine(command)}`);
      (speakers[at] as Speaker).session.execute(wordsFor(undefined, command));
      const expected = speakers.map((one) => {
        const all = one.listen();
        return printed(one, [...all.filter((each) => !isPushed(each)), ...all.filter(isPushed)]);
      });
      // Ids differ in length, so it waits for the start of each output.
      const starts = expected.map((text) => text.slice(0, 1));
      const isId = command[1] === "GETREDIR";
      for (const far of fars) {
        const received = await far.say(at, wordsFor(far, command), starts);
        const theirs = received.map((text) => comparable(text, ids.get(far) ?? [], isId));
        const ours = expected.map((text) => comparable(text, ids.get(undefined) ?? [], isId));
        if (!isSame(theirs, ours))
          assert.deepEqual(theirs, ours, `SEED=${programSeed}: ${far.name} after\n  ${said.join("\n  ")}`);
      }
    }
  } finally {
    for (const far of fars) far.close();
  }
  return STEP_COUNT;
}

besideRedis((redis) => {
  test("connections that track keys get the same pushes from our sessions and our port as from Redis", async (context) => {
    const listener = await startPort();
    const ports = new Map([
      ["redis-server", redis().port],
      ["our port", listener.port],
    ]);
    const startMs = systemClock.monotonicMs();
    let commandCount = 0;
    try {
      for (let number = seed; ; number += 1) {
        commandCount += await runProgram(ports, number);
        const isDone =
          "count" in limit ? commandCount >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs;
        if (isDone) break;
      }
    } finally {
      await listener.close(0);
    }
    context.diagnostic(`SEED=${seed}: ${commandCount} commands`);
  });
});
