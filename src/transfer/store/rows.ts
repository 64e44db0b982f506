/** The commands that move a store, as rows of the program's table. */
import type { CommandOption, CommandRow } from "../../program/cli/command-row.ts";
import { SOURCE_TOKEN } from "../source-address.ts";

const database: CommandOption = {
  name: "database",
  flag: "--database",
  argument: "<name>",
  meaning: "the database of this larder; by default the first",
};

export const storeTransferRows: readonly CommandRow[] = [
  {
    words: "import",
    group: "Moving data",
    operands: ["<source>"],
    options: [
      database,
      {
        name: "replace",
        flag: "--replace",
        meaning: "overwrites existing keys; otherwise they are left unchanged and counted",
      },
      { name: "resume", flag: "--resume", meaning: "continues the same import after an interruption" },
      {
        name: "source database",
        flag: "--source-database",
        argument: "<number>",
        meaning: "the database of a file to read, if several have keys",
      },
      {
        name: SOURCE_TOKEN,
        environment: "LARDER_SOURCE_TOKEN",
        meaning: "the token of a hosted source, or the password of a Redis server whose address has none",
      },
    ],
    meaning:
      "copies the keys and functions of a Redis server (redis://, rediss://), of a hosted store (https://) or of a Redis file (RDB) into a database, and compares both",
    example: "larder import redis://127.0.0.1:6379 --database main",
    operandValues: "files",
    defaults: "serve",
    async run(call) {
      const { importStore } = await import("./import.ts");
      return importStore(call);
    },
  },
  {
    words: "export store",
    group: "Moving data",
    operands: ["<file.rdb>"],
    options: [database, { name: "replace", flag: "--replace", meaning: "replaces an existing file" }],
    meaning:
      "writes a database to a file that redis-server 7.0 loads, and values that such a server cannot hold to a second file beside it",
    example: "larder export store main.rdb --database main",
    operandValues: "files",
    defaults: "serve",
    async run(call) {
      const { exportStore } = await import("./export.ts");
      return exportStore(call);
    },
  },
];
