/** Random set commands. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { asMultiset, type Comparison, exact } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import { asDrawn, asScanOf, sampleCount, scanOptions } from "../samples-and-scans.ts";

/** Few members, which commands share: integers, texts that look like them, names of properties of every object. */
const MEMBERS: readonly Bytes[] = [
  ...["1", "2", "3", "10", "-5", "a", "b", "c", "", "01", "-0", "9223372036854775807", "9223372036854775808"],
  ...["9007199254740993", "\x00\xff\r\n", "__proto__", "constructor"],
];

function member(draw: Draw): Bytes {
  if (draw.oneIn(12)) return draw.value();
  // Mostly only integers: such a set has another encoding.
  return draw.oneIn(2) ? `${draw.below(12)}` : draw.pick(MEMBERS);
}

function members(draw: Draw): Bytes[] {
  if (!draw.oneIn(10)) return draw.list(4, () => member(draw));
  // Sometimes enough of them to exceed the small encodings, ours and Redis' own.
  const prefix = draw.pick(["", "", "m"]);
  return draw.list(draw.pick([40, 140, 700]), () => `${prefix}${draw.below(900)}`);
}

const SCAN = {
  patterns: ["*", "1*", "[a-c]", "?", "*9*", "m[12]?"],
  wholeCount: "9000",
  others: [() => ["COUNT", "9000"], () => ["NOVALUES"]],
};

/** More than any set has, or refused: fewer would leave random members. */
function popCount(draw: Draw): Bytes {
  return draw.pick(["100000", "9223372036854775807", "1000000", "0", "-1", "x", "", "9223372036854775808"]);
}

function countedKeys(draw: Draw): Bytes[] {
  const keys = draw.keys(3);
  return [draw.oneIn(8) ? draw.count() : `${keys.length}`, ...keys];
}

export const setFamily: Family = {
  name: "set",
  commands: [
    (draw) => ["SADD", draw.key(), ...members(draw)],
    (draw) => ["SADD", draw.key(), ...members(draw)],
    (draw) => ["SADD", draw.key(), ...members(draw)],
    (draw) => ["SADD", draw.key(), ...members(draw)],
    (draw) => ["SCARD", draw.key()],
    (draw) => ["SDIFF", ...draw.keys()],
    (draw) => ["SDIFFSTORE", draw.key(), ...draw.keys()],
    (draw) => ["SINTER", ...draw.keys()],
    (draw) => ["SINTERCARD", ...countedKeys(draw), ...draw.options([() => ["LIMIT", draw.count()]], 2)],
    (draw) => ["SINTERSTORE", draw.key(), ...draw.keys(2)],
    (draw) => ["SISMEMBER", draw.key(), member(draw)],
    (draw) => ["SMEMBERS", draw.key()],
    (draw) => ["SMISMEMBER", draw.key(), ...members(draw)],
    (draw) => ["SMOVE", draw.key(), draw.key(), member(draw)],
    (draw) => ["SMOVE", draw.key(), draw.key(), member(draw)],
    (draw) => ["SPOP", draw.key(), popCount(draw)],
    (draw) => ["SRANDMEMBER", draw.key()],
    (draw) => ["SRANDMEMBER", draw.key(), sampleCount(draw)],
    (draw) => ["SREM", draw.key(), ...members(draw)],
    (draw) => ["SREM", draw.key(), ...members(draw)],
    (draw) => ["SSCAN", draw.key(), draw.oneIn(8) ? draw.integer() : "0", ...scanOptions(draw, SCAN)],
    (draw) => ["SUNION", ...draw.keys()],
    (draw) => ["SUNIONSTORE", draw.key(), ...draw.keys()],
    (draw) => ["OBJECT", "ENCODING", draw.key()],
  ],
  // The first two leave no state to compare; the others leave random members, which must be rebuilt all the same.
  extensions: [
    (draw) => ["SDIFFCARD", ...countedKeys(draw), ...draw.options([() => ["LIMIT", draw.count()]], 1)],
    (draw) => [
      "SUNIONCARD",
      ...countedKeys(draw),
      ...draw.options([() => ["LIMIT", draw.count()], () => ["APPROX"]], 2),
    ],
    (draw) => ["SPOP", draw.key()],
    (draw) => ["SPOP", draw.key(), `${draw.below(6)}`],
    (draw) => ["SPOP", draw.key(), `${draw.below(300)}`],
  ],
  comparisons: new Map<string, Comparison>([
    ["SDIFF", asMultiset],
    ["SINTER", asMultiset],
    ["SMEMBERS", asMultiset],
    ["SPOP", asMultiset],
    ["SRANDMEMBER", asDrawn],
    ["SSCAN", asScanOf(asMultiset, { cursorAt: 2 })],
    ["SUNION", asMultiset],
    ["OBJECT", exact],
  ]),
  undamaged: new Set(["SPOP"]),
};
