/** Random hash commands. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { asMultiset, asPairs, type Comparison, exact } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import { asDrawn, asScanOf, sampleCount, scanOptions } from "../samples-and-scans.ts";

/** Few fields, so that commands share them, including names of properties of every object. */
const FIELDS: readonly Bytes[] = ["f", "g", "field", "", "\x00\xff\r\n", "__proto__", "constructor", "toString"];

function field(draw: Draw): Bytes {
  return draw.oneIn(10) ? draw.value() : (FIELDS[Math.min(draw.below(8), draw.below(8))] as Bytes);
}

function pairs(draw: Draw): Bytes[] {
  // Sometimes enough of them to exceed the compact encoding of a small hash, ours and Redis' own.
  if (draw.oneIn(12)) return draw.list(draw.pick([40, 140, 300]), () => [`f${draw.below(600)}`, draw.text()]).flat();
  return draw.list(3, () => [field(draw), draw.value()]).flat();
}

const SCAN = {
  patterns: ["*", "f*", "[a-g]", "?", "*o*", "f[12]?"],
  wholeCount: "1000",
  others: [() => ["TYPE", "hash"]],
};

function fieldsClause(draw: Draw): Bytes[] {
  const fields = draw.list(3, () => field(draw));
  const count = draw.oneIn(12) ? draw.count() : `${fields.length}`;
  return [draw.oneIn(8) ? draw.oddCase("FIELDS") : "FIELDS", count, ...fields];
}

function condition(draw: Draw): Bytes[] {
  return draw.oneIn(2) ? [] : [draw.pick(["NX", "XX", "GT", "LT"])];
}

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
    (draw) => ["HSCAN", draw.key(), draw.oneIn(8) ? draw.integer() : "0", ...scanOptions(draw, SCAN)],
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
      const fields = ["FIELDS", `${set.length / 2}`, ...set];
      return ["HSETEX", draw.key(), ...(draw.oneIn(3) ? [...fields, ...options] : [...options, ...fields])];
    },
    (draw) => ["HTTL", draw.key(), ...fieldsClause(draw)],
  ],
  comparisons: new Map<string, Comparison>([
    ["HGETALL", asPairs],
    ["HKEYS", asMultiset],
    ["HVALS", asMultiset],
    ["HRANDFIELD", asDrawn],
    ["HSCAN", asScanOf(asPairs, { cursorAt: 2 })],
    ["OBJECT", exact],
  ]),
};
