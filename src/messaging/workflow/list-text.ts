/**
 * The list of a run as its deliveries carry it, each entry written once:
 *
 *     [{"messageId":"msg_…","body":"<base64>","callType":"step"},{…},{…
 *
 * (1) Bytes are only ever put at the end, so what was handed out stays as it
 *     is, and deliveries under way share it.
 * (2) The list up to an entry is the text up to that entry's end and a "]".
 * (3) An entry lies in one piece. A piece that is full stays as it is.
 *
 * The SHA-256 that the signature of a delivery needs goes along: its state up
 * to the last entry is copied for each "]". So an entry costs its own bytes,
 * however long the list in front of it is.
 */
import { createHash } from "node:crypto";
import { assert } from "../../kernel/assert.ts";
import { messageId } from "../state/message-id.ts";
import type { Entry, Run } from "../state/run.ts";

/** What a delivery carries: pieces that together are the list up to its entry. */
export interface List {
  readonly pieces: readonly Buffer[];
  /** SHA-256 of all in base64url. */
  readonly digest: string;
}

/** Smaller pieces are not made. */
const PIECE_BYTES_MIN = 1_024;
/** The first piece grows up to here; from then on there is another one. */
const PIECE_BYTES = 64 * 1_024;
/** Of a text beside its pieces, and of each entry: estimates. */
const TEXT_BYTES = 512;
const MARK_BYTES = 128;

const OPEN = "[";
const CLOSE = Buffer.from("]");
const HEAD = '{"messageId":"';
const BODY = '","body":"';
const CALL_TYPE = '","callType":"';
const END = '"}';

/** Where the list up to an entry ends. */
interface Mark {
  readonly piece: number;
  /** In that piece. */
  readonly end: number;
  readonly digest: string;
}

export class ListText {
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
  readonly #released: (text: ListText) => void;
  /** Of the first entry, in the first piece: base64. */
  #firstBody = { start: 0, end: 0 };

  /** `released` is told when nobody wants it any more. */
  constructor(run: Run, released: (text: ListText) => void) {
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
    assert(entry !== undefined, "only what is in the run is put into its list");
    const { sequence, nonce, envelope } = entry;
    const callType = envelope.fields.workflow?.callType ?? "step";
    const before = `${index === 0 ? OPEN : ","}${HEAD}${messageId(sequence, nonce)}${BODY}`;
    const text = body.toString("base64");
    const behind = `${CALL_TYPE}${callType}${END}`;
    const piece = this.#pieceFor(before.length + text.length + behind.length);
    const start = this.#used;
    const bodyStart = start + piece.latin1Write(before, start);
    const bodyEnd = bodyStart + piece.latin1Write(text, bodyStart);
    this.#used = bodyEnd + piece.latin1Write(behind, bodyEnd);
    if (index === 0) this.#firstBody = { start: bodyStart, end: bodyEnd };
    this.#hash.update(piece.subarray(start, this.#used));
    const digest = this.#hash.copy().update(CLOSE).digest("base64url");
    this.#marks.push({ piece: this.#pieces.length - 1, end: this.#used, digest });
    this.bytes += MARK_BYTES;
  }

  /** The list up to this entry, which is in the text. keeps (2) */
  upTo(index: number): List {
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
