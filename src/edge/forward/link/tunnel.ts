/**
 * One end of a tunnel, a connection of a RESP client that goes over a link together
 * with others: a stream of bytes as a socket is, at the node that the client has
 * reached and at the owner alike.
 *
 *     opening -> open -> (its end sent, the peer's received) -> closed
 *
 * (1) Bytes pass both ways unchanged and in their order, and the end of one side
 *     after its bytes. Each side ends by itself.
 * (2) At most a window of bytes is on its way or unread in each direction. A side that
 *     does not read gives no credit, so its peer's bytes wait at their source, and its
 *     link goes on. The window of a side that reads long data at once doubles with each
 *     credit, and is as small as before after it has stopped, or read short data.
 * (3) While a link has many unsent bytes, a tunnel waits for its turn, and sends one
 *     piece in each. So a short request or answer never waits for long.
 * (4) No packet is kept for a small part of it, and what is held is one piece, however
 *     many it came in.
 * (5) `close` comes once, in a later microtask, after everything that came before.
 */
import { EventEmitter } from "node:events";
import { BodyBuffer } from "../../http/bodies/body-buffer.ts";
import type { ByteStream } from "../byte-stream.ts";
import {
  kinds,
  LinkFault,
  type LinkFrameReader,
  type LinkFrameWriter,
  LONG_DATA_BYTES_MIN,
  PIECE_BYTES_MAX,
  TUNNEL_WINDOW_BYTES,
  TUNNEL_WINDOW_BYTES_MAX,
  TUNNELS_GROWTH_BYTES_MAX,
} from "./frames.ts";
import type { Pumped } from "./pumping.ts";

/** What a tunnel needs of its link. */
export interface TunnelLink {
  readonly frames: LinkFrameWriter;
  /** Many bytes wait for the peer. */
  readonly isCongested: boolean;
  readonly addresses: LinkAddresses;
  /** By how much the windows that this end gives have grown together. */
  readonly growth: { bytes: number };
  /** Frames were written, and go out at the end of the turn. */
  wrote(): void;
  /** The tunnel has something to send, as soon as it may. */
  pump(tunnel: LinkTunnel): void;
  /** No more frames of it are sent, and those that come are ignored. */
  left(tunnel: LinkTunnel): void;
}

/** Of the connection of a link. */
export interface LinkAddresses {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/** Longer pieces are given to a reader of text as bytes: at most a packet, which has a record of TLS, is kept for each. */
const TEXT_BYTES_MAX = 4 * 1024;
/** So many chunks that were sent are kept in front of those that wait. */
const SENT_CHUNKS_MAX = 1_024;

export class LinkTunnel extends EventEmitter implements ByteStream, Pumped {
  readonly number: number;
  /** All links are. */
  readonly encrypted = true;
  destroyed = false;
  closed = false;
  readonly #link: TunnelLink;
  /** Bytes that may be sent, and that may come. */
  #window = TUNNEL_WINDOW_BYTES;
  #room = TUNNEL_WINDOW_BYTES;
  /** The whole window of the peer. */
  #given = TUNNEL_WINDOW_BYTES;
  /** Bytes that were read since the last credit, and those of long data among them. */
  #owed = 0;
  #longBytes = 0;
  #hasStopped = false;
  /** What waits for credit or for the link. */
  #queue: (Buffer | string)[] = [];
  /** The place of the first of them, and what was sent of it. */
  #firstAt = 0;
  #sentBytes = 0;
  #queuedBytes = 0;
  /** `end` was called; its frame was sent. */
  #isEnding = false;
  #hasEnded = false;
  /** The peer's end has come; `end` was emitted. */
  #hasPeerEnded = false;
  #isEndRead = false;
  #isPaused = true;
  /** What came while it was paused. */
  #held: BodyBuffer | undefined;
  #isTextPreferred = false;
  /** 0: any time. */
  #timeoutMs = 0;
  /** Since when no byte has moved; undefined: since the next look. */
  #stillSinceMs: number | undefined;

  constructor(link: TunnelLink, number: number) {
    super();
    this.#link = link;
    this.number = number;
  }

  get remoteAddress(): string | undefined {
    return this.#link.addresses.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.#link.addresses.remotePort;
  }

  get localAddress(): string | undefined {
    return this.#link.addresses.localAddress;
  }

