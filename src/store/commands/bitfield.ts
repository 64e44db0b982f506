/**
 * BITFIELD: integers of 1 to 64 bits at any bit of a string, read, set and
 * added to. The whole command is parsed before anything is done.
 *
 * Values are bigints here: 64 bits, with the arithmetic of Redis. Fields of up
 * to 32 bits, the usual ones, take the fast path in `bitfield-narrow.ts`.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import type { KeyUse, OperandCounts } from "../command-facts.ts";
import { bitfieldOnlyGets, bitfieldOverflowInvalid, bitfieldTypeInvalid, notInteger, syntaxError } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { setStringRange } from "../mutations/string.ts";
import { events } from "../observe/keyspace-events.ts";
import { nil, type Reply } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { byteAt, type StringValue } from "../values/string.ts";
import { isFarOffset, readBitOffset } from "./bit-offset.ts";
import {
  byteCountOf,
  type FieldType,
  fieldType,
  firstByteOf,
  isNarrow,
  readNarrow,
  wrapNarrow,
  writtenNarrow,
} from "./bitfield-narrow.ts";
import { read, readAndUpdated } from "./command-keys.ts";

type Overflow = "WRAP" | "SAT" | "FAIL";

interface Step {
  readonly kind: "get" | "set" | "add";
  readonly type: FieldType;
  readonly offset: number;
  /** 0 for a read. */
  readonly operand: number | bigint;
  readonly overflow: Overflow;
}

export function bitfield(call: Call): Reply {
  const { keyspace, words } = call;
  const steps = readSteps(words);
  const key = words[1] as Bytes;
  // Refuses other types.
  const string = keyspace.readString(key);
  // As Redis: this command looks the key up for writing, unless it only reads.
  if (string === undefined && steps.every(({ kind }) => kind === "get")) keyspace.notify(events.keymiss, key);
  // As Redis: the string grows to the farthest bit that may be written, even if nothing is written there.
  const length = writtenLength(steps);
  const isGrown = length > (string?.length ?? 0);
  const target: Target = { keyspace, key, string, isGrown, isChanged: false };
  if (isGrown) overwrite(target, length - 1, "\x00");
  const [first] = steps;
  // Most commands have one step, for which no function is made.
  const replies = steps.length === 1 && first !== undefined ? [runStep(target, first)] : runSteps(target, steps);
  if (target.isChanged) keyspace.notify(events.setbit, key);
  return replies;
}

function runSteps(target: Target, steps: readonly Step[]): Reply[] {
  return steps.map((step) => runStep(target, step));
}

/** The string, and whether a step has changed it. As in Redis, after growth every step that writes is a change. */
interface Target {
  readonly keyspace: Keyspace;
  readonly key: Bytes;
  /** The string at the key now. */
  string: StringValue | undefined;
  readonly isGrown: boolean;
  isChanged: boolean;
}

function overwrite(target: Target, offset: number, bytes: Bytes): void {
  target.string = setStringRange(target.keyspace, target.key, { offset, bytes, old: target.string });
}

/** The bytes up to the farthest bit that a step may write. */
function writtenLength(steps: readonly Step[]): number {
  let length = 0;
  for (const { kind, offset, type } of steps)
    if (kind !== "get") length = Math.max(length, firstByteOf(offset) + byteCountOf(offset, type.bits));
  return length;
}

/** The number of words after each step that writes nothing. */
const operandCounts: OperandCounts = new Map([
  ["GET", 2],
  ["OVERFLOW", 1],
]);

/** A command with GET steps only is a read. Any other step, also a malformed or incomplete one, may write. */
export function bitfieldUses(words: readonly Bytes[]): readonly KeyUse[] {
  for (let at = 2; at < words.length; at += 1) {
    const operandCount = operandCounts.get(upperCase(words[at] as Bytes));
    if (operandCount === undefined || at + operandCount >= words.length) return [readAndUpdated];
    at += operandCount;
  }
  return [read];
}

/** Whether a step may write far after the end of the string. Words that are not offsets cost nothing but a look. */
export function hasFarField(words: readonly Bytes[]): boolean {
  for (let at = 4; at < words.length; at += 1) if (isFarOffset(words[at] as Bytes)) return true;
  return false;
}

