/**
 * Tasks and their results as words of a slot (`mailbox.ts`).
 *
 *     walk   | WALK | graph | effort | visits | accepts | record end | query words | thread ms f32 | result at |
 *     scan   | SCAN | similarity | count | dimension | row bytes | code bytes | capacity | squared length f32 |
 *            | block count | bit words or NONE | match count or NONE | thread ms f32 | result at |
 *     rank   | RANK | similarity | hit count | dimension | place count | squared length f32 | thread ms f32 |
 *            | result at |
 *     file   | FILE_SCAN | similarity | count | dimension | descriptor | entry count | squared length f32 |
 *            | thread ms f32 | result at |
 *
 * Then the query f32; for a scan the blocks, each
 *
 *     | arena | start | end | rows | lengths | codes, 0 for none | 1: rows are split |
 *
 * and the bits; for a rank the places, each
 *
 *     | descriptor | offset | version f64 |
 *
 * and, if there is a hit count, the distance f32 of each; for a file the record of each entry. The result is a count,
 * flags, and the records, each with its rank f32 if it is a scan; of a walk the records and then their distances f32, of a
 * rank task only the ranks. The thread also writes how long it worked.
 */
import { assert } from "../../kernel/assert.ts";
import type { RowPlace } from "../row-files/row-file-storage.ts";
import type { PreparedQuery } from "../rows/prepared-query.ts";
import { rowBytesOf } from "../rows/row-kernel.ts";
import type { RowBlock } from "../rows/row-store.ts";
import { similarityRows } from "../rows/similarity.ts";
import { HEADER_WORDS, type Slot } from "./mailbox.ts";
import type {
  FileScanResult,
  FileScanTask,
  RankResult,
  RankTask,
  ScanResult,
  ScanTask,
  WalkResult,
  WalkTask,
} from "./search-task.ts";

const WALK = 1;
const SCAN = 2;
const RANK = 3;
const FILE_SCAN = 4;
const NONE = 0xffff_ffff;
const BLOCK_WORDS = 7;
const RESULT_HEADER_WORDS = 2;
const PLACE_WORDS = 4;
/** The flags of a result. */
const COMPLETE = 1;
const DAMAGED = 2;
/** The place of the result is the last word of the header, and the time of the thread is before it. */
const RESULT_AT = HEADER_WORDS - 1;
const THREAD_MS_AT = HEADER_WORDS - 2;

/** More hits than were requested, among which equal ranks at the end are put into insertion order. */
const SPARE_TIES = 64;

/** The memory of a task, by the numbers that the thread knows. */
export interface WalkPlace {
  readonly graph: number;
  /** The address of the bits of records that pass, in the graph's memory; 0 if all pass. */
  readonly accepts: number;
}

export function walkWords({ query, effort }: WalkTask): number {
  return HEADER_WORDS + query.length + RESULT_HEADER_WORDS + 2 * effort;
}

export function writeWalk({ words, floats }: Slot, task: WalkTask, { graph, accepts }: WalkPlace): void {
  const { query, effort, visitsMax, accepts: passing } = task;
  words[0] = WALK;
  words[1] = graph;
  words[2] = effort;
  words[3] = Math.min(visitsMax, NONE);
  words[4] = accepts;
  words[5] = passing === undefined ? 0 : passing.matches.length * 32;
  words[6] = query.length;
  words[RESULT_AT] = HEADER_WORDS + query.length;
  floats.set(query, HEADER_WORDS);
}

export function readWalkResult({ words, floats }: Slot): WalkResult {
  const at = words[RESULT_AT] as number;
  const count = words[at] as number;
  const first = at + RESULT_HEADER_WORDS;
  return {
    records: words.slice(first, first + count),
    distances: floats.slice(first + count, first + 2 * count),
    isComplete: words[at + 1] === COMPLETE,
  };
}

