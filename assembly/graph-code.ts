/**
 * Codes of vectors and the distances between them.
 *
 * Vectors are stored as their difference x' from a centre m (for COSINE, after
 * scaling to length 1). A code is x' / scale; with a query q' = q - m
 *
 *     EUCLIDEAN             |q - x|² = |q'|² + |x'|² - 2 q'x'      a = |x'|², b = -2 scale
 *     COSINE, DOT_PRODUCT      - q x = -q'm - mm - x'm - q'x'      a = -x'm,  b = -scale
 *
 * so that one formula serves all: distance = base + a + step * b * (query . code).
 */
import { CENTRE, CENTRE_SQUARE, CODE, COSINE, EUCLIDEAN, allocate, codeBytes, similarity } from "./graph-memory";

/** The address of the inserted or searched row, f32 for each dimension, then zeros. */
export let row: usize = 0;
/** The row minus the centre. */
let centred: usize = 0;
/** The code of the query, i16. */
let query: usize = 0;
let base: f32 = 0;
let step: f32 = 0;
/** scale of a node = its b times this. */
let scaleOfB: f32 = 0;
/** The largest value of a query's code, so that no sum of products overflows. */
let queryMax: f32 = 0;

// The results of centre() for the row.
let largest: f32 = 0;
let squareSum: f32 = 0;
let centreSum: f32 = 0;

/** Returns false without enough memory. */
export function openCodes(): bool {
  scaleOfB = similarity == EUCLIDEAN ? -0.5 : -1;
  // Each of 16 sums adds two products of at most 127 * queryMax for every 32 dimensions.
  queryMax = f32(min<u32>(32_767, 0x7fff_ffff / (254 * (<u32>codeBytes >> 5))));
  row = allocate(codeBytes * 4);
  centred = allocate(codeBytes * 4);
  query = allocate(codeBytes * 2);
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
  const factor = f32x4.splat(codeFactor(queryMax));
  let to = query;
  for (let at = centred; at < centred + codeBytes * 4; at += 32, to += 16)
    v128.store(to, i16x8.narrow_i32x4_s(rounded(at, factor), rounded(at + 16, factor)));
  step = finite(largest / queryMax);
  base = similarity == EUCLIDEAN ? squareSum : -centreSum - load<f32>(CENTRE_SQUARE);
}

/** Writes code and factors of the prepared row. */
export function writeCode(address: usize): void {
  const factor = f32x4.splat(codeFactor(127));
  let to = address + CODE;
  for (let at = centred; at < centred + codeBytes * 4; at += 64, to += 16) {
    const low = i16x8.narrow_i32x4_s(rounded(at, factor), rounded(at + 16, factor));
    const high = i16x8.narrow_i32x4_s(rounded(at + 32, factor), rounded(at + 48, factor));
    v128.store(to, i8x16.narrow_i16x8_s(low, high));
  }
  const scale = finite(largest / 127);
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
  let one = i32x4.splat(0);
  let two = i32x4.splat(0);
  let three = i32x4.splat(0);
  let four = i32x4.splat(0);
  let code = address + CODE;
  const end = code + codeBytes;
  for (let at = query; code < end; code += 32, at += 64) {
    one = i32x4.add(one, i32x4.dot_i16x8_s(v128.load_ext<i8>(code), v128.load(at)));
    two = i32x4.add(two, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 8), v128.load(at, 16)));
    three = i32x4.add(three, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 16), v128.load(at, 32)));
    four = i32x4.add(four, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 24), v128.load(at, 48)));
  }
  return base + load<f32>(address) + step * load<f32>(address, 4) * total(one, two, three, four);
}

/** The distance from one node to another. */
export function distanceBetween(from: usize, to: usize): f32 {
  let one = i32x4.splat(0);
  let two = i32x4.splat(0);
  let three = i32x4.splat(0);
  let four = i32x4.splat(0);
  let code = from + CODE;
  const end = code + codeBytes;
  for (let at = to + CODE; code < end; code += 32, at += 32) {
    one = i32x4.add(one, i32x4.dot_i16x8_s(v128.load_ext<i8>(code), v128.load_ext<i8>(at)));
    two = i32x4.add(two, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 8), v128.load_ext<i8>(at, 8)));
    three = i32x4.add(three, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 16), v128.load_ext<i8>(at, 16)));
    four = i32x4.add(four, i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 24), v128.load_ext<i8>(at, 24)));
  }
  const own: f32 = similarity == EUCLIDEAN ? load<f32>(from) : load<f32>(from) - load<f32>(CENTRE_SQUARE);
  const ownStep = load<f32>(from, 4) * scaleOfB;
  return own + load<f32>(to) + ownStep * load<f32>(to, 4) * total(one, two, three, four);
}

/** Whether two nodes have the same factors and the same code. */
export function isTwin(one: usize, other: usize): bool {
  return load<u64>(one) == load<u64>(other) && memory.compare(one + CODE, other + CODE, codeBytes) == 0;
}

/** The sums of all lanes may together exceed 31 bits. */
@inline
function total(one: v128, two: v128, three: v128, four: v128): f32 {
  return sumOf(
    f32x4.add(
      f32x4.add(f32x4.convert_i32x4_s(one), f32x4.convert_i32x4_s(two)),
      f32x4.add(f32x4.convert_i32x4_s(three), f32x4.convert_i32x4_s(four)),
    ),
  );
}
