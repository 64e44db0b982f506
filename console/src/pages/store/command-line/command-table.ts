/** The commands of the store, from its own command table. */
import { ask, bytesOf, listOf, mapOf, numberOf, type Reply, textOfReply } from "../values/run.ts";

export interface CommandRow {
  /** In upper case; a subcommand with its command: ACL LIST. */
  readonly name: string;
  readonly summary: string;
  readonly group: string;
}

export async function readCommandTable(database: string, signal: AbortSignal): Promise<CommandRow[]> {
  const rows = [...mapOf(await ask(database, ["COMMAND", "DOCS"], signal))].flatMap(([name, docs]) =>
    rowsOf(name, docs),
  );
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function rowsOf(name: string, docs: Reply): CommandRow[] {
  const facts = mapOf(docs);
  const row = {
    name: name.toUpperCase().replace("|", " "),
    summary: textOfReply(facts.get("summary")),
    group: textOfReply(facts.get("group")),
  };
  const subcommands = [...mapOf(facts.get("subcommands"))].flatMap(([sub, its]) => rowsOf(sub, its));
  return subcommands.length === 0 ? [row] : subcommands;
}

export interface CommandFacts {
  /** Words including the name; negative: at least so many. */
  readonly arity: number;
  readonly flags: readonly string[];
}

/** Undefined for an unknown command. */
export async function readCommandFacts(
  database: string,
  name: string,
  signal: AbortSignal,
): Promise<CommandFacts | undefined> {
  const [info] = listOf(await ask(database, ["COMMAND", "INFO", name.replace(" ", "|")], signal));
  const [, arity, flags] = listOf(info);
  return arity === undefined ? undefined : { arity: numberOf(arity), flags: listOf(flags).map(bytesOf) };
}

/** The command that a line begins with: its own name, or that of a subcommand. */
export function commandOfLine(table: readonly CommandRow[], line: string): CommandRow | undefined {
  const [first = "", second = ""] = line.trim().toUpperCase().split(/\s+/);
  return table.find(({ name }) => name === `${first} ${second}`) ?? table.find(({ name }) => name === first);
}

/** The commands that the beginning of a line can become. */
export function completions(table: readonly CommandRow[], line: string, countMax: number): CommandRow[] {
  const start = line.trimStart().toUpperCase().replace(/\s+/g, " ");
  if (start === "") return [];
  const found = table.filter(({ name }) => name.startsWith(start) && name !== start.trim());
  return found.slice(0, countMax);
}
