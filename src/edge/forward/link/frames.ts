/**
 * The frames of a link, a connection between two nodes that carries many requests
 * at once. One node asks, the other one owns. A frame is
 *
 *     length    4 bytes, of the whole frame
 *     kind      1 byte
 *     number    4 bytes, of the request, or as below
 *     the rest, by its kind; integers have the high byte first
 *
 *     asking   head      number: its place in the table of heads; its text as in HTTP/1.1, with the empty line
 *              request   place of its head (4), length of its sync token (2), sync token, body
 *              credit    bytes (4) of a long answer that may be sent beyond those before
 *              cancel    nobody waits for the answer
 *     owning   answer    status (2), length of the body (4), length of the fields (4), fields, body
 *              begin     status (2), length of the body (4) or `ENDLESS`, fields; its body follows as data
 *              data      a part of the body
 *              end       of an endless body
 *              reset     the request has no complete answer
 *              goodbye   number 0: the owner stops, and gets no further requests on this link
 *
 * Since the second version, a link carries connections of RESP clients as well,
 * tunnels. Their frames have the number of a tunnel:
 *
 *     asking   open          shard (4), port of the client (2), its address
 *     owning   opened        bytes may be sent now; `tunnel reset` instead: the owner takes no such tunnel
 *     both     tunnel data   a part of the bytes of this side
 *              tunnel credit bytes (4) that the peer may send beyond those before
 *              tunnel end    this side sends no more bytes
 *              tunnel reset  both sides end here
 *
 * (1) Requests have the numbers 1, 2, 3, … of their link. Frames about one that has
 *     ended are ignored, since they have crossed its end; about one that was never
 *     sent they are a fault, and so is anything else that is not as above.
 * (2) Fields are `name LF value LF name LF value`, empty without fields.
 * (3) The answer to HEAD has the length of a body that does not follow.
 * (4) Of a body after `begin`, WINDOW_BYTES may be sent, and as many as credits say
 *     beyond these, in pieces of at most PIECE_BYTES_MAX. So one reader that is slow
 *     holds up its own answer only, and other answers go out between the pieces.
 * (5) The head in place 0 belongs to the next request only. The others may be used
 *     again: the asking node chooses their places, and so what is forgotten.
 * (6) Tunnels have the numbers 1, 2, 3, … of their link, beside those of requests. A
 *     tunnel has ended when both sides have, or one has reset it; (1) holds for it too.
 * (7) Before `opened` nothing of the client is sent, so an attempt to open a tunnel has
 *     carried nothing out, and may be made again.
 * (8) Each side of a tunnel may send TUNNEL_WINDOW_BYTES, and as many as credits say
 *     beyond these, in pieces of at most PIECE_BYTES_MAX. At no moment may it send more
 *     than TUNNEL_WINDOW_BYTES_MAX.
 */
import type { Writable } from "node:stream";

/**
 * Chosen in the handshake (ALPN), the best first. Raised with each change of the frames. A node speaks its own version and the
 * one before, so that nodes of two versions forward to each other: without tunnels, which go over connections of their own then.
 */
export const LINK_PROTOCOL = "larder-link/2";
export const FORMER_LINK_PROTOCOL = "larder-link/1";
export const LINK_PROTOCOLS: readonly string[] = [LINK_PROTOCOL, FORMER_LINK_PROTOCOL];

export const kinds = {
  head: 1,
  request: 2,
  credit: 3,
  cancel: 4,
  answer: 5,
  begin: 6,
  data: 7,
  end: 8,
  reset: 9,
  goodbye: 10,
  open: 11,
  opened: 12,
  tunnelData: 13,
  tunnelCredit: 14,
  tunnelEnd: 15,
  tunnelReset: 16,
} as const;

export type Kind = (typeof kinds)[keyof typeof kinds];

