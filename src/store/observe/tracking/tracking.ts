/**
 * Client-side caching: tells clients which keys they must no longer cache (Redis:
 * CLIENT TRACKING). Nothing here is journaled: it is about connections.
 *
 * (1) A change of a key that a client has read, or that has one of its prefixes,
 *     is pushed to it once after the change, if it has tracked without a gap.
 * (2) While no client tracks, the keyspace reports no change for it, and no
 *     command is examined.
 * (3) A client gets the changes of its own command after those of earlier pushes
 *     of that unit of work, and changes by prefix after both, as in Redis. All
 *     are pushes of the unit of work (pushes.ts), so the reply comes first.
 * (4) At most `keysMax` keys are remembered: above it a random one is given up,
 *     as if it had changed. While the database may take no memory, the key that
 *     was just read is given up instead.
 * (5) The prefixes are bounded in number and length.
 */
import { assert } from "../../../kernel/assert.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Random } from "../../../kernel/random.ts";
import type { CommandFacts } from "../../command-facts.ts";
import { findKeys } from "../../commands/command-keys.ts";
import { prefixesOverlap, prefixesTooMany, prefixOverlapsOwn, prefixTooLong } from "../../errors.ts";
import type { KeyObservers } from "../key-observers.ts";
import type { Push, Pushes, Subscriber } from "../pushes.ts";
import { TrackedKeys } from "./tracked-keys.ts";
import { type TrackedPrefix, TrackedPrefixes, takeKeys } from "./tracked-prefixes.ts";
import { Tracker, type TrackingClient, type TrackingOptions } from "./tracker.ts";

/** Redis' default of `tracking-table-max-keys`. */
export const TRACKED_KEYS_DEFAULT = 1_000_000;
/** The most that it can be set to. Redis has no bound. */
export const TRACKED_KEYS_MAX = 10_000_000;
/** Prefixes of one client, distinct prefixes of a database, and the length of one. Redis has no bounds. */
const CLIENT_PREFIXES_MAX = 1_000;
const PREFIXES_MAX = 10_000;
const PREFIX_BYTES_MAX = 512;
/** Keys that are given up after one unit of work: as Redis' effort. */
const KEYS_PER_UNIT = 100;
/** Pairs of a key and a client that one sweep examines: about a millisecond. */
const ITEMS_PER_SWEEP = 10_000;
/** Keys of one push by prefix: a unit of work with more sends several. */
const PUSH_BYTES = 1024 * 1024;

/** The database. */
export interface TrackingHost {
  readonly observers: KeyObservers;
  readonly memory: { readonly mayGrow: boolean };
  readonly sessions: { find(id: number): TrackingClient | undefined };
  /** Called when `bytes` of the tracking has changed. */
  countMemory(): void;
}

export interface TrackingLimits {
  readonly clientPrefixesMax: number;
  readonly prefixesMax: number;
  readonly prefixBytesMax: number;
  readonly pushBytes: number;
}

const defaultLimits: TrackingLimits = {
  clientPrefixesMax: CLIENT_PREFIXES_MAX,
  prefixesMax: PREFIXES_MAX,
  prefixBytesMax: PREFIX_BYTES_MAX,
  pushBytes: PUSH_BYTES,
};

export class Tracking {
  /** (4) */
  keysMax = TRACKED_KEYS_DEFAULT;
  /** The client whose command is the running unit of work, if it tracks keys. */
  #running: Tracker | undefined;
  /** The same until blocked clients are served, whose changes it does not know. */
  #writer: Tracker | undefined;
  readonly #host: TrackingHost;
  readonly #pushes: Pushes;
  readonly #random: Random;
  readonly #limits: TrackingLimits;
  readonly #trackers = new Set<Tracker>();
  readonly #keys: TrackedKeys;
  readonly #prefixes = new TrackedPrefixes();
  /** Changes for the running client, until its command is over: keys, or `null` for all. keeps (3) */
  #own: { readonly tracker: Tracker; readonly key: Bytes | null }[] = [];
  #countedBytes = 0;

  constructor(options: {
    host: TrackingHost;
    pushes: Pushes;
    random: Random;
    hashSeed: Uint8Array;
    limits?: TrackingLimits;
  }) {
    this.#host = options.host;
    this.#pushes = options.pushes;
    this.#random = options.random;
    this.#limits = options.limits ?? defaultLimits;
    this.#keys = new TrackedKeys(options.hashSeed);
  }

  /** False while no client tracks. */
  get isOn(): boolean {
    return this.#trackers.size > 0;
  }

