/** The commands that move indexes and what messaging is set up with, as rows of the program's table. */
import type { CommandOption, CommandRow } from "../program/cli/command-row.ts";
import { SOURCE_TOKEN } from "./source-address.ts";
import { storeTransferRows } from "./store/rows.ts";

const sourceToken: CommandOption = {
  name: SOURCE_TOKEN,
  environment: "LARDER_SOURCE_TOKEN",
  meaning: "the token of the source; behind its address every user of the machine can see it",
};

const index: CommandOption = {
  name: "index",
  flag: "--index",
  argument: "<name>",
  meaning: "which of our indexes; the first without it",
};

const user: CommandOption = {
  name: "user",
  flag: "--user",
  argument: "<name>",
  meaning: "which of our messaging users; the first without it",
};

const namespace: CommandOption = {
  name: "namespace",
  flag: "--namespace",
  argument: "<name>",
  meaning: "only this namespace; the default one is --namespace=",
};

const resume: CommandOption = {
  name: "resume",
  flag: "--resume",
  meaning: "goes on where the same command was interrupted",
};

export const transferRows: readonly CommandRow[] = [
  ...storeTransferRows,
  {
    words: "import vector",
    operands: ["<address or file>", "[<token>]"],
    options: [
      index,
      namespace,
      { name: "replace", flag: "--replace", meaning: "empties the namespaces that are imported first" },
      resume,
      sourceToken,
    ],
    meaning:
      "copies the records of another index, by its address and token, or of an exported file into one of ours, and compares both",
    defaults: "serve",
    async run(call) {
      const { runVectorImport } = await import("./vector/commands.ts");
      return runVectorImport(call);
    },
  },
  {
    words: "export vector",
    operands: ["<file.ndjson>"],
    options: [
      index,
      namespace,
      { name: "replace", flag: "--replace", meaning: "replaces a file that is there" },
      resume,
    ],
    meaning: "writes all records of an index into a file, and compares both",
    defaults: "serve",
    async run(call) {
      const { runVectorExport } = await import("./vector/commands.ts");
      return runVectorExport(call);
    },
  },
  {
    words: "import messaging",
    operands: ["<address or file>", "[<token>]"],
    options: [
      user,
      { name: "replace", flag: "--replace", meaning: "replaces what is there already and differs" },
      sourceToken,
    ],
    meaning:
      "makes the schedules, URL groups, queues and pinned flow-control keys of another service, by its address and token, or of an exported file; those of the same name stay",
    defaults: "serve",
    async run(call) {
      const { runMessagingImport } = await import("./messaging/commands.ts");
      return runMessagingImport(call);
    },
  },
  {
    words: "export messaging",
    operands: ["<file.json>"],
    options: [user, { name: "replace", flag: "--replace", meaning: "replaces a file that is there" }],
    meaning:
      "writes schedules, URL groups, queues and pinned flow-control keys into a file; messages stay where they are",
    defaults: "serve",
    async run(call) {
      const { runMessagingExport } = await import("./messaging/commands.ts");
      return runMessagingExport(call);
    },
  },
];
