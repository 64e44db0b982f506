/** The geo commands: input and literal reply. Redis 7.0.15 gives the same replies, and Valkey 9 those to BYPOLYGON. */
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

const SYDNEY = [
  ...["151.20932132005692 -33.877723137822436 Elizabeth", "151.2119820713997 -33.87697539508043 Connaught"],
  ...["151.2119820713997 -33.87156123068408 StJames", "151.2229523062706 -33.883973760201364 Oxford"],
  ...["151.22852593660355 -33.88116782387797 Goodhope", "151.2224105000496 -33.87544442350019 KingsCross"],
  "151.22953444719315 -33.874838625143106 Oval",
].join(" ");

const SYDNEY_POLYGON = [
  "11",
  ...["151.21619137411474 -33.869643764947696", "151.20408853981647 -33.87845382042545"],
  ...["151.2123775086366 -33.87864711938855", "151.21046943124387 -33.87588862400425"],
  ...["151.21701035939626 -33.874286511854834", "151.2239557405701 -33.8735722632175"],
  ...["151.22495056246407 -33.87893571656996", "151.2274447496748 -33.882307713036354"],
  ...["151.23212935868654 -33.88136096120022", "151.23097291274465 -33.87456240592362"],
  "151.22475424781445 -33.87099633192101",
].join(" ");

test("GEOSEARCH BYPOLYGON finds members inside a polygon, with distances from its centre", () => {
  const session = sessionWithSicily();
  session.run("GEOADD sicily 12.758489 38.788135 edge1 17.241510 38.788135 edge2");
  const polygon =
    "5 12.41098696654226 38.05033923003755 15.107936245794182 38.00616649901906 18.148439288534455 " +
    "38.63804787603499 17.80831874257693 39.50316813110968 12.458468633214036 38.57719533463012";
  session.expect([
    [`GEOSEARCH sicily BYPOLYGON ${polygon}`, ["Palermo", "edge2"]],
    [
      `GEOSEARCH sicily BYPOLYGON ${polygon} ASC WITHCOORD WITHDIST`,
      [
        ["Palermo", "166482.0159", ["13.36138933897018433", "38.11555639549629859"]],
        ["edge2", "180861.7725", ["17.24151045083999634", "38.78813451624225195"]],
      ],
    ],
    [`GEOADD sydney ${SYDNEY}`, 7],
    [`GEOSEARCH sydney BYPOLYGON ${SYDNEY_POLYGON}`, ["Goodhope", "Oval", "Elizabeth"]],
    [
      `GEOSEARCH sydney BYPOLYGON ${SYDNEY_POLYGON} WITHDIST DESC`,
      [
        ["Elizabeth", "1035.7735"],
        ["Goodhope", "929.4979"],
        ["Oval", "858.3013"],
      ],
    ],
    [`GEOSEARCHSTORE to sydney BYPOLYGON ${SYDNEY_POLYGON} ASC STOREDIST COUNT 2`, 2],
    ["ZRANGE to 0 -1", ["Oval", "Goodhope"]],
    // Edges may cross each other.
    [
      "GEOSEARCH sydney bypolygon 5 151.2154285314146 -33.867438205607186 151.20024487595015 -33.88138572784347 " +
        "151.2374118848648 -33.87601765283626 151.19695829592922 -33.87272872054441 151.2278336546125 -33.88345323146266",
      ["Elizabeth", "StJames", "KingsCross"],
    ],
    [`GEOSEARCH none BYPOLYGON ${polygon}`, []],
  ]);
});

