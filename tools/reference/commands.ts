/** The commands of the store, from their rows. */
import { categoriesOf } from "../../src/store/acl/categories.ts";
import type { Command } from "../../src/store/command.ts";
import { commands } from "../../src/store/commands/table.ts";
import { code, header, type Page, row } from "./page.ts";

export const commandsPage: Page = {
  file: "commands.md",
  title: "Commands of the store",
  about: "what each command does, its arity, its flags and its ACL categories",
  lines: commandLines,
};

/** Families in the order in which the store lists them. */
function commandLines(): readonly string[] {
  const lines = [
    "As Redis 7 runs them, but for what ARCHITECTURE.md lists. Every other name is refused with `ERR Command is not available`. A read-only token may run those marked `r`; those marked `t` are there over TCP only (see [Redis clients](../manual.md#redis-clients)). Those of the family debug exist over RESP and with `--redis-compat on` only. The arity counts words with the name; negative: at least so many.",
  ];
  for (const [family, rows] of Map.groupBy(commands, (command) => command.family)) {
    lines.push("", `## ${family}`, "", ...header("command", "arity", "marks", "flags", "categories", "what it does"));
    for (const command of rows.flatMap(withSubcommands)) {
      const marks = [...(command.isForReadOnlyToken ? ["r"] : []), ...(command.isAvailableOverHttp ? [] : ["t"])];
      lines.push(
        row(
          code(command.fullName.toUpperCase().replace("|", " ")),
          String(command.arity),
          marks.join(" "),
          command.flags.join(", "),
          categoriesOf(command)
            .map((category) => `@${category}`)
            .join(", "),
          command.summary,
        ),
      );
    }
  }
  return lines;
}

function withSubcommands(command: Command): readonly Command[] {
  const subcommands = [...(command.subcommandByName?.values() ?? [])];
  return subcommands.length === 0 ? [command] : subcommands;
}
