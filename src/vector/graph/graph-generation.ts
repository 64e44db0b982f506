/**
 * One memory of a namespace's graph, with its owner's state. The nodes of removed
 * and changed records are dead until the writer has removed them from all lists;
 * then they are free for new nodes. When too many are dead or free, another
 * generation replaces it (`built-graph.ts`).
 *
 * (1) A record is in at most one of: the queues, the batches in progress, the
 *     live nodes.
 * (2) A node is live only while its record has the row it was made of: a row that
 *     changes or is removed while its batch is in progress has another ticket, or
 *     none, when the batch comes back.
 * (3) A node that the writer reports as lost is dead, and its record is pending
 *     until it has a new one.
 */
import type { BuildHandle, GraphBuildQueue } from "./build-queue.ts";
import type { GraphHits, GraphOptions, GraphRequest } from "./graph.ts";
import type { GraphKernel } from "./graph-kernel.ts";
import { CheckTally, type MaintenanceReport, RETIRED_MIN, RETIRED_SHARE } from "./graph-maintenance.ts";
import { GraphSearcher } from "./graph-searcher.ts";
import { isNode, type RowBatch } from "./graph-writer.ts";
import { grown, RecordSet } from "./record-set.ts";

interface GenerationEvents {
  /** Batches have come back. */
  onChange(): void;
  /** A batch whose rows were read later was sent. */
  onSent(): void;
  /** The writer of this graph has ended. */
  onLost(): void;
}

/** The most rows and bytes of one batch. */
const BATCH_ROWS = 256;
const BATCH_BYTES = 1_048_576;
/** Batches in progress: one that is built, and others so that the builder need not wait for this thread. */
const BATCHES_MAX = 4;

/**
 * Checks that become due with each new node, each one that a pass removed, and each one that a check missed; at most one
 * for each live node. A third of the records changed is a check of all. bench/graph.bench.ts
 */
const CHECKS_PER_CHANGE = 3;
const CHECKS_PER_MISSED = 500;
/** Checks of one request, about 10 ms, and nodes of the pass that removes dead ones. */
const CHECKS_MAX = 32;
const SWEPT_MAX = 512;
/** Dead nodes are sent with the next rows, or when there are this many. */
const RETIRED_MAX = 512;

const NO_HITS: GraphHits = {
  records: new Uint32Array(0),
  distances: new Float32Array(0),
  count: 0,
  visits: 0,
  isComplete: false,
};

interface SentBatch {
  /** The ticket of its first row; the others follow. */
  readonly ticket: number;
}

export class GraphGeneration {
  /** Undefined if there was no memory for a graph, so that everything stays pending. */
  readonly kernel: GraphKernel | undefined;
  readonly #options: GraphOptions;
  readonly #searcher: GraphSearcher | undefined;
  #handle: BuildHandle | undefined;
  readonly #queue = new RecordSet();
  /**
   * Records that were in progress or in the graph before, and were written again. They wait for the others: a record
   * that is written all the time would leave a dead node each time.
   */
  readonly #rewritten = new RecordSet();
  /** Records in progress, and their tickets. */
  readonly #sent = new Map<number, number>();
  readonly #batches: SentBatch[] = [];
  #nextTicket = 1;
  /** The live node plus one by record; 0 for none. */
  #nodes = new Uint32Array(64);
  #liveCount = 0;
  /** Nodes of removed and changed records. */
  #deadCount = 0;
  /** Nodes without any link. */
  #freeCount = 0;
  /** Dead nodes that the writer does not know yet. */
  #retired: number[] = [];
  readonly #missed = new CheckTally();
  readonly #lost = new CheckTally();
  #checksDue = 0;
  /** Resolves the caller that waits for a report. */
  #reported: ((report: MaintenanceReport | undefined) => void) | undefined;
  #isFilling = false;
  #isPaused = false;
  #onSent: () => void = () => {};
  /** Resolves when the rows of all batches so far were read: batches are sent in their order. */
  #reading: Promise<void> = Promise.resolve();

  constructor(kernel: GraphKernel | undefined, options: GraphOptions) {
    this.kernel = kernel;
    this.#options = options;
    this.#searcher = kernel && new GraphSearcher(kernel);
  }

  get liveCount(): number {
    return this.#liveCount;
  }

