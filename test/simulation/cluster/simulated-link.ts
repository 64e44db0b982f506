/**
 * The connection of one node to the model of the log store. Each call goes in
 * steps: it is sent, runs up to its commit, commits, and is answered. Between
 * them anything may happen, and each step may be lost:
 *
 * (1) A call may be lost before it runs, or its answer may be lost. It may also
 *     run long after its caller was told that its end is unknown.
 * (2) A commit may be reported with a warning: then no other server has it yet.
 *     An answer without a warning proves that the commit and all before it are
 *     on the other server, so a failover keeps them.
 * (3) After the node is dead, calls under way may still commit.
 */
import {
  type Append,
  DoubtfulOutcome,
  type LogStore,
  type ShardEpoch,
  StoreFull,
} from "../../../src/cluster/log-store/log-store.ts";
import type { Random } from "../../../src/kernel/random.ts";
import { Aborted, type ModelDatabase, ModelLogStore } from "./model-log-store.ts";

/** The store that all links of a run share. */
export interface SharedStore {
  readonly database: ModelDatabase;
  /** The commits that another server has. */
  replicated: number;
  isFull: boolean;
  /** One of this many calls goes wrong; 0: none. */
  doubtOneIn: number;
}

export interface LinkOptions {
  readonly shared: SharedStore;
  readonly random: Random;
  readonly owner: ShardEpoch;
  /** Whether I5 is a rule of this run. */
  readonly isOrdered: boolean;
  /** Called with the text of a broken rule. */
  violate(text: string): void;
  /** Called after each commit. */
  committed(): void;
}

type Fate = "answered" | "lost request" | "late request" | "lost answer" | "warned";

/** How a step ends: it goes on, or its connection is lost with the statement undone. */
type StepEnd = "go on" | "undo";

const FATES: readonly Fate[] = ["lost request", "late request", "lost answer", "lost answer", "warned", "warned"];
/** Calls of one queue, which may not overtake a call whose end is unknown (I5). */
const ORDERED: ReadonlySet<string> = new Set(["append", "cut"]);
const READS: ReadonlySet<string> = new Set([
  "read",
  "segments",
  "heads",
  "readSnapshotPart",
  "filesAddress",
  "watch",
  "watchChanges",
]);
const FILLING: ReadonlySet<string> = new Set(["append", "putSnapshotPart"]);

export class SimulatedLink {
  readonly store: LogStore;
  readonly counts = { doubts: 0, calls: 0 };
  readonly #options: LinkOptions;
  readonly #gates: ((end: StepEnd) => void)[] = [];
  #isDead = false;
  /** The last ordered call, while its end is unknown. */
  #doubtful: string | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    const model = new ModelLogStore({
      database: options.shared.database,
      mayCommit: async () => (await this.#gate()) === "go on",
    });
    this.store = new Proxy(model, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function" || typeof name !== "string") return method;
        return (...args: unknown[]) => this.#call(name, args, () => method.apply(target, args) as Promise<unknown>);
      },
    });
  }

  get underwayCount(): number {
    return this.#gates.length;
  }

  /** Lets one call go on. False if no call is under way. */
  step(random: Random): boolean {
    const [gate] = this.#gates.splice(random.below(this.#gates.length), 1);
    // keeps (3)
    gate?.(this.#isDead && random.below(2) === 0 ? "undo" : "go on");
    return gate !== undefined;
  }

  /** The node is gone. */
  die(): void {
    this.#isDead = true;
  }

  /** The server is gone: every statement under way is undone. */
  breakAll(): void {
    for (const gate of this.#gates.splice(0)) gate("undo");
  }

  #gate(): Promise<StepEnd> {
    return new Promise((resolve) => this.#gates.push(resolve));
  }

  async #call(name: string, args: unknown[], run: () => Promise<unknown>): Promise<unknown> {
    if (this.#isDead) return new Promise(() => {});
    this.counts.calls += 1;
    this.#check(name, args);
    if (ORDERED.has(name)) this.#doubtful = textOf(name, args);
    const result = await this.#run(name, run);
    if (ORDERED.has(name)) this.#doubtful = undefined;
    return result;
  }

  async #run(name: string, run: () => Promise<unknown>): Promise<unknown> {
    const { shared, random } = this.#options;
    const isDoubtful = shared.doubtOneIn > 0 && random.below(shared.doubtOneIn) === 0;
    const fate = isDoubtful ? (FATES[random.below(FATES.length)] as Fate) : "answered";
    if ((await this.#gate()) === "undo" || fate === "lost request") throw this.#doubt();
    if (shared.isFull && FILLING.has(name)) throw new StoreFull("full");
    if (fate === "late request") {
      void this.#gate()
        .then((end) => (end === "go on" ? this.#commit(run) : undefined))
        .catch(() => undefined);
      throw this.#doubt();
    }
    const { result, commits } = await this.#commit(run);
    if ((await this.#gate()) === "undo" || fate === "lost answer" || fate === "warned") throw this.#doubt();
    // A read, or a statement that changed nothing, waits for no other server. keeps (2)
    if (!READS.has(name) && result !== "deposed") shared.replicated = Math.max(shared.replicated, commits);
    return result;
  }

  async #commit(run: () => Promise<unknown>): Promise<{ result: unknown; commits: number }> {
    const { shared, committed } = this.#options;
    try {
      const result = await run();
      committed();
      return { result, commits: shared.database.commits };
    } catch (error) {
      if (error instanceof Aborted) throw this.#doubt();
      throw error;
    }
  }

  #doubt(): DoubtfulOutcome {
    this.counts.doubts += 1;
    return new DoubtfulOutcome("The connection was lost");
  }

  #check(name: string, args: unknown[]): void {
    const { owner, isOrdered, violate } = this.#options;
    const [first] = args;
    const epoch = typeof first === "object" && first !== null && "epoch" in first ? first.epoch : owner.epoch;
    if (epoch !== owner.epoch) violate(`I1: ${name} names epoch ${epoch}, and its node has claimed ${owner.epoch}`);
    if (!isOrdered || !ORDERED.has(name) || this.#doubtful === undefined) return;
    const text = textOf(name, args);
    if (text !== this.#doubtful) violate(`I5: ${text} was sent before the end of ${this.#doubtful} was known`);
  }
}

function textOf(name: string, args: readonly unknown[]): string {
  if (name !== "append") return `${name} ${JSON.stringify(args)}`;
  const { segment, start, before, bytes } = args[0] as Append;
  return `append to ${segment} at ${start} after ${before}: ${bytes.toString("hex")}`;
}