export function bitfieldReadOnly(call: Call): Reply {
  const steps = readSteps(call.words);
  if (steps.some((step) => step.kind !== "get")) throw bitfieldOnlyGets;
  const { keyspace, arg } = call;
  const value = keyspace.readString(arg(1));
  return steps.map(({ type, offset }) => readAny(value, type, offset));
}

function readSteps(words: readonly Bytes[]): Step[] {
  const { length } = words;
  let steps: Step[] = [];
  let overflow: Overflow = "WRAP";
  for (let i = 2; i < length; ) {
    const left = length - i - 1;
    const name = nameOf(words[i] as Bytes);
    if (name === "OVERFLOW" && left >= 1) {
      overflow = readOverflow(upperCase(words[i + 1] as Bytes));
      i += 2;
    } else if (name === "GET" && left >= 2) {
      const type = readType(words[i + 1] as Bytes);
      const offset = readBitOffset(words[i + 2] as Bytes, type.bits);
      steps = withStep(steps, { kind: "get", type, offset, operand: 0, overflow });
      i += 3;
    } else if ((name === "SET" || name === "INCRBY") && left >= 3) {
      const type = readType(words[i + 1] as Bytes);
      const offset = readBitOffset(words[i + 2] as Bytes, type.bits);
      const operand = parseInteger(words[i + 3] as Bytes);
      if (operand === undefined) throw notInteger;
      steps = withStep(steps, { kind: name === "SET" ? "set" : "add", type, offset, operand, overflow });
      i += 4;
    } else {
      throw syntaxError;
    }
  }
  return steps;
}

/** The name of a step in upper case, in which it mostly is: then no letter is looked at alone. */
function nameOf(word: Bytes): string {
  if (word === "INCRBY") return "INCRBY";
  if (word === "GET") return "GET";
  return word === "SET" ? "SET" : upperCase(word);
}

/** Adds a step. A literal has room for the one that most commands have, an array that grows begins with room for 17. */
function withStep(steps: Step[], step: Step): Step[] {
  if (steps.length === 0) return [step];
  steps.push(step);
  return steps;
}

function readOverflow(word: string): Overflow {
  if (word !== "WRAP" && word !== "SAT" && word !== "FAIL") throw bitfieldOverflowInvalid;
  return word;
}

const SIGNED_BITS_MAX = 64;
const UNSIGNED_BITS_MAX = 63;

/** By their number of bits. */
const signedTypes = Array.from({ length: SIGNED_BITS_MAX + 1 }, (_, bits) => fieldType({ isSigned: true, bits }));
const unsignedTypes = Array.from({ length: UNSIGNED_BITS_MAX + 1 }, (_, bits) => fieldType({ isSigned: false, bits }));

const SMALL_I = 0x69;
const SMALL_U = 0x75;
const ZERO_DIGIT = 0x30;

/** `i1` to `i64`, `u1` to `u63`, in lower case. */
function readType(text: Bytes): FieldType {
  const letter = text.charCodeAt(0);
  if (letter !== SMALL_I && letter !== SMALL_U) throw bitfieldTypeInvalid;
  const bits = readBits(text);
  if (bits === 0 || bits > (letter === SMALL_I ? SIGNED_BITS_MAX : UNSIGNED_BITS_MAX)) throw bitfieldTypeInvalid;
  return (letter === SMALL_I ? signedTypes : unsignedTypes)[bits] as FieldType;
}

/** Reads the number after the letter of a type. Returns 0 for other texts and for a number that no type has. */
function readBits(text: Bytes): number {
  let bits = 0;
  for (let at = 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // A C string ends at its first zero byte.
    if (code === 0) return bits;
    const digit = code - ZERO_DIGIT;
    if (digit < 0 || digit > 9 || (digit === 0 && bits === 0)) return 0;
    bits = bits * 10 + digit;
    if (bits > SIGNED_BITS_MAX) return 0;
  }
  return bits;
}

function runStep(target: Target, step: Step): Reply {
  const { kind, type, offset, operand } = step;
  if (kind === "get") return readAny(target.string, type, offset);
  return typeof operand === "number" && isNarrow(type, operand, kind === "set")
    ? runNarrowStep(target, step, operand)
    : runWideStep(target, step, BigInt(operand));
}

