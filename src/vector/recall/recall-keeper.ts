/**
 * Measures the recall of all namespaces with a graph, one round after the other,
 * in idle time: a step of about a millisecond when its tenant has the thread, and
 * then a pause, so that measuring takes at most IDLE_BUDGET of a core. While searches
 * wait, a step waits too, but not longer than POSTPONED_MS_MAX: a busy index
 * needs its recall as well. A step that reads rows from files waits for them, and
 * the pause after it is as long as if the thread had worked meanwhile.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import type { Tenant } from "../../kernel/turns.ts";
import type { Namespace } from "../index/namespace.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import { IdleLoop, inTurn } from "./idle-loop.ts";
import { RecallRound } from "./recall-round.ts";

/** Steps that follow each other without a pause: those of small namespaces are much shorter than a millisecond. */
const WORK_MS = 1;
const STEPS_MAX = 8;
/** How often namespaces are looked through when none is due. */
const LOOK_MS = 5_000;
const POSTPONED_MS = 50;
const POSTPONED_MS_MAX = 1_000;
/** A namespace is not measured while more of its records are pending: its graph is about to change. */
const PENDING_SHARE_MAX = 0.1;

export interface KeptNamespace {
  readonly namespace: Namespace;
  readonly tenant: Tenant;
}

export interface RecallKeeperOptions {
  readonly clock: Pick<Clock, "monotonicMs" | "threadCpuMs" | "after">;
  readonly random: Random;
  /** Those with a graph. */
  namespaces(): Iterable<KeptNamespace>;
  /** True while searches wait for their turn. */
  isBusy(): boolean;
}

interface Current extends KeptNamespace {
  readonly number: number;
  readonly round: RecallRound;
}

export class RecallKeeper {
  readonly #options: RecallKeeperOptions;
  #current: Current | undefined;
  /** The namespace measured last: the others go first. */
  #last: Namespace | undefined;
  readonly #loop: IdleLoop;
  #postponedMs = 0;
  /** What the last step waits for. */
  #reading: Promise<unknown> | undefined;
  /** The thread pool reads for the rounds: other threads are for searches. */
  readonly #taker: TaskTaker = {
    wants: () => false,
    take: () => false,
    takeRead: () => "never",
    waitFor: (promise) => {
      this.#reading = promise;
    },
  };

  constructor(options: RecallKeeperOptions) {
    this.#options = options;
    this.#loop = new IdleLoop({ clock: options.clock, lookMs: LOOK_MS, tick: () => this.#tick() });
  }

  /** The processor time used so far, in milliseconds. */
  get usedMs(): number {
    return this.#loop.usedMs;
  }

  /** Whether a namespace is being measured. */
  get isMeasuring(): boolean {
    return this.#current !== undefined;
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
    this.#current?.round.abandon();
    this.#current = undefined;
  }

  #tick(): void {
    if (this.#options.isBusy() && this.#postponedMs < POSTPONED_MS_MAX) {
      this.#postponedMs += POSTPONED_MS;
      this.#loop.later(POSTPONED_MS);
      return;
    }
    this.#postponedMs = 0;
    this.#current ??= this.#findDue();
    if (this.#current === undefined) {
      this.#loop.look();
      return;
    }
    this.#current.tenant.queue(() => this.#work());
  }

  /** Some steps, in the turn of the tenant. */
  #work(): void {
    if (!this.#loop.isRunning) return;
    const { clock } = this.#options;
    const startMs = clock.threadCpuMs();
    let ms = 0;
    for (let i = 0; i < STEPS_MAX && ms < WORK_MS && this.#reading === undefined; i += 1) {
      if (this.#current === undefined) break;
      this.#step(this.#current);
      ms = clock.threadCpuMs() - startMs;
    }
    this.#loop.use(ms);
    if (this.#reading === undefined) this.#loop.rest(ms);
    else this.#waitFor(this.#reading, ms);
  }

  #waitFor(reading: Promise<unknown>, ms: number): void {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    const goOn = (): void => {
      this.#reading = undefined;
      this.#loop.rest(ms + clock.monotonicMs() - startMs);
    };
    // The next step meets a fault, which the reader has reported.
    reading.then(goOn, goOn);
  }

  #step({ namespace, number, round }: Current): void {
    const { recall, graph } = namespace;
    // The graph is removed when its namespace has become small, was emptied or dropped.
    if (graph === undefined || recall === undefined) {
      round.abandon();
      this.#current = undefined;
      return;
    }
    if (!round.step(this.#taker)) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (round.isEnough) recall.settle(number, round, { nowMs, size: sizeOf(namespace) });
    else recall.postpone(number, nowMs);
    this.#last = namespace;
    this.#current = undefined;
  }

  #findDue(): Current | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const all = [...this.#options.namespaces()];
    for (const { namespace, tenant } of inTurn(all, (each) => each.namespace === this.#last)) {
      const { recall } = namespace;
      const size = sizeOf(namespace);
      if (recall === undefined || namespace.pendingCount > size.rowCount * PENDING_SHARE_MAX) continue;
      const number = recall.findDue(nowMs, size);
      if (number === undefined) continue;
      const { random } = this.#options;
      return { namespace, tenant, number, round: new RecallRound({ namespace, recall, number, random }) };
    }
    return undefined;
  }
}

function sizeOf({ rowCount, graphInsertCount }: Namespace): {
  readonly rowCount: number;
  readonly insertCount: number;
} {
  return { rowCount, insertCount: graphInsertCount };
}
