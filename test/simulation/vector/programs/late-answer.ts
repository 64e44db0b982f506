/** A question, and the moments of which one must match its answer. */
import type { Eventually } from "../../../../src/vector/api.ts";
import type { Call } from "./command.ts";
import type { Judge } from "./judge.ts";
import { type Answer, perform, spoil } from "./perform.ts";
import type { PlainIndex } from "./plain-index.ts";

export interface Question {
  readonly index: number;
  readonly call: Call;
  /** The plain index's handle of the held query that this resumes. */
  readonly plainHandle: string | undefined;
}

export class LateAnswer {
  readonly #question: Question;
  readonly #answer: Eventually<Answer>;

  constructor(question: Question, answer: Eventually<Answer>) {
    this.#question = question;
    this.#answer = answer;
    // It is awaited later, or not at all if something else failed first.
    if (answer instanceof Promise) answer.catch(() => {});
  }

  get isLate(): boolean {
    return this.#answer instanceof Promise;
  }

  /**
   * `moments`: the states of the plain index since the question, in order; the last one is the current state. The
   * queries of a batch may match different ones.
   */
  async difference(judge: Judge, moments: readonly PlainIndex[]): Promise<string | undefined> {
    const answer = await this.#answer;
    const { index, call, plainHandle } = this.#question;
    const parts = answer.kind === "scored" ? [...answer.lists.keys()] : [0];
    // Newest first: most answers match the end, so the others need not be tried.
    const texts = new Map<number, string[]>(parts.map((part) => [part, []]));
    for (const plain of moments.toReversed()) {
      if (texts.size === 0) break;
      const expected = perform(plain.copy(), call, () => plainHandle ?? "unknown");
      if (expected instanceof Promise) return "a plain index must answer at once";
      const judged = { index, call, answer, expected, plain, plainHandle };
      for (const [part, seen] of texts) {
        const text = answer.kind === "scored" ? judge.listDifference(judged, part) : judge.difference(judged);
        if (text === undefined) texts.delete(part);
        else seen.push(text);
      }
    }
    if (answer.kind === "scored") {
      const ids = answer.lists.flat().map(({ id }) => id);
      if (plainHandle !== undefined) moments.at(-1)?.markReturned(plainHandle, ids);
      for (const view of answer.lists.flat()) spoil(view);
    }
    const [wrong] = texts;
    if (wrong === undefined) return undefined;
    const [part, seen] = wrong;
    return `answered late, list ${part} matches no moment. Last moment: ${seen[0]}\n  first moment: ${seen.at(-1)}`;
  }
}
