/**
 * XXH3-64 with seed 0 (xxHash 0.8, Yann Collet), for DIGEST and the
 * conditions IFDEQ and IFDNE. The value is fixed by its specification, so
 * clients may compute it themselves.
 *
 *     0 .. 16 bytes       one or two words mixed with parts of the secret
 *     17 .. 240           pairs of words from both ends, each pair one multiplication
 *     more                stripes of 64 bytes into eight 64-bit lanes, scrambled after every 16 stripes
 *
 * Long input takes the time, so there a 64-bit lane is two 32-bit halves without
 * bigints; the few multiplications of short input and of the end are bigints,
 * as in the specification.
 */
import { type Bytes, bufferFrom } from "../../../kernel/bytes.ts";

const SECRET = Buffer.from(
  "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" +
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb17" +
    "0ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e",
  "hex",
);

const PRIME32_1 = 0x9e37_79b1n;
const PRIME32_2 = 0x85eb_ca77n;
const PRIME32_3 = 0xc2b2_ae3dn;
const PRIME64_1 = 0x9e37_79b1_85eb_ca87n;
const PRIME64_2 = 0xc2b2_ae3d_27d4_eb4fn;
const PRIME64_3 = 0x1656_67b1_9e37_79f9n;
const PRIME64_4 = 0x85eb_ca77_c2b2_ae63n;
const PRIME64_5 = 0x27d4_eb2f_1656_67c5n;
const PRIME_MIX_1 = 0x1656_6791_9e37_79f9n;
const PRIME_MIX_2 = 0x9fb2_1c65_1e98_df25n;

const SHORT_LENGTH_MAX = 16;
const PAIRS_LENGTH_MAX = 128;
const MIDDLE_LENGTH_MAX = 240;

const STRIPE_BYTES = 64;
const LANE_COUNT = 8;
/** Each stripe advances by this much in the secret. */
const SECRET_STEP_BYTES = 8;
const STRIPES_PER_BLOCK = (SECRET.length - STRIPE_BYTES) / SECRET_STEP_BYTES;

/** The hash of the bytes as 16 lower-case hexadecimal digits. */
export function xxh3Hex(bytes: Bytes | Buffer): Bytes {
  return hash(typeof bytes === "string" ? bufferFrom(bytes) : bytes)
    .toString(16)
    .padStart(16, "0");
}

function hash(input: Buffer): bigint {
  if (input.length <= SHORT_LENGTH_MAX) return hashShort(input);
  if (input.length <= PAIRS_LENGTH_MAX) return hashPairs(input);
  if (input.length <= MIDDLE_LENGTH_MAX) return hashMiddle(input);
  return hashLong(input);
}

function hashShort(input: Buffer): bigint {
  const length = input.length;
  if (length > 8) {
    const low = word64(input, 0) ^ word64(SECRET, 24) ^ word64(SECRET, 32);
    const high = word64(input, length - 8) ^ word64(SECRET, 40) ^ word64(SECRET, 48);
    return avalanche(bits64(BigInt(length) + swapBytes(low) + high + foldedProduct(low, high)));
  }
  if (length >= 4) {
    const word = BigInt(input.readUInt32LE(length - 4)) + (BigInt(input.readUInt32LE(0)) << 32n);
    let mixed = word ^ word64(SECRET, 8) ^ word64(SECRET, 16);
    mixed = bits64((mixed ^ rotateLeft(mixed, 49n) ^ rotateLeft(mixed, 24n)) * PRIME_MIX_2);
    mixed = bits64((mixed ^ ((mixed >> 35n) + BigInt(length))) * PRIME_MIX_2);
    return mixed ^ (mixed >> 28n);
  }
  if (length > 0) {
    const [first, middle, last] = [input.readUInt8(0), input.readUInt8(length >> 1), input.readUInt8(length - 1)];
    const word = ((first << 16) | (middle << 24) | last | (length << 8)) >>> 0;
    return avalanche64(BigInt(word) ^ BigInt((SECRET.readUInt32LE(0) ^ SECRET.readUInt32LE(4)) >>> 0));
  }
  return avalanche64(word64(SECRET, 56) ^ word64(SECRET, 64));
}

/** 17 to 128 bytes: 16 bytes from the front and 16 from the end for every 32 bytes begun. */
function hashPairs(input: Buffer): bigint {
  const length = input.length;
  let sum = BigInt(length) * PRIME64_1;
  for (let i = (length - 1) >> 5; i >= 0; i -= 1) {
    sum += mix16(input, 16 * i, 32 * i);
    sum += mix16(input, length - 16 * (i + 1), 32 * i + 16);
  }
  return avalanche(bits64(sum));
}

/** 129 to 240 bytes: every 16 bytes, with the secret from its start again after the first eight. */
function hashMiddle(input: Buffer): bigint {
  const length = input.length;
  let sum = BigInt(length) * PRIME64_1;
  for (let i = 0; i < 8; i += 1) sum += mix16(input, 16 * i, 16 * i);
  sum = avalanche(bits64(sum));
  for (let i = 8; i < length >> 4; i += 1) sum += mix16(input, 16 * i, 16 * (i - 8) + 3);
  sum += mix16(input, length - 16, 136 - 17);
  return avalanche(bits64(sum));
}

