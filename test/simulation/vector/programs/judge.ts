/**
 * Which answers count as equal: equal to the last bit, except scores of indexes
 * on which the two sides add floats in different orders.
 */
import type { ScoredView } from "../../../../src/vector/index/record.ts";
import type { Call } from "./command.ts";
import { compareLines, compareNearly, compareRoughly, type Recall, showScored, showView } from "./compare.ts";
import type { Program } from "./draw-programs.ts";
import { type Answer, perform } from "./perform.ts";
import type { PlainIndex } from "./plain-index.ts";

export interface Judged {
  readonly index: number;
  readonly call: Call;
  readonly answer: Answer;
  /** The answer of the plain index, and the index as it was just before. */
  readonly expected: Answer;
  readonly plain: PlainIndex;
  /** Its handle of the resumed query. */
  readonly plainHandle?: string | undefined;
}

/** What one list of an answer must be: these to the last bit, or the best `count` of all scored. */
type Expectation =
  | { readonly list: readonly ScoredView[] }
  | { readonly all: readonly ScoredView[]; readonly count: number };

export class Judge {
  readonly #program: Program;
  /** For searches that may miss something. */
  readonly recall: Recall;

  constructor(program: Program, recall: Recall) {
    this.#program = program;
    this.recall = recall;
  }

  /**
   * `near`: floats are added in different orders; not floats of very different sizes, whose sum may lose most digits.
   * `rough`: the answer may lack some of the best.
   */
  precisionOf(index: number): "exact" | "near" | "rough" {
    if (this.#program.hasGraphs === true) return "rough";
    const { sums, indexes } = this.#program;
    return sums === "plain" && indexes[index]?.components === "floats" ? "near" : "exact";
  }

  /** If the best are not known for certain, answers that depend on their ranks cannot be compared. */
  isBeyondComparison(index: number, call: Call): boolean {
    if (this.precisionOf(index) === "exact") return false;
    const isHybrid = this.#program.indexes[index]?.definition.type === "HYBRID";
    if (call.kind === "query") return call.queries.some(({ vector, sparseVector }) => vector && sparseVector);
    return isHybrid && ["query data", "hold", "hold data", "next", "end"].includes(call.kind);
  }

  /** The difference in words; undefined if they agree. */
  difference(judged: Judged): string | undefined {
    const { call, answer, expected, plain } = judged;
    if (expected.kind === "refused") return differentRefusal(call, answer, expected);
    if (answer.kind === "refused") return `it is refused: ${answer.failure} ${answer.text}`;
    if (answer.kind === "lines" && expected.kind === "lines") return compareLines(answer.lines, expected.lines);
    if (answer.kind === "one") return differentRandom(call, plain, answer.view);
    if (answer.kind !== "scored" || expected.kind !== "scored") return "an answer of another kind";
    if (answer.lists.length !== expected.lists.length) return `${answer.lists.length} lists`;
    for (const at of answer.lists.keys()) {
      const text = this.listDifference(judged, at);
      if (text !== undefined) return `list ${at}: ${text}`;
    }
    return undefined;
  }

  /** The same for list `at` of an answer. */
  listDifference(judged: Judged, at: number): string | undefined {
    const { answer, index } = judged;
    const list = answer.kind === "scored" ? (answer.lists[at] ?? []) : [];
    const expectation = this.#expectation(judged, at);
    if (expectation === undefined) return "it is not refused";
    if ("list" in expectation) return compareLines(list.map(showScored), expectation.list.map(showScored));
    if (this.precisionOf(index) === "near") return compareNearly(list, expectation);
    return compareRoughly(list, expectation, this.recall);
  }

  #expectation({ index, call, expected, plain, plainHandle }: Judged, at: number): Expectation | undefined {
    if (expected.kind !== "scored") return undefined;
    if (this.precisionOf(index) === "exact") return { list: expected.lists[at] ?? [] };
    const { everything, counts } = askEverything(call);
    const all = perform(plain.copy(), everything, () => plainHandle ?? "unknown");
    if (all instanceof Promise || all.kind !== "scored") return undefined;
    return { all: all.lists[at] ?? [], count: counts[at] ?? 0 };
  }
}

/** The same question without its limit, and the limit of each list. */
function askEverything(call: Call): { readonly everything: Call; readonly counts: readonly number[] } {
  const topK = Number.POSITIVE_INFINITY;
  switch (call.kind) {
    case "query":
      return {
        everything: { ...call, queries: call.queries.map((query) => ({ ...query, topK })) },
        counts: call.queries.map((query) => query.topK),
      };
    case "query data":
      return {
        everything: { ...call, queries: call.queries.map((query) => ({ ...query, topK })) },
        counts: call.queries.map((query) => query.topK),
      };
    case "hold":
      return { everything: { ...call, query: { ...call.query, topK } }, counts: [call.query.topK] };
    case "hold data":
      return { everything: { ...call, query: { ...call.query, topK } }, counts: [call.query.topK] };
    case "next":
      return { everything: { ...call, additionalK: topK }, counts: [call.additionalK] };
    default:
      return { everything: call, counts: [] };
  }
}

function differentRefusal(
  call: Call,
  answer: Answer,
  expected: Extract<Answer, { kind: "refused" }>,
): string | undefined {
  if (answer.kind !== "refused") return `it is not refused: ${expected.failure} ${expected.text}`;
  if (answer.failure !== expected.failure) return `refused as ${answer.failure}, not ${expected.failure}`;
  const isOther = expected.text !== "" && !isBatch(call) && answer.text !== expected.text;
  return isOther ? `refused with: ${answer.text}\n  instead of: ${expected.text}` : undefined;
}

/** Whether more than one thing may be wrong with it; the specification does not say which one is reported. */
function isBatch(call: Call): boolean {
  const items = "records" in call ? call.records : "queries" in call ? call.queries : [];
  return items.length > 1;
}

/** Any record is right if it exists exactly like this. */
function differentRandom(
  call: Call,
  plain: PlainIndex,
  view: Extract<Answer, { kind: "one" }>["view"],
): string | undefined {
  const namespace = "namespace" in call ? call.namespace : "";
  if (view === undefined) return plain.recordsOf(namespace).length === 0 ? undefined : "no random record";
  const include = { metadata: false, vectors: true, data: false };
  const [same] = plain.fetch(namespace, { kind: "ids", ids: [view.id] }, include);
  return compareLines([showView(view)], [showView(same)]);
}
