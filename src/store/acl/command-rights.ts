/**
 * The commands that a user may run.
 *
 * (1) Each command and each subcommand has one bit, by its number. The bit of a
 *     container, such as CONFIG, changes together with those of its
 *     subcommands.
 * (2) The rules that led to the bits are stored, so that they can be printed
 *     with the same meaning in later versions: `+@read` also allows the reads of
 *     a later version. A rule is dropped when a later one decides everything
 *     that it decided, so there are never more rules than names.
 * (3) `isEverything` is true while every command may run, including those of
 *     later versions: after `+@all`, until a rule forbids something.
 *
 * Redis 7.0 has (1) alone and guesses rules when they are printed; (2) is how
 * Redis works since 7.2. Both allow the same commands.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { CommandTable } from "./command-table.ts";
import type { RuleFault } from "./rule-fault.ts";

const ALL_BITS = 0xffff_ffff;

export class CommandRights {
  readonly #table: CommandTable;
  #bits: Uint32Array;
  #startsWithAll = false;
  #isEverything = false;
  /** `+get`, `-@write`, `+select|0`, in lower case, after `+@all` or `-@all`. */
  #rules: readonly Bytes[] = [];
  /** By number: first arguments, in upper case, with which a command may run although its bit is not set. */
  #firstArguments: ReadonlyMap<number, readonly Bytes[]> = new Map();

  constructor(table: CommandTable) {
    this.#table = table;
    this.#bits = new Uint32Array((table.size + 31) >>> 5);
  }

  copy(): CommandRights {
    const copy = new CommandRights(this.#table);
    copy.#bits = this.#bits.slice();
    copy.#startsWithAll = this.#startsWithAll;
    copy.#isEverything = this.#isEverything;
    copy.#rules = this.#rules;
    copy.#firstArguments = this.#firstArguments;
    return copy;
  }

  /** keeps (3) */
  get isEverything(): boolean {
    return this.#isEverything;
  }

  get ruleCount(): number {
    return this.#rules.length;
  }

  /** Whether a command may run with these words, its name first. */
  allows(command: CommandFacts, words: readonly Bytes[]): boolean {
    const { number } = command;
    if (this.#isEverything || this.#has(number) || command.flags.includes("no_auth")) return true;
    const first = words[1];
    if (first === undefined || this.#firstArguments.size === 0) return false;
    return this.#firstArguments.get(number)?.includes(upperCase(first)) === true;
  }

  setAll(isAllowed: boolean): void {
    this.#bits.fill(isAllowed ? ALL_BITS : 0);
    this.#startsWithAll = isAllowed;
    this.#isEverything = isAllowed;
    this.#rules = [];
    this.#firstArguments = new Map();
  }

  /** Applies `+get`, `-config|set`, `+@read`, `+select|0`. A faulty rule changes nothing. */
  apply(rule: Bytes): RuleFault | undefined {
    const isAllowed = rule.charAt(0) === "+";
    const subject = lowerCase(rule.slice(1));
    if (subject.charAt(0) === "@") {
      const commands = this.#table.ofCategory(subject.slice(1));
      if (commands === undefined) return "unknown name";
      for (const command of commands) this.#set(command, isAllowed);
    } else {
      const command = this.#table.find(subject);
      if (command !== undefined) this.#set(command, isAllowed);
      else {
        const fault = isAllowed ? this.#allowFirstArgument(subject) : "unknown name";
        if (fault !== undefined) return fault;
      }
    }
    // keeps (2)
    const remaining = this.#rules.filter((known) => {
      const knownSubject = known.slice(1);
      return knownSubject !== subject && !knownSubject.startsWith(`${subject}|`);
    });
    this.#rules = [...remaining, (isAllowed ? "+" : "-") + subject];
    return undefined;
  }

  /** `-@all +get`: these rules, applied in order to a user without rights, give these rights. */
  describe(): Bytes {
    return [this.#startsWithAll ? "+@all" : "-@all", ...this.#rules].join(" ");
  }

  #has(number: number): boolean {
    return (((this.#bits[number >>> 5] ?? 0) >>> (number & 31)) & 1) === 1;
  }

  /** keeps (1) */
  #set(command: CommandFacts, isAllowed: boolean): void {
    this.#setBit(command.number, isAllowed);
    for (const subcommand of command.subcommandByName?.values() ?? []) this.#setBit(subcommand.number, isAllowed);
    if (!isAllowed) this.#isEverything = false;
  }

  #setBit(number: number, isAllowed: boolean): void {
    const word = this.#bits[number >>> 5] ?? 0;
    const bit = 1 << (number & 31);
    this.#bits[number >>> 5] = isAllowed ? word | bit : word & ~bit;
    if (!this.#firstArguments.has(number)) return;
    const left = new Map(this.#firstArguments);
    left.delete(number);
    this.#firstArguments = left;
  }

  /** `select|0`: a command without subcommands, with one first argument. */
  #allowFirstArgument(subject: Bytes): RuleFault | undefined {
    const end = subject.lastIndexOf("|");
    if (end < 0) return "unknown name";
    const command = this.#table.find(subject.slice(0, end));
    if (command === undefined) return "unknown name";
    if (command.fullName.includes("|")) return "first argument of a subcommand";
    const first = upperCase(subject.slice(end + 1));
    if (first === "") return "syntax";
    if (command.subcommandByName !== undefined) return "unknown name";
    const known = this.#firstArguments.get(command.number) ?? [];
    if (!known.includes(first))
      this.#firstArguments = new Map(this.#firstArguments).set(command.number, [...known, first]);
    return undefined;
  }
}

/** ASCII letters in lower case, all other bytes unchanged. */
function lowerCase(bytes: Bytes): Bytes {
  return bytes.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
