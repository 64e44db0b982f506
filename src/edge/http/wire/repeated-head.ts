/**
 * Reads a head that repeats an earlier one of its connection, byte for byte,
 * except for the values of Content-Length and of the sync token.
 *
 * (1) A head is remembered only after `HeadReader` has read all of it.
 * (2) A value that may differ has visible ASCII characters only, before and now,
 *     and none of them ends a line. So the lines are the same lines, and
 *     `HeadReader` would read the same head with these values.
 * (3) The value of Content-Length is 1 to 15 digits, as in `head.ts`.
 * (4) What is remembered is a copy, of at most `REMEMBERED_BYTES_MAX` bytes.
 *
 * A head that is not the same, or not complete, is left to `HeadReader`.
 */
import type { HeadMemo } from "../../handler.ts";
import type { Head } from "./head.ts";

/** The heads of common clients have 300 to 700 bytes. */
const REMEMBERED_BYTES_MAX = 2_048;
const LENGTH_DIGITS_MAX = 15;
const CONTENT_LENGTH = "content-length";
/** Fields whose values may differ. */
const CUT_FIELDS: ReadonlySet<string> = new Set([CONTENT_LENGTH, "upstash-sync-token", "service-sync-token"]);
/** A whole line of such a field, whose value has no blanks around it but those before. */
const CUT_LINE = /\r\n(?:content-length|upstash-sync-token|service-sync-token):[ \t]*([!-~]+)(?=\r\n)/dgi;
const VISIBLE = /^[!-~]+$/;

/** The value of a field in the remembered bytes. */
interface Cut {
  readonly start: number;
  readonly end: number;
  /** Its index in `rawHeaders`. */
  readonly index: number;
  readonly isLength: boolean;
}

export class RepeatedHead {
  /** The first byte after the head, once `read` has returned one. */
  end = 0;
  readonly #head: Head;
  readonly #bytes: Buffer;
  readonly #cuts: readonly Cut[];
  readonly #memo: HeadMemo = { learnt: undefined };

  private constructor(head: Head, bytes: Buffer, cuts: readonly Cut[]) {
    this.#head = head;
    this.#bytes = bytes;
    this.#cuts = cuts;
  }

  /** Remembers the head that was read from these bytes; undefined if it is too long, or is not such a head. */
  static of(head: Head, bytes: Buffer): RepeatedHead | undefined {
    if (bytes.length > REMEMBERED_BYTES_MAX) return undefined;
    const indexes: number[] = [];
    for (let i = 0; i < head.rawHeaders.length; i += 2) {
      const isCut = CUT_FIELDS.has((head.rawHeaders[i] as string).toLowerCase());
      if (isCut && VISIBLE.test(head.rawHeaders[i + 1] as string)) indexes.push(i + 1);
    }
    const places = [...bytes.latin1Slice().matchAll(CUT_LINE)].map(({ indices }) => indices?.[1] as [number, number]);
    // They differ if blanks follow a value.
    if (places.length !== indexes.length) return undefined;
    const cuts = places.map(([start, end], i): Cut => {
      const index = indexes[i] as number;
      return { start, end, index, isLength: (head.rawHeaders[index - 1] as string).toLowerCase() === CONTENT_LENGTH };
    });
    return new RepeatedHead(head, Buffer.from(bytes), cuts); // keeps (4)
  }

  /** The head that begins at `from`, if it repeats the remembered one and has at most `bytesMax` bytes. */
  read(bytes: Buffer, from: number, bytesMax: number): Head | undefined {
    const known = this.#bytes;
    let at = from;
    let knownAt = 0;
    let { framing, rawHeaders } = this.#head;
    rawHeaders = rawHeaders.slice();
    for (const { start, end, index, isLength } of this.#cuts) {
      const valueAt = at + start - knownAt;
      if (valueAt >= bytes.length || bytes.compare(known, knownAt, start, at, valueAt) !== 0) return undefined;
      at = isLength ? endOfDigits(bytes, valueAt) : endOfVisible(bytes, valueAt);
      if (at === valueAt || (isLength && at - valueAt > LENGTH_DIGITS_MAX)) return undefined; // keeps (3)
      const value = bytes.latin1Slice(valueAt, at);
      rawHeaders[index] = value;
      if (isLength) framing = { ...framing, contentLength: Number(value) };
      knownAt = end;
    }
    const end = at + known.length - knownAt;
    // keeps (2): the next byte that must be equal ends the line.
    if (end > bytes.length || bytes.compare(known, knownAt, known.length, at, end) !== 0) return undefined;
    if (end - from > bytesMax) return undefined;
    this.end = end;
    const { method, target, httpVersion } = this.#head;
    return { method, target, httpVersion, rawHeaders, framing, memo: this.#memo };
  }
}

function endOfDigits(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at]; byte !== undefined && byte >= 0x30 && byte <= 0x39; byte = bytes[at]) at += 1;
  return at;
}

function endOfVisible(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at]; byte !== undefined && byte > 0x20 && byte < 0x7f; byte = bytes[at]) at += 1;
  return at;
}
