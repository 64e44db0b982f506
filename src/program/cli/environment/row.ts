/** `larder env`, as a row of the table. */
import { StartRefusal } from "../../refusal.ts";
import { type CommandRow, devOption } from "../command-row.ts";

/** The forms of the output; the option without a value that selects each has its name. */
export const environmentForms = ["shell", "dotenv", "json"] as const;

export type EnvironmentForm = (typeof environmentForms)[number];

export const environmentRow: CommandRow = {
  words: "env",
  group: "Servers",
  operands: [],
  options: [
    { name: "shell", flag: "--shell", meaning: "prints export commands for a shell; the default" },
    { name: "dotenv", flag: "--dotenv", meaning: "prints the lines of an .env file" },
    { name: "json", flag: "--json", meaning: "prints one JSON object" },
    { name: "database", flag: "--database", argument: "<name>", meaning: "the database; by default the first" },
    { name: "index", flag: "--index", argument: "<name>", meaning: "the index; by default the first" },
    { name: "user", flag: "--user", argument: "<name>", meaning: "the messaging user; by default the first" },
    devOption,
  ],
  meaning:
    "prints the variables that the official clients read, with the tokens: of the server that uses the data directory, or of the settings",
  example: 'eval "$(larder env --dev)"',
  defaults: "serve",
  async run({ run, options, print }) {
    const forms = environmentForms.filter((form) => options.has(form));
    if (forms.length > 1) {
      const given = forms.map((form) => `--${form}`).join(" and ");
      throw new StartRefusal(`${given} cannot both be given: choose one form`, 2);
    }
    const { printEnvironment, readEnvironmentOf } = await import("./print-environment.ts");
    const names = { databases: options.get("database"), indexes: options.get("index"), users: options.get("user") };
    print(printEnvironment(await readEnvironmentOf(run, names), forms[0] ?? "shell"));
    return 0;
  },
};