  get clientCount(): number {
    return this.#trackers.size;
  }

  /** Remembered keys, and pairs of a key and a client. */
  get keyCount(): number {
    return this.#keys.count;
  }

  get itemCount(): number {
    return this.#keys.itemCount;
  }

  get prefixCount(): number {
    return this.#prefixes.count;
  }

  /** Distinct lengths of prefixes: each takes a look-up for each changed key. */
  get prefixLengthCount(): number {
    return this.#prefixes.lengthCount;
  }

  /** Memory of the remembered keys. */
  get bytes(): number {
    return this.#keys.bytes;
  }

  /** Entries examined so far, for complexity tests. */
  get work(): number {
    return this.#keys.work;
  }

  /**
   * Starts to track, or changes the options of a client that tracks in the same mode: new prefixes are added to its own.
   *
   * @throws {CommandError} if a prefix is refused; then nothing has changed.
   */
  start(
    known: Tracker | undefined,
    { client, options, prefixes }: { client: TrackingClient; options: TrackingOptions; prefixes: readonly Bytes[] },
  ): Tracker {
    const added = options.isBroadcast && prefixes.length === 0 ? [""] : prefixes;
    if (options.isBroadcast) this.#checkPrefixes(known, prefixes, added);
    assert(known === undefined || known.options.isBroadcast === options.isBroadcast, "a tracker keeps its mode");
    const tracker = known ?? new Tracker(client, options);
    tracker.options = options;
    tracker.isBroken = false;
    this.#trackers.add(tracker);
    for (const prefix of added) {
      tracker.prefixes.add(prefix);
      this.#prefixes.add(prefix, tracker);
    }
    this.#host.observers.observeAll(this.#keyChanges);
    this.begin(tracker);
    return tracker;
  }

  /** Tracking is off, or the connection leaves the database. */
  stop(tracker: Tracker): void {
    tracker.isOpen = false;
    this.#trackers.delete(tracker);
    if (this.#running === tracker) this.#endCommand();
    for (const prefix of tracker.prefixes) this.#prefixes.remove(prefix, tracker);
    if (this.#trackers.size === 0) {
      this.#host.observers.leaveAll(this.#keyChanges); // keeps (2)
      this.#keys.clear();
      this.#own = [];
      this.#countMemory();
    } else if (!tracker.options.isBroadcast) this.#keys.leave();
  }

  /** The next unit of work is a command of this client. */
  begin(tracker: Tracker): void {
    this.#running = tracker;
    this.#writer = tracker;
  }

  /** The commands of the unit of work have run, and blocked clients are served. */
  beginServing(): void {
    this.#writer = undefined;
  }

  /** True while the client of the running command remembers the keys that it reads. */
  get isReading(): boolean {
    return this.#running?.countsRead === true;
  }

  /** The running client has read the keys of a command; also one of its script. */
  noteRead(command: CommandFacts, words: readonly Bytes[]): void {
    const tracker = this.#running;
    if (tracker === undefined) return;
    for (const { key } of findKeys(command, words).keys) {
      if (this.#host.memory.mayGrow) this.#keys.add(key, tracker);
      else this.#send(tracker, { kind: "invalidate", keys: [key] }); // keeps (4)
    }
  }

  /** The unit of work is over: makes its remaining pushes. */
  flush(): void {
    // keeps (4)
    for (let left = KEYS_PER_UNIT; left > 0 && this.#keys.count > this.keysMax; left -= 1)
      this.#invalidate(this.#keys.pick(this.#random));
    const own = this.#own;
    if (own.length > 0) {
      this.#own = [];
      for (const { tracker, key } of own)
        if (tracker.isOpen) this.#send(tracker, { kind: "invalidate", keys: key === null ? null : [key] });
    }
    for (const tracked of this.#prefixes.takeChanged()) this.#broadcast(tracked);
    this.#endCommand();
    this.#countMemory();
  }

  /** Frees some of the memory of clients that are gone; called from time to time. */
  sweep(): void {
    this.#keys.sweep(ITEMS_PER_SWEEP);
    this.#countMemory();
  }

  /** `onChange` of the keyspace. */
  readonly #keyChanges = (key: Bytes | undefined, isOwn = false): void => {
    if (key === undefined) {
      this.#invalidateAll();
      return;
    }
    const by = isOwn ? undefined : this.#writer;
    if (this.#prefixes.count > 0)
      this.#prefixes.note(key, by, { bytesMax: this.#limits.pushBytes, full: this.#broadcast });
    this.#invalidate(key, by);
  };

  #endCommand(): void {
    this.#running = undefined;
    this.#writer = undefined;
  }

  /** Notifies the clients that have read a key. `by`: the client that changed it, if it tracks keys. */
  #invalidate(key: Bytes, by?: Tracker): void {
    const readers = this.#keys.take(key);
    if (readers === undefined) return;
    const push: Push = { kind: "invalidate", keys: [key] };
    for (const tracker of readers) {
      if (!tracker.isOpen || (tracker === by && tracker.options.isNoLoop)) continue;
      if (tracker === this.#running)
        this.#own.push({ tracker, key }); // keeps (3)
      else this.#send(tracker, push);
    }
  }

  /** All keys are removed. */
  #invalidateAll(): void {
    const push: Push = { kind: "invalidate", keys: null };
    for (const tracker of this.#trackers) {
      if (tracker === this.#running) this.#own.push({ tracker, key: null });
      else this.#send(tracker, push);
    }
    this.#keys.clear();
  }

  /** Pushes the changed keys of a prefix to its clients. */
  readonly #broadcast = (tracked: TrackedPrefix): void => {
    const changes = takeKeys(tracked);
    const receivers: Subscriber[] = [];
    for (const tracker of tracked.trackers) {
      const { client, options } = tracker;
      const isFor = ([key, by]: (typeof changes)[number]): boolean =>
        !(options.isNoLoop && by === tracker) && client.mayKnow(key);
      if (!changes.every(isFor)) {
        const keys = changes.filter(isFor).map(([key]) => key);
        if (keys.length > 0) this.#send(tracker, { kind: "invalidate", keys });
        continue;
      }
      const receiver = this.#receiverOf(tracker);
      if (receiver !== undefined) receivers.push(receiver);
    }
    if (changes.length > 0 && receivers.length > 0)
      this.#add({ kind: "invalidate", keys: changes.map(([key]) => key) }, receivers);
  };

  #send(tracker: Tracker, push: Push): void {
    const receiver = this.#receiverOf(tracker);
    if (receiver !== undefined) this.#add(push, [receiver]);
  }

  #add(push: Push, receivers: readonly Subscriber[]): void {
    let bytes = 0;
    if (push.kind === "invalidate") for (const key of push.keys ?? []) bytes += key.length + KEY_BYTES;
    this.#pushes.add(push, receivers, bytes);
  }