export function scanWords({ query, matches, rows, count }: ScanTask): number {
  const given = query.padded.length + rows.blocks.length * BLOCK_WORDS + (matches?.length ?? 0);
  return HEADER_WORDS + given + RESULT_HEADER_WORDS + 2 * (count + SPARE_TIES);
}

/** `arenaOf` is the number of a block's arena. */
export function writeScan({ words, floats }: Slot, task: ScanTask, arenaOf: (block: RowBlock) => number): void {
  const { rows, query, similarity, count, matches, matchCount } = task;
  words[0] = SCAN;
  words[1] = similarityRows[similarity].code;
  words[2] = count;
  words[3] = query.dimension;
  words[4] = rows.rowBytes;
  words[5] = rows.codeBytes;
  words[6] = rows.capacity;
  floats[7] = query.squaredLength;
  words[8] = rows.blocks.length;
  words[9] = matches?.length ?? NONE;
  words[10] = matchCount ?? NONE;
  floats.set(query.padded, HEADER_WORDS);
  let at = HEADER_WORDS + query.padded.length;
  for (const block of rows.blocks) {
    words[at] = arenaOf(block);
    words[at + 1] = block.start;
    words[at + 2] = block.end;
    words[at + 3] = block.rows;
    words[at + 4] = block.lengths;
    // No block is at the address 0, which is in the scratch of the owner.
    words[at + 5] = block.codes ?? 0;
    words[at + 6] = block.isSplit ? 1 : 0;
    at += BLOCK_WORDS;
  }
  if (matches !== undefined) words.set(matches, at);
  words[RESULT_AT] = at + (matches?.length ?? 0);
}

export function readScanResult({ words, floats }: Slot): ScanResult {
  const at = words[RESULT_AT] as number;
  const count = words[at] as number;
  const records = new Uint32Array(count);
  const ranks = new Float32Array(count);
  for (let i = 0, from = at + RESULT_HEADER_WORDS; i < count; i += 1, from += 2) {
    records[i] = words[from] as number;
    ranks[i] = floats[from + 1] as number;
  }
  return { records, ranks, isComplete: words[at + 1] === COMPLETE };
}

export function rankWords({ query, places, distances }: RankTask): number {
  const given = query.padded.length + places.length * PLACE_WORDS + distances.length;
  return HEADER_WORDS + given + RESULT_HEADER_WORDS + places.length;
}

export function writeRank({ words, floats, doubles }: Slot, task: RankTask): void {
  const { query, similarity, places, hitCount, distances } = task;
  words[0] = RANK;
  words[1] = similarityRows[similarity].code;
  words[2] = hitCount;
  words[3] = query.dimension;
  words[4] = places.length;
  floats[5] = query.squaredLength;
  floats.set(query.padded, HEADER_WORDS);
  let at = HEADER_WORDS + query.padded.length;
  for (const { descriptor, offset, version } of places) {
    words[at] = descriptor;
    words[at + 1] = offset;
    doubles[at / 2 + 1] = version;
    at += PLACE_WORDS;
  }
  floats.set(distances, at);
  words[RESULT_AT] = at + distances.length;
}

export function readRankResult({ words, floats }: Slot): RankResult {
  const at = words[RESULT_AT] as number;
  const first = at + RESULT_HEADER_WORDS;
  const ranks = floats.slice(first, first + (words[at] as number));
  return { ranks, isDamaged: ((words[at + 1] as number) & DAMAGED) !== 0 };
}

export function fileScanWords({ query, records, count }: FileScanTask): number {
  return HEADER_WORDS + query.padded.length + records.length + RESULT_HEADER_WORDS + 2 * (count + SPARE_TIES);
}

export function writeFileScan({ words, floats }: Slot, task: FileScanTask): void {
  const { query, similarity, descriptor, records, count } = task;
  words[0] = FILE_SCAN;
  words[1] = similarityRows[similarity].code;
  words[2] = count;
  words[3] = query.dimension;
  words[4] = descriptor;
  words[5] = records.length;
  floats[6] = query.squaredLength;
  floats.set(query.padded, HEADER_WORDS);
  const at = HEADER_WORDS + query.padded.length;
  words.set(records, at);
  words[RESULT_AT] = at + records.length;
}

