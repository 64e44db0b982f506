/** Mutations of lists. How a mutation is made: see `generic.ts`. */
import { assert } from "../../kernel/assert.ts";
import { type Bytes, bufferFrom, bytesFrom } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { ListValue } from "../values/list.ts";
import { applyClearExpiry, applyPut, applyRemove } from "./generic.ts";
import type { Description, Mutation } from "./mutation.ts";

const PUSH_ELEMENTS = 60;
const POP_ELEMENTS = 61;
const INSERT_ELEMENT = 62;
const SET_ELEMENT = 63;
const REMOVE_ELEMENTS = 64;
const TRIM_LIST = 65;
const MOVE_ELEMENT = 66;
const PUT_LIST = 67;

/** An end of a list. */
export type End = "left" | "right";

interface Push {
  readonly end: End;
  readonly elements: readonly Bytes[];
  /** The list at the key now, which the caller has read: it is not looked up again. */
  readonly old: ListValue | undefined;
}

/** Pushes elements at one end, one after the other; creates the list if missing. Returns the new length. */
export function pushElements(keyspace: Keyspace, key: Bytes, push: Push): number {
  writeElements(writeEnd(keyspace.change(PUSH_ELEMENTS, key), push.end), push.elements);
  return applyPush(keyspace, key, push);
}

/** Pops elements from one end, up to a count, and removes the key with the last one. In the order of popping. */
export function popElements(keyspace: Keyspace, key: Bytes, pop: { end: End; count: number }): Bytes[] {
  const count = Math.min(pop.count, getList(keyspace, key).length);
  writeEnd(keyspace.change(POP_ELEMENTS, key), pop.end).number(count);
  return applyPop(keyspace, key, { end: pop.end, count });
}

/** Pops the element at one end, and removes the key with the last one. */
export function popElement(keyspace: Keyspace, key: Bytes, end: End): Bytes {
  writeEnd(keyspace.change(POP_ELEMENTS, key), end).number(1);
  return applyPopOne(keyspace, key, end);
}

/** Inserts an element before an index. The list must have an element there. Returns the new length. */
export function insertElement(keyspace: Keyspace, key: Bytes, insertion: { index: number; element: Bytes }): number {
  keyspace.change(INSERT_ELEMENT, key).number(insertion.index).bytes(insertion.element);
  return applyInsert(keyspace, key, insertion);
}

/** Replaces the element at an index. The list must have one there. */
export function setElement(keyspace: Keyspace, key: Bytes, change: { index: number; element: Bytes }): void {
  keyspace.change(SET_ELEMENT, key).number(change.index).bytes(change.element);
  applySet(keyspace, key, change);
}

interface Removal {
  readonly element: Bytes;
  /** From this end on. */
  readonly end: End;
  readonly countMax: number;
}

/** Removes elements that equal one, and the key with the last element. Returns how many were removed. */
export function removeElements(keyspace: Keyspace, key: Bytes, removal: Removal): number {
  const count = applyRemoveElements(keyspace, key, removal);
  // Their number is known only now; nothing else can come in between.
  if (count > 0) writeEnd(keyspace.change(REMOVE_ELEMENTS, key), removal.end).number(count).bytes(removal.element);
  return count;
}

/** Trims the list to the elements from one index up to, not including, another; removes the key if none is left. */
export function trimList(keyspace: Keyspace, key: Bytes, range: { from: number; to: number }): void {
  keyspace.change(TRIM_LIST, key).number(range.from).number(range.to);
  applyTrim(keyspace, key, range);
}

interface Move {
  readonly from: Bytes;
  readonly fromEnd: End;
  readonly to: Bytes;
  readonly toEnd: End;
}

/** Moves one element from an end of a list to an end of another or the same. `from` must exist. Returns the element. */
export function moveElement(keyspace: Keyspace, move: Move): Bytes {
  keyspace.willChange(move.to);
  writeEnd(writeEnd(keyspace.change(MOVE_ELEMENT, move.from), move.fromEnd).bytes(move.to), move.toEnd);
  return applyMove(keyspace, move);
}

