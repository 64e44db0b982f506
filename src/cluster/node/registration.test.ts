import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeView } from "../../../test/harness/cluster/cluster-views.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { silentLog } from "../../kernel/log.ts";
import { DoubtfulOutcome, type NodeRegistration, type NodeView } from "../log-store/log-store.ts";
import { type Lives, registerNode } from "./registration.ts";

type Answer = (node: NodeRegistration) => boolean;

interface Outcome {
  readonly life: string | undefined;
  readonly written: readonly Lives[];
  readonly sent: readonly unknown[];
  /** When it was over, by the monotonic clock. */
  readonly endMs: number;
}

/**
 * Starts a process on a directory with these lives. `answers` are those of the store, one after the other and the last
 * one permanently, and `beatOf` is the beat of the life that has the name, at a time.
 */
async function start(
  lives: Lives,
  answers: readonly Answer[],
  beatOf: (nowMs: number) => number = () => 1,
): Promise<Outcome> {
  const written: Lives[] = [];
  const sent: unknown[] = [];
  const clock = new VirtualClock();
  let hasDied = false;
  let endMs = 0;
  const rival = (): NodeView => {
    const beat = beatOf(clock.monotonicMs());
    return nodeView("a", { life: "rival", beat, isDead: hasDied, address: "127.0.0.1:2" });
  };
  const registered = registerNode({
    stores: {
      polls: { watch: async () => ({ keyNumber: 0, nodes: [rival()], shards: [], tenants: 0 }) },
      changes: {
        register: async (node) => {
          sent.push([node.life, node.formerLife]);
          return hasDied || (answers[Math.min(sent.length, answers.length) - 1] as Answer)(node);
        },
        declareDead: async (life, beat) => {
          hasDied = life === "rival" && beat === rival().beat;
          return 0;
        },
      },
    },
    node: { name: "a", address: "127.0.0.1:1", format: 1 },
    file: {
      read: () => Promise.resolve(lives),
      write: async (next) => {
        written.push(next);
      },
    },
    clock,
    log: silentLog,
    drawLife: () => "new",
  });
  void registered.then(() => {
    endMs = clock.monotonicMs();
  });
  await clock.advanceAsync(30_000);
  return { life: await registered, written, sent, endMs };
}

const accepts: Answer = () => true;
const refuses: Answer = () => false;
const doubts: Answer = () => {
  throw new DoubtfulOutcome("The connection was lost");
};

test("a new life is on the disk before it is registered, and replaces the former one", async () => {
  const { life, written, sent } = await start({ former: "old", next: undefined }, [accepts]);
  assert.equal(life, "new");
  assert.deepEqual(sent, [["new", "old"]]);
  assert.deepEqual(written, [
    { former: "old", next: "new" },
    { former: "new", next: undefined },
  ]);
});

test("a registration without an answer is repeated with the same life", async () => {
  const { life, sent } = await start({ former: undefined, next: undefined }, [doubts, doubts, accepts]);
  assert.equal(life, "new");
  assert.deepEqual(sent, [
    ["new", undefined],
    ["new", undefined],
    ["new", undefined],
  ]);
});

test("a process that ended before the answer came leaves its life to the next one", async () => {
  const { life, written } = await start({ former: "old", next: "tried" }, [accepts]);
  assert.equal(life, "tried");
  assert.deepEqual(written, [{ former: "tried", next: undefined }]);
});

test("a life that was declared dead before it began is replaced", async () => {
  const { life, sent } = await start({ former: "old", next: "tried" }, [refuses, accepts]);
  assert.equal(life, "new");
  assert.deepEqual(sent, [
    ["tried", "old"],
    ["new", "old"],
  ]);
});

test("a process whose name another one has does not start once the other was seen to renew", async () => {
  const { life, written, endMs } = await start({ former: undefined, next: undefined }, [refuses], (nowMs) =>
    Math.floor(nowMs / 1_500),
  );
  assert.equal(life, undefined);
  assert.equal(endMs, 2_000);
  assert.deepEqual(written, [{ former: undefined, next: "new" }]);
});

test("a name whose life is silent for a lease is taken over", async () => {
  const { life, endMs } = await start({ former: undefined, next: undefined }, [refuses]);
  assert.equal(life, "new");
  assert.equal(endMs, 7_000);
});

test("the silence is counted again after a registration that failed", async () => {
  const { life, endMs } = await start({ former: undefined, next: undefined }, [
    refuses,
    refuses,
    refuses,
    doubts,
    refuses,
  ]);
  assert.equal(life, "new");
  assert.equal(endMs, 10_250);
});
