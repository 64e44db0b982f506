/**
 * Scores dense rows. The memory is imported and shared; the kernel owns none of
 * it, and all addresses are arguments. A row and a query are float32 values,
 * padded with zeros to a multiple of 16 bytes (`rowBytes`) and aligned to 16.
 * `lengths` is one float32 for each row of a block: the row's squared length,
 * negative if there is no row.
 *
 * Rows of a block may be in two parts (`row-parts.ts`): then `rows` are their
 * remainders, `codes` are their codes (0 if rows are whole), and each is joined at
 * `joined`, which has room for the padded code as float32, before it is ranked.
 *
 *     out    | row in its block u32 | rank f32 |   (repeated, in the order of the rows)
 *     list   | row in its block u32 |              (repeated)
 *
 * (1) Every sum adds its terms in one order: four accumulators of four lanes over
 *     64 bytes at a time, the rest 16 bytes at a time into the first; then
 *     (0 + 1) + (2 + 3) of the accumulators and of the lanes. So the dot product
 *     of a vector with itself has the same bits as its squared length.
 * (2) Multiplication and addition round separately (no relaxed SIMD), so that
 *     every machine gives the same bits.
 * (3) A rank is a number: rows and queries have finite squared lengths.
 */

import { CODE, paddedCode } from "./row-codes";
import { joinRow, remainderBytes } from "./row-parts";
import { COSINE, DOT_PRODUCT, EUCLIDEAN } from "./row-similarity";

export { sift, siftRange, writeCode } from "./row-codes";
export { joinRow, remainderBytes, splitRow } from "./row-parts";

const STEP_BYTES: usize = 64;
const LANE_BYTES: usize = 16;
const HIT_BYTES: usize = 8;

// @ts-ignore: decorator
@inline
function total(first: v128, second: v128, third: v128, fourth: v128): f32 {
  const sum = f32x4.add(f32x4.add(first, second), f32x4.add(third, fourth));
  return (
    (f32x4.extract_lane(sum, 0) + f32x4.extract_lane(sum, 1)) +
    (f32x4.extract_lane(sum, 2) + f32x4.extract_lane(sum, 3))
  );
}

// @ts-ignore: decorator
@inline
function product(sum: v128, left: v128, right: v128): v128 {
  return f32x4.add(sum, f32x4.mul(left, right));
}

// @ts-ignore: decorator
@inline
function squaredDifference(sum: v128, left: v128, right: v128): v128 {
  const difference = f32x4.sub(left, right);
  return f32x4.add(sum, f32x4.mul(difference, difference));
}

// @ts-ignore: decorator
@inline
function dotProduct(left: usize, right: usize, rowBytes: usize): f32 {
  let first = f32x4.splat(0);
  let second = f32x4.splat(0);
  let third = f32x4.splat(0);
  let fourth = f32x4.splat(0);
  const end = left + rowBytes;
  const stepsEnd = left + (rowBytes & ~(STEP_BYTES - 1));
  while (left < stepsEnd) {
    first = product(first, v128.load(left), v128.load(right));
    second = product(second, v128.load(left, 16), v128.load(right, 16));
    third = product(third, v128.load(left, 32), v128.load(right, 32));
    fourth = product(fourth, v128.load(left, 48), v128.load(right, 48));
    left += STEP_BYTES;
    right += STEP_BYTES;
  }
  while (left < end) {
    first = product(first, v128.load(left), v128.load(right));
    left += LANE_BYTES;
    right += LANE_BYTES;
  }
  return total(first, second, third, fourth);
}

// @ts-ignore: decorator
@inline
function squaredDistance(left: usize, right: usize, rowBytes: usize): f32 {
  let first = f32x4.splat(0);
  let second = f32x4.splat(0);
  let third = f32x4.splat(0);
  let fourth = f32x4.splat(0);
  const end = left + rowBytes;
  const stepsEnd = left + (rowBytes & ~(STEP_BYTES - 1));
  while (left < stepsEnd) {
    first = squaredDifference(first, v128.load(left), v128.load(right));
    second = squaredDifference(second, v128.load(left, 16), v128.load(right, 16));
    third = squaredDifference(third, v128.load(left, 32), v128.load(right, 32));
    fourth = squaredDifference(fourth, v128.load(left, 48), v128.load(right, 48));
    left += STEP_BYTES;
    right += STEP_BYTES;
  }
  while (left < end) {
    first = squaredDifference(first, v128.load(left), v128.load(right));
    left += LANE_BYTES;
    right += LANE_BYTES;
  }
  return total(first, second, third, fourth);
}

/** (1 + cos) / 2. A vector with itself gives exactly 1; a vector without a direction is orthogonal to all others. */
// @ts-ignore: decorator
@inline
function cosineRank(dot: f32, queryLength: f32, length: f32): f32 {
  if (dot == queryLength && dot == length) return 1;
  const scale = sqrt<f32>(queryLength) * sqrt<f32>(length);
  if (scale == 0) return 0.5;
  return max<f32>(0, min<f32>(1, (1 + dot / scale) / 2));
}

