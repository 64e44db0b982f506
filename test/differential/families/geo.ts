/**
 * Random geo commands. Each member has its own position, far from all others, so that no two are equally far from
 * anything: the order of those is undefined.
 */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import type { Comparison } from "../compare.ts";
import { exact, isList, isSame } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import type { RawReply } from "../redis-process.ts";

function member(draw: Draw): Bytes {
  return `p${draw.below(30)}`;
}

/** Positions at the edges of the map, each for one member. */
const ENDS: ReadonlyMap<number, readonly Bytes[]> = new Map([
  [25, ["0", "85.05112878"]],
  [27, ["180", "85.05112878"]],
  [28, ["-180", "-85.05112878"]],
  [29, ["180", "0"]],
]);

/** Somewhere in the region of a member, and for one anywhere or outside the map. */
function place(draw: Draw, name: Bytes): Bytes[] {
  const number = Number(name.slice(1)) || 0;
  if (number === 26) return [draw.float(), draw.float()];
  const longitude = number < 15 ? 10 + number * 0.037 : -175 + number * 11.7;
  const latitude = number < 15 ? 50 + ((number * 7) % 15) * 0.041 : -80 + ((number * 13) % 30) * 5.4;
  const shift = draw.below(1_000_000) / 1e9;
  return [`${longitude + shift}`, `${latitude + shift}`];
}

/** Members at the edges of the map. */
function placedAtEnds(draw: Draw): Bytes[] {
  return [...ENDS].filter(() => draw.oneIn(2)).flatMap(([number, end]) => [...end, `p${number}`]);
}

/** Where a search looks from: at a member, or at an edge of the map. */
function somewhere(draw: Draw): Bytes[] {
  return draw.oneIn(12) ? [...draw.pick([...ENDS.values()])] : place(draw, member(draw));
}

/** Scores that are not positions, or only by chance. */
function scored(draw: Draw): Bytes[] {
  const name = member(draw);
  if (name === "p0") return [draw.pick(["-5", "4503599627370495.5", "1e18"]), name];
  return [`${(1 + Number(name.slice(1))) * 1e14}`, name];
}

function placed(draw: Draw): Bytes[] {
  const name = member(draw);
  return [...place(draw, name), name];
}

function places(draw: Draw): Bytes[] {
  return draw.list(draw.oneIn(3) ? 40 : 4, () => placed(draw)).flat();
}

function unit(draw: Draw): Bytes {
  return draw.oneIn(20) ? draw.pick(["", "x", "meters"]) : draw.pick(["m", "km", "KM", "ft", "Mi"]);
}

function length(draw: Draw): Bytes {
  return draw.oneIn(15) ? draw.float() : draw.pick(["0", "1", "10", "100", "1000", "5000", "20000", "250000", "1e7"]);
}

function details(draw: Draw): Bytes[] {
  return draw.options(
    [
      () => ["WITHCOORD"],
      () => ["WITHDIST"],
      () => ["WITHHASH"],
      () => ["COUNT", draw.oneIn(6) ? draw.count() : `${1 + draw.below(5)}`],
      () => ["COUNT", `${1 + draw.below(5)}`, "ANY"],
      () => ["ASC"],
      () => ["DESC"],
    ],
    4,
  );
}

/** Options that a store command accepts. */
function storedDetails(draw: Draw): Bytes[] {
  if (draw.oneIn(8)) return details(draw);
  return draw.options([() => ["COUNT", `${1 + draw.below(5)}`], () => ["ASC"], () => ["DESC"]], 2);
}

function center(draw: Draw): Bytes[] {
  if (draw.oneIn(20)) return [];
  return draw.oneIn(2) ? ["FROMMEMBER", member(draw)] : ["FROMLONLAT", ...somewhere(draw)];
}

function outline(draw: Draw): Bytes[] {
  if (draw.oneIn(20)) return [];
  return draw.oneIn(2) ? ["BYRADIUS", length(draw), unit(draw)] : ["BYBOX", length(draw), length(draw), unit(draw)];
}

