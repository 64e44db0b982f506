/**
 * A request on a link at the node that asks, and its answer.
 *
 * (1) It ends once: with an answer, or with the reason why it has none.
 * (2) An answer with a length is passed on when it is complete. Long ones need room,
 *     for which the request of the client is asked.
 * (3) A stream is passed on as it comes. While its client does not read, its source
 *     gets no credit; other requests of the link go on.
 * (4) A client that has gone, or an answer without room, cancels the request.
 */
import type { Clock } from "../../../kernel/clock.ts";
import type { HttpReply, HttpRequest, HttpStream, StreamSink } from "../../handler.ts";
import { BodyBuffer } from "../../http/bodies/body-buffer.ts";
import { BUDGETED_REPLY_BYTES_MIN } from "../../limits/held-bytes.ts";
import type { SendOutcome } from "../front.ts";
import { SinkPace } from "../sink-pace.ts";
import { ENDLESS, LinkFault, type LinkFrameReader, PIECE_BYTES_MAX, WINDOW_BYTES } from "./frames.ts";

/** What a request needs of its link. */
export interface TransitLink {
  readonly clock: Pick<Clock, "after">;
  /** The peer may send so many more bytes of the answer to this request. */
  credit(number: number, bytes: number): void;
  /** The request has ended; `isCancelled`: its answer is not complete. */
  done(number: number, end: { readonly isCancelled: boolean }): void;
}

const MISDIRECTED = 421;
/** Bodies up to this size become strings, which go out together with their head. */
const TEXT_BYTES_MAX = 16 * 1024;

export class Transit {
  readonly request: HttpRequest;
  /** On its link. */
  number = 0;
  #link: TransitLink | undefined;
  readonly #done: (outcome: SendOutcome) => void;
  #isOver = false;
  #status = 0;
  #headers: readonly string[] = [];
  #body: BodyBuffer | undefined;
  /** Bytes of a body of known length that have not come. */
  #left = 0;
  /** Bytes that the peer may send, and those that it may not although they have been read. */
  #window = WINDOW_BYTES;
  #owed = 0;
  #isStream = false;
  #sink: StreamSink | undefined;
  /** What came of a stream before it was opened. */
  #early: Buffer[] = [];
  #hasEnded = false;
  #pace: SinkPace | undefined;

  constructor(request: HttpRequest, done: (outcome: SendOutcome) => void) {
    this.request = request;
    this.#done = done;
  }

  /** It has a number on this link. */
  sent(link: TransitLink, number: number): void {
    this.#link = link;
    this.number = number;
  }

