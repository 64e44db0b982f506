/**
 * The steps of a run as its deliveries carry them, each entry written once:
 *
 *     [{"messageId":"msg_…","body":"<base64>","callType":"step"},{…},{…
 *
 * (1) Bytes are only ever put at the end, so pieces that were handed out stay
 *     as they are, and deliveries under way share them.
 * (2) The payload up to an entry is the text up to that entry's end and a "]".
 * (3) An entry lies in one piece. A piece that is full stays as it is.
 *
 * The SHA-256 that the signature of a delivery needs goes along: its state up
 * to the last entry is copied for each "]". So an entry costs its own bytes,
 * however long the payload in front of it is.
 *
 * Texts are stored, so that a delivery writes only the entries that came since
 * the one before it. They are a copy of the entries, and may go at any time.
 *
 * (4) Together they take BYTES_MAX at most; the run that was not called for
 *     longest goes first. A text of more than a quarter of that is not stored.
 * (5) A text is of one start of a run: it goes with the entries.
 * (6) Bodies that lie on the disk are all asked for at once, before anything
 *     can happen to the run.
 */

import { createHash } from "node:crypto";
import { assert } from "../../kernel/assert.ts";
import type { Bodies } from "../bodies/body.ts";
import type { CallBody } from "../delivery/delivery.ts";
import { messageId } from "../state/message-id.ts";
import type { Entry, Run, StepsPayload } from "../state/run.ts";

const BYTES_MAX = 64 * 1024 * 1024;
const SHARE_MAX = 1 / 4;

export class StepsPayloadCache {
  readonly #bodies: Bodies;
  readonly #bytesMax: number;
  /** The run that was called for longest ago first. */
  readonly #texts = new Map<Run, StepsText>();
  #bytes = 0;

  constructor(bodies: Bodies, bytesMax: number = BYTES_MAX) {
    this.#bodies = bodies;
    this.#bytesMax = bytesMax;
  }

  /** Memory that the texts take, about. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#texts.size;
  }

  /** The payload of a run up to the entry at `index`. Rejects as `Bodies.load` does. */
  upTo(run: Run, index: number): CallBody | Promise<CallBody> {
    const text = this.#textOf(run);
    if (index < text.count) return bodyOf(text, index);
    const from = text.count;
    const loaded = loadAll(this.#bodies, run.entries, { from, to: index + 1 }); // keeps (6)
    if (loaded instanceof Promise) return loaded.then((bodies) => this.#extend(text, bodies, { from, index }));
    return this.#extend(text, loaded, { from, index });
  }

  /** The text of a run, which goes last from now on. */
  #textOf(run: Run): StepsText {
    const known = this.#texts.get(run);
    if (known !== undefined) {
      this.#texts.delete(run);
      this.#texts.set(run, known);
      return known;
    }
    const text = new StepsText(run, (gone) => this.#remove(gone));
    run.stepsPayload = text;
    this.#texts.set(run, text);
    this.#bytes += text.bytes;
    return text;
  }

  /** `bodies` are of the entries after the first `from`; others may have put some of them into the text meanwhile. */
  #extend(text: StepsText, bodies: readonly Buffer[], { from, index }: { from: number; index: number }): CallBody {
    const before = text.bytes;
    while (text.count <= index) text.add(bodies[text.count - from] as Buffer);
    if (this.#has(text)) {
      this.#bytes += text.bytes - before;
      this.#evict(text);
    }
    return bodyOf(text, index);
  }

  /** keeps (4) */
  #evict(latest: StepsText): void {
    if (latest.bytes > this.#bytesMax * SHARE_MAX) this.#remove(latest);
    for (const text of this.#texts.values()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#remove(text);
    }
  }

  #remove(text: StepsText): void {
    if (!this.#has(text)) return;
    this.#texts.delete(text.run);
    this.#bytes -= text.bytes;
    text.run.stepsPayload = undefined;
  }

  /** False for a text whose place another one has taken, or nothing. */
  #has(text: StepsText): boolean {
    return this.#texts.get(text.run) === text;
  }
}

/** Bodies of entries, at once if they are all in memory. Rejects as `Bodies.load` does. */
function loadAll(
  bodies: Bodies,
  entries: readonly Entry[],
  { from, to }: { from: number; to: number },
): readonly Buffer[] | Promise<readonly Buffer[]> {
  const loaded: (Buffer | Promise<Buffer>)[] = [];
  let isReading = false;
  for (let index = from; index < to; index += 1) {
    const bytes = bodies.load((entries[index] as Entry).body);
    if (bytes instanceof Promise) isReading = true;
    loaded.push(bytes);
  }
  return isReading ? Promise.all(loaded) : (loaded as Buffer[]);
}

/** What the run began with is asked for when it fails, which is seldom. */
function bodyOf(text: StepsText, index: number): CallBody {
  const { pieces, digest } = text.upTo(index);
  return {
    sent: pieces,
    digest,
    get initial() {
      return text.firstBody();
    },
  };
}

