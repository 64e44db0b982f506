/** The commands that move indexes and the setup of messaging, as rows of the program's table. */
import type { CommandOption, CommandRow } from "../program/cli/command-row.ts";
import { SOURCE_TOKEN } from "./source-address.ts";
import { storeTransferRows } from "./store/rows.ts";

const sourceToken: CommandOption = {
  name: SOURCE_TOKEN,
  environment: "LARDER_SOURCE_TOKEN",
  meaning: "the token of the source; as an argument, every user of the machine can see it",
};

const index: CommandOption = {
  name: "index",
  flag: "--index",
  argument: "<name>",
  meaning: "the index of this larder; by default the first",
};

const user: CommandOption = {
  name: "user",
  flag: "--user",
  argument: "<name>",
  meaning: "the messaging user of this larder; by default the first",
};

const namespace: CommandOption = {
  name: "namespace",
  flag: "--namespace",
  argument: "<name>",
  meaning: "only this namespace; --namespace= is the default namespace",
};

const resume: CommandOption = {
  name: "resume",
  flag: "--resume",
  meaning: "continues the same command after an interruption",
};

export const transferRows: readonly CommandRow[] = [
  ...storeTransferRows,
  {
    words: "import vector",
    group: "Moving data",
    operands: ["<address or file>", "[<token>]"],
    options: [
      index,
      namespace,
      { name: "replace", flag: "--replace", meaning: "first empties the namespaces that are imported" },
      resume,
      sourceToken,
    ],
    meaning:
      "copies the records of another index, by its address and token, or of an exported file into an index, and compares both",
    example: "larder import vector docs.ndjson --index docs",
    operandValues: "files",
    defaults: "serve",
    async run(call) {
      const { runVectorImport } = await import("./vector/commands.ts");
      return runVectorImport(call);
    },
  },
  {
    words: "export vector",
    group: "Moving data",
    operands: ["<file.ndjson>"],
    options: [index, namespace, { name: "replace", flag: "--replace", meaning: "replaces an existing file" }, resume],
    meaning: "writes all records of an index to a file, and compares both",
    example: "larder export vector docs.ndjson --index docs",
    operandValues: "files",
    defaults: "serve",
    async run(call) {
      const { runVectorExport } = await import("./vector/commands.ts");
      return runVectorExport(call);
    },
  },
  {
    words: "import messaging",
    group: "Moving data",
    operands: ["<address or file>", "[<token>]"],
    options: [
      user,
      { name: "replace", flag: "--replace", meaning: "replaces existing items that differ" },
      sourceToken,
    ],
    meaning:
      "copies the schedules, URL groups, queues and pinned flow-control keys of another service, by its address and token, or of an exported file; existing ones of the same name stay",
    example: "larder import messaging setup.json",
    operandValues: "files",
    defaults: "serve",
    async run(call) {
      const { runMessagingImport } = await import("./messaging/commands.ts");
      return runMessagingImport(call);
    },
  },
  {
    words: "export messaging",
    group: "Moving data",
    operands: ["<file.json>"],
    options: [user, { name: "replace", flag: "--replace", meaning: "replaces an existing file" }],
    meaning: "writes schedules, URL groups, queues and pinned flow-control keys to a file; messages are not moved",
    example: "larder export messaging setup.json",
    operandValues: "files",
    defaults: "serve",
    async run(call) {
      const { runMessagingExport } = await import("./messaging/commands.ts");
      return runMessagingExport(call);
    },
  },
];
