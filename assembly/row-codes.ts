/**
 * Codes of dense rows: one byte for each value, a quarter of the bytes of a row.
 * They exclude rows that cannot rank as high as a threshold; all others are ranked
 * by their float32 values. No answer contains a value from a code.
 *
 *     code   | scale f32 | rest f32 | length f32 | square f32 | i8 for each value, zeros to 32 |
 *     query  | step f64 | rest f64 | length f64 | slack f64 | i16 for each value, zeros to 32  |
 *
 * A row x is nearly x' = scale * code, a query q nearly q' = step * code. `rest` is at least |x - x'| (|q - q'|), `length`
 * is |x| (|q|), `square` is |x'|². By Cauchy and Schwarz
 *
 *     |qx - q'x'|  <=  |q| |x - x'| + |x'| |q - q'|           COSINE and DOT_PRODUCT
 *     |q - x|      >=  |q - x'| - |x - x'|                    EUCLIDEAN
 *
 * (1) A row that the kernel would rank at the threshold or above is kept. `slack` is more than the rounding errors of
 *     the kernel's sums and these, relative to the multiplied lengths.
 * (2) A row whose squares are so small or large that sums lose more than that has a `rest` of Infinity: it is kept.
 * (3) The sum of products of two codes fits in 31 bits (`coded-query.ts`).
 */
import { COSINE, DOT_PRODUCT, EUCLIDEAN } from "./row-similarity";

export const SCALE: usize = 0;
export const REST: usize = 4;
const LENGTH: usize = 8;
const SQUARE: usize = 12;
export const CODE: usize = 16;

const QUERY_REST: usize = 8;
const QUERY_LENGTH: usize = 16;
const QUERY_SLACK: usize = 24;
const QUERY_CODE: usize = 32;

const CODE_MAX: f32 = 127;
const LANE_BYTES: usize = 16;
const LINE_BYTES: usize = 64;

/** Squared lengths outside of these bounds have a rest of Infinity: keeps (2). As in `coded-query.ts`. */
const SQUARE_MIN: f32 = 1e-16;
const SQUARE_MAX: f32 = 1e16;
/** More than the rounding error of a sum of 65,536 squares. */
const REST_FACTOR: f32 = 1.001;

/** Codes whose lines are touched before the first comparison, to overlap their misses. bench/row-kernel.bench.ts */
const TOUCHED_BYTES: usize = 8_192;
/** Values read only to load them into the cache. */
let touched: u32 = 0;

/** Writes the code of a row with the given squared length. */
export function writeCode(row: usize, rowBytes: usize, squaredLength: f32, at: usize): void {
  let most = f32x4.splat(0);
  for (let from = row; from < row + rowBytes; from += LANE_BYTES) most = f32x4.max(most, f32x4.abs(v128.load(from)));
  const largest = max(
    max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
    max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
  );
  const isKept = !(squaredLength >= SQUARE_MIN && squaredLength <= SQUARE_MAX);
  const scale: f32 = isKept ? 0 : largest / CODE_MAX;
  const factor = f32x4.splat(isKept ? 0 : CODE_MAX / largest);
  const scales = f32x4.splat(scale);
  let rests = f32x4.splat(0);
  let squares = i32x4.splat(0);
  let to = at + CODE;
  for (let from = row; from < row + rowBytes; from += LANE_BYTES, to += 4) {
    const values = v128.load(from);
    const code = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(values, factor)));
    const rest = f32x4.sub(values, f32x4.mul(f32x4.convert_i32x4_s(code), scales));
    rests = f32x4.add(rests, f32x4.mul(rest, rest));
    squares = i32x4.add(squares, i32x4.mul(code, code));
    const words = i16x8.narrow_i32x4_s(code, code);
    store<u32>(to, i32x4.extract_lane(i8x16.narrow_i16x8_s(words, words), 0));
  }
  for (const end = at + CODE + paddedCode(rowBytes); to < end; to += 4) store<u32>(to, 0);
  const length = sqrt<f32>(squaredLength);
  const rest = sqrt<f32>(
    f32x4.extract_lane(rests, 0) +
      f32x4.extract_lane(rests, 1) +
      (f32x4.extract_lane(rests, 2) + f32x4.extract_lane(rests, 3)),
  );
  const square =
    i32x4.extract_lane(squares, 0) +
    i32x4.extract_lane(squares, 1) +
    i32x4.extract_lane(squares, 2) +
    i32x4.extract_lane(squares, 3);
  store<f32>(at, scale, SCALE);
  store<f32>(at, isKept ? Infinity : rest * REST_FACTOR, REST);
  store<f32>(at, length, LENGTH);
  store<f32>(at, f32(square) * scale * scale, SQUARE);
}

/** The bytes of the values of a code. */
// @ts-ignore: decorator
@inline
export function paddedCode(rowBytes: usize): usize {
  return ((rowBytes >> 2) + 31) & ~31;
}

/** The sum of the products of two codes: keeps (3). */
// @ts-ignore: decorator
@inline
function product(code: usize, query: usize, codeEnd: usize): i32 {
  let one = i32x4.splat(0);
  let two = i32x4.splat(0);
  let three = i32x4.splat(0);
  let four = i32x4.splat(0);
  for (; code < codeEnd; code += 32, query += 64) {
    one = i32x4.add(one, i32x4.dot_i16x8_s(v128.load_ext<i8>(code), v128.load(query)));
    two = i32x4.add(two, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 8), v128.load(query, 16)));
    three = i32x4.add(three, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 16), v128.load(query, 32)));
    four = i32x4.add(four, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 24), v128.load(query, 48)));
  }
  const sum = i32x4.add(i32x4.add(one, two), i32x4.add(three, four));
  return (
    i32x4.extract_lane(sum, 0) + i32x4.extract_lane(sum, 1) + i32x4.extract_lane(sum, 2) + i32x4.extract_lane(sum, 3)
  );
}

