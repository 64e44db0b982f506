/**
 * The open event streams of a listener, their owners and their ends (threats
 *
 *
 * (1) A stream ends when its peer disconnects, when the server drains, when its
 *     token is revoked, when the user of its token changes, when its database is
 *     deleted, or when its peer reads too slowly. Then its `closed` runs, once,
 *     and it accepts no more bytes.
 * (2) A peer that reads slowly costs at most `queuedBytesMax`, and at most
 *     `slowBytesMax` for longer than `slowMs`, as Redis bounds its subscribers.
 *     Its connection is destroyed, since it would not read an end either.
 * (3) A token has at most `streamsPerTokenMax` streams.
 * (4) All streams of a tenant together cost at most `tenantBytesMax` for longer
 *     than `unreadMs`. Above it, streams whose peers have not read for `unreadMs`
 *     are destroyed, the longest unread first. Bursts to many peers that do read
 *     are allowed: they share their bytes in memory.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Grant, UserGrant } from "../auth.ts";
import { tooManyStreams } from "../errors.ts";
import type { HttpStream, StreamSink } from "../handler.ts";
import { HEARTBEAT } from "./event-lines.ts";

export interface StreamLimits {
  /** The most bytes that may wait for a peer; the most that may wait for longer than `slowMs`. */
  readonly queuedBytesMax: number;
  readonly slowBytesMax: number;
  readonly slowMs: number;
  /** For all streams of a tenant; above it, a peer may leave bytes unread for `unreadMs`. */
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

/** A stream gets a heartbeat after so much silence: less than the idle timeouts of common proxies. */
export const HEARTBEAT_MS = 15_000;
/** Time between two checks of all streams. */
const TICK_MS = 5_000;
/** The least time between two searches for streams to destroy. */
const SHED_MS = 1_000;

/** Why the server ended a stream. */
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
  /** Called after the headers are written. Returns a function to call after the end of the stream. */
  readonly open: (stream: EventStream) => () => void;
}

export class EventStreams {
  readonly clock: Clock;
  readonly limits: StreamLimits;
  readonly #byGrant = new Map<Grant, Set<EventStream>>();
  readonly #endedCounts = new Map<EndReason, number>();
  /** Queued bytes by tenant, as of the last check of each stream. */
  readonly #queuedBytes = new Map<string, number>();
  #cancelTick: (() => void) | undefined;
  #shedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, limits: Partial<StreamLimits> = {}) {
    this.clock = clock;
    this.limits = { ...defaultStreamLimits, ...limits };
  }

  get openCount(): number {
    let count = 0;
    for (const streams of this.#byGrant.values()) count += streams.size;
    return count;
  }

  /** Streams that the server has ended for this reason. */
  endedCount(reason: EndReason): number {
    return this.#endedCounts.get(reason) ?? 0;
  }

  get queuedBytes(): ReadonlyMap<string, number> {
    return this.#queuedBytes;
  }

  /** A reply that stays open. Throws a RequestFailure if the token has too many streams. keeps (3) */
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

  /** Ends the streams of a token that is no longer valid. */
  revoke(grant: Grant): void {
    this.#endAll(grant, "token revoked");
  }

  /** Ends the streams of a user whose rights have changed. */
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

  /** Adds the change of the queued bytes of a stream. keeps (4) */
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
    for (const streams of [...this.#byGrant.values()]) for (const stream of [...streams]) stream.check();
  };
}

/** One stream, from its headers to its end. */
export class EventStream {
  readonly #streams: EventStreams;
  readonly #sink: StreamSink;
  readonly #tenant: string;
  #wroteAtMs: number;
  /** Bytes that waited for the peer at the last check, and since when any wait. */
  #queuedBytes = 0;
  queuedSinceMs = Number.POSITIVE_INFINITY;
  /** Since when more than `slowBytesMax` wait; undefined if they do not. */
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

  /** Ends the stream after the bytes that were sent. */
  end(reason: EndReason): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#streams.noteEnd(reason);
    this.#sink.end();
  }

  /** Destroys the stream if the next `byteCount` bytes are more than may ever wait. keeps (2) */
  cutIfTooLong(byteCount: number): boolean {
    if (byteCount <= this.#streams.limits.queuedBytesMax) return false;
    this.cutOff();
    return true;
  }

  /** Called periodically: sends a heartbeat to a silent stream, destroys one whose peer does not read. */
  check(): void {
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

  /** Ends the stream and its connection: the peer would not read an end either. */
  cutOff(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#streams.noteEnd("too slow");
    this.forget();
    this.#sink.abort();
  }

  /** Updates the number of queued bytes. */
  recount(): void {
    if (this.isOpen) this.#count(this.#sink.queuedBytes);
  }

  /** Removes its bytes from the counts. */
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
