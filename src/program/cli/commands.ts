/**
 * What the program can be told to do, one row each: the reading of arguments,
 * `larder --help` and the manual are made from this table. A row reads
 * settings like `larder serve`, and may have operands and options of its own.
 */

import { transferRows } from "../../transfer/command-rows.ts";
import type { CommandCall, CommandRow } from "./command-row.ts";

export const commandRows: readonly CommandRow[] = [
  {
    words: "serve",
    operands: [],
    options: [],
    meaning: "durable: keeps everything in a data directory, with tokens of its own",
    defaults: "serve",
    run: serve,
  },
  {
    words: "dev",
    operands: [],
    options: [],
    meaning: "for development: keeps nothing unless --data-dir is given, well-known tokens",
    defaults: "dev",
    run: serve,
  },
  {
    words: "check",
    operands: [],
    options: [],
    meaning: "reads the configuration and the data directory, says what is wrong, and exits",
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
    meaning:
      "gives a database two new tokens and prints them; the old ones are refused, whether or not the server runs",
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
    options: [{ name: "json", flag: "--json", meaning: "print one line of JSON, without rates" }],
    meaning: "prints what the server that runs on the data directory has and does",
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
    options: [{ name: "replace", flag: "--replace", meaning: "replaces a file that is there" }],
    meaning:
      "writes everything in the data directory to one file, or to the standard output for -, whether or not the server runs; it holds tokens and keys too",
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
    meaning: "says whether a backup, or a data directory that nobody uses, is whole, and what is damaged where",
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
    meaning: "makes a new data directory of a backup, which is verified first; --data-dir names the directory",
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
