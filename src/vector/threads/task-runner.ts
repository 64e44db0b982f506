/**
 * Runs the tasks of one mailbox, in slices of about a millisecond by turns, with
 * kernels of its own over the shared memory. It knows no index and creates no
 * thread.
 *
 * It reads rows, and the nodes of graphs, while the owner changes them: its ranks
 * may be those of half-written rows, and its candidates may be gone. The owner
 * knows which (`search-threads.ts`).
 */
import { assert } from "../../kernel/assert.ts";
import type { SharedMemory } from "../../kernel/web-assembly.ts";
import { GraphKernel } from "../graph/graph-kernel.ts";
import { similarities } from "../index/definition.ts";
import { entryBytesOf, HEAD_BYTES, NO_RECORD } from "../row-files/row-entries.ts";
import type { ReadFileNow } from "../row-files/row-file-storage.ts";
import { Arena } from "../rows/arena.ts";
import { ExactScan, type ScannedBlock, type ScannedRows } from "../rows/exact-scan.ts";
import { similarityRows } from "../rows/similarity.ts";
import { LateHits } from "../search/late-hits.ts";
import { type Hit, TopHits } from "../search/top-hits.ts";
import { FileRanker } from "./file-ranker.ts";
import { type Mailbox, SLOT_COUNT, Slot } from "./mailbox.ts";
import {
  type FileScanWords,
  type RankWords,
  readTask,
  type ScanWords,
  type WalkWords,
  writeDamagedScan,
  writeRankResult,
  writeScanResult,
  writeThreadMs,
  writeWalkResult,
} from "./task-words.ts";

/** What the thread must know before the tasks that name it. */
export type ToSearchThread =
  | { readonly kind: "graph"; readonly graph: number; readonly memory: SharedMemory }
  | { readonly kind: "forget graph"; readonly graph: number }
  | {
      readonly kind: "arena";
      readonly arena: number;
      readonly memory: SharedMemory;
      /** The address of the chunk that only this thread uses. */
      readonly scratch: number;
    }
  | { readonly kind: "slot"; readonly slot: number; readonly buffer: SharedArrayBuffer };

/** The connection to the owner. */
export interface SearchPort {
  /** The next message that has arrived, if any. */
  receive(): ToSearchThread | undefined;
  /** A task has ended, and the owner wants to know. */
  report(): void;
  /** A time in milliseconds, for durations. */
  nowMs(): number;
  /** Absent if the thread reads no files. */
  readonly readFile?: ReadFileNow;
}

/** About a millisecond, as in `search/row-scan.ts`. */
const SLICE_WORK = 4_000_000;

/** Rows that are read one by one in a slice: each may wait for the disk. */
const SLICE_READS = 16;

/** A task in progress. Returns true when its result is written. */
type Step = () => boolean;

const similarityByCode = similarities.toSorted((a, b) => similarityRows[a].code - similarityRows[b].code);

export class TaskRunner {
  readonly #mailbox: Mailbox;
  readonly #port: SearchPort;
  readonly #sliceWork: number;
  readonly #slots: (Slot | undefined)[] = new Array(SLOT_COUNT).fill(undefined);
  readonly #running: (Step | undefined)[] = new Array(SLOT_COUNT).fill(undefined);
  /** The time of the slices of each running task so far. */
  readonly #usedMs: number[] = new Array(SLOT_COUNT).fill(0);
  #next = 0;
  readonly #graphs = new Map<number, GraphKernel>();
  readonly #arenas: (Arena | undefined)[] = [];
  #fileRanker: FileRanker | undefined;

  /** `sliceWork` is the multiplications of a slice. */
  constructor(mailbox: Mailbox, port: SearchPort, sliceWork = SLICE_WORK) {
    this.#mailbox = mailbox;
    this.#port = port;
    this.#sliceWork = sliceWork;
  }

