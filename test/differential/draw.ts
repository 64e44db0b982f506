/**
 * The parts of random commands. A `Draw` gives keys, numbers, values and
 * options where implementations differ: at the ends of their ranges,
 * just outside, and in spellings that one parser accepts and another
 * does not. The same seed draws the same words.
 */
import type { Bytes } from "../../src/kernel/bytes.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";

/** Few keys, so that commands share keys: plain ones, the empty one, binary, and one beyond Redis' embedded strings. */
export const KEYS: readonly Bytes[] = [
  "a",
  "b",
  "c",
  "d",
  "key:5",
  "",
  "\x00\xff\r\n",
  "a key that is longer than the forty-four bytes of an embedded string",
];

const GOOD_INTEGERS: readonly Bytes[] = [
  ...["0", "1", "-1", "2", "3", "-3", "7", "10", "-10", "99", "100", "1000000"],
  ...["2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296"],
  ...["9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740991", "-9007199254740993"],
  ...["4611686018427387904", "-4611686018427387905"],
  ...["9223372036854775806", "9223372036854775807", "-9223372036854775807", "-9223372036854775808"],
];
const BAD_INTEGERS: readonly Bytes[] = [
  ...["", " 1", "1 ", "+1", "01", "-0", "-", "--1", "1.0", "1e3", "0x10", "abc", "1\x00", "\xff"],
  ...["9223372036854775808", "-9223372036854775809", "18446744073709551615", "99999999999999999999"],
];
const GOOD_FLOATS: readonly Bytes[] = [
  ...["0", "-0", "0.1", "0.2", "1.5", "-1.5", ".5", "5.", "3.0", "3.0e3", "1e3", "+2", "007", "1e-7", "1e17"],
  ...["3.14159265358979323846", "123456789.123456789", "9007199254740993", "9223372036854775807"],
  ...["1e308", "-1e308", "1.7976931348623157e308", "5e-324", "1e-4940", "1e400", "1e4000"],
  ...["inf", "-inf", "+Inf", "infinity", "0x10", "0x1.8p1", "-0xA"],
];
const BAD_FLOATS: readonly Bytes[] = [
  "",
  " 1",
  "1 ",
  "nan",
  "-nan",
  "abc",
  "1e",
  "1.2.3",
  "1_000",
  "1e5000",
  "0x",
  "1\x00",
];

/** Lengths around those at which Redis or we change the encoding of a string. */
const LONG_LENGTHS: readonly number[] = [43, 44, 45, 63, 64, 65, 127, 128, 4_095, 4_096, 4_097, 5_000];

const SECONDS_TO_LIVE: readonly Bytes[] = ["100", "3600", "86400", "100000000", "281474976710", "9223372036854775"];
const MILLISECONDS_TO_LIVE: readonly Bytes[] = [
  ...["100000", "3600001", "86400123", "281474976710656", "9223370000000000000"],
];
const SECONDS_AHEAD: readonly Bytes[] = ["2000000000", "4000000000", "281474976710", "9223372036854775"];
const MILLISECONDS_AHEAD: readonly Bytes[] = [
  ...["2000000000000", "4000000000001", "281474976710655", "281474976710656", "9223372036854775807"],
];
/** Never a time in the near future: it would pass at one server sooner than at the other. */
const MOMENTS_PAST: readonly Bytes[] = ["1", "1000", "1000000000"];
const BAD_TIMES: readonly Bytes[] = [
  ...["0", "-1", "-100", "9223372036854776", "-9223372036854775808", "9223372036854775808", "abc", "", "1.5"],
];

/** Words that make a command invalid. None is a small positive number: after EX it would be a time that passes. */
const JUNK: readonly Bytes[] = ["", "x", "\xff\r\n", "-1", "NX", "XX", "GET", "EX", "LIMIT", "9223372036854775808"];

export class Draw {
  readonly random: Random;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** A whole number from 0 to bound - 1. */
  below(bound: number): number {
    return this.random.below(bound);
  }

