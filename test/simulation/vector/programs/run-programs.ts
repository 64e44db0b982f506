/**
 * Random programs in sequence, each from a seed. A failing one is made as short
 * as possible while it still fails, and is shown with its seed.
 */
import { systemClock } from "../../../../src/kernel/clock.ts";
import type { Allowance } from "../../../budget.ts";
import { type Command, showCommand } from "./command.ts";
import { drawProgram, type Program } from "./draw-programs.ts";
import { type Coverage, describeIndexes, type Failure, newCoverage, runProgram } from "./run-program.ts";
import type { OpenSubject } from "./subject.ts";

/** How often a failing program is run to find a shorter one. */
const SHRINK_RUNS_MAX = 600;

export interface ProgramsOptions {
  /** Seed of the first program; each next program adds one. */
  readonly seed: number;
  readonly allowance: Allowance;
  readonly open: OpenSubject;
  /** How a program is drawn from its seed. */
  readonly drawn?: (seed: number) => Program;
  /** How to repeat a failing program; `<seed>` is replaced by its seed. */
  readonly again?: string;
}

const AGAIN = "LARDER_VECTOR_PROGRAMS_SEED=<seed> npm run t -- test/simulation/vector/programs.test.ts";

export interface ProgramsSummary extends Coverage {
  programs: number;
}

/** Throws with the shortest failing program found, its seed and how to repeat it. */
export async function runPrograms({
  seed,
  allowance,
  open,
  drawn = drawProgram,
  again = AGAIN,
}: ProgramsOptions): Promise<ProgramsSummary> {
  const coverage = newCoverage();
  let programs = 0;
  const startMs = systemClock.monotonicMs();
  const isDone = (): boolean =>
    "count" in allowance
      ? programs >= allowance.count
      : programs > 0 && systemClock.monotonicMs() - startMs >= allowance.budgetMs;
  while (!isDone()) {
    const program = drawn(seed + programs);
    const failure = await runProgram(program, { open, coverage });
    if (failure !== undefined) throw new Error(await describe(program, failure, { open, again }));
    programs += 1;
  }
  return { ...coverage, programs };
}

export function describeSummary({
  programs,
  commands,
  restarts,
  lateAnswers,
  recall,
  outcomes,
}: ProgramsSummary): string {
  const calls = [...outcomes]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([kind, count]) => `${kind} ${count}`);
  const recalled =
    recall.wanted === 0 ? "" : `, recall ${(recall.found / recall.wanted).toFixed(4)} of ${recall.wanted}`;
  const counts = `${programs} programs, ${commands} commands, ${restarts} restarts, ${lateAnswers} late answers`;
  return `${counts}${recalled}: ${calls.join(", ")}`;
}

async function describe(
  program: Program,
  failure: Failure,
  { open, again }: { readonly open: OpenSubject; readonly again: string },
): Promise<string> {
  const short = await shrink(program, failure, open);
  return [
    `SEED=${program.seed}: ${short.failure.text}`,
    `after, on ${describeIndexes(program)}, ${program.sums} sums`,
    ...short.commands.map((command) => `  ${showCommand(command)}`),
    `Again: ${again.replace("<seed>", String(program.seed))}`,
  ].join("\n");
}

/** Cuts the commands after the failure, then removes as much as possible in smaller and smaller pieces. */
async function shrink(
  program: Program,
  failure: Failure,
  open: OpenSubject,
): Promise<{ readonly commands: readonly Command[]; readonly failure: Failure }> {
  let best = { commands: program.commands.slice(0, failure.at + 1), failure };
  let runs = 0;
  const attempt = async (commands: readonly Command[]): Promise<boolean> => {
    if (commands.length === 0 || runs >= SHRINK_RUNS_MAX) return false;
    runs += 1;
    const found = await runProgram({ ...program, commands }, { open });
    if (found === undefined) return false;
    best = { commands: commands.slice(0, found.at + 1), failure: found };
    return true;
  };
  for (let size = best.commands.length >> 1; size >= 1; size >>= 1) {
    for (let start = 0; start < best.commands.length; ) {
      const candidate = [...best.commands.slice(0, start), ...best.commands.slice(start + size)];
      if (!(await attempt(candidate))) start += size;
    }
  }
  for (let i = 0; i < best.commands.length; ) {
    let isSmaller = false;
    for (const smaller of smallerCommands(best.commands[i]))
      isSmaller ||= await attempt([...best.commands.slice(0, i), smaller, ...best.commands.slice(i + 1)]);
    if (!isSmaller) i += 1;
  }
  return best;
}

/** The same command with less in its list. */
function smallerCommands(command: Command | undefined): readonly Command[] {
  if (command?.kind !== "call") return [];
  const { call } = command;
  const halves = <Item>(list: readonly Item[]): readonly (readonly Item[])[] => {
    const middle = list.length >> 1;
    return middle === 0 ? [] : [list.slice(0, middle), list.slice(middle)];
  };
  if (call.kind === "upsert")
    return halves(call.records).map((records) => ({ ...command, call: { ...call, records } }));
  if (call.kind === "query") return halves(call.queries).map((queries) => ({ ...command, call: { ...call, queries } }));
  return [];
}
