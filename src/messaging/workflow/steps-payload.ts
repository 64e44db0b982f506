/**
 * The list of steps of a run that its deliveries carry. Each entry is written once:
 *
 *     [{"messageId":"msg_…","body":"<base64>","callType":"step"},{…},{…
 *
 * (1) Bytes are only appended, so pieces that deliveries under way share do not
 *     change.
 * (2) The payload up to an entry is the text up to the end of that entry and a "]".
 * (3) An entry is in one piece. A full piece does not change.
 *
 * The SHA-256 that the signature of a delivery needs is updated with the text: its
 * state after the last entry is copied for each "]". So the cost of an entry is its
 * own length, however long the payload before it is.
 *
 * Texts are cached, so that a delivery writes only the entries that came since the
 * previous one. They are copies of the entries, and may be removed at any time.
 *
 * (4) Together they take BYTES_MAX at most; the least recently called run is
 *     removed first. A text of more than a quarter of that is not cached.
 * (5) A text belongs to one start of a run: it is removed with the entries.
 * (6) Reads of all bodies that are on the disk start at once, before anything can
 *     happen to the run.
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
  /** Least recently called run first. */
  readonly #texts = new Map<Run, StepsText>();
  #bytes = 0;

  constructor(bodies: Bodies, bytesMax: number = BYTES_MAX) {
    this.#bodies = bodies;
    this.#bytesMax = bytesMax;
  }

  /** The approximate memory of the texts. */
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

  /** The text of a run, which becomes the most recently called one. */
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

  /** `bodies` are of the entries after the first `from`; other calls may have added some to the text meanwhile. */
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

  /** False for a text that was removed or replaced. */
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

/** The initial body is a getter, because only a failure, which is rare, needs it. */
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

/** The body of a delivery: pieces that together are the payload up to its entry. */
export interface Payload {
  readonly pieces: readonly Buffer[];
  /** SHA-256 of all in base64url. */
  readonly digest: string;
}

/** The smallest piece. */
const PIECE_BYTES_MIN = 1_024;
/** The first piece grows up to this; then a further piece begins. */
const PIECE_BYTES = 64 * 1_024;
/** Estimates of a text without its pieces, and of each entry. */
const TEXT_BYTES = 512;
const MARK_BYTES = 128;

const OPEN = "[";
const CLOSE = Buffer.from("]");
const HEAD = '{"messageId":"';
const BODY = '","body":"';
const CALL_TYPE = '","callType":"';
const END = '"}';

/** The end of the payload up to an entry. */
interface Mark {
  readonly piece: number;
  /** In that piece. */
  readonly end: number;
  readonly digest: string;
}

class StepsText implements StepsPayload {
  readonly run: Run;
  /** The entries of this start of the run. */
  readonly entries: readonly Entry[];
  /** Its approximate memory. */
  bytes = TEXT_BYTES;
  /** The last piece may have room; the others are cut to their contents. */
  readonly #pieces: Buffer[] = [];
  /** Bytes in use in the last piece. */
  #used = 0;
  readonly #marks: Mark[] = [];
  readonly #hash = createHash("sha256");
  readonly #released: (text: StepsText) => void;
  /** Location of the first entry's body in the first piece, in base64. */
  #firstBody = { start: 0, end: 0 };

  /** `released` is called when the text is not needed any more. */
  constructor(run: Run, released: (text: StepsText) => void) {
    this.run = run;
    this.entries = run.entries;
    this.#released = released;
  }

  /** Count of entries in the text. */
  get count(): number {
    return this.#marks.length;
  }

  /** Call when the entries are removed. Deliveries under way keep their pieces. */
  release(): void {
    this.#released(this);
  }

  /** Appends the next entry. */
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

  /** The payload up to this entry, which must be in the text. keeps (2) */
  upTo(index: number): Payload {
    const mark = this.#marks[index];
    assert(mark !== undefined, "the entry is in the text");
    const pieces = this.#pieces.slice(0, mark.piece);
    pieces.push((this.#pieces[mark.piece] as Buffer).subarray(0, mark.end), CLOSE);
    return { pieces, digest: mark.digest };
  }

  /** The body of the first entry, which must be in the text. */
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

/** Sizes double, so that growing pieces are rarely copied. A long entry gets its own length. */
function roomFor(length: number): number {
  if (length > PIECE_BYTES) return length;
  let bytes = PIECE_BYTES_MIN;
  while (bytes < length) bytes *= 2;
  return bytes;
}
