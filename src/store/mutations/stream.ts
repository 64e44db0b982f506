/** Mutations of the entries of streams. How a mutation is made: see `generic.ts`. */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import type { StreamChunk, StreamEntry } from "../structures/stream-chunk.ts";
import { compareIds, ID_MAX, ID_MIN, readId, type StreamId, writeId } from "../structures/stream-id.ts";
import { StreamValue } from "../values/stream.ts";
import { applyPut } from "./generic.ts";
import type { Mutation } from "./mutation.ts";

const ADD_ENTRY = 130;
const TRIM_ENTRIES = 131;
const REMOVE_ENTRIES = 132;
const SET_STREAM_STATE = 133;

interface Content {
  readonly names: readonly Bytes[];
  readonly values: readonly Bytes[];
}

/** Appends an entry; creates the stream if it does not exist. */
export function addEntry(keyspace: Keyspace, key: Bytes, entry: { id: StreamId; content: Content }): void {
  writeContent(writeIdTo(keyspace.change(ADD_ENTRY, key), entry.id), entry.content);
  applyAdd(keyspace, key, entry);
}

/** What happens in groups that have a removed entry pending. */
interface Trim {
  readonly count: number;
  readonly removesReferences: boolean;
}

/** Removes a number of entries, which must exist, from the front. */
export function trimEntries(keyspace: Keyspace, key: Bytes, trim: Trim): void {
  keyspace
    .change(TRIM_ENTRIES, key)
    .number(trim.count)
    .number(trim.removesReferences ? 1 : 0);
  applyTrim(keyspace, key, trim);
}

interface Removal {
  /** Ids of entries of the stream or, if references are removed, of former entries. */
  readonly ids: readonly StreamId[];
  readonly removesReferences: boolean;
}

/** Removes entries at any positions. */
export function removeEntries(keyspace: Keyspace, key: Bytes, removal: Removal): void {
  const record = keyspace.change(REMOVE_ENTRIES, key);
  record.number(removal.removesReferences ? 1 : 0).number(removal.ids.length);
  for (const id of removal.ids) writeId(record, id);
  applyRemoveEntries(keyspace, key, removal);
}

interface StreamState {
  readonly lastId: StreamId;
  readonly addedCount: number;
  readonly maxDeletedId: StreamId;
}

/** Sets what a stream remembers of removed entries; creates an empty stream if it does not exist. */
export function setStreamState(keyspace: Keyspace, key: Bytes, state: StreamState): void {
  writeState(keyspace.change(SET_STREAM_STATE, key), state);
  applyState(keyspace, key, state);
}

export const streamMutations: readonly Mutation[] = [
  {
    code: ADD_ENTRY,
    name: "add-entry",
    apply: (keyspace, record) =>
      applyAdd(keyspace, record.bytes(), { id: readId(record), content: readContent(record) }),
  },
  {
    code: TRIM_ENTRIES,
    name: "trim-entries",
    apply: (keyspace, record) =>
      applyTrim(keyspace, record.bytes(), { count: record.number(), removesReferences: record.number() === 1 }),
  },
  {
    code: REMOVE_ENTRIES,
    name: "remove-entries",
    apply: (keyspace, record) =>
      applyRemoveEntries(keyspace, record.bytes(), {
        removesReferences: record.number() === 1,
        ids: Array.from({ length: record.number() }, () => readId(record)),
      }),
  },
  {
    code: SET_STREAM_STATE,
    name: "set-stream-state",
    apply: (keyspace, record) =>
      applyState(keyspace, record.bytes(), {
        lastId: readId(record),
        addedCount: record.number(),
        maxDeletedId: readId(record),
      }),
  },
];

/** The records that rebuild the entries of a stream, and its other facts. */
export function describeEntries(key: Bytes, stream: StreamValue, record: (code: number) => FrameWriter): void {
  stream.entries.visit(ID_MIN, ID_MAX, (entry: StreamEntry) => {
    writeContent(writeIdTo(record(ADD_ENTRY).bytes(key), entry), entry);
    return true;
  });
  writeState(record(SET_STREAM_STATE).bytes(key), stream);
}

function writeIdTo(record: FrameWriter, id: StreamId): FrameWriter {
  writeId(record, id);
  return record;
}

function writeContent(record: FrameWriter, { names, values }: Content): void {
  record.number(names.length);
  for (let i = 0; i < names.length; i += 1) record.bytes(names[i] as Bytes).bytes(values[i] as Bytes);
}

function readContent(record: FrameReader): Content {
  const count = record.number();
  const names: Bytes[] = new Array(count);
  const values: Bytes[] = new Array(count);
  for (let i = 0; i < count; i += 1) {
    names[i] = record.bytes();
    values[i] = record.bytes();
  }
  return { names, values };
}

function writeState(record: FrameWriter, { lastId, addedCount, maxDeletedId }: StreamState): void {
  writeId(record, lastId);
  record.number(addedCount);
  writeId(record, maxDeletedId);
}