/** The conditions of a threshold, in the terms of `isBelow`. */
let bound: f64 = 0;
let boundOfLength: f64 = 0;

/** Sets the threshold for later comparisons. */
// @ts-ignore: decorator
@inline
function setThreshold(similarity: i32, query: usize, threshold: f64): void {
  const length = load<f64>(query, QUERY_LENGTH);
  const slack = load<f64>(query, QUERY_SLACK);
  if (similarity == EUCLIDEAN) {
    // From 1 / (1 + d²) back to d.
    bound = threshold > 0 ? sqrt<f64>(max<f64>(0, (1 + slack) / threshold - 1) * (1 + slack)) : Infinity;
  } else if (similarity == COSINE) {
    // From (1 + cos) / 2 back to cos.
    bound = 0;
    boundOfLength = (2 * threshold - 1 - slack) * length;
  } else {
    bound = threshold;
    boundOfLength = -slack * length;
  }
}

/** Whether the row of a code certainly ranks below the threshold. A row with NaN is kept. */
// @ts-ignore: decorator
@inline
function isBelow(similarity: i32, code: usize, codeBytes: usize, query: usize): bool {
  const sum = product(code + CODE, query + QUERY_CODE, code + CODE + codeBytes);
  const near = load<f64>(query) * f64(load<f32>(code, SCALE)) * f64(sum);
  const rest = f64(load<f32>(code, REST));
  const length = f64(load<f32>(code, LENGTH));
  const queryLength = load<f64>(query, QUERY_LENGTH);
  const queryError = (length + rest) * load<f64>(query, QUERY_REST);
  if (similarity == EUCLIDEAN) {
    const squares = queryLength * queryLength + f64(load<f32>(code, SQUARE));
    const slack = load<f64>(query, QUERY_SLACK) * (queryLength * queryLength + length * length);
    const reach = bound + rest;
    return squares - 2 * (near + queryError) - slack > reach * reach;
  }
  return near + queryLength * rest + queryError < bound + boundOfLength * length;
}

// @ts-ignore: decorator
@inline
function touch(code: usize, codeBytes: usize): u32 {
  let sum: u32 = 0;
  for (let line = code; line < code + CODE + codeBytes; line += LINE_BYTES) sum += load<u32>(line);
  return sum;
}

// @ts-ignore: decorator
@inline
function siftAs(
  similarity: i32,
  codes: usize,
  codeBytes: usize,
  list: usize,
  count: u32,
  query: usize,
  threshold: f32,
): u32 {
  const stride = CODE + codeBytes;
  const end = list + ((count as usize) << 2);
  const groupBytes = max<usize>(1, TOUCHED_BYTES / stride) << 2;
  let to = list;
  let sum: u32 = 0;
  setThreshold(similarity, query, threshold);
  for (let group = list; group < end; group += groupBytes) {
    const groupEnd = min(end, group + groupBytes);
    for (let at = group; at < groupEnd; at += 4) sum += touch(codes + (load<u32>(at) as usize) * stride, codeBytes);
    for (let at = group; at < groupEnd; at += 4) {
      const i = load<u32>(at);
      if (isBelow(similarity, codes + (i as usize) * stride, codeBytes, query)) continue;
      store<u32>(to, i);
      to += 4;
    }
  }
  touched = sum;
  return ((to - list) >> 2) as u32;
}

// @ts-ignore: decorator
@inline
function siftRangeAs(
  similarity: i32,
  codes: usize,
  codeBytes: usize,
  start: u32,
  end: u32,
  query: usize,
  threshold: f32,
  list: usize,
): u32 {
  const stride = CODE + codeBytes;
  let to = list;
  setThreshold(similarity, query, threshold);
  for (let i = start; i < end; i += 1) {
    if (isBelow(similarity, codes + (i as usize) * stride, codeBytes, query)) continue;
    store<u32>(to, i);
    to += 4;
  }
  return ((to - list) >> 2) as u32;
}

/** Reduces a list to the rows of a block that may rank at the threshold or above, in order. Returns how many. */
export function sift(
  similarity: i32,
  codes: usize,
  codeBytes: usize,
  list: usize,
  count: u32,
  query: usize,
  threshold: f32,
): u32 {
  if (similarity == COSINE) return siftAs(COSINE, codes, codeBytes, list, count, query, threshold);
  if (similarity == EUCLIDEAN) return siftAs(EUCLIDEAN, codes, codeBytes, list, count, query, threshold);
  return siftAs(DOT_PRODUCT, codes, codeBytes, list, count, query, threshold);
}

/** As `sift`, for the rows `start` to `end` of a block: writes the list. */
export function siftRange(
  similarity: i32,
  codes: usize,
  codeBytes: usize,
  start: u32,
  end: u32,
  query: usize,
  threshold: f32,
  list: usize,
): u32 {
  if (similarity == COSINE) return siftRangeAs(COSINE, codes, codeBytes, start, end, query, threshold, list);
  if (similarity == EUCLIDEAN) return siftRangeAs(EUCLIDEAN, codes, codeBytes, start, end, query, threshold, list);
  return siftRangeAs(DOT_PRODUCT, codes, codeBytes, start, end, query, threshold, list);
}
