/** Random SORT and SORT_RO, on keys of all types that they accept. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { asMultiset, type Comparison, isList, isSame } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import type { RawReply } from "../redis-process.ts";

/** Elements that are also keys, so that patterns match. */
const ELEMENTS: readonly Bytes[] = ["a", "b", "c", "1", "2", "-3.5", "10", "0x10", "1e3", "1.0"];
const NUMBERS: readonly Bytes[] = [
  "1",
  "2",
  "-3.5",
  "10",
  "0x10",
  "1e3",
  "1.0",
  "007",
  "0",
  "+5",
  "-inf",
  "9007199254740993",
];

function element(draw: Draw): Bytes {
  return draw.oneIn(30) ? draw.value() : draw.pick(draw.oneIn(6) ? ELEMENTS : NUMBERS);
}

function weight(draw: Draw): Bytes {
  return draw.oneIn(15) ? draw.pick([draw.float(), "", " 7", "\t8", "9 "]) : draw.pick(NUMBERS);
}

function pattern(draw: Draw): Bytes {
  return draw.pick(["w_*", "w_*", "h_*->f", "h_*->g", "h_*->", "*", "#", "nosort", "w_*_*", "->f", "h_->*", "*->f"]);
}

function options(draw: Draw): Bytes[] {
  return draw.options(
    [
      () => ["ALPHA"],
      () => ["ALPHA"],
      () => ["ASC"],
      () => ["DESC"],
      () => ["LIMIT", draw.count(), draw.count()],
      () => ["LIMIT", `${draw.below(4)}`, `${draw.below(6)}`],
      () => ["BY", pattern(draw)],
      () => ["BY", pattern(draw)],
      () => ["GET", pattern(draw)],
      () => ["GET", "#"],
    ],
    4,
  );
}

const NOT_SORTABLE: RawReply = {
  kind: "error",
  error: { text: "ERR One or more scores can't be converted into double" },
};

/**
 * Redis 7.0 does not reset `errno` before it reads a number, so after one that is out of range it also refuses others,
 * until another error occurs.
 *
 * Equal texts of BY may be in any order, and so may the members of a set that is not sorted.
 */
const asSorted: Comparison = (exchange) => {
  const { command, ours, theirs } = exchange;
  if (isSame(ours, theirs) || isSame(theirs, NOT_SORTABLE)) return true;
  const words = command.map((word) => word.toUpperCase());
  // It compares texts up to their first zero byte, so ties also occur without BY; GET hides them, unless it is `#`.
  const hidesElements = words.includes("ALPHA") && words.includes("GET") && !words.includes("#");
  const hasTies =
    words.includes("BY") ||
    hidesElements ||
    [ours, theirs].some((reply) => isList(reply) && reply.some((text) => `${text}`.includes("\x00")));
  if (!hasTies || !isList(ours) || !isList(theirs) || ours.length !== theirs.length) return false;
  return words.includes("LIMIT") || asMultiset(exchange);
};

export const sortFamily: Family = {
  name: "sort",
  commands: [
    (draw) => ["RPUSH", draw.key(), ...draw.list(8, () => element(draw))],
    (draw) => ["RPUSH", draw.key(), ...draw.list(8, () => element(draw))],
    (draw) => ["SADD", draw.key(), ...draw.list(8, () => element(draw))],
    (draw) => ["ZADD", draw.key(), ...draw.list(8, () => [draw.pick(["1", "2", "3"]), element(draw)]).flat()],
    (draw) => ["SET", `w_${element(draw)}`, weight(draw)],
    (draw) => ["HSET", `h_${element(draw)}`, "f", weight(draw), "g", draw.text()],
    (draw) => ["DEL", draw.pick(ELEMENTS.map((one) => `w_${one}`))],
    (draw) => ["SORT", draw.key(), ...options(draw)],
    (draw) => ["SORT", draw.key(), ...options(draw)],
    (draw) => ["SORT", draw.key(), ...options(draw)],
    (draw) => ["SORT_RO", draw.key(), ...options(draw)],
    (draw) => ["SORT_RO", draw.key(), ...options(draw), ...draw.options([() => ["STORE", draw.key()]], 1)],
    // Not by number nor by a pattern: refusals of Redis due to `errno`, and ties, would leave another state. The family
    // below has numbers.
    (draw) => [
      "SORT",
      draw.key(),
      ...draw.pick([["ALPHA"], ["BY", "nosort"], ["ALPHA", "BY", "nosort"]]),
      ...draw.options([() => ["DESC"], () => ["GET", pattern(draw)], () => ["ALPHA"]], 3),
      ...draw.options([() => ["LIMIT", draw.count(), draw.count()]], 1),
      "STORE",
      draw.key(),
    ],
  ],
  comparisons: new Map([
    ["SORT", asSorted],
    ["SORT_RO", asSorted],
  ]),
};

