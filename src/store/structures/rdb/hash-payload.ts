/**
 * A hash in the format of Redis' files.
 *
 *     type  4         count, (field, value) …
 *          13, 16     the same as a ziplist, as a listpack
 *          24         the first expiry time u64, count, (distance, field, value) …
 *          25         the first expiry time u64, a listpack of (field, value, time or 0)
 *          22, 23     the same without the first time (release candidates of Redis 7.4): a time in place of a distance
 *          22         count, (field, value, time) … in Valkey
 *
 *     distance        from the first expiry time plus one, in the form of a length; 0 for none
 *     time            ms, in the form of a length; 0 for none.   In Valkey i64, lowest byte first; -1 for none
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { TIME_MS_MAX } from "../../../kernel/frame.ts";
import { badDataFormat } from "../../errors.ts";
import { parseInteger } from "../numbers/number-text.ts";
import { type Count, columns, readListpack } from "./packed-lists.ts";
import type { PayloadReader } from "./payload-reader.ts";
import type { PayloadWriter } from "./payload-writer.ts";

export interface DumpedHash {
  readonly kind: "hash";
  readonly fields: readonly Bytes[];
  readonly values: readonly Bytes[];
  /** Per field its expiry time in ms, or 0; absent if no field has one. */
  readonly expiriesMs?: readonly number[];
}

/** Redis writes this as the first time of a hash in which no field expires any more. */
const NO_FIRST_MS = TIME_MS_MAX + 1;

/** Writes the content of type 4. */
export function writeHash(writer: PayloadWriter, { fields, values }: DumpedHash): void {
  writer.length(fields.length);
  for (const [index, field] of fields.entries()) writer.string(field).string(values[index] as Bytes);
}

/** Writes the content of type 24. */
export function writeExpiringHash(writer: PayloadWriter, { fields, values, expiriesMs = [] }: DumpedHash): void {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const atMs of expiriesMs) if (atMs > 0 && atMs < firstMs) firstMs = atMs;
  writer.number64(firstMs).length(fields.length);
  for (const [index, field] of fields.entries()) {
    const atMs = expiriesMs[index] as number;
    writer
      .length(atMs === 0 ? 0 : atMs - firstMs + 1)
      .string(field)
      .string(values[index] as Bytes);
  }
}

/** Reads the content of type 4. */
export function readHash(reader: PayloadReader): DumpedHash {
  const fields: Bytes[] = [];
  const values: Bytes[] = [];
  for (let left = reader.elementCount(2); left > 0; left -= 1) {
    fields.push(reader.element());
    values.push(reader.element());
  }
  return { kind: "hash", fields, values };
}

/** Reads the content of type 13 or 16. */
export function readPackedHash(reader: PayloadReader, read: (blob: Buffer, count: Count) => Bytes[]): DumpedHash {
  const [fields, values] = columns(read(reader.blob(), reader.countElement), 2);
  return { kind: "hash", fields: fields as Bytes[], values: values as Bytes[] };
}

/** Reads the content of type 24. */
export function readExpiringHash(reader: PayloadReader): DumpedHash {
  const firstMs = reader.number64();
  if (firstMs > NO_FIRST_MS) throw badDataFormat;
  return readExpiringFields(reader, (distance) => (distance === 0 ? 0 : firstMs + distance - 1));
}

/** Reads the content of type 22 of Redis. */
export function readCandidateHash(reader: PayloadReader): DumpedHash {
  return readExpiringFields(reader, (atMs) => atMs);
}

function readExpiringFields(reader: PayloadReader, momentOf: (number: number) => number): DumpedHash {
  const fields: Bytes[] = [];
  const values: Bytes[] = [];
  const expiriesMs: number[] = [];
  for (let left = reader.elementCount(3); left > 0; left -= 1) {
    expiriesMs.push(checkedMoment(momentOf(reader.length())));
    fields.push(reader.element());
    values.push(reader.element());
  }
  return expiringHash(fields, values, expiriesMs);
}

/** Reads the content of type 25, or without the first time that of type 23. */
export function readPackedExpiringHash(reader: PayloadReader, { hasFirst }: { hasFirst: boolean }): DumpedHash {
  // The times also contain the first one.
  if (hasFirst) reader.number64();
  const [fields, values, texts] = columns(readListpack(reader.blob(), reader.countElement), 3);
  const expiriesMs = (texts as Bytes[]).map((text) => {
    const atMs = parseInteger(text);
    if (typeof atMs !== "number") throw badDataFormat;
    return checkedMoment(atMs);
  });
  return expiringHash(fields as Bytes[], values as Bytes[], expiriesMs);
}

function checkedMoment(atMs: number): number {
  if (atMs < 0 || atMs > TIME_MS_MAX) throw badDataFormat;
  return atMs;
}

/** Reads the content of type 22 of Valkey. */
export function readValkeyHash(reader: PayloadReader): DumpedHash {
  const fields: Bytes[] = [];
  const values: Bytes[] = [];
  const expiriesMs: number[] = [];
  for (let left = reader.elementCount(2 + 8); left > 0; left -= 1) {
    fields.push(reader.element());
    values.push(reader.element());
    expiriesMs.push(valkeyMoment(reader.signed64()));
  }
  return expiringHash(fields, values, expiriesMs);
}

function valkeyMoment(atMs: bigint): number {
  if (atMs < -1n) throw badDataFormat;
  if (atMs === -1n) return 0;
  // Zero is a time in the past. Later times than ours are possible, as for keys.
  return atMs > BigInt(TIME_MS_MAX) ? TIME_MS_MAX : Math.max(Number(atMs), 1);
}

/** In these types too, perhaps no field expires. */
function expiringHash(fields: readonly Bytes[], values: readonly Bytes[], expiriesMs: readonly number[]): DumpedHash {
  return { kind: "hash", fields, values, ...(expiriesMs.some((atMs) => atMs > 0) ? { expiriesMs } : {}) };
}
