/** Random bitmap commands. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { type Comparison, isError, isSame } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";

/** A bit offset: among the first ones, around byte borders, around 4 KiB, or refused. */
function bitOffset(draw: Draw): Bytes {
  if (draw.oneIn(12)) return draw.pick(["4294967296", "9223372036854775807", "-1", "x", "", "1.5", "#1", "01"]);
  return `${draw.oneIn(8) ? 32_700 + draw.below(200) : draw.below(100)}`;
}

/** Like `bitOffset`, or counted in fields, including one whose 64-bit product overflows. */
function fieldOffset(draw: Draw): Bytes {
  if (draw.oneIn(20)) return draw.pick(["#4611686018427387905", "#9223372036854775807", "#-1", "#x", "#", "##1"]);
  return draw.oneIn(3) ? `#${draw.below(20)}` : bitOffset(draw);
}

function fieldType(draw: Draw): Bytes {
  if (draw.oneIn(12)) return draw.pick(["u64", "i65", "u0", "i0", "I8", "8", "", "u", "i-1", "u08", "x8", "i8\x00"]);
  if (draw.oneIn(2)) return draw.pick(["u1", "i1", "u2", "u8", "i8", "u16", "i32", "u63", "i63", "i64"]);
  return draw.oneIn(2) ? `u${1 + draw.below(63)}` : `i${1 + draw.below(64)}`;
}

function fieldStep(draw: Draw): Bytes[] {
  const name = draw.oneIn(6) ? draw.oddCase(draw.pick(["GET", "SET", "INCRBY"])) : draw.pick(["GET", "SET", "INCRBY"]);
  const place = [name, fieldType(draw), fieldOffset(draw)];
  const steps = name.toUpperCase() === "GET" ? place : [...place, draw.integer()];
  return draw.oneIn(2) ? steps : ["OVERFLOW", draw.pick(["WRAP", "SAT", "FAIL", "sat", "x"]), ...steps];
}

/** Long enough for several of the blocks of a bit search. */
const LONG_BITS = 100_000;

/** Rarely with large numbers, so that most offsets are inside the string. */
function place(draw: Draw): Bytes {
  if (draw.oneIn(12)) return `${draw.below(2 * LONG_BITS) - LONG_BITS}`;
  return draw.oneIn(8) ? draw.integer() : `${draw.below(120) - 60}`;
}

function range(draw: Draw): Bytes[] {
  const unit = draw.pick([[], ["BYTE"], ["BIT"], ["bit"], ["byte"], ["BITS"]]);
  return [place(draw), place(draw), ...unit];
}

/** Bytes in which long runs of the same bit are common. */
function bits(draw: Draw): Bytes {
  const length = draw.oneIn(12) ? draw.below(LONG_BITS / 8) : draw.below(40);
  const run = draw.pick(["\x00", "\xff", "\x01", "\x80", "a"]).repeat(length);
  return draw.oneIn(10) ? draw.long() : `${run}${draw.binary()}`;
}

/** Redis 7.0 does not check the arguments of a missing key, nor the unit of an empty range; here they are checked first. */
const asChecked: Comparison = ({ ours, theirs }) =>
  isSame(ours, theirs) ||
  (ARGUMENT_ERRORS.some((text) => isSame(ours, { kind: "error", error: { text } })) &&
    (theirs === 0 || theirs === -1 || isError(theirs)));

const ARGUMENT_ERRORS: readonly string[] = ["ERR syntax error", "ERR value is not an integer or out of range"];

export const bitmapFamily: Family = {
  name: "bitmap",
  commands: [
    (draw) => ["BITCOUNT", draw.key()],
    (draw) => ["BITCOUNT", draw.key(), ...range(draw)],
    (draw) => ["BITCOUNT", draw.key(), ...range(draw)],
    (draw) => ["BITFIELD", draw.key(), ...draw.list(4, () => fieldStep(draw)).flat()],
    (draw) => ["BITFIELD", draw.key(), ...draw.list(2, () => fieldStep(draw)).flat()],
    (draw) => ["BITFIELD", draw.key(), ...fieldStep(draw)],
    (draw) => ["BITFIELD_RO", draw.key(), ...draw.list(3, () => ["GET", fieldType(draw), fieldOffset(draw)]).flat()],
    (draw) => ["BITFIELD_RO", draw.key(), ...fieldStep(draw)],
    (draw) => ["BITOP", draw.pick(["AND", "OR", "XOR", "or"]), draw.key(), ...draw.keys()],
    (draw) => ["BITOP", draw.pick(["AND", "OR", "XOR", "NOT", "x"]), draw.key(), ...draw.keys()],
    (draw) => ["BITOP", "NOT", draw.key(), draw.key()],
    (draw) => ["BITPOS", draw.key(), draw.pick(["0", "1"])],
    (draw) => ["BITPOS", draw.key(), draw.pick(["0", "1", "2", "x"]), place(draw)],
    (draw) => ["BITPOS", draw.key(), draw.pick(["0", "1"]), ...range(draw)],
    (draw) => ["BITPOS", draw.key(), draw.pick(["0", "1"]), ...range(draw)],
    (draw) => ["GETBIT", draw.key(), bitOffset(draw)],
    (draw) => ["SETBIT", draw.key(), bitOffset(draw), draw.pick(["0", "1"])],
    (draw) => ["SETBIT", draw.key(), bitOffset(draw), draw.pick(["0", "1", "1", "2", "-1", "x"])],
    (draw) => ["SET", draw.key(), bits(draw)],
    (draw) => ["SET", draw.key(), bits(draw)],
    (draw) => ["APPEND", draw.key(), bits(draw)],
  ],
  comparisons: new Map([
    ["BITCOUNT", asChecked],
    ["BITPOS", asChecked],
  ]),
  extensions: [
    (draw) => ["BITOP", draw.pick(["DIFF", "DIFF1", "ANDOR", "ONE"]), draw.key(), ...draw.keys()],
    (draw) => ["BITOP", draw.pick(["DIFF", "DIFF1", "ANDOR", "ONE"]), draw.key(), ...draw.keys()],
  ],
};