test("GEOSEARCH BYPOLYGON finds members in a polygon across hemispheres, in the order of Valkey", () => {
  const session = startSession();
  session.run(
    "GEOADD points -68.8798275589943 -44.61362078872198 Chubut -63.42572718858719 -28.2735053489472 Pozo " +
      "-100.691137611866 24.238865478290585 Noria -118.6207178235054 43.85981245898269 Oregon " +
      "-121.43320173025131 51.857438167842574 Cariboo -79.07508105039597 37.97053232436472 Virginia " +
      "-0.1308193802833557 51.652445128802185 Enfield -44.97371703386307 64.60993716062175 Greenland " +
      "17.252480685710907 -21.646808926327388 Namibia 35.04182428121567 -6.304554908397684 Mwandila " +
      "120.61124950647354 -27.712320618990717 Leonora 145.04961222410202 -32.22031713143272 Cobar " +
      "3.5416236519813538 26.716565550429046 Salah 13.330726325511932 38.111391848631506 Palermo " +
      "34.81671720743179 32.05908351848717 Givatayim 74.56694215536118 14.589623066168919 Yana " +
      "11.964205205440521 57.70702963854761 Gothenburg 106.83230191469193 15.117455935110826 Attapeu " +
      "90.02549439668655 39.614491635004136 Lopnur 118.27697664499283 26.579067066419547 Nanping " +
      "118.27697664499283 36.02277654389389 Zibo",
  );
  const corners = [
    ...[-146.20062130262065, 51.130912386593, -103.26379152330803, 49.47193779943357, -63.315654670518995],
    ...[50.93884489468163, -95.40642417874389, 39.65534094349885, -77.4999298453865, 26.73672845329922],
    ...[-51.87745194229085, 23.04646540450935, -8.42920299630615, 41.60520661073045, -10.521785859954813],
    ...[61.47846964761324, 2.124111965940925, 60.778434760758095, 18.481092483619292, 53.09061572914368],
    ...[38.70573141092903, 45.73303292470514, 22.02205974562196, 34.2426280008694, 52.57520291900751],
    ...[22.953137594767274, 75.72278884992889, 29.362381850764695, 90.74676219754886, 31.63413660453445],
    ...[107.30623758289035, 35.851039511158085, 115.40629273520966, 30.411873608761567, 120.01593165018451],
    ...[29.841092929180927, 120.4535153988606, 25.65037857240954, 121.27924547967872, 11.602225617909395],
    ...[135.1015103851442, -16.60585394490754, 129.87136213636785, -27.170064645188177, 99.53888837265143],
    ...[-26.498354216857965, 37.56438677364021, -27.832463377991818, 31.562753892887216, -13.63096249674378],
    ...[20.629919303178035, 9.515486567597444, 11.209492263565085, 32.02725659471969, 5.4325413537034],
    ...[35.55125756355285, -35.244014834951145, 16.982781656720274, -75.35489645024853, 11.812375133773651],
    ...[-94.03343867618196, 28.67577744862069, -124.16269338003593, 36.64849855935148, -143.36084887326555],
    42.51835490888078,
  ];
  session.expect([
    [
      `GEOSEARCH points BYPOLYGON 33 ${corners.join(" ")}`,
      ["Palermo", "Yana", "Attapeu", "Nanping", "Mwandila", "Oregon", "Enfield"],
    ],
  ]);
});

test("GEOSEARCH BYPOLYGON refuses bad polygons, and other shapes and centres beside it", () => {
  const tooSmall = error("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices");
  const triangle = "BYPOLYGON 3 1 1 2 2 1 2";
  sessionWithSicily().expect([
    ["GEOSEARCH sicily BYPOLYGON 2 1 1 2 2", tooSmall],
    ["GEOSEARCH sicily BYPOLYGON 3 1 1 2 2", tooSmall],
    ["GEOSEARCH sicily BYPOLYGON -3 1 1 2 2 3 3", tooSmall],
    ["GEOSEARCH sicily BYPOLYGON x 1 1 2 2 3 3", error("ERR invalid number of vertices")],
    ["GEOSEARCH sicily BYPOLYGON 3 1 1 2 2 3 x", notFloat],
    ["GEOSEARCH sicily BYPOLYGON 3 1 1 2 2 3 86", error("ERR invalid longitude,latitude pair 3.000000,86.000000")],
    [`GEOSEARCH sicily ${triangle} BYBOX 400 400 km`, syntax],
    [`GEOSEARCH sicily BYBOX 400 400 km ${triangle}`, syntax],
    [`GEOSEARCH sicily BYRADIUS 500 km ${triangle}`, syntax],
    [`GEOSEARCH sicily ${triangle} ${triangle}`, syntax],
    [`GEOSEARCH sicily ${triangle} FROMLONLAT 1 1`, syntax],
    [`GEOSEARCH sicily FROMMEMBER Palermo ${triangle}`, syntax],
    [`GEOSEARCH s ${triangle} ASC`, wrongType],
    ["GEORADIUS_RO sicily 1 1 1 km BYPOLYGON 3 1 1 2 2 1 2", syntax],
    [
      `GEOSEARCH sicily BYPOLYGON 1001 ${"1 1 ".repeat(1_001)}`.trimEnd(),
      error("ERR BYPOLYGON takes at most 1000 vertices"),
    ],
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
