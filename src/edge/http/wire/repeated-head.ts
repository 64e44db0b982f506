/**
 * Reads a head that repeats an earlier one of its connection, byte for byte,
 * except for the target and the values of Content-Length and of the sync token.
 *
 * (1) A head is remembered only after `HeadReader` has read all of it.
 * (2) A value that may differ, the target too, has visible ASCII characters only,
 *     before and now, and none of them ends a line. So the lines are the same
 *     lines, and `HeadReader` would read the same head with these values.
 * (3) The value of Content-Length is 1 to 15 digits, as in `head.ts`.
 * (4) What is remembered is a copy, of at most `REMEMBERED_BYTES_MAX` bytes.
 * (5) Another target is a path: what else `head.ts` allows depends on the method.
 * (6) What was learnt of a head belongs to its target, so heads share a memo only if
 *     they have the same one. That of a target begins when it comes twice in a row.
 *
 * A head that is not the same, or not complete, is left to `HeadReader`.
 */
import type { HeadMemo } from "../../handler.ts";
import type { Framing } from "../framing.ts";
import type { Head } from "./head.ts";

/** The heads of common clients have 300 to 700 bytes. */
const REMEMBERED_BYTES_MAX = 2_048;
const LENGTH_DIGITS_MAX = 15;
/** Longer targets, of commands with their arguments for example, have no memo. */
const LEARNT_TARGET_MAX = 256;
const SPACE = 32;
const SLASH = 47;
const CONTENT_LENGTH = "content-length";
const SYNC_TOKENS = ["upstash-sync-token", "service-sync-token"];
/** Fields whose values may differ. */
const CUT_FIELDS: ReadonlySet<string> = new Set([CONTENT_LENGTH, ...SYNC_TOKENS]);
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
  /** Of the target in the bytes, which follows the method and a space. */
  readonly #targetStart: number;
  readonly #targetEnd: number;
  readonly #cuts: readonly Cut[];
  #memo: HeadMemo = { learnt: undefined };
  /** The target to which the memo belongs. */
  #learntTarget: string;
  /** The last target that was another one. */
  #otherTarget: string | undefined;

  private constructor(head: Head, bytes: Buffer, cuts: readonly Cut[]) {
    this.#head = head;
    this.#bytes = bytes;
    this.#targetStart = head.method.length + 1;
    this.#targetEnd = this.#targetStart + head.target.length;
    this.#cuts = cuts;
    this.#learntTarget = head.target;
  }

  /** Remembers the head that was read from these bytes; undefined if it is too long, or is not such a head. */
  static of(head: Head, bytes: Buffer): RepeatedHead | undefined {
    if (bytes.length > REMEMBERED_BYTES_MAX) return undefined;
    // Empty lines may precede a head.
    if (bytes.latin1Slice(0, head.method.length) !== head.method) return undefined;
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
    const values: string[] = [];
    const targetAt = from + this.#targetStart;
    if (!isSame(known, 0, this.#targetStart, bytes, from)) return undefined;
    const isLearnt = isTarget(this.#learntTarget, bytes, targetAt);
    let at = isLearnt ? targetAt + this.#learntTarget.length : endOfVisible(bytes, targetAt);
    if (!isLearnt && bytes[targetAt] !== SLASH) return undefined; // keeps (5)
    const target = isLearnt ? this.#learntTarget : bytes.latin1Slice(targetAt, at);
    let knownAt = this.#targetEnd;
    let { framing } = this.#head;
    for (const { start, end, isLength } of this.#cuts) {
      const valueAt = at + start - knownAt;
      if (!isSame(known, knownAt, start, bytes, at)) return undefined;
      at = isLength ? endOfDigits(bytes, valueAt) : endOfVisible(bytes, valueAt);
      if (at === valueAt || (isLength && at - valueAt > LENGTH_DIGITS_MAX)) return undefined; // keeps (3)
      const value = bytes.latin1Slice(valueAt, at);
      values.push(value);
      if (isLength) framing = { ...framing, contentLength: Number(value) };
      knownAt = end;
    }
    // keeps (2): the next byte that must be equal ends the line.
    if (!isSame(known, knownAt, known.length, bytes, at)) return undefined;
    const end = at + known.length - knownAt;
    if (end - from > bytesMax) return undefined;
    this.end = end;
    const memo = this.#memoOf(target, isLearnt);
    return new Repetition({ head: this.#head, cuts: this.#cuts, target, memo }, framing, values);
  }

  /** keeps (6) */
  #memoOf(target: string, isLearnt: boolean): HeadMemo | undefined {
    const before = this.#otherTarget;
    this.#otherTarget = isLearnt || target.length > LEARNT_TARGET_MAX ? undefined : target;
    if (isLearnt) return this.#memo;
    if (before === undefined || target !== before) return undefined;
    this.#learntTarget = target;
    this.#memo = { learnt: undefined };
    return this.#memo;
  }
}

interface Repeated {
  readonly head: Head;
  readonly cuts: readonly Cut[];
  readonly target: string;
  readonly memo: HeadMemo | undefined;
}

/** A head that repeats another. Mostly nobody reads its fields again, so their list is made on demand. */
class Repetition implements Head {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: Head["httpVersion"];
  readonly framing: Framing;
  readonly memo: HeadMemo | undefined;
  readonly #repeated: Repeated;
  readonly #values: readonly string[];
  #rawHeaders: string[] | undefined;

  constructor(repeated: Repeated, framing: Framing, values: readonly string[]) {
    const { method, httpVersion } = repeated.head;
    this.method = method;
    this.target = repeated.target;
    this.httpVersion = httpVersion;
    this.framing = framing;
    this.memo = repeated.memo;
    this.#repeated = repeated;
    this.#values = values;
  }

  get rawHeaders(): string[] {
    if (this.#rawHeaders === undefined) {
      const { head, cuts } = this.#repeated;
      const rawHeaders = head.rawHeaders.slice();
      for (let i = 0; i < cuts.length; i += 1) rawHeaders[(cuts[i] as Cut).index] = this.#values[i] as string;
      this.#rawHeaders = rawHeaders;
    }
    return this.#rawHeaders;
  }
}

/** Whether the value of this field, a sync token, differs between heads that repeat. */
export function isSyncTokenField(name: string): boolean {
  return name.length === SYNC_TOKENS[0]?.length && SYNC_TOKENS.includes(name.toLowerCase());
}

/** Up to this length a loop is faster than the call into the runtime. */
const LOOP_BYTES_MAX = 32;

/** Whether [start, end) of the known bytes is at `at` of other bytes, which may end before. */
function isSame(known: Buffer, start: number, end: number, bytes: Buffer, at: number): boolean {
  const otherEnd = at + end - start;
  if (otherEnd > bytes.length) return false;
  if (end - start > LOOP_BYTES_MAX) return bytes.compare(known, start, end, at, otherEnd) === 0;
  for (let i = start; i < end; i += 1) if (known[i] !== bytes[at + i - start]) return false;
  return true;
}

/** Whether the target is at `at`, with a space behind it. */
function isTarget(target: string, bytes: Buffer, at: number): boolean {
  for (let i = 0; i < target.length; i += 1) if (target.charCodeAt(i) !== bytes[at + i]) return false;
  return bytes[at + target.length] === SPACE;
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