export function readFileScanResult(slot: Slot): FileScanResult {
  const at = slot.words[RESULT_AT] as number;
  return { ...readScanResult(slot), isDamaged: ((slot.words[at + 1] as number) & DAMAGED) !== 0 };
}

/** The time that the thread worked for the task that has ended. */
export function readThreadMs({ floats }: Slot): number {
  return floats[THREAD_MS_AT] as number;
}

// The thread's side.

export interface WalkWords extends WalkPlace {
  readonly kind: "walk";
  readonly effort: number;
  readonly visitsMax: number;
  readonly recordEnd: number;
  readonly query: Float32Array;
}

export interface ScanWords {
  readonly kind: "scan";
  /** The code of the similarity. */
  readonly similarity: number;
  readonly count: number;
  /** The number of hits that the scan collects: `count`, and more of them that may be equal to the last. */
  readonly collected: number;
  readonly rowBytes: number;
  readonly codeBytes: number;
  readonly capacity: number;
  readonly query: PreparedQuery;
  readonly blocks: readonly BlockWords[];
  readonly matches: Uint32Array | undefined;
  readonly matchCount: number | undefined;
}

export interface BlockWords extends Pick<RowBlock, "start" | "end" | "rows" | "lengths" | "codes" | "isSplit"> {
  readonly arenaNumber: number;
}

export interface RankWords {
  readonly kind: "rank";
  /** The code of the similarity. */
  readonly similarity: number;
  readonly hitCount: number;
  readonly query: PreparedQuery;
  readonly places: readonly RowPlace[];
  readonly distances: Float32Array;
}

export interface FileScanWords {
  readonly kind: "file scan";
  /** The code of the similarity. */
  readonly similarity: number;
  readonly count: number;
  /** As of a scan. */
  readonly collected: number;
  readonly query: PreparedQuery;
  readonly descriptor: number;
  readonly records: Uint32Array;
}

export type TaskWords = WalkWords | ScanWords | RankWords | FileScanWords;

const readers: ReadonlyMap<number, (slot: Slot) => TaskWords> = new Map<number, (slot: Slot) => TaskWords>([
  [WALK, readWalk],
  [SCAN, readScan],
  [RANK, readRank],
  [FILE_SCAN, readFileScan],
]);

export function readTask(slot: Slot): TaskWords {
  const read = readers.get(slot.words[0] as number);
  assert(read !== undefined, "a task has a known kind");
  return read(slot);
}

function readWalk({ words, floats }: Slot): WalkWords {
  return {
    kind: "walk",
    graph: words[1] as number,
    effort: words[2] as number,
    visitsMax: words[3] as number,
    accepts: words[4] as number,
    recordEnd: words[5] as number,
    query: floats.subarray(HEADER_WORDS, HEADER_WORDS + (words[6] as number)),
  };
}

function readScan({ words, floats }: Slot): ScanWords {
  const rowBytes = words[4] as number;
  const blockCount = words[8] as number;
  const bitWords = words[9] as number;
  const matchCount = words[10] as number;
  const blocksAt = HEADER_WORDS + rowBytes / Float32Array.BYTES_PER_ELEMENT;
  const bitsAt = blocksAt + blockCount * BLOCK_WORDS;
  const count = words[2] as number;
  return {
    kind: "scan",
    similarity: words[1] as number,
    count,
    collected: count + SPARE_TIES,
    rowBytes,
    codeBytes: words[5] as number,
    capacity: words[6] as number,
    query: {
      dimension: words[3] as number,
      padded: floats.subarray(HEADER_WORDS, blocksAt),
      squaredLength: floats[7] as number,
    },
    blocks: Array.from({ length: blockCount }, (_, i) => readBlock(words, blocksAt + i * BLOCK_WORDS)),
    matches: bitWords === NONE ? undefined : words.subarray(bitsAt, bitsAt + bitWords),
    matchCount: matchCount === NONE ? undefined : matchCount,
  };
}

