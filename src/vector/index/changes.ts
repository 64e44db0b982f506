/**
 * The records of the vector area's journal: the outcome of each change of an
 * index. The code that writes a record is next to the code that reads it, so that
 * both stay equal.
 *
 *     create index     | tenant 0 | 1 | index number | name | definition JSON |
 *     drop index       | tenant 0 | 2 | index number |
 *     fix dimension    | index    | 3 | dimension |
 *     create namespace | index    | 4 | namespace number | name |
 *     drop namespace   | index    | 5 | namespace number |
 *     clear namespace  | index    | 6 | namespace number |
 *     rename namespace | index    | 7 | namespace number | name |
 *     put              | index    | 8 | namespace number | id | parts u8 | dense | version | indices | values | metadata | data |
 *     remove           | index    | 9 | namespace number | id |
 *     next numbers     | index    | 10 | next namespace number | next version |
 *     next index       | tenant 0 | 11 | next index number |
 *     next place       | index    | 12 | namespace number | place of the next record |
 *
 * The last three are only in snapshots: numbers and places that were assigned
 * and are no longer in use are never assigned again.
 *
 * Texts are UTF-8. In `put`, `parts` says which fields follow and whether the
 * record is whole: then missing parts are removed, otherwise they stay. Float32
 * and int32 lists are little-endian bytes.
 */
import { FrameReader, type FrameWriter } from "../../kernel/frame.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import type { IndexDefinition } from "./definition.ts";
import type { SparseVector } from "./record.ts";

/** Instead of an index number: the area itself. */
export const AREA_NUMBER = 0;

const CREATE_INDEX = 1;
const DROP_INDEX = 2;
const FIX_DIMENSION = 3;
const CREATE_NAMESPACE = 4;
const DROP_NAMESPACE = 5;
const CLEAR_NAMESPACE = 6;
const RENAME_NAMESPACE = 7;
const PUT = 8;
const REMOVE = 9;
const NEXT_NUMBERS = 10;
const NEXT_INDEX = 11;
const NEXT_PLACE = 12;

const HAS_DENSE = 1;
const HAS_SPARSE = 2;
const HAS_METADATA = 4;
const HAS_DATA = 8;
const IS_WHOLE = 16;

/** The parts written for one id. An absent part stays, or is removed if the record is whole. */
export interface Put {
  readonly id: string;
  readonly isWhole: boolean;
  readonly vector?: Float32Array | undefined;
  /** The version of the dense vector, unique in the index forever; 0 without a dense vector. */
  readonly version: number;
  readonly sparseVector?: SparseVector | undefined;
  readonly metadata?: string | undefined;
  readonly data?: string | undefined;
}

export type Change =
  | {
      readonly kind: "create index";
      readonly index: number;
      readonly name: string;
      readonly definition: IndexDefinition;
    }
  | { readonly kind: "drop index"; readonly index: number }
  | { readonly kind: "fix dimension"; readonly index: number; readonly dimension: number }
  | { readonly kind: "create namespace"; readonly index: number; readonly namespace: number; readonly name: string }
  | { readonly kind: "drop namespace"; readonly index: number; readonly namespace: number }
  | { readonly kind: "clear namespace"; readonly index: number; readonly namespace: number }
  | { readonly kind: "rename namespace"; readonly index: number; readonly namespace: number; readonly name: string }
  | { readonly kind: "put"; readonly index: number; readonly namespace: number; readonly put: Put }
  | { readonly kind: "remove"; readonly index: number; readonly namespace: number; readonly id: string }
  | { readonly kind: "next numbers"; readonly index: number; readonly namespace: number; readonly version: number }
  | { readonly kind: "next index"; readonly index: number }
  | { readonly kind: "next place"; readonly index: number; readonly namespace: number; readonly place: number };

export function writeChange(writer: FrameWriter, change: Change): void {
  switch (change.kind) {
    case "create index":
      writer.record(AREA_NUMBER, CREATE_INDEX).number(change.index);
      text(text(writer, change.name), JSON.stringify(change.definition));
      return;
    case "drop index":
      writer.record(AREA_NUMBER, DROP_INDEX).number(change.index);
      return;
    case "fix dimension":
      writer.record(change.index, FIX_DIMENSION).number(change.dimension);
      return;
    case "create namespace":
      text(writer.record(change.index, CREATE_NAMESPACE).number(change.namespace), change.name);
      return;
    case "drop namespace":
      writer.record(change.index, DROP_NAMESPACE).number(change.namespace);
      return;
    case "clear namespace":
      writer.record(change.index, CLEAR_NAMESPACE).number(change.namespace);
      return;
    case "rename namespace":
      text(writer.record(change.index, RENAME_NAMESPACE).number(change.namespace), change.name);
      return;
    case "put":
      writePut(writer.record(change.index, PUT).number(change.namespace), change.put);
      return;
    case "remove":
      text(writer.record(change.index, REMOVE).number(change.namespace), change.id);
      return;
    case "next numbers":
      writer.record(change.index, NEXT_NUMBERS).number(change.namespace).number(change.version);
      return;
    case "next index":
      writer.record(AREA_NUMBER, NEXT_INDEX).number(change.index);
      return;
    case "next place":
      writer.record(change.index, NEXT_PLACE).number(change.namespace).number(change.place);
      return;
    default: {
      const never: never = change;
      throw never;
    }
  }
}

