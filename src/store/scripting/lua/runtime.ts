/**
 * Runs scripts for the databases of this thread.
 *
 * (1) One WebAssembly instance, created when first needed; one Lua state in it
 *     per owner (database and user), so that state left by a script is never
 *     visible to another owner.
 * (2) Any exception that leaves Lua (time limit, a trap, a bug in the host) drops
 *     the instance with all its states. Only compiled code is lost, which the
 *     next call compiles again.
 * (3) States and the functions compiled in each are bounded; the least recently
 *     used is removed first.
 * (4) A run never begins inside another.
 */
import { assert } from "../../../kernel/assert.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Random } from "../../../kernel/random.ts";
import { CommandError, StoppedUnit } from "../../errors.ts";
import { errorReply, type Reply } from "../../reply/reply.ts";
import {
  FUNCTIONS_PER_LIBRARY_MAX,
  type Registration,
  raiseRefusal,
  readRegistration,
} from "../function-registration.ts";
import { HostFailure, type RunningScript, redisLibrary, type ScriptHost } from "../redis-functions.ts";
import { bitLibrary } from "./bit.ts";
import { LuaDice } from "./dice.ts";
import { type InstalledGlobals, LuaGlobals } from "./globals.ts";
import { LuaHost, ScriptStopped, type TimeSpent } from "./host.ts";
import {
  type HostFunction,
  LuaInstance,
  LuaOutOfMemory,
  type LuaPointer,
  LuaType,
  REGISTRY,
  type StateBytes,
} from "./instance.ts";
import { jsonLibrary } from "./json.ts";
import { messagePackLibrary } from "./message-pack.ts";
import { LuaReplies } from "./reply.ts";
import { errorLine, readResult } from "./result.ts";
import { structLibrary } from "./struct.ts";

export interface LuaRuntimeOptions {
  /** Compiled by `compileLua`. */
  readonly module: object;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits?: Partial<LuaLimits>;
}

export interface LuaLimits {
  /** Of one run. */
  readonly budgetMs: number;
  /** Of one state. */
  readonly stateBytesMax: number;
  /** Of all states together. */
  readonly instanceBytesMax: number;
  readonly statesMax: number;
  /** Compiled scripts per state. */
  readonly functionsMax: number;
}

export const defaultLuaLimits: LuaLimits = {
  budgetMs: 1_000,
  stateBytesMax: 64 * 1_024 * 1_024,
  instanceBytesMax: 256 * 1_024 * 1_024,
  statesMax: 64,
  functionsMax: 500,
};

/** One run of a script. */
export interface ScriptRun {
  /** Database and user that share a state. */
  readonly owner: string;
  /** Permanent name of the script: its SHA-1 in hexadecimal, or the name of a function. */
  readonly name: string;
  /** Lua, without a shebang, whose line may be blank. */
  readonly source: Bytes;
  readonly keys: readonly Bytes[];
  readonly args: readonly Bytes[];
  readonly host: ScriptHost;
  /** The time of its check in the same command, which counts as time of the run. */
  readonly spent?: TimeSpent;
}

/** A library of functions and one call of one of them. */
export interface FunctionRun {
  readonly owner: string;
  readonly library: LibrarySource;
  /** The registered name of the function. */
  readonly name: Bytes;
  readonly keys: readonly Bytes[];
  readonly args: readonly Bytes[];
  readonly host: ScriptHost;
}

export interface LibrarySource {
  readonly name: Bytes;
  /** Lua, without its first line, which is blank. */
  readonly source: Bytes;
}

interface LoadedLibrary {
  readonly source: Bytes;
  readonly registrations: readonly Registration[];
}

interface LuaState {
  readonly lua: LuaPointer;
  readonly bytes: StateBytes;
  readonly globals: InstalledGlobals;
  /** The reference of the function that is called with an error. */
  readonly handlerReference: number;
  /** References of compiled scripts by name, the least recently used first. */
  readonly functions: Map<string, number>;
  readonly libraries: Map<Bytes, LoadedLibrary>;
}

/** Everything that lives as long as an instance. */
interface Machine {
  readonly instance: LuaInstance;
  readonly host: LuaHost;
  readonly dice: LuaDice;
  readonly globals: LuaGlobals;
  readonly replies: LuaReplies;
  readonly handler: number;
  readonly states: Map<string, LuaState>;
}

interface Failure {
  readonly text: Bytes;
  readonly source?: Bytes;
  readonly line?: number;
}

