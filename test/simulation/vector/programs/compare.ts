/**
 * Compares the engine's answers with those of the plain index: to the last bit,
 * or, where the two add in different orders, as closely as float32 allows.
 */
import { createHash } from "node:crypto";
import type { Eventually, IndexApi, RangePage } from "../../../../src/vector/api.ts";
import { parseRangeCursor } from "../../../../src/vector/index/range-cursor.ts";
import type { RecordView, ScoredView } from "../../../../src/vector/index/record.ts";
import { atOnce } from "../../../harness/at-once.ts";
import { orderedJson } from "./plain-metadata.ts";

/** Two sums of the same terms in different orders differ by less than this, relative to the score or absolutely. */
const TOLERANCE = 1e-5;

/** A view as text, equal for equal views. */
export function showView(view: RecordView | undefined): string {
  if (view === undefined) return "none";
  const { id, vector, sparseVector, metadata, data } = view;
  return [
    JSON.stringify(id),
    ...(vector === undefined ? [] : [`vector=${showNumbers(vector)}`]),
    ...(sparseVector === undefined
      ? []
      : [`sparse=${showNumbers(sparseVector.indices)}:${showNumbers(sparseVector.values)}`]),
    ...(metadata === undefined ? [] : [`metadata=${orderedJson(metadata)}`]),
    ...(data === undefined ? [] : [`data=${JSON.stringify(data)}`]),
  ].join(" ");
}

export function showScored(view: ScoredView): string {
  return `${showNumbers([view.score])} ${showView(view)}`;
}

/** A longer list is shown by its digest: two lists are equal if their bytes are. */
const SHOWN_COUNT = 64;

function showNumbers(numbers: Float32Array | Int32Array | readonly number[]): string {
  if (ArrayBuffer.isView(numbers) && numbers.length > SHOWN_COUNT) {
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    return `${numbers.length} numbers ${createHash("sha1").update(bytes).digest("base64")}`;
  }
  return Array.from(numbers, (number) => (Object.is(number, -0) ? "-0" : String(number))).join();
}

/** The visible state of an index except its size in bytes and pending work: one line for each namespace and record. */
export function stateOf(api: IndexApi): readonly string[] {
  return [...headOf(api), ...namesOf(api).flatMap((name) => contentOf(api, name))];
}

/** As `stateOf`, of an index that reads vectors from files. */
export async function stateLater(api: IndexApi): Promise<readonly string[]> {
  const lines = [...headOf(api)];
  for (const name of namesOf(api))
    for (let cursor = "0"; cursor !== ""; ) {
      const page = await pageOf(api, name, cursor);
      lines.push(...linesOf(name, page));
      cursor = page.nextCursor;
    }
  return lines;
}

function namesOf(api: IndexApi): readonly string[] {
  const [, ...names] = api.namespaceNames();
  return ["", ...names.toSorted()];
}

function headOf(api: IndexApi): readonly string[] {
  const { vectorCount, pendingVectorCount, definition, namespaces } = api.info();
  const counts = namespaces.map((one) => `${JSON.stringify(one.name)}: ${one.vectorCount + one.pendingVectorCount}`);
  const [first, ...names] = api.namespaceNames();
  return [
    `${vectorCount + pendingVectorCount} records, dimension ${definition.dimension}`,
    `default ${JSON.stringify(first)}, others ${JSON.stringify(names.toSorted())}`,
    ...counts.toSorted(),
  ];
}

const EVERYTHING = { metadata: true, vectors: true, data: true } as const;

function contentOf(api: IndexApi, namespace: string): readonly string[] {
  const lines: string[] = [];
  let cursor = "0";
  while (cursor !== "") {
    const page = atOnce(pageOf(api, namespace, cursor));
    lines.push(...linesOf(namespace, page));
    cursor = page.nextCursor;
  }
  return lines;
}

function pageOf(api: IndexApi, namespace: string, cursor: string): Eventually<RangePage> {
  const request = { cursor: parseRangeCursor(cursor) ?? 0, limit: 1_000, prefix: "", include: EVERYTHING };
  return api.range(namespace, request);
}

function linesOf(namespace: string, { vectors }: RangePage): readonly string[] {
  return vectors.map((view) => `${JSON.stringify(namespace)} ${showView(view)}`);
}

/** The first line that differs, or undefined. */
export function compareLines(ours: readonly string[], plain: readonly string[]): string | undefined {
  const count = Math.max(ours.length, plain.length);
  for (let i = 0; i < count; i += 1) {
    if (ours[i] !== plain[i])
      return `line ${i + 1}\n  engine: ${ours[i] ?? "nothing"}\n  plain:  ${plain[i] ?? "nothing"}`;
  }
  return undefined;
}

/** Hits found and wanted, for searches that may miss some. */
export interface Recall {
  found: number;
  wanted: number;
}

interface Ranking {
  /** Everything that passes, as scored by the plain index, best first. */
  readonly all: readonly ScoredView[];
  /** The number of hits requested. */
  readonly count: number;
}

/**
 * Whether `ours` are the best `count` of `all`: as many as possible, each with nearly the same score, in order, and
 * without leaving out a clearly better one.
 */
export function compareNearly(ours: readonly ScoredView[], { all, count }: Ranking): string | undefined {
  const text = compareEach(ours, { all, count }, isNear);
  if (text !== undefined) return text;
  const ids = new Set(ours.map(({ id }) => id));
  const worst = ours.at(-1);
  for (const left of all) {
    if (worst !== undefined && !ids.has(left.id) && left.score > worst.score && !isNear(left.score, worst.score))
      return `left out: ${showScored(left)}, though ${showScored(worst)} is there`;
  }
  return undefined;
}

/** Whether `ours` are `count` of `all` in order, with scores equal to the last bit; counts the best ones among them. */
export function compareRoughly(
  ours: readonly ScoredView[],
  { all, count }: Ranking,
  recall: Recall,
): string | undefined {
  const text = compareEach(ours, { all, count }, Object.is);
  if (text !== undefined) return text;
  const bar = all[Math.min(count, all.length) - 1]?.score ?? 0;
  recall.wanted += ours.length;
  recall.found += ours.filter(({ score }) => score >= bar).length;
  return undefined;
}

function compareEach(
  ours: readonly ScoredView[],
  { all, count }: Ranking,
  isAlike: (one: number, other: number) => boolean,
): string | undefined {
  const expectedCount = Math.min(count, all.length);
  if (ours.length !== expectedCount) return `${ours.length} answers instead of ${expectedCount}`;
  const plainById = new Map(all.map((view) => [view.id, view]));
  for (const [i, view] of ours.entries()) {
    const plain = plainById.get(view.id);
    if (plain === undefined) return `answer ${i} is wrong or doubled: ${showScored(view)}`;
    plainById.delete(view.id);
    if (!isAlike(view.score, plain.score) || showView(view) !== showView(plain))
      return `answer ${i}\n  engine: ${showScored(view)}\n  plain:  ${showScored(plain)}`;
    const previous = ours[i - 1];
    if (previous !== undefined && previous.score < view.score) return `answer ${i} is better than the one before`;
  }
  return undefined;
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= TOLERANCE * Math.max(1, Math.abs(one), Math.abs(other));
}