function hashLong(input: Buffer): bigint {
  const view = new DataView(input.buffer, input.byteOffset, input.length);
  const lanes = new Lanes();
  // The last byte never completes a stripe of the loop: the last stripe is taken from the end, overlapping.
  const stripeCount = Math.floor((input.length - 1) / STRIPE_BYTES);
  for (let stripe = 0; stripe < stripeCount; stripe += 1) {
    const inBlock = stripe % STRIPES_PER_BLOCK;
    lanes.add(view, stripe * STRIPE_BYTES, inBlock * SECRET_STEP_BYTES);
    if (inBlock === STRIPES_PER_BLOCK - 1) lanes.scramble(SECRET.length - STRIPE_BYTES);
  }
  lanes.add(view, input.length - STRIPE_BYTES, SECRET.length - STRIPE_BYTES - 7);

  let sum = BigInt(input.length) * PRIME64_1;
  for (let i = 0; i < LANE_COUNT; i += 2)
    sum += foldedProduct(lanes.lane(i) ^ word64(SECRET, 11 + 8 * i), lanes.lane(i + 1) ^ word64(SECRET, 19 + 8 * i));
  return avalanche(bits64(sum));
}

const secretView = new DataView(SECRET.buffer, SECRET.byteOffset, SECRET.length);

/** Eight 64-bit sums, each in two halves. */
class Lanes {
  readonly #low = new Int32Array(LANE_COUNT);
  readonly #high = new Int32Array(LANE_COUNT);

  constructor() {
    const start = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
    for (const [i, word] of start.entries()) {
      this.#low[i] = Number(BigInt.asIntN(32, word));
      this.#high[i] = Number(BigInt.asIntN(32, word >> 32n));
    }
  }

  lane(i: number): bigint {
    return (BigInt((this.#high[i] as number) >>> 0) << 32n) | BigInt((this.#low[i] as number) >>> 0);
  }

  /** lane[i ^ 1] += word; lane[i] += low half * high half of (word ^ secret), for the eight words of a stripe. */
  add(input: DataView, at: number, secretAt: number): void {
    const low = this.#low;
    const high = this.#high;
    for (let i = 0; i < LANE_COUNT; i += 1) {
      const wordLow = input.getInt32(at + 8 * i, true);
      const wordHigh = input.getInt32(at + 8 * i + 4, true);

      const other = i ^ 1;
      const otherSum = ((low[other] as number) >>> 0) + (wordLow >>> 0);
      low[other] = otherSum | 0;
      high[other] = ((high[other] as number) + wordHigh + (otherSum > 0xffff_ffff ? 1 : 0)) | 0;

      const left = wordLow ^ secretView.getInt32(secretAt + 8 * i, true);
      const right = wordHigh ^ secretView.getInt32(secretAt + 8 * i + 4, true);
      const sum = ((low[i] as number) >>> 0) + (Math.imul(left, right) >>> 0);
      low[i] = sum | 0;
      high[i] = ((high[i] as number) + highProduct(left, right) + (sum > 0xffff_ffff ? 1 : 0)) | 0;
    }
  }

  /** lane = (lane ^ (lane >> 47) ^ secret) * PRIME32_1 */
  scramble(secretAt: number): void {
    const prime = Number(PRIME32_1);
    for (let i = 0; i < LANE_COUNT; i += 1) {
      const oldHigh = this.#high[i] as number;
      const low = (this.#low[i] as number) ^ (oldHigh >>> 15) ^ secretView.getInt32(secretAt + 8 * i, true);
      const high = oldHigh ^ secretView.getInt32(secretAt + 8 * i + 4, true);
      this.#low[i] = Math.imul(low, prime);
      this.#high[i] = (highProduct(low, prime) + Math.imul(high, prime)) | 0;
    }
  }
}

/** The upper 32 bits of the product of two unsigned 32-bit numbers. */
function highProduct(left: number, right: number): number {
  const leftLow = left & 0xffff;
  const leftHigh = left >>> 16;
  const rightLow = right & 0xffff;
  const rightHigh = right >>> 16;
  // Each partial product and each sum stays below 2^53.
  const middle = leftHigh * rightLow + ((leftLow * rightLow) >>> 16);
  const carry = (middle & 0xffff) + leftLow * rightHigh;
  return (leftHigh * rightHigh + Math.floor(middle / 0x1_0000) + Math.floor(carry / 0x1_0000)) | 0;
}

function mix16(input: Buffer, at: number, secretAt: number): bigint {
  return foldedProduct(
    word64(input, at) ^ word64(SECRET, secretAt),
    word64(input, at + 8) ^ word64(SECRET, secretAt + 8),
  );
}

/** Both halves of the 128-bit product, one over the other. */
function foldedProduct(left: bigint, right: bigint): bigint {
  const product = left * right;
  return bits64(product) ^ (product >> 64n);
}

/** The final mix of XXH3. */
function avalanche(word: bigint): bigint {
  const mixed = bits64((word ^ (word >> 37n)) * PRIME_MIX_1);
  return mixed ^ (mixed >> 32n);
}

/** The final mix of XXH64, which XXH3 uses for up to three bytes. */
function avalanche64(word: bigint): bigint {
  const once = bits64((word ^ (word >> 33n)) * PRIME64_2);
  const twice = bits64((once ^ (once >> 29n)) * PRIME64_3);
  return twice ^ (twice >> 32n);
}

function word64(buffer: Buffer, at: number): bigint {
  return buffer.readBigUInt64LE(at);
}

function bits64(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function rotateLeft(word: bigint, count: bigint): bigint {
  return bits64(word << count) | (word >> (64n - count));
}

function swapBytes(word: bigint): bigint {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64LE(word);
  return bytes.readBigUInt64BE();
}
