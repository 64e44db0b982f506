/**
 * Searches run in the thread of the listener, so they must not block it. In one
 * turn of the event loop, all searches together run for TURN_MS when they are
 * called, so a search that ends by then never waits. Longer searches continue in
 * steps of about a millisecond, each when its tenant has the thread
 * (kernel/turns.ts), so the searches of a tenant rotate and tenants share the
 * time.
 *
 * A running search holds memory, so at most RUNNING_MAX run, in addition to one
 * for each tenant that has none, and to those on other threads. The others have
 * not begun; the next to begin is of the tenant with the fewest running searches.
 *
 * With other threads (`threads/`), this one searches too:
 *
 * (1) A search that is alone runs here: a hop costs more than it saves. A search
 *     of `longMs` or more goes away, so that other requests need not wait for it.
 * (2) While several searches come at the same time, an idle thread gets the next
 *     one. A thread gets a second task only while further searches wait here:
 *     otherwise this thread is the idle one.
 * (3) A task shorter than `shortMs` stays here.
 * (4) Whether searches come at the same time cannot be seen from one that runs at
 *     once. So now and then one is sent away, and if another comes meanwhile,
 *     they do.
 * (5) The time of other threads is charged to the tenant, divided by the number of
 *     all threads. So a tenant of long scans gets no more of them than one of short
 *     walks, and while another tenant keeps this thread busy, they need not idle.
 * (6) This thread never waits for the disk. A task that does goes to a thread
 *     whatever the load is, and waits for one that has room.
 */
import type { Clock } from "../../kernel/clock.ts";
import { nextTurn } from "../../kernel/turn.ts";
import type { Tenant } from "../../kernel/turns.ts";
import type { Eventually } from "../api.ts";
import type { ReadTask, SearchTask, TaskTaker } from "../threads/search-task.ts";
import type { SearchThreads } from "../threads/search-threads.ts";

/** Work in bounded steps. */
export interface SearchJob {
  /**
   * Does about a millisecond of work. Returns true when done; it is not called after that, or after it threw. If
   * `taker` took a task of the job, the next call is after the task's end.
   */
  step(taker?: TaskTaker): boolean;
}

/** The time of all searches in a turn; new requests are read in between. bench/vector.bench.ts */
const TURN_MS = 8;

/** The most searches that run at the same time. */
const RUNNING_MAX = 16;

/** Searches that find nothing else running, after which they count as alone. */
const ALONE_AFTER = 8;
/** Searches alone between two that are sent away; doubled each time up to the maximum. */
const PROBE_FIRST = 2;
const PROBE_MAX = 256;

/** The searches of a tenant. */
interface Searches {
  runningCount: number;
  /** Those of them that are on other threads. */
  awayCount: number;
  /** Those that wait for their first turn: threads with room get them before any other work is done here. */
  readonly fresh: Running[];
  /** Searches that may not begin yet. */
  readonly waiting: Running[];
}

export class SearchQueue {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** They read files for searches, if they do nothing else. */
  readonly #threads: SearchThreads | undefined;
  /** The same, if they share the searches. */
  readonly #sharers: SearchThreads | undefined;
  /** Searches with a task that waits for a thread with room. keeps (6) */
  readonly #waitingForRoom: Running[] = [];
  /** By tenant, if it has any. */
  readonly #searches = new Map<Tenant, Searches>();
  #runningCount = 0;
  #awayCount = 0;
  #waitingCount = 0;
  /** When this turn's time is used up; undefined if there was no search in this turn. */
  #turnEndMs: number | undefined;
  /** True if the threads report the end of a task, or will be asked to in this turn. */
  #isListening = false;
  /** Searches in a row that found nothing else running. */
  #aloneCount = ALONE_AFTER;
  #probeEvery = PROBE_FIRST;
  #probeAt = ALONE_AFTER + PROBE_FIRST;

  /** `threads` are undefined if this thread does everything. */
  constructor(clock: Pick<Clock, "monotonicMs">, threads?: SearchThreads) {
    this.#clock = clock;
    this.#threads = threads;
    this.#sharers = threads?.onlyRead === true ? undefined : threads;
    if (threads !== undefined) threads.onWake = () => this.#woke();
  }

