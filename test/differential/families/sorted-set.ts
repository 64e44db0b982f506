/**
 * Random sorted-set commands. Ranges of bytes have their own family, in which all scores are equal: among unequal
 * ones the reply of Redis depends on the random shape of a skip list.
 */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { asPairs, type Comparison, exact, isError, isList, isSame } from "../compare.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";
import type { RawReply } from "../redis-process.ts";
import { asDrawn, asScanOf, sampleCount, scanOptions } from "../samples-and-scans.ts";

/** Few members, so that commands share them; their bytes are not in the order of their letters. */
const MEMBERS: readonly Bytes[] = ["a", "b", "c", "aa", "B", "", "\x00\xff\r\n", "\xff", "__proto__", "toString"];

const SCORES: readonly Bytes[] = ["0", "-0", "1", "1", "2", "2", "3", "-1", "0.1", "0.2", "1.5", "1e17", "inf", "-inf"];

function member(draw: Draw): Bytes {
  if (draw.oneIn(10)) return draw.value();
  return draw.pick(MEMBERS);
}

function score(draw: Draw): Bytes {
  return draw.oneIn(4) ? draw.float() : draw.pick(SCORES);
}

function pairs(draw: Draw): Bytes[] {
  // Sometimes enough to exceed the compact encoding of a small set; one score, so that ranges of bytes are defined.
  if (draw.oneIn(12)) {
    const same = draw.oneIn(2) ? score(draw) : undefined;
    return draw.list(draw.pick([40, 140, 300]), () => [same ?? `${draw.below(50)}`, `m${draw.below(600)}`]).flat();
  }
  return draw.list(3, () => [score(draw), member(draw)]).flat();
}

function addOptions(draw: Draw): Bytes[] {
  if (draw.oneIn(2)) return [];
  return draw.options([() => ["NX"], () => ["XX"], () => ["GT"], () => ["LT"], () => ["CH"], () => ["INCR"]]);
}

function rank(draw: Draw): Bytes {
  return draw.oneIn(12) ? draw.integer() : `${draw.below(16) - 6}`;
}

function scoreBound(draw: Draw): Bytes {
  if (draw.oneIn(10)) return draw.pick(["", "(", " 1", "( 2", "1e400", "-1e400", "1\x00x", "nan", "((1", "1 ", "+inf"]);
  const bound = draw.oneIn(3) ? draw.pick(["-inf", "+inf", "inf"]) : score(draw);
  return draw.oneIn(4) ? `(${bound}` : bound;
}

function lexBound(draw: Draw): Bytes {
  if (draw.oneIn(12)) return draw.pick(["", "(", "[", "a", "--", "+x", "-\x00x", "]"]);
  if (draw.oneIn(3)) return draw.pick(["-", "+"]);
  return `${draw.pick(["[", "("])}${draw.oneIn(3) ? `m${draw.below(600)}` : member(draw)}`;
}

function limit(draw: Draw): Bytes[] {
  return ["LIMIT", rank(draw), draw.oneIn(4) ? "-1" : rank(draw)];
}

const withScores = (): Bytes[] => ["WITHSCORES"];

function rangeWords(draw: Draw): Bytes[] {
  const by = draw.pick(["", "BYSCORE"]);
  const bound = by === "" ? rank : scoreBound;
  const rest = draw.options([() => limit(draw), () => ["REV"]], 2);
  if (draw.oneIn(8)) rest.push(draw.pick(["BYSCORE", "WITHSCORES", "x"]));
  return [bound(draw), bound(draw), ...(by === "" ? [] : [by]), ...rest];
}

/** Without LIMIT of ranks, which would store another set here (skip list: "ZRANGE and ZRANGESTORE with LIMIT and ranks"). */
function storedRangeWords(draw: Draw): Bytes[] {
  if (draw.oneIn(2)) return [rank(draw), rank(draw), ...draw.options([() => ["REV"], () => ["WITHSCORES"]], 2)];
  return [scoreBound(draw), scoreBound(draw), "BYSCORE", ...draw.options([() => limit(draw), () => ["REV"]], 2)];
}

/** Members of one score, sometimes more than a small set has. */
function equalPairs(draw: Draw): Bytes[] {
  if (draw.oneIn(8)) return draw.list(draw.pick([40, 140, 300]), () => ["0", `m${draw.below(600)}`]).flat();
  return draw.list(5, () => ["0", member(draw)]).flat();
}

