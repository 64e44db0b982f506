/**
 * Percent-decoding to bytes. `%FF` is the byte 255 and `%00` the byte 0, valid
 * UTF-8 or not (A1.path takes binary arguments; threats A-18).
 */
import { type Bytes, copyOf } from "../../kernel/bytes.ts";
import { malformedPercent } from "../errors.ts";

export interface Span {
  readonly start: number;
  readonly end: number;
  /** In a query, `+` is a space, as HTML forms write it. */
  readonly part: "path" | "query";
}

const PERCENT = 0x25;
const PLUS = 0x2b;
const SPACE = 0x20;

/** The bytes of a part of `target`, as a copy. Throws a RequestFailure at a `%` without two hex digits. */
export function percentDecode(target: string, { start, end, part }: Span): Bytes {
  let at = start;
  while (at < end) {
    const unit = target.charCodeAt(at);
    if (unit === PERCENT || (unit === PLUS && part === "query")) break;
    at += 1;
  }
  if (at === end) return copyOf(target, start, end);
  const bytes = Buffer.allocUnsafe(end - start);
  let length = bytes.latin1Write(target.slice(start, at), 0);
  while (at < end) {
    const unit = target.charCodeAt(at);
    at += 1;
    if (unit === PERCENT) {
      const high = at + 1 < end ? hexDigit(target.charCodeAt(at)) : -1;
      const low = at + 1 < end ? hexDigit(target.charCodeAt(at + 1)) : -1;
      if (high < 0 || low < 0) throw malformedPercent(part);
      bytes[length] = high * 16 + low;
      at += 2;
    } else bytes[length] = unit === PLUS && part === "query" ? SPACE : unit;
    length += 1;
  }
  return bytes.latin1Slice(0, length);
}

function hexDigit(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}
