/** `larder status`, `larder stop`, `larder audit`, `larder problems` and `larder clients`, as rows of the table. */
import { type CommandOption, type CommandRow, devOption, jsonOption } from "../command-row.ts";

/** Each is a parameter of GET /v1/audit. */
const auditOptions: readonly CommandOption[] = [
  { name: "action", flag: "--action", argument: "<action>", meaning: "only actions that are this or begin with it" },
  { name: "subject", flag: "--subject", argument: "<name>", meaning: "only entries about this tenant or file" },
  { name: "outcome", flag: "--outcome", argument: "done|refused|failed", meaning: "only entries with this outcome" },
  {
    name: "from",
    flag: "--from",
    argument: "<moment>",
    meaning: "only entries of this moment or later: 2026-01-31T18:00:00Z, or Unix ms",
  },
  { name: "to", flag: "--to", argument: "<moment>", meaning: "only entries before this moment" },
  { name: "count", flag: "--count", argument: "<count>", meaning: "how many entries; by default 100, at most 1000" },
];

/** The filters are parameters of GET /v1/clients. */
const clientOptions: readonly CommandOption[] = [
  { name: "database", flag: "--database", argument: "<name>", meaning: "only clients of this database" },
  { name: "user", flag: "--user", argument: "<name>", meaning: "only clients that are logged in as this user" },
  { name: "name", flag: "--name", argument: "<name>", meaning: "only clients whose name begins with this" },
  { name: "kill", flag: "--kill", argument: "<id>", meaning: "ends the connection of this client, and lists none" },
];

export const serverRows: readonly CommandRow[] = [
  {
    words: "status",
    group: "Servers",
    operands: [],
    options: [devOption, jsonOption],
    meaning:
      "prints whether a server uses the data directory, its addresses and its state, or how far the directory follows a copy; exits with 1 if it is not ready or does not follow",
    example: "larder status --data-dir /var/lib/larder",
    defaults: "serve",
    async run({ run, options, print }) {
      const { isAsWanted, readStatus, statusLines } = await import("./status.ts");
      const status = await readStatus(run);
      for (const line of options.has("json") ? [JSON.stringify(status, undefined, 2)] : statusLines(status))
        print(line);
      return isAsWanted(status) ? 0 : 1;
    },
  },
  {
    words: "stop",
    group: "Servers",
    operands: [],
    options: [devOption],
    meaning: "stops the server that uses the data directory, as SIGTERM does, and waits until it has ended",
    example: "larder stop --data-dir /var/lib/larder",
    defaults: "serve",
    async run({ run, print }) {
      const { stopServer } = await import("./stop.ts");
      print(await stopServer(run));
      return 0;
    },
  },
  {
    words: "audit",
    group: "Servers",
    operands: [],
    options: [...auditOptions, devOption, jsonOption],
    meaning:
      "prints the newest entries of the audit log of the running server: starts, stops and administrative changes",
    example: "larder audit --action databases. --data-dir /var/lib/larder",
    defaults: "serve",
    async run({ run, options, print }) {
      const { auditLines } = await import("./audit.ts");
      for (const line of await auditLines(run, options)) print(line);
      return 0;
    },
  },
  {
    words: "problems",
    group: "Servers",
    operands: [],
    options: [devOption, jsonOption],
    meaning: "prints the last warnings and errors that the running server logged since its start, the newest first",
    example: "larder problems --data-dir /var/lib/larder",
    defaults: "serve",
    async run({ run, options, print }) {
      const { problemLines } = await import("./problems.ts");
      for (const line of await problemLines(run, { isJson: options.has("json") })) print(line);
      return 0;
    },
  },
  {
    words: "clients",
    group: "Servers",
    operands: [],
    options: [...clientOptions, devOption, jsonOption],
    meaning: "prints the clients that are logged in to the running server over RESP, or ends the connection of one",
    example: "larder clients --database main --data-dir /var/lib/larder",
    defaults: "serve",
    async run({ run, options, print }) {
      const { clientLines } = await import("./clients.ts");
      for (const line of await clientLines(run, options)) print(line);
      return 0;
    },
  },
];
