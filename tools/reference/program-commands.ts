/** The commands of the program, from their rows. */
import { commandForm } from "../../src/program/cli/command-row.ts";
import { commandRows } from "../../src/program/cli/commands.ts";
import { optionForm } from "../../src/program/cli/help.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const programCommandParts: Parts = { tables: { commands: commandLines, options: optionLines } };

function commandLines(): readonly string[] {
  return [
    ...header("command", "what it does"),
    ...commandRows.map((command) => row(code(commandForm(command)), command.meaning)),
  ];
}

function optionLines(): readonly string[] {
  const lines: string[] = [];
  for (const { words, options } of commandRows) {
    if (options.length === 0) continue;
    lines.push("", `## larder ${words}`, "", ...header("option", "meaning"));
    for (const option of options) lines.push(row(optionForm(option).split("   ").map(code).join(", "), option.meaning));
  }
  return lines;
}
