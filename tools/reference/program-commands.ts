/** What the program can be told to do, from its rows. */
import { commandForm, commandRows } from "../../src/program/cli/commands.ts";
import { optionForm } from "../../src/program/cli/help.ts";
import { code, header, type Page, row } from "./page.ts";

export const programCommandsPage: Page = {
  file: "program-commands.md",
  title: "Commands of the program",
  about: "what `larder` can be told to do, with the options of each command",
  lines: programCommandLines,
};

function programCommandLines(): readonly string[] {
  const lines = [
    "Each also takes the [settings](settings.md). `larder --help` prints all of this, `larder --version` the version.",
    "",
    ...header("command", "what it does"),
    ...commandRows.map((command) => row(code(commandForm(command)), command.meaning)),
  ];
  for (const { words, options } of commandRows) {
    if (options.length === 0) continue;
    lines.push("", `## larder ${words}`, "", ...header("option", "meaning"));
    for (const option of options) lines.push(row(optionForm(option).split("   ").map(code).join(", "), option.meaning));
  }
  return lines;
}
