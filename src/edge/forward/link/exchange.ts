/**
 * One request of a link and its answer at the node that owns, which are a channel
 * of their own for the listener. The request has come whole.
 */
import type { HeadMemo } from "../../handler.ts";
import type { Framing } from "../../http/framing.ts";
import type { BodyReceiver, Channel, TransportRequest, TransportResponse } from "../../http/transport.ts";
import { isName, isValue } from "../../http/wire/response.ts";
import { ANSWER_BYTES_MAX, ENDLESS, kinds, type LinkFrameWriter, PIECE_BYTES_MAX, WINDOW_BYTES } from "./frames.ts";
import type { ReceivedHead } from "./heads.ts";

/** The connection of an exchange. */
export interface ExchangeLink {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly frames: LinkFrameWriter;
  /** Many bytes wait for the peer. */
  readonly isCongested: boolean;
  /** Frames of an exchange were written, and go out at the end of the turn. */
  wrote(): void;
  /** The exchange has bytes to send, and may. */
  pump(exchange: LinkExchange): void;
  /** It has written its last frame. */
  ended(exchange: LinkExchange): void;
}

export interface LinkRequest {
  readonly number: number;
  readonly head: ReceivedHead;
  /** Undefined: that of the head. */
  readonly syncToken: string | undefined;
  readonly body: Buffer;
}

const NO_CONTENT_STATUSES = [204, 304];
/** Fields of one connection, and those that frames say in another way. */
const WRITTEN_OTHERWISE: readonly string[] = ["connection", "keep-alive", "content-length", "date"];

export class LinkExchange implements TransportRequest, TransportResponse, Channel {
  readonly number: number;
  readonly httpVersion = "1.1";
  readonly mayEndEarly = true;
  readonly isBodyPaused = false;
  readonly hasCome = true;
  writableEnded = false;
  listenerState: unknown = undefined;
  /** How long the peer may not read, and since when it has not; 0: as long as it likes. */
  timeoutMs = 0;
  stalledSinceMs: number | undefined;
  /** No more frames of it are written. */
  #isOver = false;
  readonly #link: ExchangeLink;
  readonly #head: ReceivedHead;
  readonly #syncToken: string | undefined;
  readonly #body: Buffer;
  #rawHeaders: readonly string[] | undefined;
  #status = 0;
  #fields = "";
  /** Of the body, as the fields of the answer say. */
  #announced: number | undefined;
  #isBegun = false;
  /** Bytes of the answer that wait for the peer's credit, in order. */
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  /** Bytes that may be sent. */
  #window = WINDOW_BYTES;
  /** Bytes that were given to a connection with many of them. */
  #untakenBytes = 0;
  readonly #closed: (() => void)[] = [];
  #isClosed = false;

  constructor(link: ExchangeLink, { number, head, syncToken, body }: LinkRequest) {
    this.#link = link;
    this.number = number;
    this.#head = head;
    this.#syncToken = syncToken;
    this.#body = body;
  }

  get method(): string {
    return this.#head.head.method;
  }

  get target(): string {
    return this.#head.head.target;
  }

  get rawHeaders(): readonly string[] {
    this.#rawHeaders ??= this.#ownHeaders();
    return this.#rawHeaders;
  }

  #ownHeaders(): readonly string[] {
    const { head, syncAt } = this.#head;
    if (this.#syncToken === undefined || syncAt === undefined) return head.rawHeaders;
    const rawHeaders = head.rawHeaders.slice();
    rawHeaders[syncAt] = this.#syncToken;
    return rawHeaders;
  }

  get memo(): HeadMemo | undefined {
    return this.#head.memo;
  }

