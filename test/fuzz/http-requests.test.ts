/**
 * Random and hostile streams of HTTP/1 requests, read by Node's module and by our
 * own reader, whose requests must be the same, with the same bodies.
 *
 * (1) However a stream is cut, our reader sees the same.
 * (2) Our reader sees the requests that Node's sees, at the same places, so nothing
 *     can be smuggled past one of them to the other.
 * (3) Where only one of them refuses, a row of `http/differences.ts` says why.
 *
 * Run again:  LARDER_HTTP_SEED=… npm run t -- test/fuzz/http-requests.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../src/kernel/random.ts";
import { allowanceOf, spending } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { reasonsOf } from "./http/differences.ts";
import { isSame, type Reading, readAll } from "./http/readings.ts";
import { cut, drawStream } from "./http/streams.ts";

const seed = seedFrom("LARDER_HTTP_SEED");

/** Streams that are read side by side. */
const BATCH = 32;

test("our reader of HTTP sees the requests that Node's sees, however a stream is cut", async (context) => {
  const isSpent = spending(allowanceOf("http-requests"));
  const random = seededRandom(seed);
  let count = 0;
  const outcomes = new Map<string, number>();
  while (!isSpent(count)) {
    const streams = Array.from({ length: BATCH }, () => {
      const bytes = Buffer.from(drawStream(random), "latin1");
      return { bytes, packets: cut(bytes, random) };
    });
    const whole = streams.map(({ bytes }) => [bytes]);
    const ours = await readAll("larder", whole);
    const oursCut = await readAll(
      "larder",
      streams.map(({ packets }) => packets),
    );
    const theirs = await readAll("node", whole);
    for (const [i, { bytes }] of streams.entries()) {
      const readings = [ours[i], oursCut[i], theirs[i]] as [Reading, Reading, Reading];
      for (const outcome of await outcomesOf(bytes, ...readings))
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    count += BATCH;
  }
  context.diagnostic(`seed ${seed}: ${count} streams, ${JSON.stringify(Object.fromEntries(outcomes))}`);
  for (const outcome of ["same, open", "same, refused"]) assert.ok(outcomes.has(outcome), `no stream was: ${outcome}`);
});

/** How the readings of a stream ended, or why they differ. Throws if no difference of the list says so. */
async function outcomesOf(bytes: Buffer, ours: Reading, oursCut: Reading, theirs: Reading): Promise<readonly string[]> {
  const label = (): string => `seed ${seed}: ${JSON.stringify(bytes.latin1Slice())}`;
  if (!isSame(ours, oursCut)) assert.deepEqual(seen(oursCut), seen(ours), `cut ${label()}`);
  if (isSame(ours, theirs)) return [`same, ${ours.end}`];
  const reasons = await reasonsOf(bytes, ours, theirs);
  if (reasons === undefined) assert.deepEqual(seen(ours), seen(theirs), label());
  return reasons ?? [];
}

function seen({ requests, end }: Reading): Pick<Reading, "requests" | "end"> {
  return { requests, end };
}
