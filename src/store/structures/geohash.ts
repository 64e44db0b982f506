/**
 * Positions on earth as numbers of 52 bits, as Redis stores them in sorted sets.
 *
 * A position is two indexes of 26 bits, of its latitude and its longitude among
 * equal steps between the bounds below; the bits of the two alternate, starting
 * from the right with the latitude. With fewer steps the same number is a cell
 * of a coarser grid, and all positions in it are one range of scores.
 *
 * Every operation on doubles is the same as in Redis, in the same order, so that
 * scores and positions are equal to the last bit. Distances use sine and arc
 * sine, whose last bit depends on the mathematical library.
 */
import type { Bytes } from "../../kernel/bytes.ts";

export interface Position {
  readonly longitude: number;
  readonly latitude: number;
}

/** Degrees; the latitude is that of a square map in Mercator's projection. */
export const LONGITUDE_MAX = 180;
export const LATITUDE_MAX = 85.05112878;

const EARTH_RADIUS_M = 6_372_797.560856;
/** Half the length of the equator on the map. */
const MERCATOR_MAX_M = 20_037_726.37;
const RADIANS_PER_DEGREE = Math.PI / 180;
const STEPS_MAX = 26;
/** The bounds of the grid of standard geohashes. */
const STANDARD_LATITUDE_MAX = 90;
const LETTERS = "0123456789bcdefghjkmnpqrstuvwxyz";
const TWO_32 = 2 ** 32;

/** A cell of the grid of 2^steps by 2^steps. */
interface Cell {
  readonly row: number;
  readonly column: number;
  readonly steps: number;
}