  get framing(): Framing {
    const { framing } = this.#head.head;
    return this.hasBody ? { ...framing, contentLength: this.#body.length } : framing;
  }

  get hasBody(): boolean {
    return this.#body.length > 0;
  }

  get channel(): Channel {
    return this;
  }

  receive(receiver: BodyReceiver): void {
    receiver.data(this.#body);
    // It may have been refused.
    if (!this.writableEnded) receiver.end();
  }

  get remoteAddress(): string | undefined {
    return this.#link.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.#link.remotePort;
  }

  get bytesRead(): number {
    return this.#body.length;
  }

  get writableLength(): number {
    return this.#queuedBytes + this.#untakenBytes;
  }

  readonly setTimeout = (ms: number): void => {
    this.timeoutMs = ms;
    this.stalledSinceMs = undefined;
  };

  once(_event: "close", closed: () => void): void {
    this.onClose(closed);
  }

  onClose(closed: () => void): void {
    this.#closed.push(closed);
  }

  destroySoon(): void {}

  destroy(): void {
    if (this.#isOver) return;
    this.#drop();
    this.#link.frames.begin(kinds.reset, this.number, 0);
    this.#link.ended(this);
  }

  /** The peer has taken the answer, waits for it no longer, or has gone. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#drop();
    for (const closed of this.#closed) closed();
  }

  #drop(): void {
    this.#isOver = true;
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#untakenBytes = 0;
  }

  writeHead(status: number, headers: string[]): void {
    let fields = "";
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string;
      const value = headers[i + 1] as string;
      if (!isValue(value) || !isName(name))
        throw new TypeError(`Header ${JSON.stringify(name)} has a character that is not allowed`);
      const other = writtenOtherwise(name);
      if (other === "content-length") this.#announced = Number(value);
      if (other !== undefined) continue;
      fields += fields === "" ? `${name}\n${value}` : `\n${name}\n${value}`;
    }
    this.#status = status;
    this.#fields = fields;
  }

  flushHeaders(): void {
    if (!this.#isBegun) this.#begin(ENDLESS);
  }

  write(chunk: string | Buffer, encoding: BufferEncoding): boolean {
    this.flushHeaders();
    if (chunk.length > 0 && this.#hasBody) this.#send(chunk, encoding);
    return this.#queuedBytes <= PIECE_BYTES_MAX;
  }

  end(body: string | Buffer = "", encoding: BufferEncoding = "latin1"): void {
    if (this.writableEnded) return;
    this.writableEnded = true;
    if (this.#isOver) return;
    if (this.#isBegun) {
      if (body.length > 0 && this.#hasBody) this.#send(body, encoding);
      else this.#link.pump(this);
      return;
    }
    const size = typeof body === "string" && encoding !== "latin1" ? Buffer.byteLength(body, encoding) : body.length;
    if (!this.#hasBody) this.#answer(this.method === "HEAD" ? (this.#announced ?? 0) : 0, "", "latin1");
    else if (size <= ANSWER_BYTES_MAX) this.#answer(size, body, encoding);
    else {
      this.#begin(size);
      this.#send(body, encoding);
    }
  }

  /** Clients are told by the node that they have asked. */
  writeContinue(): void {}

  get #hasBody(): boolean {
    return this.method !== "HEAD" && !NO_CONTENT_STATUSES.includes(this.#status);
  }

  /** A whole answer in a frame. */
  #answer(size: number, body: string | Buffer, encoding: BufferEncoding): void {
    const { frames } = this.#link;
    const fields = this.#fields;
    const bodyBytes = body.length === 0 ? 0 : size;
    if (!this.#hasRoomFor(fields)) return;
    frames.begin(kinds.answer, this.number, 10 + fields.length + bodyBytes);
    frames.uint16(this.#status);
    frames.uint32(size);
    frames.uint32(fields.length);
    frames.text(fields);
    if (typeof body === "string") frames.text(body, encoding);
    else frames.copy(body);
    if (this.#link.isCongested) this.#untakenBytes = bodyBytes + fields.length;
    this.#isOver = true;
    this.#link.ended(this);
  }

  #begin(size: number): void {
    this.#isBegun = true;
    if (this.#isOver || !this.#hasRoomFor(this.#fields)) return;
    const { frames } = this.#link;
    frames.begin(kinds.begin, this.number, 6 + this.#fields.length);
    frames.uint16(this.#status);
    frames.uint32(size);
    frames.text(this.#fields);
    this.#announced = size;
    this.#link.wrote();
  }

  /** Fields that are too long for a frame cannot be passed on. */
  #hasRoomFor(fields: string): boolean {
    if (fields.length <= PIECE_BYTES_MAX) return true;
    this.destroy();
    return false;
  }

  #send(chunk: string | Buffer, encoding: BufferEncoding): void {
    if (this.#isOver) return;
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#link.pump(this);
  }

  /** Whether `sendPiece` has something to send now. */
  get canSend(): boolean {
    if (this.#isOver) return false;
    return this.#queuedBytes > 0 ? this.#window > 0 : this.writableEnded && this.#isBegun;
  }

  /** Sends the next piece, or the end. Nothing of a queued buffer is kept after its last piece. */
  sendPiece(): void {
    const { frames } = this.#link;
    const [first] = this.#queue;
    if (first !== undefined) {
      const size = Math.min(first.length, PIECE_BYTES_MAX, this.#window);
      frames.begin(kinds.data, this.number, size);
      frames.copy(size === first.length ? first : first.subarray(0, size));
      if (size === first.length) this.#queue.shift();
      else this.#queue[0] = first.subarray(size);
      this.#queuedBytes -= size;
      this.#window -= size;
      this.stalledSinceMs = undefined;
    }
    if (this.#queuedBytes > 0 || !this.writableEnded) return;
    if (this.#announced === ENDLESS) frames.begin(kinds.end, this.number, 0);
    this.#isOver = true;
    this.#link.ended(this);
  }

  /** The peer has room for so many more bytes. False: it never had so much. */
  credit(bytes: number): boolean {
    this.#window += bytes;
    if (this.canSend) this.#link.pump(this);
    return this.#window <= WINDOW_BYTES;
  }
}

function writtenOtherwise(name: string): string | undefined {
  const { length } = name;
  // The lengths exclude most names.
  if (length !== 4 && length !== 10 && length !== 14) return undefined;
  const lower = name.toLowerCase();
  return WRITTEN_OTHERWISE.includes(lower) ? lower : undefined;
}
