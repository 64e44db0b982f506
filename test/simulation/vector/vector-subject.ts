/**
 * The vector engine as the subject of crash tests: its clients run random
 * programs, and plain indexes say what it must hold after each frame.
 */
import type { Random } from "../../../src/kernel/random.ts";
import type { IndexDefinition } from "../../../src/vector/index/definition.ts";
import { VectorEngine } from "../../../src/vector/index/vector-engine.ts";
import { defaultVectorLimits } from "../../../src/vector/limits.ts";
import { CrashViolation } from "../crash/life.ts";
import { differenceOf } from "../crash/state-text.ts";
import type { ClientParts, Clients, Reply, Subject } from "../crash/subject.ts";
import { drawEffectiveWrite } from "./draw-write.ts";
import type { Call } from "./programs/command.ts";
import { drawProgram } from "./programs/draw-programs.ts";
import { type Answer, perform } from "./programs/perform.ts";
import { textOf, VectorModel } from "./vector-model.ts";

export const vectorSubject: Subject<VectorEngine, VectorModel> = {
  area: "vector",
  empty: new VectorModel(),
  open: (parts) => new VectorEngine({ ...parts, limits: defaultVectorLimits, graphs: undefined, newHandle: () => "" }),
  stateOf: (engine) => textOf(engine.indexes),
  textOf: (model) => model.text,
  clients: (parts) => new VectorClients(parts),
};

const NO_EMBEDDERS = { dense: undefined, sparse: undefined };
/** Calls that need neither a model nor a held query. Reads return what was written, so they count as well. */
const ASKED: ReadonlySet<string> = new Set([
  ...["upsert", "update", "delete", "reset", "reset all", "delete namespace", "rename namespace"],
  ...["fetch", "walk"],
]);
/** Records of one batch: more would slow down the comparison of every state. */
const BATCH_MAX = 60;
/** Crashes of one life that are checked: lives differ more from each other than the moments of one. */
export const STATES_PER_LIFE = 60;
/** The engine itself is compared with the model after this many requests. */
const COMPARED_ONE_IN = 6;
const SEEDS = 2 ** 31;
/** This many requests come before the first that waits for its answer, so that a life has something to lose. */
const PRELUDE_MAX = 25;

interface Asked {
  readonly name: string;
  readonly call: Call;
}

class VectorClients implements Clients<VectorModel> {
  readonly #parts: ClientParts<VectorEngine, VectorModel>;
  readonly #definitions: ReadonlyMap<string, IndexDefinition>;
  readonly #asked: readonly Asked[];
  #next: number;
  readonly #preludeCount: number;
  /** Whether the engine was given the definition of each index, as at every start: no requests come before. */
  #isBegun = false;
  #model: VectorModel;

  constructor(parts: ClientParts<VectorEngine, VectorModel>) {
    const { random, state } = parts;
    this.#parts = parts;
    // Lives of one run continue with the same indexes.
    const seed = state.programSeed ?? random.below(SEEDS);
    this.#model = state.ofProgram(seed);
    const { definitions, asked } = programOf(seed);
    this.#definitions = definitions;
    this.#asked = asked;
    this.#next = random.below(asked.length);
    this.#preludeCount = random.below(PRELUDE_MAX);
  }

