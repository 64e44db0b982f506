/**
 * A link at the node that owns: from its frames to requests, and from answers to
 * frames (`frames.ts`).
 *
 * (1) Frames of all answers of a turn of the event loop leave as one write.
 * (2) Pieces of long answers are written while few bytes wait for the peer, one of
 *     each answer in turn, so a short answer waits for PUMPED_BYTES_MAX at most.
 * (3) While many bytes wait for the peer, the link is not read.
 * (4) A frame that breaks a rule of `frames.ts` ends the link.
 * (5) A link without requests and tunnels ends after `keepAliveTimeoutMs`, and one whose peer
 *     takes no bytes after `stalledTimeoutMs`. So does an answer without credit.
 */
import type { Socket } from "node:net";
import type { Log } from "../../../kernel/log.ts";
import type { Channel, TransportHandlers, TransportLimits } from "../../http/transport.ts";
import { type ByteStream, KEEP_ALIVE_MS } from "../byte-stream.ts";
import type { Caller } from "../forwarded-head.ts";
import { type ExchangeLink, LinkExchange } from "./exchange.ts";
import {
  HEADS_MAX,
  KEPT_HEAD_BYTES_MAX,
  kinds,
  LinkFault,
  LinkFrameReader,
  LinkFrameWriter,
  PUMPED_BYTES_MAX,
  TUNNELS_MAX,
  writeChunks,
} from "./frames.ts";
import { type ReceivedHead, readReceivedHead } from "./heads.ts";
import { type Pumped, Pumping } from "./pumping.ts";
import { type LinkAddresses, LinkTunnel, type TunnelLink } from "./tunnel.ts";
import { LinkTunnels } from "./tunnel-set.ts";
import { UnderWay } from "./under-way.ts";

export interface SharedByLinks {
  readonly handlers: TransportHandlers;
  readonly limits: TransportLimits;
  readonly log: Log;
  /** Absent: this node takes no connections of RESP clients. */
  readonly acceptTunnel?: AcceptTunnel | undefined;
  /** Of the monotonic clock. */
  nowMs(): number;
}

/** What takes the connection of a client, if this node serves the shard with this number. */
export type AcceptTunnel = (shard: number, caller: Caller) => ((stream: ByteStream) => void) | undefined;

/** See (3). */
const UNREAD_BYTES_MAX = 1024 * 1024;
/** Visible ASCII, so that no header has it in two lines. */
const SYNC_TOKEN = /^[!-~]*$/;
/** A packet is not kept for a body that has less than this part of it. */
const KEPT_PART = 2;
/** Of a client: an IPv6 address with a zone has fewer. */
const ADDRESS_BYTES_MAX = 64;

export class LinkConnection implements ExchangeLink, TunnelLink {
  /** The whole connection: to destroy it is to let its requests finish. */
  readonly channel: Channel;
  readonly frames = new LinkFrameWriter();
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly addresses: LinkAddresses;
  readonly growth = { bytes: 0 };
  readonly #socket: Socket;
  readonly #shared: SharedByLinks;
  /** Undefined: the peer knows none. */
  readonly #tunnels: LinkTunnels | undefined;
  readonly #reader = new LinkFrameReader();
  readonly #heads: (ReceivedHead | undefined)[] = [];
  /** The head of the next request only. */
  #nextHead: ReceivedHead | undefined;
  #lastNumber = 0;
  readonly #exchanges = new UnderWay<LinkExchange>();
  readonly #pumping = new Pumping();
  /** Those whose last frame has not been written to the socket. */
  #ended: LinkExchange[] = [];
  #isFlushPlanned = false;
  #isLeaving = false;
  /** When its last request ended, and when the peer last took bytes. */
  #idleSinceMs: number;
  #takenMs: number;

  constructor(socket: Socket, shared: SharedByLinks, { hasTunnels }: { readonly hasTunnels: boolean }) {
    this.#socket = socket;
    this.#shared = shared;
    this.#tunnels = hasTunnels ? new LinkTunnels() : undefined;
    this.#idleSinceMs = shared.nowMs();
    this.#takenMs = this.#idleSinceMs;
    this.remoteAddress = socket.remoteAddress;
    this.remotePort = socket.remotePort;
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    this.addresses = { remoteAddress, remotePort, localAddress, localPort };
    this.channel = this.#channel();
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    // The socket closes itself then.
    socket.on("error", () => {});
    socket.on("data", (packet: Buffer) => this.#read(packet));
    socket.on("close", () => this.#close());
  }

  #channel(): Channel {
    const { remoteAddress, remotePort } = this;
    return {
      ...{ remoteAddress, remotePort, bytesRead: 0, writableLength: 0, setTimeout: () => {} },
      once: (event, closed) => this.#socket.once(event, closed),
      destroy: () => this.#leave(),
      destroySoon: () => this.#leave(),
    };
  }

  get isCongested(): boolean {
    return this.#unsentBytes > PUMPED_BYTES_MAX;
  }

  get #unsentBytes(): number {
    return this.frames.size + this.#socket.writableLength;
  }