function runNarrowStep(target: Target, step: Step, operand: number): Reply {
  const { kind, type, offset, overflow } = step;
  const { string } = target;
  const old = readNarrow(string, type, offset);
  const sum = kind === "set" ? operand : old + operand;
  let field = sum;
  if (sum < type.least || sum > type.most) {
    if (overflow === "FAIL") return nil;
    if (overflow === "WRAP") field = wrapNarrow(type, sum);
    else field = sum < type.least ? type.least : type.most;
  }
  if (field !== old || target.isGrown) target.isChanged = true;
  if (field !== old) overwrite(target, firstByteOf(offset), writtenNarrow(string, step, field));
  return kind === "set" ? old : field;
}

function readAny(value: StringValue | undefined, type: FieldType, offset: number): number | bigint {
  return isNarrow(type, 0, false) ? readNarrow(value, type, offset) : numberOf(readField(value, type, offset));
}

function runWideStep(target: Target, step: Step, given: bigint): Reply {
  const { type, offset } = step;
  const old = readField(target.string, type, offset);
  // A value set in an unsigned field counts as 64 bits.
  const operand = step.kind === "set" && !type.isSigned ? BigInt.asUintN(64, given) : given;
  const [start, increment] = step.kind === "set" ? [operand, 0n] : [old, operand];
  const bound = type.isSigned
    ? overflowOfSigned(start, increment, type.bits)
    : overflowOfUnsigned(start, increment, type.bits);
  let changed = start + increment;
  if (bound !== undefined) {
    if (step.overflow === "FAIL") return nil;
    changed = step.overflow === "SAT" ? bound : wrapped(changed, type);
  }
  if (changed !== old || target.isGrown) target.isChanged = true;
  if (changed !== old) writeField(target, { type, offset, field: changed });
  return numberOf(step.kind === "set" ? old : changed);
}

/** The bound that the sum would exceed, or undefined if it stays in range. */
function overflowOfUnsigned(value: bigint, increment: bigint, bits: number): bigint | undefined {
  const most = (1n << BigInt(bits)) - 1n;
  if (value > most || (increment > 0n && value + increment > most)) return most;
  return increment < 0n && value + increment < 0n ? 0n : undefined;
}

/** Like `overflowOfUnsigned`. The differences wrap around in 64 bits, as in Redis. */
function overflowOfSigned(value: bigint, increment: bigint, bits: number): bigint | undefined {
  const most = (1n << BigInt(bits - 1)) - 1n;
  const least = -most - 1n;
  const upwards = BigInt.asIntN(64, most - value);
  const downwards = BigInt.asIntN(64, least - value);
  const isNarrow = bits !== 64;
  if (value > most || (increment > upwards && (isNarrow || (value >= 0n && increment > 0n)))) return most;
  if (value < least || (increment < downwards && (isNarrow || (value < 0n && increment < 0n)))) return least;
  return undefined;
}

function wrapped(value: bigint, { isSigned, bits }: FieldType): bigint {
  return isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
}

/** The bits of all bytes that contain the field, the number of bits after it, and its first byte. */
function bytesAround(value: StringValue | undefined, { bits }: FieldType, offset: number) {
  const firstByte = Math.floor(offset / 8);
  const lastByte = Math.floor((offset + bits - 1) / 8);
  let whole = 0n;
  for (let i = firstByte; i <= lastByte; i += 1) whole = (whole << 8n) | BigInt(byteAt(value, i));
  return { whole, firstByte, byteCount: lastByte - firstByte + 1, shift: BigInt((lastByte + 1) * 8 - offset - bits) };
}

function readField(value: StringValue | undefined, type: FieldType, offset: number): bigint {
  const { whole, shift } = bytesAround(value, type, offset);
  return wrapped(whole >> shift, type);
}

function writeField(target: Target, change: { type: FieldType; offset: number; field: bigint }): void {
  const { type, offset, field } = change;
  const { whole, firstByte, byteCount, shift } = bytesAround(target.string, type, offset);
  const mask = ((1n << BigInt(type.bits)) - 1n) << shift;
  const written = (whole & ~mask) | ((field << shift) & mask);
  let bytes = "";
  for (let i = byteCount - 1; i >= 0; i -= 1) bytes += String.fromCharCode(Number((written >> BigInt(8 * i)) & 0xffn));
  overwrite(target, firstByte, bytes);
}

/** A number if that is exact. */
function numberOf(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
