/**
 * Commands that run in slices, between which other tenants have their turn: the
 * searches of a database (search/slices.ts). A command that ends within its first
 * slice, as nearly all do, runs like any other.
 *
 * (1) While one is under way, its database runs nothing else: the next slice is
 *     always the first waiting unit of its tenant, so all requests wait for
 *     its end, in their order. Requests that come past their turn ask `RequestWaits`; sweeps
 *     and slices of indexing ask `isUnderWay`.
 * (2) Each slice is a unit of work with a frame of its own, and all have the time
 *     of the first one: so the command sees the keyspace as it was then, and its
 *     reply is the one that it would have had in one piece.
 * (3) In transactions and scripts, and for callers that cannot wait, a command runs
 *     in one piece. The searches of a unit have a limit of steps together, since
 *     the unit holds the thread.
 * (4) A command whose caller has left ends before its next slice.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { NextOptions, Tenant } from "../../kernel/turns.ts";
import type { CommandFacts } from "../command-facts.ts";
import { CommandError, callerHasLeft, databaseReset } from "../errors.ts";
import type { Keyspace } from "../keyspace.ts";
import { noteUnblocked, type Observed } from "../observe/run-times.ts";
import type { Runner } from "../observe/slow-runs.ts";
import { errorReply, later, type Reply } from "../reply/reply.ts";
import { searchesOfUnitTooLong, searchTooLong } from "../search/index-errors.ts";
import { atOnce, type InSlices, SearchSteps } from "../search/slices.ts";
import type { ReplyTaker } from "./waiters.ts";

/** The most steps of a command: about a second. */
const STEPS_MAX = 100_000_000;
/** The most steps of all searches in a transaction or a script together: about 50 ms. */
const UNIT_STEPS_MAX = 5_000_000;
/** A slice takes about half a millisecond, and 2 ms for patterns, whose steps are the slowest. */
const SLICE_STEPS = 50_000;

/** One slice has all of the work. */
const ENDLESS = Number.POSITIVE_INFINITY;
/** Before all other waiting work of the tenant: keeps (1). */
const FIRST: NextOptions = { isFirst: true };

/** The database, as far as its sliced commands need it. */
export interface SlicedHost extends Observed {
  readonly turn: Tenant;
  readonly keyspace: Keyspace;
  readonly context: { readonly clock: Clock; reportBug(error: unknown): void };
}

/** Begins and ends units of work. */
export interface SliceUnits {
  begin(): void;
  commit(): void;
}

/** The command, its caller, and how the reply gets there. */
export interface SlicedCall {
  readonly command: CommandFacts & { readonly notifiesMisses: boolean };
  readonly caller: Runner & { readonly hasLeft?: boolean; readonly waiting?: ReplyTaker | undefined };
  readonly isPartOfUnit: boolean;
  argsFrom(index: number): readonly Bytes[];
}

/** Takes the reply, after the unit of work that made it. `fail` takes a bug. */
interface LateTaker extends ReplyTaker {
  fail?(error: unknown): void;
}

interface PausedRun {
  readonly run: Pick<SlicedCall, "command" | "caller"> & { readonly words: readonly Bytes[] };
  readonly work: InSlices<Reply>;
  readonly steps: SearchSteps;
  /** Of the first slice. */
  readonly nowMs: number;
  readonly leavesKeysUntouched: boolean;
  readonly time: { untilBlockedMs: number; servingMs: number };
  taker: LateTaker | undefined;
}

export interface SlicedLimits {
  readonly stepsMax: number;
  readonly unitStepsMax: number;
  readonly sliceSteps: number;
}

export class SlicedRuns {
  /** Of the running unit of work. `unitStepsLeft`: see (3); `mayPause`: its caller can wait. */
  unitStepsLeft = 0;
  mayPause = false;
  /** Tests set others. */
  limits: SlicedLimits = { stepsMax: STEPS_MAX, unitStepsMax: UNIT_STEPS_MAX, sliceSteps: SLICE_STEPS };
  readonly #host: SlicedHost;
  readonly #units: SliceUnits;
  #paused: PausedRun | undefined;

  constructor(host: SlicedHost, units: SliceUnits) {
    this.#host = host;
    this.#units = units;
  }

  get isUnderWay(): boolean {
    return this.#paused !== undefined;
  }

  /** A unit of work begins. */
  beginUnit(): void {
    this.unitStepsLeft = this.limits.unitStepsMax;
  }

  /** Whether this client gets its reply from here. */
  isFor(taker: ReplyTaker): boolean {
    return this.#paused?.taker === taker;
  }