function lexWords(draw: Draw): Bytes[] {
  return [lexBound(draw), lexBound(draw), ...draw.options([() => limit(draw)], 1)];
}

function lexRangeWords(draw: Draw): Bytes[] {
  const rest = draw.options([() => limit(draw), () => ["REV"], () => ["BYSCORE"]], 2);
  return [lexBound(draw), lexBound(draw), "BYLEX", ...rest];
}

function inputs(draw: Draw): { words: Bytes[]; count: number } {
  const keys = draw.keys(3);
  return { words: [draw.oneIn(12) ? draw.count() : `${keys.length}`, ...keys], count: keys.length };
}

function combination(draw: Draw, options: { withScores: boolean }): Bytes[] {
  const { words, count } = inputs(draw);
  const choices = [
    () => ["WEIGHTS", ...Array.from({ length: count }, () => score(draw))],
    () => ["AGGREGATE", draw.pick(["SUM", "min", "MAX", "Sum", "avg"])],
    ...(options.withScores || draw.oneIn(20) ? [withScores] : []),
  ];
  return [...words, ...draw.options(choices)];
}

const SCAN = {
  patterns: ["*", "m*", "[a-g]", "?", "*o*", "m[12]?"],
  wholeCount: "1000",
  others: [() => ["NOVALUES"]],
};

const asScoredPairs: Comparison = ({ command, ours, theirs }) =>
  asPairs({ command, ours: withNumbers(ours), theirs: withNumbers(theirs) });

/** Members with scores, flat, the scores as numbers: the servers spell them differently. */
function withNumbers(elements: RawReply): RawReply {
  if (!isList(elements)) return elements;
  return elements.map((element, i) => (i % 2 === 1 && typeof element === "string" ? numberOf(element) : element));
}

function numberOf(text: string): number {
  return /^-?inf$/.test(text) ? Number(text.replace("inf", "Infinity")) : Number(text);
}

const LIMIT_REFUSED = "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX";

/** LIMIT is also accepted with ranks (skip list: "ZRANGE and ZRANGESTORE with LIMIT and ranks"). */
const asRange: Comparison = ({ ours, theirs }) =>
  isSame(ours, theirs) ||
  (isSame(theirs, { kind: "error", error: { text: LIMIT_REFUSED } }) &&
    (!isError(ours) ||
      isSame(ours, { kind: "error", error: { text: "ERR value is not an integer or out of range" } }) ||
      isWrongType(ours)));

function isWrongType(reply: Parameters<Comparison>[0]["ours"]): boolean {
  const text = "WRONGTYPE Operation against a key holding the wrong kind of value";
  return isSame(reply, { kind: "error", error: { text } });
}

