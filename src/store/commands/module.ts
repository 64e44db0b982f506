/** MODULE: a store has no modules. The other subcommands of Redis do not exist. */
import { noKeys, type Row } from "../command.ts";
import { emptyArray, nil } from "../reply/reply.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "LIST",
  "    Return an empty list: modules do not exist.",
];

export const moduleRow: Row = {
  name: "MODULE",
  summary: "Commands for modules",
  arity: -2,
  flags: ["tcp-only"],
  categories: [],
  keys: noKeys,
  subcommands: [
    helpRow(helpLines, { categories: [], flags: ["loading", "stale", "tcp-only"] }),
    {
      name: "LIST",
      summary: "Returns an empty list: modules do not exist",
      arity: 2,
      flags: ["admin", "noscript", "tcp-only"],
      keys: noKeys,
      run: () => emptyArray,
    },
  ],
  run: () => nil,
};
