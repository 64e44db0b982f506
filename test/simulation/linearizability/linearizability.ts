/**
 * Decides whether clients could have seen one object: whether some order of the
 * operations on each key (1) gives each its reply and (2) has no operation after
 * one that was called when it had ended. Operations without a reply may be
 * anywhere after their call, or nowhere.
 *
 * This is the search of Wing and Gong ("Testing and verifying concurrent
 * objects", 1993) with the memory of Lowe ("Testing for linearizability", 2017):
 * it takes the operations that may be the next one in turn, goes back where none
 * fits, and tries no set of operations twice with the same state. Keys are
 * independent (Herlihy and Wing 1990, locality).
 *
 * (3) An operation without a reply is taken only if one with a reply that may
 *     come next can see it. Otherwise the search would try all sets of them.
 */
import { applied, initialState, mayMatter, possibleStates, type State } from "./objects.ts";
import { type Operation, textOf } from "./operations.ts";

/** Operations on one key that no order explains. */
export interface NotLinearizable {
  readonly key: string;
  /** The longest order that was found. */
  readonly order: readonly Operation[];
  /** Those that could be next after it, and do not fit. */
  readonly stuck: readonly Operation[];
}

/** The first key whose operations are not linearizable; undefined if all are. */
export function findNotLinearizable(operations: readonly Operation[]): NotLinearizable | undefined {
  const byKey = new Map<string, Operation[]>();
  for (const operation of operations) {
    const ofKey = byKey.get(operation.key) ?? [];
    byKey.set(operation.key, ofKey);
    ofKey.push(operation);
  }
  for (const [key, ofKey] of byKey) {
    const failure = new Search(ofKey).run();
    if (failure !== undefined) return { key, ...failure };
  }
  return undefined;
}

/** For a person: the end of the order, and what does not fit. */
export function describeNotLinearizable({ key, order, stuck }: NotLinearizable): string {
  const last = order.slice(-10).map((operation) => `  ${textOf(operation)}`);
  const next = stuck.map((operation) => `  ${textOf(operation)}`);
  return [`The operations on ${key} are not linearizable. After`, ...last, "comes none of", ...next].join("\n");
}

interface Entry {
  readonly operation: Operation;
  /** The reply as text; undefined without one. */
  readonly output: string | undefined;
  /** An earlier operation without a reply that does the same: it goes first, because the two can be exchanged. */
  readonly twin: number | undefined;
}

/** A step of the search: the operation that was taken, and what to go back to. */
interface Step {
  readonly taken: number;
  readonly before: State;
}

class Search {
  /** Those with replies first, each part in the order of the calls. */
  readonly #entries: readonly Entry[];
  readonly #repliedCount: number;
  readonly #isPossible: (state: State) => boolean;
  readonly #isTaken: boolean[];
  /** The operations with replies that are not taken. */
  #left: number;
  #state: State;
  readonly #steps: Step[] = [];
  /** The sets of operations that were taken, by the state after them. */
  readonly #tried = new Map<State, Set<bigint>>();
  #set = 0n;
  #best: { readonly order: readonly Operation[]; readonly stuck: readonly Operation[] } = { order: [], stuck: [] };

  constructor(operations: readonly Operation[]) {
    const ordered = operations.toSorted((a, b) => a.calledAt - b.calledAt);
    const replied = ordered.filter(({ reply }) => reply !== undefined);
    this.#entries = [...replied.map(repliedEntry), ...openEntries(ordered, replied.length)];
    this.#repliedCount = replied.length;
    this.#isPossible = possibleStates(replied);
    this.#isTaken = ordered.map(() => false);
    this.#left = replied.length;
    this.#state = initialState(ordered[0]?.input.object ?? "register");
  }