/** Puts a list at a key without expiry, and overwrites it. It has at least one element. */
export function putList(keyspace: Keyspace, key: Bytes, elements: readonly Bytes[]): void {
  keyspace.useReplaced(key);
  writeElements(keyspace.change(PUT_LIST, key), elements);
  applyPutList(keyspace, key, elements);
}

export const listMutations: readonly Mutation[] = [
  {
    code: PUSH_ELEMENTS,
    name: "push-elements",
    apply: (keyspace, record) => {
      const key = record.bytes();
      const end = readEnd(record);
      applyPush(keyspace, key, { end, elements: readElements(record), old: findList(keyspace, key) });
    },
  },
  {
    code: POP_ELEMENTS,
    name: "pop-elements",
    apply: (keyspace, record) => applyPop(keyspace, record.bytes(), { end: readEnd(record), count: record.number() }),
  },
  {
    code: INSERT_ELEMENT,
    name: "insert-element",
    apply: (keyspace, record) =>
      applyInsert(keyspace, record.bytes(), { index: record.number(), element: record.bytes() }),
  },
  {
    code: SET_ELEMENT,
    name: "set-element",
    apply: (keyspace, record) =>
      applySet(keyspace, record.bytes(), { index: record.number(), element: record.bytes() }),
  },
  {
    code: REMOVE_ELEMENTS,
    name: "remove-elements",
    apply: (keyspace, record) =>
      applyRemoveElements(keyspace, record.bytes(), {
        end: readEnd(record),
        countMax: record.number(),
        element: record.bytes(),
      }),
  },
  {
    code: TRIM_LIST,
    name: "trim-list",
    apply: (keyspace, record) => applyTrim(keyspace, record.bytes(), { from: record.number(), to: record.number() }),
  },
  {
    code: MOVE_ELEMENT,
    name: "move-element",
    apply: (keyspace, record) =>
      applyMove(keyspace, {
        from: record.bytes(),
        fromEnd: readEnd(record),
        to: record.bytes(),
        toEnd: readEnd(record),
      }),
  },
  {
    code: PUT_LIST,
    name: "put-list",
    apply: (keyspace, record) => applyPutList(keyspace, record.bytes(), readElements(record)),
  },
];

/** Bytes of elements after which a snapshot starts a new record. */
const DESCRIBED_BYTES = 64 * 1024;
const DESCRIBED_ELEMENTS = 1_000;

/** The records that rebuild a list. */
export function describeList({ key, value: list, record }: Description<ListValue>): void {
  let elements: Bytes[] = [];
  let byteCount = 0;
  const write = (): void => {
    if (elements.length > 0) writeElements(writeEnd(record(PUSH_ELEMENTS).bytes(key), "right"), elements);
    elements = [];
    byteCount = 0;
  };
  list.visit({ from: 0, to: list.length }, (element) => {
    elements.push(element);
    byteCount += element.length;
    if (byteCount >= DESCRIBED_BYTES || elements.length === DESCRIBED_ELEMENTS) write();
    return true;
  });
  write();
}

function writeElements(record: FrameWriter, elements: readonly Bytes[]): void {
  record.number(elements.length);
  for (const element of elements) record.bytes(element);
}

function readElements(record: FrameReader): Bytes[] {
  const elements: Bytes[] = [];
  for (let left = record.number(); left > 0; left -= 1) elements.push(record.bytes());
  return elements;
}

function writeEnd(record: FrameWriter, end: End): FrameWriter {
  return record.number(end === "left" ? 0 : 1);
}

function readEnd(record: FrameReader): End {
  return record.number() === 0 ? "left" : "right";
}