  /** Runs the first slice of a command, which is all of it in most cases. Else the reply follows later. */
  run(call: SlicedCall, work: (steps: SearchSteps) => InSlices<Reply>): Reply {
    if (call.isPartOfUnit) return this.#runInUnit(work); // keeps (3)
    const { stepsMax, sliceSteps } = this.limits;
    const tooLong = searchTooLong;
    const steps = new SearchSteps({ stepsMax, sliceSteps: this.mayPause ? sliceSteps : ENDLESS, tooLong });
    const running = work(steps);
    const first = running.next();
    if (first.done === true) return first.value;
    if (!this.mayPause) return atOnce(running);
    this.#pause(call, running, steps);
    return later;
  }

  /** Resolves with the printed reply of the paused command. */
  whenDone<Printed>(print: (reply: Reply) => Printed | Promise<Printed>): Promise<Printed> {
    return new Promise((resolve, fail) => {
      const take = (reply: Reply): void => {
        try {
          resolve(print(reply));
        } catch (error) {
          fail(error);
        }
      };
      if (this.#paused !== undefined) this.#paused.taker = { take, fail };
    });
  }

  /** The client has left. keeps (4) */
  leave(taker: ReplyTaker): void {
    if (this.isFor(taker)) this.#paused = undefined;
  }

  /** Ends the paused command with a reply: its database loses its keys. */
  end(reply: Reply = errorReply(databaseReset)): void {
    const paused = this.#paused;
    this.#paused = undefined;
    paused?.taker?.take(reply);
  }

  #runInUnit(work: (steps: SearchSteps) => InSlices<Reply>): Reply {
    const { unitStepsMax } = this.limits;
    const steps = new SearchSteps({
      stepsMax: this.unitStepsLeft,
      sliceSteps: ENDLESS,
      tooLong: () => searchesOfUnitTooLong(unitStepsMax),
    });
    try {
      return atOnce(work(steps));
    } finally {
      this.unitStepsLeft = Math.max(0, steps.left);
    }
  }

  #pause(call: SlicedCall, work: InSlices<Reply>, steps: SearchSteps): void {
    const { keyspace } = this.#host;
    const { command, caller } = call;
    const paused: PausedRun = {
      run: { command, caller, words: call.argsFrom(0) },
      work,
      steps,
      nowMs: keyspace.nowMs,
      leavesKeysUntouched: keyspace.isLeftUntouched,
      time: { untilBlockedMs: 0, servingMs: 0 },
      taker: caller.waiting,
    };
    this.#paused = paused;
    this.#continueLater(paused);
  }

  #continueLater(paused: PausedRun): void {
    this.#host.turn.queue(() => this.#continue(paused), FIRST);
  }

  #continue(paused: PausedRun): void {
    if (this.#paused !== paused) return;
    if (paused.run.caller.hasLeft === true) {
      this.end(errorReply(callerHasLeft)); // keeps (4)
      return;
    }
    let reply: Reply | undefined;
    try {
      paused.steps.beginSlice();
      reply = this.#runSlice(paused);
    } catch (error) {
      this.#paused = undefined;
      if (paused.taker?.fail === undefined) throw error;
      paused.taker.fail(error);
      return;
    }
    if (reply === undefined) this.#continueLater(paused);
    else this.end(reply);
  }

  /** Runs a slice. Returns the reply after the last one. keeps (2) */
  #runSlice({ run, work, nowMs, time, leavesKeysUntouched }: PausedRun): Reply | undefined {
    const { keyspace, context, turn } = this.#host;
    const clock = context.clock.real;
    const startMs = clock.monotonicMs();
    this.#units.begin();
    keyspace.nowMs = nowMs;
    keyspace.notifiesMisses = run.command.notifiesMisses;
    keyspace.isLeftUntouched = leavesKeysUntouched;
    turn.begin(run.command.number, run.command.fullName);
    const reply = this.#advance(work);
    keyspace.isLeftUntouched = false;
    time.servingMs += clock.monotonicMs() - startMs;
    if (reply !== undefined) noteUnblocked(this.#host, { run, reply, time });
    this.#units.commit();
    return reply;
  }

  #advance(work: InSlices<Reply>): Reply | undefined {
    try {
      const { done, value } = work.next();
      return done === true ? value : undefined;
    } catch (error) {
      if (error instanceof CommandError) return errorReply(error);
      this.#host.context.reportBug(error);
      throw error;
    }
  }

  /** Notes how long the first slice has taken. */
  noteTime(tookMs: number): void {
    if (this.#paused !== undefined) this.#paused.time.untilBlockedMs = tookMs;
  }
}
