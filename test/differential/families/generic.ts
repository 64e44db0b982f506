/** Random commands on keys of any type. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { asMilliseconds, asMultiset, asSeconds, type Comparison, isList, isSame } from "../compare.ts";
import { type Draw, KEYS } from "../draw.ts";
import type { Family } from "../programs.ts";
import { asScanOf } from "../samples-and-scans.ts";

const PATTERNS: readonly Bytes[] = ["*", "**", "[a-c]", "[^a-c]", "?", "a*", "key:*", "*5", "\\a", "[", "*\xff*", ""];

function pattern(draw: Draw): Bytes {
  return draw.pick([...PATTERNS, ...KEYS]);
}

/**
 * Options of EXPIRE and PEXPIRE. GT or LT alone compare two times relative to now, and now advances for Redis
 * only; EXPIREAT has these options.
 */
function existenceOptions(draw: Draw): Bytes[] {
  return draw.oneIn(3) ? draw.options([() => ["NX"], () => ["XX"], () => ["GT", "LT"], () => ["what"]], 2) : [];
}

/** Times so far apart, and so far from the latest that we store, that both sides compare them equally. */
function comparedMoment(draw: Draw, unitMs: number): Bytes[] {
  const atMs = draw.pick([1_000, 2_000_000_000_000, 4_000_000_000_000, 4_000_000_001_000]);
  return [`${atMs / unitMs}`, ...draw.options([() => ["GT"], () => ["LT"], () => ["XX"], () => ["NX"]], 2)];
}

function copyOptions(draw: Draw): Bytes[] {
  return draw.options([() => ["REPLACE"], () => ["DB", draw.pick(["0", "99", "x", "-1"])]], 2);
}

function scanOptions(draw: Draw): Bytes[] {
  return draw.options([
    () => ["MATCH", pattern(draw)],
    () => ["COUNT", draw.oneIn(3) ? draw.count() : "1000"],
    () => ["TYPE", draw.pick(["string", "HASH", "list", "what"])],
  ]);
}

/** A copy onto itself is an error in Redis, and copies nothing here (A.particulars.copy). */
export const asCopy: Comparison = ({ command, ours, theirs }) =>
  isSame(ours, theirs) ||
  (command[1] === command[2] &&
    ours === 0 &&
    isSame(theirs, { kind: "error", error: { text: "ERR source and destination objects are the same" } }));

/** From here on the servers may store different times (skip list). */
const FAR_MS_MIN = 2 ** 47;

/**
 * GT and LT compare times that the servers store differently or equally: both far away, or both relative to a now that
 * advances for Redis only. Whatever they answer, the stored times are then close to each other.
 */
function asConditionalExpiry(msOf: (time: number) => number): Comparison {
  return ({ command, ours, theirs }) => {
    if (isSame(ours, theirs)) return true;
    const isConditional = command.slice(3).some((word) => ["GT", "LT"].includes(word.toUpperCase()));
    return isConditional && msOf(Number(command[2])) >= FAR_MS_MIN && isZeroOrOne(ours) && isZeroOrOne(theirs);
  };
}

function isZeroOrOne(reply: unknown): boolean {
  return reply === 0 || reply === 1;
}

/** Any key is accepted; the tests beside the command check that it exists. */
const asRandomKey: Comparison = ({ ours, theirs }) =>
  typeof ours === "string" ? typeof theirs === "string" : isSame(ours, theirs);

/**
 * Redis shares the objects of small integers: it counts references to them, and their idle time is that of the last
 * use of any key with that value, which may be longer than the age of the key. Idle seconds advance during the test.
 */
const asObject: Comparison = (exchange) => {
  const { command, ours, theirs } = exchange;
  const subcommand = (command[1] ?? "").toUpperCase();
  // The same form, but our own texts.
  if (subcommand === "HELP" && isList(ours)) return isList(theirs);
  if (subcommand === "IDLETIME")
    return asSeconds(exchange) || (typeof ours === "number" && typeof theirs === "number" && ours < theirs);
  if (subcommand === "REFCOUNT" && typeof ours === "number") return ours === 1 && typeof theirs === "number";
  return isSame(ours, theirs);
};