  /** Where the pushes of a client go; undefined if its connection has no form for them. */
  #receiverOf(tracker: Tracker): Subscriber | undefined {
    const { client, options } = tracker;
    if (options.redirectTo === 0) return client.respVersion === 3 ? client.invalidated : undefined;
    const target = this.#host.sessions.find(options.redirectTo);
    if (target !== undefined) return target.respVersion === 3 || target.isSubscribed ? target.invalidated : undefined;
    tracker.isBroken = true;
    if (client.respVersion === 3)
      this.#add({ kind: "tracking-redir-broken", clientId: options.redirectTo }, [client.invalidated]);
    return undefined;
  }

  /** keeps (5) */
  #checkPrefixes(known: Tracker | undefined, prefixes: readonly Bytes[], added: readonly Bytes[]): void {
    const { clientPrefixesMax, prefixesMax, prefixBytesMax } = this.#limits;
    const own = known?.prefixes ?? new Set<Bytes>();
    if (own.size + added.length > clientPrefixesMax) throw prefixesTooMany(clientPrefixesMax, "client");
    let newCount = 0;
    for (const prefix of added) {
      if (prefix.length > prefixBytesMax) throw prefixTooLong(prefixBytesMax);
      if (!this.#prefixes.has(prefix)) newCount += 1;
    }
    if (this.#prefixes.count + newCount > prefixesMax) throw prefixesTooMany(prefixesMax, "database");
    const sorted = [...own].sort();
    for (const [index, prefix] of prefixes.entries()) {
      for (const other of sorted) if (overlap(prefix, other)) throw prefixOverlapsOwn(prefix, other);
      for (const other of prefixes.slice(index + 1)) if (overlap(prefix, other)) throw prefixesOverlap(prefix, other);
    }
  }

  #countMemory(): void {
    const { bytes } = this.#keys;
    if (bytes === this.#countedBytes) return;
    this.#countedBytes = bytes;
    this.#host.countMemory();
  }
}

/** Approximate memory of a key in a push beside its bytes. */
const KEY_BYTES = 16;

/** Whether a key can have both prefixes. */
function overlap(one: Bytes, other: Bytes): boolean {
  return one.startsWith(other) || other.startsWith(one);
}