  /** The number of searches that wait or run in later turns. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Runs a job, at once while this turn has time. Throws or rejects with the error of its step. */
  run(job: SearchJob, tenant: Tenant): Eventually<void> {
    this.#openTurn();
    if (this.#awayCount > 0) this.#threads?.collect();
    const running = new Running(job, tenant, this);
    const searches = this.#searches.get(tenant);
    // Waiting searches go first, or a stream of short searches would block a long one forever.
    const hasWaiting =
      searches !== undefined && (searches.runningCount > searches.awayCount || searches.waiting.length > 0);
    const sharers = this.#sharers;
    if (sharers === undefined || this.#isAlone()) {
      running.isAlone = true;
      if (!hasWaiting && this.#mayRunMore)
        while (this.#hasTime() && !running.isAway) if (job.step(running)) return undefined;
    } else if (!hasWaiting && this.#mayRunMore && this.#hasTime() && sharers.hasIdle) {
      if (job.step(running)) return undefined;
    }
    return this.#runLater(running);
  }

  /** For `Running`: whether another thread would take a task of this duration now. */
  wants({ isAlone }: Running, costMs: number): boolean {
    const threads = this.#sharers;
    if (threads === undefined) return false;
    if (costMs < (isAlone && this.#runningCount <= 1 ? threads.longMs : threads.shortMs)) return false;
    if (threads.hasIdle) return true;
    return this.#runningCount - this.#awayCount > 1 && threads.hasRoom; // keeps (2)
  }

  take(running: Running, task: SearchTask): boolean {
    return this.wants(running, task.costMs) && this.#send(running, task);
  }

  takeRead(running: Running, task: ReadTask): "taken" | "later" | "never" {
    const threads = this.#threads;
    // Starts one, if none runs.
    if (threads === undefined || (!threads.hasIdle && threads.openCount === 0)) return "never";
    if (threads.hasRoom) return this.#send(running, task) ? "taken" : "never";
    this.#goAway(running);
    this.#waitingForRoom.push(running);
    return "later";
  }

  waitFor(running: Running, promise: Promise<unknown>): void {
    this.#goAway(running);
    const back = (): void => {
      this.#comeBack(running);
      this.#giveRoom();
    };
    promise.then(back, back);
  }

  #send(running: Running, task: SearchTask): boolean {
    const threads = this.#threads;
    if (threads === undefined) return false;
    const isTaken = threads.take(task, (threadMs) => {
      this.#comeBack(running);
      this.#giveRoom();
      // After that: further searches wait for the debt, not the rest of this one. keeps (5)
      running.tenant.chargeElsewhere({ usedMs: threadMs, owedMs: threadMs / (threads.threadCount + 1) });
    });
    if (!isTaken) return false;
    this.#goAway(running);
    this.#listen();
    return true;
  }

  #goAway(running: Running): void {
    running.isAway = true;
    if (running.isQueued) this.#countAway(running.tenant, 1);
  }

  #comeBack(running: Running): void {
    running.isAway = false;
    this.#countAway(running.tenant, -1);
    // Before searches that have not begun: little is left to do.
    running.tenant.queue(running.turn, { isFirst: true });
  }

  /** A task has ended, so the next one has room; without a thread, nobody waits for one. */
  #giveRoom(): void {
    const waiting = this.#waitingForRoom;
    if (waiting.length === 0) return;
    for (const next of waiting.splice(0, this.#threads?.openCount === 0 ? waiting.length : 1)) this.#comeBack(next);
  }

  /** One step in the turn of its tenant. */
  turn(running: Running): void {
    this.#threads?.collect();
    this.#giveFresh(running.tenant);
    if (running.isAway || running.isOver) return;
    this.#step(running);
    // One that was given room may need none any more, because what it was to read has gone: the next one has it.
    if (!running.isAway && this.#waitingForRoom.length > 0 && this.#threads?.hasRoom === true) this.#giveRoom();
  }

  /** Lets idle threads begin before this one does what takes longer. */
  #giveFresh(tenant: Tenant): void {
    const fresh = this.#searches.get(tenant)?.fresh;
    if (fresh === undefined || this.#sharers === undefined) return;
    while (fresh.length > 0 && this.#sharers.hasRoom) {
      const next = fresh[0] as Running;
      // A job that nobody takes is one step further then.
      this.#step(next);
    }
  }

  #step(running: Running): void {
    if (running.isFresh) this.#forgetFresh(running);
    try {
      if (!running.job.step(running)) {
        if (!running.isAway) running.tenant.queue(running.turn);
        return;
      }
    } catch (failure) {
      this.#end(running);
      running.reject(failure);
      return;
    }
    this.#end(running);
    running.resolve();
  }

  #forgetFresh(running: Running): void {
    running.isFresh = false;
    const fresh = this.#searches.get(running.tenant)?.fresh ?? [];
    const index = fresh.indexOf(running);
    if (index >= 0) fresh.splice(index, 1);
  }

  #runLater(running: Running): Promise<void> {
    this.#waitingCount += 1;
    const done = running.open();
    this.#begin(running);
    return done;
  }

  /** Begins a search, or notes that it waits until another one ends. */
  #begin(running: Running): void {
    let searches = this.#searches.get(running.tenant);
    if (searches === undefined) {
      searches = { runningCount: 0, awayCount: 0, fresh: [], waiting: [] };
      this.#searches.set(running.tenant, searches);
    }
    if (!running.isAway && searches.runningCount > 0 && !this.#mayRunMore) searches.waiting.push(running);
    else this.#start(searches, running);
  }

  #start(searches: Searches, running: Running): void {
    searches.runningCount += 1;
    this.#runningCount += 1;
    running.isQueued = true;
    if (running.isAway) {
      this.#countAway(running.tenant, 1);
      return;
    }
    if (this.#sharers !== undefined) {
      running.isFresh = true;
      searches.fresh.push(running);
    }
    running.tenant.queue(running.turn);
  }

