/**
 * Shared state of host functions while a script runs: the instance, the budget
 * of time, and how work is charged to it.
 *
 * (1) Lua's hook runs after a number of instructions, and host functions charge
 *     their work, so the clock is read at least every few ms of work.
 * (2) A run that has computed for longer than its limit ends by a thrown
 *     `ScriptStopped`, which passes through Lua: a script's pcall cannot catch it.
 * (3) The limit is CPU time of the thread, so that other processes cannot stop a
 *     script; by the clock the limit is WALL_FACTOR times as long. CPU time is at
 *     most the time by the clock, which is cheaper to read: so CPU time is read
 *     only when the clock shows that the limit may be reached.
 * (4) Compiling is part of the run. The compiler calls no hook: it gets its
 *     source in small pieces, with a check after each. Sources that are slow for
 *     their length are refused before (compile-cost.ts).
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { compileFault } from "../compile-cost.ts";
import { chunkLabel, type HostFunction, type LuaInstance, type LuaPointer, type StateBytes } from "./instance.ts";

/** The code that runs, and where its memory is counted. */
export interface RunningState {
  readonly lua: LuaPointer;
  readonly bytes: StateBytes;
}

/** By the clock a run may take this many times its CPU limit. */
export const WALL_FACTOR = 30;

/** The script exceeded its time. If this was thrown through Lua, the instance is dropped. */
export class ScriptStopped extends Error {
  override name = "ScriptStopped";
  /** The limit that was exceeded: "1000 ms". */
  readonly limit: string;

  constructor(limit: string) {
    super(`time is up: ${limit}`);
    this.limit = limit;
  }
}

/** The time of a run: CPU time, and by the clock. */
export interface TimeSpent {
  readonly cpuMs: number;
  readonly wallMs: number;
}

export const NO_TIME: TimeSpent = { cpuMs: 0, wallMs: 0 };

/** Instructions between two readings of the clock; a reading costs about a tenth of them. */
const HOOK_INSTRUCTIONS = 100;
/** One instruction may compare or copy all memory of a state, so above this size the readings are more frequent. */
const SMALL_STATE_BYTES = 1_024 * 1_024;
const HOOK_INSTRUCTIONS_LEAST = 4;
/** The charge for a block of 64 KiB or more, which will be filled. */
const LARGE_BLOCK_WORK = 20_000;
/** Units of work (about a byte or a step each) between two readings. */
const WORK_PER_LOOK = 100_000;
/** The system counts CPU time in steps of some ms; near the limit it is read with this distance. */
const CPU_STEP_MS = 1;

export class LuaHost {
  readonly instance: LuaInstance;
  readonly #clock: Clock;
  readonly #hook: number;
  /** The remaining CPU time since `#cpuStartMs`, and the total limit by the clock since `#startMs`. */
  #budgetMs = Number.POSITIVE_INFINITY;
  #limitMs = Number.POSITIVE_INFINITY;
  #startMs = 0;
  /** When the run began, by the clock. */
  #beganMs = 0;
  /** Read at the first check: most scripts end before. */
  #cpuStartMs: number | undefined;
  /** The CPU time of the thread at the last start that read it, and when: short scripts share a reading. */
  #cpuReadMs = 0;
  #cpuReadAtMs = Number.NEGATIVE_INFINITY;
  /** Before this time of the clock no limit can be reached. keeps (3) */
  #nextLookMs = Number.POSITIVE_INFINITY;
  #workLeft = WORK_PER_LOOK;
  #running: RunningState | undefined;
  /** Counts runs: settings of a script apply to one run. */
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
      // Setting it again would restart the count, and a loop of large blocks would never be checked.
      if (instance.api.lua_gethookcount(lua) > HOOK_INSTRUCTIONS_LEAST)
        instance.hookEvery(lua, this.#hook, HOOK_INSTRUCTIONS_LEAST);
    };
  }

  /** Starts the budget of a run in this state. `spent`: time already used for compiling. */
  begin(state: RunningState, budgetMs: number, spent = NO_TIME): void {
    this.#beganMs = this.#clock.monotonicMs();
    this.#startMs = this.#beganMs - spent.wallMs;
    this.#budgetMs = budgetMs - spent.cpuMs;
    this.#limitMs = budgetMs;
    this.#cpuStartMs = undefined;
    this.#nextLookMs = Number.NEGATIVE_INFINITY;
    this.#workLeft = WORK_PER_LOOK;
    this.#running = state;
    this.runNumber += 1;
    this.instance.hookEvery(state.lua, this.#hook, HOOK_INSTRUCTIONS);
  }

  /** The time of the run so far. */
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

  /** From now on a single step may take long, such as a command: its CPU time must count, and that since the beginning. */
  measure(): void {
    if (this.#cpuStartMs === undefined) this.#measure(this.#beganMs);
  }

  /**
   * Compiles source text. 0: the function is pushed; otherwise the error is. Throws ScriptStopped after the deadline;
   * Lua is in a valid state then.
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

  /** Charges work that no hook sees: bytes copied, steps of a matcher. Throws ScriptStopped after the deadline. */
  charge(work: number): void {
    this.#workLeft -= work;
    if (this.#workLeft < 0) this.#look();
  }

  /** Sets the frequency of checks for the memory in use, in this state or coroutine. keeps (1) */
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

  /** CPU time grows at most as fast as the time by the clock, so a run starts to count less than a step late. */
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
