/**
 * Messaging alone, for tests: virtual time, a journal in memory that can be
 * slowed down, destinations that answer as the test specifies, and restarts.
 */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { Journal } from "../../src/kernel/journal.ts";
import { createLog } from "../../src/kernel/log.ts";
import type { MemoryGuard } from "../../src/kernel/memory-guard.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { nextTurn } from "../../src/kernel/turn.ts";
import type { LogReader, MessagingApi } from "../../src/messaging/api.ts";
import type { DeliveryRequest, DeliveryResult, Outbound } from "../../src/messaging/delivery/delivery.ts";
import type { MessagingWatcher } from "../../src/messaging/delivery/watcher.ts";
import { defaultLimits, type MessagingLimits } from "../../src/messaging/limits.ts";
import { Messaging } from "../../src/messaging/messaging.ts";
import type { PublishOptions, PublishRequest } from "../../src/messaging/options/publish-request.ts";
import { openSuiteShard, type SuiteShard } from "./cluster/suite-shard.ts";

/**
 * Stores frames in memory. While it is held, none becomes durable. In the suites of a cluster the frames are also in a
 * shard, and become safe there.
 */
export class MemoryJournal implements Journal {
  readonly frames: Buffer[] = [];
  /** A longer frame does not fit the disk. */
  frameBytesMax = Number.POSITIVE_INFINITY;
  readonly #shard: SuiteShard | undefined;
  #refusal: string | undefined;
  #isLate = false;
  #safe = 0;
  #isHeld = false;
  #waiters: { position: number; resolve: () => void }[] = [];

  constructor(shard?: SuiteShard) {
    this.#shard = shard;
  }

  get appendedOffset(): number {
    return this.#shard?.appendedOffset ?? 0;
  }

  get refusal(): string | undefined {
    return this.#refusal ?? this.#shard?.refusal;
  }

  set refusal(reason: string | undefined) {
    this.#refusal = reason;
  }

  get isLate(): boolean {
    return this.#isLate || this.#shard?.isLate === true;
  }

  set isLate(isLate: boolean) {
    this.#isLate = isLate;
  }

  lackFor(bytes: number): string | undefined {
    return bytes > this.frameBytesMax ? "no space is left on the device" : undefined;
  }