function writePut(writer: FrameWriter, put: Put): void {
  const { vector, sparseVector, metadata, data } = put;
  text(writer, put.id);
  writer.number(
    (vector === undefined ? 0 : HAS_DENSE) |
      (sparseVector === undefined ? 0 : HAS_SPARSE) |
      (metadata === undefined ? 0 : HAS_METADATA) |
      (data === undefined ? 0 : HAS_DATA) |
      (put.isWhole ? IS_WHOLE : 0),
  );
  if (vector !== undefined) writer.buffer(bytesOf(vector)).number(put.version);
  if (sparseVector !== undefined) writer.buffer(bytesOf(sparseVector.indices)).buffer(bytesOf(sparseVector.values));
  if (metadata !== undefined) text(writer, metadata);
  if (data !== undefined) text(writer, data);
}

/** The changes of one frame, in order. Vectors are copies. */
export function* readChanges(frame: Buffer): Generator<Change> {
  const reader = new FrameReader(frame);
  const index = reader.number();
  while (!reader.isAtEnd) yield readChange(reader, index);
}

function readChange(reader: FrameReader, index: number): Change {
  const code = reader.code();
  switch (code) {
    case CREATE_INDEX:
      return {
        kind: "create index",
        index: reader.number(),
        name: readText(reader),
        definition: readDefinition(readText(reader)),
      };
    case DROP_INDEX:
      return { kind: "drop index", index: reader.number() };
    case FIX_DIMENSION:
      return { kind: "fix dimension", index, dimension: reader.number() };
    case CREATE_NAMESPACE:
      return { kind: "create namespace", index, namespace: reader.number(), name: readText(reader) };
    case DROP_NAMESPACE:
      return { kind: "drop namespace", index, namespace: reader.number() };
    case CLEAR_NAMESPACE:
      return { kind: "clear namespace", index, namespace: reader.number() };
    case RENAME_NAMESPACE:
      return { kind: "rename namespace", index, namespace: reader.number(), name: readText(reader) };
    case PUT:
      return { kind: "put", index, namespace: reader.number(), put: readPut(reader) };
    case REMOVE:
      return { kind: "remove", index, namespace: reader.number(), id: readText(reader) };
    case NEXT_NUMBERS:
      return { kind: "next numbers", index, namespace: reader.number(), version: reader.number() };
    case NEXT_INDEX:
      return { kind: "next index", index: reader.number() };
    case NEXT_PLACE:
      return { kind: "next place", index, namespace: reader.number(), place: reader.number() };
    default:
      throw new Error(`The journal has a record of kind ${code}, which this version does not know`);
  }
}

function readPut(reader: FrameReader): Put {
  const id = readText(reader);
  const parts = reader.number();
  const vector = parts & HAS_DENSE ? readFloats(reader) : undefined;
  return {
    id,
    isWhole: (parts & IS_WHOLE) !== 0,
    vector,
    version: vector === undefined ? 0 : reader.number(),
    sparseVector: parts & HAS_SPARSE ? { indices: readIntegers(reader), values: readFloats(reader) } : undefined,
    metadata: parts & HAS_METADATA ? readText(reader) : undefined,
    data: parts & HAS_DATA ? readText(reader) : undefined,
  };
}

/** Reads the JSON of `create index`, from a frame with a correct checksum. JSON omits undefined fields. */
function readDefinition(json: string): IndexDefinition {
  const { type, dimension, similarity, denseModel, sparseModel } = parseJsonText(json) as IndexDefinition;
  return { type, dimension, similarity, denseModel, sparseModel };
}

function text(writer: FrameWriter, value: string): FrameWriter {
  return writer.buffer(Buffer.from(value));
}

function readText(reader: FrameReader): string {
  return reader.buffer().toString();
}

function bytesOf(list: Float32Array | Int32Array): Uint8Array {
  return new Uint8Array(list.buffer, list.byteOffset, list.byteLength);
}

/** Copies the list: typed arrays must begin at a multiple of four, and a frame's fields may begin anywhere. */
function readFloats(reader: FrameReader): Float32Array {
  const bytes = Uint8Array.from(reader.buffer());
  return new Float32Array(bytes.buffer);
}

function readIntegers(reader: FrameReader): Int32Array {
  const bytes = Uint8Array.from(reader.buffer());
  return new Int32Array(bytes.buffer);
}
