/**
 * The plane in which vectors differ most: their first two principal axes, by power iteration. The covariance is never built:
 * a round multiplies with the vectors and back, so its time and memory are those of the vectors.
 */

export interface Plane {
  /** The coordinates of each vector, in their order. */
  readonly points: readonly (readonly [x: number, y: number])[];
  /** The share of the variance that each axis has, from 0 to 1. */
  readonly shares: readonly [number, number];
}

const ROUNDS_MAX = 60;
/** Rounds end when the axis turns by less. */
const TURN_MIN = 1e-9;
/** Rounds between two pauses. */
const BATCH_ROUNDS = 4;
/** Shares of the variance up to here are rounding errors. */
const ROUNDING = 1e-14;

/** All vectors have the same dimension. `pause` is awaited between rounds, so that the page stays usable. */
export async function planeOf(vectors: readonly (readonly number[])[], pause: () => Promise<void>): Promise<Plane> {
  const rows = centred(vectors);
  const variance = rows.reduce((sum, row) => sum + product(row, row), 0);
  const first = await nextAxis(rows, { variance, pause });
  const second = await nextAxis(rows, { variance, pause, other: first });
  const xs = rows.map((row) => product(row, first));
  const ys = rows.map((row) => product(row, second));
  const shareOf = (values: readonly number[]): number => (variance === 0 ? 0 : product(values, values) / variance);
  return { points: xs.map((x, index) => [x, ys[index] ?? 0]), shares: [shareOf(xs), shareOf(ys)] };
}

/** The vectors without their mean. */
function centred(vectors: readonly (readonly number[])[]): readonly Float64Array[] {
  const mean = new Float64Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) addScaled(mean, vector, 1 / vectors.length);
  return vectors.map((vector) => {
    const row = Float64Array.from(vector);
    addScaled(row, mean, -1);
    return row;
  });
}

interface AxisOptions {
  readonly variance: number;
  readonly pause: () => Promise<void>;
  /** The axis is at a right angle to it. */
  readonly other?: Float64Array;
}

/** The axis of the largest variance; zeros if all rows are the same. */
async function nextAxis(rows: readonly Float64Array[], { variance, pause, other }: AxisOptions): Promise<Float64Array> {
  let axis = startAxis(rows[0]?.length ?? 0);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (round % BATCH_ROUNDS === 0) await pause();
    const next = new Float64Array(axis.length);
    for (const row of rows) addScaled(next, row, product(row, axis));
    if (other !== undefined) addScaled(next, other, -product(next, other));
    const length = Math.sqrt(product(next, next));
    // Of rounding errors only.
    if (length <= variance * ROUNDING) return new Float64Array(axis.length);
    const unit = next.map((value) => value / length);
    const turn = 1 - product(unit, axis);
    axis = unit;
    if (turn < TURN_MIN) break;
  }
  return axis;
}

/** Has a part along every axis that data can have, and is always the same: multiples of the golden ratio, without their whole part. */
function startAxis(dimension: number): Float64Array {
  const axis = Float64Array.from({ length: dimension }, (_, at) => ((at + 1) * 0.618_033_988_749_895) % 1);
  const length = Math.sqrt(product(axis, axis));
  return axis.map((value) => value / length);
}

function product(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let sum = 0;
  for (let at = 0; at < left.length; at += 1) sum += (left[at] ?? 0) * (right[at] ?? 0);
  return sum;
}

function addScaled(target: Float64Array, vector: ArrayLike<number>, factor: number): void {
  for (let at = 0; at < target.length; at += 1) target[at] = (target[at] ?? 0) + (vector[at] ?? 0) * factor;
}
