/**
 * The commands of the program, one row each: argument parsing, `larder help`,
 * the completions of shells and the manual use this table. Each command reads
 * the settings of `larder serve`, and may have its own operands and options.
 */
import { transferRows } from "../../transfer/command-rows.ts";
import { clusterRows } from "../cluster/command-rows.ts";
import { runIn } from "../settings/run-settings.ts";
import { messagingRows } from "./administer/messaging-rows.ts";
import { serverRows } from "./administer/server-rows.ts";
import { tenantRows } from "./administer/tenant-rows.ts";
import { type CommandCall, type CommandRow, devOption } from "./command-row.ts";
import { configRows } from "./config/rows.ts";
import { environmentRow } from "./environment/row.ts";
import { followRows } from "./follow/rows.ts";
import { helpRows } from "./help/rows.ts";
import { serviceRows } from "./service/rows.ts";

export const commandRows: readonly CommandRow[] = [
  {
    words: "serve",
    group: "Servers",
    operands: [],
    options: [],
    meaning: "starts a server that stores everything in a data directory, with generated tokens",
    example: "larder serve --data-dir /var/lib/larder",
    mainSettings: ["dataDirectory", "config", "host", "storePort", "messagingPort", "vectorPort", "adminPort"],
    defaults: "serve",
    run: serve,
  },
  {
    words: "dev",
    group: "Servers",
    operands: [],
    options: [
      { name: "quiet", flag: "--quiet", meaning: "prints no events, and of the log only warnings and errors" },
      { name: "no color", flag: "--no-color", meaning: "prints events without colour, as if NO_COLOR were set" },
    ],
    trailing: "<command>",
    meaning:
      "starts a server for development: stores nothing unless --data-dir is set, well-known tokens; with a command, runs it with the environment of larder env and ends with it",
    example: "larder dev -- npm test",
    mainSettings: ["dataDirectory", "config", "host", "storePort", "messagingPort", "vectorPort", "adminPort"],
    defaults: "dev",
    run: serve,
  },
  environmentRow,
  ...serverRows,
  ...serviceRows,
  {
    words: "check",
    group: "Servers",
    operands: [],
    options: [],
    meaning:
      "checks the configuration, the data directory and the PostgreSQL of a cluster, prints each problem, and exits",
    example: "larder check --config larder.json",
    defaults: "serve",
    async run({ run, print }) {
      const { check } = await import("./check.ts");
      return check(run, print);
    },
  },
  {
    words: "token reset",
    group: "Databases, indexes and users",
    operands: ["<database>"],
    options: [],
    meaning: "replaces the two tokens of a database and prints the new ones, whether or not the server is running",
    example: "larder token reset main --data-dir /var/lib/larder",
    defaults: "serve",
    async run({ run, operands: [database = ""], print }) {
      const { resetTokens } = await import("./token-reset.ts");
      for (const line of await resetTokens(run, database)) print(line);
      return 0;
    },
  },
  ...configRows,
  ...tenantRows,
  ...messagingRows,
  ...transferRows,
  {
    words: "stats",
    group: "Servers",
    operands: [],
    options: [devOption, { name: "json", flag: "--json", meaning: "prints one line of JSON, without rates" }],
    meaning: "prints statistics of the server that uses the data directory",
    example: "larder stats --data-dir /var/lib/larder",
    defaults: "serve",
    async run({ run, options, print }) {
      const { statsLines } = await import("./print-stats.ts");
      for (const line of await statsLines(run, options.has("json"))) print(line);
      return 0;
    },
  },
  {
    words: "backup",
    group: "Backups",
    operands: ["<file>"],
    options: [{ name: "replace", flag: "--replace", meaning: "replaces an existing file" }],
    meaning:
      "writes the whole data directory, with its tokens and keys, to one file, or to standard output for -, whether or not the server is running",
    example: "larder backup larder.tar --data-dir /var/lib/larder",
    operandValues: "files",
    defaults: "serve",
    async run({ run, version, operands: [file = ""], options, print }) {
      const { backUp } = await import("./backups/backup.ts");
      const { STANDARD_OUTPUT } = await import("./backups/output-file.ts");
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
    group: "Backups",
    operands: ["<backup>"],
    options: [],
    meaning:
      "checks whether a backup, a data directory that is not in use, or a copy (s3://…, file://…) is complete, and prints any damage; for a copy, also to which moments each area can be restored",
    example: "larder verify larder.tar",
    operandValues: "files",
    defaults: "serve",
    async run({ run, operands: [path = ""], print }) {
      const { verify } = await import("./backups/verify.ts");
      for (const line of await verify(run, path)) print(line);
      return 0;
    },
  },
  {
    words: "restore",
    group: "Backups",
    operands: ["<backup>", "[<directory>]"],
    options: [
      {
        name: "at",
        flag: "--at",
        argument: "<moment>",
        meaning: "of a copy: the moment to restore, such as 2026-01-31T18:00:00Z, or milliseconds since 1970",
      },
    ],
    meaning:
      "verifies a backup, or a copy that --replicate wrote (s3://…, file://…), and makes a new data directory from it; the second argument or --data-dir names the directory",
    example: "larder restore larder.tar --data-dir /var/lib/larder-restored",
    operandValues: "files",
    defaults: "serve",
    async run({ run, operands: [source = "", directory], options, print }) {
      const { restore } = await import("./backups/restore.ts");
      for (const line of await restore(runIn(run, directory), { source, at: options.get("at") })) print(line);
      return 0;
    },
  },
  ...followRows,
  ...clusterRows,
  ...helpRows,
];

async function serve({ run, version, trailing, options }: CommandCall): Promise<undefined> {
  const { runServer } = await import("../run-server.ts");
  await runServer(run, {
    version,
    command: trailing,
    isQuiet: options.has("quiet"),
    mayColour: !options.has("no color"),
  });
}
