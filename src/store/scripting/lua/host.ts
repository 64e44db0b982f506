/**
 * What host functions share while a script runs: the instance, the budget of
 * time, and how work is charged to it.
 *
 * (1) Lua's hook comes after so many instructions, and host functions charge
 *     their work, so the clock is read at least every few ms of work.
 * (2) A run that has computed for longer than it may ends by a thrown
 *     `ScriptStopped`, which passes through Lua: a script's pcall cannot hold it.
 * (3) What counts is the time that the thread has computed, so that others on
 *     the machine cannot end a script; by the clock it may take WALL_FACTOR times
 *     as long. The thread computes no longer than passes by the clock, which
 *     costs less to read: so the other is read when the clock says that it may
 *     be enough.
 * (4) Compiling is part of the run. The compiler knows no hook: it is given its
 *     source in small pieces, and each is a look. What is slow for its length is
 *     refused before (compile-cost.ts).
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { compileFault } from "../compile-cost.ts";
import { chunkLabel, type HostFunction, type LuaInstance, type LuaPointer, type StateBytes } from "./instance.ts";

/** What runs, and where its memory is counted. */
export interface RunningState {
  readonly lua: LuaPointer;
  readonly bytes: StateBytes;
}

/** By the clock a run may take so many times as long as it may compute. */
export const WALL_FACTOR = 30;

/** The script took too long. If Lua was left by it, the instance it ran in is thrown away. */
export class ScriptStopped extends Error {
  override name = "ScriptStopped";
  /** What was over: "1000 ms". */
  readonly limit: string;

  constructor(limit: string) {
    super(`time is up: ${limit}`);
    this.limit = limit;
  }
}

/** What a run has taken: computed, and by the clock. */
export interface TimeSpent {
  readonly cpuMs: number;
  readonly wallMs: number;
}

export const NO_TIME: TimeSpent = { cpuMs: 0, wallMs: 0 };

/** Instructions between two looks at the clock; a look costs about a tenth of them. */
const HOOK_INSTRUCTIONS = 100;
/** One instruction may compare or copy all memory of a state, so beyond this much the looks come closer, in proportion. */
const SMALL_STATE_BYTES = 1_024 * 1_024;
const HOOK_INSTRUCTIONS_LEAST = 4;
/** What a block of 64 KiB or more charges: it is filled by somebody. */
const LARGE_BLOCK_WORK = 20_000;
/** Units of work (about a byte or a step each) between two looks. */
const WORK_PER_LOOK = 100_000;
/** The system counts computing time in steps of some ms; near the end of the time it is read so far apart. */
const CPU_STEP_MS = 1;

export class LuaHost {
  readonly instance: LuaInstance;
  readonly #clock: Clock;
  readonly #hook: number;
  /** What the run may still compute since `#cpuStartMs`, and may take in all by the clock since `#startMs`. */
  #budgetMs = Number.POSITIVE_INFINITY;
  #limitMs = Number.POSITIVE_INFINITY;
  #startMs = 0;
  /** Read at the first look: most scripts are over before. */
  #cpuStartMs: number | undefined;
  /** What the thread had computed when that was last read for a start, and when: small scripts share a reading. */
  #cpuReadMs = 0;
  #cpuReadAtMs = Number.NEGATIVE_INFINITY;
  /** Before this moment of the clock there is nothing to be seen. keeps (3) */
  #nextLookMs = Number.POSITIVE_INFINITY;
  #workLeft = WORK_PER_LOOK;
  #running: RunningState | undefined;
  /** Counts runs: what a script sets for itself is good for one. */
  runNumber = 0;

