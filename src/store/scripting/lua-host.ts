/**
 * What host functions share while a script runs: the instance, the budget of
 * time, and how work is charged to it.
 *
 * (1) Lua's hook comes after so many instructions, and host functions charge
 *     their work, so the clock is read at least every few ms of work.
 * (2) Past its deadline a run ends by a thrown `ScriptStopped`, which passes
 *     through Lua: a script's pcall cannot hold it.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { HostFunction, LuaInstance, LuaPointer } from "./lua-instance.ts";

/** The script took too long. The instance it ran in is thrown away. */
export class ScriptStopped extends Error {
  override name = "ScriptStopped";
}

/** Instructions between two looks at the clock; a look costs about a tenth of them. */
const HOOK_INSTRUCTIONS = 100;
/** While blocks of 64 KiB and more are made, one instruction may compare or copy megabytes. */
const HOOK_INSTRUCTIONS_LARGE = 4;
/** Units of work (about a byte or a step each) between two looks. */
const WORK_PER_LOOK = 100_000;

export class LuaHost {
  readonly instance: LuaInstance;
  readonly #clock: Clock;
  readonly #hook: number;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #workLeft = WORK_PER_LOOK;
  #running: LuaPointer = 0;
  /** Counts runs: what a script sets for itself is good for one. */
  runNumber = 0;

  constructor(instance: LuaInstance, clock: Clock) {
    this.instance = instance;
    this.#clock = clock;
    this.#hook = instance.addHook(() => this.#look());
    instance.onLargeBlock = () => {
      if (this.#running !== 0) instance.hookEvery(this.#running, this.#hook, HOOK_INSTRUCTIONS_LARGE);
    };
  }

  /** Starts the budget of a run in this state. */
  begin(lua: LuaPointer, budgetMs: number): void {
    this.#deadlineMs = this.#clock.monotonicMs() + budgetMs;
    this.#workLeft = WORK_PER_LOOK;
    this.#running = lua;
    this.runNumber += 1;
    this.instance.hookEvery(lua, this.#hook, HOOK_INSTRUCTIONS);
  }

  end(): void {
    this.#running = 0;
    this.#deadlineMs = Number.POSITIVE_INFINITY;
  }

  /** Counts work that no hook sees: bytes copied, steps of a matcher. Throws ScriptStopped past the deadline. */
  charge(work: number): void {
    this.#workLeft -= work;
    if (this.#workLeft < 0) this.#look();
  }

  // keeps (2)
  #look(): void {
    this.#workLeft = WORK_PER_LOOK;
    if (this.#clock.monotonicMs() > this.#deadlineMs) throw new ScriptStopped("time is up");
  }
}

/** Functions by name, for a table in Lua. */
export type HostFunctions = Readonly<Record<string, HostFunction>>;
