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
import { bitfieldOnlyGets, bitfieldOverflowInvalid, bitfieldTypeInvalid, syntaxError } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { setStringRange } from "../mutations/string.ts";
import { events } from "../observe/keyspace-events.ts";
import { nil, type Reply } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { byteAt, isString, type StringValue } from "../values/string.ts";
import { readBitOffset } from "./bit-offset.ts";
import { type FieldType, isNarrow, readNarrow, sumNarrow, writtenNarrow } from "./bitfield-narrow.ts";
import { read, readAndUpdated } from "./command-keys.ts";

type Overflow = "WRAP" | "SAT" | "FAIL";

type Step =
  | { readonly kind: "get"; readonly type: FieldType; readonly offset: number }
  | {
      readonly kind: "set" | "add";
      readonly type: FieldType;
      readonly offset: number;
      readonly operand: number | bigint;
      readonly overflow: Overflow;
    };

export function bitfield(call: Call): Reply {
  const steps = readSteps(call);
  const { keyspace, arg } = call;
  const key = arg(1);
  // Refuses other types.
  const value = keyspace.readString(key);
  // As Redis: this command looks the key up for writing, unless it only reads.
  if (value === undefined && steps.every(({ kind }) => kind === "get")) keyspace.notify(events.keymiss, key);
  // As Redis: the string grows to the farthest bit that may be written, even if nothing is written there.
  let length = 0;
  for (const { kind, offset, type } of steps)
    if (kind !== "get") length = Math.max(length, Math.floor((offset + type.bits - 1) / 8) + 1);
  const isGrown = length > (value?.length ?? 0);
  if (isGrown) setStringRange(keyspace, key, { offset: length - 1, bytes: "\x00" });
  const target: Target = { keyspace, key, isGrown, isChanged: false };
  const replies = steps.map((step) => runStep(target, step));
  if (target.isChanged) keyspace.notify(events.setbit, key);
  return replies;
}

/** The string, and whether a step has changed it. As in Redis, after growth every step that writes is a change. */
interface Target {
  readonly keyspace: Keyspace;
  readonly key: Bytes;
  readonly isGrown: boolean;
  isChanged: boolean;
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

export function bitfieldReadOnly(call: Call): Reply {
  const steps = readSteps(call);
  if (steps.some((step) => step.kind !== "get")) throw bitfieldOnlyGets;
  const { keyspace, arg } = call;
  const value = keyspace.readString(arg(1));
  return steps.map(({ type, offset }) => readAny(value, type, offset));
}

function readSteps(call: Call): Step[] {
  const { word, arg, argCount } = call;
  const steps: Step[] = [];
  let overflow: Overflow = "WRAP";
  for (let i = 2; i < argCount; ) {
    const left = argCount - i - 1;
    const name = word(i);
    if (name === "OVERFLOW" && left >= 1) {
      overflow = readOverflow(word(i + 1));
      i += 2;
    } else if (name === "GET" && left >= 2) {
      const type = readType(arg(i + 1));
      steps.push({ kind: "get", type, offset: readBitOffset(arg(i + 2), type.bits) });
      i += 3;
    } else if ((name === "SET" || name === "INCRBY") && left >= 3) {
      const type = readType(arg(i + 1));
      const offset = readBitOffset(arg(i + 2), type.bits);
      const operand = call.integer(i + 3);
      steps.push({ kind: name === "SET" ? "set" : "add", type, offset, operand, overflow });
      i += 4;
    } else {
      throw syntaxError;
    }
  }
  return steps;
}

function readOverflow(word: string): Overflow {
  if (word !== "WRAP" && word !== "SAT" && word !== "FAIL") throw bitfieldOverflowInvalid;
  return word;
}

/** `i1` to `i64`, `u1` to `u63`, in lower case. */
function readType(text: Bytes): FieldType {
  const isSigned = text.startsWith("i");
  // A C string ends at its first zero byte.
  const end = text.indexOf("\x00");
  const bits = parseInteger(text.slice(1, end < 0 ? text.length : end));
  if ((!isSigned && !text.startsWith("u")) || typeof bits !== "number" || bits < 1 || bits > (isSigned ? 64 : 63))
    throw bitfieldTypeInvalid;
  return { isSigned, bits };
}

function runStep(target: Target, step: Step): Reply {
  const { type, offset } = step;
  const value = target.keyspace.peek(target.key);
  const string = isString(value) ? value : undefined;
  if (step.kind === "get") return readAny(string, type, offset);
  const { kind, operand } = step;
  if (typeof operand === "number" && isNarrow(type, operand, kind === "set")) {
    const old = readNarrow(string, type, offset);
    const { wrapped: sum, bound } = sumNarrow(type, kind === "set" ? operand : old + operand);
    if (bound !== undefined && step.overflow === "FAIL") return nil;
    const field = bound !== undefined && step.overflow === "SAT" ? bound : sum;
    if (field !== old || target.isGrown) target.isChanged = true;
    if (field !== old) {
      const bytes = writtenNarrow(string, { type, offset, field });
      setStringRange(target.keyspace, target.key, { offset: Math.floor(offset / 8), bytes });
    }
    return kind === "set" ? old : field;
  }
  return runWideStep(target, { ...step, string, operand: BigInt(operand) });
}

function readAny(value: StringValue | undefined, type: FieldType, offset: number): number | bigint {
  return isNarrow(type, 0, false) ? readNarrow(value, type, offset) : numberOf(readField(value, type, offset));
}

function runWideStep(
  target: Target,
  step: Exclude<Step, { kind: "get" }> & { readonly string: StringValue | undefined; readonly operand: bigint },
): Reply {
  const { type, offset, string } = step;
  const old = readField(string, type, offset);
  // A value set in an unsigned field counts as 64 bits.
  const operand = step.kind === "set" && !type.isSigned ? BigInt.asUintN(64, step.operand) : step.operand;
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
  if (changed !== old) writeField(target.keyspace, target.key, { value: string, type, offset, field: changed });
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

function writeField(
  keyspace: Keyspace,
  key: Bytes,
  change: { value: StringValue | undefined; type: FieldType; offset: number; field: bigint },
): void {
  const { value, type, offset, field } = change;
  const { whole, firstByte, byteCount, shift } = bytesAround(value, type, offset);
  const mask = ((1n << BigInt(type.bits)) - 1n) << shift;
  const written = (whole & ~mask) | ((field << shift) & mask);
  let bytes = "";
  for (let i = byteCount - 1; i >= 0; i -= 1) bytes += String.fromCharCode(Number((written >> BigInt(8 * i)) & 0xffn));
  setStringRange(keyspace, key, { offset: firstByte, bytes });
}

/** A number if that is exact. */
function numberOf(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
