/** How hash commands look. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { asMultiset, asPairs, type Comparison, exact, isList, isSame } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";

/** Few fields, so that commands meet: names of properties of every object among them. */
const FIELDS: readonly Bytes[] = ["f", "g", "field", "", "\x00\xff\r\n", "__proto__", "constructor", "toString"];

function field(draw: Draw): Bytes {
  return draw.oneIn(10) ? draw.value() : (FIELDS[Math.min(draw.below(8), draw.below(8))] as Bytes);
}

function pairs(draw: Draw): Bytes[] {
  // Now and then enough of them to leave the flat form of a small hash, ours and Redis' own.
  if (draw.oneIn(12)) return draw.list(draw.pick([40, 140, 300]), () => [`f${draw.below(600)}`, draw.text()]).flat();
  return draw.list(3, () => [field(draw), draw.value()]).flat();
}

function scanOptions(draw: Draw): Bytes[] {
  return draw.options(
    [
      () => ["MATCH", draw.pick(["*", "f*", "[a-g]", "?", "*o*", "f[12]?", draw.value()])],
      () => ["COUNT", draw.oneIn(3) ? draw.count() : "1000"],
      () => ["TYPE", "hash"],
    ],
    2,
  );
}

function fieldsClause(draw: Draw): Bytes[] {
  const fields = draw.list(3, () => field(draw));
  const count = draw.oneIn(12) ? draw.count() : `${fields.length}`;
  return [draw.oneIn(8) ? draw.oddCase("FIELDS") : "FIELDS", count, ...fields];
}

function condition(draw: Draw): Bytes[] {
  return draw.oneIn(2) ? [] : [draw.pick(["NX", "XX", "GT", "LT"])];
}

/** Never a large negative number: Redis would answer so many fields, until the machine is out of memory. */
function sampleCount(draw: Draw): Bytes {
  if (draw.oneIn(3)) return draw.pick(["9223372036854775807", "-9223372036854775808", "4294967296", "x", "", "1.5"]);
  return `${draw.below(16) - 6}`;
}

/** Which fields are drawn is up to each server: what can be compared is how many there are, and of what kind. */
const asDrawn: Comparison = ({ command, ours, theirs }) => {
  if (!isList(ours) || !isList(theirs)) {
    const isOneField = command.length === 2 && typeof ours === "string" && typeof theirs === "string";
    return isOneField || isSame(ours, theirs);
  }
  return ours.length === theirs.length;
};

/** Whole scans tell the same pairs; what a part of one tells is up to each server. */
const asScan: Comparison = (exchange) => {
  const { ours, theirs } = exchange;
  if (!isList(ours) || !isList(theirs)) return isSame(ours, theirs);
  const [ourCursor, ourElements = null] = ours;
  const [theirCursor, theirElements = null] = theirs;
  if (exchange.command[2] !== "0" || ourCursor !== "0" || theirCursor !== "0")
    return isList(ourElements) && isList(theirElements);
  return asPairs({ ...exchange, ours: ourElements, theirs: theirElements });
};

export const hashFamily: Family = {
  name: "hash",
  commands: [
    (draw) => ["HDEL", draw.key(), ...draw.list(3, () => field(draw))],
    (draw) => ["HEXISTS", draw.key(), field(draw)],
    (draw) => ["HGET", draw.key(), field(draw)],
    (draw) => ["HGETALL", draw.key()],
    (draw) => ["HINCRBY", draw.key(), field(draw), draw.integer()],
    (draw) => ["HINCRBY", draw.key(), field(draw), draw.integer()],
    (draw) => ["HINCRBYFLOAT", draw.key(), field(draw), draw.float()],
    (draw) => ["HINCRBYFLOAT", draw.key(), field(draw), draw.float()],
    (draw) => ["HKEYS", draw.key()],
    (draw) => ["HLEN", draw.key()],
    (draw) => ["HMGET", draw.key(), ...draw.list(4, () => field(draw))],
    (draw) => ["HMSET", draw.key(), ...pairs(draw)],
    (draw) => ["HRANDFIELD", draw.key()],
    (draw) => ["HRANDFIELD", draw.key(), sampleCount(draw), ...draw.options([() => ["WITHVALUES"]], 1)],
    (draw) => ["HSCAN", draw.key(), draw.oneIn(8) ? draw.integer() : "0", ...scanOptions(draw)],
    (draw) => ["HSET", draw.key(), ...pairs(draw)],
    (draw) => ["HSET", draw.key(), ...pairs(draw)],
    (draw) => ["HSET", draw.key(), ...pairs(draw)],
    (draw) => ["HSETNX", draw.key(), field(draw), draw.value()],
    (draw) => ["HSTRLEN", draw.key(), field(draw)],
    (draw) => ["HVALS", draw.key()],
    (draw) => ["OBJECT", "ENCODING", draw.key()],
  ],
  extensions: [
    (draw) => ["HEXPIRE", draw.key(), draw.seconds(), ...condition(draw), ...fieldsClause(draw)],
    (draw) => ["HEXPIREAT", draw.key(), draw.secondsMoment(), ...condition(draw), ...fieldsClause(draw)],
    (draw) => ["HEXPIRETIME", draw.key(), ...fieldsClause(draw)],
    (draw) => ["HGETDEL", draw.key(), ...fieldsClause(draw)],
    (draw) => ["HGETEX", draw.key(), ...draw.pick([draw.expiry(), ["PERSIST"], []]), ...fieldsClause(draw)],
    (draw) => ["HPERSIST", draw.key(), ...fieldsClause(draw)],
    (draw) => ["HPEXPIRE", draw.key(), draw.milliseconds(), ...condition(draw), ...fieldsClause(draw)],
    (draw) => ["HPEXPIREAT", draw.key(), draw.millisecondsMoment(), ...condition(draw), ...fieldsClause(draw)],
    (draw) => ["HPEXPIRETIME", draw.key(), ...fieldsClause(draw)],
    (draw) => ["HPTTL", draw.key(), ...fieldsClause(draw)],
    (draw) => {
      const set = pairs(draw);
      const options = draw.options([() => draw.expiry(), () => ["KEEPTTL"], () => ["FNX"], () => ["FXX"]], 2);
      return ["HSETEX", draw.key(), ...options, "FIELDS", `${set.length / 2}`, ...set];
    },
    (draw) => ["HTTL", draw.key(), ...fieldsClause(draw)],
  ],
  comparisons: new Map<string, Comparison>([
    ["HGETALL", asPairs],
    ["HKEYS", asMultiset],
    ["HVALS", asMultiset],
    ["HRANDFIELD", asDrawn],
    ["HSCAN", asScan],
    ["OBJECT", exact],
  ]),
};
