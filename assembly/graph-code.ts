/**
 * Codes of vectors and the distances between them.
 *
 * Vectors are stored as their difference x' from a centre m (for COSINE, after
 * scaling to length 1). A code is x' / scale, from -63 to 63; with a query
 * q' = q - m, whose code is from -127 to 127,
 *
 *     EUCLIDEAN             |q - x|² = |q'|² + |x'|² - 2 q'x'      a = |x'|², b = -2 scale
 *     COSINE, DOT_PRODUCT      - q x = -q'm - mm - x'm - q'x'      a = -x'm,  b = -scale
 *
 * so that one formula serves all: distance = base + a + step * b * (query . code).
 *
 * (1) The code of a node is stored as code + 64, which has 7 bits, because one instruction multiplies bytes by numbers
 *     of 7 bits and adds them in pairs. Every machine gives the same result for these: it is only "relaxed" for other
 *     operands. The product with the query is then too large by 64 times the sum of the query's code.
 * (2) A pair is at most 2 * 127 * 127, which fits in 15 bits; all pairs of DIMENSION_MAX fit in 31.
 */
import { CENTRE, CENTRE_SQUARE, CODE, COSINE, EUCLIDEAN, allocate, codeBytes, similarity, sumAt } from "./graph-memory";

/** The code of 0, and the values on each side of it: codes are 1 to 127. */
const CODE_ZERO: i32 = 64;
const CODE_MAX: f32 = 63;
const QUERY_MAX: f32 = 127;

/** The address of the inserted or searched row, f32 for each dimension, then zeros. */
export let row: usize = 0;
/** The row minus the centre. */
let centred: usize = 0;
/** The code of the query, i8. */
let query: usize = 0;
/** The sum of the query's code, times CODE_ZERO. */
let queryOffset: i32 = 0;
let base: f32 = 0;
let step: f32 = 0;
/** scale of a node = its b times this. */
let scaleOfB: f32 = 0;

// The results of centre() for the row.
let largest: f32 = 0;
let squareSum: f32 = 0;
let centreSum: f32 = 0;

/** Returns false without enough memory. */
export function openCodes(): bool {
  scaleOfB = similarity == EUCLIDEAN ? -0.5 : -1;
  row = allocate(codeBytes * 4);
  centred = allocate(codeBytes * 4);
  query = allocate(codeBytes);
  return row != 0 && centred != 0 && query != 0;
}

/** Adds the row to the sum that becomes the centre. Only before the first node. */
export function addToCentre(): void {
  const factor = similarity == COSINE ? inverseLength() : 1;
  for (let at: usize = 0; at < codeBytes * 4; at += 4) {
    const value = load<f32>(row + at) * factor;
    store<f32>(CENTRE + at, load<f32>(CENTRE + at) + value);
  }
}

/** Makes the mean of `count` rows the centre. Values that are not finite become 0. */
export function finishCentre(count: u32): void {
  let square: f32 = 0;
  for (let at: usize = 0; at < codeBytes * 4; at += 4) {
    let value = load<f32>(CENTRE + at) / f32(count);
    if (!(abs(value) < 1e18)) value = 0;
    store<f32>(CENTRE + at, value);
    square += value * value;
  }
  store<f32>(CENTRE_SQUARE, square);
}

/** 1 / |row|; 0 for a row without a direction. */
function inverseLength(): f32 {
  let sum = f32x4.splat(0);
  for (let at = row; at < row + codeBytes * 4; at += 16) {
    const values = v128.load(at);
    sum = f32x4.add(sum, f32x4.mul(values, values));
  }
  const inverse: f32 = 1 / sqrt<f32>(sumOf(sum));
  return inverse < Infinity ? inverse : 0;
}

@inline
function sumOf(four: v128): f32 {
  return (
    f32x4.extract_lane(four, 0) +
    f32x4.extract_lane(four, 1) +
    (f32x4.extract_lane(four, 2) + f32x4.extract_lane(four, 3))
  );
}

