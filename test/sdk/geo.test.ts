/** Every geo method of `@upstash/redis`. */
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
    "counts new members and supports its options",
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
    "return the positions of members",
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
    "stores its results, with exact scores",
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
  [
    ["geoadd"],
    "takes its options together, and members of any type",
    async (redis) => {
      const palermo = { longitude: 13.361389, latitude: 38.115556 };
      assert.equal(await redis.geoadd<unknown>("g", { ...palermo, member: { a: 1 } }, { ...palermo, member: 7 }), 2);
      assert.equal(await redis.geoadd("g", { xx: true }, { ...palermo, member: "new" }), 0);
      assert.equal(await redis.geoadd("g", { xx: true, ch: true }, { longitude: 1, latitude: 1, member: 7 }), 1);
      assert.equal(await redis.geoadd("g", { ch: true }, { longitude: 2, latitude: 1, member: 7 }), 1);
      assert.equal(await redis.geoadd("g", { nx: true }, { ...palermo, member: "new" }), 1);
      assert.deepEqual(await redis.geohash<unknown>("g", { a: 1 }, "new", 8), ["sqc8b49rny0", "sqc8b49rny0", null]);
      assert.equal(await redis.geodist<unknown>("g", { a: 1 }, "new", "FT"), "0.0000");
    },
  ],
  [
    ["geodist"],
    "supports four units",
    async (redis) => {
      await fill(redis);
      // The client keeps a number as text when it has more digits than a double would print.
      const distances: unknown[] = [];
      for (const unit of ["M", "KM", "FT", "MI"] as const)
        distances.push(await redis.geodist("sicily", "Palermo", "Catania", unit));
      assert.deepEqual(distances, [166274.1516, 166.2742, "545518.8700", 103.3182]);
    },
  ],
  [
    ["geopos", "geohash"],
    "skip missing members, or return null in their position",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.geopos("sicily", "none", "Catania"), [
        { lng: 15.087267458438873, lat: 37.50266842333162 },
      ]);
      assert.deepEqual(await redis.geohash("missing", "a"), [null]);
      assert.deepEqual(await redis.geopos("missing", "a"), []);
    },
  ],
  [
    ["geosearch"],
    "takes its words in either case, every unit, and its options together",
    async (redis) => {
      await fill(redis);
      for (const type of ["FROMLONLAT", "fromlonlat"] as const)
        for (const shape of ["BYRADIUS", "byradius"] as const)
          for (const [radiusType, radius] of [
            ["M", 100_000],
            ["KM", 100],
            ["FT", 328_084],
            ["MI", 62],
          ] as const)
            assert.deepEqual(
              await redis.geosearch(
                "sicily",
                { type, coordinate: { lon: 15, lat: 37 } },
                { type: shape, radius, radiusType },
                "ASC",
              ),
              [{ member: "Catania" }],
              `${type} ${shape} ${radiusType}`,
            );
      for (const type of ["FROMMEMBER", "frommember"] as const)
        for (const shape of ["BYBOX", "bybox"] as const)
          for (const [order, members] of [
            ["ASC", ["Palermo", "Catania"]],
            ["asc", ["Palermo", "Catania"]],
            ["DESC", ["Catania", "Palermo"]],
            ["desc", ["Catania", "Palermo"]],
          ] as const) {
            const box = { type: shape, rect: { width: 400, height: 400 }, rectType: "KM" } as const;
            const found = await redis.geosearch("sicily", { type, member: "Palermo" }, box, order);
            assert.deepEqual(
              found.map(({ member }) => member),
              members,
            );
          }
      const whole = await redis.geosearch(
        "sicily",
        { type: "FROMMEMBER", member: "Palermo" },
        { type: "BYRADIUS", radius: 1, radiusType: "M" },
        "ASC",
        { withCoord: true, withDist: true, withHash: true, count: { limit: 1, any: true } },
      );
      assert.deepEqual(whole, [
        {
          member: "Palermo",
          dist: 0,
          hash: "3479099956230698",
          coord: { long: 13.361389338970184, lat: 38.1155563954963 },
        },
      ]);
    },
  ],
  [
    ["geosearchstore"],
    "stores distances on request, and limits the number of members",
    async (redis) => {
      await fill(redis);
      const from = { type: "frommember", member: "Palermo" } as const;
      const shape = { type: "byradius", radius: 200, radiusType: "KM" } as const;
      assert.equal(await redis.geosearchstore("to", "sicily", from, shape, "asc", { storeDist: true }), 2);
      assert.deepEqual(await redis.zrange("to", 0, -1, { withScores: true }), [
        "Palermo",
        0,
        "Catania",
        166.27415156960032,
      ]);
      assert.equal(await redis.geosearchstore("to", "sicily", from, shape, "desc", { count: { limit: 1 } }), 1);
      assert.deepEqual(await redis.zrange("to", 0, -1), ["Catania"]);
      assert.equal(
        await redis.geosearchstore("to", "sicily", from, shape, "ASC", { count: { limit: 1, any: true } }),
        1,
      );
      assert.equal(await redis.geosearchstore("to", "missing", { ...from }, shape, "ASC"), 0);
      assert.equal(await redis.exists("to"), 0);
    },
  ],
]);