  begin(): void {
    this.#isBegun = true;
    for (const name of this.#definitions.keys()) {
      if (!this.#model.has(name) && this.#parts.journal.refusal !== undefined) continue;
      this.#define(name);
      this.#parts.note();
    }
    for (let i = 0; i < this.#preludeCount; i += 1) {
      this.#askOnce();
      this.#parts.note();
    }
  }

  ask(): Reply {
    const isAsked = this.#askOnce();
    if (!isAsked) return { kind: "blind" };
    const sent = this.#parts.engine.whenSafe();
    return sent === undefined ? { kind: "sent" } : { kind: "waits", sent };
  }

  #askOnce(): boolean {
    const { engine, random } = this.#parts;
    const next = this.#nextAsked();
    if (next === undefined) {
      this.#defineOne();
      return false;
    }
    const { name } = next;
    const effective = random.below(3) === 0 ? drawEffectiveWrite(this.#model.index(name), random) : undefined;
    const call = effective ?? next.call;
    const api = engine.index(name);
    if (api === undefined) throw new CrashViolation(`The index ${name} is gone`);
    const answer = atOnce(perform(api, call, noHandle));
    // A full disk, which the model does not know: nothing was done then.
    if (answer.kind !== "refused" || answer.failure !== "unavailable") this.#follow({ name, call }, answer);
    return true;
  }

  #defineOne(): void {
    const [name] = this.#definitions.keys();
    if (name !== undefined && this.#parts.journal.refusal === undefined) this.#define(name);
  }

  /** The work of `POST /reset` of the administration: each index in turn is dropped and created again. */
  upkeep(): void {
    const { engine, journal, note } = this.#parts;
    if (!this.#isBegun || journal.refusal !== undefined) return;
    const steps = [...engine.indexNames].flatMap((name) => [
      () => this.#model.withoutIndex(name),
      () => this.#model.withIndex(name, this.#definitionOf(name)),
    ]);
    journal.onAppend = () => {
      this.#model = steps.shift()?.() ?? this.#model;
      note();
    };
    engine.reset();
    journal.onAppend = () => {};
  }

  changeTenants(): void {
    const { engine, journal, random } = this.#parts;
    if (!this.#isBegun || journal.refusal !== undefined) return;
    const name = pick(random, [...this.#definitions.keys()]);
    if (!this.#model.has(name)) {
      this.#define(name);
      return;
    }
    engine.drop(name);
    this.#model = this.#model.withoutIndex(name);
  }

  state(): VectorModel {
    return this.#model;
  }

  /** The next call of the program to an existing index; undefined if none exists. */
  #nextAsked(): Asked | undefined {
    for (let tries = this.#asked.length; tries > 0; tries -= 1) {
      const asked = this.#asked[this.#next % this.#asked.length] as Asked;
      this.#next += 1;
      if (this.#model.has(asked.name)) return asked;
    }
    return undefined;
  }

  #follow({ name, call }: Asked, answer: Answer): void {
    const after = this.#model.after(name, (index) => atOnce(perform(index, call, noHandle)));
    const [ours, plain] = [answer, after.answer].map(shown);
    if (ours !== plain) throw new CrashViolation(`${call.kind} answered ${ours}, but a plain index ${plain}`);
    const isWrite = call.kind !== "fetch" && call.kind !== "walk" && answer.kind !== "refused";
    if (isWrite) this.#model = after.model;
    if (this.#parts.random.below(COMPARED_ONE_IN) === 0) this.#compare();
  }

  #compare(): void {
    const found = textOf(this.#parts.engine.indexes);
    const { text } = this.#model;
    if (found !== text) throw new CrashViolation(`The engine was wrong before any crash\n${differenceOf(text, found)}`);
  }

  #define(name: string): void {
    const definition = this.#definitionOf(name);
    this.#parts.engine.define(name, definition, NO_EMBEDDERS);
    // An existing index is only given its models.
    if (!this.#model.has(name)) this.#model = this.#model.withIndex(name, definition);
  }

  #definitionOf(name: string): IndexDefinition {
    const definition = this.#definitions.get(name);
    if (definition === undefined) throw new Error(`The program has no index ${name}`);
    return definition;
  }
}

/** Indexes and calls of a drawn program, without models. */
function programOf(seed: number): { definitions: ReadonlyMap<string, IndexDefinition>; asked: readonly Asked[] } {
  const { indexes, commands } = drawProgram(seed);
  const nameOf = (index: number): string => `index-${index}`;
  const definitions = new Map(
    indexes.map(({ definition }, i) => {
      // In every other program the first vector fixes the dimension.
      const isOpen = seed % 2 === 0 && definition.type !== "SPARSE";
      const dimension = isOpen ? undefined : definition.dimension;
      return [nameOf(i), { ...definition, dimension, denseModel: undefined, sparseModel: undefined }] as const;
    }),
  );
  const asked = commands.flatMap((command): readonly Asked[] => {
    if (command.kind !== "call" || !ASKED.has(command.call.kind)) return [];
    return [{ name: nameOf(command.index), call: shortened(command.call) }];
  });
  return { definitions, asked: asked.length > 0 ? asked : [{ name: nameOf(0), call: { kind: "reset all" } }] };
}

function shortened(call: Call): Call {
  return call.kind === "upsert" ? { ...call, records: call.records.slice(0, BATCH_MAX) } : call;
}

/** The answer of a call that takes no time: the clock stands still while it runs, so nothing waits for its turn. */
function atOnce(answer: Answer | Promise<Answer>): Answer {
  if (answer instanceof Promise) throw new CrashViolation("An answer that needs no time came late");
  return answer;
}

/** Refusals by their kind: their texts are compared elsewhere. */
function shown(answer: Answer): string {
  if (answer.kind === "refused") return `refused: ${answer.failure}`;
  return answer.kind === "lines" ? answer.lines.join("\n") : answer.kind;
}

function noHandle(): string {
  return "";
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random.below(items.length)] as Item;
}
