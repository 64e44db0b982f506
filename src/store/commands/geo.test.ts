/** The geo commands: input and literal reply. Redis 7.0.15 gives the same replies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, nilArray, ok, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { double, type Reply } from "../reply/reply.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notFloat = error("ERR value is not a valid float");
const unknownUnit = error("ERR unsupported unit provided. please use M, KM, FT, MI");
const notDecodable = error("ERR could not decode requested zset member");
const syntax = error("ERR syntax error");

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

/** Two towns of Sicily at `sicily`, and a string at `s`. */
function sessionWithSicily(): Session {
  const session = startSession();
  session.run("GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania");
  session.run("SET s text");
  return session;
}

test("GEOADD stores positions as exact scores of 52 bits", () => {
  sessionWithSicily().expect([
    ["ZSCORE sicily Palermo", double(3479099956230698)],
    ["ZSCORE sicily Catania", double(3479447370796909)],
    ["GEOADD sicily NX 1 1 Palermo 2 2 new", 1],
    ["GEOADD sicily XX CH 3 3 new 4 4 other", 1],
    ["GEOADD sicily CH 3 3 new", 0],
    ["GEOADD sicily 180 85.05112878 corner", 1],
    ["ZSCORE sicily corner", double(13510798882111488)],
    ["GEOADD sicily 180.1 1 m", error("ERR invalid longitude,latitude pair 180.100000,1.000000")],
    ["GEOADD sicily -0 86 m", error("ERR invalid longitude,latitude pair -0.000000,86.000000")],
    ["GEOADD sicily x 1 m", notFloat],
    ["GEOADD sicily 1 1 m 2 2", syntax],
    ["GEOADD sicily NX XX 1 1 m", syntax],
    ["GEOADD sicily CH CH CH", syntax],
    ["GEOADD s 1 1 m", wrongType],
    ["GEOADD sicily 1 1", arity("geoadd")],
  ]);
});

test("GEODIST measures in any unit, in any letter case", () => {
  sessionWithSicily().expect([
    ["GEODIST sicily Palermo Catania", "166274.1516"],
    ["GEODIST sicily Palermo Catania KM", "166.2742"],
    ["GEODIST sicily Palermo Catania mi", "103.3182"],
    ["GEODIST sicily Palermo Catania Ft", "545518.8700"],
    ["GEODIST sicily Palermo Palermo", "0.0000"],
    ["GEODIST sicily Palermo none", nil],
    ["GEODIST none Palermo Catania", nil],
    ["GEODIST sicily Palermo Catania x", unknownUnit],
    ["GEODIST sicily Palermo Catania m m", syntax],
    ["GEODIST s a b", wrongType],
    ["GEODIST sicily Palermo", arity("geodist")],
  ]);
});

test("GEOHASH and GEOPOS return the positions of members", () => {
  sessionWithSicily().expect([
    ["GEOHASH sicily Palermo Catania none", ["sqc8b49rny0", "sqdtr74hyu0", nil]],
    ["GEOHASH sicily", []],
    ["GEOHASH none a", [nil]],
    ["GEOHASH s a", wrongType],
    ["GEOHASH", arity("geohash")],
    [
      "GEOPOS sicily Palermo none Catania",
      [["13.36138933897018433", "38.11555639549629859"], nilArray, ["15.08726745843887329", "37.50266842333162032"]],
    ],
    ["GEOPOS none a", [nilArray]],
    ["GEOPOS s a", wrongType],
    ["GEOPOS", arity("geopos")],
  ]);
});

test("GEOSEARCH finds members in a circle or a box, with details", () => {
  sessionWithSicily().expect([
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 200 km ASC", ["Catania", "Palermo"]],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 200 km DESC COUNT 1", ["Palermo"]],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYBOX 400 400 KM ASC COUNT 1", ["Catania"]],
    ["GEOSEARCH sicily FROMMEMBER Palermo BYRADIUS 100 km", ["Palermo"]],
    [
      "GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHCOORD WITHDIST WITHHASH",
      [
        ["Catania", "56.4413", 3479447370796909, ["15.08726745843887329", "37.50266842333162032"]],
        ["Palermo", "190.4424", 3479099956230698, ["13.36138933897018433", "38.11555639549629859"]],
      ],
    ],
    ["GEOSEARCH sicily FROMLONLAT 0 0 BYRADIUS 1 m", []],
    ["GEOSEARCH none FROMMEMBER a BYRADIUS 1 m", []],
    ["GEOSEARCH sicily FROMMEMBER a BYRADIUS 1 m", notDecodable],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS -1 m", error("ERR radius cannot be negative")],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS x m", error("ERR need numeric radius")],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYBOX x 1 m", error("ERR need numeric width")],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYBOX 1 x m", error("ERR need numeric height")],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYBOX 1 -1 m", error("ERR height or width cannot be negative")],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 x", unknownUnit],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 m COUNT 0", error("ERR COUNT must be > 0")],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 m ANY", error("ERR the ANY argument requires COUNT argument")],
    [
      "geosearch sicily BYRADIUS 1 m WITHDIST WITHHASH ASC",
      error("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for geosearch"),
    ],
    ["GEOSEARCH sicily FROMLONLAT 15 37 ASC", arity("geosearch")],
    [
      "GEOSEARCH sicily FROMLONLAT 15 37 WITHDIST ASC WITHHASH",
      error("ERR exactly one of BYRADIUS and BYBOX can be specified for GEOSEARCH"),
    ],
    ["GEOSEARCH sicily FROMLONLAT 15 37 FROMMEMBER Palermo BYRADIUS 1 m", syntax],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 m BYBOX 1 1 m", syntax],
    ["GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 m STOREDIST", syntax],
    ["GEOSEARCH s FROMLONLAT 15 37 BYRADIUS 1 m", wrongType],
  ]);
});

