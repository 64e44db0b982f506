/** `larder follow` and `larder promote`, as rows of the table. */

import { StartRefusal } from "../../refusal.ts";
import { runIn } from "../../settings/run-settings.ts";
import { BadValue, parseDurationMs } from "../../settings/values.ts";
import type { CommandRow } from "../command-row.ts";

const INTERVAL = "10s";
const WITHIN = "1m";
const parseInterval = parseDurationMs(1_000, 3_600_000);
const parseWithin = parseDurationMs(1_000, 86_400_000);

export const followRows: readonly CommandRow[] = [
  {
    words: "follow",
    group: "Backups",
    operands: ["<address>", "[<directory>]"],
    options: [
      {
        name: "interval",
        flag: "--interval",
        argument: "<time>",
        meaning: `the time between two looks at the copy, ${INTERVAL} unless set: with ${INTERVAL}, about 1,500 requests an hour and one for each part`,
      },
    ],
    meaning:
      "keeps a directory up to date with a copy that --replicate writes (s3://…, file://…), and serves from it with its other settings after larder promote; until then only --admin-port, if it is set, answers with health and metrics",
    example: "larder follow s3://my-bucket/larder /var/lib/larder",
    operandValues: "files",
    mainSettings: [
      "dataDirectory",
      "config",
      "host",
      "storePort",
      "messagingPort",
      "vectorPort",
      "adminPort",
      "replicate",
    ],
    defaults: "serve",
    async run({ run, version, operands: [address = "", directory], options, print }) {
      const { follow } = await import("./follow.ts");
      const intervalMs = timeOf("--interval", options.get("interval") ?? INTERVAL, parseInterval);
      await follow(runIn(run, directory), { address, intervalMs, version, print });
      return undefined;
    },
  },
  {
    words: "promote",
    group: "Backups",
    operands: ["[<directory>]"],
    options: [
      {
        name: "now",
        flag: "--now",
        meaning: "does not read the store once more: what the directory does not have yet is lost",
      },
      {
        name: "within",
        flag: "--within",
        argument: "<time>",
        meaning: `how long the last reading of the store may take, ${WITHIN} unless set; then nothing is promoted`,
      },
    ],
    meaning:
      "ends the following of a directory: fetches what its copy has, verifies it, and makes a data directory of it, from which larder follow then serves; stop the former server first",
    example: "larder promote /var/lib/larder",
    operandValues: "files",
    defaults: "serve",
    async run({ run, operands: [directory], options, print }) {
      const { promote } = await import("./promote.ts");
      if (options.has("now") && options.has("within"))
        throw new StartRefusal("--now does not read the store, so --within has no effect: leave one of them out", 2);
      const withinMs = timeOf("--within", options.get("within") ?? WITHIN, parseWithin);
      await promote(runIn(run, directory), { withinMs: options.has("now") ? 0 : withinMs, print });
      return 0;
    },
  },
];

function timeOf(flag: string, text: string, parse: ReturnType<typeof parseDurationMs>): number {
  try {
    return parse(text);
  } catch (fault) {
    if (!(fault instanceof BadValue)) throw fault;
    throw new StartRefusal(`${flag}: ${fault.message}`, 2);
  }
}
