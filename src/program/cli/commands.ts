/**
 * The commands of the program, one row each: argument parsing, `larder --help`
 * and the manual use this table. Each command reads the settings of
 * `larder serve`, and may have its own operands and options.
 */
import { transferRows } from "../../transfer/command-rows.ts";
import type { CommandCall, CommandRow } from "./command-row.ts";

export const commandRows: readonly CommandRow[] = [
  {
    words: "serve",
    operands: [],
    options: [],
    meaning: "starts a server that stores everything in a data directory, with generated tokens",
    defaults: "serve",
    run: serve,
  },
  {
    words: "dev",
    operands: [],
    options: [],
    meaning: "starts a server for development: stores nothing unless --data-dir is set, well-known tokens",
    defaults: "dev",
    run: serve,
  },
  {
    words: "check",
    operands: [],
    options: [],
    meaning: "checks the configuration and the data directory, prints each problem, and exits",
    defaults: "serve",
    async run({ run, print }) {
      const { check } = await import("./check.ts");
      return check(run, print);
    },
  },
  {
    words: "token reset",
    operands: ["<database>"],
    options: [],
    meaning: "replaces the two tokens of a database and prints the new ones, whether or not the server is running",
    defaults: "serve",
    async run({ run, operands: [database = ""], print }) {
      const { resetTokens } = await import("./token-reset.ts");
      for (const line of await resetTokens(run, database)) print(line);
      return 0;
    },
  },
  ...transferRows,
  {
    words: "stats",
    operands: [],
    options: [{ name: "json", flag: "--json", meaning: "prints one line of JSON, without rates" }],
    meaning: "prints statistics of the server that uses the data directory",
    defaults: "serve",
    async run({ run, options, print }) {
      const { statsLines } = await import("./print-stats.ts");
      for (const line of await statsLines(run, options.has("json"))) print(line);
      return 0;
    },
  },
  {
    words: "backup",
    operands: ["<file>"],
    options: [{ name: "replace", flag: "--replace", meaning: "replaces an existing file" }],
    meaning:
      "writes the whole data directory, with its tokens and keys, to one file, or to standard output for -, whether or not the server is running",
    defaults: "serve",
    async run({ run, version, operands: [file = ""], options, print }) {
      const { backUp } = await import("./backup.ts");
      const { STANDARD_OUTPUT } = await import("./output-file.ts");
      const lines = await backUp(run, { file, replaces: options.has("replace"), version });
      for (const line of lines) {
        if (file === STANDARD_OUTPUT) process.stderr.write(`larder: ${line}\n`);
        else print(line);
      }
      return 0;
    },
  },
  {
    words: "verify",
    operands: ["<backup>"],
    options: [],
    meaning: "checks whether a backup, or a data directory that is not in use, is complete, and prints any damage",
    defaults: "serve",
    async run({ run, operands: [path = ""], print }) {
      const { verify } = await import("./verify.ts");
      for (const line of await verify(run, path)) print(line);
      return 0;
    },
  },
  {
    words: "restore",
    operands: ["<file>"],
    options: [],
    meaning: "verifies a backup and makes a new data directory from it; --data-dir names the directory",
    defaults: "serve",
    async run({ run, operands: [file = ""], print }) {
      const { restore } = await import("./restore.ts");
      for (const line of await restore(run, file)) print(line);
      return 0;
    },
  },
];

async function serve({ run, version }: CommandCall): Promise<undefined> {
  const { runServer } = await import("../run-server.ts");
  await runServer(run, version);
}
