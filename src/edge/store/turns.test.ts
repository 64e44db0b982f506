/** How long a request of one tenant waits for those of others, in units of work, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { Turns } from "../../kernel/turns.ts";
import { VirtualLoop } from "../../kernel/turns.virtual.ts";
import { Store } from "../../store/mod.ts";
import { TokenTable } from "../auth.ts";
import type { HttpReply, HttpRequest, HttpStream } from "../handler.ts";
import { StoreArea } from "./routes.ts";
import { SyncTokens } from "./sync-token.ts";

/** A thread of the store in which each RANDOMKEY takes `unitMs` and other commands take no time. */
class Thread {
  readonly clock = new VirtualClock();
  readonly loop = new VirtualLoop();
  readonly turns = new Turns({ clock: this.clock, loop: this.loop });
  readonly store: Store;
  readonly area: StoreArea;
  /** In order: "unit" for each RANDOMKEY, and the name of each answered request. */
  readonly ran: string[] = [];
  readonly answers = new Map<string, string>();

  constructor(unitMs: number) {
    const tokens = new TokenTable(Buffer.alloc(32, 1));
    const slow = (): number => {
      this.ran.push("unit");
      this.clock.advance(unitMs);
      return 0;
    };
    this.store = new Store({
      journal: new NullJournal(),
      clock: this.clock,
      random: { below: slow, unit: slow },
      hashSeed: new Uint8Array(8),
      turns: this.turns,
    });
    for (let name = 0; name < 10; name += 1) tokens.add(`bad${name}`, { tenant: `bad${name}`, access: "standard" });
    tokens.add("good", { tenant: "good", access: "standard" });
    this.area = new StoreArea({
      store: this.store,
      tokens,
      syncTokens: new SyncTokens("boot"),
      cors: false,
      queryToken: false,
      requestBytesMax: 1_000_000,
      replyBytesMax: 1_000_000,
      clock: this.clock,
    });
    for (let name = 0; name < 10; name += 1) this.send(`bad${name}`, "/", '["SET","k","v"]');
  }

  /** Sends a request and records its answer under its name. */
  send(tenant: string, target: string, body: string, name = tenant): void {
    const request: HttpRequest = {
      method: "POST",
      target,
      header: () => undefined,
      rawHeaders: ["Authorization", `Bearer ${tenant}`],
      body: Buffer.from(body),
      remoteAddress: "10.0.0.7",
      remotePort: 4_000,
      id: "x-1",
    };
    const note = (reply: HttpReply | HttpStream): void => {
      assert.ok(!("open" in reply));
      this.ran.push(name);
      this.answers.set(name, String(reply.body));
    };
    const startMs = this.clock.monotonicMs();
    const reply = this.area.handle(request);
    if (reply instanceof Promise) void reply.then(note);
    else note(reply);
    request.payer?.charge(this.clock.monotonicMs() - startMs, this.clock.monotonicMs());
  }

  take(): readonly string[] {
    return this.ran.splice(0);
  }
}

const slowPipeline = (count: number): string => JSON.stringify(Array.from({ length: count }, () => ["RANDOMKEY"]));

test("S-11: a PING waits for one unit beside a pipeline of 75 slow commands", async () => {
  const thread = new Thread(50);
  thread.take();
  thread.send("bad0", "/pipeline", slowPipeline(75));
  assert.deepEqual(thread.take(), ["unit"]);
  thread.send("good", "/", '["PING"]');
  await thread.loop.turn();
  assert.deepEqual(thread.take(), ["good", "unit"]);
  for (let left = 73; left > 0; left -= 1) await thread.loop.turn();
  assert.equal(thread.answers.get("bad0"), `[${'{"result":"k"},'.repeat(74)}{"result":"k"}]`);
});

