/**
 * Mutations of JSON documents. How a mutation is made: see `generic.ts`.
 *
 * A record has the place that a path led to and its new content, never the path
 * and never the rest of the document.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import { isContainer, type JsonNode, nodeBytesOf } from "../json/node.ts";
import { readLocation, readNode, readNodes, writeLocation, writeNode, writeNodes } from "../json/node-record.ts";
import { JsonObject } from "../json/object.ts";
import type { Location } from "../json/walk.ts";
import type { Keyspace } from "../keyspace.ts";
import { emptied, JsonValue } from "../values/json.ts";
import { applyPut } from "./generic.ts";
import type { Description, Mutation } from "./mutation.ts";
import { INVERSE_BYTES } from "./undo-log.ts";

const PUT_DOCUMENT = 160;
const SET_NODE = 161;
const INSERT_ELEMENTS = 162;
const REMOVE_ELEMENTS = 163;
const REMOVE_MEMBERS = 164;
const TRIM_ELEMENTS = 165;
const APPEND_TEXT = 166;
const MERGE_NODE = 167;

/** A container up to about this size in memory is one record; a larger one is described child by child. */
const DESCRIBED_BYTES_MAX = 16 * 1024;

/** Puts a document at a key, which has a document or nothing and keeps its expiry. The keyspace then owns the node. */
export function putDocument(keyspace: Keyspace, key: Bytes, node: JsonNode): void {
  writeNode(keyspace.change(PUT_DOCUMENT, key), node);
  applyPut(keyspace, key, new JsonValue(node));
}

/** The target of a mutation: a place in the document at a key, which must have one. */
export interface Spot {
  readonly key: Bytes;
  readonly location: Location;
}

/** Replaces the node at a place, or adds a member. False, without change, if the place does not exist. */
export function setNode(keyspace: Keyspace, spot: Spot, node: JsonNode): boolean {
  writeNode(recordAt(keyspace, SET_NODE, spot), node);
  return applySet(keyspace, spot, node);
}

/** Inserts elements before an index. Returns the new length, or undefined if the place is not an array. */
export function insertElements(
  keyspace: Keyspace,
  spot: Spot,
  { index, nodes }: { readonly index: number; readonly nodes: readonly JsonNode[] },
): number | undefined {
  writeNodes(recordAt(keyspace, INSERT_ELEMENTS, spot).number(index), nodes);
  return applyInsert(keyspace, spot, { index, nodes });
}

/** Removes the elements at distinct ascending indexes, all of which exist. */
export function removeElements(keyspace: Keyspace, spot: Spot, indexes: readonly number[]): void {
  const record = recordAt(keyspace, REMOVE_ELEMENTS, spot).number(indexes.length);
  let before = 0;
  for (const index of indexes) {
    record.number(index - before);
    before = index;
  }
  applyRemoveElements(keyspace, spot, indexes);
}

export function removeMembers(keyspace: Keyspace, spot: Spot, names: readonly Bytes[]): void {
  const record = recordAt(keyspace, REMOVE_MEMBERS, spot).number(names.length);
  for (const name of names) record.bytes(name);
  applyRemoveMembers(keyspace, spot, names);
}

/** Trims an array to the elements from one index up to, not including, another. */
export function trimElements(
  keyspace: Keyspace,
  spot: Spot,
  range: { readonly from: number; readonly to: number },
): void {
  recordAt(keyspace, TRIM_ELEMENTS, spot).number(range.from).number(range.to);
  applyTrim(keyspace, spot, range);
}

/** Appends to a string. Returns its new length in bytes, or undefined if the place is not a string. */
export function appendText(keyspace: Keyspace, spot: Spot, suffix: Bytes): number | undefined {
  recordAt(keyspace, APPEND_TEXT, spot).bytes(suffix);
  return applyAppendText(keyspace, spot, suffix);
}

/** Merges a patch into the node at a place, as in RFC 7396; copies the parts that it uses. */
export function mergeNode(keyspace: Keyspace, spot: Spot, patch: JsonNode): boolean {
  writeNode(recordAt(keyspace, MERGE_NODE, spot), patch);
  return applyMerge(keyspace, spot, patch);
}

