/**
 * The commands of a script: what `redis.call` may run, and how. They are part of
 * the unit of work of the script, have the rights of its caller, and never
 * block.
 *
 * The checks come in Redis' order: the command exists and has enough words, is
 * available to scripts, is allowed for the caller, writes only where writes are
 * allowed, and takes memory only if memory is not short.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Command } from "../command.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { CommandRegister, CommandsOfScript, ScriptRules, ScriptRunner } from "../command-host.ts";
import { findKeys } from "../commands/command-keys.ts";
import { type CommandError, diskRefusal, memoryUsedUp, outOfMemory } from "../errors.ts";
import { errorReply, findError, type Reply } from "../reply/reply.ts";
import type { Caller } from "../session/caller.ts";
import {
  commandNotForScripts,
  commandUnknown,
  commandWithWrongArity,
  dynamicKey,
  noPermissionInScript,
  writeInReadOnlyScript,
} from "./script-errors.ts";

/** The database, as far as the commands of a script need it. */
export interface ScriptDatabase extends CommandRegister, ScriptRunner {
  findCommand(name: Bytes): Command | undefined;
  /** Calls of commands and subcommands that do not exist, since the start. */
  unknownCount: number;
  countMemory(): void;
  noteDenial(
    caller: Caller,
    denial: CommandError,
    place: { readonly context: "lua"; readonly command: CommandFacts },
  ): void;
}

export class ScriptCommands implements CommandsOfScript {
  readonly #database: ScriptDatabase;
  /** The caller of the script, and the caller that its commands report. */
  readonly #scriptCaller: Caller;
  readonly #caller: Caller;
  readonly #rules: ScriptRules;
  readonly #runCommand: (caller: Caller, command: Command, words: readonly Bytes[]) => Reply;
  #hasTriedToWrite = false;
  #lastError: Bytes | undefined;

  constructor(options: {
    database: ScriptDatabase;
    caller: Caller;
    rules: ScriptRules;
    /** Runs a command that was found to be allowed. */
    run: (caller: Caller, command: Command, words: readonly Bytes[]) => Reply;
  }) {
    const { user, transport } = options.caller;
    this.#database = options.database;
    this.#scriptCaller = options.caller;
    // Without `waiting`: a blocking command replies at once.
    this.#caller = { user, transport, address: "lua", isScript: true };
    this.#rules = options.rules;
    this.#runCommand = options.run;
  }

  call(words: Bytes[]): Reply {
    const command = this.#find(words);
    if (command === undefined) {
      this.#database.unknownCount += 1;
      return this.#refuse(undefined, commandUnknown);
    }
    const refusal = this.#refusalOf(command, words);
    if (refusal !== undefined) return this.#refuse(command, refusal);
    if (command.isWrite) this.#hasTriedToWrite = true;
    const reply = this.#runCommand(this.#caller, command, words);
    const error = findError(reply);
    if (error !== undefined) this.#lastError = error.text;
    return reply;
  }

  mayCall(words: Bytes[]): boolean | undefined {
    const command = this.#find(words);
    if (command === undefined) return undefined;
    const { user } = this.#caller;
    return user.isUnrestricted || user.refusalOf(command, words) === undefined;
  }

  /** True if one of the commands has replied with this error: then it is counted already. */
  isOfCommand(error: CommandError): boolean {
    return this.#lastError !== undefined && error.text.startsWith(this.#lastError);
  }

  #find(words: readonly Bytes[]): Command | undefined {
    const command = this.#database.findCommand(words[0] ?? "");
    if (command?.subcommandByName === undefined || words.length === 1) return command;
    return command.subcommandByName.get((words[1] as Bytes).toUpperCase());
  }

  #refusalOf(command: Command, words: readonly Bytes[]): CommandError | undefined {
    const { arity } = command;
    if (arity >= 0 ? words.length !== arity : words.length < -arity) return commandWithWrongArity;
    if (!command.isForScripts) return commandNotForScripts;
    const { user } = this.#caller;
    const refusal = user.isUnrestricted ? undefined : user.refusalOf(command, words);
    if (refusal !== undefined) {
      this.#database.noteDenial(this.#scriptCaller, refusal, { context: "lua", command });
      return noPermissionInScript(refusal);
    }
    const { isReadOnly, allowsGrowth, lockedKeys } = this.#rules;
    if (isReadOnly && command.mayChange) return writeInReadOnlyScript;
    if (lockedKeys !== undefined)
      for (const { key } of findKeys(command, words).keys) if (!lockedKeys.has(key)) return dynamicKey(key);
    if (!command.isWrite) return undefined;
    const disk = this.#database.journalRefusal;
    if (disk !== undefined) return diskRefusal(disk);
    if (command.mayGrow && this.#isMemoryUsedUp()) return memoryUsedUp;
    // As in Redis, a script that has started to write is not stopped for lack of memory.
    if (!command.mayGrow || allowsGrowth || this.#hasTriedToWrite) return undefined;
    return this.#database.hasRoom ? memoryUsedUp : outOfMemory;
  }

  /** Also after a script has started to write: a single command could take all remaining memory. */
  #isMemoryUsedUp(): boolean {
    this.#database.countMemory();
    return this.#database.memory.isAtEnd;
  }

  #refuse(command: Command | undefined, error: CommandError): Reply {
    const { errorCounts } = this.#database;
    if (command !== undefined) this.#database.countsOf(command).rejected += 1;
    errorCounts.add(error.text);
    this.#lastError = error.text;
    return errorReply(error);
  }
}
