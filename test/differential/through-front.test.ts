/**
 * Redis clients of a node that owns nothing, compared with clients of a real
 * redis-server 7.0.15: the same bytes go to both, and every reply must be the same,
 * those to malformed requests too. The node passes its connections on to the one
 * with the store.
 *
 * Run again: LARDER_DIFFERENTIAL_SEED=<seed> npm run t -- test/differential/through-front.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { allowanceOf, spending } from "../budget.ts";
import { startFrontPort } from "../harness/cluster/resp-node.ts";
import { seedFrom } from "../harness/seed.ts";
import { joinLine, startSession } from "../harness/store-harness.ts";
import { besideRedis } from "./beside-redis.ts";
import { exact, isList, showReply } from "./compare.ts";
import { emptyServer } from "./empty-server.ts";
import { asCopy } from "./families/generic.ts";
import { families } from "./families.ts";
import { type Command, drawProgram, type Family } from "./programs.ts";
import { connectTo, type RawReply, type RedisProcess } from "./redis-process.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");
const limit = allowanceOf("front-families");

const isTransaction = (step: readonly Command[]): boolean => step.length > 1;

/** Sends one program to both. Returns the count of its commands. */
async function compareProgram(redis: RedisProcess, family: Family, programSeed: number): Promise<number> {
  const { steps } = drawProgram(family, { seed: programSeed, extensions: false });
  const sent = steps.flatMap((step) => (isTransaction(step) ? [["MULTI"], ...step, ["EXEC"]] : step));
  const clock = new VirtualClock(await emptyServer(redis));
  const front = await startFrontPort(startSession({ clock }));
  const client = await connectTo(front.port);
  try {
    const theirs = await redis.pipeline(sent);
    const ours = await client.send(sent);
    let queued: Command[] | undefined;
    for (const [index, command] of sent.entries()) {
      const [name = ""] = command;
      const reply: readonly [RawReply, RawReply] = [ours[index] ?? null, theirs[index] ?? null];
      if (name === "EXEC" && queued !== undefined && isList(reply[0]) && isList(reply[1]))
        for (const [at, each] of queued.entries())
          compare(family, { command: each, ours: reply[0][at] ?? null, theirs: reply[1][at] ?? null }, programSeed);
      else if (queued !== undefined) compare(undefined, { command, ours: reply[0], theirs: reply[1] }, programSeed);
      else compare(family, { command, ours: reply[0], theirs: reply[1] }, programSeed);
      if (name === "MULTI") queued = [];
      else if (name === "EXEC") queued = undefined;
      else queued?.push(command);
    }
  } finally {
    client.close();
    // The next program need not wait until the ports for other nodes are closed, which they are half a second later.
    void front.close(0);
  }
  return sent.length;
}

interface Compared {
  readonly command: Command;
  readonly ours: RawReply;
  readonly theirs: RawReply;
}

/** Without a family: reply for reply, as those of commands that a transaction queues. */
function compare(family: Family | undefined, exchange: Compared, programSeed: number): void {
  const name = (exchange.command[0] ?? "").toUpperCase();
  const comparison =
    family === undefined ? exact : (family.comparisons?.get(name) ?? (name === "COPY" ? asCopy : exact));
  const { command, ours, theirs } = exchange;
  assert.ok(
    comparison(exchange) || comparison({ command, ours: withShortDoubles(ours), theirs: withShortDoubles(theirs) }),
    `SEED=${programSeed}: ${joinLine(exchange.command)}\n  ours:  ${showReply(exchange.ours)}\n  redis: ${showReply(exchange.theirs)}`,
  );
}

const DOUBLE = /^-?\d+(?:\.\d+)?(?:e[+-]\d+)?$/;

/** Redis 7.0 prints doubles with 17 digits, and we print the shortest text of the same number. */
function withShortDoubles(reply: RawReply): RawReply {
  if (isList(reply)) return reply.map(withShortDoubles);
  return typeof reply === "string" && DOUBLE.test(reply) ? String(Number(reply)) : reply;
}

besideRedis((redis) => {
  for (const family of families)
    test(`${family.name}: a node that owns nothing answers as Redis does`, async (context) => {
      const isSpent = spending(limit);
      let commandCount = 0;
      for (let program = 0; !isSpent(commandCount); program += 1)
        commandCount += await compareProgram(redis(), family, seed + program);
      context.diagnostic(`SEED=${seed}: ${commandCount} commands`);
    });
});