export const jsonMutations: readonly Mutation[] = [
  {
    code: PUT_DOCUMENT,
    name: "put-document",
    apply: (keyspace, record) => applyPut(keyspace, record.bytes(), new JsonValue(readNode(record))),
  },
  {
    code: SET_NODE,
    name: "set-node",
    apply: (keyspace, record) => applySet(keyspace, readSpot(record), readNode(record)),
  },
  {
    code: INSERT_ELEMENTS,
    name: "insert-elements",
    apply: (keyspace, record) =>
      applyInsert(keyspace, readSpot(record), { index: record.number(), nodes: readNodes(record) }),
  },
  {
    code: REMOVE_ELEMENTS,
    name: "remove-elements",
    apply: (keyspace, record) => applyRemoveElements(keyspace, readSpot(record), readIndexes(record)),
  },
  {
    code: REMOVE_MEMBERS,
    name: "remove-members",
    apply: (keyspace, record) => applyRemoveMembers(keyspace, readSpot(record), readNames(record)),
  },
  {
    code: TRIM_ELEMENTS,
    name: "trim-elements",
    apply: (keyspace, record) => applyTrim(keyspace, readSpot(record), { from: record.number(), to: record.number() }),
  },
  {
    code: APPEND_TEXT,
    name: "append-text",
    apply: (keyspace, record) => applyAppendText(keyspace, readSpot(record), record.bytes()),
  },
  {
    code: MERGE_NODE,
    name: "merge-node",
    apply: (keyspace, record) => applyMerge(keyspace, readSpot(record), readNode(record)),
  },
];

/** The records that rebuild a document: large containers empty first, then their contents, in order. */
export function describeJson({ key, value, record }: Description<JsonValue>): void {
  const { root } = value;
  if (isSmall(root)) {
    writeNode(record(PUT_DOCUMENT).bytes(key), root);
    return;
  }
  writeNode(record(PUT_DOCUMENT).bytes(key), emptied(root));
  describeContent({ key, location: [] }, root, record);
}

function describeContent(spot: Spot, container: JsonNode, record: (code: number) => FrameWriter): void {
  if (container instanceof JsonObject) {
    container.visit((name, member) => describeChild(spot, { step: name, node: member }, record));
    return;
  }
  if (!Array.isArray(container)) return;
  /** Adjacent small elements are one record. */
  let run: JsonNode[] = [];
  let runBytes = 0;
  const endRun = (endIndex: number): void => {
    if (run.length > 0) writeNodes(openRecord(record(INSERT_ELEMENTS), spot).number(endIndex - run.length), run);
    run = [];
    runBytes = 0;
  };
  for (const [index, element] of container.entries()) {
    const small = isSmall(element);
    run.push(small ? element : emptied(element));
    runBytes += small ? 1 + nodeBytesOf(element) : 1;
    if (small && runBytes < DESCRIBED_BYTES_MAX) continue;
    endRun(index + 1);
    if (!small) describeContent({ key: spot.key, location: [...spot.location, index] }, element, record);
  }
  endRun(container.length);
}

function describeChild(
  { key, location }: Spot,
  { step, node }: { step: Bytes; node: JsonNode },
  record: (code: number) => FrameWriter,
): void {
  const spot: Spot = { key, location: [...location, step] };
  const small = isSmall(node);
  writeNode(openRecord(record(SET_NODE), spot), small ? node : emptied(node));
  if (!small) describeContent(spot, node, record);
}

/** True for scalars, however long: a string is one record. */
function isSmall(node: JsonNode): boolean {
  return !isContainer(node) || nodeBytesOf(node) <= DESCRIBED_BYTES_MAX;
}

function recordAt(keyspace: Keyspace, code: number, spot: Spot): FrameWriter {
  keyspace.willChange(spot.key);
  return openRecord(keyspace.record(code), spot);
}

function openRecord(record: FrameWriter, { key, location }: Spot): FrameWriter {
  record.bytes(key);
  writeLocation(record, location);
  return record;
}

/** The document at a key, about to be changed. */
function changing(keyspace: Keyspace, key: Bytes): JsonValue {
  const value = keyspace.entries.get(key);
  assert(value instanceof JsonValue, "a changed document exists");
  keyspace.meter.change(value);
  return value;
}

function readSpot(record: FrameReader): Spot {
  return { key: record.bytes(), location: readLocation(record) };
}

function applySet(keyspace: Keyspace, { key, location }: Spot, node: JsonNode): boolean {
  const document = changing(keyspace, key);
  if (mustSave(keyspace, document))
    pushInverse(keyspace, document, { bytes: bytesAt(document, location), restore: document.setRestorer(location) });
  return document.set(location, node);
}

