/** The commands of the program, from their rows. */
import { type CommandRow, commandForm, commandGroups } from "../../src/program/cli/command-row.ts";
import { commandRows } from "../../src/program/cli/commands.ts";
import { optionForm } from "../../src/program/cli/help/help-text.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const programCommandParts: Parts = { tables: { commands: commandLines, "command-details": detailLines } };

function commandLines(): readonly string[] {
  return [
    ...header("command", "what it does"),
    ...inGroups().map((command) => row(code(commandForm(command)), command.meaning)),
  ];
}

/** The example and the options of each command. */
function detailLines(): readonly string[] {
  return inGroups().flatMap(({ words, options, example }) => {
    const lines = ["", `## larder ${words}`, "", `    ${example}`];
    if (options.length > 0) lines.push("", ...header("option", "meaning"));
    for (const option of options) lines.push(row(optionForm(option).split("   ").map(code).join(", "), option.meaning));
    return lines;
  });
}

function inGroups(): readonly CommandRow[] {
  return commandGroups.flatMap((group) => commandRows.filter((command) => command.group === group));
}