/** The last digit of a distance depends on the sine function of the C library. */
function isNear(ours: RawReply, theirs: RawReply): boolean {
  if (isList(ours) && isList(theirs))
    return ours.length === theirs.length && ours.every((one, index) => isNear(one, theirs[index] ?? null));
  if (isSame(ours, theirs)) return true;
  if (typeof ours !== "string" || typeof theirs !== "string") return false;
  return /^\d+\.\d{4}$/.test(theirs) && Math.abs(Number(ours) - Number(theirs)) <= 0.000_11;
}

const asDistances: Comparison = ({ ours, theirs }) => isNear(ours, theirs);

export const geoFamily: Family = {
  name: "geo",
  // Their positions have no random part: with another word for a member, two members would be equally far.
  undamaged: new Set(["ZADD", "GeoAdd"]),
  commands: [
    (draw) => ["GeoAdd", draw.key(), ...placedAtEnds(draw)],
    ...Array.from({ length: 4 }, () => (draw: Draw) => [
      "GEOADD",
      draw.key(),
      ...draw.options([() => ["NX"], () => ["XX"], () => ["CH"]], 2),
      ...places(draw),
    ]),
    (draw) => ["GEODIST", draw.key(), member(draw), member(draw), ...(draw.oneIn(2) ? [] : [unit(draw)])],
    (draw) => ["GEOHASH", draw.key(), ...draw.list(4, () => member(draw))],
    (draw) => ["GEOPOS", draw.key(), ...draw.list(4, () => member(draw))],
    (draw) => ["GEORADIUS", draw.key(), ...somewhere(draw), length(draw), unit(draw), ...details(draw)],
    (draw) => [
      ...["GEORADIUS", draw.key(), ...somewhere(draw), length(draw), unit(draw)],
      ...[...storedDetails(draw), "STORE", draw.key()],
    ],
    (draw) => ["GEORADIUSBYMEMBER", draw.key(), member(draw), length(draw), unit(draw), ...details(draw)],
    (draw) => [
      ...["GEORADIUSBYMEMBER", draw.key(), member(draw), length(draw), unit(draw)],
      ...[...storedDetails(draw), "STORE", draw.key()],
    ],
    (draw) => ["GEORADIUSBYMEMBER_RO", draw.key(), member(draw), length(draw), unit(draw), ...details(draw)],
    (draw) => ["GEORADIUS_RO", draw.key(), ...somewhere(draw), length(draw), unit(draw), ...details(draw)],
    (draw) => ["GEORADIUS_RO", draw.key(), "1", "1", "1", "km", "STORE", draw.key()],
    (draw) => ["GEOSEARCH", draw.key(), ...center(draw), ...outline(draw), ...details(draw)],
    (draw) => ["GEOSEARCH", draw.key(), ...outline(draw), ...center(draw), ...details(draw)],
    (draw) => ["GEOSEARCHSTORE", draw.key(), draw.key(), ...center(draw), ...outline(draw), ...storedDetails(draw)],
    (draw) => ["ZSCORE", draw.key(), member(draw)],
    (draw) => ["ZADD", draw.key(), ...scored(draw)],
  ],
  // Scores that are distances may differ in their last bit.
  extensions: [
    (draw) => {
      const corners = draw.list(6, () => somewhere(draw));
      return ["GEOSEARCHSTORE", draw.key(), draw.key(), "BYPOLYGON", `${corners.length}`, ...corners.flat()];
    },
    (draw) => [
      ...["GEORADIUS", draw.key(), ...somewhere(draw), length(draw), unit(draw)],
      ...[...storedDetails(draw), "STOREDIST", draw.key()],
    ],
    (draw) => [
      ...["GEOSEARCHSTORE", draw.key(), draw.key(), ...center(draw), ...outline(draw)],
      ...[...storedDetails(draw), "STOREDIST"],
    ],
  ],
  comparisons: new Map<string, Comparison>([
    ["GEODIST", asDistances],
    ["GEORADIUS", asDistances],
    ["GEORADIUSBYMEMBER", asDistances],
    ["GEORADIUSBYMEMBER_RO", asDistances],
    ["GEORADIUS_RO", asDistances],
    ["GEOSEARCH", asDistances],
    ["ZSCORE", exact],
  ]),
};
