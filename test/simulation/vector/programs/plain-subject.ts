/**
 * Plain indexes in place of the engine: a program run on them must agree with
 * itself, and must not once a fault is planted in them. So the programs are
 * known to find faults before they find none.
 */
import type { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import type { IndexApi } from "../../../../src/vector/api.ts";
import type { Program } from "./draw-programs.ts";
import { drawnModels } from "./drawn-models.ts";
import { PlainIndex } from "./plain-index.ts";
import { laneSums, type Sums } from "./plain-scores.ts";
import type { Subject } from "./subject.ts";

export interface PlantedFault {
  /** Methods that replace those of the index. */
  readonly methods?: (index: PlainIndex) => Partial<IndexApi>;
  readonly sums?: Sums;
  /** Writes that a restart loses. */
  readonly lostWrites?: number;
}

const WRITES: ReadonlySet<string> = new Set([
  ...["upsert", "upsertData", "update", "delete", "reset", "resetAll", "deleteNamespace", "renameNamespace"],
]);

export class PlainSubject implements Subject {
  readonly #fault: PlantedFault;
  #indexes: readonly PlainIndex[];
  #apis: readonly IndexApi[] = [];
  /** The indexes after each write: what a journal would rebuild. */
  #frames: (readonly PlainIndex[])[];

  constructor(program: Program, clock: VirtualClock, fault: PlantedFault = {}) {
    this.#fault = fault;
    this.#indexes = program.indexes.map(({ definition }, index) => {
      const hasModels = definition.denseModel !== undefined || definition.sparseModel !== undefined;
      return new PlainIndex({
        name: `index-${index}`,
        definition,
        clock,
        sums: fault.sums ?? laneSums,
        models: hasModels ? drawnModels(definition) : undefined,
      });
    });
    this.#frames = [this.#copies()];
    this.#begin(this.#copies());
  }

  get apis(): readonly IndexApi[] {
    return this.#apis;
  }

  get frameCount(): number {
    return this.#frames.length - 1;
  }

  restart(): void {
    this.#begin(this.#frames.at(-1 - (this.#fault.lostWrites ?? 0)) ?? []);
  }

  snapshot(): void {
    this.restart();
    this.#frames = [this.#copies()];
  }

  cut(frameCount: number): void {
    this.#frames = this.#frames.slice(0, frameCount + 1);
    this.#begin(this.#frames.at(-1) ?? []);
  }

  delay(): void {}

  release(): void {}

  work(): number {
    return 0;
  }

  close(): void {}

  #copies(): readonly PlainIndex[] {
    return this.#indexes.map((index) => index.copy());
  }

  #begin(indexes: readonly PlainIndex[]): void {
    this.#indexes = indexes.map((index) => index.copy());
    for (const index of this.#indexes) index.forgetQueries();
    this.#apis = this.#indexes.map((index) => this.#recorded(index));
  }

  /** An index whose writes are stored as frames. */
  #recorded(index: PlainIndex): IndexApi {
    const methods: Partial<IndexApi> = this.#fault.methods?.(index) ?? {};
    return new Proxy<IndexApi>(index, {
      get: (_, name): unknown => {
        const method: unknown = Reflect.get(methods, name) ?? Reflect.get(index, name, index);
        if (typeof method !== "function") return method;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(method, index, args);
          if (WRITES.has(String(name))) this.#frames.push(this.#copies());
          return result;
        };
      },
    });
  }
}
