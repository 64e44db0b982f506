/** Positions, units and distances as geo commands read and print them. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { invalidPosition, notFloat, unknownUnit } from "../errors.ts";
import type { Reply } from "../reply/reply.ts";
import { LATITUDE_MAX, LONGITUDE_MAX, type Position } from "../structures/geohash.ts";
import { parseFloat64 } from "../structures/numbers/number-text.ts";

/** Reads the two words from `index` on as a position. */
export function readPosition({ arg }: Call, index: number): Position {
  const longitude = parseFloat64(arg(index));
  if (longitude === undefined) throw notFloat;
  const latitude = parseFloat64(arg(index + 1));
  if (latitude === undefined) throw notFloat;
  if (Math.abs(longitude) > LONGITUDE_MAX || Math.abs(latitude) > LATITUDE_MAX)
    throw invalidPosition(fixedText(longitude), fixedText(latitude));
  return { longitude, latitude };
}

/** Metres per unit. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ["M", 1],
  ["KM", 1_000],
  ["FT", 0.3048],
  ["MI", 1_609.34],
]);

/** Reads the word at `index` as a unit, and returns its metres. */
export function readUnit({ word }: Call, index: number): number {
  const metres = UNITS.get(word(index));
  if (metres === undefined) throw unknownUnit;
  return metres;
}

/** As Redis prints distances: four digits after the point. */
export function distanceText(distance: number): Bytes {
  return distance.toFixed(4);
}

export function positionReply({ longitude, latitude }: Position): Reply {
  return [degreesReply(longitude), degreesReply(latitude)];
}

/** A double with up to seventeen digits after the point, without trailing zeros. */
function degreesReply(degrees: number): Reply {
  const text = degrees.toFixed(17).replace(/\.?0+$/, "");
  return { kind: "double", value: degrees, text: text === "-0" ? "0" : text };
}

/** As C's `%f`. */
function fixedText(value: number): Bytes {
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0.000000";
  return Math.abs(value) < 1e21 ? value.toFixed(6) : `${BigInt(value)}.000000`;
}