export interface Box {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** The searched shape: a circle, a box with these sides, or the area between these corners. Lengths are in metres. */
export type Shape =
  | { readonly kind: "circle"; readonly center: Position; readonly radius: number }
  | { readonly kind: "box"; readonly center: Position; readonly width: number; readonly height: number }
  | Polygon;

export interface Polygon {
  readonly kind: "polygon";
  /** The direction of the sum of the corners, seen from the middle of the earth. */
  readonly center: Position;
  readonly corners: readonly Position[];
  readonly bounds: Box;
}

/** Scores from `min` up to, but not including, `max`. */
export interface ScoreRange {
  readonly min: number;
  readonly max: number;
}

/** The score of a position. */
export function scoreOfPosition(position: Position): number {
  return scoreOfCell(cellOf(position, STEPS_MAX));
}

/** The middle of the cell of a score. Any double is converted as in C. */
export function positionOfScore(score: number): Position {
  const { high, low } = wordsOf(score);
  const cell = {
    row: evenBits(low) + evenBits(high) * 0x1_0000,
    column: evenBits(low >>> 1) + evenBits(high >>> 1) * 0x1_0000,
    steps: STEPS_MAX,
  };
  const box = boxOf(cell);
  return {
    longitude: clamp((box.west + box.east) / 2, LONGITUDE_MAX),
    latitude: clamp((box.south + box.north) / 2, LATITUDE_MAX),
  };
}

/** The eleven letters of the standard geohash of the position; in Redis the last one is 0. */
export function standardGeohash(position: Position): Bytes {
  const row = indexOf(position.latitude, STANDARD_LATITUDE_MAX, STEPS_MAX);
  const column = indexOf(position.longitude, LONGITUDE_MAX, STEPS_MAX);
  const bits = BigInt(interleaved(row, column));
  let text = "";
  for (let shift = 47n; shift >= 2n; shift -= 5n) text += LETTERS[Number((bits >> shift) & 31n)];
  return `${text}0`;
}

/** Metres between two positions, along the surface. */
export function distanceBetween(one: Position, other: Position): number {
  const oneLongitude = one.longitude * RADIANS_PER_DEGREE;
  const otherLongitude = other.longitude * RADIANS_PER_DEGREE;
  const v = Math.sin((otherLongitude - oneLongitude) / 2);
  const oneLatitude = one.latitude * RADIANS_PER_DEGREE;
  const otherLatitude = other.latitude * RADIANS_PER_DEGREE;
  if (v === 0) return EARTH_RADIUS_M * Math.abs(otherLatitude - oneLatitude);
  const u = Math.sin((otherLatitude - oneLatitude) / 2);
  const a = u * u + Math.cos(oneLatitude) * Math.cos(otherLatitude) * v * v;
  return 2 * EARTH_RADIUS_M * Math.asin(Math.sqrt(a));
}

/** A polygon on the map of longitudes and latitudes: as in Valkey, no edge crosses the meridian of 180 degrees. */
export function polygonOf(corners: readonly Position[]): Polygon {
  let [x, y, z] = [0, 0, 0];
  let [west, east] = [LONGITUDE_MAX, -LONGITUDE_MAX];
  let [south, north] = [LATITUDE_MAX, -LATITUDE_MAX];
  for (const { longitude, latitude } of corners) {
    west = Math.min(west, longitude);
    east = Math.max(east, longitude);
    south = Math.min(south, latitude);
    north = Math.max(north, latitude);
    const longitudeRadians = longitude * RADIANS_PER_DEGREE;
    const latitudeRadians = latitude * RADIANS_PER_DEGREE;
    x += Math.cos(latitudeRadians) * Math.cos(longitudeRadians);
    y += Math.cos(latitudeRadians) * Math.sin(longitudeRadians);
    z += Math.sin(latitudeRadians);
  }
  const center = {
    longitude: Math.atan2(y, x) / RADIANS_PER_DEGREE,
    // Corners around a pole have a centre beyond the map.
    latitude: clamp(Math.atan2(z, Math.sqrt(x * x + y * y)) / RADIANS_PER_DEGREE, LATITUDE_MAX),
  };
  return { kind: "polygon", center, corners, bounds: { west, south, east, north } };
}

/** Counts the edges that a ray to the east crosses. A position on an edge may be on either side. */
function isInPolygon({ corners, bounds }: Polygon, { longitude, latitude }: Position): boolean {
  if (longitude < bounds.west || longitude > bounds.east || latitude < bounds.south || latitude > bounds.north)
    return false;
  let isInside = false;
  let other = corners.at(-1) as Position;
  for (const corner of corners) {
    if (
      corner.latitude > latitude !== other.latitude > latitude &&
      longitude <
        ((other.longitude - corner.longitude) * (latitude - corner.latitude)) / (other.latitude - corner.latitude) +
          corner.longitude
    )
      isInside = !isInside;
    other = corner;
  }
  return isInside;
}

/** Metres from the centre of a shape to a position inside it, or undefined outside. */
export function distanceWithin(shape: Shape, position: Position): number | undefined {
  const { center } = shape;
  if (shape.kind === "polygon") return isInPolygon(shape, position) ? distanceBetween(center, position) : undefined;
  if (shape.kind === "circle") {
    const distance = distanceBetween(center, position);
    return distance > shape.radius ? undefined : distance;
  }
  const across = distanceBetween(position, { longitude: center.longitude, latitude: position.latitude });
  const along = distanceBetween(position, { longitude: position.longitude, latitude: center.latitude });
  if (across > shape.width / 2 || along > shape.height / 2) return undefined;
  return distanceBetween(center, position);
}

/** The ranges of scores that contain all positions of a shape, in the order in which Redis searches them. */
export function rangesAround(shape: Shape): readonly ScoreRange[] {
  const bounds = boundsOf(shape);
  let center = cellOf(shape.center, stepsFor(shape));
  if (center.steps > 1 && isTooFine(center, bounds)) center = cellOf(shape.center, center.steps - 1);
  // The centre of a polygon may be far from the middle of its bounds.
  while (shape.kind === "polygon" && center.steps > 1 && isTooFine(center, bounds))
    center = cellOf(shape.center, center.steps - 1);

  const box = boxOf(center);
  const mayPrune = center.steps >= 2;
  const skips = (rows: number, columns: number): boolean =>
    mayPrune &&
    ((rows < 0 && box.south < bounds.south) ||
      (rows > 0 && box.north > bounds.north) ||
      (columns < 0 && box.west < bounds.west) ||
      (columns > 0 && box.east > bounds.east));

  const ranges: ScoreRange[] = [];
  for (const [rows, columns] of NEIGHBOURS) {
    if (skips(rows, columns)) continue;
    const range = rangeOfCell(neighbour(center, rows, columns));
    // On the coarsest grid the neighbours on both sides are the same cell.
    if (ranges.length > 1 && ranges.at(-1)?.min === range.min) continue;
    ranges.push(range);
  }
  return ranges;
}

/** Steps north and east: the cell itself, N, S, E, W, NE, NW, SE, SW. */
const NEIGHBOURS: readonly (readonly [rows: number, columns: number])[] = [
  [0, 0],
  [1, 0],
  [-1, 0],
  [0, 1],
  [0, -1],
  [1, 1],
  [1, -1],
  [-1, 1],
  [-1, -1],
];

/** True if the cells around one do not cover the shape. */
function isTooFine(center: Cell, bounds: Box): boolean {
  return (
    boxOf(neighbour(center, 1, 0)).north < bounds.north ||
    boxOf(neighbour(center, -1, 0)).south > bounds.south ||
    boxOf(neighbour(center, 0, 1)).east < bounds.east ||
    boxOf(neighbour(center, 0, -1)).west > bounds.west
  );
}

function boundsOf(shape: Shape): Box {
  if (shape.kind === "polygon") return shape.bounds;
  const { longitude, latitude } = shape.center;
  const height = shape.kind === "circle" ? shape.radius : shape.height / 2;
  const width = shape.kind === "circle" ? shape.radius : shape.width / 2;
  const latitudeSpan = height / EARTH_RADIUS_M / RADIANS_PER_DEGREE;
  // A degree of longitude is shortest at the edge nearer to a pole.
  const edge = latitude < 0 ? latitude - latitudeSpan : latitude + latitudeSpan;
  const longitudeSpan = width / EARTH_RADIUS_M / Math.cos(edge * RADIANS_PER_DEGREE) / RADIANS_PER_DEGREE;
  return {
    west: longitude - longitudeSpan,
    east: longitude + longitudeSpan,
    south: latitude - latitudeSpan,
    north: latitude + latitudeSpan,
  };
}

/** The finest grid of which nine cells should cover a shape. */
function stepsFor(shape: Shape): number {
  const { latitude } = shape.center;
  let radius = radiusOf(shape);
  if (radius === 0) return STEPS_MAX;
  let steps = -1;
  for (; radius < MERCATOR_MAX_M; radius *= 2) steps += 1;
  if (Math.abs(latitude) > 66) steps -= 1;
  if (Math.abs(latitude) > 80) steps -= 1;
  return Math.max(1, Math.min(STEPS_MAX, steps));
}

/** Metres from the centre to the farthest place of the shape, or of its bounds. */
function radiusOf(shape: Shape): number {
  switch (shape.kind) {
    case "circle":
      return shape.radius;
    case "box":
      return Math.sqrt((shape.width / 2) * (shape.width / 2) + (shape.height / 2) * (shape.height / 2));
    case "polygon": {
      const { west, south, east, north } = shape.bounds;
      const ends = [west, east].flatMap((longitude) => [south, north].map((latitude) => ({ longitude, latitude })));
      return Math.max(...ends.map((end) => distanceBetween(shape.center, end)));
    }
    default: {
      const never: never = shape;
      return never;
    }
  }
}

function cellOf({ longitude, latitude }: Position, steps: number): Cell {
  return { row: indexOf(latitude, LATITUDE_MAX, steps), column: indexOf(longitude, LONGITUDE_MAX, steps), steps };
}

function indexOf(degrees: number, max: number, steps: number): number {
  return Math.floor(((degrees + max) / (2 * max)) * 2 ** steps);
}

function boxOf({ row, column, steps }: Cell): Box {
  const count = 2 ** steps;
  return {
    south: -LATITUDE_MAX + (row / count) * (2 * LATITUDE_MAX),
    north: -LATITUDE_MAX + ((row + 1) / count) * (2 * LATITUDE_MAX),
    west: -LONGITUDE_MAX + (column / count) * (2 * LONGITUDE_MAX),
    east: -LONGITUDE_MAX + ((column + 1) / count) * (2 * LONGITUDE_MAX),
  };
}

/**
 * The cell at an offset in rows and columns, with wraparound at the edges. A position at the very end of the map is one
 * row or column beyond the last, and as in Redis it stays there if it does not move that way.
 */
function neighbour({ row, column, steps }: Cell, rows: number, columns: number): Cell {
  const count = 2 ** steps;
  return {
    row: rows === 0 ? row : (row + rows + count) % count,
    column: columns === 0 ? column : (column + columns + count) % count,
    steps,
  };
}

function rangeOfCell(cell: Cell): ScoreRange {
  const min = scoreOfCell(cell);
  return { min, max: min + 2 ** (2 * (STEPS_MAX - cell.steps)) };
}

function scoreOfCell({ row, column, steps }: Cell): number {
  return interleaved(row, column) * 2 ** (2 * (STEPS_MAX - steps));
}

/** The alternating bits of both numbers, starting from the right with `row`. */
function interleaved(row: number, column: number): number {
  const low = spread(row & 0xffff) + 2 * spread(column & 0xffff);
  const high = spread(row >>> 16) + 2 * spread(column >>> 16);
  return high * TWO_32 + low;
}

/** Sixteen bits with a zero above each of them. */
function spread(bits: number): number {
  let wide = bits;
  wide = (wide | (wide << 8)) & 0x00ff_00ff;
  wide = (wide | (wide << 4)) & 0x0f0f_0f0f;
  wide = (wide | (wide << 2)) & 0x3333_3333;
  return (wide | (wide << 1)) & 0x5555_5555;
}

/** The sixteen bits that `spread` spread. */
function evenBits(word: number): number {
  let bits = word & 0x5555_5555;
  bits = (bits | (bits >>> 1)) & 0x3333_3333;
  bits = (bits | (bits >>> 2)) & 0x0f0f_0f0f;
  bits = (bits | (bits >>> 4)) & 0x00ff_00ff;
  return (bits | (bits >>> 8)) & 0xffff;
}

/** A double as an unsigned integer of 64 bits. */
function wordsOf(score: number): { high: number; low: number } {
  if (score >= 0 && score <= Number.MAX_SAFE_INTEGER) {
    const whole = Math.floor(score);
    return { high: Math.floor(whole / TWO_32), low: whole >>> 0 };
  }
  const bits = Number.isFinite(score) ? BigInt.asUintN(64, BigInt(Math.trunc(score))) : 2n ** 63n;
  return { high: Number(bits >> 32n), low: Number(bits & 0xffff_ffffn) };
}

function clamp(degrees: number, max: number): number {
  return Math.max(-max, Math.min(max, degrees));
}