/** Of each frame, before the rest. */
export const FRAME_HEADER_BYTES = 9;
/** Of a whole frame: room for a head with a field for the caller, or for a body and what stands before it. */
export const FRAME_BYTES_MAX = 128 * 1024;
export const PIECE_BYTES_MAX = 64 * 1024;
/** A fast network has this on its way in 0.2 ms. */
export const WINDOW_BYTES = 256 * 1024;
/** Longer bodies of requests go over HTTP/1.1. */
export const BODY_BYTES_MAX = 64 * 1024;
/** Longer bodies of answers are sent in pieces. */
export const ANSWER_BYTES_MAX = 32 * 1024;
/** Longer heads go over HTTP/1.1. */
export const HEAD_BYTES_MAX = 64 * 1024;
/** Places of heads that may be used again, and the bytes of such a head. */
export const HEADS_MAX = 4_096;
export const KEPT_HEAD_BYTES_MAX = 4_096;
/** A head whose sync token is longer is sent with it, although it repeats. */
export const SYNC_TOKEN_BYTES_MAX = 1_024;
/** The length of a body whose end comes later. */
export const ENDLESS = 0xffff_ffff;
/** The last number of a request, or of a tunnel. */
export const NUMBER_MAX = 0xffff_ffff;
/** Unsent bytes above which what has long bodies, or is a tunnel, waits for its turn: so long may a short answer have to wait. */
export const PUMPED_BYTES_MAX = 256 * 1024;
/** In each direction of a tunnel, and as many may wait for its client: less than the buffers of a connection of its own. */
export const TUNNEL_WINDOW_BYTES = 64 * 1024;
/** A side that reads long data at once lets its window grow up to this: each turn of both nodes carries half of a window. */
export const TUNNEL_WINDOW_BYTES_MAX = 1024 * 1024;
/** By so much the windows of all tunnels of a link may have grown at each end. */
export const TUNNELS_GROWTH_BYTES_MAX = 64 * 1024 * 1024;
/** Data in shorter frames, or parts of them, does not let a window grow. */
export const LONG_DATA_BYTES_MIN = 4 * 1024;
/** Open tunnels of a link. Further ones go over connections of their own. */
export const TUNNELS_MAX = 65_536;

/** What the peer has sent is no frame, or has no place here. The link ends. */
export class LinkFault extends Error {
  override name = "LinkFault";
}

const NO_BYTES = Buffer.alloc(0);

/** Longer frames with data of a tunnel are read in the parts in which they come, so that nothing is copied to join them. */
const PARTED_BYTES_MIN = 8 * 1024;

/**
 * Reads frames from the packets of a connection, split anywhere. After `add`, `next` says whether there is another frame. A
 * frame with data of a tunnel may come as several, as if its peer had sent these.
 */
export class LinkFrameReader {
  kind = 0;
  number = 0;
  /** The rest of the frame is in [start, end) of these bytes, until the next call. */
  bytes: Buffer = NO_BYTES;
  start = 0;
  end = 0;
  #packet: Buffer = NO_BYTES;
  #at = 0;
  /** The beginning of a frame, in a buffer of its own with room for as much as is known of it. */
  #partial: Buffer = NO_BYTES;
  #partialBytes = 0;
  /** Bytes of a frame that is read in parts which have not come, and its number. */
  #partedBytes = 0;
  #partedNumber = 0;

  add(packet: Buffer): void {
    this.#packet = packet;
    this.#at = 0;
  }

