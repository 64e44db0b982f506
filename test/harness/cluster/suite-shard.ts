/**
 * The journal of an area for a suite: the real one, on a shard in the model of the
 * log store. The engine exists before it, so its positions are given by the caller.
 *
 * (1) A reply leaves only when all that it saw is committed, and without a commit
 *     only while the node has a lease, or when a renewal has confirmed it.
 * (2) At the end another node takes the shard over with an empty disk, and must
 *     find every frame.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ConfirmedReads } from "../../../src/cluster/node/confirmed-reads.ts";
import { Lease, type ReadGuard } from "../../../src/cluster/node/lease.ts";
import { Suspension } from "../../../src/cluster/node/suspension.ts";
import type { HttpReply, HttpService, HttpStream } from "../../../src/edge/handler.ts";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { DeferredJournal, type JournalFence } from "../../../src/program/areas/deferred-journal.ts";
import { ModelLogStore } from "../../simulation/cluster/model-log-store.ts";
import { emptyDisk } from "../persistence-fixture.ts";
import { type OpenedShard, TestShard } from "../shipped-shard.ts";
import { type SuiteSetting, suiteSetting } from "./suite-setting.ts";

/** The lease of a node whose renewals return. */
class SuiteFence implements JournalFence {
  readonly isProvenByCommits = true;
  /** Renewals that were sent by readers and have returned. */
  confirmCount = 0;
  readonly #guard: ReadGuard;
  readonly #suspension: Suspension;
  readonly #waiting: (() => void)[] = [];

  constructor(reads: SuiteSetting["reads"]) {
    const clock = new VirtualClock();
    const lease = new Lease(clock);
    lease.extend(lease.begin());
    this.#suspension = new Suspension(lease, clock);
    this.#guard = reads === "lease" ? lease : new ConfirmedReads({ confirm: () => this.#confirm() });
  }

  isFresh(): boolean {
    return this.#guard.isFresh();
  }

  whenFresh(): Promise<void> {
    return this.#guard.whenFresh();
  }

  get reason(): string | undefined {
    return this.#suspension.reason;
  }

  get mayCall(): boolean {
    return this.#suspension.mayCall;
  }

  get isConfirming(): boolean {
    return this.#waiting.length > 0;
  }

  /** As with `Renewals`, all who ask in a turn share the renewal that is sent at its end. */
  async #confirm(): Promise<void> {
    const isFirst = this.#waiting.length === 0;
    const confirmed = new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (isFirst) void this.#renew();
    await confirmed;
  }

  async #renew(): Promise<void> {
    await nextTurn();
    const waiting = this.#waiting.splice(0);
    // The answer of the store.
    await nextTurn();
    this.confirmCount += 1;
    for (const resolve of waiting) resolve();
  }
}

export class SuiteShard {
  readonly #fence: SuiteFence;
  readonly #journal: DeferredJournal;
  readonly #shard: Promise<TestShard> = TestShard.begin();
  readonly #appended = new FrameDigest();
  #opened: OpenedShard | undefined;
  /** What a position of the journal is ahead of the position of the caller: frames that an engine has left behind. */
  #ahead = 0;
  readonly #violations = new Set<string>();
  #requestCount = 0;
  #runningCount = 0;

  constructor({ reads }: SuiteSetting) {
    this.#fence = new SuiteFence(reads);
    this.#journal = new DeferredJournal(this.#fence);
  }

  /** To be called before the first frame. */
  async open(): Promise<void> {
    const shard = await this.#shard;
    const store = new ModelLogStore({ database: shard.database, mayCommit: commitLater });
    this.#opened = await shard.open(await emptyDisk(), { store });
    this.#journal.open(this.#opened.area.journal);
  }