test("S-11: a PING waits for one unit beside 75 slow requests of one tenant", async () => {
  const thread = new Thread(50);
  thread.take();
  for (let count = 0; count < 75; count += 1) thread.send("bad0", "/", '["RANDOMKEY"]');
  thread.send("good", "/", '["PING"]');
  assert.deepEqual(thread.take(), ["unit", "bad0"]);
  await thread.loop.turn();
  assert.deepEqual(thread.take(), ["good", "unit", "bad0"]);
});

test("S-11: a PING waits for one unit beside pipelines of ten tenants", async () => {
  const thread = new Thread(50);
  for (let count = 0; count < 5; count += 1) thread.send("good", "/", '["PING"]');
  for (let name = 0; name < 10; name += 1) thread.send(`bad${name}`, "/pipeline", slowPipeline(75));
  thread.take();
  for (let round = 0; round < 20; round += 1) {
    thread.send("good", "/", '["PING"]');
    await thread.loop.turn();
    assert.deepEqual(thread.take(), ["good", "unit"], `round ${round}`);
  }
});

test("a heavy command of a pipeline waits while others run", async () => {
  const thread = new Thread(1_000);
  thread.send("bad0", "/pipeline", slowPipeline(3));
  thread.take();
  for (let round = 0; round < 100; round += 1) {
    thread.send("good", "/", '["PING"]');
    await thread.loop.turn();
    thread.clock.advance(20);
  }
  assert.equal(thread.take().filter((name) => name === "unit").length, 0);
  for (let round = 0; round < 60; round += 1) {
    thread.send("good", "/", '["PING"]');
    await thread.loop.turn();
    thread.clock.advance(20);
  }
  assert.equal(thread.take().filter((name) => name === "unit").length, 1);
});

test("a light command of a heavy tenant waits for its heavy ones, in the order of arrival", async () => {
  const thread = new Thread(1_000);
  thread.send("bad0", "/", '["RANDOMKEY"]', "first");
  thread.send("good", "/", '["PING"]');
  thread.send("bad0", "/", '["RANDOMKEY"]', "second");
  thread.send("bad0", "/", '["GET","k"]', "third");
  while (!thread.loop.isIdle) await thread.loop.turn();
  thread.clock.advance(1_000);
  while (!thread.loop.isIdle) await thread.loop.turn();
  assert.deepEqual(thread.take().slice(10), ["unit", "first", "good", "unit", "second", "third"]);
});

test("does not run a request whose peer has disconnected before its turn", async () => {
  const thread = new Thread(50);
  thread.take();
  thread.send("bad0", "/", '["RANDOMKEY"]');
  const request: HttpRequest = {
    method: "POST",
    target: "/",
    header: () => undefined,
    rawHeaders: ["Authorization", "Bearer bad0"],
    body: Buffer.from('["RANDOMKEY"]'),
    remoteAddress: "10.0.0.7",
    remotePort: 4_000,
    id: "x-2",
    isAbandoned: true,
  };
  const reply = thread.area.handle(request);
  await thread.loop.turn();
  assert.equal((await reply).route, "abandoned");
  assert.deepEqual(thread.take(), ["unit", "bad0"]);
});

test("refuses a waiting request whose token was removed", async () => {
  const thread = new Thread(50);
  thread.send("bad0", "/pipeline", slowPipeline(2));
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  tokens.add("good", { tenant: "good", access: "standard" });
  const area = new StoreArea({
    store: thread.store,
    tokens,
    syncTokens: new SyncTokens("boot"),
    cors: false,
    queryToken: false,
    requestBytesMax: 1_000,
    replyBytesMax: 1_000,
    clock: thread.clock,
  });
  const reply = area.handle({
    method: "POST",
    target: "/",
    header: () => undefined,
    rawHeaders: ["Authorization", "Bearer good"],
    body: Buffer.from('["PING"]'),
    remoteAddress: "10.0.0.7",
    remotePort: 4_000,
    id: "x-3",
  });
  tokens.removeTenant("good");
  await thread.loop.turn();
  assert.equal((await reply).status, 401);
});