  /** True with a probability of one in `count`. */
  oneIn(count: number): boolean {
    return this.random.below(count) === 0;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.random.below(items.length)] as T;
  }

  /** One of eight keys, the first ones more often. */
  key(): Bytes {
    return KEYS[Math.min(this.below(KEYS.length), this.below(KEYS.length))] as Bytes;
  }

  /** From one to `countMax` keys; duplicates are possible. */
  keys(countMax = 4): Bytes[] {
    return this.list(countMax, () => this.key());
  }

  list<T>(countMax: number, make: () => T): T[] {
    return Array.from({ length: 1 + this.below(countMax) }, make);
  }

  /** An integer at one of the edges, sometimes malformed. */
  integer(): Bytes {
    return this.oneIn(8) ? this.pick(BAD_INTEGERS) : this.pick(GOOD_INTEGERS);
  }

  /**
   * A small integer, including negative ones; sometimes one of `integer`. Not where Redis would accept a large number
   * and reply with or reserve that much.
   */
  count(): Bytes {
    return this.oneIn(10) ? this.integer() : `${this.below(16) - 4}`;
  }

  /** An offset in a string: small, around 4 KiB, or beyond 512 MB, and none in between, which would take memory. */
  offset(): Bytes {
    if (this.oneIn(12)) return this.pick(["536870912", "2147483648", "9223372036854775807", ...BAD_INTEGERS]);
    return `${this.oneIn(4) ? 4_090 + this.below(12) : this.below(40) - 15}`;
  }

  float(): Bytes {
    return this.oneIn(8) ? this.pick(BAD_FLOATS) : this.pick(GOOD_FLOATS);
  }

  /** A short word of letters. */
  text(): Bytes {
    return this.pick(["hello", "world", "foo", "ohmytext", "mynewtext", "f", "", "OK", "nil"]);
  }

  /** Some bytes of all kinds. */
  binary(): Bytes {
    return String.fromCharCode(...this.list(12, () => this.below(256)));
  }

  /** Text of a length near one of the limits. */
  long(): Bytes {
    const length = this.pick(LONG_LENGTHS);
    return this.pick(["x", "ab", "123456789", "\xe9\x00"]).repeat(length).slice(0, length);
  }

  /** Any value of a string. */
  value(): Bytes {
    switch (this.below(8)) {
      case 0:
        return this.binary();
      case 1:
        return this.long();
      case 2:
        return this.float();
      case 3:
      case 4:
        return this.integer();
      default:
        return this.text();
    }
  }

  /** A time to live in seconds: far longer than a program, or refused. */
  seconds(): Bytes {
    return this.pick(this.oneIn(4) ? BAD_TIMES : SECONDS_TO_LIVE);
  }

  milliseconds(): Bytes {
    return this.pick(this.oneIn(4) ? BAD_TIMES : MILLISECONDS_TO_LIVE);
  }

  /** A time in seconds since the epoch: far in the future, long past, or refused. */
  secondsMoment(): Bytes {
    return this.pick(this.pick([SECONDS_AHEAD, SECONDS_AHEAD, MOMENTS_PAST, BAD_TIMES]));
  }

  millisecondsMoment(): Bytes {
    return this.pick(this.pick([MILLISECONDS_AHEAD, MILLISECONDS_AHEAD, MOMENTS_PAST, BAD_TIMES]));
  }

  /** An expiry among the options of SET and its like. */
  expiry(): Bytes[] {
    return this.pick([
      () => ["EX", this.seconds()],
      () => ["PX", this.milliseconds()],
      () => ["EXAT", this.secondsMoment()],
      () => ["PXAT", this.millisecondsMoment()],
    ])();
  }

  /**
   * Some of the options, in any order, sometimes duplicated, cut short, or in mixed letter case. Each choice is a whole
   * option: its word and its arguments.
   */
  options(choices: readonly (() => Bytes[])[], countMax = 3): Bytes[] {
    const words: Bytes[] = [];
    for (let count = this.below(countMax + 1); count > 0; count -= 1) {
      const [word = "", ...rest] = this.pick(choices)();
      words.push(this.oneIn(3) ? this.oddCase(word) : word, ...rest);
    }
    if (this.oneIn(20)) words.pop();
    return words;
  }

  /** The same word in small, capital or mixed letters. */
  oddCase(word: Bytes): Bytes {
    if (this.oneIn(2)) return word.toLowerCase();
    return Array.from(word, (letter) => (this.oneIn(2) ? letter.toLowerCase() : letter.toUpperCase())).join("");
  }

  /** Sometimes damages a command: mixed case, a word missing, added or replaced. */
  damage(words: Bytes[]): Bytes[] {
    if (this.oneIn(6)) words[0] = this.oddCase(words[0] ?? "");
    // The name stays: we refuse unknown commands with another text than Redis.
    if (this.oneIn(60) && words.length > 1) words.pop();
    if (this.oneIn(60)) words.push(this.pick(JUNK));
    if (this.oneIn(60) && words.length > 1) words[1 + this.below(words.length - 1)] = this.pick(JUNK);
    return words;
  }
}