/** Writes row - centre to `centred` and finds its largest value, its square and its product with the centre. */
function centre(): void {
  const factor = f32x4.splat(similarity == COSINE ? inverseLength() : 1);
  let most = f32x4.splat(0);
  let squares = f32x4.splat(0);
  let products = f32x4.splat(0);
  for (let at: usize = 0; at < codeBytes * 4; at += 16) {
    const middle = v128.load(CENTRE + at);
    const value = f32x4.sub(f32x4.mul(v128.load(row + at), factor), middle);
    v128.store(centred + at, value);
    most = f32x4.max(most, f32x4.abs(value));
    squares = f32x4.add(squares, f32x4.mul(value, value));
    products = f32x4.add(products, f32x4.mul(value, middle));
  }
  largest = max(
    max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
    max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
  );
  squareSum = finite(sumOf(squares));
  centreSum = finite(sumOf(products));
}

/** Overflowing sums would give distances that cannot be compared. */
@inline
function finite(value: f32): f32 {
  return abs(value) < Infinity ? value : 0;
}

/** Makes the row the query of later distances. */
export function prepareQuery(): void {
  centre();
  const factor = f32x4.splat(codeFactor(QUERY_MAX));
  let sum = i32x4.splat(0);
  let to = query;
  for (let at = centred; at < centred + codeBytes * 4; at += 64, to += 16) {
    const values = roundedBytes(at, factor);
    v128.store(to, values);
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(i16x8.extadd_pairwise_i8x16_s(values)));
  }
  queryOffset = CODE_ZERO * lanes(sum);
  step = finite(largest / QUERY_MAX);
  base = similarity == EUCLIDEAN ? squareSum : -centreSum - load<f32>(CENTRE_SQUARE);
}

/** Makes the vector of a node, as its code has it, the query of later distances. */
export function prepareNode(address: usize): void {
  const zero = i8x16.splat(i8(CODE_ZERO));
  for (let at: usize = 0; at < codeBytes; at += 16) v128.store(query + at, i8x16.sub(v128.load(address + at, CODE), zero));
  queryOffset = CODE_ZERO * (load<i32>(address + sumAt) - CODE_ZERO * i32(codeBytes));
  step = load<f32>(address, 4) * scaleOfB;
  base = similarity == EUCLIDEAN ? load<f32>(address) : load<f32>(address) - load<f32>(CENTRE_SQUARE);
}

/** Writes code and factors of the prepared row. */
export function writeCode(address: usize): void {
  const factor = f32x4.splat(codeFactor(CODE_MAX));
  const zero = i8x16.splat(i8(CODE_ZERO));
  let sum = i32x4.splat(0);
  let to = address + CODE;
  for (let at = centred; at < centred + codeBytes * 4; at += 64, to += 16) {
    const values = i8x16.add(roundedBytes(at, factor), zero);
    v128.store(to, values);
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(i16x8.extadd_pairwise_i8x16_s(values)));
  }
  store<i32>(address + sumAt, lanes(sum));
  const scale = finite(largest / CODE_MAX);
  store<f32>(address, similarity == EUCLIDEAN ? squareSum : -centreSum);
  store<f32>(address, similarity == EUCLIDEAN ? -2 * scale : -scale, 4);
}

@inline
function codeFactor(most: f32): f32 {
  return largest > 0 ? finite(most / largest) : 0;
}

@inline
function rounded(at: usize, factor: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(at), factor)));
}

/** 16 values in steps of 1 / factor. */
@inline
function roundedBytes(at: usize, factor: v128): v128 {
  const low = i16x8.narrow_i32x4_s(rounded(at, factor), rounded(at + 16, factor));
  const high = i16x8.narrow_i32x4_s(rounded(at + 32, factor), rounded(at + 48, factor));
  return i8x16.narrow_i16x8_s(low, high);
}

/** Distinguishes rows whose versions are confused. The padding of the row is included. */
export function checksum(): u32 {
  const prime = i32x4.splat(0x9e37_79b1);
  let sum = i32x4(1, 2, 3, 4);
  for (let at = row; at < row + codeBytes * 4; at += 16) {
    sum = i32x4.mul(v128.xor(sum, v128.load(at)), prime);
    sum = v128.xor(sum, i32x4.shr_u(sum, 15));
  }
  let mixed: u32 = i32x4.extract_lane(sum, 0);
  mixed = (mixed ^ i32x4.extract_lane(sum, 1)) * 0x85eb_ca77;
  mixed = (mixed ^ (mixed >> 13) ^ i32x4.extract_lane(sum, 2)) * 0xc2b2_ae3d;
  mixed = (mixed ^ (mixed >> 16) ^ i32x4.extract_lane(sum, 3)) * 0x27d4_eb2f;
  return mixed ^ (mixed >> 15);
}

