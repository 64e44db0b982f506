/** How SORT and SORT_RO look, on keys of all types that they take. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { asMultiset, type Comparison, isList, isSame } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import type { RawReply } from "../redis-process.ts";

/** Elements that are keys as well, so that patterns find something. */
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
 * Redis 7.0 does not reset `errno` before it reads a number, so after one that is out of range it refuses others as well,
 * until something else goes wrong.
 *
 * Equal texts of BY may come in any order, and so may the members of a set that is not sorted.
 */
const asSorted: Comparison = (exchange) => {
  const { command, ours, theirs } = exchange;
  if (isSame(ours, theirs) || isSame(theirs, NOT_SORTABLE)) return true;
  const words = command.map((word) => word.toUpperCase());
  // It compares texts up to their first zero byte, so there are ties without BY as well.
  const hasTies =
    words.includes("BY") ||
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
    // Not by number nor by a pattern: what Redis refuses by its `errno`, and ties, would leave another state.
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
