/** Positions as scores, and the coverage of searches. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import {
  distanceBetween,
  distanceWithin,
  LATITUDE_MAX,
  type Position,
  polygonOf,
  positionOfScore,
  rangesAround,
  type Shape,
  scoreOfPosition,
  standardGeohash,
} from "./geohash.ts";

test("a position has the score that Redis computes", () => {
  for (const [longitude, latitude, score] of [
    [13.361389, 38.115556, 3479099956230698],
    [15.087269, 37.502669, 3479447370796909],
    [-122.27652, 37.805186, 1367952638197536],
    [0, 0, 3377699720527872],
    [-180, -85.05112878, 0],
  ] as const)
    assert.equal(scoreOfPosition({ longitude, latitude }), score);
});

test("a score gives a position less than a metre away", () => {
  const random = seededRandom(1);
  for (let i = 0; i < 10_000; i += 1) {
    const position = { longitude: random.unit() * 360 - 180, latitude: (random.unit() * 2 - 1) * LATITUDE_MAX };
    const score = scoreOfPosition(position);
    const found = positionOfScore(score);
    assert.equal(scoreOfPosition(found), score);
    assert.ok(distanceBetween(position, found) < 1);
  }
});

test("a standard geohash has eleven letters, the last of them 0", () => {
  assert.equal(standardGeohash({ longitude: -5.6, latitude: 42.6 }), "ezs42e44yx0");
});

test("the ranges around a shape contain every position inside it", () => {
  const random = seededRandom(2);
  for (let round = 0; round < 300; round += 1) {
    const latitude = (random.unit() * 2 - 1) * 60;
    const center: Position = { longitude: (random.unit() * 2 - 1) * 100, latitude };
    const size = 10 ** (1 + random.unit() * 4.5);
    const shape: Shape =
      round % 2 === 0
        ? { kind: "circle", center, radius: size }
        : { kind: "box", center, width: size * 2, height: size };
    const ranges = rangesAround(shape);
    assert.ok(ranges.length <= 9);
    // Degrees that the shape can reach at these latitudes, and some more.
    const span = Math.min(30, size / 30_000);
    for (let i = 0; i < 100; i += 1) {
      const score = scoreOfPosition({
        longitude: center.longitude + (random.unit() * 2 - 1) * span,
        latitude: center.latitude + (random.unit() * 2 - 1) * Math.min(span, 20),
      });
      if (distanceWithin(shape, positionOfScore(score)) === undefined) continue;
      assert.ok(
        ranges.some(({ min, max }) => score >= min && score < max),
        `round ${round}: ${score} is inside, and in no range`,
      );
    }
  }
});

test("the ranges around a polygon of any size contain every position inside it", () => {
  const random = seededRandom(3);
  let insideCount = 0;
  for (let round = 0; round < 300; round += 1) {
    const size = 10 ** (random.unit() * 5 - 3);
    const middle = { longitude: (random.unit() * 2 - 1) * 180, latitude: (random.unit() * 2 - 1) * LATITUDE_MAX };
    const near = (): Position => ({
      longitude: Math.max(-180, Math.min(180, middle.longitude + (random.unit() * 2 - 1) * size)),
      latitude: Math.max(-LATITUDE_MAX, Math.min(LATITUDE_MAX, middle.latitude + (random.unit() * 2 - 1) * size)),
    });
    const polygon = polygonOf(Array.from({ length: 3 + random.below(6) }, near));
    const ranges = rangesAround(polygon);
    assert.ok(ranges.length <= 9);
    for (let i = 0; i < 100; i += 1) {
      const score = scoreOfPosition(near());
      if (distanceWithin(polygon, positionOfScore(score)) === undefined) continue;
      insideCount += 1;
      assert.ok(
        ranges.some(({ min, max }) => score >= min && score < max),
        `round ${round}: ${score} is inside, and in no range`,
      );
    }
  }
  assert.ok(insideCount > 3_000, `${insideCount} positions were inside`);
});