/** The distance from the query to a node. */
@inline
export function distanceTo(address: usize): f32 {
  const sum = product(query, address + CODE) - queryOffset;
  return base + load<f32>(address) + step * load<f32>(address, 4) * f32(sum);
}

/**
 * The distances from the query to the nodes at four addresses, f32 lanes with the same bits as those of `distanceTo`.
 * One load of the query serves all.
 */
@inline
export function distancesTo(one: usize, two: usize, three: usize, four: usize): v128 {
  const ones = i16x8.splat(1);
  let first = i32x4.splat(0);
  let second = i32x4.splat(0);
  let third = i32x4.splat(0);
  let fourth = i32x4.splat(0);
  for (let at: usize = 0; at < codeBytes; at += 16) {
    const bytes = v128.load(query + at);
    first = addProducts(first, bytes, v128.load(one + at, CODE), ones);
    second = addProducts(second, bytes, v128.load(two + at, CODE), ones);
    third = addProducts(third, bytes, v128.load(three + at, CODE), ones);
    fourth = addProducts(fourth, bytes, v128.load(four + at, CODE), ones);
  }
  const left = i32x4.add(v128.shuffle<i32>(first, second, 0, 4, 1, 5), v128.shuffle<i32>(first, second, 2, 6, 3, 7));
  const right = i32x4.add(v128.shuffle<i32>(third, fourth, 0, 4, 1, 5), v128.shuffle<i32>(third, fourth, 2, 6, 3, 7));
  const sums = i32x4.add(v128.shuffle<i32>(left, right, 0, 1, 4, 5), v128.shuffle<i32>(left, right, 2, 3, 6, 7));
  const low = v128.load64_lane(two, v128.load64_zero(one), 1);
  const high = v128.load64_lane(four, v128.load64_zero(three), 1);
  const steps = f32x4.mul(f32x4.splat(step), v128.shuffle<f32>(low, high, 1, 3, 5, 7));
  return f32x4.add(
    f32x4.add(f32x4.splat(base), v128.shuffle<f32>(low, high, 0, 2, 4, 6)),
    f32x4.mul(steps, f32x4.convert_i32x4_s(i32x4.sub(sums, i32x4.splat(queryOffset)))),
  );
}

/** The distance from one node to another. */
export function distanceBetween(from: usize, to: usize): f32 {
  const sums = load<i32>(from + sumAt) + load<i32>(to + sumAt);
  const sum = product(from + CODE, to + CODE) - CODE_ZERO * sums + CODE_ZERO * CODE_ZERO * i32(codeBytes);
  const own: f32 = similarity == EUCLIDEAN ? load<f32>(from) : load<f32>(from) - load<f32>(CENTRE_SQUARE);
  const ownStep = load<f32>(from, 4) * scaleOfB;
  return own + load<f32>(to) + ownStep * load<f32>(to, 4) * f32(sum);
}

/** The sum of the products of bytes and codes. */
@inline
function product(bytes: usize, code: usize): i32 {
  const ones = i16x8.splat(1);
  let even = i32x4.splat(0);
  let odd = i32x4.splat(0);
  for (const end = code + codeBytes; code < end; code += 32, bytes += 32) {
    even = addProducts(even, v128.load(bytes), v128.load(code), ones);
    odd = addProducts(odd, v128.load(bytes, 16), v128.load(code, 16), ones);
  }
  return lanes(i32x4.add(even, odd));
}

/** Adds the products of 16 bytes and codes to four sums: keeps (1) and (2). */
@inline
function addProducts(sums: v128, bytes: v128, codes: v128, ones: v128): v128 {
  return i32x4.add(sums, i32x4.dot_i16x8_s(i16x8.relaxed_dot_i8x16_i7x16_s(bytes, codes), ones));
}

@inline
function lanes(four: v128): i32 {
  return (
    i32x4.extract_lane(four, 0) + i32x4.extract_lane(four, 1) + (i32x4.extract_lane(four, 2) + i32x4.extract_lane(four, 3))
  );
}

/** Whether two nodes have the same factors and the same code. */
export function isTwin(one: usize, other: usize): bool {
  return load<u64>(one) == load<u64>(other) && memory.compare(one + CODE, other + CODE, codeBytes) == 0;
}