test("GEOSEARCHSTORE stores positions, or distances", () => {
  sessionWithSicily().expect([
    ["GEOSEARCHSTORE s sicily FROMLONLAT 15 37 BYRADIUS 200 km", 2],
    ["ZRANGE s 0 -1 WITHSCORES", ["Palermo", double(3479099956230698), "Catania", double(3479447370796909)]],
    ["GEOSEARCHSTORE s sicily FROMMEMBER Catania BYRADIUS 200 km STOREDIST COUNT 1", 1],
    ["ZRANGE s 0 -1 WITHSCORES", ["Catania", double(0)]],
    ["GEOSEARCHSTORE s sicily FROMLONLAT 0 0 BYRADIUS 1 m", 0],
    ["EXISTS s", 0],
    ["SET s text", ok],
    ["GEOSEARCHSTORE s none FROMLONLAT 0 0 BYRADIUS 1 m", 0],
    ["EXISTS s", 0],
    [
      "GEOSEARCHSTORE s sicily FROMLONLAT 0 0 BYRADIUS 1 m WITHDIST",
      error("ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options"),
    ],
    ["GEOSEARCHSTORE s sicily FROMLONLAT 0 0 BYRADIUS 1", syntax],
    ["GEOSEARCHSTORE s sicily FROMLONLAT 0 0 BYRADIUS", arity("geosearchstore")],
  ]);
});

test("GEORADIUS and GEORADIUSBYMEMBER return or store, their _RO forms only return", () => {
  sessionWithSicily().expect([
    ["GEORADIUS sicily 15 37 200 km ASC", ["Catania", "Palermo"]],
    ["GEORADIUS sicily 15 37 200 km COUNT 1 WITHDIST", [["Catania", "56.4413"]]],
    ["GEORADIUS sicily 15 37 200 km COUNT 1 ANY", ["Palermo"]],
    ["GEORADIUS sicily 15 37 200 km STORE to", 2],
    ["ZCARD to", 2],
    ["GEORADIUSBYMEMBER sicily Palermo 100 km", ["Palermo"]],
    ["GEORADIUSBYMEMBER sicily Palermo 100 km STOREDIST to", 1],
    ["ZSCORE to Palermo", double(0)],
    ["GEORADIUSBYMEMBER none Palermo 100 km STORE to", 0],
    ["EXISTS to", 0],
    ["GEORADIUS_RO sicily 15 37 200 km DESC", ["Palermo", "Catania"]],
    ["GEORADIUS_RO sicily 15 37 200 km STORE to", syntax],
    ["GEORADIUSBYMEMBER_RO sicily Catania 1 ft", ["Catania"]],
    ["GEORADIUSBYMEMBER_RO sicily Catania 1 ft STOREDIST to", syntax],
    ["GEORADIUSBYMEMBER_RO sicily none 1 ft", notDecodable],
    [
      "GEORADIUS sicily 15 37 200 km WITHDIST STORE to",
      error("ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options"),
    ],
    ["GEORADIUS s 15 37 200 km", wrongType],
    ["GEORADIUS sicily 15 37 200", arity("georadius")],
    ["GEORADIUSBYMEMBER sicily Palermo 100", arity("georadiusbymember")],
  ]);
});

test("COUNT returns the nearest or farthest members, however many are found, ties in the order of the search", () => {
  const session = startSession();
  const east = (i: number): number => (i * 7_919) % 5_000;
  for (let i = 0; i < 5_000; i += 1) session.call("GEOADD", "k", `${east(i) / 1_000}`, "0", `m${i}`);
  // A second member at the positions of some.
  for (let i = 0; i < 5_000; i += 100) session.call("GEOADD", "k", `${east(i) / 1_000}`, "0", `twin${i}`);
  const all = (order: string): unknown[] =>
    session.run(`GEOSEARCH k FROMLONLAT 2 0 BYRADIUS 1000 km ${order}`) as unknown[];

  for (const order of ["ASC", "DESC"]) {
    assert.equal(all(order).length, 5_050);
    for (const count of [1, 7, 400, 5_000])
      assert.deepEqual(
        session.run(`GEOSEARCH k FROMLONLAT 2 0 BYRADIUS 1000 km ${order} COUNT ${count}`),
        all(order).slice(0, count),
      );
  }
});

test("A-15: refuses a search that finds too much, except with COUNT or STORE", () => {
  const session = startSession();
  for (let i = 0; i < 130; i += 1) session.call("GEOADD", "k", "1", "1", `${i}`.padStart(1024 * 1024, "x"));

  session.expect([
    ["GEOSEARCH k FROMLONLAT 1 1 BYRADIUS 1 km", error("ERR reply exceeds the maximum allowed size")],
    ["GEOSEARCHSTORE to k FROMLONLAT 1 1 BYRADIUS 1 km", 130],
    ["DEL k to", 2],
  ]);
});
