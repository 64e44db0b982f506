/**
 * The commands as rules name them: by full name (`get`, `config|set`), and by
 * category. Created once for each table of commands.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type AclCategory, aclCategories, type CommandFacts } from "../command-facts.ts";
import { categoriesOf } from "./categories.ts";

export class CommandTable {
  /** The highest number of a command, plus one. */
  readonly size: number;
  readonly #byName = new Map<Bytes, CommandFacts>();
  readonly #byCategory = new Map<string, CommandFacts[]>();

  constructor(commands: readonly CommandFacts[]) {
    for (const category of aclCategories) this.#byCategory.set(category, []);
    let numberMax = -1;
    for (const command of withSubcommands(commands)) {
      this.#byName.set(command.fullName, command);
      for (const category of categoriesOf(command)) this.#byCategory.get(category)?.push(command);
      numberMax = Math.max(numberMax, command.number);
    }
    this.size = numberMax + 1;
  }

  /** The command of this full name in lower case, or undefined. */
  find(fullName: Bytes): CommandFacts | undefined {
    return this.#byName.get(fullName);
  }

  /** The commands and subcommands of a category in lower case; undefined if it does not exist. */
  ofCategory(category: Bytes): readonly CommandFacts[] | undefined {
    return this.#byCategory.get(category);
  }

  get categories(): readonly AclCategory[] {
    return aclCategories;
  }
}

const tables = new WeakMap<readonly CommandFacts[], CommandTable>();

/** The table of these commands, shared by all databases that have them. */
export function commandTableOf(commands: readonly CommandFacts[]): CommandTable {
  let table = tables.get(commands);
  if (table === undefined) {
    table = new CommandTable(commands);
    tables.set(commands, table);
  }
  return table;
}

function* withSubcommands(commands: Iterable<CommandFacts>): Generator<CommandFacts> {
  for (const command of commands) {
    yield command;
    if (command.subcommandByName !== undefined) yield* command.subcommandByName.values();
  }
}