  /** Appends a frame; `position` is that of the caller after it. */
  append(frame: Uint8Array, position: number): void {
    assert.ok(this.#opened !== undefined, "the journal is open");
    this.#appended.add(Buffer.from(frame));
    this.#ahead = this.#journal.append(frame) - position;
  }

  get appendedOffset(): number {
    return this.#journal.appendedOffset;
  }

  get safe(): number {
    const { safe } = this.#journal;
    return safe < 0 ? safe : safe - this.#ahead;
  }

  get synced(): number {
    return (this.#journal.synced ?? 0) - this.#ahead;
  }

  get refusal(): string | undefined {
    return this.#journal.refusal;
  }

  get isLate(): boolean {
    return this.#journal.isLate;
  }

  whenSafe(position: number): Promise<void> {
    return this.#journal.whenSafe(position + this.#ahead);
  }

  /** Whether all frames are committed and no reader waits. */
  get isQuiet(): boolean {
    return this.#journal.synced === this.#journal.end && !this.#fence.isConfirming;
  }

  /**
   * A request begins. Call the returned function when its reply leaves: `close` throws if a successful one left too
   * early (1). Nothing is known of requests that overlap, nor of those to an area that writes on its own account.
   */
  requestBegins(): (isSuccess: boolean) => void {
    this.#requestCount += 1;
    this.#runningCount += 1;
    const number = this.#requestCount;
    const isAlone = this.#runningCount === 1;
    const written = this.#opened?.area.journal.written ?? 0;
    const { confirmCount } = this.#fence;
    return (isSuccess) => {
      this.#runningCount -= 1;
      if (!isSuccess || !isAlone || number !== this.#requestCount) return;
      const { synced } = this.#journal;
      if (synced !== this.#journal.end) this.#violations.add("a reply left before the commit of a frame that it saw");
      // A commit that was sent after the request proves it too.
      const isOwned = this.#fence.isFresh() || this.#fence.confirmCount > confirmCount || (synced ?? 0) > written;
      if (!isOwned) this.#violations.add("a reply left before the node was certain to own the shard after the request");
    };
  }

  /** keeps (2) */
  async close(): Promise<void> {
    assert.deepEqual([...this.#violations], []);
    if (this.#opened === undefined) return;
    const { area, fatal, deposed } = this.#opened;
    this.#journal.close();
    assert.equal(await area.close(), 0);
    assert.deepEqual([fatal, deposed], [[], []]);
    const found = new FrameDigest();
    const next = await (await this.#shard).open(await emptyDisk(2));
    for (const text of next.frames) found.add(Buffer.from(text, "latin1"));
    await next.area.close();
    assert.deepEqual(found.value, this.#appended.value, "the next owner finds every frame");
  }
}

/** The shard of a server of a suite; undefined: its journal is in memory. */
export function openSuiteShard(): SuiteShard | undefined {
  const setting = suiteSetting();
  return setting === undefined ? undefined : new SuiteShard(setting);
}

/** The service of an area that writes for requests only. keeps (1) */
export function watched(service: HttpService, shard: SuiteShard | undefined): HttpService {
  if (shard === undefined) return service;
  return {
    ...passedOn(service),
    handle(request) {
      const ends = shard.requestBegins();
      const end = <Reply extends HttpReply | HttpStream>(reply: Reply): Reply => {
        ends(reply.status === 200 && "body" in reply);
        return reply;
      };
      const reply = service.handle(request);
      return reply instanceof Promise ? reply.then(end) : end(reply);
    },
  };
}

function passedOn(service: HttpService): Omit<HttpService, "handle"> {
  const { refuseEarly, refusal } = service;
  return {
    bodyBytesMax: (target) => service.bodyBytesMax(target),
    ...(refuseEarly === undefined ? {} : { refuseEarly: (head) => refuseEarly.call(service, head) }),
    ...(refusal === undefined ? {} : { refusal: (failure, target) => refusal.call(service, failure, target) }),
  };
}

/** The commit takes a turn, in which an early reply would leave. */
async function commitLater(): Promise<boolean> {
  await nextTurn();
  return true;
}

/** The frames of a journal, without them. */
class FrameDigest {
  #count = 0;
  readonly #hash = createHash("sha256");

  add(frame: Buffer): void {
    this.#count += 1;
    this.#hash.update(`${frame.length}:`).update(frame);
  }

  get value(): { readonly count: number; readonly digest: string } {
    return { count: this.#count, digest: this.#hash.copy().digest("hex") };
  }
}
