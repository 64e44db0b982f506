/**
 * The scripting state of a database: its cached scripts, its libraries of
 * functions, and access to the interpreter, which all databases of a store
 * share.
 *
 * (1) Users of one interpreter state share everything that scripts leave in it,
 *     so a state belongs to one user of one database.
 * (2) Libraries are part of the database's state: only `mutations/functions.ts`
 *     changes them. Scripts are not: a client that gets NOSCRIPT sends the
 *     script again.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import type { User } from "../acl/user.ts";
import { CommandError } from "../errors.ts";
import { FunctionLibraries } from "./function-libraries.ts";
import { NO_TIME, type TimeSpent } from "./lua/host.ts";
import { compileLua } from "./lua/instance.ts";
import { defaultLuaLimits, type LuaLimits, LuaRuntime } from "./lua/runtime.ts";
import { type CachedScript, ScriptCache } from "./script-cache.ts";
import { luaMissing, noScript, scriptTooLarge } from "./script-errors.ts";

export interface LuaOptions {
  /** `liblua5.1.wasm`, in `vendor/lua5.1/`. */
  readonly code: Uint8Array;
  readonly limits?: Partial<LuaLimits>;
}

/** The interpreter of a store, created when a script first needs it. */
export class Interpreter {
  readonly #options: { lua: LuaOptions | undefined; clock: Clock; random: Random };
  #runtime: LuaRuntime | undefined;

  constructor(options: { lua: LuaOptions | undefined; clock: Clock; random: Random }) {
    this.#options = options;
  }

  /** How long a script may run, in ms. */
  get budgetMs(): number {
    return this.#options.lua?.limits?.budgetMs ?? defaultLuaLimits.budgetMs;
  }

  /** Throws `luaMissing`. */
  get runtime(): LuaRuntime {
    if (this.#runtime !== undefined) return this.#runtime;
    const { lua, clock, random } = this.#options;
    if (lua === undefined) throw luaMissing;
    const module = compileLua(lua.code);
    this.#runtime = new LuaRuntime({ module, clock, random, limits: lua.limits ?? {} });
    return this.#runtime;
  }

  /** Closes the states of these owners. */
  forget(isNamed: (owner: string) => boolean): void {
    this.#runtime?.flush(isNamed);
  }

  /** The memory of the states of these owners. */
  bytesOf(isNamed: (owner: string) => boolean): number {
    return this.#runtime?.bytesOf(isNamed) ?? 0;
  }

  /** The number of states. */
  get stateCount(): number {
    return this.#runtime?.stateCount ?? 0;
  }
}

/** The limit of a library. */
export const SCRIPT_BYTES_MAX = 1_024 * 1_024;

/** A script, and the time of its run that finding it has taken. */
export interface FoundScript {
  readonly script: CachedScript;
  readonly spent: TimeSpent;
}

export class Scripts {
  readonly cache = new ScriptCache();
  readonly libraries = new FunctionLibraries();
  readonly #interpreter: Interpreter;
  readonly #ownerPrefix: string;
  /** A user that is deleted and created again is another user. keeps (1) */
  readonly #owners = new WeakMap<User, string>();
  #ownerCount = 0;

  constructor(options: { databaseNumber: number; interpreter: Interpreter }) {
    this.#interpreter = options.interpreter;
    this.#ownerPrefix = `${options.databaseNumber}/`;
  }

  get runtime(): LuaRuntime {
    return this.#interpreter.runtime;
  }

  /** The owner of the state of scripts of this user: (1). */
  ownerOf(user: User): string {
    const known = this.#owners.get(user);
    if (known !== undefined) return known;
    this.#ownerCount += 1;
    const owner = `${this.#ownerPrefix}${this.#ownerCount}`;
    this.#owners.set(user, owner);
    return owner;
  }

  /**
   * The script of this text, compiled if it is new, and stored; and the time that has taken. Throws
   * CommandError.
   */
  scriptOf(text: Bytes, user: User): FoundScript {
    if (text.length > SCRIPT_BYTES_MAX) throw scriptTooLarge;
    let spent = NO_TIME;
    const script = this.cache.add(text, ({ digest, source }) => {
      const outcome = this.runtime.check(this.ownerOf(user), digest, source);
      if (outcome instanceof CommandError) throw outcome;
      spent = outcome;
    });
    return { script, spent };
  }

  /** The script of this digest. Throws `noScript`. */
  scriptOfDigest(digest: Bytes): FoundScript {
    const script = this.cache.find(digest);
    if (script === undefined) throw noScript;
    return { script, spent: NO_TIME };
  }

  /** The memory of the states of all users. */
  get stateBytes(): number {
    return this.#interpreter.bytesOf((owner) => owner.startsWith(this.#ownerPrefix));
  }

  /** Closes the states of all users, and so drops all compiled code and state of scripts. */
  closeStates(): void {
    this.#interpreter.forget((owner) => owner.startsWith(this.#ownerPrefix));
  }
}
