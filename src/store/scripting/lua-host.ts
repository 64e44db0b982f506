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
import type { HostFunction, LuaInstance, LuaPointer, StateBytes } from "./lua-instance.ts";

/** What runs, and where its memory is counted. */
export interface RunningState {
  readonly lua: LuaPointer;
  readonly bytes: StateBytes;
}

/** The script took too long. The instance it ran in is thrown away. */
export class ScriptStopped extends Error {
  override name = "ScriptStopped";
}

/** Instructions between two looks at the clock; a look costs about a tenth of them. */
const HOOK_INSTRUCTIONS = 100;
/** One instruction may compare or copy all memory of a state, so beyond this much the looks come closer, in proportion. */
const SMALL_STATE_BYTES = 1_024 * 1_024;
const HOOK_INSTRUCTIONS_LEAST = 4;
/** What a block of 64 KiB or more charges: it is filled by somebody. */
const LARGE_BLOCK_WORK = 20_000;
/** Units of work (about a byte or a step each) between two looks. */
const WORK_PER_LOOK = 100_000;

export class LuaHost {
  readonly instance: LuaInstance;
  readonly #clock: Clock;
  readonly #hook: number;
  #deadlineMs = Number.POSITIVE_INFINITY;
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

  /** Starts the budget of a run in this state. */
  begin(state: RunningState, budgetMs: number): void {
    this.#deadlineMs = this.#clock.monotonicMs() + budgetMs;
    this.#workLeft = WORK_PER_LOOK;
    this.#running = state;
    this.runNumber += 1;
    this.instance.hookEvery(state.lua, this.#hook, HOOK_INSTRUCTIONS);
  }

  end(): void {
    this.#running = undefined;
    this.#deadlineMs = Number.POSITIVE_INFINITY;
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

  // keeps (2)
  #look(): void {
    this.#workLeft = WORK_PER_LOOK;
    if (this.#clock.monotonicMs() > this.#deadlineMs) throw new ScriptStopped("time is up");
  }
}

/** Functions by name, for a table in Lua. */
export type HostFunctions = Readonly<Record<string, HostFunction>>;
