/** The commands that move a store, as rows of the program's table. */
import type { CommandOption, CommandRow } from "../../program/cli/command-row.ts";
import { SOURCE_TOKEN } from "../source-address.ts";

const database: CommandOption = {
  name: "database",
  flag: "--database",
  argument: "<name>",
  meaning: "which of our databases; the first without it",
};

export const storeTransferRows: readonly CommandRow[] = [
  {
    words: "import",
    operands: ["<source>"],
    options: [
      database,
      {
        name: "replace",
        flag: "--replace",
        meaning: "overwrites keys that exist; otherwise they are kept and counted",
      },
      { name: "resume", flag: "--resume", meaning: "goes on where the same import was interrupted" },
      {
        name: "source database",
        flag: "--source-database",
        argument: "<number>",
        meaning: "which database of a file is read, if several have keys",
      },
      {
        name: SOURCE_TOKEN,
        environment: "LARDER_SOURCE_TOKEN",
        meaning: "the token of a hosted source, or the password of a Redis server whose address has none",
      },
    ],
    meaning:
      "copies the keys and functions of a Redis server (redis://, rediss://), of a hosted store (https://) or of a Redis file (RDB) into a database, and compares both",
    defaults: "serve",
    async run(call) {
      const { importStore } = await import("./import.ts");
      return importStore(call);
    },
  },
  {
    words: "export store",
    operands: ["<file.rdb>"],
    options: [database, { name: "replace", flag: "--replace", meaning: "replaces a file that is there" }],
    meaning:
      "writes a database into a file that redis-server 7.0 loads, and what such a server cannot hold into a second file beside it",
    defaults: "serve",
    async run(call) {
      const { exportStore } = await import("./export.ts");
      return exportStore(call);
    },
  },
];
