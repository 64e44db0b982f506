/**
 * Nodes and locations in the journal's frames. Numbers and strings are stored
 * exactly, and nothing is parsed or escaped.
 *
 *     node      | kind u8 as varint | integer: digits; double: f64; string: bytes;
 *                 array: count, nodes; object: count, (name, node)… |
 *     location  | steps count | (0, name) or (index + 1) … |
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { JsonNode } from "./node.ts";
import { doubleFrom, doubleOf, isInteger, isNumber, numberFrom } from "./number.ts";
import { type JsonObject, objectOf } from "./object.ts";
import type { Location } from "./walk.ts";

const NULL = 0;
const FALSE = 1;
const TRUE = 2;
const INTEGER = 3;
const DOUBLE = 4;
const STRING = 5;
const ARRAY = 6;
const OBJECT = 7;

export function writeNode(record: FrameWriter, node: JsonNode): void {
  if (node === null) record.number(NULL);
  else if (typeof node === "boolean") record.number(node ? TRUE : FALSE);
  else if (typeof node === "string") record.number(STRING).bytes(node);
  else if (isNumber(node)) {
    if (isInteger(node)) record.number(INTEGER).bytes(`${node}`);
    else record.number(DOUBLE).double(doubleOf(node));
  } else if (Array.isArray(node)) {
    record.number(ARRAY).number(node.length);
    for (const element of node) writeNode(record, element);
  } else {
    record.number(OBJECT).number(node.size);
    node.visit((name, member) => {
      record.bytes(name);
      writeNode(record, member);
    });
  }
}

export function readNode(record: FrameReader): JsonNode {
  const kind = record.number();
  switch (kind) {
    case NULL:
      return null;
    case FALSE:
    case TRUE:
      return kind === TRUE;
    case INTEGER:
      return recorded(numberFrom(record.bytes()));
    case DOUBLE:
      return recorded(doubleFrom(record.double()));
    case STRING:
      return record.bytes();
    case ARRAY:
      return readNodes(record);
    default:
      assert(kind === OBJECT, `kind ${kind} of a node is known to this version`);
      return readObject(record);
  }
}

export function writeNodes(record: FrameWriter, nodes: readonly JsonNode[]): void {
  record.number(nodes.length);
  for (const node of nodes) writeNode(record, node);
}

export function readNodes(record: FrameReader): JsonNode[] {
  const nodes: JsonNode[] = [];
  for (let count = record.number(); count > 0; count -= 1) nodes.push(readNode(record));
  // Without the spare capacity from growing.
  return nodes.slice();
}

export function writeLocation(record: FrameWriter, location: Location): void {
  record.number(location.length);
  for (const step of location) {
    if (typeof step === "string") record.number(0).bytes(step);
    else record.number(step + 1);
  }
}

export function readLocation(record: FrameReader): Location {
  const location: (Bytes | number)[] = [];
  for (let count = record.number(); count > 0; count -= 1) {
    const place = record.number();
    location.push(place === 0 ? record.bytes() : place - 1);
  }
  return location;
}

function readObject(record: FrameReader): JsonObject {
  const pairs: (Bytes | JsonNode)[] = [];
  for (let count = record.number(); count > 0; count -= 1) pairs.push(record.bytes(), readNode(record));
  return objectOf(pairs);
}

function recorded<Node>(node: Node | undefined): Node {
  assert(node !== undefined, "a recorded number is valid");
  return node;
}