/** Numbers that a double represents, in every spelling, and invalid numbers: none that is out of range for Redis. */
const IN_RANGE: readonly Bytes[] = [
  ...[...NUMBERS, "inf", "-0", "1e308", "-1e308", "0.1", ".5", "5.", "1e-7", "2147483648", "1.5", "1.50"],
  ...["9223372036854775807", "-9223372036854775808", "a", "", " 1", "1 ", "nan", "1\x00", "1e", "0x"],
];

function elementInRange(draw: Draw): Bytes {
  return draw.oneIn(80) ? draw.pick(IN_RANGE) : draw.pick(NUMBERS);
}

/** No ALPHA: the C library orders equal texts of BY. Equal numbers are ordered by their elements. */
function numericOptions(draw: Draw): Bytes[] {
  return draw.options(
    [
      () => ["DESC"],
      () => ["LIMIT", draw.count(), draw.count()],
      () => ["LIMIT", `${draw.below(4)}`, `${draw.below(6)}`],
      () => ["BY", draw.pick(["w_*", "w_*", "h_*->f", "h_*->g", "#", "nosort", "w_*_*"])],
      () => ["GET", pattern(draw)],
      () => ["GET", "#"],
    ],
    4,
  );
}

/** If STORE was cut off, BY without a star returns the members of a set in their internal order. */
const asStored: Comparison = (exchange) => {
  const { command, ours, theirs } = exchange;
  if (isSame(ours, theirs)) return true;
  if (!isList(ours) || !isList(theirs) || ours.length !== theirs.length) return false;
  const words = command.map((word) => word.toUpperCase());
  return words.includes("BY") && (words.includes("LIMIT") || asMultiset(exchange));
};

/** Alone, since a number out of range makes Redis also refuse others; then the stored states would differ. */
export const numericSortFamily: Family = {
  name: "sort by number into store",
  isAlone: true,
  commands: [
    (draw) => ["RPUSH", draw.key(), ...draw.list(8, () => elementInRange(draw))],
    (draw) => ["RPUSH", draw.key(), ...draw.list(8, () => elementInRange(draw))],
    (draw) => ["SADD", draw.key(), ...draw.list(8, () => elementInRange(draw))],
    (draw) => ["ZADD", draw.key(), ...draw.list(8, () => [draw.pick(["1", "2", "3"]), elementInRange(draw)]).flat()],
    (draw) => ["SET", `w_${elementInRange(draw)}`, elementInRange(draw)],
    (draw) => ["HSET", `h_${elementInRange(draw)}`, "f", elementInRange(draw), "g", `${draw.below(3)}`],
    (draw) => ["DEL", ...draw.keys()],
    (draw) => ["RENAME", draw.key(), draw.key()],
    ...Array.from({ length: 4 }, () => (draw: Draw) => [
      ...["SORT", draw.key(), ...numericOptions(draw), "STORE", draw.key()],
    ]),
    (draw) => ["LRANGE", draw.key(), "0", "-1"],
  ],
  comparisons: new Map([["SORT", asStored]]),
};