export const sortedSetFamily: Family = {
  name: "sorted set",
  // With a word too few, a LIMIT of scores would be one of ranks; with one more, a rank has an option of Redis 7.2.
  undamaged: new Set(["ZRANGESTORE", "ZRANK", "ZREVRANK"]),
  commands: [
    ...Array.from({ length: 5 }, () => (draw: Draw) => ["ZADD", draw.key(), ...addOptions(draw), ...pairs(draw)]),
    (draw) => [
      "ZADD",
      draw.key(),
      ...draw.options([() => ["GT"], () => ["LT"], () => ["XX"]], 2),
      "INCR",
      score(draw),
      member(draw),
    ],
    (draw) => ["ZCARD", draw.key()],
    (draw) => ["ZCOUNT", draw.key(), scoreBound(draw), scoreBound(draw)],
    (draw) => ["ZDIFF", ...inputs(draw).words, ...draw.options([withScores], 1)],
    (draw) => ["ZDIFFSTORE", draw.key(), ...inputs(draw).words],
    (draw) => ["ZINCRBY", draw.key(), score(draw), member(draw)],
    (draw) => ["ZINCRBY", draw.key(), score(draw), member(draw)],
    (draw) => ["ZINTER", ...combination(draw, { withScores: true })],
    (draw) => ["ZINTERCARD", ...inputs(draw).words, ...draw.options([() => ["LIMIT", draw.count()]], 1)],
    (draw) => ["ZINTERSTORE", draw.key(), ...combination(draw, { withScores: false })],
    (draw) => [
      "ZMPOP",
      ...inputs(draw).words,
      draw.pick(["MIN", "max", "MAX", "x"]),
      ...draw.options([() => ["COUNT", draw.count()]], 1),
    ],
    (draw) => ["ZMSCORE", draw.key(), ...draw.list(4, () => member(draw))],
    (draw) => ["ZPOPMAX", draw.key(), ...draw.options([() => [draw.count()]], 1)],
    (draw) => ["ZPOPMIN", draw.key(), ...draw.options([() => [draw.count()]], 1)],
    (draw) => ["ZRANDMEMBER", draw.key()],
    (draw) => ["ZRANDMEMBER", draw.key(), sampleCount(draw), ...draw.options([withScores], 1)],
    (draw) => ["ZRANGE", draw.key(), ...rangeWords(draw), ...draw.options([withScores], 1)],
    (draw) => ["ZRANGE", draw.key(), ...rangeWords(draw)],
    (draw) => [
      "ZRANGEBYSCORE",
      draw.key(),
      scoreBound(draw),
      scoreBound(draw),
      ...draw.options([() => limit(draw), withScores], 2),
    ],
    (draw) => ["ZRANGESTORE", draw.key(), draw.key(), ...storedRangeWords(draw)],
    (draw) => ["ZRANK", draw.key(), member(draw)],
    (draw) => ["ZREM", draw.key(), ...draw.list(3, () => member(draw))],
    (draw) => ["ZREMRANGEBYRANK", draw.key(), rank(draw), rank(draw)],
    (draw) => ["ZREMRANGEBYSCORE", draw.key(), scoreBound(draw), scoreBound(draw)],
    (draw) => ["ZREVRANGE", draw.key(), rank(draw), rank(draw), ...draw.options([withScores], 1)],
    (draw) => [
      "ZREVRANGEBYSCORE",
      draw.key(),
      scoreBound(draw),
      scoreBound(draw),
      ...draw.options([() => limit(draw), withScores], 2),
    ],
    (draw) => ["ZREVRANK", draw.key(), member(draw)],
    (draw) => ["ZSCAN", draw.key(), draw.oneIn(8) ? draw.integer() : "0", ...scanOptions(draw, SCAN)],
    (draw) => ["ZSCORE", draw.key(), member(draw)],
    (draw) => ["ZUNION", ...combination(draw, { withScores: true })],
    (draw) => ["ZUNIONSTORE", draw.key(), ...combination(draw, { withScores: false })],
    (draw) => ["OBJECT", "ENCODING", draw.key()],
  ],
  extensions: [
    (draw) => ["ZRANGESTORE", draw.key(), draw.key(), rank(draw), rank(draw), ...limit(draw)],
    (draw) => [draw.pick(["ZRANK", "ZREVRANK"]), draw.key(), member(draw), "WITHSCORE"],
    (draw) => [
      ...[draw.pick(["ZUNIONSTORE", "ZINTERSTORE"]), draw.key(), ...combination(draw, { withScores: false })],
      ...["AGGREGATE", "COUNT"],
    ],
  ],
  comparisons: new Map<string, Comparison>([
    ["ZRANDMEMBER", asDrawn],
    ["ZRANGE", asRange],
    ["ZSCAN", asScanOf(asScoredPairs, { cursorAt: 2 })],
    ["OBJECT", exact],
  ]),
};

export const sortedSetLexFamily: Family = {
  name: "sorted set by bytes",
  // With a word too few or a wrong one, scores would differ, or a LIMIT of bytes would be one of ranks.
  undamaged: new Set(["ZADD", "ZRANGESTORE"]),
  commands: [
    ...Array.from({ length: 3 }, () => (draw: Draw) => ["ZADD", draw.key(), ...equalPairs(draw)]),
    (draw) => ["ZLEXCOUNT", draw.key(), lexBound(draw), lexBound(draw)],
    (draw) => ["ZPOPMIN", draw.key(), ...draw.options([() => [draw.count()]], 1)],
    (draw) => ["ZRANGE", draw.key(), ...lexRangeWords(draw), ...(draw.oneIn(6) ? ["WITHSCORES"] : [])],
    (draw) => ["ZRANGEBYLEX", draw.key(), ...lexWords(draw)],
    (draw) => ["ZRANGESTORE", draw.key(), draw.key(), ...lexRangeWords(draw)],
    (draw) => ["ZREM", draw.key(), ...draw.list(3, () => member(draw))],
    (draw) => ["ZREMRANGEBYLEX", draw.key(), lexBound(draw), lexBound(draw)],
    (draw) => ["ZREVRANGEBYLEX", draw.key(), ...lexWords(draw)],
    (draw) => ["OBJECT", "ENCODING", draw.key()],
  ],
};