  run(): Omit<NotLinearizable, "key"> | undefined {
    let first = 0;
    while (this.#left > 0) {
      if (this.#takeNext(first)) {
        first = 0;
        continue;
      }
      if (this.#steps.length >= this.#best.order.length) this.#noteBest();
      const step = this.#steps.pop();
      if (step === undefined) return this.#best;
      this.#putBack(step);
      first = step.taken + 1;
    }
    return undefined;
  }

  /** Takes the first operation from `first` on that may be next and fits. False if no operation does. */
  #takeNext(first: number): boolean {
    const endsAtMin = this.#firstEnd();
    for (let index = first; index < this.#repliedCount; index += 1) {
      const { operation, output } = this.#entries[index] as Entry;
      if (operation.calledAt > endsAtMin) break; // keeps (2)
      if (this.#isTaken[index] === true) continue;
      const next = applied(this.#state, operation.input);
      if (JSON.stringify(next.output) === output && this.#take(index, next.state)) return true; // keeps (1)
    }
    const seers = this.#mayBeNext(endsAtMin);
    for (let index = Math.max(first, this.#repliedCount); index < this.#entries.length; index += 1) {
      const { operation, twin } = this.#entries[index] as Entry;
      if (operation.calledAt > endsAtMin) break;
      if (this.#isTaken[index] === true || (twin !== undefined && this.#isTaken[twin] !== true)) continue;
      if (!mayMatter(this.#state, operation.input, seers)) continue; // keeps (3)
      if (this.#take(index, applied(this.#state, operation.input).state)) return true;
    }
    return false;
  }

  /** False if that was tried before, or cannot lead to the replies. */
  #take(index: number, state: State): boolean {
    const set = this.#set | (1n << BigInt(index));
    if (!this.#isPossible(state) || !this.#isNew(state, set)) return false;
    this.#steps.push({ taken: index, before: this.#state });
    this.#isTaken[index] = true;
    this.#set = set;
    this.#state = state;
    if (index < this.#repliedCount) this.#left -= 1;
    return true;
  }

  #putBack({ taken, before }: Step): void {
    this.#isTaken[taken] = false;
    this.#set &= ~(1n << BigInt(taken));
    this.#state = before;
    if (taken < this.#repliedCount) this.#left += 1;
  }

  /** When the first operation ends that is not taken: what is called later comes after it. */
  #firstEnd(): number {
    let endsAt = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#repliedCount; index += 1) {
      const { operation } = this.#entries[index] as Entry;
      if (operation.calledAt > endsAt) break;
      if (this.#isTaken[index] !== true) endsAt = Math.min(endsAt, operation.reply?.at ?? endsAt);
    }
    return endsAt;
  }

  /** Those with replies that may be next. */
  #mayBeNext(endsAtMin: number): readonly Operation[] {
    const found: Operation[] = [];
    for (let index = 0; index < this.#repliedCount; index += 1) {
      const { operation } = this.#entries[index] as Entry;
      if (operation.calledAt > endsAtMin) break;
      if (this.#isTaken[index] !== true) found.push(operation);
    }
    return found;
  }

  #isNew(state: State, set: bigint): boolean {
    let sets = this.#tried.get(state);
    if (sets === undefined) {
      sets = new Set();
      this.#tried.set(state, sets);
    }
    if (sets.has(set)) return false;
    sets.add(set);
    return true;
  }

  #noteBest(): void {
    this.#best = {
      order: this.#steps.map(({ taken }) => (this.#entries[taken] as Entry).operation),
      stuck: this.#mayBeNext(this.#firstEnd()),
    };
  }
}

function repliedEntry(operation: Operation): Entry {
  return { operation, output: JSON.stringify(operation.reply?.output), twin: undefined };
}

function openEntries(ordered: readonly Operation[], first: number): readonly Entry[] {
  const twins = new Map<string, number>();
  return ordered
    .filter(({ reply }) => reply === undefined)
    .map((operation, index) => {
      const what = JSON.stringify(operation.input);
      const twin = twins.get(what);
      twins.set(what, first + index);
      return { operation, output: undefined, twin };
    });
}
