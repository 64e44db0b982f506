/**
 * The threads that do parts of searches (`search-task.ts`) for the thread that
 * owns the indexes. They read rows and graphs in shared memory while the owner
 * changes them: there are no locks, writes wait for no search, and rows are
 * changed in place. The protocol is optimistic reading with a log of changes:
 *
 * (1) A search has a mark in the log of its namespace (`index/change-log.ts`)
 *     before its task is sent, and until it has its answer. Every change of a
 *     record is noted there before the change, also that its number is freed, used
 *     again, or moved.
 * (2) A task returns record numbers. Whatever it read of a record that is in the
 *     log since the mark (a half-written row, a code of another row, the row of
 *     another id) counts for nothing: the search scores all these records again
 *     from their current rows, in the step that makes the answer. A record that is
 *     not in the log was not written since before the task was sent, and the send
 *     is a release and an acquire of all earlier writes (`mailbox.ts`): the thread
 *     read its row as it is.
 * (3) Memory that a task names stays mapped and keeps its meaning: arenas and
 *     graphs only grow while they exist, and a graph without an owner is freed when
 *     the last thread has let go of it. There are two exceptions. The place of a
 *     removed node may get another record during a walk; then the walk may return
 *     this record, which is scored from its own row as all are. And another
 *     namespace may use a block of rows at once when it is freed. A scan counts
 *     only if its store has freed no block since the task was sent
 *     (`RowStore.releasedCount`); otherwise the owner scans again. So a foreign row
 *     is never a hit, nor hides one.
 * (4) A half-written row may get any rank, and may displace hits from the result of
 *     its task. It is in the log, so a spare hit replaces it, and the search starts
 *     again if these are too few, as for any other change
 *     (`search/namespace-search.ts`).
 * (5) The walk of a task and the pending records that are scanned with it have one
 *     state: that at the send. A record that was in the graph then is found by the
 *     walk or is in the log; a record that was pending then is scanned by the
 *     owner. This holds for each part of a graph in parts, whose walks follow each
 *     other: what changes in between is in the log. If the namespace has another
 *     graph when a walk comes back, all records are scanned.
 * (6) The owner computes every score of an answer of a walk itself, and takes the
 *     ranks of a scan only for records that are not in the log.
 * (7) A thread that ends loses its tasks: each is done by the owner. Another thread
 *     follows, but not after ENDS_MAX ends.
 * (8) Rows in files are read as `row-files/row-files.ts` describes. The owner holds the files of a task until its
 *     `done` is called, also for a lost task. A task that meets a damaged row reports it.
 */
import type { GraphKernel } from "../graph/graph-kernel.ts";
import type { Arena } from "../rows/arena.ts";
import type { RowBlock } from "../rows/row-store.ts";
import { Mailbox, SLOT_COUNT, Slot } from "./mailbox.ts";
import type { ScanTask, SearchTask, WalkTask } from "./search-task.ts";
import { type SharedFilter, SharedFilters } from "./shared-filters.ts";
import type { ToSearchThread } from "./task-runner.ts";
import {
  fileScanWords,
  rankWords,
  readFileScanResult,
  readRankResult,
  readScanResult,
  readThreadMs,
  readWalkResult,
  scanWords,
  walkWords,
  writeFileScan,
  writeRank,
  writeScan,
  writeWalk,
} from "./task-words.ts";

/** A running thread. It reads its messages before its next task. */
export interface SearchThread {
  post(message: ToSearchThread): void;
  close(): Promise<void>;
}

export interface SearchThreadEvents {
  /** A task has ended, after `Mailbox.ownerSleeps`. */
  woke(): void;
  /** The thread ended without being closed. Called at most once, and no event follows. */
  ended(): void;
}

export interface SearchThreadsOptions {
  /** The most threads, not counting the owner. */
  readonly count: number;
  /** Shorter tasks are not worth a hop; `SHORT_MS` if undefined. */
  readonly shortMs?: number;
  /** Longer tasks are worth one even if nothing else is done; `LONG_MS` if undefined. */
  readonly longMs?: number;
  /** They do only tasks that read files: the owner does all others itself. */
  readonly onlyRead?: boolean;
  start(mailbox: Mailbox, events: SearchThreadEvents): SearchThread;
}

