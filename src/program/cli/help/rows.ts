/** The commands that describe the program, as rows of the table. They read no setting. */
import { StartRefusal } from "../../refusal.ts";
import type { CommandRow } from "../command-row.ts";

/** The shells that have a script of completions (completions.ts). */
export const shells = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof shells)[number];

export const helpRows: readonly CommandRow[] = [
  {
    words: "help",
    group: "Help",
    operands: ["[<command>]", "[<subcommand>]"],
    options: [{ name: "no color", flag: "--no-color", meaning: "prints no colour, as if NO_COLOR were set" }],
    meaning: "lists the commands, or describes one; help settings lists all settings",
    example: "larder help backup",
    operandValues: "commands",
    ignoresSettings: true,
    defaults: "serve",
    async run({ version, commands, operands, options, print }) {
      const { helpOn } = await import("./help-text.ts");
      const { isColourWanted } = await import("./colour.ts");
      const isColoured = !options.has("no color") && isColourWanted([], process.stdout);
      const text = helpOn(commands, operands, { version, isColoured });
      if (text === undefined) {
        const { unknownCommand } = await import("../find-command.ts");
        throw new StartRefusal(unknownCommand(commands, operands), 2);
      }
      print(text.trimEnd());
      return 0;
    },
  },
  {
    words: "version",
    group: "Help",
    operands: [],
    options: [],
    meaning: "prints the version, as larder --version does",
    example: "larder version",
    ignoresSettings: true,
    defaults: "serve",
    async run({ version, print }) {
      print(`larder ${version}`);
      return 0;
    },
  },
  {
    words: "completions",
    group: "Help",
    operands: [`<${shells.join("|")}>`],
    options: [],
    meaning: "prints a script that completes commands, flags and files in a shell",
    example: "source <(larder completions bash)",
    operandValues: shells,
    ignoresSettings: true,
    defaults: "serve",
    async run({ commands, operands: [name = ""], print }) {
      const shell = shells.find((each) => each === name);
      if (shell === undefined) {
        throw new StartRefusal(`${JSON.stringify(name)} is not a shell: use ${shells.join(", ")}`, 2);
      }
      const { completionScript } = await import("./completions.ts");
      print(completionScript(commands, shell).trimEnd());
      return 0;
    },
  },
];
