import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { noEvents } from "../../../test/harness/no-events.ts";
import { StartRefusal } from "../refusal.ts";
import type { AreaApi, AreaEvents } from "./area.ts";
import { type AreaWorker, answerQuestions, beat, eventsTo, remoteArea } from "./remote-area.ts";

/** An area whose methods answer with their name and argument. */
function echoingArea(steps: string[]): AreaApi {
  const note = (method: string, argument?: unknown): void => {
    steps.push([method, argument].filter((part) => part !== undefined).join(" "));
  };
  return {
    control: {
      bind: async () => ({ port: 8_080, respPort: undefined }),
      open: () => Promise.reject(new StartRefusal("the port is taken")),
      confirmed: async ({ shard, id }) => note("confirmed", `${shard} ${id}`),
      follow: async ({ shard, owner }) => note("follow", `${shard} ${owner.kind}`),
      replaceKeys: async ({ offered }) => note("replaceKeys", offered.name),
      changeTenants: async ({ removed }) => removed,
      prepareRelease: async (shard) => note("prepareRelease", String(shard)),
      release: async ({ shard, graceMs }) => note("release", `${shard} ${graceMs}`),
      close: async (graceMs) => note("close", graceMs),
      figures: async () => [],
    },
    data: {
      reset: () => Promise.reject(new Error("the disk is broken")),
      tenantNames: async () => ["main"],
      tenantMemory: async () => [{ name: "main", memoryBytes: 7 }],
      namespaces: async ({ index }) => (index === "main" ? { namespaces: [], cursor: "7" } : undefined),
      setTokens: async ({ name }) => note("setTokens", name),
      dropTenant: async (name) => note("dropTenant", name),
      backUp: async (target) => {
        note("backUp", target);
        return 7;
      },
    },
    snapshots: {
      prepareSnapshot: async (shard) => note("prepareSnapshot", shard),
      finishSnapshot: async (isWritten) => isWritten,
    },
    clients: {
      list: async ({ count }) => ({ clients: [], cursor: `${count}` }),
      kill: async (id) => id === 7,
    },
  };
}

interface Ends extends Disposable {
  readonly remote: AreaApi;
  readonly steps: readonly string[];
  /** The thread's end. */
  readonly port: MessagePort;
}

function connect(events = noEvents, onBeat = (): void => {}): Ends {
  const { port1: worker, port2: port } = new MessageChannel();
  const steps: string[] = [];
  answerQuestions(port, echoingArea(steps));
  return { remote: remoteArea(worker, events, onBeat), steps, port, [Symbol.dispose]: () => port.close() };
}

test("calls every part of an area across threads", async () => {
  using ends = connect();
  const { control, data, snapshots, clients } = ends.remote;
  assert.deepEqual(await control.bind(), { port: 8_080, respPort: undefined });
  assert.deepEqual(await control.figures(), []);
  const changes = { put: [], closed: [], removed: [{ name: "old", shard: 4 }], left: [] };
  assert.deepEqual(await control.changeTenants(changes), [{ name: "old", shard: 4 }]);
  assert.deepEqual(await data.tenantNames(), ["main"]);
  assert.deepEqual(await data.tenantMemory(), [{ name: "main", memoryBytes: 7 }]);
  assert.deepEqual(await data.namespaces?.({ index: "main", count: 1 }), { namespaces: [], cursor: "7" });
  assert.equal(await data.namespaces?.({ index: "none", count: 1 }), undefined);
  await data.setTokens({ name: "second", tokens: [] });
  await data.dropTenant("second");
  assert.equal(await data.backUp("/backup"), 7);
  await snapshots.prepareSnapshot();
  assert.equal(await snapshots.finishSnapshot(true), true);
  assert.deepEqual(await clients.list({ count: 5 }), { clients: [], cursor: "5" });
  assert.equal(await clients.kill(7), true);
  await control.prepareRelease(4);
  await control.close(1_000);
  assert.deepEqual(ends.steps, [
    "setTokens second",
    "dropTenant second",
    "backUp /backup",
    "prepareSnapshot",
    "prepareRelease 4",
    "close 1000",
  ]);
});

test("a refusal stays a refusal across threads, and every other fault arrives as its text", async () => {
  using ends = connect();
  const { control, data } = ends.remote;
  await assert.rejects(
    control.open(),
    (fault) => fault instanceof StartRefusal && fault.message === "the port is taken",
  );
  await assert.rejects(
    data.reset(),
    (fault) => !(fault instanceof StartRefusal) && /the disk is broken/.test(String(fault)),
  );
});

test("events of the thread arrive with their arguments, and every message counts as a heartbeat", async () => {
  const steps: string[] = [];
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const events: AreaEvents = {
    ...noEvents,
    state: (state) => steps.push(`state ${state}`),
    trouble: (reason) => steps.push(`trouble ${reason}`),
    snapshotDue: () => resolve(),
  };
  let beatCount = 0;
  using ends = connect(events, () => {
    beatCount += 1;
  });
  const reported = eventsTo(ends.port);
  reported.state("serving");
  reported.trouble("disk full");
  beat(ends.port);
  reported.snapshotDue();
  await arrived;
  assert.deepEqual(steps, ["state serving", "trouble disk full"]);
  assert.equal(beatCount, 4);
});

test("when the thread ends, pending and later calls are rejected", async () => {
  const worker = Object.assign(new EventEmitter(), { postMessage: () => {} }) satisfies AreaWorker;
  const { control } = remoteArea(worker, noEvents, () => {});
  const waiting = control.open();
  worker.emit("exit");
  await assert.rejects(waiting, /The thread of the area has ended/);
  await assert.rejects(control.figures(), /The thread of the area has ended/);
});
