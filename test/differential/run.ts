/**
 * Runs random programs on our engine and on a real redis-server and compares
 * every reply, the whole state periodically, and, after each program, the state
 * that a restart would recover: from the journal, and from a snapshot.
 *
 * A program that fails is made as short as possible while it still fails, and is
 * shown with its seed.
 */
import { systemClock } from "../../src/kernel/clock.ts";
import { joinLine } from "../harness/store-harness.ts";
import { type Comparison, errorLine, exact, isError, isList, replyKind, showReply } from "./compare.ts";
import { emptyServer } from "./empty-server.ts";
import { type Answered, Engine } from "./engine.ts";
import { asCopy } from "./families/generic.ts";
import { type Command, drawProgram, type Family, namesOf, type Program, type Step } from "./programs.ts";
import type { RawReply, RedisProcess } from "./redis-process.ts";

/** The whole state is compared after this many commands, and at the end. */
const STATE_EVERY_COMMANDS = 20;
/** The number of runs of a failing program to find a shorter one. */
const SHRINK_RUNS_MAX = 400;

export interface RunOptions {
  readonly family: Family;
  /** The first program's seed; each next one has the next number. */
  readonly seed: number;
  /** Programs are drawn until that many commands are compared, or that much time has passed. */
  readonly limit: { readonly count: number } | { readonly budgetMs: number };
  /** Without it, only journal and snapshots are tested, including the commands that Redis lacks. */
  readonly redis?: RedisProcess;
}

/** The coverage of a run. */
export interface Coverage {
  commandCount: number;
  programCount: number;
  /** `NAME kind of reply`, and how often. */
  readonly pairs: Map<string, number>;
  /** Commands that the family draws and that were only answered by errors. */
  readonly neverWell: Set<string>;
}

interface Failure {
  /** Index of the step where it was seen. */
  readonly step: number;
  readonly text: string;
}

/** Throws with the shortest failing program found, its seed and how to repeat it. */
export async function runFamily(options: RunOptions): Promise<Coverage> {
  const { family, limit } = options;
  const extensions = options.redis === undefined;
  const names = namesOf(family, { extensions });
  const coverage: Coverage = { commandCount: 0, programCount: 0, pairs: new Map(), neverWell: new Set(names) };
  const note = (command: Command, reply: RawReply): void => {
    coverage.commandCount += 1;
    const name = (command[0] ?? "").toUpperCase();
    if (!names.has(name)) return;
    const pair = `${name} ${replyKind(reply)}`;
    coverage.pairs.set(pair, (coverage.pairs.get(pair) ?? 0) + 1);
    if (!isError(reply)) coverage.neverWell.delete(name);
  };
  const startMs = systemClock.monotonicMs();
  const isDone = (): boolean =>
    "count" in limit
      ? coverage.commandCount >= limit.count
      : systemClock.monotonicMs() - startMs >= limit.budgetMs && coverage.programCount > 0;
  while (!isDone()) {
    const seed = options.seed + coverage.programCount;
    const program = drawProgram(family, { seed, extensions });
    const run = (steps: readonly Step[], stateEvery: number): Promise<Failure | undefined> =>
      runSteps({ steps, stateEvery, redis: options.redis, comparisons: family.comparisons });
    const failure = await runSteps({
      steps: program.steps,
      stateEvery: STATE_EVERY_COMMANDS,
      redis: options.redis,
      comparisons: family.comparisons,
      note,
    });
    if (failure !== undefined) throw new Error(await describe(family, { program, failure, run }));
    coverage.programCount += 1;
  }
  return coverage;
}

export interface StepsOptions {
  readonly steps: readonly Step[];
  readonly stateEvery: number;
  readonly redis?: RedisProcess | undefined;
  readonly comparisons?: ReadonlyMap<string, Comparison> | undefined;
  readonly note?: (command: Command, reply: RawReply) => void;
}

/** A request to Redis, our reply, and the comparison with its replies: undefined if they agree. */
interface Part {
  readonly step: number;
  readonly sent: readonly Command[];
  readonly judge: (theirs: readonly RawReply[]) => string | undefined;
}

/** Runs steps on an empty keyspace on both sides. Returns the first failure. */
export async function runSteps(options: StepsOptions): Promise<Failure | undefined> {
  const { steps, redis } = options;
  const engine = new Engine(redis === undefined ? FIXED_NOW_MS : await emptyServer(redis));
  const parts: Part[] = [];
  let unseen = 0;
  for (const [step, commands] of steps.entries()) {
    try {
      parts.push({ step, ...runStep(engine, commands, options) });
      unseen += commands.length;
      if (unseen < options.stateEvery && step < steps.length - 1) continue;
      unseen = 0;
      const fault = engine.memoryFault();
      if (fault !== undefined) return { step, text: fault };
      for (const answered of engine.readState({ own: false })) parts.push({ step, ...partOf(answered, "state") });
    } catch (error) {
      return { step, text: `our engine throws ${error instanceof Error ? error.stack : error}` };
    }
  }
  if (redis !== undefined) {
    const theirs = await redis.pipeline(parts.flatMap(({ sent }) => sent));
    let at = 0;
    for (const { step, sent, judge } of parts) {
      const text = judge(theirs.slice(at, at + sent.length));
      if (text !== undefined) return { step, text };
      at += sent.length;
    }
  }
  const lastStep = steps.length - 1;
  const others = [
    ["the journal", engine.replayed()],
    ["a snapshot", engine.restored()],
  ] as const;
  const served = engine.readState({ own: true });
  for (const [name, rebuilt] of others) {
    const text = compareStates(served, rebuilt) ?? rebuilt.memoryFault();
    if (text !== undefined) return { step: lastStep, text: `${name} rebuilds another state: ${text}` };
  }
  return undefined;
}