/** The chunks of arenas for the scratch of threads. */
export interface ScratchSource {
  findScratch(arena: Arena, thread: number): number | undefined;
}

/** A hop to a thread and back costs about a third of this in processor time. bench/vector.bench.ts */
const SHORT_MS = 0.06;
const LONG_MS = 2;
/** Threads that may end unexpectedly before no other is started. */
const ENDS_MAX = 3;
/**
 * Graphs that a thread has let go of stay in memory until its heap is collected, which nothing else causes. After this
 * many bytes of them, another thread replaces it.
 */
const RETIRED_BYTES_MAX = 67_108_864;
/** Larger tasks do not fit into a slot: the owner does them. */
const SLOT_WORDS_MAX = 16_777_216;

type Written = Pick<SentTask, "filter">;

/** Called after `done` of a task, with the time that the thread worked for it; 0 if the thread has ended. */
type OnBack = (threadMs: number) => void;

interface SentTask {
  readonly task: SearchTask;
  readonly onBack: OnBack;
  readonly filter: SharedFilter | undefined;
}

/** A thread with its mailbox, and what it knows. */
interface Seat {
  /** The lowest free number when it began: the number of its scratch. */
  readonly number: number;
  readonly mailbox: Mailbox;
  readonly thread: SearchThread;
  readonly slots: (Slot | undefined)[];
  readonly tasks: (SentTask | undefined)[];
  taskCount: number;
  /** The expected duration of its tasks. */
  costMs: number;
  /** The bytes of the graphs that it has let go of. */
  retiredBytes: number;
  readonly graphs: Set<number>;
  readonly arenas: Set<number>;
}

interface KnownGraph {
  readonly number: number;
  readonly filters: SharedFilters;
}

export class SearchThreads {
  /** Called when a task has ended while the owner slept. */
  onWake: () => void = () => {};
  readonly shortMs: number;
  readonly longMs: number;
  readonly onlyRead: boolean;
  readonly #countMax: number;
  readonly #start: SearchThreadsOptions["start"];
  readonly #seats: Seat[] = [];
  readonly #graphs = new Map<GraphKernel, KnownGraph>();
  #graphCount = 0;
  readonly #arenas = new Map<Arena, number>();
  #scratches: ScratchSource | undefined;
  #endCount = 0;
  #takenCount = 0;
  /** Threads that others replace. */
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;
  #isAsleep = false;

  constructor({ count, start, shortMs = SHORT_MS, longMs = LONG_MS, onlyRead = false }: SearchThreadsOptions) {
    this.onlyRead = onlyRead;
    this.shortMs = shortMs;
    this.longMs = longMs;
    this.#countMax = count;
    this.#start = start;
  }

  /** The memory of the rows that will be scanned. */
  set scratches(scratches: ScratchSource) {
    this.#scratches = scratches;
  }

  /** The number of running threads. */
  get threadCount(): number {
    return this.#seats.length;
  }

  /** The number of threads that take tasks. */
  get openCount(): number {
    return this.#seats.filter(isOpen).length;
  }

  /** The most tasks at the same time. */
  get tasksMax(): number {
    return this.#countMax * SLOT_COUNT;
  }

  /** The number of tasks that wait or run on threads. */
  get taskCount(): number {
    return this.#seats.reduce((sum, { taskCount }) => sum + taskCount, 0);
  }

  /** The number of tasks taken since the start. */
  get takenCount(): number {
    return this.#takenCount;
  }

