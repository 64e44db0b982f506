import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { DoubtfulOutcome, type Renewal, type ShardEpoch } from "../log-store/log-store.ts";
import { ConfirmedReads } from "./confirmed-reads.ts";
import { Lease } from "./lease.ts";
import { Renewals } from "./renewals.ts";

const LEASE_ORIGIN_MS = 1e9;

/** A node whose renewals are answered by hand. */
class Renewing {
  readonly clock = new VirtualClock();
  /** By a clock with another origin, as in the program. */
  readonly lease = new Lease({
    nowMs: () => this.clock.nowMs(),
    monotonicMs: () => this.clock.monotonicMs() + LEASE_ORIGIN_MS,
  });
  /** When each renewal was sent, by the monotonic clock. */
  readonly sentMs: number[] = [];
  readonly lost: string[] = [];
  readonly lines: string[] = [];
  owned: readonly ShardEpoch[] = [];
  outages = 0;
  readonly renewals: Renewals;
  #answer: PromiseWithResolvers<Renewal | undefined> | undefined;

  constructor() {
    const { clock, lease, lines } = this;
    const log = createLog({ level: "warn", format: "text", clock, sink: (line) => lines.push(line.slice(25, -1)) });
    this.renewals = new Renewals({
      store: {
        renew: () => {
          this.sentMs.push(clock.monotonicMs());
          this.#answer = Promise.withResolvers();
          return this.#answer.promise;
        },
      },
      life: "life",
      clock,
      log,
      lease,
      engineMs: () => clock.nowMs(),
      owned: () => this.owned,
      onOutage: () => {
        this.outages += 1;
      },
      onLost: (reason) => {
        this.lost.push(reason);
        this.renewals.stop();
      },
    });
    this.renewals.start();
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advanceAsync(ms);
  }

  async answer(facts: Partial<Renewal> = {}): Promise<void> {
    this.#answer?.resolve({ beat: this.sentMs.length, storeClockMs: this.clock.nowMs(), owned: [], ...facts });
    await this.advance(0);
  }

  async answerNothing(): Promise<void> {
    this.#answer?.resolve(undefined);
    await this.advance(0);
  }

  async fail(): Promise<void> {
    this.#answer?.reject(new DoubtfulOutcome("The connection was lost"));
    await this.advance(0);
  }
}

test("a lease is renewed each 1.5 s, from sending to sending", async () => {
  const node = new Renewing();
  await node.advance(400);
  await node.answer();
  await node.advance(1_100);
  await node.answer();
  await node.advance(1_500);
  assert.deepEqual(node.sentMs, [0, 1_500, 3_000]);
  assert.equal(node.lease.isFresh(), true);
});

test("a renewal that fails extends nothing and is repeated", async () => {
  const node = new Renewing();
  await node.fail();
  assert.equal(node.lease.isFresh(), false);
  assert.equal(node.outages, 1);
  await node.advance(250);
  assert.deepEqual(node.sentMs, [0, 250]);
  await node.answer();
  assert.equal(node.lease.isFresh(), true);
});

test("a renewal that takes more than 2 s is a sign of an outage, before its end and at its end", async () => {
  const node = new Renewing();
  await node.advance(2_000);
  assert.equal(node.renewals.isSlow, false);
  await node.advance(1);
  assert.equal(node.renewals.isSlow, true);
  await node.answer();
  assert.equal(node.renewals.isSlow, false);
  assert.equal(node.outages, 1);
});

test("a renewal without a row ends the node", async () => {
  const node = new Renewing();
  await node.answerNothing();
  assert.deepEqual(node.lost, ["The node was declared dead"]);
  await node.advance(10_000);
  assert.deepEqual(node.sentMs, [0]);
});

test("a shard that the renewal does not list under its epoch ends the node", async () => {
  for (const owned of [[], [{ shard: 3, epoch: 8 }]]) {
    const node = new Renewing();
    await node.answer();
    node.owned = [{ shard: 3, epoch: 7 }];
    await node.advance(1_500);
    await node.answer({ owned });
    assert.deepEqual(node.lost, ["Shard 3 is no longer owned under epoch 7"]);
  }
});

test("a shard that was claimed or released while the renewal was under way is not missed", async () => {
  const node = new Renewing();
  node.owned = [{ shard: 3, epoch: 7 }];
  await node.answer({ owned: [{ shard: 3, epoch: 7 }] });
  await node.advance(1_500);
  node.owned = [{ shard: 4, epoch: 1 }];
  await node.answer({ owned: [] });
  assert.deepEqual(node.lost, []);
});

test("a clock that differs is warned of, and counted only beyond the time of the answer", async () => {
  const node = new Renewing();
  const wallMs = node.clock.nowMs();
  await node.advance(300);
  await node.answer({ storeClockMs: wallMs + 100 });
  assert.equal(node.renewals.skewMs, 0);
  await node.advance(1_200);
  await node.answer({ storeClockMs: node.clock.nowMs() - 600 });
  assert.equal(node.renewals.skewMs, 600);
  await node.advance(1_500);
  await node.answer({ storeClockMs: node.clock.nowMs() + 5_001 });
  assert.equal(node.renewals.skewMs, -5_001);
  assert.deepEqual(node.lines, [
    "warn  clock differs from that of PostgreSQL skewMs=600",
    "error clock differs from that of PostgreSQL: this node claims no shard skewMs=-5001",
  ]);
});

test("reads of one turn are confirmed by one renewal that is sent after them", async () => {
  const node = new Renewing();
  const reads = new ConfirmedReads(node.renewals);
  await node.answer();
  assert.equal(reads.isFresh(), false);
  let confirmed = 0;
  for (let i = 0; i < 3; i += 1)
    void reads.whenFresh().then(() => {
      confirmed += 1;
    });
  assert.deepEqual(node.sentMs, [0]);
  await node.advance(0);
  assert.equal(node.sentMs.length, 2);
  assert.equal(confirmed, 0);
  await node.answer();
  assert.equal(confirmed, 3);
});

test("a renewal that is under way confirms no read, and neither does one that fails", async () => {
  const node = new Renewing();
  const reads = new ConfirmedReads(node.renewals);
  let isConfirmed = false;
  void reads.whenFresh().then(() => {
    isConfirmed = true;
  });
  await node.answer();
  assert.equal(isConfirmed, false);
  await node.advance(0);
  assert.equal(node.sentMs.length, 2);
  await node.fail();
  await node.advance(250);
  assert.equal(isConfirmed, false);
  assert.equal(node.sentMs.length, 3);
  await node.answer();
  assert.equal(isConfirmed, true);
});
