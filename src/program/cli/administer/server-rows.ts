/** `larder status` and `larder stop`, as rows of the table. */
import { type CommandRow, devOption, jsonOption } from "../command-row.ts";

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
];