function readRank({ words, floats, doubles }: Slot): RankWords {
  const dimension = words[3] as number;
  const placesAt = HEADER_WORDS + rowBytesOf(dimension) / Float32Array.BYTES_PER_ELEMENT;
  const placeCount = words[4] as number;
  const hitCount = words[2] as number;
  const distancesAt = placesAt + placeCount * PLACE_WORDS;
  const places = Array.from({ length: placeCount }, (_, i) => {
    const at = placesAt + i * PLACE_WORDS;
    return { descriptor: words[at] as number, offset: words[at + 1] as number, version: doubles[at / 2 + 1] as number };
  });
  return {
    kind: "rank",
    similarity: words[1] as number,
    hitCount,
    query: { dimension, padded: floats.subarray(HEADER_WORDS, placesAt), squaredLength: floats[5] as number },
    places,
    distances: floats.subarray(distancesAt, distancesAt + (hitCount > 0 ? placeCount : 0)),
  };
}

function readFileScan({ words, floats }: Slot): FileScanWords {
  const dimension = words[3] as number;
  const recordsAt = HEADER_WORDS + rowBytesOf(dimension) / Float32Array.BYTES_PER_ELEMENT;
  const count = words[2] as number;
  return {
    kind: "file scan",
    similarity: words[1] as number,
    count,
    collected: count + SPARE_TIES,
    query: { dimension, padded: floats.subarray(HEADER_WORDS, recordsAt), squaredLength: floats[6] as number },
    descriptor: words[4] as number,
    records: words.subarray(recordsAt, recordsAt + (words[5] as number)),
  };
}

function readBlock(words: Uint32Array, at: number): BlockWords {
  const codes = words[at + 5] as number;
  return {
    arenaNumber: words[at] as number,
    start: words[at + 1] as number,
    end: words[at + 2] as number,
    rows: words[at + 3] as number,
    lengths: words[at + 4] as number,
    codes: codes === 0 ? undefined : codes,
    isSplit: words[at + 6] === 1,
  };
}

export function writeThreadMs({ floats }: Slot, ms: number): void {
  floats[THREAD_MS_AT] = ms;
}

export function writeWalkResult({ words, floats }: Slot, { records, distances, isComplete }: WalkResult): void {
  const at = words[RESULT_AT] as number;
  words[at] = records.length;
  words[at + 1] = isComplete ? COMPLETE : 0;
  words.set(records, at + RESULT_HEADER_WORDS);
  floats.set(distances, at + RESULT_HEADER_WORDS + records.length);
}

export function writeRankResult({ words, floats }: Slot, ranks: Float32Array, isDamaged: boolean): void {
  const at = words[RESULT_AT] as number;
  words[at] = ranks.length;
  words[at + 1] = isDamaged ? DAMAGED : COMPLETE;
  floats.set(ranks, at + RESULT_HEADER_WORDS);
}

/** The result of a file scan that met a row which is not as it was written. */
export function writeDamagedScan({ words }: Slot): void {
  const at = words[RESULT_AT] as number;
  words[at] = 0;
  words[at + 1] = DAMAGED;
}

export function writeScanResult(
  { words, floats }: Slot,
  hits: readonly { readonly record: number; readonly rank: number }[],
  isComplete: boolean,
): void {
  const at = words[RESULT_AT] as number;
  words[at] = hits.length;
  words[at + 1] = isComplete ? COMPLETE : 0;
  let to = at + RESULT_HEADER_WORDS;
  for (const { record, rank } of hits) {
    words[to] = record;
    floats[to + 1] = rank;
    to += 2;
  }
}