  /** A whole answer. */
  answer(frame: LinkFrameReader): void {
    const bodyAt = 10 + frame.uint32(6);
    const size = frame.uint32(2);
    this.#readHead(frame, { at: 10, to: bodyAt });
    const isHead = this.request.method === "HEAD";
    if (frame.size - bodyAt !== (isHead ? 0 : size)) throw new LinkFault("the body of an answer has another length");
    this.#finish();
    if (this.#status === MISDIRECTED) this.#done({ kind: "not executed" });
    // The reply to HEAD has the length of a body that is not sent.
    else if (isHead) this.#answered(Buffer.alloc(size));
    else if (size <= TEXT_BYTES_MAX) this.#answered(frame.text(bodyAt, size));
    else this.#answered(frame.copy(bodyAt));
  }

  /** The head of an answer in pieces. keeps (2) */
  begin(frame: LinkFrameReader): void {
    const size = frame.uint32(2);
    if (this.#status !== 0) throw new LinkFault("an answer begins twice");
    this.#readHead(frame, { at: 6, to: frame.size });
    if (size === ENDLESS) {
      this.#isStream = true;
      this.#pace = this.#link && new SinkPace(this.#link.clock);
      this.#done({ kind: "answered", reply: this.#stream() });
      return;
    }
    this.#left = size;
    this.#body = new BodyBuffer(size);
    if (size >= BUDGETED_REPLY_BYTES_MIN && this.request.takeReply?.(size) === false) this.#abandon();
  }

  /** A piece of an answer. */
  data(frame: LinkFrameReader): void {
    const { size } = frame;
    if (this.#status === 0 || size === 0 || size > this.#window) throw new LinkFault("a piece has no place");
    this.#window -= size;
    if (this.#isStream) this.#passOn(frame.copy(0));
    else this.#gather(frame);
  }

  /** The end of a stream. */
  end(): void {
    if (!this.#isStream) throw new LinkFault("an answer with a length ends early");
    this.#hasEnded = true;
    this.#finish();
    if (this.#sink !== undefined) this.#sink.end();
  }

  /** There is no answer, or no end of it: `isSent`: of the request, something was handed to a connection. */
  fail({ isSent }: { readonly isSent: boolean }): void {
    if (this.#isOver) return;
    this.#over();
    // Its client sees that the stream has no end.
    if (this.#isStream) this.#sink?.abort();
    else this.#done({ kind: isSent ? "lost" : "not executed" });
  }

  /** It was not sent on a link, and this came of it. */
  took(outcome: SendOutcome): void {
    this.#over();
    this.#done(outcome);
  }

  #readHead(frame: LinkFrameReader, { at, to }: { readonly at: number; readonly to: number }): void {
    this.#status = frame.uint16(0);
    const fields = frame.text(at, to - at);
    this.#headers = fields === "" ? [] : fields.split("\n");
    if (this.#status < 200 || this.#headers.length % 2 !== 0) throw new LinkFault("the head of an answer is malformed");
  }

  #answered(body: string | Buffer): void {
    const reply: HttpReply = {
      status: this.#status,
      headers: this.#headers,
      body,
      bodyIsBytes: true,
      route: "forwarded",
    };
    this.#done({ kind: "answered", reply });
  }

  #gather(frame: LinkFrameReader): void {
    const body = this.#body as BodyBuffer;
    if (frame.size > this.#left) throw new LinkFault("an answer is longer than announced");
    if (this.request.isAbandoned === true) {
      this.#abandon(); // keeps (4)
      return;
    }
    body.add(frame.copy(0));
    this.#left -= frame.size;
    if (this.#left > 0) this.#credit(frame.size);
    else {
      this.#finish();
      if (this.#status === MISDIRECTED) this.#done({ kind: "not executed" });
      else this.#answered(body.take());
    }
  }

  /** In few frames, since each costs as much as that of a short answer. */
  #credit(bytes: number): void {
    this.#owed += bytes;
    if (this.#owed < PIECE_BYTES_MAX) return;
    this.#window += this.#owed;
    this.#link?.credit(this.number, this.#owed);
    this.#owed = 0;
  }

  #stream(): HttpStream {
    return {
      status: this.#status,
      headers: this.#headers,
      route: "forwarded",
      open: (sink) => {
        this.#sink = sink;
        const early = this.#early;
        this.#early = [];
        for (const piece of early) this.#passOn(piece);
        if (this.#hasEnded) sink.end();
        else if (this.#isOver) sink.abort();
        return () => this.#abandon();
      },
    };
  }

  /** keeps (3) */
  #passOn(piece: Buffer): void {
    const sink = this.#sink;
    if (sink === undefined) {
      this.#early.push(piece);
      return;
    }
    sink.write(piece);
    if (this.#isOver) return;
    if (this.#pace?.mustWait(sink, () => this.#credit(0)) === true) this.#owed += piece.length;
    else this.#credit(piece.length);
  }

  /** keeps (4) */
  #abandon(): void {
    if (this.#isOver) return;
    this.#over();
    this.#link?.done(this.number, { isCancelled: true });
    if (!this.#isStream) this.#done({ kind: "lost" });
  }

  #finish(): void {
    this.#over();
    this.#link?.done(this.number, { isCancelled: false });
  }

  /** keeps (1) */
  #over(): void {
    this.#isOver = true;
    this.#pace?.stop();
  }
}