  /** Throws a `LinkFault` for a frame that is too long or too short. */
  next(): boolean {
    if (this.#partedBytes > 0) return this.#nextPart();
    if (this.#partialBytes > 0) return this.#completePartial();
    const left = this.#packet.length - this.#at;
    const length = left < FRAME_HEADER_BYTES ? FRAME_HEADER_BYTES : lengthAt(this.#packet, this.#at);
    if (left < length) {
      if (length >= PARTED_BYTES_MIN && this.#packet[this.#at + 4] === kinds.tunnelData)
        return this.#beginParts(this.#packet.readUInt32BE(this.#at + 5), length);
      if (left > 0) this.#keep(length);
      return false;
    }
    this.#found(this.#packet, this.#at, length);
    this.#at += length;
    return true;
  }

  get size(): number {
    return this.end - this.start;
  }

  /** The integer at this position of the rest. */
  uint32(offset: number): number {
    if (this.start + offset + 4 > this.end) throw new LinkFault(`a frame of kind ${this.kind} is too short`);
    return this.bytes.readUInt32BE(this.start + offset);
  }

  uint16(offset: number): number {
    if (this.start + offset + 2 > this.end) throw new LinkFault(`a frame of kind ${this.kind} is too short`);
    return this.bytes.readUInt16BE(this.start + offset);
  }

  /** The text at this position of the rest. */
  text(offset: number, length: number): string {
    const from = this.start + offset;
    if (from + length > this.end) throw new LinkFault(`a frame of kind ${this.kind} is too short`);
    return this.bytes.latin1Slice(from, from + length);
  }

  /** A copy of the rest from this position on. */
  copy(offset: number): Buffer {
    return Buffer.from(this.bytes.subarray(this.start + offset, this.end));
  }

  #found(bytes: Buffer, at: number, length: number): void {
    this.kind = bytes[at + 4] as number;
    this.number = bytes.readUInt32BE(at + 5);
    this.bytes = bytes;
    this.start = at + FRAME_HEADER_BYTES;
    this.end = at + length;
  }

  /** The rest of the packet begins a frame of this length, or one whose length is not complete. */
  #keep(length: number): void {
    this.#partial = Buffer.allocUnsafeSlow(length);
    this.#partialBytes = this.#packet.copy(this.#partial, 0, this.#at);
    this.#at = this.#packet.length;
  }

  /** The packet has the header of this frame next. */
  #beginParts(number: number, length: number): boolean {
    this.#at += FRAME_HEADER_BYTES;
    this.#partedNumber = number;
    this.#partedBytes = length - FRAME_HEADER_BYTES;
    return this.#nextPart();
  }

  #nextPart(): boolean {
    const size = Math.min(this.#partedBytes, this.#packet.length - this.#at);
    if (size === 0) return false;
    this.kind = kinds.tunnelData;
    this.number = this.#partedNumber;
    this.bytes = this.#packet;
    this.start = this.#at;
    this.end = this.#at + size;
    this.#at += size;
    this.#partedBytes -= size;
    return true;
  }

  #completePartial(): boolean {
    for (;;) {
      const copied = this.#packet.copy(this.#partial, this.#partialBytes, this.#at);
      this.#at += copied;
      this.#partialBytes += copied;
      if (this.#partialBytes < this.#partial.length) return false;
      const length = lengthAt(this.#partial, 0);
      if (length === this.#partial.length) break;
      const grown = Buffer.allocUnsafeSlow(length);
      this.#partial.copy(grown);
      this.#partial = grown;
    }
    this.#partialBytes = 0;
    this.#found(this.#partial, 0, this.#partial.length);
    return true;
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = bytes.readUInt32BE(at);
  if (length < FRAME_HEADER_BYTES || length > FRAME_BYTES_MAX) throw new LinkFault(`a frame has ${length} bytes`);
  return length;
}

/** Buffers of this size are filled with frames one after the other, and of the second one where a turn has many bytes. */
const BUFFER_BYTES = 64 * 1024;
const LONG_BUFFER_BYTES = 320 * 1024;

/**
 * Writes the frames of a turn. Few bytes are one write, though they be in two buffers, so that they are one record of TLS. The
 * buffers of many bytes are a write each: TLS would join them to a further copy.
 */
export function writeChunks(socket: Writable, chunks: readonly Buffer[], done?: () => void): void {
  const last = chunks.at(-1);
  if (last === undefined) return;
  const isShort = chunks.length > 1 && chunks.every(({ length }) => length <= CORKED_BYTES_MAX);
  if (isShort) socket.cork();
  for (const chunk of chunks) if (chunk !== last) socket.write(chunk);
  if (done === undefined) socket.write(last);
  else socket.write(last, done);
  if (isShort) socket.uncork();
}

const CORKED_BYTES_MAX = 16 * 1024;

/**
 * Writes frames one behind the other, for one write of the connection. `begin` says how long the rest of a frame is, and
 * the calls after it write that many bytes.
 */
export class LinkFrameWriter {
  /** Full ones, of the frames since the last `take`. */
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  #bytes: Buffer = NO_BYTES;
  /** Frames since the last `take` are in [start, at). Bytes before are on their way, and never written again. */
  #start = 0;
  #at = 0;

  /** Of all frames since the last `take`. */
  get size(): number {
    return this.#chunkBytes + this.#at - this.#start;
  }

  begin(kind: Kind, number: number, size: number): void {
    const length = FRAME_HEADER_BYTES + size;
    if (this.#at + length > this.#bytes.length) this.#renew(length);
    this.uint32(length);
    this.#bytes[this.#at] = kind;
    this.#at += 1;
    this.uint32(number);
  }

  uint32(value: number): void {
    const bytes = this.#bytes;
    const at = this.#at;
    bytes[at] = value >>> 24;
    bytes[at + 1] = value >>> 16;
    bytes[at + 2] = value >>> 8;
    bytes[at + 3] = value;
    this.#at = at + 4;
  }

  uint16(value: number): void {
    this.#bytes[this.#at] = value >>> 8;
    this.#bytes[this.#at + 1] = value;
    this.#at += 2;
  }

  text(text: string, encoding: BufferEncoding = "latin1"): void {
    this.#at +=
      encoding === "latin1" ? this.#bytes.latin1Write(text, this.#at) : this.#bytes.write(text, this.#at, encoding);
  }

  copy(bytes: Buffer): void {
    this.#at += bytes.copy(this.#bytes, this.#at);
  }

  /** The frames since the last call, in order. */
  take(): readonly Buffer[] {
    this.#finish();
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#chunkBytes = 0;
    return chunks;
  }

  #renew(length: number): void {
    this.#finish();
    const bytesMin = this.#chunkBytes > BUFFER_BYTES / 2 ? LONG_BUFFER_BYTES : BUFFER_BYTES;
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(bytesMin, length));
    this.#start = 0;
    this.#at = 0;
  }

  #finish(): void {
    if (this.#at === this.#start) return;
    this.#chunks.push(this.#bytes.subarray(this.#start, this.#at));
    this.#chunkBytes += this.#at - this.#start;
    this.#start = this.#at;
  }
}