/** `similarity` is a constant wherever this is inlined. */
// @ts-ignore: decorator
@inline
function rankOf(similarity: i32, row: usize, length: f32, rowBytes: usize, query: usize, queryLength: f32): f32 {
  if (similarity == EUCLIDEAN) return 1 / (1 + squaredDistance(row, query, rowBytes));
  const dot = dotProduct(row, query, rowBytes);
  return similarity == COSINE ? cosineRank(dot, queryLength, length) : dot;
}

// @ts-ignore: decorator
@inline
function scanAs(
  similarity: i32,
  rows: usize,
  lengths: usize,
  start: u32,
  end: u32,
  rowBytes: usize,
  query: usize,
  queryLength: f32,
  threshold: f32,
  out: usize,
  codes: usize,
  joined: usize,
): i32 {
  const outStart = out;
  const stride = codes == 0 ? rowBytes : remainderBytes(rowBytes);
  const codeStride = CODE + paddedCode(rowBytes);
  let row = rows + (start as usize) * stride;
  for (let i = start; i < end; i += 1) {
    const length = load<f32>(lengths + (i << 2));
    if (length >= 0) {
      if (codes != 0) joinRow(codes + (i as usize) * codeStride, row, rowBytes, joined);
      const rank = rankOf(similarity, codes == 0 ? row : joined, length, rowBytes, query, queryLength);
      if (rank >= threshold) {
        store<u32>(out, i);
        store<f32>(out, rank, 4);
        out += HIT_BYTES;
      }
    }
    row += stride;
  }
  return ((out - outStart) / HIT_BYTES) as i32;
}

// @ts-ignore: decorator
@inline
function gatherAs(
  similarity: i32,
  rows: usize,
  lengths: usize,
  list: usize,
  count: u32,
  rowBytes: usize,
  query: usize,
  queryLength: f32,
  threshold: f32,
  out: usize,
  codes: usize,
  joined: usize,
): i32 {
  const outStart = out;
  const stride = codes == 0 ? rowBytes : remainderBytes(rowBytes);
  const codeStride = CODE + paddedCode(rowBytes);
  const listEnd = list + (count << 2);
  while (list < listEnd) {
    const i = load<u32>(list);
    const length = load<f32>(lengths + (i << 2));
    if (length >= 0) {
      let row = rows + (i as usize) * stride;
      if (codes != 0) {
        joinRow(codes + (i as usize) * codeStride, row, rowBytes, joined);
        row = joined;
      }
      const rank = rankOf(similarity, row, length, rowBytes, query, queryLength);
      if (rank >= threshold) {
        store<u32>(out, i);
        store<f32>(out, rank, 4);
        out += HIT_BYTES;
      }
    }
    list += 4;
  }
  return ((out - outStart) / HIT_BYTES) as i32;
}

/** Ranks the rows `start` to `end` of a block and writes those of at least `threshold`. Returns how many. */
export function scan(
  similarity: i32,
  rows: usize,
  lengths: usize,
  start: u32,
  end: u32,
  rowBytes: usize,
  query: usize,
  queryLength: f32,
  threshold: f32,
  out: usize,
  codes: usize,
  joined: usize,
): i32 {
  if (similarity == COSINE)
    return scanAs(COSINE, rows, lengths, start, end, rowBytes, query, queryLength, threshold, out, codes, joined);
  if (similarity == EUCLIDEAN)
    return scanAs(EUCLIDEAN, rows, lengths, start, end, rowBytes, query, queryLength, threshold, out, codes, joined);
  return scanAs(DOT_PRODUCT, rows, lengths, start, end, rowBytes, query, queryLength, threshold, out, codes, joined);
}

/** As `scan`, for the `count` rows of a list. */
export function gather(
  similarity: i32,
  rows: usize,
  lengths: usize,
  list: usize,
  count: u32,
  rowBytes: usize,
  query: usize,
  queryLength: f32,
  threshold: f32,
  out: usize,
  codes: usize,
  joined: usize,
): i32 {
  if (similarity == COSINE)
    return gatherAs(COSINE, rows, lengths, list, count, rowBytes, query, queryLength, threshold, out, codes, joined);
  if (similarity == EUCLIDEAN)
    return gatherAs(EUCLIDEAN, rows, lengths, list, count, rowBytes, query, queryLength, threshold, out, codes, joined);
  return gatherAs(DOT_PRODUCT, rows, lengths, list, count, rowBytes, query, queryLength, threshold, out, codes, joined);
}

/** The rank of the whole row at an address, whose squared length is `length`. */
export function rank(
  similarity: i32,
  row: usize,
  length: f32,
  rowBytes: usize,
  query: usize,
  queryLength: f32,
): f32 {
  if (similarity == COSINE) return rankOf(COSINE, row, length, rowBytes, query, queryLength);
  if (similarity == EUCLIDEAN) return rankOf(EUCLIDEAN, row, length, rowBytes, query, queryLength);
  return rankOf(DOT_PRODUCT, row, length, rowBytes, query, queryLength);
}

/** The squared length of the row or query at an address. */
export function squaredLength(row: usize, rowBytes: usize): f32 {
  return dotProduct(row, row, rowBytes);
}
