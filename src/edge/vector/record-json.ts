/**
 * Prints answers of the vector index: `{"result": …}` in UTF-8. Members come in
 * the order id, score, vector, sparseVector, metadata, data; an absent one is
 * left out. A float32 is the shortest decimal that reads back as the same
 * float32, and the text of metadata is copied in as it is.
 */
import type { RangePage, ResumableStart } from "../../vector/door.ts";
import type { RecordView, ScoredView } from "../../vector/record.ts";

/** One list for each query; a single one stands alone (service.md B2). */
export function printScores(lists: readonly (readonly ScoredView[])[]): Buffer {
  const texts = lists.map((list) => `[${list.map((record) => recordText(record, record.score)).join(",")}]`);
  return envelope(texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(",")}]`);
}

/** A record that is not there is null. */
export function printRecords(records: readonly (RecordView | undefined)[]): Buffer {
  return envelope(`[${records.map((record) => (record === undefined ? "null" : recordText(record))).join(",")}]`);
}

/** One record, or null. */
export function printRecord(record: RecordView | undefined): Buffer {
  return envelope(record === undefined ? "null" : recordText(record));
}

export function printRange({ nextCursor, vectors }: RangePage): Buffer {
  return envelope(
    `{"nextCursor":${JSON.stringify(nextCursor)},"vectors":[${vectors.map((record) => recordText(record)).join(",")}]}`,
  );
}

export function printResumable({ uuid, scores }: ResumableStart): Buffer {
  return envelope(
    `{"uuid":${JSON.stringify(uuid)},"scores":[${scores.map((record) => recordText(record, record.score)).join(",")}]}`,
  );
}

/** Whatever else an endpoint answers. */
export function printResult(value: unknown): Buffer {
  return envelope(JSON.stringify(value));
}

function envelope(text: string): Buffer {
  return Buffer.from(`{"result":${text}}`);
}

function recordText(record: RecordView, score?: number): string {
  const members = [`"id":${JSON.stringify(record.id)}`];
  if (score !== undefined) members.push(`"score":${floatText(score)}`);
  if (record.vector !== undefined) members.push(`"vector":${listText(record.vector)}`);
  if (record.sparseVector !== undefined) {
    const { indices, values } = record.sparseVector;
    members.push(`"sparseVector":{"indices":[${indices.join(",")}],"values":${listText(values)}}`);
  }
  if (record.metadata !== undefined) members.push(`"metadata":${record.metadata}`);
  if (record.data !== undefined) members.push(`"data":${JSON.stringify(record.data)}`);
  return `{${members.join(",")}}`;
}

function listText(values: Float32Array): string {
  return `[${Array.from(values, floatText).join(",")}]`;
}

function floatText(value: number): string {
  for (let digits = 1; digits < 9; digits += 1) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}
