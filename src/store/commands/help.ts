/** HELP, a subcommand of every container. */
import { noKeys, type Row } from "../command.ts";
import { simple } from "../reply/reply.ts";

/** A subcommand that returns these lines, and those about itself. */
export function helpRow(lines: readonly string[], facts: Partial<Row> = {}): Row {
  return {
    name: "HELP",
    summary: "Describes the subcommands",
    arity: 2,
    flags: ["loading", "stale"],
    keys: noKeys,
    ...facts,
    run: () => [...lines, "HELP", "    Prints this help."].map(simple),
  };
}