function applyInsert(
  keyspace: Keyspace,
  { key, location }: Spot,
  { index, nodes }: { readonly index: number; readonly nodes: readonly JsonNode[] },
): number | undefined {
  const document = changing(keyspace, key);
  if (mustSave(keyspace, document))
    pushInverse(keyspace, document, { bytes: 0, restore: document.insertRestorer(location, index, nodes.length) });
  return document.insert(location, index, nodes);
}

function applyRemoveElements(keyspace: Keyspace, { key, location }: Spot, indexes: readonly number[]): boolean {
  const document = changing(keyspace, key);
  if (mustSave(keyspace, document)) {
    const bytes = indexes.reduce((sum, index) => sum + bytesAt(document, [...location, index]), 0);
    pushInverse(keyspace, document, { bytes, restore: document.removeElementsRestorer(location, indexes) });
  }
  return document.removeElements(location, indexes);
}

function applyRemoveMembers(keyspace: Keyspace, { key, location }: Spot, names: readonly Bytes[]): boolean {
  const document = changing(keyspace, key);
  if (mustSave(keyspace, document)) {
    const bytes = names.reduce((sum, name) => sum + bytesAt(document, [...location, name]), 0);
    pushInverse(keyspace, document, { bytes, restore: document.removeMembersRestorer(location, names) });
  }
  return document.removeMembers(location, names);
}

function applyTrim(
  keyspace: Keyspace,
  { key, location }: Spot,
  range: { readonly from: number; readonly to: number },
): boolean {
  const document = changing(keyspace, key);
  if (mustSave(keyspace, document))
    pushInverse(keyspace, document, {
      bytes: trimmedBytesOf(document.find(location), range),
      restore: document.trimRestorer(location, range),
    });
  return document.trim(location, range);
}

function applyAppendText(keyspace: Keyspace, { key, location }: Spot, suffix: Bytes): number | undefined {
  const document = changing(keyspace, key);
  if (mustSave(keyspace, document))
    pushInverse(keyspace, document, { bytes: bytesAt(document, location), restore: document.setRestorer(location) });
  return document.appendText(location, suffix);
}

function applyMerge(keyspace: Keyspace, { key, location }: Spot, patch: JsonNode): boolean {
  const document = changing(keyspace, key);
  if (mustSave(keyspace, document)) {
    const restore = document.mergeRestorer(location, patch);
    pushInverse(keyspace, document, { bytes: mergedBytesOf(document.find(location), patch), restore });
  }
  return document.merge(location, patch);
}

// The inverses of changes of a document that existed before the unit of work.

function mustSave({ undo }: Keyspace, document: JsonValue): boolean {
  return undo !== undefined && !undo.owns(document);
}

function pushInverse(
  { meter, undo }: Keyspace,
  document: JsonValue,
  { bytes, restore }: { readonly bytes: number; readonly restore: () => void },
): void {
  undo?.push(bytes, () => {
    meter.change(document);
    restore();
  });
}

function bytesAt(document: JsonValue, location: Location): number {
  const node = document.find(location);
  return node === undefined ? 0 : nodeBytesOf(node);
}

function trimmedBytesOf(
  node: JsonNode | undefined,
  { from, to }: { readonly from: number; readonly to: number },
): number {
  if (!Array.isArray(node)) return 0;
  let bytes = 0;
  for (let index = 0; index < from; index += 1) bytes += nodeBytesOf(node[index] as JsonNode);
  for (let index = Math.max(from, to); index < node.length; index += 1) bytes += nodeBytesOf(node[index] as JsonNode);
  return bytes;
}

/** Memory of the nodes that a patch replaces or removes, and of the functions that put them back. */
function mergedBytesOf(node: JsonNode | undefined, patch: JsonNode): number {
  if (node === undefined) return 0;
  if (!(node instanceof JsonObject) || !(patch instanceof JsonObject)) return nodeBytesOf(node);
  let bytes = 0;
  patch.visit((name, member) => {
    bytes += INVERSE_BYTES + mergedBytesOf(node.get(name), member);
  });
  return bytes;
}

function readIndexes(record: FrameReader): readonly number[] {
  const indexes: number[] = [];
  let index = 0;
  for (let count = record.number(); count > 0; count -= 1) {
    index += record.number();
    indexes.push(index);
  }
  return indexes;
}

function readNames(record: FrameReader): readonly Bytes[] {
  const names: Bytes[] = [];
  for (let count = record.number(); count > 0; count -= 1) names.push(record.bytes());
  return names;
}
