/** The commands of the store, from their rows. */
import { categoriesOf } from "../../src/store/acl/categories.ts";
import type { Command } from "../../src/store/command.ts";
import { commands } from "../../src/store/commands/table.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const commandParts: Parts = { tables: { commands: commandLines } };

/** Families in the order in which the store lists them. */
function commandLines(): readonly string[] {
  const lines: string[] = [];
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