/** Chunk name of scripts in error texts. */
const SCRIPT_CHUNK = "@user_script";
const FUNCTION_CHUNK = "@user_function";
export const functionNotFound = new CommandError("ERR Function not found");
/** A state that uses more than this after a run gets a full collection. */
const COLLECT_ABOVE_BYTES = 4 * 1_024 * 1_024;
const GC_COLLECT = 2;
const outOfScriptMemory = "ERR Script exceeds its memory limit";

export class LuaRuntime {
  readonly #options: LuaRuntimeOptions;
  readonly #limits: LuaLimits;
  #machine: Machine | undefined;
  #running: RunningScript | undefined;
  #failure: Failure | undefined;
  /** The registrations so far of the library that is being loaded. */
  #loading: Registration[] | undefined;

  constructor(options: LuaRuntimeOptions) {
    this.#options = options;
    this.#limits = { ...defaultLuaLimits, ...options.limits };
  }

  /** Compiles a script without running it. Returns its fault, or the time taken. */
  check(owner: string, name: string, source: Bytes): CommandError | TimeSpent {
    return this.#guarded<CommandError | TimeSpent>((machine) => {
      const state = this.#stateOf(machine, owner);
      if (state instanceof CommandError) return state;
      machine.host.begin(state, this.#limits.budgetMs);
      const reference = this.#functionOf(machine, state, { name, source });
      return reference instanceof CommandError ? reference : machine.host.spent();
    });
  }

  /** Runs a script to its end. The caller's mistakes are replies of kind "error"; only bugs are thrown. */
  run(run: ScriptRun): Reply {
    assert(this.#running === undefined, "no script runs inside another"); // keeps (4)
    const outcome = this.#guarded((machine) => this.#runIn(machine, run));
    return outcome instanceof CommandError ? errorReply(outcome) : outcome;
  }

  /**
   * Runs the body of a library to get its registrations: FUNCTION LOAD. Keeps only compiled code, and drops another
   * library with this name.
   */
  loadLibrary(owner: string, library: LibrarySource): readonly Registration[] | CommandError {
    assert(this.#running === undefined, "no library is loaded inside a script"); // keeps (4)
    const outcome = this.#guarded<LoadedLibrary | CommandError>((machine) => {
      const state = this.#stateOf(machine, functionsOwner(owner));
      if (state instanceof CommandError) return state;
      machine.host.begin(state, this.#limits.budgetMs);
      return this.#libraryOf(machine, state, library);
    });
    return outcome instanceof CommandError ? outcome : outcome.registrations;
  }

  /** Calls a function of a library: FCALL. As `run`. */
  runFunction(run: FunctionRun): Reply {
    assert(this.#running === undefined, "no script runs inside another"); // keeps (4)
    const outcome = this.#guarded<Reply>((machine) => this.#runFunctionIn(machine, run));
    return outcome instanceof CommandError ? errorReply(outcome) : outcome;
  }

  /** Drops all compiled code of these owners. */
  flush(isNamed: (owner: string) => boolean): void {
    const machine = this.#machine;
    if (machine === undefined) return;
    for (const key of [...machine.states.keys()]) if (isNamed(ownerOf(key))) this.#closeState(machine, key);
  }

  /** The memory of the states of these owners. */
  bytesOf(isNamed: (owner: string) => boolean): number {
    const machine = this.#machine;
    if (machine === undefined) return 0;
    let bytes = 0;
    for (const [key, state] of machine.states)
      if (isNamed(ownerOf(key))) bytes += machine.instance.bytesUsed(state.bytes);
    return bytes;
  }

  /** The number of states. */
  get stateCount(): number {
    return this.#machine?.states.size ?? 0;
  }

  /** Runs `work` on the machine; an exception through Lua ends the machine. keeps (2) */
  #guarded<Outcome>(work: (machine: Machine) => Outcome): Outcome | CommandError {
    try {
      this.#machine ??= this.#makeMachine();
      return work(this.#machine);
    } catch (error) {
      this.#machine = undefined;
      if (error instanceof CommandError) return error;
      if (error instanceof HostFailure) throw error.cause;
      if (error instanceof ScriptStopped)
        return new StoppedUnit(`ERR Script ran for more than ${error.limit} and was stopped`);
      if (error instanceof LuaOutOfMemory) return new StoppedUnit(outOfScriptMemory);
      if (isTrap(error)) return new StoppedUnit("ERR Script broke the interpreter and was stopped");
      throw error;
    } finally {
      this.#running = undefined;
      this.#loading = undefined;
      this.#machine?.host.end();
      this.#machine?.dice.forgetSeed();
    }
  }

  #runIn(machine: Machine, run: ScriptRun): Reply {
    const { instance } = machine;
    const { api } = instance;
    const state = this.#stateOf(machine, run.owner);
    if (state instanceof CommandError) return errorReply(state);
    machine.host.begin(state, this.#limits.budgetMs, run.spent);
    const reference = this.#functionOf(machine, state, run);
    if (reference instanceof CommandError) return errorReply(reference);
    const { lua } = state;
    this.#running = { host: run.host, keys: run.keys, version: 2 };
    this.#failure = undefined;
    api.lua_rawgeti(lua, REGISTRY, state.globals.reference);
    this.#pushList(machine, lua, run.keys);
    api.lua_setfield(lua, -2, instance.text("KEYS"));
    this.#pushList(machine, lua, run.args);
    api.lua_setfield(lua, -2, instance.text("ARGV"));
    api.lua_settop(lua, 0);
    api.lua_rawgeti(lua, REGISTRY, state.handlerReference);
    api.lua_rawgeti(lua, REGISTRY, reference);
    return this.#callTop(machine, state, { owner: run.owner, name: run.name, argumentCount: 0 });
  }

  #runFunctionIn(machine: Machine, run: FunctionRun): Reply {
    const { api } = machine.instance;
    const owner = functionsOwner(run.owner);
    const state = this.#stateOf(machine, owner);
    if (state instanceof CommandError) return errorReply(state);
    machine.host.begin(state, this.#limits.budgetMs);
    const library = this.#libraryOf(machine, state, run.library);
    if (library instanceof CommandError) return errorReply(library);
    const found = library.registrations.find(({ name }) => name === run.name);
    if (found === undefined) return errorReply(functionNotFound);
    const { lua } = state;
    this.#running = { host: run.host, keys: run.keys, version: 2 };
    this.#failure = undefined;
    machine.host.runNumber += 1;
    api.lua_rawgeti(lua, REGISTRY, state.handlerReference);
    api.lua_rawgeti(lua, REGISTRY, found.reference);
    this.#pushList(machine, lua, run.keys);
    this.#pushList(machine, lua, run.args);
    return this.#callTop(machine, state, { owner, name: run.name, argumentCount: 2 });
  }

  /** Calls the function above the error handler, which is at 1, and reads its result. */
  #callTop(machine: Machine, state: LuaState, call: { owner: string; name: Bytes; argumentCount: number }): Reply {
    const { instance } = machine;
    const { lua } = state;
    const status = instance.api.lua_pcall(lua, call.argumentCount, 1, 1);
    const reply =
      status === 0
        ? readResult(machine.host, lua, this.#running?.version ?? 2)
        : errorReply(this.#failureOf(machine, lua, { status, name: call.name }));
    instance.api.lua_settop(lua, 0);
    this.#tidy(machine, state, call.owner);
    return reply;
  }

  /** The library in this state; loaded if missing, or if its text has changed. */
  #libraryOf(machine: Machine, state: LuaState, library: LibrarySource): LoadedLibrary | CommandError {
    const { instance } = machine;
    const { lua, libraries } = state;
    const found = libraries.get(library.name);
    if (found?.source === library.source) return found;
    const callerRuns = this.#running;
    const fault = this.#compile(machine, lua, { source: library.source, chunk: FUNCTION_CHUNK });
    if (fault instanceof CommandError) return fault;
    if (fault !== undefined) return new CommandError(errorLine(`ERR Error compiling function: ${fault}`));
    const registrations: Registration[] = [];
    this.#running = undefined;
    this.#loading = registrations;
    this.#failure = undefined;
    machine.host.runNumber += 1;
    instance.api.lua_rawgeti(lua, REGISTRY, state.handlerReference);
    instance.api.lua_insert(lua, 1);
    const status = instance.api.lua_pcall(lua, 0, 0, 1);
    this.#loading = undefined;
    this.#running = callerRuns;
    const text = status === 4 ? outOfScriptMemory : (this.#failureText ?? `ERR ${instance.bytesAt(lua, -1)}`);
    instance.api.lua_settop(lua, 0);
    if (status !== 0) {
      for (const { reference } of registrations) instance.api.luaL_unref(lua, REGISTRY, reference);
      return new CommandError(errorLine(`ERR Error registering functions: ${text}`));
    }
    for (const { reference } of found?.registrations ?? []) instance.api.luaL_unref(lua, REGISTRY, reference);
    const loaded = { source: library.source, registrations };
    libraries.set(library.name, loaded);
    return loaded;
  }

  get #failureText(): Bytes | undefined {
    return this.#failure?.text;
  }

  #register(call: { lua: LuaPointer; instance: LuaInstance; replies: LuaReplies }): number {
    const { lua, instance, replies } = call;
    const registrations = this.#loading;
    if (registrations === undefined)
      return raiseRefusal(replies, instance, {
        lua,
        text: "ERR redis.register_function can only be called on FUNCTION LOAD command",
      });
    const registration = readRegistration(instance, lua);
    if (typeof registration === "string") return raiseRefusal(replies, instance, { lua, text: registration });
    const isKnown = registrations.some(({ name }) => name === registration.name);
    registrations.push(registration);
    if (isKnown || registrations.length > FUNCTIONS_PER_LIBRARY_MAX)
      return raiseRefusal(replies, instance, { lua, text: "ERR Function already exists in the library" });
    return 0;
  }

  #pushList(machine: Machine, lua: LuaPointer, items: readonly Bytes[]): void {
    const { instance } = machine;
    instance.api.lua_createtable(lua, items.length, 0);
    for (let index = 0; index < items.length; index += 1) {
      instance.push(lua, items[index] as Bytes);
      instance.api.lua_rawseti(lua, -2, index + 1);
    }
  }

  #failureOf(machine: Machine, lua: LuaPointer, outcome: { status: number; name: string }): CommandError {
    const isOutOfMemory = outcome.status === 4;
    // Lua calls no handler when memory is short, or when the handler fails.
    const failure = this.#failure ?? {
      text: isOutOfMemory ? outOfScriptMemory : `ERR ${machine.instance.bytesAt(lua, -1)}`,
    };
    const place = failure.source === undefined ? "" : `, on ${failure.source}:${failure.line}.`;
    const text = errorLine(`${failure.text} script: ${outcome.name}${place}`);
    return isOutOfMemory ? new StoppedUnit(text) : new CommandError(text);
  }

  /** Frees memory after the run. A state that still uses too much is closed. */
  #tidy(machine: Machine, state: LuaState, owner: string): void {
    const { instance } = machine;
    if (instance.bytesUsed(state.bytes) <= COLLECT_ABOVE_BYTES) return;
    instance.api.lua_gc(state.lua, GC_COLLECT, 0);
    if (instance.bytesUsed(state.bytes) > this.#limits.stateBytesMax / 2) this.#closeState(machine, owner);
  }

  #stateOf(machine: Machine, owner: string): LuaState | CommandError {
    const { states, instance } = machine;
    const found = states.get(owner);
    if (found !== undefined) {
      // The order of a Map is that of insertion: the most recently used is last. keeps (3)
      if (states.size > 1) {
        states.delete(owner);
        states.set(owner, found);
      }
      return found;
    }
    if (states.size >= this.#limits.statesMax) {
      const oldest = states.keys().next().value;
      if (oldest !== undefined) this.#closeState(machine, oldest);
    }
    const made = instance.newState(this.#limits.stateBytesMax);
    if (made === undefined) return new CommandError(outOfScriptMemory);
    const globals = machine.globals.install(made.lua);
    instance.api.lua_pushcclosure(made.lua, machine.handler, 0);
    const state: LuaState = {
      ...made,
      globals,
      handlerReference: instance.api.luaL_ref(made.lua, REGISTRY),
      functions: new Map(),
      libraries: new Map(),
    };
    states.set(owner, state);
    return state;
  }

  #closeState(machine: Machine, owner: string): void {
    const state = machine.states.get(owner);
    if (state === undefined) return;
    machine.states.delete(owner);
    machine.globals.forget(state.globals);
    machine.instance.closeState(state.lua, state.bytes);
  }

  /** The reference of the compiled script. */
  #functionOf(
    machine: Machine,
    state: LuaState,
    script: { readonly name: string; readonly source: Bytes },
  ): number | CommandError {
    const { functions, lua } = state;
    const found = functions.get(script.name);
    if (found !== undefined) return found;
    const { instance } = machine;
    const fault = this.#compile(machine, lua, { source: script.source, chunk: SCRIPT_CHUNK });
    if (fault instanceof CommandError) return fault;
    if (fault !== undefined) return new CommandError(errorLine(`ERR Error compiling script (new function): ${fault}`));
    const reference = instance.api.luaL_ref(lua, REGISTRY);
    if (functions.size >= this.#limits.functionsMax) {
      const [oldest] = functions;
      if (oldest !== undefined) {
        functions.delete(oldest[0]);
        instance.api.luaL_unref(lua, REGISTRY, oldest[1]);
      }
    }
    functions.set(script.name, reference);
    return reference;
  }

  /** Leaves the function on the stack, or nothing: then it returns the error of the source or of the time limit. */
  #compile(
    machine: Machine,
    lua: LuaPointer,
    { source, chunk }: { source: Bytes; chunk: string },
  ): Bytes | CommandError | undefined {
    const { instance, host } = machine;
    try {
      if (host.compile(lua, source, chunk) === 0) return undefined;
      const text = instance.bytesAt(lua, -1);
      instance.api.lua_settop(lua, 0);
      return text;
    } catch (error) {
      // No part of it has run, and Lua is in a valid state.
      if (!(error instanceof ScriptStopped)) throw error;
      instance.api.lua_settop(lua, 0);
      return new CommandError(`ERR Script took more than ${error.limit} to compile and was stopped`);
    }
  }

  #makeMachine(): Machine {
    const { module, clock, random } = this.#options;
    const instance = new LuaInstance({ module, memoryBytesMax: this.#limits.instanceBytesMax });
    // If the clock stands still or jumps, scripts continue.
    const host = new LuaHost(instance, clock.real);
    const dice = new LuaDice(() => random.unit());
    const replies = new LuaReplies(instance);
    const redis = redisLibrary({
      host,
      replies,
      running: () => this.#running,
      register: (lua) => this.#register({ lua, instance, replies }),
    });
    const libraries = {
      redis,
      // The name in Valkey since 8.
      server: redis,
      cjson: jsonLibrary(host),
      cmsgpack: messagePackLibrary(host),
      bit: bitLibrary(host),
      struct: structLibrary(host),
      os: { functions: { clock: clockFunction(instance, clock) } },
    };
    return {
      instance,
      host,
      replies,
      dice,
      globals: new LuaGlobals(host, libraries, dice),
      handler: instance.addFunction((lua) => this.#keepFailure(instance, lua)),
      states: new Map(),
    };
  }

  /** Called by Lua where an error was raised: stores its text and position. */
  #keepFailure(instance: LuaInstance, lua: LuaPointer): number {
    const { api } = instance;
    let place = instance.placeAt(lua, 1);
    if (place?.isC === true) place = instance.placeAt(lua, 2) ?? place;
    let text: Bytes;
    if (api.lua_type(lua, 1) === LuaType.table) {
      instance.pushText(lua, "err");
      api.lua_rawget(lua, 1);
      text = api.lua_isstring(lua, -1) === 0 ? "ERR unknown error" : instance.bytesAt(lua, -1);
    } else {
      text = `ERR ${describe(instance, lua)}`;
    }
    this.#failure = place === undefined ? { text } : { text, source: place.source, line: place.line };
    return 0;
  }
}

