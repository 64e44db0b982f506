/**
 * The event streams of a listener: all that are open, whom they belong to, and
 * when they end (threats A-17).
 *
 * (1) A stream ends when its peer has gone, when the server drains, when its
 *     token is revoked, when the user of its token changes, when what it tells of
 *     is gone, or when its peer reads too slowly. Then its `closed` runs, once,
 *     and it takes no more.
 * (2) A peer that reads slowly costs at most `queuedBytesMax`, and at most
 *     `slowBytesMax` for longer than `slowMs`, as Redis bounds its subscribers.
 *     Its connection is cut off, since it would not read an end either.
 * (3) A token has at most `streamsPerTokenMax`.
 * (4) All streams of a tenant together cost at most `tenantBytesMax` for longer
 *     than `unreadMs`: beyond it those whose peers have not read for so long
 *     are cut off, the one that waits longest first. Bursts to many readers that
 *     do read are let through: their bytes are the same in memory.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Grant, UserGrant } from "../auth.ts";
import { tooManyStreams } from "../errors.ts";
import type { HttpStream, StreamSink } from "../handler.ts";
import { HEARTBEAT } from "./event-lines.ts";

export interface StreamLimits {
  /** Bytes that may wait for a peer at all, and those that may wait for long, and how long. */
  readonly queuedBytesMax: number;
  readonly slowBytesMax: number;
  readonly slowMs: number;
  /** Of all streams of a tenant; and how long a peer may leave bytes unread while there are more. */
  readonly tenantBytesMax: number;
  readonly unreadMs: number;
  readonly streamsPerTokenMax: number;
}

const MB = 2 ** 20;

export const defaultStreamLimits: StreamLimits = {
  queuedBytesMax: 32 * MB,
  slowBytesMax: 8 * MB,
  slowMs: 60_000,
  tenantBytesMax: 128 * MB,
  unreadMs: 5_000,
  streamsPerTokenMax: 1_000,
};

/** A stream that has been silent for so long gets a heartbeat: shorter than the patience of common proxies. */
export const HEARTBEAT_MS = 15_000;
/** How often streams are looked at. */
const TICK_MS = 5_000;
/** How often is looked, at most, which streams of a tenant that has too much are to end. */
const SHED_MS = 1_000;

/** Why we ended a stream that its peer would have read on. */
export const endReasons = [
  "too slow",
  "token revoked",
  "user changed",
  "database deleted",
  "pushes wait for the disk",
] as const;

export type EndReason = (typeof endReasons)[number];

export interface StreamDescription {
  readonly grant: Grant;
  readonly headers: readonly string[];
  readonly route: string;
  /** Called when the headers are on their way. Returns what is to be done when the stream has ended. */
  readonly open: (stream: EventStream) => () => void;
}

