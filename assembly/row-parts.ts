/**
 * Rows in two parts: the code of a row (`row-codes.ts`), and what it leaves of
 * each value. Both together are the row to the last bit, in the bytes of the row.
 *
 *     remainders | 24 bits for each value, of the padded code                       |
 *                | exceptions u16 | positions u16 … | highest 8 bits of each u8 …    |
 *
 * The remainder of a value x with the code c is the difference of the bits of the floats x and c * scale, as integers with
 * a sign. The bits of floats of one sign are in their order, and from 0.5 to 1 and from 1 to 1.5, in steps, there are 2^23
 * and 2^22 floats; around other codes there are fewer. So 24 bits are enough unless c is 0.
 *
 * (1) A value whose difference has more bits is an exception; its remainder is the lower 24 bits of its float. In rows like
 *     normal numbers these are one value in 100, which is nearly 0; more if some values are larger. 0 is no exception.
 * (2) A row with more exceptions than there is room for is WHOLE: its values are in the bytes of the code, then in those of
 *     the remainders. Its facts are those of a row that is always kept.
 * (3) A reader of a row that another thread is writing gets any values, and stays in the memory of the row.
 */
import { CODE, REST, SCALE, paddedCode } from "./row-codes";

const WHOLE: u32 = 0xffff;
/** There is room for one exception in this many values, and a multiple of 16 of them. The first place is their count. */
const VALUES_PER_EXCEPTION: usize = 24;
const LOW_BITS: u32 = 0xff_ffff;
/** Half of the remainders. */
const MIDDLE: i32 = 0x80_0000;
const LINE_BYTES: usize = 64;
/** Values read only to load them into the cache: all lines of a row are touched first, so that their misses overlap. */
let touched: u32 = 0;

// @ts-ignore: decorator
@inline
function placesOf(codeBytes: usize): usize {
  return (codeBytes / VALUES_PER_EXCEPTION + 15) & ~15;
}

/** The bytes of the remainders of a row. */
export function remainderBytes(rowBytes: usize): usize {
  const codeBytes = paddedCode(rowBytes);
  return 3 * codeBytes + 3 * placesOf(codeBytes);
}

/** Writes the remainders of a row whose code was written. Returns false if the row is WHOLE. */
export function splitRow(row: usize, rowBytes: usize, code: usize, remainders: usize): bool {
  const codeBytes = paddedCode(rowBytes);
  const places = placesOf(codeBytes);
  const positions = remainders + 3 * codeBytes;
  const scales = f32x4.splat(load<f32>(code, SCALE));
  const zero = i32x4.splat(0);
  let count: usize = 0;
  let to = remainders;
  for (let at: usize = 0; at < rowBytes; at += 16, to += 12) {
    const bits = v128.load(row + at);
    const codes = i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(v128.load32_zero(code + CODE + (at >> 2))));
    const difference = i32x4.sub(bits, f32x4.mul(f32x4.convert_i32x4_s(codes), scales));
    const isException = i32x4.ne(i32x4.shr_u(i32x4.add(difference, i32x4.splat(MIDDLE)), 24), zero);
    const low = v128.bitselect(bits, difference, isException);
    const packed = v128.shuffle<i8>(low, low, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
    v128.store64_lane(to, packed, 0);
    v128.store32_lane(to, packed, 2, 8);
    for (let lanes = i32x4.bitmask(isException); lanes != 0; lanes &= lanes - 1) {
      count += 1;
      if (count == places) {
        writeWhole(row, rowBytes, code, remainders);
        return false;
      }
      const position = (at >> 2) + usize(ctz(lanes));
      store<u16>(positions + 2 * count, u16(position));
      store<u8>(positions + 2 * places + count, load<u8>(row + 4 * position, 3));
    }
  }
  store<u16>(positions, u16(count));
  return true;
}

/** keeps (2) */
function writeWhole(row: usize, rowBytes: usize, code: usize, remainders: usize): void {
  const codeBytes = paddedCode(rowBytes);
  memory.fill(code, 0, CODE);
  store<f32>(code, 0, SCALE);
  store<f32>(code, Infinity, REST);
  memory.copy(code + CODE, row, codeBytes);
  memory.copy(remainders, row + codeBytes, rowBytes - codeBytes);
  store<u16>(remainders + 3 * codeBytes, u16(WHOLE));
}

/** Writes a row to `row`, padded with zeros to the bytes of its code. */
export function joinRow(code: usize, remainders: usize, rowBytes: usize, row: usize): void {
  const codeBytes = paddedCode(rowBytes);
  const positions = remainders + 3 * codeBytes;
  const count: u32 = load<u16>(positions);
  if (count == WHOLE) {
    memory.copy(row, code + CODE, codeBytes);
    memory.copy(row + codeBytes, remainders, rowBytes - codeBytes);
    return;
  }
  touched = touch(code, CODE + codeBytes) + touch(remainders, 3 * codeBytes);
  const scales = f32x4.splat(load<f32>(code, SCALE));
  let from = remainders;
  let to = row;
  for (let at = code + CODE; at < code + CODE + codeBytes; at += 16, from += 48, to += 64) {
    const codes = v128.load(at);
    const low = i16x8.extend_low_i8x16_s(codes);
    const high = i16x8.extend_high_i8x16_s(codes);
    v128.store(to, joined(i32x4.extend_low_i16x8_s(low), from, scales));
    v128.store(to, joined(i32x4.extend_high_i16x8_s(low), from + 12, scales), 16);
    v128.store(to, joined(i32x4.extend_low_i16x8_s(high), from + 24, scales), 32);
    v128.store(to, joined(i32x4.extend_high_i16x8_s(high), from + 36, scales), 48);
  }
  const places = placesOf(codeBytes);
  const end = min(usize(count), places - 1);
  for (let i: usize = 1; i <= end; i += 1) {
    const position = usize(load<u16>(positions + 2 * i));
    // keeps (3)
    if (position >= codeBytes) return;
    const low = load<u32>(remainders + 3 * position) & LOW_BITS;
    store<u32>(row + 4 * position, low | (u32(load<u8>(positions + 2 * places + i)) << 24));
  }
}

/** Four values without exceptions. Reads 16 bytes: the last four are those of others, or of positions. */
// @ts-ignore: decorator
@inline
function joined(codes: v128, from: usize, scales: v128): v128 {
  // 0x80 is no byte.
  const shifted = i8x16.relaxed_swizzle(v128.load(from), i8x16(-128, 0, 1, 2, -128, 3, 4, 5, -128, 6, 7, 8, -128, 9, 10, 11));
  return i32x4.add(f32x4.mul(f32x4.convert_i32x4_s(codes), scales), i32x4.shr_s(shifted, 8));
}

// @ts-ignore: decorator
@inline
function touch(start: usize, bytes: usize): u32 {
  let sum: u32 = 0;
  for (let line = start; line < start + bytes; line += LINE_BYTES) sum += load<u32>(line);
  return sum;
}