function applyPush(keyspace: Keyspace, key: Bytes, { end, elements, old }: Push): number {
  const list = listToChange(keyspace, key, old);
  willPush(keyspace, list, { end, count: elements.length });
  for (const element of elements) push(list, end, element);
  return list.length;
}

function applyPop(keyspace: Keyspace, key: Bytes, { end, count }: { end: End; count: number }): Bytes[] {
  if (count === 1) return [applyPopOne(keyspace, key, end)];
  const list = getList(keyspace, key);
  const elements: Bytes[] = [];
  const isLeft = end === "left";
  const range = isLeft ? { from: 0, to: count } : { from: list.length - count, to: list.length };
  list.visit({ ...range, backwards: !isLeft }, (element) => elements.push(element) > 0);
  willPop(keyspace, list, { end, count });
  if (isLeft) list.dropFirst(count);
  else list.dropLast(count);
  if (list.length === 0) applyRemove(keyspace, key);
  return elements;
}

function applyPopOne(keyspace: Keyspace, key: Bytes, end: End): Bytes {
  const list = getList(keyspace, key);
  willPop(keyspace, list, { end, count: 1 });
  const element = pop(list, end);
  if (list.length === 0) applyRemove(keyspace, key);
  return element;
}

function applyInsert(keyspace: Keyspace, key: Bytes, insertion: { index: number; element: Bytes }): number {
  const list = getList(keyspace, key);
  if (mustSave(keyspace, list)) pushChange(keyspace, list, { restore: () => list.removeAt(insertion.index) });
  list.insert(insertion.index, insertion.element);
  return list.length;
}

function applySet(keyspace: Keyspace, key: Bytes, { index, element }: { index: number; element: Bytes }): void {
  const list = getList(keyspace, key);
  if (mustSave(keyspace, list)) pushOldElement(keyspace, list, index);
  list.set(index, element);
}

function applyRemoveElements(keyspace: Keyspace, key: Bytes, { element, end, countMax }: Removal): number {
  const list = getList(keyspace, key);
  if (mustSave(keyspace, list)) pushEqual(keyspace, list, { element, end, countMax });
  const count = list.removeEqual(element, { countMax, backwards: end === "right" });
  if (list.length === 0) applyRemove(keyspace, key);
  return count;
}

function applyTrim(keyspace: Keyspace, key: Bytes, { from, to }: { from: number; to: number }): void {
  if (from >= to) {
    applyRemove(keyspace, key);
    return;
  }
  const list = getList(keyspace, key);
  willPop(keyspace, list, { end: "left", count: from });
  willPop(keyspace, list, { end: "right", count: list.length - to });
  list.keep(from, to);
}

function applyMove(keyspace: Keyspace, { from, fromEnd, to, toEnd }: Move): Bytes {
  const source = getList(keyspace, from);
  willPop(keyspace, source, { end: fromEnd, count: 1 });
  const element = pop(source, fromEnd);
  // From a list to itself: a list of one element is empty in between, but stays with its expiry.
  const target = from === to ? source : listToChange(keyspace, to, findList(keyspace, to));
  willPush(keyspace, target, { end: toEnd, count: 1 });
  push(target, toEnd, element);
  if (source.length === 0) applyRemove(keyspace, from);
  return element;
}

function applyPutList(keyspace: Keyspace, key: Bytes, elements: readonly Bytes[]): void {
  applyPut(keyspace, key, ListValue.from(elements));
  applyClearExpiry(keyspace, key);
}

function push(list: ListValue, end: End, element: Bytes): void {
  if (end === "left") list.pushFirst(element);
  else list.pushLast(element);
}

function pop(list: ListValue, end: End): Bytes {
  return end === "left" ? list.popFirst() : list.popLast();
}

/** The list at a key that has one, about to be changed. */
function getList(keyspace: Keyspace, key: Bytes): ListValue {
  const value = keyspace.entries.get(key);
  assert(value instanceof ListValue, "the key holds a list");
  keyspace.meter.change(value);
  return value;
}