  #read(packet: Buffer): void {
    const reader = this.#reader;
    try {
      reader.add(packet);
      while (!this.#socket.destroyed && reader.next()) this.#receive();
    } catch (fault) {
      if (!(fault instanceof LinkFault)) throw fault;
      const { remoteAddress, remotePort } = this;
      this.#shared.log.warn("a link of another node broke the protocol", {
        ...{ fault: fault.message, remoteAddress, remotePort },
      });
      this.#socket.destroy(); // keeps (4)
    }
  }

  #receive(): void {
    const { kind } = this.#reader;
    switch (kind) {
      case kinds.head:
        this.#receiveHead();
        break;
      case kinds.request:
        this.#receiveRequest();
        break;
      case kinds.credit: {
        const bytes = this.#reader.uint32(0);
        if (this.#exchangeOf()?.credit(bytes) === false) throw new LinkFault(`a credit of ${bytes} bytes is too large`);
        break;
      }
      case kinds.cancel: {
        const exchange = this.#exchangeOf();
        if (exchange === undefined) break;
        this.#forget(exchange);
        exchange.close();
        break;
      }
      default:
        if (this.#tunnels === undefined) throw new LinkFault(`a frame has the kind ${kind}`);
        if (kind === kinds.open) this.#receiveOpen(this.#tunnels);
        else this.#tunnels.receive(this.#reader);
    }
  }

  /** keeps (6) */
  #receiveOpen(tunnels: LinkTunnels): void {
    const { number } = this.#reader;
    if (number !== tunnels.nextNumber) throw new LinkFault(`tunnel ${number} has no place`);
    const addressBytes = this.#reader.size - 6;
    if (addressBytes > ADDRESS_BYTES_MAX) throw new LinkFault(`an address has ${addressBytes} bytes`);
    const [shard, port] = [this.#reader.uint32(0), this.#reader.uint16(4)];
    const caller: Caller = { address: this.#reader.text(6, addressBytes), port };
    const tunnel = new LinkTunnel(this, number);
    tunnels.add(tunnel);
    // The peer may have forgotten some that have unread bytes here.
    const hasRoom = !this.#isLeaving && tunnels.size <= TUNNELS_MAX;
    const take = hasRoom ? this.#shared.acceptTunnel?.(shard, caller) : undefined;
    if (take === undefined) {
      tunnel.destroy();
      return;
    }
    this.frames.begin(kinds.opened, number, 0);
    this.wrote();
    take(tunnel);
    tunnel.resume();
  }

  #receiveHead(): void {
    const reader = this.#reader;
    const { number: place } = reader;
    const isKept = place > 0;
    if (place > HEADS_MAX) throw new LinkFault(`a head has the place ${place}`);
    if (isKept && reader.size > KEPT_HEAD_BYTES_MAX) throw new LinkFault(`a kept head has ${reader.size} bytes`);
    const bytes = reader.bytes.subarray(reader.start, reader.end);
    const head = readReceivedHead(bytes, { headerBytesMax: this.#shared.limits.headerBytesMax, isKept });
    if (isKept) this.#heads[place] = head;
    else this.#nextHead = head;
  }

  #receiveRequest(): void {
    const reader = this.#reader;
    const { number } = reader;
    const { handlers } = this.#shared;
    if (number !== this.#lastNumber + 1) throw new LinkFault(`request ${number} follows ${this.#lastNumber}`);
    this.#lastNumber = number;
    const place = reader.uint32(0);
    const head = place === 0 ? this.#nextHead : this.#heads[place];
    if (head === undefined) throw new LinkFault(`the head in place ${place} is unknown`);
    if (place === 0) this.#nextHead = undefined;
    const syncBytes = reader.uint16(4);
    const syncToken = syncBytes === 0 ? undefined : reader.text(6, syncBytes);
    const isExpected = syncToken === undefined || (head.syncAt !== undefined && SYNC_TOKEN.test(syncToken));
    if (!isExpected || head.syncAt === -1) throw new LinkFault("a request has an unexpected sync token");
    const exchange = new LinkExchange(this, { number, head, syncToken, body: this.#bodyAt(6 + syncBytes) });
    this.#exchanges.add(exchange);
    if (head.fault === undefined) handlers.request(exchange, exchange, "nothing");
    else handlers.refused(exchange, exchange, head.fault);
  }

  #bodyAt(offset: number): Buffer {
    const reader = this.#reader;
    const isMost = (reader.size - offset) * KEPT_PART > reader.bytes.length;
    // No buffer of the socket or of the reader is used again.
    return isMost ? reader.bytes.subarray(reader.start + offset, reader.end) : reader.copy(offset);
  }

  /** The request of the frame; undefined if it has ended. */
  #exchangeOf(): LinkExchange | undefined {
    const { number } = this.#reader;
    if (number > this.#lastNumber || number === 0) throw new LinkFault(`request ${number} was not sent`);
    return this.#exchanges.find(number);
  }

  wrote(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(this.#flush);
  }

  pump(pumped: Pumped): void {
    if (pumped.canSend) this.#pumping.add(pumped);
    this.wrote();
  }

  left(tunnel: LinkTunnel): void {
    this.#tunnels?.delete(tunnel);
    this.#pumping.delete(tunnel);
    this.#noteIdle();
  }

  ended(exchange: LinkExchange): void {
    this.#forget(exchange);
    this.#ended.push(exchange);
    this.wrote();
  }

  #forget(exchange: LinkExchange): void {
    this.#exchanges.delete(exchange.number);
    this.#pumping.delete(exchange);
    this.#noteIdle();
  }

  get #isIdle(): boolean {
    return this.#exchanges.size === 0 && (this.#tunnels?.size ?? 0) === 0;
  }

  #noteIdle(): void {
    if (this.#isIdle) this.#idleSinceMs = this.#shared.nowMs();
  }

  /** keeps (1) */
  readonly #flush = (): void => {
    this.#isFlushPlanned = false;
    const socket = this.#socket;
    if (socket.destroyed) return;
    this.#pumping.run(this); // keeps (2)
    const chunks = this.frames.take();
    if (chunks.length === 0) return;
    if (socket.writableLength === 0) this.#takenMs = this.#shared.nowMs();
    const ended = this.#ended;
    this.#ended = [];
    writeChunks(socket, chunks, () => this.#taken(ended));
    if (socket.writableLength > UNREAD_BYTES_MAX) socket.pause(); // keeps (3)
  };

  /** The system has taken the last frames of these. */
  #taken(ended: readonly LinkExchange[]): void {
    const socket = this.#socket;
    this.#takenMs = this.#shared.nowMs();
    for (const exchange of ended) exchange.close();
    if (this.#pumping.size > 0) this.wrote();
    if (socket.isPaused() && socket.writableLength <= UNREAD_BYTES_MAX) socket.resume();
  }

  /** Called about once a second. keeps (5) */
  check(): void {
    const { handlers, limits } = this.#shared;
    const nowMs = this.#shared.nowMs();
    const isStalled = this.#socket.writableLength > 0 && nowMs - this.#takenMs > limits.stalledTimeoutMs;
    const isIdle = this.#isIdle && nowMs - this.#idleSinceMs > limits.keepAliveTimeoutMs;
    if (isStalled || isIdle) {
      this.#socket.destroy();
      return;
    }
    this.#tunnels?.check(nowMs);
    for (const exchange of this.#exchanges.values()) {
      if (exchange.timeoutMs === 0 || exchange.writableLength === 0) continue;
      exchange.stalledSinceMs ??= nowMs;
      if (nowMs - exchange.stalledSinceMs > exchange.timeoutMs) handlers.silent(exchange);
    }
  }

  /** Asks the peer for no more requests. It ends the link when it waits for no answer; at the second call this side does. */
  #leave(): void {
    if (this.#isLeaving) {
      if (this.#isIdle && this.#ended.length === 0) this.#socket.destroySoon();
      return;
    }
    this.#isLeaving = true;
    this.frames.begin(kinds.goodbye, 0, 0);
    this.wrote();
  }

  #close(): void {
    const left = [...this.#ended, ...this.#exchanges.values()];
    this.#ended = [];
    this.#exchanges.clear();
    this.#pumping.clear();
    this.#tunnels?.lose();
    for (const exchange of left) exchange.close();
  }
}