  append(frame: Uint8Array): number {
    this.frames.push(Buffer.from(frame));
    this.#shard?.append(frame, this.frames.length);
    if (!this.#isHeld) this.#becomeSafe();
    return this.frames.length;
  }

  get end(): number {
    return this.frames.length;
  }

  get safe(): number {
    return Math.min(this.#safe, this.#shard?.safe ?? this.#safe);
  }

  whenSafe(position: number): Promise<void> {
    const shard = this.#shard;
    const released = this.#whenReleased(position);
    return shard === undefined ? released : released.then(() => shard.whenSafe(position));
  }

  /** Begins with these, as after a snapshot. */
  replace(frames: readonly Buffer[]): void {
    this.frames.splice(0, this.frames.length, ...frames);
    this.#becomeSafe();
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#becomeSafe();
  }

  /** The process ends while it is held: frames that are not durable are lost, and no waiter is notified. */
  crash(): void {
    this.frames.length = this.#safe;
    this.#waiters = [];
    this.#isHeld = false;
  }

  #whenReleased(position: number): Promise<void> {
    if (position <= this.#safe) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ position, resolve }));
  }

  #becomeSafe(): void {
    this.#safe = this.frames.length;
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }
}

/** A call to a destination. */
export interface Call {
  readonly atMs: number;
  readonly url: string;
  readonly method: string;
  readonly body: string;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** Ends the call, if the destination has not answered yet. */
  readonly answer: (result: DeliveryResult) => void;
}

export type Destination = (call: Call) => DeliveryResult | "later";

export function answered(status: number, headers: readonly string[] = [], body = ""): DeliveryResult {
  return { kind: "answer", status, headers, body: Buffer.from(body) };
}

/** A truncated answer: `start` is the stored part. */
export function answeredTooLong(status: number, headers: readonly string[], start: string): DeliveryResult {
  return { kind: "answer", status, headers, body: Buffer.from(start), isBodyCut: true };
}

export const USER = "main";
const KEYS = { current: "sig_current", next: "sig_next" };

export class MessagingHarness {
  readonly clock: VirtualClock;
  readonly calls: Call[] = [];
  readonly #shard: SuiteShard | undefined = openSuiteShard();
  readonly journal = new MemoryJournal(this.#shard);
  destination: Destination = () => answered(200);
  /** An empty log, unless a test has one. */
  logReader: LogReader = { list: async () => ({ entries: [], cursor: undefined }) };
  messaging: Messaging;
  /** From the next start on: makes no deliveries. */
  deliveriesDisabled = false;
  /** From the next start on: is told what happens. */
  watcher: MessagingWatcher | undefined;
  /** From the next start on: the memory guard. */
  guard: MemoryGuard | undefined;
  readonly #limits: MessagingLimits;

  constructor(limits: Partial<MessagingLimits> = {}, startMs?: number) {
    this.clock = new VirtualClock(startMs);
    this.#limits = { ...defaultLimits, ...limits };
    this.messaging = this.#make();
  }

  static async start(limits: Partial<MessagingLimits> = {}, startMs?: number): Promise<MessagingHarness> {
    const harness = new MessagingHarness(limits, startMs);
    await harness.#shard?.open();
    await harness.messaging.createUser(USER, KEYS);
    harness.messaging.engine.start();
    return harness;
  }

  get user(): MessagingApi {
    const user = this.messaging.user(USER);
    if (user === undefined) throw new Error("There is no user");
    return user;
  }

  /** Publishes one message and returns its id. */
  async publish(url: string, options: Partial<PublishOptions> = {}, body = "hello"): Promise<string> {
    const [outcome] = await this.user.publish([request(url, options, body)]);
    if (outcome === undefined) throw new Error("Nothing was published");
    const [published] = outcome.kind === "url" ? [outcome.published] : outcome.published;
    return published?.messageId ?? "";
  }

  /** Advances time, and runs everything that is due. */
  async advance(ms: number): Promise<void> {
    const shard = this.#shard;
    if (shard === undefined) await this.clock.advanceAsync(ms);
    else await this.clock.advanceAsync(ms, () => quietTurns(shard));
  }

  /** Continues started work, without advancing time. */
  settle(): Promise<void> {
    return this.advance(0);
  }

  /** Kills it and restarts it from the first `frameCount` frames of the journal. */
  restart(frameCount = this.journal.frames.length): void {
    this.stop();
    this.journal.frames.length = frameCount;
    this.replay();
    this.messaging.engine.start();
  }

  /** Kills it. */
  stop(): void {
    this.messaging.engine.stop();
  }

  /** Kills it, and checks what the journal has stored. */
  async close(): Promise<void> {
    this.stop();
    await this.#shard?.close();
  }

  /** Rebuilds it from the journal; call `engine.start` afterwards. */
  replay(): void {
    this.messaging = this.#make();
    for (const frame of this.journal.frames) this.messaging.replay(frame, undefined);
  }

  #make(): Messaging {
    const clock = this.clock;
    const log = createLog({ level: "error", format: "text", clock, sink: () => {} });
    const outbound: Outbound = {
      send: (sent, done) => this.#call(sent, done),
      dropUser: () => {},
    };
    return new Messaging({
      journal: this.journal,
      clock,
      random: seededRandom(this.journal.frames.length + 1),
      limits: this.#limits,
      outbound,
      settings: { spelling: "both", region: "US-EAST-1" },
      log,
      heartbeatMs: 60_000,
      deliveriesDisabled: this.deliveriesDisabled,
      guard: this.guard,
      watcher: this.watcher,
      logReader: { list: (...asked) => this.logReader.list(...asked) },
    });
  }

  #call({ url, method, headers, body }: DeliveryRequest, done: (result: DeliveryResult) => void): void {
    const byName = new Map<string, string>();
    for (let i = 0; i < headers.length; i += 2) byName.set((headers[i] ?? "").toLowerCase(), headers[i + 1] ?? "");
    let isDone = false;
    const answer = (result: DeliveryResult): void => {
      if (isDone) return;
      isDone = true;
      setImmediate(() => done(result));
    };
    const facts = { atMs: this.clock.nowMs(), url, method, headers: byName, body: bytesOf(body).toString() };
    const call: Call = { ...facts, answer };
    this.calls.push(call);
    const result = this.destination(call);
    if (result !== "later") answer(result);
  }
}

/** Turns of the event loop until nothing waits for a commit or a renewal, nor what follows from it. */
async function quietTurns(shard: SuiteShard): Promise<void> {
  for (let quiet = 0; quiet < QUIET_TURNS; quiet = shard.isQuiet ? quiet + 1 : 0) await nextTurn();
}

const QUIET_TURNS = 4;

function bytesOf(body: DeliveryRequest["body"]): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.concat(body);
}

export function request(destination: string, options: Partial<PublishOptions> = {}, body = "hello"): PublishRequest {
  const defaults = { method: "POST", headers: [], retriesMax: 3 };
  return { destination, body: Buffer.from(body), callerIp: "203.0.113.7", options: { ...defaults, ...options } };
}