  /** True if some thread has no task. Starts another one if none has. */
  get hasIdle(): boolean {
    if (this.#seats.some((seat) => seat.taskCount === 0 && isOpen(seat))) return true;
    this.#startMore();
    return false;
  }

  /** True if some thread can have another task. */
  get hasRoom(): boolean {
    return this.#seats.some((seat) => seat.taskCount < SLOT_COUNT && isOpen(seat));
  }

  /**
   * Returns false if no thread can do the task. Otherwise its `done` is called later, by `collect` or `close`, and then
   * `onBack`.
   */
  take(task: SearchTask, onBack: OnBack): boolean {
    const seat = this.#findSeat();
    const slot = seat?.tasks.indexOf(undefined);
    if (seat === undefined || slot === undefined || slot < 0) return false;
    const written = this.#write(seat, slot, task);
    if (written === undefined) return false;
    seat.tasks[slot] = { task, onBack, filter: written.filter };
    seat.taskCount += 1;
    seat.costMs += task.costMs;
    this.#takenCount += 1;
    if (this.#isAsleep) seat.mailbox.ownerSleeps();
    seat.mailbox.send(slot);
    return true;
  }

  /** Takes over the results of the tasks that have ended. */
  collect(): void {
    for (const seat of this.#seats) {
      if (seat.taskCount === 0) continue;
      for (let slot = 0; slot < SLOT_COUNT; slot += 1) this.#collectSlot(seat, slot);
    }
    this.#closeWorn();
  }

  /** From now on `onWake` is called when a task ends, until it was called once. Call `collect` after both. */
  sleep(): void {
    this.#isAsleep = true;
    for (const { mailbox } of this.#seats) mailbox.ownerSleeps();
  }

  /** Ends the threads, and their tasks as lost. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const seats = this.#seats.splice(0);
    await Promise.all([...seats.map(({ thread }) => thread.close()), ...this.#closing]);
    for (const seat of seats) lose(seat);
  }

  #collectSlot(seat: Seat, number: number): void {
    const sent = seat.tasks[number];
    const slot = seat.slots[number];
    if (sent === undefined || slot === undefined) return;
    const outcome = seat.mailbox.outcomeOf(number);
    if (outcome !== "done" && outcome !== "failed") return;
    const { task, filter, onBack } = sent;
    seat.tasks[number] = undefined;
    seat.taskCount -= 1;
    seat.costMs = seat.taskCount === 0 ? 0 : seat.costMs - task.costMs;
    filter?.release();
    const threadMs = readThreadMs(slot);
    const finish = finishOf(task, outcome === "done" ? slot : undefined);
    seat.mailbox.free(number);
    finish();
    onBack(threadMs);
  }

  #closeWorn(): void {
    for (const seat of this.#seats.filter((each) => isWorn(each) && each.taskCount === 0)) {
      this.#seats.splice(this.#seats.indexOf(seat), 1);
      // Its scratch may go to the next thread at once: without a task it writes nothing.
      const closing = seat.thread.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
  }

  /** The thread that is likely to begin a task first. */
  #findSeat(): Seat | undefined {
    let best: Seat | undefined;
    for (const seat of this.#seats) {
      if (seat.taskCount === SLOT_COUNT || !isOpen(seat)) continue;
      if (best === undefined || seat.costMs < best.costMs) best = seat;
    }
    return best;
  }

  /** Starts a thread, unless one is starting. */
  #startMore(): void {
    if (this.#isClosed || this.#seats.length >= this.#countMax || this.#endCount >= ENDS_MAX) return;
    if (this.#seats.some(({ mailbox }) => !mailbox.isReady)) return;
    let number = 0;
    while (this.#seats.some((seat) => seat.number === number)) number += 1;
    const mailbox = new Mailbox();
    const seat: Seat = {
      number,
      mailbox,
      thread: this.#start(mailbox, { woke: () => this.#woke(), ended: () => this.#ended(seat) }),
      slots: new Array(SLOT_COUNT).fill(undefined),
      tasks: new Array(SLOT_COUNT).fill(undefined),
      taskCount: 0,
      costMs: 0,
      retiredBytes: 0,
      graphs: new Set(),
      arenas: new Set(),
    };
    this.#seats.push(seat);
  }

  #woke(): void {
    this.#isAsleep = false;
    this.onWake();
  }

  /** keeps (7) */
  #ended(seat: Seat): void {
    const index = this.#seats.indexOf(seat);
    if (index < 0) return;
    this.#seats.splice(index, 1);
    this.#endCount += 1;
    lose(seat);
    this.#woke();
  }

  #write(seat: Seat, slot: number, task: SearchTask): Written | undefined {
    switch (task.kind) {
      case "walk":
        return this.#writeWalk(seat, slot, task);
      case "scan":
        return this.#writeScan(seat, slot, task);
      case "rank": {
        const memory = this.#slotOf(seat, slot, rankWords(task));
        if (memory === undefined) return undefined;
        writeRank(memory, task);
        return { filter: undefined };
      }
      case "file scan": {
        const memory = this.#slotOf(seat, slot, fileScanWords(task));
        if (memory === undefined) return undefined;
        writeFileScan(memory, task);
        return { filter: undefined };
      }
      default: {
        const never: never = task;
        throw never;
      }
    }
  }

  #writeWalk(seat: Seat, slot: number, task: WalkTask): Written | undefined {
    const graph = this.#knownGraph(task.kernel);
    const filter = task.accepts && graph.filters.open(task.accepts);
    if (task.accepts !== undefined && filter === undefined) return undefined;
    const memory = this.#slotOf(seat, slot, walkWords(task));
    if (memory === undefined) {
      filter?.release();
      return undefined;
    }
    if (!seat.graphs.has(graph.number)) {
      seat.graphs.add(graph.number);
      seat.thread.post({ kind: "graph", graph: graph.number, memory: task.kernel.memory });
    }
    writeWalk(memory, task, { graph: graph.number, accepts: filter?.address ?? 0 });
    return { filter };
  }

