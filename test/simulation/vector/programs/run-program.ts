/**
 * Runs a random program on a subject and on plain indexes side by side and
 * compares every answer, and at intervals the whole state.
 *
 * (1) A refused or reading call leaves no frame in the journal; a write leaves at most one, except a delete of very
 *     many records.
 * (2) After a restart, a snapshot or a crash the state is that of the plain indexes at the journal's last frame.
 * (3) A late answer is that of one moment between its question and itself.
 */
import { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import { nextTurn } from "../../../../src/kernel/turn.ts";
import type { Call, Command } from "./command.ts";
import { compareLines, type Recall, stateLater, stateOf } from "./compare.ts";
import type { Program } from "./draw-programs.ts";
import { drawnModels } from "./drawn-models.ts";
import { Judge, type Judged } from "./judge.ts";
import { LateAnswer } from "./late-answer.ts";
import { type Answer, perform, spoil } from "./perform.ts";
import { PlainIndex } from "./plain-index.ts";
import { sumsOf } from "./plain-scores.ts";
import type { OpenSubject, Subject } from "./subject.ts";

export interface Failure {
  /** Index of the command at which it was seen. */
  readonly at: number;
  readonly text: string;
}

/** What happened in a run. */
export interface Coverage {
  commands: number;
  /** Kind of call, "well" or "refused", and how often. */
  readonly outcomes: Map<string, number>;
  /** Questions that were not answered at once. */
  lateAnswers: number;
  restarts: number;
  /** For searches that may miss something. */
  readonly recall: Recall;
  /** Rows that went into graphs. */
  builtRows: number;
}

export function newCoverage(): Coverage {
  const recall = { found: 0, wanted: 0 };
  return { commands: 0, outcomes: new Map(), lateAnswers: 0, restarts: 0, recall, builtRows: 0 };
}

/** The whole state is compared after this many commands, and at the end. */
const STATE_EVERY_COMMANDS = 10;
/** As in `delete-many.ts`. */
const DELETED_PER_FRAME = 1_000;
const READS: ReadonlySet<string> = new Set(["fetch", "walk", "random", "query", "query data", "hold", "next", "end"]);

/** Returns the first failure. */
export async function runProgram(
  program: Program,
  { open, coverage = newCoverage() }: { readonly open: OpenSubject; readonly coverage?: Coverage },
): Promise<Failure | undefined> {
  const run = new ProgramRun(program, open, coverage);
  try {
    return await runCommands(program, run);
  } finally {
    await run.close();
  }
}

async function runCommands(program: Program, run: ProgramRun): Promise<Failure | undefined> {
  for (const [at, command] of program.commands.entries()) {
    try {
      const isLast = at === program.commands.length - 1;
      const text =
        (await run.step(command)) ??
        (isLast || at % STATE_EVERY_COMMANDS === STATE_EVERY_COMMANDS - 1 ? await run.compareStates() : undefined);
      if (text !== undefined) return { at, text };
    } catch (fault) {
      return { at, text: `it throws ${fault instanceof Error ? fault.stack : JSON.stringify(fault)}` };
    }
  }
  return undefined;
}

/** The subject's handle of a held query and the plain index's. */
interface Handle {
  readonly index: number;
  readonly ours: string;
  readonly plain: string;
}

/** The plain indexes when the journal had this many frames. */
interface Moment {
  readonly frameCount: number;
  readonly plains: readonly PlainIndex[];
}

class ProgramRun {
  readonly #program: Program;
  readonly #clock = new VirtualClock();
  readonly #coverage: Coverage;
  readonly #judge: Judge;
  readonly #subject: Subject;
  #plains: readonly PlainIndex[];
  #handles: Handle[] = [];
  /** Since the last snapshot. */
  #moments: Moment[];

  constructor(program: Program, open: OpenSubject, coverage: Coverage) {
    this.#program = program;
    this.#coverage = coverage;
    this.#judge = new Judge(program, coverage.recall);
    this.#subject = open(program, this.#clock);
    this.#plains = program.indexes.map(({ definition }, index) => {
      const models = definition.denseModel === undefined && definition.sparseModel === undefined;
      return new PlainIndex({
        name: `index-${index}`,
        definition,
        clock: this.#clock,
        sums: sumsOf[
          this.#judge.precisionOf(index) === "near" ? "plain" : program.sums === "exact" ? "exact" : "lanes"
        ],
        models: models ? undefined : drawnModels(definition),
      });
    });
    this.#moments = [this.#now()];
  }

  async close(): Promise<void> {
    await this.#subject.close();
  }

  async step(command: Command): Promise<string | undefined> {
    this.#coverage.commands += 1;
    this.#coverage.builtRows += this.#subject.work();
    switch (command.kind) {
      case "call":
        return this.#call(command.index, command.call);
      case "meanwhile":
        return this.#meanwhile(command);
      case "advance":
        this.#clock.advance(command.ms);
        return undefined;
      case "restart":
        await this.#subject.restart();
        return this.#afterRestart(this.#plains);
      case "snapshot":
        await this.#subject.snapshot();
        this.#moments = [this.#now()];
        return this.#afterRestart(this.#plains);
      case "crash": {
        const kept = this.#moments[Math.max(0, this.#moments.length - 1 - command.lostWrites)];
        if (kept === undefined) return "the moment was not stored";
        this.#moments = this.#moments.filter(({ frameCount }) => frameCount <= kept.frameCount);
        await this.#subject.cut(kept.frameCount);
        return this.#afterRestart(kept.plains.map((plain) => plain.copy()));
      }
      default: {
        const never: never = command;
        return never;
      }
    }
  }

  async compareStates(): Promise<string | undefined> {
    for (const [index, plain] of this.#plains.entries()) {
      const api = this.#subject.apis[index];
      const text = api === undefined ? "the index is gone" : compareLines(await stateLater(api), stateOf(plain));
      if (text !== undefined) return `state of index ${index}: ${text}`;
    }
    return undefined;
  }

  #now(): Moment {
    return { frameCount: this.#subject.frameCount, plains: this.#plains.map((plain) => plain.copy()) };
  }

  #afterRestart(plains: readonly PlainIndex[]): Promise<string | undefined> {
    this.#coverage.restarts += 1;
    this.#plains = plains;
    for (const plain of plains) plain.forgetQueries();
    this.#handles = [];
    return this.compareStates(); // keeps (2)
  }

  #apis(index: number) {
    const ours = this.#subject.apis[index];
    const plain = this.#plains[index];
    if (ours === undefined || plain === undefined) throw new Error(`index ${index} does not exist`);
    return { ours, plain };
  }

  async #call(index: number, call: Call): Promise<string | undefined> {
    if (this.#judge.isBeyondComparison(index, call)) return undefined;
    const { ours, plain } = this.#apis(index);
    const handle = "held" in call ? this.#handleOf(index, call.held) : undefined;
    const framesBefore = this.#subject.frameCount;
    const answer = await perform(ours, call, () => handle?.ours ?? "unknown");
    const written = this.#subject.frameCount - framesBefore;
    const before = plain.copy();
    const expected = (await perform(plain, call, () => handle?.plain ?? "unknown")) satisfies Answer;
    this.#note(call, expected);
    const plainHandle = handle?.plain ?? (expected.kind === "scored" ? expected.uuid : undefined);
    if (answer.kind === "scored" && plainHandle !== undefined) {
      if (answer.uuid !== undefined) this.#handles.unshift({ index, ours: answer.uuid, plain: plainHandle });
      const ids = answer.lists.flat().map(({ id }) => id);
      if (this.#judge.precisionOf(index) !== "exact")
        plain.markReturned(plainHandle, ids, before.returnedOf(plainHandle));
    }
    const framesMax = READS.has(call.kind) || expected.kind === "refused" ? 0 : 1 + this.#portionsOf(call, expected);
    if (written > framesMax) return `${call.kind} left ${written} frames in the journal`; // keeps (1)
    if (written > 0) this.#moments.push(this.#now());
    return this.#compare({ index, call, answer, expected, plain: before, plainHandle });
  }

  /** A delete of very many records is several frames. */
  #portionsOf(call: Call, expected: Answer): number {
    if (call.kind !== "delete" || expected.kind !== "lines") return 0;
    return Math.floor(Number(expected.lines[0]) / DELETED_PER_FRAME);
  }

  #note(call: Call, expected: Answer): void {
    const outcome = `${call.kind} ${expected.kind === "refused" ? "refused" : "well"}`;
    this.#coverage.outcomes.set(outcome, (this.#coverage.outcomes.get(outcome) ?? 0) + 1);
  }

  /** Handles of held queries on this index, counted back from the last one, which is 0. */
  #handleOf(index: number, held: number): Handle | undefined {
    return this.#handles.filter((handle) => handle.index === index)[held];
  }

  #compare(judged: Judged): string | undefined {
    const { answer } = judged;
    const text = this.#judge.difference(judged);
    if (answer.kind === "scored") for (const view of answer.lists.flat()) spoil(view);
    return text;
  }

  /** keeps (3) */
  async #meanwhile({ index, questions, writes }: Extract<Command, { kind: "meanwhile" }>): Promise<string | undefined> {
    const { ours, plain } = this.#apis(index);
    const late = writes.find(({ call }) => this.#isLate(index, call))?.call;
    const moments = [plain.copy()];
    this.#subject.delay();
    const open = questions
      .filter((call) => !this.#judge.isBeyondComparison(index, call))
      .map((call) => {
        const handle = "held" in call ? this.#handleOf(index, call.held) : undefined;
        const answer = perform(ours, call, () => handle?.ours ?? "unknown");
        return new LateAnswer({ index, call, plainHandle: handle?.plain }, answer);
      });
    this.#coverage.lateAnswers += open.filter(({ isLate }) => isLate).length;
    const lateWrite = late === undefined ? undefined : perform(ours, late, noHandle);
    const isWaiting = lateWrite instanceof Promise;
    let text = late === undefined || isWaiting ? undefined : this.#alsoPlainly(index, late, lateWrite);
    for (const { turns, call } of writes) {
      if (text !== undefined || this.#isLate(index, call)) continue;
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      this.#coverage.builtRows += this.#subject.work();
      text = this.#alsoPlainly(index, call, await perform(ours, call, noHandle));
      moments.push(plain.copy());
    }
    this.#subject.release();
    if (late !== undefined && isWaiting) {
      text ??= this.#alsoPlainly(index, late, await lateWrite);
      moments.push(plain.copy());
    }
    moments.push(plain);
    for (const question of open) text ??= await question.difference(this.#judge, moments);
    if (this.#subject.frameCount > (this.#moments.at(-1)?.frameCount ?? 0)) this.#moments.push(this.#now());
    return text;
  }

  #alsoPlainly(index: number, call: Call, answer: Answer | undefined): string | undefined {
    const { plain } = this.#apis(index);
    const before = plain.copy();
    const expected = perform(plain, call, noHandle);
    if (answer === undefined || expected instanceof Promise) return "a plain index must answer at once";
    const text = this.#compare({ index, call, answer, expected, plain: before });
    return text === undefined ? undefined : `meanwhile ${call.kind}: ${text}`;
  }

  /** A model is called first and answers when it is released, so the write itself comes later. */
  #isLate(index: number, call: Call): boolean {
    if (this.#program.indexes[index]?.definition.denseModel === undefined) return false;
    return call.kind === "upsert data" || (call.kind === "update" && call.change.data !== undefined);
  }
}

function noHandle(): string {
  return "unknown";
}

export function describeIndexes({ indexes, rows }: Pick<Program, "indexes" | "rows">): string {
  return indexes
    .map(({ definition, dimension, components }, i) => {
      const { type, similarity, denseModel, sparseModel } = definition;
      const isOpen = definition.dimension === undefined;
      return `${type} ${similarity} ${isOpen ? "open " : ""}${dimension} ${components} ${denseModel ?? sparseModel ?? ""}${rows?.placements[i] === "disk" ? " rows on disk" : ""}`;
    })
    .join("; ");
}
