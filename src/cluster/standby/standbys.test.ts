import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "../../../test/harness/persistence-fixture.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { silentLog } from "../../kernel/log.ts";
import type { NodeView, ShardHead, ShardView } from "../log-store/log-store.ts";
import { Weights } from "../node/placement.ts";
import type { SeenChanges } from "../node/watched-cluster.ts";
import { type Followed, GRACE_MS, POLL_PERIOD_MS, Standbys } from "./standbys.ts";

function node(name: string, isDead = false): NodeView {
  const facts = { beat: 1, isDrained: false, keyNumber: 0, address: "", format: 1 };
  return { ...facts, name, life: `life of ${name}`, isDead };
}

function shard(number: number, owner: string): ShardView {
  const facts = { epoch: 1, area: "store", heir: undefined, pin: undefined, writerFormat: 1, tries: 0 };
  return { ...facts, shard: number, owner: `life of ${owner}`, ownerName: owner };
}

function viewOf(owners: Readonly<Record<number, string>>, nodes = ["a", "b"].map((name) => node(name))): SeenChanges {
  const shards = Object.entries(owners).map(([number, owner]) => shard(Number(number), owner));
  return { view: { keyNumber: 0, tenants: 0, nodes, shards }, shards, haveNodesChanged: true };
}

/** The node `b`, with what it does: `open 1`, `heads 1,2`, `follow 1`, `close 1`, `forget 1`. */
class TestNode {
  readonly clock = new VirtualClock();
  readonly did: string[] = [];
  readonly owned = new Set<number>();
  /** Resolves the openings of followed shards. */
  opened: Promise<void> = Promise.resolve();
  readonly standbys = new Standbys({
    clock: this.clock,
    log: silentLog,
    node: "b",
    weights: new Weights(),
    store: {
      heads: async (shards) => {
        this.did.push(`heads ${shards}`);
        return shards.map(
          (number): ShardHead => ({
            ...{ shard: number, epoch: 1, snapshot: undefined, firstSegment: 1, lastSegment: 1, lastBytes: 64 },
          }),
        );
      },
    },
    knows: (number) => number < 90,
    isOwned: (number) => this.owned.has(number),
    open: async (number): Promise<Followed> => {
      this.did.push(`open ${number}`);
      await this.opened;
      return {
        follow: async () => void this.did.push(`follow ${number}`),
        missing: { bytes: number, ms: 0 },
        history: undefined,
        close: async () => void this.did.push(`close ${number}`),
      };
    },
    forget: async (number) => void this.did.push(`forget ${number}`),
  });

  /** What it does in the next time. */
  async after(ms: number): Promise<readonly string[]> {
    this.did.splice(0);
    this.clock.advance(ms);
    await settle();
    return [...this.did];
  }
}

test("a node follows the shards of others that it would take over, with one statement for all of them", async () => {
  const b = new TestNode();
  b.standbys.saw(viewOf({ 1: "a", 2: "a", 3: "b", 90: "a" }));
  b.owned.add(3);
  assert.deepEqual([[...b.standbys.followed], [...b.standbys.states.keys()]], [[1, 2], []]);
  assert.deepEqual(await b.after(0), ["heads 1,2", "open 1", "follow 1", "open 2", "follow 2"]);
  assert.deepEqual(await b.after(POLL_PERIOD_MS - 1), []);
  assert.deepEqual(await b.after(1), ["heads 1,2", "follow 1", "follow 2"]);
  assert.deepEqual([...b.standbys.states.keys()], [1, 2]);
});

test("a node that follows nothing asks nothing", async () => {
  const b = new TestNode();
  b.standbys.saw(viewOf({ 1: "b" }));
  assert.deepEqual(await b.after(10 * POLL_PERIOD_MS), []);
});

test("a node asks at once for a shard that will be released for it", async () => {
  const b = new TestNode();
  b.standbys.saw(viewOf({ 1: "a" }));
  await b.after(0);
  const seen = viewOf({ 1: "a" });
  const shards = seen.shards.map((each) => ({ ...each, heir: "b" }));
  b.standbys.saw({ view: { ...seen.view, shards }, shards, haveNodesChanged: false });
  assert.deepEqual(await b.after(0), ["heads 1", "follow 1"]);
});

test("a shard that the node claims is closed before its directory is free", async () => {
  const b = new TestNode();
  const opening = Promise.withResolvers<void>();
  b.opened = opening.promise;
  b.standbys.saw(viewOf({ 1: "a" }));
  await b.after(0);
  b.owned.add(1);
  let isFree = false;
  const released = b.standbys.release(1).then(() => {
    isFree = true;
  });
  await settle();
  assert.equal(isFree, false);
  opening.resolve();
  await released;
  assert.deepEqual(b.did, ["heads 1", "open 1", "close 1"]);
  b.standbys.saw(viewOf({ 1: "b" }));
  assert.deepEqual(await b.after(POLL_PERIOD_MS), []);
});

test("while nobody owns a shard, its standby keeps following", async () => {
  const b = new TestNode();
  b.standbys.saw(viewOf({ 1: "a" }));
  await b.after(0);
  b.standbys.saw(viewOf({ 1: "a" }, [node("a", true), node("b")]));
  assert.deepEqual(await b.after(POLL_PERIOD_MS), ["heads 1", "follow 1"]);
});

test("the files of a shard that the node neither owns nor follows are removed once, after a grace", async () => {
  const b = new TestNode();
  const nodes = ["a", "b", "c"].map((name) => node(name));
  // Of the nodes a and c, c is the standby of what b owns; of shard 2, b is not the standby while c lives.
  const owners = { 2: "a" };
  b.standbys.saw(viewOf(owners));
  await b.after(0);
  b.standbys.saw(viewOf(owners, nodes));
  assert.deepEqual(await b.after(GRACE_MS - 1), ["close 2"]);
  b.standbys.saw(viewOf(owners, nodes));
  assert.deepEqual(await b.after(1), []);
  b.standbys.saw(viewOf(owners, nodes));
  b.standbys.saw(viewOf(owners, nodes));
  assert.deepEqual(await b.after(0), []);
  b.standbys.saw(viewOf(owners));
  assert.deepEqual(await b.after(0), ["heads 2", "open 2", "follow 2"]);
});

test("a stopped node has closed all directories", async () => {
  const b = new TestNode();
  b.standbys.saw(viewOf({ 1: "a", 2: "a" }));
  await b.after(0);
  b.did.splice(0);
  await b.standbys.stop();
  assert.deepEqual(b.did, ["close 1", "close 2"]);
  b.standbys.saw(viewOf({ 1: "a" }));
  assert.deepEqual(await b.after(POLL_PERIOD_MS), []);
});

test("a shard whose row does not change is placed once, and again when this node owns it no more", async () => {
  const b = new TestNode();
  const first = viewOf({ 1: "a", 2: "a" });
  const unchanged: SeenChanges = { ...first, shards: [], haveNodesChanged: false };
  b.owned.add(2);
  b.standbys.saw(first);
  assert.deepEqual(await b.after(0), ["heads 1", "open 1", "follow 1"]);
  b.standbys.saw(unchanged);
  assert.deepEqual(await b.after(POLL_PERIOD_MS), ["heads 1", "follow 1"]);
  b.owned.delete(2);
  b.standbys.saw(unchanged);
  assert.deepEqual(await b.after(POLL_PERIOD_MS), ["heads 1,2", "follow 1", "open 2", "follow 2"]);
});