function applyAdd(keyspace: Keyspace, key: Bytes, { id, content }: { id: StreamId; content: Content }): void {
  const stream = streamAt(keyspace, key);
  if (mustSave(keyspace, stream)) {
    pushState(keyspace, stream);
    pushAddition(keyspace, stream, id);
  }
  stream.append(id, content);
  keyspace.onReady?.(key, stream);
}

function applyTrim(keyspace: Keyspace, key: Bytes, { count, removesReferences }: Trim): void {
  const stream = changingStream(keyspace, key);
  const { undo } = keyspace;
  if (undo !== undefined && mustSave(keyspace, stream))
    for (const chunk of stream.entries.firstChunks(count)) pushChunk(keyspace, undo, { stream, chunk });
  if (removesReferences) {
    let left = count;
    stream.entries.visit(ID_MIN, ID_MAX, (entry) => {
      if (mustSave(keyspace, stream)) pushReferences(keyspace, stream, entry);
      stream.removeReferences(entry);
      left -= 1;
      return left > 0;
    });
  }
  stream.entries.dropFirst(count);
}

function applyRemoveEntries(keyspace: Keyspace, key: Bytes, { ids, removesReferences }: Removal): void {
  const stream = changingStream(keyspace, key);
  const { undo } = keyspace;
  if (mustSave(keyspace, stream)) pushState(keyspace, stream);
  for (const id of ids) {
    if (undo !== undefined && mustSave(keyspace, stream)) {
      if (removesReferences) pushReferences(keyspace, stream, id);
      const chunk = stream.entries.chunkOf(id);
      if (chunk !== undefined) pushChunk(keyspace, undo, { stream, chunk });
    }
    if (removesReferences) stream.removeReferences(id);
    if (stream.entries.remove(id) && compareIds(id, stream.maxDeletedId) > 0) stream.maxDeletedId = id;
  }
}

function applyState(keyspace: Keyspace, key: Bytes, { lastId, addedCount, maxDeletedId }: StreamState): void {
  const stream = streamAt(keyspace, key);
  if (mustSave(keyspace, stream)) pushState(keyspace, stream);
  stream.lastId = { ms: lastId.ms, seq: lastId.seq };
  stream.addedCount = addedCount;
  stream.maxDeletedId = { ms: maxDeletedId.ms, seq: maxDeletedId.seq };
}

/** The stream at a key that has one, about to be changed. */
export function changingStream(keyspace: Keyspace, key: Bytes): StreamValue {
  const value = keyspace.entries.get(key);
  assert(value instanceof StreamValue, "the key holds a stream");
  keyspace.meter.change(value);
  return value;
}

/** The stream at a key, about to be changed; created if missing. The caller has checked the type of the key. */
export function streamAt(keyspace: Keyspace, key: Bytes): StreamValue {
  const value = keyspace.entries.get(key);
  if (value instanceof StreamValue) {
    keyspace.meter.change(value);
    return value;
  }
  const stream = new StreamValue();
  applyPut(keyspace, key, stream);
  return stream;
}

// The inverses of changes of a stream that existed before the unit of work.

/** Memory of a pending entry in the undo log. */
export const PENDING_BYTES = 200;

export function mustSave({ undo }: Keyspace, stream: StreamValue): boolean {
  return undo !== undefined && !undo.owns(stream);
}

/** Pushes functions, of which the last one runs first, as the inverse of a change. */
export function pushRestorers(
  { meter, undo }: Keyspace,
  stream: StreamValue,
  { bytes, restorers }: { readonly bytes: number; readonly restorers: readonly (() => void)[] },
): void {
  undo?.push(bytes, () => {
    meter.change(stream);
    for (let i = restorers.length - 1; i >= 0; i -= 1) restorers[i]?.();
  });
}

function pushState(keyspace: Keyspace, stream: StreamValue): void {
  const { lastId, addedCount, maxDeletedId } = stream;
  const restore = (): void => {
    stream.lastId = lastId;
    stream.addedCount = addedCount;
    stream.maxDeletedId = maxDeletedId;
  };
  pushRestorers(keyspace, stream, { bytes: 0, restorers: [restore] });
}

function pushAddition(keyspace: Keyspace, stream: StreamValue, id: StreamId): void {
  pushRestorers(keyspace, stream, { bytes: 0, restorers: [() => stream.entries.remove(id)] });
}

/** A chunk is saved once: later removals from it need no inverse. */
function pushChunk(
  keyspace: Keyspace,
  undo: KeyspaceUndo,
  { stream, chunk }: { readonly stream: StreamValue; readonly chunk: StreamChunk },
): void {
  if (undo.owns(chunk)) return;
  pushRestorers(keyspace, stream, { bytes: chunk.memoryBytes, restorers: [stream.entries.chunkRestorer(chunk)] });
  undo.own(chunk);
}

function pushReferences(keyspace: Keyspace, stream: StreamValue, id: StreamId): void {
  const restorers = stream.referenceRestorers(id);
  if (restorers.length > 0) pushRestorers(keyspace, stream, { bytes: restorers.length * PENDING_BYTES, restorers });
}