const FUNCTIONS = "functions\0";

/** Functions have a state of their own, where KEYS and ARGV do not exist. */
function functionsOwner(owner: string): string {
  return FUNCTIONS + owner;
}

/** The owner of the state. */
function ownerOf(stateKey: string): string {
  return stateKey.startsWith(FUNCTIONS) ? stateKey.slice(FUNCTIONS.length) : stateKey;
}

function clockFunction(instance: LuaInstance, clock: Clock): HostFunction {
  return (lua) => {
    instance.api.lua_pushnumber(lua, clock.monotonicMs() / 1_000);
    return 1;
  };
}

/** The value at 1 as `tostring` prints it. */
function describe(instance: LuaInstance, lua: LuaPointer): Bytes {
  const { api } = instance;
  const type = api.lua_type(lua, 1);
  if (type === LuaType.nil) return "nil";
  if (type === LuaType.boolean) return api.lua_toboolean(lua, 1) === 0 ? "false" : "true";
  if (api.lua_isstring(lua, 1) !== 0) return instance.bytesAt(lua, 1);
  return "unknown error";
}

/** Thrown by WebAssembly itself or by a stack overflow: not a bug in the store. */
function isTrap(error: unknown): boolean {
  return error === Infinity || error instanceof RangeError || (error instanceof Error && error.name === "RuntimeError");
}