  /** Reads the messages that have arrived. */
  receive(): void {
    for (let message = this.#port.receive(); message !== undefined; message = this.#port.receive()) this.#hear(message);
  }

  /** Does a slice of the next task. Returns false if no task waits. */
  step(): boolean {
    for (let i = 0; i < SLOT_COUNT; i += 1) {
      const number = (this.#next + i) % SLOT_COUNT;
      if (!this.#mailbox.isSent(number)) continue;
      this.#next = (number + 1) % SLOT_COUNT;
      this.#stepSlot(number);
      return true;
    }
    return false;
  }

  #hear(message: ToSearchThread): void {
    switch (message.kind) {
      case "graph": {
        // Without memory for the scratch, tasks fail, and the owner does them.
        const kernel = GraphKernel.attach(message.memory);
        if (kernel !== undefined) this.#graphs.set(message.graph, kernel);
        break;
      }
      case "forget graph":
        this.#graphs.delete(message.graph);
        break;
      case "arena":
        this.#arenas[message.arena] = Arena.attach(message.memory, message.scratch);
        break;
      case "slot":
        this.#slots[message.slot] = new Slot(message.buffer);
        break;
      default: {
        const never: never = message;
        throw new Error(`Unknown message: ${String(never)}`);
      }
    }
  }

  #stepSlot(number: number): void {
    const startMs = this.#port.nowMs();
    // The messages that belong to a task were sent before it.
    if (this.#running[number] === undefined) this.receive();
    const slot = this.#slots[number];
    assert(slot !== undefined, "a slot is made known before its first task");
    const step = this.#running[number] ?? this.#begin(slot);
    this.#running[number] = step;
    const isOver = step === undefined || step();
    const usedMs = (this.#usedMs[number] as number) + this.#port.nowMs() - startMs;
    this.#usedMs[number] = isOver ? 0 : usedMs;
    if (!isOver) return;
    this.#running[number] = undefined;
    writeThreadMs(slot, usedMs);
    if (this.#mailbox.finish(number, step !== undefined)) this.#port.report();
  }

  /** Undefined if the memory of the task is not known here. */
  #begin(slot: Slot): Step | undefined {
    const task = readTask(slot);
    switch (task.kind) {
      case "walk":
        return this.#beginWalk(slot, task);
      case "scan":
        return this.#beginScan(slot, task);
      case "rank":
        return this.#beginRank(slot, task);
      case "file scan":
        return this.#beginFileScan(slot, task);
      default: {
        const never: never = task;
        throw never;
      }
    }
  }

  #beginWalk(slot: Slot, { graph, effort, visitsMax, accepts, recordEnd, query }: WalkWords): Step | undefined {
    const kernel = this.#graphs.get(graph);
    if (kernel === undefined) return undefined;
    return () => {
      const { code } = kernel;
      kernel.putRow(query);
      const count = code.search(code.nodeCount(), effort, effort, accepts, recordEnd, visitsMax);
      const isComplete = code.wasCut() === 0;
      const { words, floats } = kernel;
      const records = new Uint32Array(count);
      const distances = new Float32Array(count);
      let at = code.resultsAddress() >>> 2;
      for (let i = 0; i < count; i += 1, at += 2) {
        records[i] = words[at] as number;
        distances[i] = floats[at + 1] as number;
      }
      writeWalkResult(slot, { records, distances, isComplete });
      return true;
    };
  }

  #beginScan(slot: Slot, task: ScanWords): Step | undefined {
    const rows = this.#rowsOf(task);
    const similarity = similarityByCode[task.similarity];
    if (rows === undefined || similarity === undefined) return undefined;
    const { query, count, collected, matches, matchCount } = task;
    const scan = new ExactScan(rows, {
      query: query.padded.subarray(0, query.dimension),
      similarity,
      count: collected,
      order: (record) => record,
      matches,
      matchCount,
    });
    return () => {
      if (!scan.step(this.#sliceWork)) return false;
      const hits = scan.hits();
      writeScanResult(slot, hits, isExact(hits, { count, collected }));
      return true;
    };
  }

  #beginRank(slot: Slot, { similarity, hitCount, query, places, distances }: RankWords): Step | undefined {
    const ranker = this.#findRanker();
    const name = similarityByCode[similarity];
    if (ranker === undefined || name === undefined) return undefined;
    const ranks = new Float32Array(places.length);
    const top = new TopHits(hitCount, (place) => place);
    const lateHits = hitCount > 0 ? new LateHits(name, hitCount) : undefined;
    let count = 0;
    return () => {
      for (let i = 0; i < SLICE_READS; i += 1) {
        const place = places[count];
        const distance = distances[count] ?? 0;
        const isOver = place === undefined || lateHits?.isUnlikely(distance, top.threshold) === true;
        const rank = isOver ? undefined : ranker.rank(place, { query, similarity });
        if (rank === undefined) {
          writeRankResult(slot, ranks.subarray(0, count), !isOver);
          return true;
        }
        lateHits?.note(distance, { rank, isHit: rank >= top.threshold });
        top.offer(count, rank);
        ranks[count] = rank;
        count += 1;
      }
      return false;
    };
  }

  #beginFileScan(slot: Slot, task: FileScanWords): Step | undefined {
    const ranker = this.#findRanker();
    const { similarity, count, collected, query, descriptor, records } = task;
    const name = similarityByCode[similarity];
    if (ranker === undefined || name === undefined) return undefined;
    const { score } = similarityRows[name];
    const top = new TopHits(collected, (record) => record);
    const perBlock = ranker.blockEntries(query.dimension);
    let first = 0;
    return () => {
      const entryCount = Math.min(perBlock, records.length - first);
      const block = { descriptor, offset: HEAD_BYTES + first * entryBytesOf(query.dimension), count: entryCount };
      const isRead = ranker.scan(
        block,
        { query, similarity },
        {
          wants: (entry) => records[first + entry] !== NO_RECORD,
          offer: (entry, rank) => top.offer(records[first + entry] as number, rank, score(rank)),
        },
      );
      if (!isRead) {
        writeDamagedScan(slot);
        return true;
      }
      first += entryCount;
      if (first < records.length) return false;
      const hits = top.sorted();
      writeScanResult(slot, hits, isExact(hits, { count, collected }));
      return true;
    };
  }

  #findRanker(): FileRanker | undefined {
    const { readFile } = this.#port;
    if (readFile !== undefined) this.#fileRanker ??= FileRanker.create(readFile);
    return this.#fileRanker;
  }

  #rowsOf({ query, rowBytes, codeBytes, capacity, blocks }: ScanWords): ScannedRows | undefined {
    const found: ScannedBlock[] = [];
    for (const { arenaNumber, ...block } of blocks) {
      const arena = this.#arenas[arenaNumber];
      if (arena === undefined) return undefined;
      found.push({ ...block, arena });
    }
    // A scan asks for the blocks in their order.
    let at = 0;
    return {
      dimension: query.dimension,
      rowBytes,
      codeBytes,
      capacity,
      memory: { prepare: () => query },
      findBlock: (record) => {
        while (at < found.length && record >= (found[at] as ScannedBlock).end) at += 1;
        return found[at];
      },
    };
  }
}

/** If the last collected hit is equal to the last requested one, so may be hits that were not collected. */
function isExact(hits: readonly Hit[], { count, collected }: Pick<ScanWords, "count" | "collected">): boolean {
  return hits.length < collected || hits[collected - 1]?.rank !== hits[count - 1]?.rank;
}