  #writeScan(seat: Seat, slot: number, task: ScanTask): Written | undefined {
    const memory = this.#slotOf(seat, slot, scanWords(task));
    if (memory === undefined) return undefined;
    for (const { arena } of task.rows.blocks) if (!this.#knowsArena(seat, arena)) return undefined;
    writeScan(memory, task, ({ arena }: RowBlock) => this.#arenas.get(arena) as number);
    return { filter: undefined };
  }

  #slotOf(seat: Seat, number: number, wordCount: number): Slot | undefined {
    const known = seat.slots[number];
    if (known !== undefined && known.words.length >= wordCount) return known;
    if (wordCount > SLOT_WORDS_MAX) return undefined;
    const slot = Slot.ofWords(wordCount);
    seat.slots[number] = slot;
    seat.thread.post({ kind: "slot", slot: number, buffer: slot.buffer });
    return slot;
  }

  #knownGraph(kernel: GraphKernel): KnownGraph {
    const known = this.#graphs.get(kernel);
    if (known !== undefined) return known;
    this.#graphCount += 1;
    const number = this.#graphCount;
    const graph = { number, filters: new SharedFilters(kernel) };
    this.#graphs.set(kernel, graph);
    kernel.onRetired = () => {
      this.#graphs.delete(kernel);
      const bytes = kernel.code.usedBytes();
      for (const seat of this.#seats) {
        if (!seat.graphs.delete(number)) continue;
        seat.thread.post({ kind: "forget graph", graph: number });
        seat.mailbox.wake();
        seat.retiredBytes += bytes;
      }
      this.#closeWorn();
    };
    return graph;
  }

  /** Makes an arena known to the thread. Returns false if there is no memory for its scratch. */
  #knowsArena(seat: Seat, arena: Arena): boolean {
    let number = this.#arenas.get(arena);
    if (number === undefined) {
      number = this.#arenas.size;
      this.#arenas.set(arena, number);
    }
    if (seat.arenas.has(number)) return true;
    const scratch = this.#scratches?.findScratch(arena, seat.number);
    if (scratch === undefined) return false;
    seat.arenas.add(number);
    seat.thread.post({ kind: "arena", arena: number, memory: arena.memory, scratch });
    return true;
  }
}

function isWorn({ retiredBytes }: Seat): boolean {
  return retiredBytes > RETIRED_BYTES_MAX;
}

/** Whether the thread takes tasks. */
function isOpen(seat: Seat): boolean {
  return seat.mailbox.isReady && !isWorn(seat);
}

/** Reads the result of a task from its slot, and returns the call that takes it. Without a slot the task is lost. */
function finishOf(task: SearchTask, slot: Slot | undefined): () => void {
  switch (task.kind) {
    case "walk": {
      const result = slot && readWalkResult(slot);
      return () => task.done(result);
    }
    case "scan": {
      const result = slot && readScanResult(slot);
      return () => task.done(result);
    }
    case "rank": {
      const result = slot && readRankResult(slot);
      return () => task.done(result);
    }
    case "file scan": {
      const result = slot && readFileScanResult(slot);
      return () => task.done(result);
    }
    default: {
      const never: never = task;
      throw never;
    }
  }
}

/** Ends the tasks of a thread that has ended. */
function lose({ tasks }: Seat): void {
  for (const [slot, sent] of tasks.entries()) {
    tasks[slot] = undefined;
    sent?.filter?.release();
    sent?.task.done(undefined);
    sent?.onBack(0);
  }
}