  #countAway(tenant: Tenant, change: number): void {
    const searches = this.#searches.get(tenant);
    if (searches === undefined) return;
    searches.awayCount += change;
    this.#awayCount += change;
  }

  #end(running: Running): void {
    const { tenant } = running;
    running.isOver = true;
    this.#waitingCount -= 1;
    const ended = this.#searches.get(tenant);
    if (ended === undefined) return;
    ended.runningCount -= 1;
    this.#runningCount -= 1;
    if (ended.runningCount === 0 && ended.waiting.length === 0) this.#searches.delete(tenant);
    if (!this.#mayRunMore) return;
    let next: Searches | undefined;
    for (const searches of this.#searches.values()) {
      if (searches.waiting.length === 0) continue;
      if (next === undefined || searches.runningCount < next.runningCount) next = searches;
    }
    const begun = next?.waiting.shift();
    if (next !== undefined && begun !== undefined) this.#start(next, begun);
  }

  get #mayRunMore(): boolean {
    return this.#runningCount < RUNNING_MAX + (this.#threads?.tasksMax ?? 0);
  }

  #hasTime(): boolean {
    return this.#clock.monotonicMs() < (this.#turnEndMs ?? 0);
  }

  #openTurn(): void {
    if (this.#turnEndMs !== undefined) return;
    this.#turnEndMs = this.#clock.monotonicMs() + TURN_MS;
    void nextTurn().then(() => {
      this.#turnEndMs = undefined;
    });
  }

  /** Whether the next search should run here at once. keeps (1) and (4) */
  #isAlone(): boolean {
    if (this.#runningCount > 0) {
      this.#aloneCount = 0;
      this.#probeEvery = PROBE_FIRST;
      this.#probeAt = ALONE_AFTER + PROBE_FIRST;
      return false;
    }
    this.#aloneCount += 1;
    if (this.#aloneCount <= ALONE_AFTER) return false;
    if (this.#aloneCount < this.#probeAt) return true;
    this.#probeEvery = Math.min(PROBE_MAX, this.#probeEvery * 2);
    this.#probeAt = this.#aloneCount + this.#probeEvery;
    return false;
  }

  /** Looks at the threads once more in this turn, and then waits for their report. */
  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    void nextTurn().then(() => this.#sleep());
  }

  #sleep(): void {
    const threads = this.#threads;
    if (threads === undefined) return;
    threads.sleep();
    // What ended before that was not reported.
    threads.collect();
  }

  #woke(): void {
    this.#isListening = false;
    this.#threads?.collect();
    if (this.#awayCount > 0) this.#listen();
  }
}

/** A search with its promise, and the tasks of it that other threads take. */
class Running implements TaskTaker {
  readonly job: SearchJob;
  readonly tenant: Tenant;
  readonly #queue: SearchQueue;
  /** It came while no other search ran. */
  isAlone = false;
  /** Another thread has a task of it. */
  isAway = false;
  /** It has a promise, and counts among the running ones. */
  isQueued = false;
  /** It has had no turn yet. */
  isFresh = false;
  isOver = false;
  resolve: () => void = () => {};
  reject: (failure: unknown) => void = () => {};

  constructor(job: SearchJob, tenant: Tenant, queue: SearchQueue) {
    this.job = job;
    this.tenant = tenant;
    this.#queue = queue;
  }

  readonly turn = (): void => this.#queue.turn(this);

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  wants(costMs: number): boolean {
    return this.#queue.wants(this, costMs);
  }

  take(task: SearchTask): boolean {
    return this.#queue.take(this, task);
  }

  takeRead(task: ReadTask): "taken" | "later" | "never" {
    return this.#queue.takeRead(this, task);
  }

  waitFor(promise: Promise<unknown>): void {
    this.#queue.waitFor(this, promise);
  }
}