/** What a delivery carries: pieces that together are the payload up to its entry. */
export interface Payload {
  readonly pieces: readonly Buffer[];
  /** SHA-256 of all in base64url. */
  readonly digest: string;
}

/** Smaller pieces are not made. */
const PIECE_BYTES_MIN = 1_024;
/** The first piece grows up to here; from then on there is another one. */
const PIECE_BYTES = 64 * 1_024;
/** A text beside its pieces, and each entry: estimates. */
const TEXT_BYTES = 512;
const MARK_BYTES = 128;

const OPEN = "[";
const CLOSE = Buffer.from("]");
const HEAD = '{"messageId":"';
const BODY = '","body":"';
const CALL_TYPE = '","callType":"';
const END = '"}';

/** Where the payload up to an entry ends. */
interface Mark {
  readonly piece: number;
  /** In that piece. */
  readonly end: number;
  readonly digest: string;
}

class StepsText implements StepsPayload {
  readonly run: Run;
  /** Of this start of the run: another one has entries of its own. */
  readonly entries: readonly Entry[];
  /** Memory that it takes, about. */
  bytes = TEXT_BYTES;
  /** The last one has room; the others are cut to what is in them. */
  readonly #pieces: Buffer[] = [];
  /** In the last piece. */
  #used = 0;
  readonly #marks: Mark[] = [];
  readonly #hash = createHash("sha256");
  readonly #released: (text: StepsText) => void;
  /** Of the first entry, in the first piece: base64. */
  #firstBody = { start: 0, end: 0 };

  /** `released` is called when nobody wants it any more. */
  constructor(run: Run, released: (text: StepsText) => void) {
    this.run = run;
    this.entries = run.entries;
    this.#released = released;
  }

  /** Entries that are in it. */
  get count(): number {
    return this.#marks.length;
  }

  /** The entries go. Deliveries under way have their pieces. */
  release(): void {
    this.#released(this);
  }

  /** Puts the next entry at the end. */
  add(body: Buffer): void {
    const index = this.#marks.length;
    const entry = this.entries[index];
    assert(entry !== undefined, "only entries of the run are put into its payload");
    const { sequence, nonce, envelope } = entry;
    const callType = envelope.fields.workflow?.callType ?? "step";
    const before = `${index === 0 ? OPEN : ","}${HEAD}${messageId(sequence, nonce)}${BODY}`;
    const text = body.toString("base64");
    const after = `${CALL_TYPE}${callType}${END}`;
    const piece = this.#pieceFor(before.length + text.length + after.length);
    const start = this.#used;
    const bodyStart = start + piece.latin1Write(before, start);
    const bodyEnd = bodyStart + piece.latin1Write(text, bodyStart);
    this.#used = bodyEnd + piece.latin1Write(after, bodyEnd);
    if (index === 0) this.#firstBody = { start: bodyStart, end: bodyEnd };
    this.#hash.update(piece.subarray(start, this.#used));
    const digest = this.#hash.copy().update(CLOSE).digest("base64url");
    this.#marks.push({ piece: this.#pieces.length - 1, end: this.#used, digest });
    this.bytes += MARK_BYTES;
  }

  /** The payload up to this entry, which is in the text. keeps (2) */
  upTo(index: number): Payload {
    const mark = this.#marks[index];
    assert(mark !== undefined, "the entry is in the text");
    const pieces = this.#pieces.slice(0, mark.piece);
    pieces.push((this.#pieces[mark.piece] as Buffer).subarray(0, mark.end), CLOSE);
    return { pieces, digest: mark.digest };
  }

  /** The body of the first entry, which is in the text. */
  firstBody(): Buffer {
    const { start, end } = this.#firstBody;
    return Buffer.from(this.#pieces[0]?.latin1Slice(start, end) ?? "", "base64");
  }

  /** The piece that takes the next bytes. keeps (1) and (3) */
  #pieceFor(length: number): Buffer {
    const last = this.#pieces.at(-1);
    const used = this.#used;
    if (last === undefined) return this.#append(roomFor(length));
    if (used + length <= last.length) return last;
    if (this.#pieces.length === 1 && used + length <= PIECE_BYTES) {
      const grown = Buffer.allocUnsafeSlow(roomFor(used + length));
      last.copy(grown, 0, 0, used);
      this.#pieces[0] = grown;
      this.bytes += grown.length - last.length;
      return grown;
    }
    this.#pieces[this.#pieces.length - 1] = last.subarray(0, used);
    return this.#append(Math.max(PIECE_BYTES, length));
  }

  #append(bytes: number): Buffer {
    const piece = Buffer.allocUnsafeSlow(bytes);
    this.#pieces.push(piece);
    this.#used = 0;
    this.bytes += bytes;
    return piece;
  }
}

/** Doubles, so that what grows is copied seldom. A long entry gets what it needs. */
function roomFor(length: number): number {
  if (length > PIECE_BYTES) return length;
  let bytes = PIECE_BYTES_MIN;
  while (bytes < length) bytes *= 2;
  return bytes;
}
