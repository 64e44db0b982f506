/**
 * Runs a random program on a subject and on plain indexes side by side and
 * compares every answer, and now and then the whole state.
 *
 * (1) A call that is refused, and one that only reads, leaves no frame in the journal; a write leaves one at most.
 * (2) After a restart, a snapshot or a crash the state is that of the plain indexes at the frame where the journal ends.
 * (3) A question that is answered late is answered as of one moment between its start and its answer.
 */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { Eventually, TextQuery, VectorQuery } from "../../src/vector/door.ts";
import type { ScoredView } from "../../src/vector/record.ts";
import type { Call, Command } from "./command.ts";
import { compareLines, compareNearly, showScored, showView, stateOf } from "./compare.ts";
import type { Program, ProgramIndex } from "./draw-programs.ts";
import { drawnModels } from "./drawn-models.ts";
import { type Answer, perform, spoil } from "./perform.ts";
import { PlainIndex } from "./plain-index.ts";
import { laneSums, plainSums } from "./plain-scores.ts";
import type { OpenSubject, Subject } from "./subject.ts";

export interface Failure {
  /** Index of the command where it was seen. */
  readonly at: number;
  readonly text: string;
}

/** What a run has met. */
export interface Coverage {
  commands: number;
  /** Kind of call, "well" or "refused", and how often. */
  readonly outcomes: Map<string, number>;
  /** Questions that were not answered at once. */
  lateAnswers: number;
  restarts: number;
}

export function newCoverage(): Coverage {
  return { commands: 0, outcomes: new Map(), lateAnswers: 0, restarts: 0 };
}

/** The whole state is compared after so many commands, and at the end. */
const STATE_EVERY_COMMANDS = 10;
const READS: ReadonlySet<string> = new Set(["fetch", "walk", "random", "query", "query data", "hold", "next", "end"]);

/** Answers the first failure. */
export async function runProgram(
  program: Program,
  { open, coverage = newCoverage() }: { readonly open: OpenSubject; readonly coverage?: Coverage },
): Promise<Failure | undefined> {
  const run = new ProgramRun(program, open, coverage);
  for (const [at, command] of program.commands.entries()) {
    try {
      const isLast = at === program.commands.length - 1;
      const text =
        (await run.step(command)) ??
        (isLast || at % STATE_EVERY_COMMANDS === STATE_EVERY_COMMANDS - 1 ? run.compareStates() : undefined);
      if (text !== undefined) return { at, text };
    } catch (fault) {
      return { at, text: `it throws ${fault instanceof Error ? fault.stack : JSON.stringify(fault)}` };
    }
  }
  return undefined;
}

/** A held query's handles: what the subject calls it and what the plain index calls it. */
interface Handle {
  readonly index: number;
  readonly ours: string;
  readonly plain: string;
}

/** What the plain indexes were when the journal had so many frames. */
interface Moment {
  readonly frameCount: number;
  readonly plains: readonly PlainIndex[];
}

class ProgramRun {
  readonly #program: Program;
  readonly #clock = new VirtualClock();
  readonly #coverage: Coverage;
  readonly #subject: Subject;
  #plains: readonly PlainIndex[];
  #handles: Handle[] = [];
  /** Since the last snapshot. */
  #moments: Moment[];

