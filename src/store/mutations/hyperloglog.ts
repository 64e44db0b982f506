/** Mutations of strings that are HyperLogLogs. How a mutation is made: see `generic.ts`. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader } from "../../kernel/frame.ts";
import type { Keyspace } from "../keyspace.ts";
import { HyperLogLog, type Raise } from "../structures/hyperloglog.ts";
import { LargeString } from "../structures/large-string.ts";
import { isString } from "../values/string.ts";
import { applyPut } from "./generic.ts";
import type { Mutation } from "./mutation.ts";
import { willChangePart } from "./string.ts";

const RAISE_REGISTERS = 120;

/**
 * Raises registers of the HyperLogLog at a key, or of an empty one that it creates. The cached count becomes invalid.
 * The caller has checked that the bytes are valid.
 */
export function raiseRegisters(keyspace: Keyspace, key: Bytes, raises: readonly Raise[]): void {
  const record = keyspace.change(RAISE_REGISTERS, key).number(raises.length);
  for (const { register, rank } of raises) record.number(register).number(rank);
  applyRaise(keyspace, key, raises);
}

export const hyperLogLogMutations: readonly Mutation[] = [
  {
    code: RAISE_REGISTERS,
    name: "raise-registers",
    apply: (keyspace, record) => applyRaise(keyspace, record.bytes(), readRaises(record)),
  },
];

function readRaises(record: FrameReader): Raise[] {
  return Array.from({ length: record.number() }, () => ({ register: record.number(), rank: record.number() }));
}

function applyRaise(keyspace: Keyspace, key: Bytes, raises: readonly Raise[]): void {
  const old = keyspace.entries.get(key);
  if (old instanceof LargeString) willChangeRegisters(keyspace, old);
  const view = old instanceof LargeString ? old.ownView : undefined;
  const sketch = isString(old) ? HyperLogLog.from(view ?? Buffer.from(old as Bytes, "latin1")) : HyperLogLog.empty();
  const isInPlace = view !== undefined && sketch.isDense;
  for (const raise of raises) sketch.raise(raise);
  sketch.markStale();
  if (!isInPlace) applyPut(keyspace, key, LargeString.fromBuffer(sketch.bytes));
}

/** 12 KB are saved as a whole before their first change in a unit of work: one PFADD raises registers all over them. */
function willChangeRegisters(keyspace: Keyspace, sketch: LargeString): void {
  if (keyspace.undo?.owns(sketch) !== false) return;
  willChangePart(keyspace, sketch, { start: 0, end: sketch.length });
  keyspace.undo.own(sketch);
}
