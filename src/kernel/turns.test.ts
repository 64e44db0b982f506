import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "./clock.virtual.ts";
import { type EventLoop, type Tenant, Turns } from "./turns.ts";

/** An event loop that turns when the test calls it. */
class TestLoop implements EventLoop {
  #nexts: (() => void)[] = [];
  #afters: (() => void)[] = [];

  nextTurn(task: () => void): void {
    this.#nexts.push(task);
  }

  afterPromises(task: () => void): void {
    this.#afters.push(task);
  }

  get isIdle(): boolean {
    return this.#nexts.length === 0;
  }

  turn(): void {
    const nexts = this.#nexts;
    this.#nexts = [];
    for (const task of nexts) {
      task();
      for (let after = this.#afters.shift(); after !== undefined; after = this.#afters.shift()) after();
    }
  }
}

/** Requests of tenants that take virtual time, and the order in which they ran. */
class Thread {
  readonly clock = new VirtualClock();
  readonly loop = new TestLoop();
  readonly turns = new Turns({ clock: this.clock, loop: this.loop });
  readonly ran: string[] = [];

  tenant(name: string): Tenant {
    return this.turns.tenant("store", name);
  }

  /** A request as an edge handles it: it runs now, or waits. `kind` is known when it runs. */
  request(name: string, ms: number, kind = "PING"): void {
    const tenant = this.tenant(name);
    if (!tenant.mayRun) {
      tenant.queue(() => this.#begin(tenant, ms, kind));
      return;
    }
    const startMs = this.clock.monotonicMs();
    this.#begin(tenant, ms, kind);
    const nowMs = this.clock.monotonicMs();
    tenant.charge(nowMs - startMs, nowMs);
  }

  requests(count: number, name: string, ms: number, kind?: string): void {
    for (let index = 0; index < count; index += 1) this.request(name, ms, kind);
  }

  /** Turns until no work is left at this time. */
  settle(): void {
    while (!this.loop.isIdle) this.loop.turn();
  }

  /** The requests that have run since the last call. */
  take(): readonly string[] {
    return this.ran.splice(0);
  }

  #begin(tenant: Tenant, ms: number, kind: string): void {
    if (tenant.mustWaitFor(kind)) tenant.queue(() => this.#run(tenant, ms, kind), { isHeavy: true, isFirst: true });
    else this.#run(tenant, ms, kind);
  }

  #run(tenant: Tenant, ms: number, kind: string): void {
    tenant.kind = kind;
    this.ran.push(tenant.name);
    this.clock.advance(ms);
  }
}

test("a request runs on arrival while nothing waits and the turn has time", () => {
  const thread = new Thread();
  thread.requests(4, "a", 1);
  assert.deepEqual(thread.take(), ["a", "a", "a", "a"]);
});

test("a turn runs 5 ms of requests on arrival, and the others after the poll", () => {
  const thread = new Thread();
  for (const name of ["a", "b", "c", "d"]) thread.request(name, 2);
  assert.deepEqual(thread.take(), ["a", "b", "c"]);
  thread.loop.turn();
  assert.deepEqual(thread.take(), ["d"]);
});

test("light traffic requests a turn of the event loop once in a millisecond of work", () => {
  const thread = new Thread();
  thread.requests(9, "a", 0.1);
  assert.equal(thread.loop.isIdle, true);
  thread.requests(2, "a", 0.1);
  assert.equal(thread.loop.isIdle, false);
});

test("requests of a tenant run in the order of their arrival", () => {
  const thread = new Thread();
  const tenant = thread.tenant("a");
  for (const ms of [6, 1, 2]) thread.request("a", ms);
  tenant.queue(() => thread.ran.push("last"));
  thread.settle();
  assert.deepEqual(thread.take(), ["a", "a", "a", "last"]);
});

test("S-11: a PING waits for one unit beside 75 queued scripts of one tenant", () => {
  const thread = new Thread();
  thread.requests(75, "bad", 50, "EVAL");
  assert.deepEqual(thread.take(), ["bad"]);
  thread.loop.turn();
  assert.deepEqual(thread.take(), ["bad"]);
  thread.request("good", 0.1);
  thread.loop.turn();
  assert.deepEqual(thread.take(), ["good", "bad"]);
});

test("S-11: a PING waits for one unit beside 75 queued scripts of each of ten tenants", () => {
  const thread = new Thread();
  thread.requests(60, "good", 0.1);
  thread.settle();
  for (let name = 0; name < 10; name += 1) thread.requests(75, `bad${name}`, 50, "EVAL");
  thread.request("good", 0.1);
  assert.deepEqual(thread.take().slice(60), ["bad0"]);
  thread.loop.turn();
  assert.equal(thread.take()[0], "good");
  thread.take();
  for (let round = 0; round < 20; round += 1) {
    thread.request("good", 0.1);
    thread.loop.turn();
    assert.equal(thread.take().indexOf("good"), 0, `round ${round}`);
  }
});

test("waiting tenants get equal times, not equal counts", () => {
  const thread = new Thread();
  thread.requests(200, "large", 20);
  thread.requests(2_000, "small", 1);
  const startMs = thread.clock.monotonicMs();
  while (thread.clock.monotonicMs() - startMs < 1_000) thread.loop.turn();
  const counts = { large: 0, small: 0 };
  for (const name of thread.take()) counts[name as "large" | "small"] += 1;
  assert.ok(counts.large >= 24 && counts.large <= 27, `${counts.large} of 20 ms`);
  assert.ok(counts.small >= 480 && counts.small <= 520, `${counts.small} of 1 ms`);
});

test("waiting tenants get equal times if one of them works on other threads", () => {
  const thread = new Thread();
  const scans = thread.tenant("scans");
  for (let count = 0; count < 200; count += 1) {
    scans.queue(() => {
      thread.ran.push("scans");
      thread.clock.advance(0.1);
      // One of two threads.
      scans.chargeElsewhere({ usedMs: 40, owedMs: 20 });
    });
  }
  thread.requests(2_000, "walks", 1);
  const startMs = thread.clock.monotonicMs();
  while (thread.clock.monotonicMs() - startMs < 1_000) thread.loop.turn();
  const counts = { scans: 0, walks: 0 };
  for (const name of thread.take()) counts[name as "scans" | "walks"] += 1;
  assert.ok(counts.scans >= 48 && counts.scans <= 52, `${counts.scans} of 20.1 ms`);
  assert.ok(counts.walks >= 980, `${counts.walks} of 1 ms`);
  assert.ok(Math.abs(scans.usedMs - counts.scans * 40.1) < 0.001, `${scans.usedMs} ms`);
});

test("work on other threads uses up no turn, and delays no unit that is already first", () => {
  const thread = new Thread();
  const scans = thread.tenant("scans");
  scans.queue(() => thread.ran.push("rest of a scan"));
  scans.chargeElsewhere({ usedMs: 500, owedMs: 500 });
  thread.request("walks", 1);
  thread.loop.turn();
  assert.deepEqual(thread.take(), ["walks", "rest of a scan"]);
  assert.equal(scans.heavyCount, 0);
  // What it requests from now on waits.
  assert.equal(scans.mayRun, false);
  assert.equal(thread.tenant("walks").mayRun, true);
});

test("a tenant that requests one large unit at a time gets no priority", () => {
  const thread = new Thread();
  thread.request("large", 90);
  thread.settle();
  thread.take();
  thread.requests(30, "other", 4);
  // It has nothing waiting, but a debt of 85 ms.
  thread.request("large", 90);
  thread.settle();
  assert.equal(thread.take().indexOf("large"), 23);
});

test("a debt fades with time", () => {
  const thread = new Thread();
  const tenant = thread.tenant("a");
  thread.request("a", 95);
  thread.settle();
  thread.clock.advance(89);
  assert.equal(tenant.mayRun, false);
  thread.clock.advance(2);
  assert.equal(tenant.mayRun, true);
});

test("requests of a tenant that uses the thread alone run on arrival, and it owes nothing", () => {
  const thread = new Thread();
  // One request in a turn, so that the turn never has too little time.
  for (let index = 0; index < 300; index += 1) {
    thread.request("alone", 4);
    thread.settle();
  }
  assert.equal(thread.tenant("alone").mayRun, true);
  assert.ok(thread.tenant("alone").creditMs >= -5);
  thread.take();
  // Both wait from now on, and get the same.
  thread.request("alone", 6);
  for (let index = 0; index < 10; index += 1) for (const name of ["other", "alone"]) thread.request(name, 6);
  thread.settle();
  const shares = thread.take();
  assert.deepEqual(
    ["alone", "other"].map((name) => shares.slice(0, 13).filter((ran) => ran === name).length),
    [7, 6],
  );
});

test("skips rounds in which no tenant has credit", () => {
  const thread = new Thread();
  thread.requests(2, "a", 1_000);
  thread.settle();
  assert.deepEqual(thread.take(), ["a", "a"]);
  assert.ok(thread.tenant("a").creditMs < -900);
});

test("heavy units of one tenant follow each other while no other tenant has requests", () => {
  const thread = new Thread();
  thread.requests(5, "bad", 1_000, "EVAL");
  thread.settle();
  assert.deepEqual(thread.take(), ["bad", "bad", "bad", "bad", "bad"]);
  assert.equal(thread.clock.monotonicMs(), 5_000);
});

test("upkeep of other tenants is not a light request: heavy units still follow each other", () => {
  const thread = new Thread();
  const other = thread.tenant("other");
  thread.requests(4, "bad", 1_000, "EVAL");
  thread.settle();
  thread.take();
  thread.requests(3, "bad", 1_000, "EVAL");
  for (let round = 0; round < 10; round += 1) {
    other.charge(0.1);
    thread.settle();
    thread.clock.advance(10);
  }
  assert.deepEqual(thread.take(), ["bad", "bad", "bad"]);
});

test("upkeep after a heavy unit does not make its kind light", () => {
  const thread = new Thread();
  const tenant = thread.tenant("a");
  thread.request("a", 1_000, "EVAL");
  thread.settle();
  for (let count = 0; count < 10; count += 1) tenant.charge(0.1);
  assert.equal(tenant.isHeavy("EVAL"), true);
});

test("heavy units that ran alone cause no pause when another tenant has requests later", () => {
  const thread = new Thread();
  thread.requests(30, "bad", 1_000, "EVAL");
  thread.settle();
  assert.equal(thread.take().length, 30);
  const startMs = thread.clock.monotonicMs();
  thread.request("good", 0.1);
  thread.request("bad", 1_000, "EVAL");
  while (!thread.take().includes("bad")) {
    thread.request("good", 0.1);
    thread.loop.turn();
    thread.clock.advance(20);
  }
  const waitedMs = thread.clock.monotonicMs() - startMs - 1_000;
  assert.ok(waitedMs >= 2_900 && waitedMs <= 3_100, `the next heavy unit waited ${waitedMs} ms`);
});

test("S-11: heavy units take a quarter of the time while another tenant makes light requests", () => {
  const thread = new Thread();
  thread.requests(75, "bad", 1_000, "EVAL");
  let lightCount = 0;
  while (thread.clock.monotonicMs() < 40_000) {
    thread.request("good", 0.1);
    thread.loop.turn();
    lightCount += thread.take().filter((name) => name === "good").length;
    thread.clock.advance(19);
  }
  const heavyMs = thread.tenant("bad").usedMs;
  assert.ok(heavyMs >= 9_000 && heavyMs <= 11_000, `${heavyMs} ms of heavy units in 40 s`);
  assert.ok(lightCount > 1_400, `${lightCount} light requests`);
});

test("S-11: heavy units of ten tenants together take a quarter of the time", () => {
  const thread = new Thread();
  thread.requests(60, "good", 0.1);
  thread.settle();
  for (let name = 0; name < 10; name += 1) thread.requests(75, `bad${name}`, 1_000, "EVAL");
  let waitedMsMax = 0;
  while (thread.clock.monotonicMs() < 200_000) {
    const startMs = thread.clock.monotonicMs();
    thread.request("good", 0.1);
    while (!thread.take().includes("good")) thread.loop.turn();
    waitedMsMax = Math.max(waitedMsMax, thread.clock.monotonicMs() - startMs);
    if (!thread.loop.isIdle) thread.loop.turn();
    thread.clock.advance(19);
  }
  let heavyMs = 0;
  for (let name = 0; name < 10; name += 1) heavyMs += thread.tenant(`bad${name}`).usedMs;
  assert.ok(heavyMs >= 40_000 && heavyMs <= 60_000, `${heavyMs} ms of heavy units in 200 s`);
  assert.ok(waitedMsMax <= 1_001, `a light request waited ${waitedMsMax} ms`);
});

test("light units wait only for heavy units of their own tenant", () => {
  const thread = new Thread();
  thread.request("bad", 1_000, "EVAL");
  thread.request("good", 0.1);
  thread.settle();
  thread.take();
  thread.request("bad", 1_000, "EVAL");
  thread.request("bad", 0.1, "GET");
  thread.request("good", 0.1, "GET");
  thread.settle();
  assert.deepEqual(thread.take(), ["good"]);
  thread.clock.advance(1_000);
  thread.settle();
  assert.deepEqual(thread.take(), ["bad", "bad"]);
});

test("a kind that has become light is no longer expected to be heavy", () => {
  const thread = new Thread();
  const tenant = thread.tenant("a");
  thread.request("a", 350, "EVAL");
  thread.settle();
  assert.equal(tenant.isHeavy("EVAL"), true);
  for (let count = 0; count < 2; count += 1) {
    thread.request("a", 1, "EVAL");
    thread.settle();
  }
  assert.equal(tenant.isHeavy("EVAL"), false);
});

test("the first unit of a kind that is heavy for others waits, unless the tenant has run a light one", () => {
  const thread = new Thread();
  thread.request("known", 1, "EVAL");
  thread.request("bad", 1_000, "EVAL");
  thread.request("good", 0.1);
  thread.settle();
  thread.take();
  thread.request("new", 1, "EVAL");
  thread.request("known", 1, "EVAL");
  thread.settle();
  assert.deepEqual(thread.take(), ["known"]);
  thread.clock.advance(3_000);
  thread.settle();
  assert.deepEqual(thread.take(), ["new"]);
});

test("a new tenant's first request goes before the first ones of ten others", () => {
  const thread = new Thread();
  for (let name = 0; name < 10; name += 1) thread.request(`bad${name}`, 90, "EVAL");
  thread.take();
  thread.request("good", 0.1);
  thread.loop.turn();
  assert.deepEqual(thread.take(), ["good", "bad9"]);
});

test("a unit that waits for its own promise is charged up to that wait", async () => {
  const clock = new VirtualClock();
  const turns = new Turns({ clock });
  const tenant = turns.tenant("store", "a");
  const order: string[] = [];
  const work = async (name: string): Promise<void> => {
    await tenant.next();
    clock.advance(2);
    await Promise.resolve().then(() => {});
    clock.advance(2);
    order.push(name);
  };
  await Promise.all([work("first"), work("second")]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ["first", "second"]);
  assert.equal(tenant.usedMs, 8);
  assert.equal(tenant.waitedCount, 2);
});

test("the answer of a unit is sent before the next unit begins", async () => {
  const clock = new VirtualClock();
  const turns = new Turns({ clock });
  const order: string[] = [];
  const work = async (tenant: Tenant): Promise<string> => {
    await tenant.next();
    order.push(`${tenant.name} runs`);
    return tenant.name;
  };
  const answer = async (tenant: Tenant): Promise<void> => {
    order.push(`${await work(tenant)} is answered`);
  };
  const second = answer(turns.tenant("store", "b"));
  await Promise.all([answer(turns.tenant("store", "a")), second]);
  assert.deepEqual(order, ["a runs", "a is answered", "b runs", "b is answered"]);
});