/** 2026-01-01, without a server. */
const FIXED_NOW_MS = 1_767_225_600_000;

function runStep(engine: Engine, commands: Step, options: StepsOptions): Omit<Part, "step"> {
  const [first] = commands;
  if (commands.length === 1 && first !== undefined) {
    const ours = engine.run(first);
    options.note?.(first, ours);
    return partOf({ command: first, ours, comparison: comparisonOf(first, options) }, "reply");
  }
  const outcome = engine.transaction(commands);
  if ("replies" in outcome) {
    for (const [index, command] of commands.entries()) options.note?.(command, outcome.replies[index] ?? null);
  }
  return {
    sent: [["MULTI"], ...commands, ["EXEC"]],
    judge: (theirs) => judgeTransaction({ commands, outcome, theirs, options }),
  };
}

function partOf({ command, ours, comparison }: Answered, what: string): Omit<Part, "step"> {
  return {
    sent: [command],
    judge: ([theirs = null]) =>
      comparison({ command, ours, theirs })
        ? undefined
        : `${what} of ${joinLine(command)}\n  ours:  ${showReply(ours)}\n  redis: ${showReply(theirs)}`,
  };
}

/** For the commands between those of every family. */
const surroundingComparisons = new Map<string, Comparison>([["COPY", asCopy]]);

function comparisonOf(command: Command, options: StepsOptions): Comparison {
  const name = (command[0] ?? "").toUpperCase();
  return options.comparisons?.get(name) ?? surroundingComparisons.get(name) ?? exact;
}

function judgeTransaction(transaction: {
  readonly commands: Step;
  readonly outcome: ReturnType<Engine["transaction"]>;
  readonly theirs: readonly RawReply[];
  readonly options: StepsOptions;
}): string | undefined {
  const { commands, outcome, theirs, options } = transaction;
  const executed = theirs.at(-1) ?? null;
  if ("refusal" in outcome) {
    // Redis refuses each bad command when it is queued, and then the whole transaction.
    const refused = theirs.slice(1, -1).find(isError);
    const text = refused === undefined ? "nothing" : showReply(refused);
    return text === `(error) ${errorLine(outcome.refusal)}`
      ? undefined
      : `we refuse: ${outcome.refusal}\n  redis: ${text}`;
  }
  if (!isList(executed))
    return `we run the transaction\n  redis: ${theirs.map((reply) => showReply(reply)).join(", ")}`;
  for (const [index, command] of commands.entries()) {
    const answered = { command, ours: outcome.replies[index] ?? null, comparison: comparisonOf(command, options) };
    const text = partOf(answered, "reply").judge([executed[index] ?? null]);
    if (text !== undefined) return text;
  }
  return undefined;
}

function compareStates(ours: readonly Answered[], rebuilt: Engine): string | undefined {
  const theirs = rebuilt.readState({ own: true });
  for (const [index, { command, ours: reply, comparison }] of ours.entries()) {
    const other = theirs[index];
    if (other !== undefined && comparison({ command, ours: reply, theirs: other.ours })) continue;
    return `${joinLine(command)}\n  served:  ${showReply(reply)}\n  rebuilt: ${other === undefined ? "missing" : showReply(other.ours)}`;
  }
  return theirs.length > ours.length ? "there are more keys" : undefined;
}

/** The text of a failure: the shortest program found, the difference, and how to repeat it. */
async function describe(
  family: Family,
  failed: {
    readonly program: Program;
    readonly failure: Failure;
    readonly run: (steps: readonly Step[], stateEvery: number) => Promise<Failure | undefined>;
  },
): Promise<string> {
  const { steps, failure } = await shrink(failed.program.steps, failed);
  const lines = steps.map((step) =>
    step.length === 1 ? step.map(joinLine) : ["MULTI", ...step.map(joinLine), "EXEC"],
  );
  return [
    `${family.name}: SEED=${failed.program.seed}: ${failure.text}`,
    "after",
    ...lines.flat().map((line) => `  ${line}`),
    `Again: LARDER_DIFFERENTIAL_SEED=${failed.program.seed} npm run t -- differential`,
  ].join("\n");
}

/** Cuts the commands after the failure, then removes as many as possible, in smaller and smaller pieces. */
async function shrink(
  steps: readonly Step[],
  failed: {
    readonly failure: Failure;
    readonly run: (steps: readonly Step[], stateEvery: number) => Promise<Failure | undefined>;
  },
): Promise<{ steps: readonly Step[]; failure: Failure }> {
  let best = { steps, failure: failed.failure };
  let runs = 0;
  const attempt = async (candidate: readonly Step[]): Promise<boolean> => {
    if (candidate.length === 0 || runs >= SHRINK_RUNS_MAX) return false;
    runs += 1;
    // The state is compared after each step, or else as before: comparing it removes expired keys.
    const failure = (await failed.run(candidate, 1)) ?? (await failed.run(candidate, STATE_EVERY_COMMANDS));
    if (failure === undefined) return false;
    best = { steps: candidate.slice(0, failure.step + 1), failure };
    return true;
  };
  await attempt(steps.slice(0, failed.failure.step + 1));
  // Most failures need no transaction.
  await attempt(best.steps.flatMap((step) => step.map((command) => [command])));
  for (let size = best.steps.length >> 1; size >= 1; size >>= 1) {
    for (let start = 0; start < best.steps.length; ) {
      const candidate = [...best.steps.slice(0, start), ...best.steps.slice(start + size)];
      if (!(await attempt(candidate))) start += size;
    }
  }
  return best;
}