  constructor(instance: LuaInstance, clock: Clock) {
    this.instance = instance;
    this.#clock = clock;
    this.#hook = instance.addHook((lua) => {
      this.#look();
      this.#setPace(lua);
    });
    instance.onLargeBlock = () => {
      const lua = this.#running?.lua;
      if (lua === undefined) return;
      this.charge(LARGE_BLOCK_WORK);
      // Setting it again would start the count anew, and a loop of large blocks would never be looked at.
      if (instance.api.lua_gethookcount(lua) > HOOK_INSTRUCTIONS_LEAST)
        instance.hookEvery(lua, this.#hook, HOOK_INSTRUCTIONS_LEAST);
    };
  }

  /** Starts the budget of a run in this state. `spent`: what it has taken before, to be compiled. */
  begin(state: RunningState, budgetMs: number, spent = NO_TIME): void {
    this.#startMs = this.#clock.monotonicMs() - spent.wallMs;
    this.#budgetMs = budgetMs - spent.cpuMs;
    this.#limitMs = budgetMs;
    this.#cpuStartMs = undefined;
    this.#nextLookMs = Number.NEGATIVE_INFINITY;
    this.#workLeft = WORK_PER_LOOK;
    this.#running = state;
    this.runNumber += 1;
    this.instance.hookEvery(state.lua, this.#hook, HOOK_INSTRUCTIONS);
  }

  /** What the run has taken so far. */
  spent(): TimeSpent {
    const wallMs = this.#clock.monotonicMs() - this.#startMs;
    const cpuMs = this.#cpuStartMs === undefined ? 0 : Math.max(0, this.#clock.threadCpuMs() - this.#cpuStartMs);
    return { cpuMs: this.#limitMs - this.#budgetMs + cpuMs, wallMs };
  }

  end(): void {
    this.#running = undefined;
    this.#budgetMs = Number.POSITIVE_INFINITY;
    this.#nextLookMs = Number.POSITIVE_INFINITY;
  }

  /** From here on a single step may take long, such as a command: what it computes has to count. */
  measure(): void {
    if (this.#cpuStartMs === undefined) this.#measure(this.#clock.monotonicMs());
  }

  /**
   * Compiles source text. 0: the function is pushed; otherwise the error is. Throws ScriptStopped past the deadline; Lua has
   * been left in order then.
   */
  compile(lua: LuaPointer, source: Bytes, name: string): number {
    this.measure();
    const fault = compileFault(source);
    if (fault !== undefined) {
      this.instance.push(lua, `${chunkLabel(name)}: too slow to compile: ${fault}`);
      return 1;
    }
    let stopped: ScriptStopped | undefined;
    const status = this.instance.load(lua, source, name, () => {
      try {
        this.#look();
        return true;
      } catch (thrown) {
        if (!(thrown instanceof ScriptStopped)) throw thrown;
        stopped = thrown;
        return false;
      }
    });
    if (stopped === undefined) return status;
    this.instance.api.lua_settop(lua, -2);
    throw stopped;
  }

  /** Counts work that no hook sees: bytes copied, steps of a matcher. Throws ScriptStopped past the deadline. */
  charge(work: number): void {
    this.#workLeft -= work;
    if (this.#workLeft < 0) this.#look();
  }

  /** Looks as often as the memory in use asks for, in this state or coroutine. keeps (1) */
  #setPace(lua: LuaPointer): void {
    if (this.#running === undefined) return;
    const used = this.instance.bytesUsed(this.#running.bytes);
    const share = Math.floor((HOOK_INSTRUCTIONS * SMALL_STATE_BYTES) / Math.max(used, SMALL_STATE_BYTES));
    const wanted = Math.max(HOOK_INSTRUCTIONS_LEAST, share);
    if (this.instance.api.lua_gethookcount(lua) !== wanted) this.instance.hookEvery(lua, this.#hook, wanted);
  }

  // keeps (2) and (3)
  #look(): void {
    this.#workLeft = WORK_PER_LOOK;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#nextLookMs) return;
    if (this.#cpuStartMs === undefined) {
      this.#measure(nowMs);
      return;
    }
    const leftMs = this.#budgetMs - (this.#clock.threadCpuMs() - this.#cpuStartMs);
    if (leftMs < 0) throw new ScriptStopped(`${this.#limitMs} ms`);
    const wallLeftMs = this.#startMs + this.#limitMs * WALL_FACTOR - nowMs;
    if (wallLeftMs < 0) throw new ScriptStopped(`${this.#limitMs * WALL_FACTOR} ms by the clock`);
    this.#nextLookMs = nowMs + Math.min(Math.max(leftMs, CPU_STEP_MS), wallLeftMs);
  }

  /** The thread has computed no longer since it was read than has passed, so a run begins to count less than a step late. */
  #measure(nowMs: number): void {
    if (nowMs - this.#cpuReadAtMs >= CPU_STEP_MS) {
      this.#cpuReadMs = this.#clock.threadCpuMs();
      this.#cpuReadAtMs = nowMs;
    }
    this.#cpuStartMs = this.#cpuReadMs + nowMs - this.#cpuReadAtMs;
    this.#nextLookMs = nowMs + this.#budgetMs;
  }
}

/** Functions by name, for a table in Lua. */
export type HostFunctions = Readonly<Record<string, HostFunction>>;