  constructor(program: Program, open: OpenSubject, coverage: Coverage) {
    this.#program = program;
    this.#coverage = coverage;
    this.#subject = open(program, this.#clock);
    this.#plains = program.indexes.map(({ definition }, index) => {
      const models = definition.denseModel === undefined && definition.sparseModel === undefined;
      return new PlainIndex({
        name: `index-${index}`,
        definition,
        clock: this.#clock,
        sums: this.#isNear(index) ? plainSums : laneSums,
        models: models ? undefined : drawnModels(definition),
      });
    });
    this.#moments = [this.#now()];
  }

  async step(command: Command): Promise<string | undefined> {
    this.#coverage.commands += 1;
    switch (command.kind) {
      case "call":
        return this.#call(command.index, command.call);
      case "meanwhile":
        return this.#meanwhile(command);
      case "advance":
        this.#clock.advance(command.ms);
        return undefined;
      case "restart":
        this.#subject.restart();
        return this.#afterRestart(this.#plains);
      case "snapshot":
        this.#subject.snapshot();
        this.#moments = [this.#now()];
        return this.#afterRestart(this.#plains);
      case "crash": {
        const kept = this.#moments[Math.max(0, this.#moments.length - 1 - command.lostWrites)];
        if (kept === undefined) return "no moment is kept";
        this.#moments = this.#moments.filter(({ frameCount }) => frameCount <= kept.frameCount);
        this.#subject.cut(kept.frameCount);
        return this.#afterRestart(kept.plains.map((plain) => plain.copy()));
      }
      default: {
        const never: never = command;
        return never;
      }
    }
  }

  compareStates(): string | undefined {
    for (const [index, plain] of this.#plains.entries()) {
      const door = this.#subject.doors[index];
      const text = door === undefined ? "the index is gone" : compareLines(stateOf(door), stateOf(plain));
      if (text !== undefined) return `state of index ${index}: ${text}`;
    }
    return undefined;
  }

  /** Floats that are added in another order; not those of very different sizes, of which little may be left then. */
  #isNear(index: number): boolean {
    return this.#program.sums === "plain" && this.#program.indexes[index]?.components === "floats";
  }

  #now(): Moment {
    return { frameCount: this.#subject.frameCount, plains: this.#plains.map((plain) => plain.copy()) };
  }

  #afterRestart(plains: readonly PlainIndex[]): string | undefined {
    this.#coverage.restarts += 1;
    this.#plains = plains;
    for (const plain of plains) plain.forgetQueries();
    this.#handles = [];
    return this.compareStates(); // keeps (2)
  }

  #doors(index: number) {
    const ours = this.#subject.doors[index];
    const plain = this.#plains[index];
    if (ours === undefined || plain === undefined) throw new Error(`there is no index ${index}`);
    return { ours, plain };
  }

  async #call(index: number, call: Call): Promise<string | undefined> {
    if (this.#isBeyondComparison(index, call)) return undefined;
    const { ours, plain } = this.#doors(index);
    const handle = "held" in call ? this.#handleOf(index, call.held) : undefined;
    const before = this.#subject.frameCount;
    const answer = await perform(ours, call, () => handle?.ours ?? "unknown");
    const written = this.#subject.frameCount - before;
    const expected = (await perform(plain, call, () => handle?.plain ?? "unknown")) satisfies Answer;
    this.#note(call, expected);
    if (answer.kind === "scored" && expected.kind === "scored" && answer.uuid !== undefined)
      this.#handles.unshift({ index, ours: answer.uuid, plain: expected.uuid ?? "" });
    const framesMax = READS.has(call.kind) || expected.kind === "refused" ? 0 : 1;
    if (written > framesMax) return `${call.kind} left ${written} frames in the journal`; // keeps (1)
    if (written > 0) this.#moments.push(this.#now());
    return this.#compare(index, call, { answer, expected });
  }

  #note(call: Call, expected: Answer): void {
    const outcome = `${call.kind} ${expected.kind === "refused" ? "refused" : "well"}`;
    this.#coverage.outcomes.set(outcome, (this.#coverage.outcomes.get(outcome) ?? 0) + 1);
  }

  /** Of the queries that were held on this index, the last one being 0. */
  #handleOf(index: number, held: number): Handle | undefined {
    return this.#handles.filter((handle) => handle.index === index)[held];
  }

  /** Where scores are only nearly alike, ranks decide nothing that builds on them. */
  #isBeyondComparison(index: number, call: Call): boolean {
    if (!this.#isNear(index)) return false;
    const isHybrid = this.#program.indexes[index]?.definition.type === "HYBRID";
    if (call.kind === "query") return call.queries.some(({ vector, sparseVector }) => vector && sparseVector);
    if (call.kind === "query data") return isHybrid;
    return ["hold", "hold data", "next", "end"].includes(call.kind);
  }

  #compare(
    index: number,
    call: Call,
    { answer, expected }: { readonly answer: Answer; readonly expected: Answer },
  ): string | undefined {
    const text = this.#difference(index, call, { answer, expected });
    if (answer.kind === "scored") for (const view of answer.lists.flat()) spoil(view);
    return text;
  }

  #difference(
    index: number,
    call: Call,
    { answer, expected }: { readonly answer: Answer; readonly expected: Answer },
  ): string | undefined {
    if (expected.kind === "refused") {
      if (answer.kind !== "refused") return `it is not refused: ${expected.failure} ${expected.text}`;
      if (answer.failure !== expected.failure) return `refused as ${answer.failure}, not ${expected.failure}`;
      const isOther = expected.text !== "" && !isBatch(call) && answer.text !== expected.text;
      return isOther ? `refused with: ${answer.text}\n  instead of: ${expected.text}` : undefined;
    }
    if (answer.kind === "refused") return `it is refused: ${answer.failure} ${answer.text}`;
    if (answer.kind === "lines" && expected.kind === "lines") return compareLines(answer.lines, expected.lines);
    if (answer.kind === "one") return this.#compareRandom(index, call, answer.view);
    if (answer.kind !== "scored" || expected.kind !== "scored") return "an answer of another kind";
    if (answer.lists.length !== expected.lists.length) return `${answer.lists.length} lists`;
    for (const [i, list] of answer.lists.entries()) {
      const text = this.#compareList(list, this.#expectation(index, call, { at: i, expected }));
      if (text !== undefined) return `list ${i}: ${text}`;
    }
    return undefined;
  }

  /** What list `at` of an answer must be: to the last bit, or the best of all that were scored. */
  #expectation(
    index: number,
    call: Call,
    { at, expected }: { readonly at: number; readonly expected: Extract<Answer, { kind: "scored" }> },
  ): Expectation {
    if (!this.#isNear(index)) return { list: expected.lists[at] ?? [] };
    const { plain } = this.#doors(index);
    if (call.kind === "query") {
      const query = call.queries[at] as VectorQuery;
      return { all: plain.query(call.namespace, [{ ...query, topK: Infinity }])[0] ?? [], count: query.topK };
    }
    if (call.kind !== "query data") return { list: expected.lists[at] ?? [] };
    const query = call.queries[at] as TextQuery;
    return { all: plain.queryData(call.namespace, [{ ...query, topK: Infinity }])[0] ?? [], count: query.topK };
  }

  #compareList(list: readonly ScoredView[], expectation: Expectation): string | undefined {
    if ("all" in expectation) return compareNearly(list, expectation);
    return compareLines(list.map(showScored), expectation.list.map(showScored));
  }

  #compareRandom(index: number, call: Call, view: RecordViewOrNone): string | undefined {
    const { plain } = this.#doors(index);
    const namespace = "namespace" in call ? call.namespace : "";
    if (view === undefined) return plain.recordsOf(namespace).length === 0 ? undefined : "no random record";
    const include = { metadata: false, vectors: true, data: false };
    const [same] = plain.fetch(namespace, { kind: "ids", ids: [view.id] }, include);
    return compareLines([showView(view)], [showView(same)]);
  }

  async #meanwhile({ index, questions, writes }: Extract<Command, { kind: "meanwhile" }>): Promise<string | undefined> {
    const asked = questions.filter((call) => !this.#isBeyondComparison(index, call));
    const { ours, plain } = this.#doors(index);
    const late = writes.find((call) => this.#isLate(index, call));
    this.#subject.delay();
    const open = asked.map((call) => new OpenQuestion(call, perform(ours, call, noHandle)));
    this.#coverage.lateAnswers += open.filter(({ isLate }) => isLate).length;
    const look = (): void => {
      for (const question of open) {
        const expected = perform(plain, question.call, noHandle);
        if (expected instanceof Promise || expected.kind !== "scored")
          question.allowed.push({ expected: expected as Answer, lists: [] });
        else {
          const lists = expected.lists.map((_, at) => this.#expectation(index, question.call, { at, expected }));
          question.allowed.push({ expected, lists });
        }
      }
    };
    look();
    const lateAnswer = late === undefined ? undefined : perform(ours, late, noHandle);
    const isStillLate = lateAnswer instanceof Promise;
    let text: string | undefined;
    if (late !== undefined && !isStillLate) text = this.#alsoPlainly(index, late, lateAnswer);
    for (const call of writes) {
      if (text !== undefined || call === late || this.#isLate(index, call)) continue;
      const answer = await perform(ours, call, noHandle);
      text = this.#alsoPlainly(index, call, answer);
      look();
    }
    this.#subject.release();
    if (late !== undefined && isStillLate) {
      text ??= this.#alsoPlainly(index, late, await lateAnswer);
      look();
    }
    for (const question of open) text ??= this.#judge(index, question, await question.answer);
    if (this.#subject.frameCount > (this.#moments.at(-1)?.frameCount ?? 0)) this.#moments.push(this.#now());
    return text;
  }

  #alsoPlainly(index: number, call: Call, answer: Answer | undefined): string | undefined {
    const { plain } = this.#doors(index);
    const expected = perform(plain, call, noHandle);
    if (answer === undefined || expected instanceof Promise) return "a plain index answers at once";
    const text = this.#compare(index, call, { answer, expected });
    return text === undefined ? undefined : `meanwhile ${call.kind}: ${text}`;
  }

  /** A model is asked first, which answers when it is released, so the write itself comes later. */
  #isLate(index: number, call: Call): boolean {
    if (this.#program.indexes[index]?.definition.denseModel === undefined) return false;
    return call.kind === "upsert data" || (call.kind === "update" && call.change.data !== undefined);
  }

  /** keeps (3) */
  #judge(index: number, { call, allowed }: OpenQuestion, answer: Answer): string | undefined {
    if (answer.kind !== "scored") {
      const texts = allowed.map(({ expected }) => this.#difference(index, call, { answer, expected }));
      return texts.includes(undefined) ? undefined : `answered late: ${texts[0]}`;
    }
    for (const [at, list] of answer.lists.entries()) {
      const texts = allowed.map(({ lists }) => {
        const expectation = lists[at];
        return expectation === undefined ? "it is not refused" : this.#compareList(list, expectation);
      });
      if (!texts.includes(undefined))
        return `answered late, list ${at} is that of no moment. First moment: ${texts[0]}\n  last moment: ${texts.at(-1)}`;
    }
    for (const view of answer.lists.flat()) spoil(view);
    return undefined;
  }
}

type RecordViewOrNone = Extract<Answer, { kind: "one" }>["view"];

type Expectation =
  | { readonly list: readonly ScoredView[] }
  | { readonly all: readonly ScoredView[]; readonly count: number };

/** A question that was put, and what its answer might be, moment by moment. */
class OpenQuestion {
  readonly call: Call;
  readonly answer: Eventually<Answer>;
  readonly allowed: { readonly expected: Answer; readonly lists: readonly Expectation[] }[] = [];

  constructor(call: Call, answer: Eventually<Answer>) {
    this.call = call;
    this.answer = answer;
  }

  get isLate(): boolean {
    return this.answer instanceof Promise;
  }
}

/** Whether more than one thing may be wrong with it; which of them is told is not laid down. */
function isBatch(call: Call): boolean {
  const items = "records" in call ? call.records : "queries" in call ? call.queries : [];
  return items.length > 1;
}

function noHandle(): string {
  return "unknown";
}

export function describeIndexes(indexes: readonly ProgramIndex[]): string {
  return indexes
    .map(({ definition, dimension, components }) => {
      const { type, similarity, denseModel, sparseModel } = definition;
      const isOpen = definition.dimension === undefined;
      return `${type} ${similarity} ${isOpen ? "open " : ""}${dimension} ${components} ${denseModel ?? sparseModel ?? ""}`;
    })
    .join("; ");
}