export class EventStreams {
  readonly clock: Clock;
  readonly limits: StreamLimits;
  readonly #byGrant = new Map<Grant, Set<EventStream>>();
  readonly #endedCounts = new Map<EndReason, number>();
  /** Bytes that wait, by tenant, as they were when each stream was last looked at. */
  readonly #queuedBytes = new Map<string, number>();
  #cancelTick: (() => void) | undefined;
  #shedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, limits: Partial<StreamLimits> = {}) {
    this.clock = clock;
    this.limits = { ...defaultStreamLimits, ...limits };
  }

  /** How many are open. */
  get openCount(): number {
    let count = 0;
    for (const streams of this.#byGrant.values()) count += streams.size;
    return count;
  }

  /** How many were ended for a reason since the start. */
  endedCount(reason: EndReason): number {
    return this.#endedCounts.get(reason) ?? 0;
  }

  /** Bytes that wait for peers, by tenant. */
  get queuedBytes(): ReadonlyMap<string, number> {
    return this.#queuedBytes;
  }

  /** A reply that stays open. Throws a RequestFailure when the token has too many. keeps (3) */
  reply({ grant, headers, route, open }: StreamDescription): HttpStream {
    if ((this.#byGrant.get(grant)?.size ?? 0) >= this.limits.streamsPerTokenMax)
      throw tooManyStreams(this.limits.streamsPerTokenMax);
    return {
      status: 200,
      headers,
      route,
      open: (sink) => {
        const stream = new EventStream(this, grant.tenant, sink);
        this.#add(grant, stream);
        const closed = open(stream);
        return () => {
          stream.isOpen = false;
          stream.forget();
          this.#remove(grant, stream);
          closed();
        };
      },
    };
  }

  /** The token is no longer good: what it opened ends. */
  revoke(grant: Grant): void {
    this.#endAll(grant, "token revoked");
  }

  /** A user has changed: what its tokens opened has the rights of before, and ends. */
  userChanged({ tenant, user }: Pick<UserGrant, "tenant" | "user">): void {
    for (const grant of [...this.#byGrant.keys()])
      if (grant.access === "acl" && grant.tenant === tenant && grant.user === user) this.#endAll(grant, "user changed");
  }

  #endAll(grant: Grant, reason: EndReason): void {
    for (const stream of [...(this.#byGrant.get(grant) ?? [])]) stream.end(reason);
  }

  noteEnd(reason: EndReason): void {
    this.#endedCounts.set(reason, this.endedCount(reason) + 1);
  }

  /** So many bytes more, or fewer, wait for a stream. keeps (4) */
  noteQueued(tenant: string, bytes: number): void {
    const queued = (this.#queuedBytes.get(tenant) ?? 0) + bytes;
    if (queued > 0) this.#queuedBytes.set(tenant, queued);
    else this.#queuedBytes.delete(tenant);
    if (bytes <= 0 || queued <= this.limits.tenantBytesMax) return;
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#shedAtMs < SHED_MS) return;
    this.#shedAtMs = nowMs;
    this.#shed(tenant, nowMs);
  }

  /** keeps (4) */
  #shed(tenant: string, nowMs: number): void {
    const streams = [...this.#byGrant].flatMap(([grant, all]) => (grant.tenant === tenant ? [...all] : []));
    for (const stream of streams) stream.recount();
    const isTooMuch = (): boolean => (this.#queuedBytes.get(tenant) ?? 0) > this.limits.tenantBytesMax;
    const unread = streams.filter(({ queuedSinceMs }) => nowMs - queuedSinceMs >= this.limits.unreadMs);
    unread.sort((one, other) => one.queuedSinceMs - other.queuedSinceMs);
    for (const stream of unread) {
      if (!isTooMuch()) return;
      stream.cutOff();
    }
  }

  #add(grant: Grant, stream: EventStream): void {
    const streams = this.#byGrant.get(grant);
    if (streams === undefined) this.#byGrant.set(grant, new Set([stream]));
    else streams.add(stream);
    this.#cancelTick ??= this.clock.after(TICK_MS, this.#tick);
  }

  #remove(grant: Grant, stream: EventStream): void {
    const streams = this.#byGrant.get(grant);
    streams?.delete(stream);
    if (streams?.size === 0) this.#byGrant.delete(grant);
    if (this.#byGrant.size > 0) return;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
  }

  readonly #tick = (): void => {
    this.#cancelTick = this.clock.after(TICK_MS, this.#tick);
    for (const streams of [...this.#byGrant.values()]) for (const stream of [...streams]) stream.look();
  };
}

/** One stream, from its headers to its end. */
export class EventStream {
  readonly #streams: EventStreams;
  readonly #sink: StreamSink;
  readonly #tenant: string;
  #wroteAtMs: number;
  /** Bytes that wait for the peer, as they were when it was looked at, and since when some do. */
  #queuedBytes = 0;
  queuedSinceMs = Number.POSITIVE_INFINITY;
  /** Since when too much waits; undefined: it does not. */
  #slowSinceMs: number | undefined;
  isOpen = true;

  constructor(streams: EventStreams, tenant: string, sink: StreamSink) {
    this.#streams = streams;
    this.#tenant = tenant;
    this.#sink = sink;
    this.#wroteAtMs = streams.clock.monotonicMs();
  }

  /** Sends bytes; a Buffer may be shared between streams, and a string must be ASCII. */
  send(chunk: string | Buffer): void {
    if (!this.isOpen) return;
    this.#sink.write(chunk);
    this.#wroteAtMs = this.#streams.clock.monotonicMs();
    this.#checkQueue();
  }

  /** Ends the stream behind what was sent. */
  end(reason: EndReason): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#streams.noteEnd(reason);
    this.#sink.end();
  }

  /** Cuts the stream off if what it is to be sent has at least `byteCount` bytes, and so many never fit. keeps (2) */
  cutIfTooLong(byteCount: number): boolean {
    if (byteCount <= this.#streams.limits.queuedBytesMax) return false;
    this.cutOff();
    return true;
  }

  /** Called now and then: a silent stream gets a heartbeat, one whose peer does not read is cut off. */
  look(): void {
    if (!this.isOpen) return;
    if (this.#streams.clock.monotonicMs() - this.#wroteAtMs >= HEARTBEAT_MS) this.send(HEARTBEAT);
    else this.#checkQueue();
  }

  /** keeps (2) */
  #checkQueue(): void {
    const { clock, limits } = this.#streams;
    const { queuedBytes } = this.#sink;
    if (queuedBytes !== this.#queuedBytes) this.#count(queuedBytes);
    if (!this.isOpen) return;
    if (queuedBytes <= limits.slowBytesMax) {
      this.#slowSinceMs = undefined;
      return;
    }
    const nowMs = clock.monotonicMs();
    this.#slowSinceMs ??= nowMs;
    if (queuedBytes <= limits.queuedBytesMax && nowMs - this.#slowSinceMs < limits.slowMs) return;
    this.cutOff();
  }

  /** Ends it together with its connection: its peer would not read an end either. */
  cutOff(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#streams.noteEnd("too slow");
    this.forget();
    this.#sink.abort();
  }

  /** Learns how many bytes wait now. */
  recount(): void {
    if (this.isOpen) this.#count(this.#sink.queuedBytes);
  }

  /** Nothing of it counts any more. */
  forget(): void {
    this.#count(0);
  }

  #count(queuedBytes: number): void {
    const bytes = queuedBytes - this.#queuedBytes;
    this.#queuedBytes = queuedBytes;
    if (queuedBytes === 0) this.queuedSinceMs = Number.POSITIVE_INFINITY;
    else if (this.queuedSinceMs === Number.POSITIVE_INFINITY) this.queuedSinceMs = this.#wroteAtMs;
    this.#streams.noteQueued(this.#tenant, bytes);
  }
}
