/** Every geo method of `@upstash/redis` against the real program. */
import assert from "node:assert/strict";
import type { Redis } from "@upstash/redis";
import { testMethods } from "./client.ts";

async function fill(redis: Redis): Promise<void> {
  await redis.geoadd(
    "sicily",
    { longitude: 13.361389, latitude: 38.115556, member: "Palermo" },
    { longitude: 15.087269, latitude: 37.502669, member: "Catania" },
  );
}

testMethods("Geo", [
  [
    ["geoadd"],
    "counts new members and knows its options",
    async (redis) => {
      await fill(redis);
      assert.equal(await redis.geoadd("sicily", { nx: true }, { longitude: 1, latitude: 1, member: "Palermo" }), 0);
      assert.equal(await redis.geoadd("sicily", { ch: true }, { longitude: 1, latitude: 1, member: "Palermo" }), 1);
      assert.equal(await redis.zscore("sicily", "Catania"), 3479447370796909);
    },
  ],
  [
    ["geodist"],
    "measures in every unit, in capitals too",
    async (redis) => {
      await fill(redis);
      assert.equal(await redis.geodist("sicily", "Palermo", "Catania"), 166274.1516);
      assert.equal(await redis.geodist("sicily", "Palermo", "Catania", "KM"), 166.2742);
      assert.equal(await redis.geodist("sicily", "Palermo", "none"), null);
    },
  ],
  [
    ["geohash", "geopos"],
    "tell where members are",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.geohash("sicily", "Palermo", "none"), ["sqc8b49rny0", null]);
      assert.deepEqual(await redis.geopos("sicily", "Palermo"), [{ lng: 13.361389338970184, lat: 38.1155563954963 }]);
    },
  ],
  [
    ["geosearch"],
    "finds members with their details",
    async (redis) => {
      await fill(redis);
      const found = await redis.geosearch(
        "sicily",
        { type: "FROMLONLAT", coordinate: { lon: 15, lat: 37 } },
        { type: "BYRADIUS", radius: 200, radiusType: "KM" },
        "ASC",
        { withDist: true, withHash: true },
      );
      assert.deepEqual(found, [
        { member: "Catania", dist: 56.4413, hash: "3479447370796909" },
        { member: "Palermo", dist: 190.4424, hash: "3479099956230698" },
      ]);
      const farthest = await redis.geosearch(
        "sicily",
        { type: "FROMMEMBER", member: "Palermo" },
        { type: "BYBOX", rect: { width: 400, height: 400 }, rectType: "KM" },
        "DESC",
        { count: { limit: 1 }, withCoord: true },
      );
      assert.deepEqual(farthest, [{ member: "Catania", coord: { long: 15.087267458438873, lat: 37.50266842333162 } }]);
    },
  ],
  [
    ["geosearchstore"],
    "stores what it finds, with exact scores",
    async (redis) => {
      await fill(redis);
      const from = { type: "FROMLONLAT", coordinate: { lon: 15, lat: 37 } } as const;
      const shape = { type: "BYBOX", rect: { width: 400, height: 400 }, rectType: "KM" } as const;
      assert.equal(await redis.geosearchstore("to", "sicily", from, shape, "ASC"), 2);
      assert.deepEqual(await redis.zrange("to", 0, -1, { withScores: true }), [
        "Palermo",
        3479099956230698,
        "Catania",
        3479447370796909,
      ]);
    },
  ],
]);
