/**
 * The vectors of a measurement: generated from a seed, or read from a file. A generated
 * set is as hard as embeddings are: a vector is a mixture of LATENT directions,
 * in which centres have a deviation of 1 and the vectors about them one of
 * NOISE, so that clusters touch and a walk has to find its way between them.
 * (Independent noise in every dimension would be easy: with 384 dimensions all of
 * a cluster is nearer than anything else, so finding one finds all.) Queries
 * are drawn like rows and are not among them.
 *
 * Processes share a set as two files of float32: `rows` and `queries`.
 */
import { closeSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import type { Similarity } from "../../src/vector/index/definition.ts";

/** The path and properties of a set; sent to other processes. */
export interface DataSet {
  readonly name: string;
  readonly folder: string;
  readonly similarity: Similarity;
  readonly dimension: number;
  readonly rowCount: number;
  readonly queryCount: number;
}

export interface Recipe {
  readonly rowCount: number;
  readonly dimension: number;
  readonly clusterCount: number;
  readonly queryCount: number;
  /** Every value is independent noise instead: there are no clusters, and no graph finds much. */
  readonly isNoise?: true;
  /** Directions in which vectors differ, instead of LATENT. */
  readonly innerDimension?: number;
}

/** Directions in which vectors of a generated set differ, the deviation about a centre, and the noise of a value. */
const LATENT = 64;
const NOISE = 1;
const GRAIN = 0.3;
const SEED = 7;
const CHUNK_ROWS = 4_096;
const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** Fills an array with vectors, one after the other; each call goes on where the last one ended. */
export type Draw = (target: Float32Array) => void;

/** What a generated set has, from the seed. */
export function drawOf({ dimension, clusterCount, isNoise, innerDimension = LATENT }: Recipe): Draw {
  const gaussian = gaussianOf(seededRandom(SEED));
  const random = seededRandom(SEED + 1);
  const centres = Float32Array.from({ length: clusterCount * innerDimension }, gaussian);
  const directions = Float32Array.from(
    { length: dimension * innerDimension },
    () => gaussian() / Math.sqrt(innerDimension),
  );
  const place = new Float32Array(innerDimension);
  return (target) => {
    if (isNoise === true) {
      for (let at = 0; at < target.length; at += 1) target[at] = gaussian();
      return;
    }
    for (let at = 0; at < target.length; at += dimension) {
      const centre = random.below(clusterCount) * innerDimension;
      for (let i = 0; i < innerDimension; i += 1) place[i] = (centres[centre + i] as number) + NOISE * gaussian();
      for (let i = 0; i < dimension; i += 1) {
        let value = GRAIN * (random.unit() - 0.5);
        for (let j = 0; j < innerDimension; j += 1)
          value += (directions[i * innerDimension + j] as number) * (place[j] as number);
        target[at + i] = value;
      }
    }
  };
}

/** Generates a set in this folder, which must exist. */
export function makeSet(folder: string, recipe: Recipe): DataSet {
  const { rowCount, dimension, queryCount, isNoise, innerDimension = LATENT } = recipe;
  const draw = drawOf(recipe);
  const queries = new Float32Array(queryCount * dimension);
  draw(queries);
  writeFileSync(join(folder, "queries"), bytesOf(queries));
  const file = openSync(join(folder, "rows"), "w");
  for (let row = 0; row < rowCount; row += CHUNK_ROWS) {
    const chunk = new Float32Array(Math.min(CHUNK_ROWS, rowCount - row) * dimension);
    draw(chunk);
    writeSync(file, bytesOf(chunk));
  }
  closeSync(file);
  const inner = innerDimension === LATENT ? "" : `, ${innerDimension} directions`;
  const name = `${rowCount} x ${dimension}${isNoise === true ? ", noise" : inner}`;
  return { name, folder, similarity: "COSINE", dimension, rowCount, queryCount };
}

/** The vectors of an .fvecs or idx file as a set in this folder; the last ones are the queries. */
export function readSet(folder: string, path: string, queryCount: number): DataSet {
  const packed = readFileSync(path);
  const bytes = packed[0] === 0x1f && packed[1] === 0x8b ? gunzipSync(packed) : packed;
  const { values, dimension } = bytes.readUInt16BE(0) === 0 ? readIdx(bytes) : readFvecs(bytes);
  const count = values.length / dimension;
  if (count <= queryCount) throw new Error(`${path} has only ${count} vectors`);
  const rowCount = count - queryCount;
  writeFileSync(join(folder, "rows"), bytesOf(values.subarray(0, rowCount * dimension)));
  writeFileSync(join(folder, "queries"), bytesOf(values.subarray(rowCount * dimension)));
  return {
    name: `${rowCount} x ${dimension} of a file`,
    folder,
    similarity: "COSINE",
    dimension,
    rowCount,
    queryCount,
  };
}

export function readQueries({ folder, dimension, queryCount }: DataSet): readonly Float32Array[] {
  const all = floatsOf(readFileSync(join(folder, "queries")));
  return Array.from({ length: queryCount }, (_, i) => all.slice(i * dimension, (i + 1) * dimension));
}

export function readRows(set: DataSet): Float32Array {
  const all = new Float32Array(set.rowCount * set.dimension);
  for (const { first, rows } of chunksOf(set, CHUNK_ROWS)) all.set(rows, first * set.dimension);
  return all;
}

/** The rows, `count` of them at a time, in an array that the next chunk overwrites. */
export function* chunksOf(
  set: DataSet,
  count: number,
): Generator<{ readonly first: number; readonly rows: Float32Array }> {
  const { folder, dimension, rowCount } = set;
  const buffer = new Float32Array(count * dimension);
  const file = openSync(join(folder, "rows"), "r");
  try {
    for (let first = 0; first < rowCount; first += count) {
      const rows = buffer.subarray(0, Math.min(count, rowCount - first) * dimension);
      readSync(file, bytesOf(rows), 0, rows.byteLength, first * dimension * FLOAT_BYTES);
      yield { first, rows };
    }
  } finally {
    closeSync(file);
  }
}

/** Each vector is its dimension as int32 and then float32 values, all with the low byte first. */
function readFvecs(bytes: Buffer): { values: Float32Array; dimension: number } {
  const dimension = bytes.readInt32LE(0);
  const stride = (1 + dimension) * FLOAT_BYTES;
  if (dimension < 1 || bytes.length % stride !== 0) throw new Error("this is neither an .fvecs nor an idx file");
  const values = new Float32Array((bytes.length / stride) * dimension);
  for (let row = 0; row * stride < bytes.length; row += 1) {
    for (let i = 0; i < dimension; i += 1)
      values[row * dimension + i] = bytes.readFloatLE(row * stride + (1 + i) * FLOAT_BYTES);
  }
  return { values, dimension };
}

/** Two zero bytes, the kind of the values, the count of sizes, the sizes as uint32 with the high byte first, the values. */
function readIdx(bytes: Buffer): { values: Float32Array; dimension: number } {
  const [, , kind, sizeCount = 0] = bytes;
  const sizes = Array.from({ length: sizeCount }, (_, i) => bytes.readUInt32BE(4 + 4 * i));
  const [count = 0, ...inner] = sizes;
  const dimension = inner.reduce((product, size) => product * size, 1);
  const start = 4 + 4 * sizeCount;
  if (kind === 0x08) return { values: Float32Array.from(bytes.subarray(start, start + count * dimension)), dimension };
  if (kind !== 0x0d) throw new Error(`an idx file of kind ${kind}: only unsigned bytes and float32 are read`);
  const values = Float32Array.from({ length: count * dimension }, (_, i) => bytes.readFloatBE(start + i * FLOAT_BYTES));
  return { values, dimension };
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function floatsOf(bytes: Buffer): Float32Array {
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** Normally distributed, deviation 1 (Box and Muller). */
function gaussianOf(random: Random): () => number {
  let spare: number | undefined;
  return () => {
    if (spare !== undefined) {
      const value = spare;
      spare = undefined;
      return value;
    }
    const length = Math.sqrt(-2 * Math.log(1 - random.unit()));
    const angle = 2 * Math.PI * random.unit();
    spare = length * Math.sin(angle);
    return length * Math.cos(angle);
  };
}
