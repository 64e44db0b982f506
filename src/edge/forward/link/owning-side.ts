/**
 * A link at the node that owns: from its frames to requests, and from answers to
 * frames (`frames.ts`).
 *
 * (1) Frames of all answers of a turn of the event loop leave as one write.
 * (2) Pieces of long answers are written while few bytes wait for the peer, one of
 *     each answer in turn, so a short answer waits for PUMPED_BYTES_MAX at most.
 * (3) While many bytes wait for the peer, the link is not read.
 * (4) A frame that breaks a rule of `frames.ts` ends the link.
 * (5) A link without requests ends after `keepAliveTimeoutMs`, and one whose peer
 *     takes no bytes after `stalledTimeoutMs`. So does an answer without credit.
 */
import type { Socket } from "node:net";
import type { Log } from "../../../kernel/log.ts";
import type { Channel, TransportHandlers, TransportLimits } from "../../http/transport.ts";
import { type ExchangeLink, LinkExchange } from "./exchange.ts";
import { HEADS_MAX, KEPT_HEAD_BYTES_MAX, kinds, LinkFault, LinkFrameReader, LinkFrameWriter } from "./frames.ts";
import { type ReceivedHead, readReceivedHead } from "./heads.ts";
import { UnderWay } from "./under-way.ts";

export interface SharedByLinks {
  readonly handlers: TransportHandlers;
  readonly limits: TransportLimits;
  readonly log: Log;
  /** Of the monotonic clock. */
  nowMs(): number;
}

/** See (2). */
const PUMPED_BYTES_MAX = 256 * 1024;
/** See (3). */
const UNREAD_BYTES_MAX = 1024 * 1024;
/** Visible ASCII, so that no header has it in two lines. */
const SYNC_TOKEN = /^[!-~]*$/;
/** A packet is not kept for a body that has less than this part of it. */
const KEPT_PART = 2;

export class LinkConnection implements ExchangeLink {
  /** The whole connection: to destroy it is to let its requests finish. */
  readonly channel: Channel;
  readonly frames = new LinkFrameWriter();
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly #socket: Socket;
  readonly #shared: SharedByLinks;
  readonly #reader = new LinkFrameReader();
  readonly #heads: (ReceivedHead | undefined)[] = [];
  /** The head of the next request only. */
  #nextHead: ReceivedHead | undefined;
  #lastNumber = 0;
  readonly #exchanges = new UnderWay<LinkExchange>();
  /** Those that may send a piece, in their order. */
  readonly #pumping = new Set<LinkExchange>();
  /** Those whose last frame has not been written to the socket. */
  #ended: LinkExchange[] = [];
  #isFlushPlanned = false;
  #isLeaving = false;
  /** When its last request ended, and when the peer last took bytes. */
  #idleSinceMs: number;
  #takenMs: number;

  constructor(socket: Socket, shared: SharedByLinks) {
    this.#socket = socket;
    this.#shared = shared;
    this.#idleSinceMs = shared.nowMs();
    this.#takenMs = this.#idleSinceMs;
    this.remoteAddress = socket.remoteAddress;
    this.remotePort = socket.remotePort;
    this.channel = this.#channel();
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
        throw new LinkFault(`a frame has the kind ${kind}`);
    }
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

  pump(exchange: LinkExchange): void {
    if (exchange.canSend) this.#pumping.add(exchange);
    this.wrote();
  }

  ended(exchange: LinkExchange): void {
    this.#forget(exchange);
    this.#ended.push(exchange);
    this.wrote();
  }

  #forget(exchange: LinkExchange): void {
    this.#exchanges.delete(exchange.number);
    this.#pumping.delete(exchange);
    if (this.#exchanges.size === 0) this.#idleSinceMs = this.#shared.nowMs();
  }

  /** keeps (1) */
  readonly #flush = (): void => {
    this.#isFlushPlanned = false;
    const socket = this.#socket;
    if (socket.destroyed) return;
    this.#sendPieces();
    const chunks = this.frames.take();
    const last = chunks.at(-1);
    if (last === undefined) return;
    if (socket.writableLength === 0) this.#takenMs = this.#shared.nowMs();
    const ended = this.#ended;
    this.#ended = [];
    socket.cork();
    for (const chunk of chunks) if (chunk !== last) socket.write(chunk);
    socket.write(last, () => this.#taken(ended));
    socket.uncork();
    if (socket.writableLength > UNREAD_BYTES_MAX) socket.pause(); // keeps (3)
  };

  /** keeps (2) */
  #sendPieces(): void {
    for (const exchange of this.#pumping) {
      if (this.#unsentBytes > PUMPED_BYTES_MAX) return;
      // It goes to the end of the set, which this loop reaches later.
      this.#pumping.delete(exchange);
      exchange.sendPiece();
      if (exchange.canSend) this.#pumping.add(exchange);
    }
  }

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
    const isIdle = this.#exchanges.size === 0 && nowMs - this.#idleSinceMs > limits.keepAliveTimeoutMs;
    if (isStalled || isIdle) {
      this.#socket.destroy();
      return;
    }
    for (const exchange of this.#exchanges.values()) {
      if (exchange.timeoutMs === 0 || exchange.writableLength === 0) continue;
      exchange.stalledSinceMs ??= nowMs;
      if (nowMs - exchange.stalledSinceMs > exchange.timeoutMs) handlers.silent(exchange);
    }
  }

  /** Asks the peer for no more requests. It ends the link when it waits for no answer; at the second call this side does. */
  #leave(): void {
    if (this.#isLeaving) {
      if (this.#exchanges.size === 0 && this.#ended.length === 0) this.#socket.destroySoon();
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
    for (const exchange of left) exchange.close();
  }
}
