/**
 * Prints answers of the vector index: `{"result": …}` in UTF-8. The order of
 * members is id, score, vector, sparseVector, metadata, data, without absent ones.
 * A float32 is the shortest decimal that reads back as the same float32, and the
 * text of metadata is copied unchanged.
 */
import { FLOAT32_TEXT_BYTES_MAX, float32Texts } from "../../kernel/float32/text.ts";
import type { RangePage, RecordView, ResumableStart, ScoredView } from "../../vector/mod.ts";
import { type JsonBody, JsonWriter } from "./json-writer.ts";

/** One list for each query; the list of a single query is not nested (B2.result). */
export function printScores(lists: readonly (readonly ScoredView[])[]): JsonBody {
  const [first] = lists;
  if (lists.length === 1 && first !== undefined) {
    const writer = writerFor(first);
    writer.text('{"result":');
    writeScored(writer, first);
    return closed(writer, "}");
  }
  const writer = new JsonWriter(lists.reduce((bytes, list) => bytes + expectedBytes(list), 0));
  writer.text('{"result":[');
  for (const [index, list] of lists.entries()) {
    if (index > 0) writer.text(",");
    writeScored(writer, list);
  }
  return closed(writer, "]}");
}

/** A missing record is null. */
export function printRecords(records: readonly (RecordView | undefined)[]): JsonBody {
  const writer = writerFor(records);
  writer.text('{"result":');
  writeRecords(writer, records);
  return closed(writer, "}");
}

/** One record, or null. */
export function printRecord(record: RecordView | undefined): JsonBody {
  const writer = writerFor([record]);
  writer.text('{"result":');
  writeRecord(writer, record, undefined);
  return closed(writer, "}");
}

export function printRange({ nextCursor, vectors }: RangePage): JsonBody {
  const writer = writerFor(vectors);
  writer.text(`{"result":{"nextCursor":${JSON.stringify(nextCursor)},"vectors":`);
  writeRecords(writer, vectors);
  return closed(writer, "}}");
}

export function printResumable({ uuid, scores }: ResumableStart): JsonBody {
  const writer = writerFor(scores);
  writer.text(`{"result":{"uuid":${JSON.stringify(uuid)},"scores":`);
  writeScored(writer, scores);
  return closed(writer, "}}");
}

/** Any other answer of an endpoint. */
export function printResult(value: unknown): JsonBody {
  return `{"result":${JSON.stringify(value)}}`;
}

function writeScored(writer: JsonWriter, records: readonly ScoredView[]): void {
  const scores = scoreTexts(records);
  writer.text("[");
  for (let index = 0; index < records.length; index += 1) {
    if (index > 0) writer.text(",");
    writeRecord(writer, records[index], scores[index]);
  }
  writer.text("]");
}

function scoreTexts(records: readonly ScoredView[]): string[] {
  const scores = new Float32Array(records.length);
  // `Float32Array.from` with a function takes several times as long.
  for (let index = 0; index < records.length; index += 1) scores[index] = (records[index] as ScoredView).score;
  return float32Texts(scores);
}

function writeRecords(writer: JsonWriter, records: readonly (RecordView | undefined)[]): void {
  writer.text("[");
  for (let index = 0; index < records.length; index += 1) {
    if (index > 0) writer.text(",");
    writeRecord(writer, records[index], undefined);
  }
  writer.text("]");
}

function writeRecord(writer: JsonWriter, record: RecordView | undefined, score: string | undefined): void {
  if (record === undefined) {
    writer.text("null");
    return;
  }
  const { id, vector, sparseVector, metadata, data } = record;
  let text = `{"id":${JSON.stringify(id)}`;
  if (score !== undefined) text += `,"score":${score}`;
  if (vector !== undefined) {
    writer.text(`${text},"vector":[`);
    writer.floats(vector);
    text = "]";
  }
  if (sparseVector !== undefined) {
    writer.text(`${text},"sparseVector":{"indices":[${sparseVector.indices.join(",")}],"values":[`);
    writer.floats(sparseVector.values);
    text = "]}";
  }
  if (metadata !== undefined) text += `,"metadata":${metadata}`;
  if (data !== undefined) text += `,"data":${JSON.stringify(data)}`;
  writer.text(`${text}}`);
}

function closed(writer: JsonWriter, text: string): JsonBody {
  writer.text(text);
  return writer.take();
}

function writerFor(records: readonly (RecordView | undefined)[]): JsonWriter {
  return new JsonWriter(expectedBytes(records));
}

/** Names, quotes, id and score of a record. */
const RECORD_BYTES = 64;
/** Digits of a component between -1 and 1, with sign, point and comma. */
const FLOAT_BYTES = 13;
const INDEX_BYTES = 11;

/** Estimated size of the answer, usually slightly too large. */
function expectedBytes(records: readonly (RecordView | undefined)[]): number {
  let bytes = RECORD_BYTES;
  for (const record of records) {
    if (record === undefined) continue;
    const { vector, sparseVector, metadata, data } = record;
    bytes += RECORD_BYTES + (metadata?.length ?? 0) + (data?.length ?? 0);
    if (vector !== undefined) bytes += vector.length * FLOAT_BYTES;
    if (sparseVector !== undefined) bytes += sparseVector.values.length * (FLOAT_BYTES + INDEX_BYTES);
  }
  // The writer reserves room for the longest text of a list.
  return bytes + (records.find((record) => record !== undefined)?.vector?.length ?? 0) * FLOAT32_TEXT_BYTES_MAX;
}