  get deadCount(): number {
    return this.#deadCount;
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  /** The share of the live nodes that walks miss, by the last checks. */
  get missedShare(): number {
    return this.#missed.share;
  }

  /** The share that could not be linked again either. */
  get lostShare(): number {
    return this.#lost.share;
  }

  /** Whether there is something to check or to remove. */
  get wantsMaintenance(): boolean {
    if (this.#handle === undefined || this.#isPaused || this.#reported !== undefined) return false;
    return this.#checksDue >= 1 || this.#retired.length >= RETIRED_MAX || this.#isSweepDue;
  }

  /** As the writer decides; it also ends a pass that it has begun. */
  get #isSweepDue(): boolean {
    if (this.kernel === undefined) return false;
    return this.#deadCount >= Math.max(RETIRED_MIN, this.kernel.nodeCount * RETIRED_SHARE);
  }

  get pendingCount(): number {
    return this.#queuedCount + this.#sent.size;
  }

  /** True if pending records stay pending: there is no memory or no writer. */
  get isStuck(): boolean {
    return this.#handle === undefined;
  }

  get byteCount(): number {
    return this.kernel?.code.usedBytes() ?? 0;
  }

  open(queue: GraphBuildQueue, { onChange, onSent, onLost }: GenerationEvents): void {
    if (this.kernel === undefined) return;
    this.#onSent = onSent;
    this.#handle = queue.open(this.kernel, {
      built: (batch, report) => {
        this.#built(batch);
        this.#note(report);
        this.#fill();
        onChange();
      },
      maintained: (report) => {
        this.#note(report);
        this.#settleReport(report);
        onChange();
      },
      wanted: () => this.#fill(),
      lost: () => {
        this.#stop();
        onLost();
      },
    });
  }

  /** Sends no more rows until `resume`; they stay pending. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#fill();
  }

  close(): void {
    this.#handle?.close();
    this.#handle = undefined;
    this.#settleReport(undefined);
  }

  /** Asks the writer for a portion of checks and removals. Resolves with undefined if it ends before. */
  maintain(): Promise<MaintenanceReport | undefined> {
    const handle = this.#handle;
    if (handle === undefined || !this.wantsMaintenance) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#reported = resolve;
      const checkCount = Math.min(CHECKS_MAX, Math.floor(this.#checksDue));
      // They count as done even if there are no nodes to check.
      this.#checksDue -= checkCount;
      handle.maintain({ retired: this.#takeRetired(), checkCount, sweepCount: this.#isSweepDue ? SWEPT_MAX : 0 });
    });
  }

  /** Closes it for good: no search follows. */
  retire(): void {
    this.close();
    this.kernel?.retire();
  }

  isPending(record: number): boolean {
    return this.#queue.has(record) || this.#rewritten.has(record) || this.#sent.has(record);
  }

  *pending(): Generator<number> {
    yield* this.#queue;
    yield* this.#rewritten;
    yield* this.#sent.keys();
  }

  /** Inserts all its records into another generation. */
  copyTo(other: GraphGeneration): void {
    for (let record = 0; record < this.#nodes.length; record += 1) if (this.#nodes[record] !== 0) other.insert(record);
    for (const record of this.pending()) other.insert(record);
  }

  insert(record: number): void {
    if (this.#queue.has(record) || this.#rewritten.has(record)) return;
    const isKnown = this.#sent.has(record) || (this.#nodes[record] ?? 0) !== 0;
    this.remove(record);
    (isKnown ? this.#rewritten : this.#queue).add(record);
    if (this.#isFilling || this.#isPaused || this.#handle === undefined) return;
    // At the end of the turn, so that the rows of a request are sent together.
    this.#isFilling = true;
    queueMicrotask(() => this.#fill());
  }

  remove(record: number): void {
    // keeps (1) and (2)
    if (this.#queue.delete(record) || this.#rewritten.delete(record) || this.#sent.delete(record)) return;
    const node = this.#nodes[record] ?? 0;
    if (node === 0) return;
    this.kernel?.code.setLive(node - 1, 0);
    this.#nodes[record] = 0;
    this.#liveCount -= 1;
    this.#die(node - 1);
  }

  search(request: GraphRequest): GraphHits {
    return this.#searcher?.search(request) ?? NO_HITS;
  }

  /** Makes an existing node live, for a loaded graph. */
  adopt(record: number, node: number): void {
    this.#nodes = grown(this.#nodes, record + 1);
    this.#nodes[record] = node + 1;
    this.#liveCount += 1;
    this.#oweChecks(CHECKS_PER_CHANGE);
    this.kernel?.code.setLive(node, 1);
  }

  /** The record of a live node. */
  recordOfNode(node: number): number | undefined {
    if (this.kernel === undefined) return undefined;
    const record = this.kernel.code.recordOf(node) >>> 0;
    return this.#nodes[record] === node + 1 ? record : undefined;
  }

  get #queuedCount(): number {
    return this.#queue.count + this.#rewritten.count;
  }

  /** Sends rows while there are any and not too many batches are in progress. */
  #fill(): void {
    this.#isFilling = false;
    if (this.#isPaused) return;
    while (this.#handle !== undefined && this.#queuedCount > 0 && this.#batches.length < BATCHES_MAX) {
      this.#batches.push({ ticket: this.#nextTicket });
      this.#send(this.#handle, this.#takeBatch());
    }
  }

  #send(handle: BuildHandle, batch: RowBatch): void {
    const { dimension, read, readLater } = this.#options;
    if (readLater !== undefined) {
      this.#sendLater(handle, batch, readLater([...batch.records]));
      return;
    }
    for (const [i, record] of batch.records.entries()) batch.rows.set(read(record), i * dimension);
    handle.build(batch);
  }

  /** The rows are those of the call, so (2) holds for a record that changes while they are read. */
  #sendLater(handle: BuildHandle, batch: RowBatch, rows: Promise<readonly (Float32Array | undefined)[]>): void {
    const sent = Promise.all([rows, this.#reading]).then(([read]) => {
      if (this.#handle !== handle) return;
      for (const [i, row] of read.entries()) if (row !== undefined) batch.rows.set(row, i * this.#options.dimension);
      handle.build(batch);
      this.#onSent();
    });
    // The reader has reported the fault, which ends the process; until then the records are pending.
    this.#reading = sent.catch(() => {});
  }

  /** The next batch, whose rows are not read yet. */
  #takeBatch(): RowBatch {
    const { dimension } = this.#options;
    const rowsMax = Math.min(BATCH_ROWS, Math.max(1, Math.floor(BATCH_BYTES / (dimension * 4))));
    const count = Math.min(rowsMax, this.#queuedCount);
    const records = new Uint32Array(count);
    const rows = new Float32Array(count * dimension);
    for (let i = 0; i < count; i += 1) {
      const record = (this.#queue.take() ?? this.#rewritten.take()) as number;
      records[i] = record;
      this.#sent.set(record, this.#nextTicket);
      this.#nextTicket += 1;
    }
    return { records, rows, nodes: new Uint32Array(count), retired: this.#takeRetired() };
  }

  #built({ records, nodes }: RowBatch): void {
    const sent = this.#batches.shift();
    if (sent === undefined) return;
    for (let i = 0; i < records.length; i += 1) {
      const record = records[i] as number;
      const node = nodes[i] as number;
      const isCurrent = this.#sent.get(record) === sent.ticket + i;
      if (isCurrent) this.#sent.delete(record);
      if (!isNode(node)) {
        // The memory is full: other records are found by scanning, as before.
        if (isCurrent) this.#queue.add(record);
        this.close();
      } else if (isCurrent) this.adopt(record, node);
      else this.#die(node);
    }
  }

  #die(node: number): void {
    this.#deadCount += 1;
    this.#retired.push(node);
  }

  #takeRetired(): Uint32Array<ArrayBuffer> {
    const retired = Uint32Array.from(this.#retired);
    this.#retired = [];
    return retired;
  }

  #oweChecks(count: number): void {
    this.#checksDue = Math.min(this.#liveCount, this.#checksDue + count);
  }

  #note({ checkedCount, missedCount, lost, freedCount, placedCount }: MaintenanceReport): void {
    this.#missed.add(checkedCount, missedCount);
    this.#lost.add(checkedCount, lost.length);
    this.#oweChecks(freedCount * CHECKS_PER_CHANGE + missedCount * CHECKS_PER_MISSED);
    this.#deadCount -= freedCount;
    this.#freeCount += freedCount - placedCount;
    for (const node of lost) {
      const record = this.recordOfNode(node);
      // keeps (3)
      if (record !== undefined) this.insert(record);
    }
  }

  #settleReport(report: MaintenanceReport | undefined): void {
    const resolve = this.#reported;
    this.#reported = undefined;
    resolve?.(report);
  }

  /** Puts all records in progress into the queue again. */
  #stop(): void {
    this.#settleReport(undefined);
    this.#handle = undefined;
    this.#batches.length = 0;
    for (const record of this.#sent.keys()) this.#queue.add(record);
    this.#sent.clear();
  }
}
