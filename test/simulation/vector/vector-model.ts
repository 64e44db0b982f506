/**
 * What the vector engine must hold, according to plain indexes. A model is never
 * changed, only replaced, so that the model of each moment can be kept; its text
 * is made when it is compared.
 */
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import type { IndexApi } from "../../../src/vector/api.ts";
import type { IndexDefinition } from "../../../src/vector/index/definition.ts";
import { stateOf } from "./programs/compare.ts";
import { PlainIndex } from "./programs/plain-index.ts";
import { plainSums } from "./programs/plain-scores.ts";

export class VectorModel {
  readonly #indexes: ReadonlyMap<string, PlainIndex>;
  /** The program of the indexes; undefined before the first index exists. */
  readonly programSeed: number | undefined;
  #text: string | undefined;

  constructor(indexes: ReadonlyMap<string, PlainIndex> = new Map(), programSeed?: number) {
    this.#indexes = indexes;
    this.programSeed = programSeed;
  }

  get text(): string {
    this.#text ??= textOf(this.#indexes.values());
    return this.#text;
  }

  has(name: string): boolean {
    return this.#indexes.has(name);
  }

  ofProgram(seed: number): VectorModel {
    return new VectorModel(this.#indexes, seed);
  }

  withIndex(name: string, definition: IndexDefinition): VectorModel {
    // Nothing here depends on the time or on scores.
    const options = { name, definition, clock: new VirtualClock(), sums: plainSums };
    return this.#with(name, new PlainIndex(options));
  }

  withoutIndex(name: string): VectorModel {
    const indexes = new Map(this.#indexes);
    indexes.delete(name);
    return new VectorModel(indexes, this.programSeed);
  }

  /** Read only. */
  index(name: string): PlainIndex {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`The model has no index ${name}`);
    return index;
  }

  /** The model after a call to one index, and the answer of the call. */
  after<Answer>(name: string, call: (index: PlainIndex) => Answer): { readonly model: VectorModel; answer: Answer } {
    const index = this.index(name).copy();
    const answer = call(index);
    return { model: this.#with(name, index), answer };
  }

  #with(name: string, index: PlainIndex): VectorModel {
    return new VectorModel(new Map(this.#indexes).set(name, index), this.programSeed);
  }
}

/** The visible state of some indexes, one line for each part, equal exactly if they hold the same. */
export function textOf(indexes: Iterable<IndexApi>): string {
  const sorted = [...indexes].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return sorted
    .flatMap((index) => {
      const { type, similarity } = index.definition;
      // The order of lines gives the order of records, even where lines are compared one by one.
      const lines = stateOf(index).map((line, i) => `${index.name} ${i} ${line}`);
      return [`${index.name} is ${type} ${similarity}`, ...lines];
    })
    .join("\n");
}