  get localPort(): number | undefined {
    return this.#link.addresses.localPort;
  }

  get writable(): boolean {
    return !this.#isEnding && !this.destroyed;
  }

  get writableLength(): number {
    return this.#queuedBytes;
  }

  /** False: some of it waits here, and `drain` follows. */
  write(chunk: Buffer | string, _encoding?: "latin1"): boolean {
    const { length } = chunk;
    if (!this.writable || length === 0) return this.#queuedBytes === 0;
    const hasRoom = length <= this.#window && length <= PIECE_BYTES_MAX;
    if (this.#queuedBytes > 0 || !hasRoom || this.#link.isCongested) {
      this.#queue.push(chunk);
      this.#queuedBytes += length;
      this.#link.pump(this); // keeps (3)
      return false;
    }
    const { frames } = this.#link;
    frames.begin(kinds.tunnelData, this.number, length);
    if (typeof chunk === "string") frames.text(chunk);
    else frames.copy(chunk);
    this.#window -= length;
    this.#stillSinceMs = undefined;
    this.#link.wrote();
    return true;
  }

  /** This side sends nothing after this. keeps (1) */
  end(chunk = "", encoding: "latin1" = "latin1"): void {
    if (chunk !== "") this.write(chunk, encoding);
    if (!this.writable) return;
    this.#isEnding = true;
    if (this.#queuedBytes === 0) this.#sendEnd();
  }

  /** Whether `sendPiece` has something to send now. keeps (2) */
  get canSend(): boolean {
    return this.#queuedBytes > 0 && this.#window > 0;
  }

  sendPiece(): void {
    if (!this.canSend) return;
    const size = Math.min(this.#queuedBytes, PIECE_BYTES_MAX, this.#window);
    this.#link.frames.begin(kinds.tunnelData, this.number, size);
    for (let left = size; left > 0; ) left -= this.#writeQueued(left);
    this.#queuedBytes -= size;
    this.#window -= size;
    this.#stillSinceMs = undefined;
    this.#link.wrote();
    if (this.#queuedBytes > 0) return;
    if (this.#isEnding) this.#sendEnd();
    else this.emit("drain");
  }

  /** Writes at most so many bytes of the first chunk that waits. Returns how many. */
  #writeQueued(bytesMax: number): number {
    const { frames } = this.#link;
    const first = this.#queue[this.#firstAt] as Buffer | string;
    const start = this.#sentBytes;
    const end = Math.min(first.length, start + bytesMax);
    if (typeof first === "string") frames.text(first.slice(start, end));
    else frames.copy(first.subarray(start, end));
    this.#sentBytes = end;
    if (end < first.length) return end - start;
    this.#sentBytes = 0;
    this.#firstAt += 1;
    if (this.#firstAt === this.#queue.length || this.#firstAt === SENT_CHUNKS_MAX) {
      this.#queue.splice(0, this.#firstAt);
      this.#firstAt = 0;
    }
    return end - start;
  }

  pause(): void {
    this.#isPaused = true;
    this.#hasStopped = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // As a socket, which does not call its reader within this call.
    queueMicrotask(() => this.#flow());
  }

  isPaused(): boolean {
    return this.#isPaused;
  }

  preferText(): void {
    this.#isTextPreferred = true;
  }

  readonly setTimeout = (ms: number): void => {
    this.#timeoutMs = ms;
    this.#stillSinceMs = undefined;
  };

  /** Called about once a second where timeouts are used. */
  check(nowMs: number): void {
    if (this.#timeoutMs === 0) return;
    this.#stillSinceMs ??= nowMs;
    if (nowMs - this.#stillSinceMs <= this.#timeoutMs) return;
    this.#stillSinceMs = undefined;
    this.emit("timeout");
  }

  /** Both sides end now, and what was not sent is lost. */
  destroy(): void {
    if (this.destroyed) return;
    this.#link.frames.begin(kinds.tunnelReset, this.number, 0);
    this.#link.wrote();
    this.#close();
  }

  destroySoon(): void {
    this.end();
    if (this.#hasEnded) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  /** A piece of the peer. */
  receive(frame: LinkFrameReader): void {
    const { size } = frame;
    if (size === 0 || size > this.#room || this.#hasPeerEnded) throw new LinkFault("a piece of a tunnel has no place");
    this.#room -= size;
    this.#stillSinceMs = undefined;
    if (this.#isPaused || this.#held !== undefined) this.#hold(frame);
    else this.#pass(this.#pieceOf(frame));
  }

  /** The peer has room for so many more bytes. */
  receiveCredit(bytes: number): void {
    this.#window += bytes;
    if (this.#window > TUNNEL_WINDOW_BYTES_MAX) throw new LinkFault(`a credit of ${bytes} bytes is too large`);
    if (this.canSend) this.#link.pump(this);
  }

  receiveEnd(): void {
    if (this.#hasPeerEnded) throw new LinkFault("a side of a tunnel ends twice");
    this.#hasPeerEnded = true;
    this.#flow();
  }

  /** The peer has ended both sides, or the link has ended. */
  lost(): void {
    if (this.destroyed) return;
    // Nobody else has these bytes any more, and they are few.
    if (this.#held !== undefined) this.emit("data", this.#held.take());
    this.#held = undefined;
    if (this.#hasPeerEnded && !this.#isEndRead) this.emit("end");
    if (!this.destroyed) this.#close();
  }

  #pieceOf(frame: LinkFrameReader): Buffer | string {
    if (this.#isTextPreferred && frame.size <= TEXT_BYTES_MAX) return frame.text(0, frame.size);
    return frame.bytes.subarray(frame.start, frame.end);
  }

  /** keeps (4) */
  #hold({ bytes, start, end }: LinkFrameReader): void {
    if (this.#held === undefined) {
      // It keeps its first chunk as it is.
      const first = Buffer.allocUnsafeSlow(end - start);
      bytes.copy(first, 0, start, end);
      this.#held = new BodyBuffer(0);
      this.#held.add(first);
    } else this.#held.add(bytes.subarray(start, end));
  }

  /** keeps (2) */
  #pass(piece: Buffer | string): void {
    const { length } = piece;
    this.#owed += length;
    if (length >= LONG_DATA_BYTES_MIN) this.#longBytes += length;
    this.emit("data", piece);
    // The reader has more than it wants: it gets the credit when it goes on.
    if (!this.#isPaused) this.#credit();
  }

  #credit(): void {
    if (this.#owed * 2 < this.#given || this.#hasPeerEnded || this.destroyed) return;
    const bytes = this.#owed + this.#resize();
    this.#owed = 0;
    this.#longBytes = 0;
    this.#hasStopped = false;
    if (bytes === 0) return;
    const { frames } = this.#link;
    frames.begin(kinds.tunnelCredit, this.number, 4);
    frames.uint32(bytes);
    this.#room += bytes;
    this.#link.wrote();
  }

  /** By how much the window changes: it shrinks by bytes that were read. keeps (2) */
  #resize(): number {
    const { growth } = this.#link;
    const isGrowing = !this.#hasStopped && this.#longBytes * 2 > this.#owed;
    const change = isGrowing
      ? Math.min(this.#given, TUNNEL_WINDOW_BYTES_MAX - this.#given, TUNNELS_GROWTH_BYTES_MAX - growth.bytes)
      : -Math.min(this.#given - TUNNEL_WINDOW_BYTES, this.#owed);
    this.#given += change;
    growth.bytes += change;
    return change;
  }

  #flow(): void {
    if (this.#isPaused || this.destroyed) return;
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#pass(held.take());
    if (this.#isPaused) return;
    this.#credit();
    if (!this.#hasPeerEnded || this.#isEndRead) return;
    this.#isEndRead = true;
    this.emit("end");
    this.#closeIfEnded();
  }

  #sendEnd(): void {
    this.#hasEnded = true;
    this.#link.frames.begin(kinds.tunnelEnd, this.number, 0);
    this.#link.wrote();
    // Later, as of a socket.
    queueMicrotask(() => {
      this.#closeIfEnded();
      this.emit("finish");
    });
  }

  #closeIfEnded(): void {
    if (this.#hasEnded && this.#isEndRead && !this.destroyed) this.#close();
  }

  /** keeps (5) */
  #close(): void {
    this.destroyed = true;
    this.#isEnding = true;
    this.#link.growth.bytes -= this.#given - TUNNEL_WINDOW_BYTES;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#held = undefined;
    this.#link.left(this);
    queueMicrotask(() => {
      this.closed = true;
      this.emit("close");
    });
  }
}
