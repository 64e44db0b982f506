import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { frameOf } from "../../../test/harness/history-events.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { silentLog } from "../../kernel/log.ts";
import type { HistoryQuery } from "../../persistence/history/query.ts";
import { MemoryHistory } from "./memory-history.ts";

const eventsModule = new URL("../../../test/harness/history-events.ts", import.meta.url).href;
const HOUR_MS = 3_600_000;
const all: HistoryQuery = { user: 1, attributes: new Map(), order: "earliest first", count: 1_000 };

async function open(t: TestContext, bytesMax?: number) {
  const clock = new VirtualClock();
  const history = await MemoryHistory.open({ retentionMs: HOUR_MS, log: silentLog, clock, eventsModule }, bytesMax);
  t.after(() => history.close());
  let position = 0;
  const accept = (message: number, state = 0): void => {
    position += 1;
    history.append(frameOf({ message, moves: [[message, clock.nowMs(), state]] }), position);
  };
  const listed = async (): Promise<number[]> => {
    const { entries } = await history.list(all);
    return entries.map(({ entry }) => entry.message);
  };
  return { history, clock, accept, listed };
}

test("a listing shows messages appended before it", async (t) => {
  const { accept, listed, history } = await open(t);
  accept(1);
  accept(2);

  assert.deepEqual(await listed(), [1, 2]);
  assert.equal(history.position, 2);
});

test("frames are written within 50 ms without a listing", async (t) => {
  const { accept, clock, history } = await open(t);
  accept(1);
  assert.equal(history.position, 0);

  clock.advance(50);

  assert.equal(history.position, 1);
});

test("removes entries older than the retention", async (t) => {
  const { accept, clock, listed } = await open(t);
  accept(1);
  clock.advance(HOUR_MS / 2);
  accept(2);
  clock.advance(HOUR_MS / 2 + 60_000);

  assert.deepEqual(await listed(), [2]);
});

test("removes the oldest entries when the memory is used up", async (t) => {
  const { accept, clock, listed, history } = await open(t, 2 * 1024 * 1024);
  for (let n = 0; n < 20_000; n += 1) {
    accept(n, 4);
    if (n % 100 === 0) clock.advance(50);
  }

  const { entries } = await history.list({ ...all, order: "latest first", count: 1 });
  assert.equal(entries[0]?.entry.message, 19_999);
  assert.ok(((await listed())[0] ?? 0) > 2_000);
});