/** The list at a key. The caller has checked the type of the key. */
function findList(keyspace: Keyspace, key: Bytes): ListValue | undefined {
  const value = keyspace.entries.get(key);
  return value instanceof ListValue ? value : undefined;
}

/** The list at a key, about to be changed; created if missing. */
function listToChange(keyspace: Keyspace, key: Bytes, old: ListValue | undefined): ListValue {
  if (old !== undefined) {
    keyspace.meter.change(old);
    return old;
  }
  const list = new ListValue();
  applyPut(keyspace, key, list);
  return list;
}

// The inverses of changes of a list that existed before the unit of work.

/** Memory of a removed element in the undo log, beside its bytes. */
const ELEMENT_BYTES = 32;

/** The elements at one end that are about to be pushed or popped. */
interface Part {
  readonly end: End;
  readonly count: number;
}

/** Whether a change needs an inverse of its own: a short list is saved as a whole before its first change. */
function mustSave(keyspace: Keyspace, list: ListValue): boolean {
  const { undo } = keyspace;
  if (undo === undefined || undo.owns(list)) return false;
  if (!list.isCompact) return true;
  pushWhole(keyspace, undo, list);
  return false;
}

function pushWhole(keyspace: Keyspace, undo: KeyspaceUndo, list: ListValue): void {
  pushChange(keyspace, list, { bytes: list.memoryBytes, restore: list.restorer() });
  undo.own(list);
}

function pushChange(
  { meter, undo }: Keyspace,
  list: ListValue,
  { bytes = 0, restore }: { readonly bytes?: number; readonly restore: () => void },
): void {
  undo?.push(bytes, () => {
    meter.change(list);
    restore();
  });
}

function willPush(keyspace: Keyspace, list: ListValue, part: Part): void {
  if (mustSave(keyspace, list)) pushPush(keyspace, list, part);
}

function pushPush(keyspace: Keyspace, list: ListValue, { end, count }: Part): void {
  pushChange(keyspace, list, { restore: () => (end === "left" ? list.dropFirst(count) : list.dropLast(count)) });
}

function willPop(keyspace: Keyspace, list: ListValue, part: Part): void {
  if (part.count > 0 && mustSave(keyspace, list)) pushPop(keyspace, list, part);
}

function pushPop(keyspace: Keyspace, list: ListValue, { end, count }: Part): void {
  const { length } = list;
  const elements: Bytes[] = [];
  let bytes = 0;
  // The last popped element, which is pushed first, is the innermost one.
  const range =
    end === "left" ? { from: 0, to: count, backwards: true } : { from: length - count, to: length, backwards: false };
  list.visit(range, (element) => {
    bytes += element.length + ELEMENT_BYTES;
    return elements.push(element) > 0;
  });
  pushChange(keyspace, list, {
    bytes,
    restore: () => {
      for (const element of elements) push(list, end, own(element));
    },
  });
}

function pushOldElement(keyspace: Keyspace, list: ListValue, index: number): void {
  const old = list.at(index);
  pushChange(keyspace, list, { bytes: old.length, restore: () => list.set(index, own(old)) });
}

function pushEqual(keyspace: Keyspace, list: ListValue, { element, end, countMax }: Removal): void {
  const indexes: number[] = [];
  list.visit({ from: 0, to: list.length, backwards: end === "right" }, (other, index) => {
    if (other === element) indexes.push(index);
    return indexes.length < countMax;
  });
  indexes.sort((one, other) => one - other);
  pushChange(keyspace, list, {
    bytes: indexes.length * ELEMENT_BYTES,
    restore: () => {
      for (const index of indexes) list.insert(index, element);
    },
  });
}

/** The element as a string of its own: a list shows slices of longer strings. */
function own(element: Bytes): Bytes {
  return bytesFrom(bufferFrom(element));
}