export const genericFamily: Family = {
  name: "generic",
  commands: [
    ...Array.from({ length: 8 }, () => (draw: Draw) => ["SET", draw.key(), draw.value()]),
    ...Array.from({ length: 4 }, () => (draw: Draw) => ["HSET", draw.key(), draw.text(), draw.value()]),
    (draw) => ["COPY", draw.key(), draw.key(), ...copyOptions(draw)],
    (draw) => ["COPY", draw.key(), draw.key(), "REPLACE"],
    (draw) => ["DEL", ...draw.keys()],
    (draw) => ["EXISTS", ...draw.keys()],
    (draw) => ["EXPIRE", draw.key(), draw.seconds(), ...existenceOptions(draw)],
    (draw) => ["EXPIREAT", draw.key(), draw.secondsMoment(), ...existenceOptions(draw)],
    (draw) => ["EXPIREAT", draw.key(), ...comparedMoment(draw, 1_000)],
    (draw) => ["EXPIRETIME", draw.key()],
    (draw) => ["KEYS", pattern(draw)],
    (draw) => ["OBJECT", "ENCODING", draw.key()],
    (draw) => ["OBJECT", draw.pick(["FREQ", "IDLETIME", "REFCOUNT", "what"]), draw.key()],
    () => ["OBJECT", "HELP"],
    (draw) => ["PERSIST", draw.key()],
    (draw) => ["PEXPIRE", draw.key(), draw.milliseconds(), ...existenceOptions(draw)],
    (draw) => ["PEXPIREAT", draw.key(), draw.millisecondsMoment(), ...existenceOptions(draw)],
    (draw) => ["PEXPIREAT", draw.key(), ...comparedMoment(draw, 1)],
    (draw) => ["PEXPIRETIME", draw.key()],
    (draw) => ["PTTL", draw.key()],
    () => ["RANDOMKEY"],
    (draw) => ["RENAME", draw.key(), draw.key()],
    (draw) => ["RENAMENX", draw.key(), draw.key()],
    (draw) => ["SCAN", draw.oneIn(6) ? draw.integer() : "0", ...scanOptions(draw)],
    (draw) => ["TOUCH", ...draw.keys()],
    (draw) => ["TTL", draw.key()],
    (draw) => ["TYPE", draw.key()],
    // Two keys at least: with none, Redis refuses and we do not (skip list).
    (draw) => ["UNLINK", draw.key(), ...draw.keys()],
    (draw) => ["WAIT", draw.pick(["0", "x", "-1"]), draw.pick(["0", "1", "x", "-1"])],
  ],
  extensions: [
    (draw) => ["SCAN", "0", "WITHTYPE", ...scanOptions(draw)],
    (draw) => ["WAITAOF", draw.count(), draw.count(), draw.count()],
  ],
  comparisons: new Map<string, Comparison>([
    ["COPY", asCopy],
    ["EXPIRE", asConditionalExpiry(() => FAR_MS_MIN)],
    ["EXPIREAT", asConditionalExpiry((seconds) => seconds * 1_000)],
    ["EXPIRETIME", asSeconds],
    ["KEYS", asMultiset],
    ["OBJECT", asObject],
    ["PEXPIRE", asConditionalExpiry(() => FAR_MS_MIN)],
    ["PEXPIREAT", asConditionalExpiry((ms) => ms)],
    ["PEXPIRETIME", asMilliseconds],
    ["PTTL", asMilliseconds],
    ["RANDOMKEY", asRandomKey],
    ["SCAN", asScanOf(asMultiset, { cursorAt: 1 })],
    ["TTL", asSeconds],
  ]),
};
