/**
 * Steps of BITFIELD on fields of up to 32 bits, computed in doubles. The bytes
 * that contain such a field have 40 bits at most, and a sum stays below 2^53, so
 * everything is exact, and ten times as fast as with bigints. Fields within three
 * bytes, the usual ones, are computed with shifts, again several times as fast.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { LargeString } from "../structures/large-string.ts";
import { byteAt, type StringValue } from "../values/string.ts";

const NARROW_BITS_MAX = 32;
const OPERAND_END = 2 ** 52;
/** The bits of so many bytes can be shifted. */
const SHIFTED_BYTES_MAX = 3;
const MACHINE_BITS = 32;

export interface FieldType {
  readonly isSigned: boolean;
  readonly bits: number;
  /** The values of the field, exact up to 53 bits. */
  readonly least: number;
  readonly most: number;
}

/** The type of signed or unsigned fields of so many bits. */
export function fieldType({ isSigned, bits }: { readonly isSigned: boolean; readonly bits: number }): FieldType {
  const size = 2 ** bits;
  return { isSigned, bits, least: isSigned ? -size / 2 : 0, most: (isSigned ? size / 2 : size) - 1 };
}

/** Whether the field is narrow, and its operand, if any, can be set or added exactly in doubles. */
export function isNarrow({ bits, isSigned }: FieldType, operand: number, isSet: boolean): boolean {
  if (bits > NARROW_BITS_MAX || Math.abs(operand) >= OPERAND_END) return false;
  // A value set in an unsigned field counts as 64 bits without a sign.
  return !isSet || isSigned || operand >= 0;
}

export function readNarrow(value: StringValue | undefined, type: FieldType, offset: number): number {
  const { bits } = type;
  const byteCount = byteCountOf(offset, bits);
  const shift = byteCount * 8 - (offset & 7) - bits;
  const whole = bytesAround(value, firstByteOf(offset), byteCount);
  if (byteCount > SHIFTED_BYTES_MAX) {
    const field = Math.floor(whole / powerOf2(shift)) % powerOf2(bits);
    return field > type.most ? field - powerOf2(bits) : field;
  }
  // Its highest bit becomes that of a machine integer, which shifts with or without a sign.
  const highest = (whole >> shift) << (MACHINE_BITS - bits);
  return type.isSigned ? highest >> (MACHINE_BITS - bits) : highest >>> (MACHINE_BITS - bits);
}

/** A sum beyond the values of the field, wrapped to it. */
export function wrapNarrow({ bits, most }: FieldType, sum: number): number {
  const size = powerOf2(bits);
  const rest = ((sum % size) + size) % size;
  return rest > most ? rest - size : rest;
}

/** The bytes that contain the field at a place, with a new value in it. */
export function writtenNarrow(
  value: StringValue | undefined,
  { type, offset }: { readonly type: FieldType; readonly offset: number },
  field: number,
): Bytes {
  const { bits } = type;
  const byteCount = byteCountOf(offset, bits);
  const shift = byteCount * 8 - (offset & 7) - bits;
  const whole = bytesAround(value, firstByteOf(offset), byteCount);
  if (byteCount <= SHIFTED_BYTES_MAX) {
    const mask = ((1 << bits) - 1) << shift;
    return bytesOfShort((whole & ~mask) | ((field << shift) & mask), byteCount);
  }
  const unit = powerOf2(shift);
  const above = whole - (whole % (unit * powerOf2(bits)));
  let written = above + (field < 0 ? field + powerOf2(bits) : field) * unit + (whole % unit);
  let bytes = "";
  for (let i = 0; i < byteCount; i += 1) {
    bytes = String.fromCharCode(written % 256) + bytes;
    written = Math.floor(written / 256);
  }
  return bytes;
}

/** One to three bytes. V8 has the strings of one character ready. */
function bytesOfShort(whole: number, byteCount: number): Bytes {
  if (byteCount === 1) return String.fromCharCode(whole);
  if (byteCount === 2) return String.fromCharCode(whole >> 8, whole & 0xff);
  return String.fromCharCode(whole >> 16, (whole >> 8) & 0xff, whole & 0xff);
}

// Offsets in bits are below 2^32, so they can be shifted without a sign, which takes a fraction of a division.

/** The first byte that contains the field. */
export function firstByteOf(offset: number): number {
  return offset >>> 3;
}

/** The number of bytes that contain the field. */
export function byteCountOf(offset: number, bits: number): number {
  return ((offset & 7) + bits + 7) >> 3;
}

function bytesAround(value: StringValue | undefined, firstByte: number, byteCount: number): number {
  if (value instanceof LargeString) return value.numberAt(firstByte, byteCount);
  let whole = 0;
  for (let i = 0; i < byteCount; i += 1) whole = whole * 256 + byteAt(value, firstByte + i);
  return whole;
}

const powers = Float64Array.from({ length: 48 }, (_, exponent) => 2 ** exponent);

function powerOf2(exponent: number): number {
  return powers[exponent] as number;
}
