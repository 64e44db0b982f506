/** How long a command over RESP waits for those of other tenants, in units of work, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RawPeer } from "../../../test/harness/raw-peer.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { createLog } from "../../kernel/log.ts";
import { Turns } from "../../kernel/turns.ts";
import { Store } from "../../store/mod.ts";
import { TokenTable } from "../auth.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { RespListener } from "./listener.ts";

interface Thread extends AsyncDisposable {
  readonly clock: VirtualClock;
  /** RANDOMKEY commands that have run; each takes `unitMs`. */
  readonly unitCount: () => number;
  enter(token: string): Promise<RawPeer>;
}

async function startThread(unitMs: number): Promise<Thread> {
  const clock = new VirtualClock();
  let unitCount = 0;
  const slow = (): number => {
    unitCount += 1;
    clock.advance(unitMs);
    return 0;
  };
  const store = new Store({
    journal: new NullJournal(),
    clock,
    random: { below: slow, unit: slow },
    hashSeed: new Uint8Array(8),
    turns: new Turns({ clock }),
  });
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  for (const tenant of ["bad", "good"]) tokens.add(tenant, { tenant, access: "standard" });
  const listener = new RespListener({
    store,
    tokens,
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 100,
    isOpenToAll: false,
    isServing: () => true,
    clock,
    storeClock: clock,
    log: createLog({ level: "error", format: "json", clock, sink: () => {} }),
    budget: new ByteBudget(1e9),
    limits: { requestBytesMax: 1e6, replyBytesMax: 1e6 },
  });
  await listener.open();
  return {
    clock,
    unitCount: () => unitCount,
    async enter(token) {
      const peer = await RawPeer.open(listener.port);
      assert.equal(await peer.ask(`AUTH ${token}\r\n`, 5), "+OK\r\n");
      return peer;
    },
    [Symbol.asyncDispose]: () => listener.close(0),
  };
}

test("S-11: a PING is answered between the slow commands of another tenant's pipeline", async () => {
  await using thread = await startThread(50);
  const bad = await thread.enter("bad");
  const good = await thread.enter("good");
  assert.equal(await bad.ask("SET k v\r\n", 5), "+OK\r\n");
  bad.say("RANDOMKEY\r\n".repeat(75));
  assert.equal(await bad.hear(7), "$1\r\nk\r\n");
  const before = thread.unitCount();
  assert.equal(await good.ask("PING\r\n", 7), "+PONG\r\n");
  // The reply needs some turns of the event loop, and one unit runs in each.
  assert.ok(thread.unitCount() - before < 20, `${thread.unitCount() - before} units`);
  assert.equal(await bad.hear(74 * 7), "$1\r\nk\r\n".repeat(74));
});

test("heavy commands of a pipeline wait while another tenant sends commands, and run when it is idle", async () => {
  await using thread = await startThread(1_000);
  const bad = await thread.enter("bad");
  const good = await thread.enter("good");
  assert.equal(await bad.ask("SET k v\r\n", 5), "+OK\r\n");
  bad.say("RANDOMKEY\r\nRANDOMKEY\r\nGET k\r\n");
  assert.equal(await bad.hear(7), "$1\r\nk\r\n");
  const before = thread.unitCount();
  for (let count = 0; count < 20; count += 1) assert.equal(await good.ask("PING\r\n", 7), "+PONG\r\n");
  assert.ok(thread.unitCount() - before <= 1, `${thread.unitCount() - before} units`);
  thread.clock.advance(4_000);
  assert.equal(await bad.hear(14), "$1\r\nk\r\n$1\r\nv\r\n");
});
