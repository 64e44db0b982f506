/** Random workflows: what a model application runs. */
import type { Random } from "../../../src/kernel/random.ts";

export type Step =
  | { readonly kind: "run" }
  | { readonly kind: "sleep"; readonly seconds: number }
  | { readonly kind: "wait"; readonly event: string; readonly seconds: number }
  | { readonly kind: "call" }
  | { readonly kind: "invoke"; readonly program: number }
  /** All its attempts fail permanently. */
  | { readonly kind: "bad" };

/** One step, or several at once. */
export type Stage = readonly Step[];

export type Program = readonly Stage[];

const STAGES_MAX = 5;
const FORK_MAX = 4;
export const EVENTS: readonly string[] = ["paid", "sent"];

/** A program invokes only programs after it, so none invokes itself. */
export function drawPrograms(random: Random, count: number): readonly Program[] {
  return Array.from({ length: count }, (_, index) => {
    const stages = 1 + random.below(STAGES_MAX);
    return Array.from({ length: stages }, () => {
      const width = random.below(3) === 0 ? 2 + random.below(FORK_MAX - 1) : 1;
      return Array.from({ length: width }, () => drawStep(random, { index, count }));
    });
  });
}

function drawStep(random: Random, { index, count }: { index: number; count: number }): Step {
  switch (random.below(12)) {
    case 0:
    case 1:
      return { kind: "sleep", seconds: 1 + random.below(100) };
    case 2:
    case 3:
      return { kind: "wait", event: EVENTS[random.below(EVENTS.length)] ?? "", seconds: 1 + random.below(200) };
    case 4:
      return { kind: "call" };
    case 5:
    case 6:
      return index + 1 < count
        ? { kind: "invoke", program: index + 1 + random.below(count - index - 1) }
        : { kind: "run" };
    case 7:
      return random.below(4) === 0 ? { kind: "bad" } : { kind: "run" };
    default:
      return { kind: "run" };
  }
}
