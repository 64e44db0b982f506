/** All commands, by family, and how one is found by its name. */
import { type Bytes, upperCase } from "../kernel/bytes.ts";
import type { Command } from "./command.ts";
import { bitmapCommands } from "./commands/bitmap.ts";
import { connectionCommands } from "./commands/connection.ts";
import { genericCommands } from "./commands/generic.ts";
import { geoCommands } from "./commands/geo.ts";
import { hashCommands } from "./commands/hash.ts";
import { hyperLogLogCommands } from "./commands/hyperloglog.ts";
import { listCommands } from "./commands/list.ts";
import { pubsubCommands } from "./commands/pubsub.ts";
import { serverCommands } from "./commands/server.ts";
import { setCommands } from "./commands/set.ts";
import { sortedSetCommands } from "./commands/sorted-set.ts";
import { stringCommands } from "./commands/string.ts";

export const commands: readonly Command[] = [
  ...connectionCommands,
  ...genericCommands,
  ...stringCommands,
  ...bitmapCommands,
  ...hashCommands,
  ...listCommands,
  ...setCommands,
  ...sortedSetCommands,
  ...geoCommands,
  ...hyperLogLogCommands,
  ...serverCommands,
  ...pubsubCommands,
];

/** Upper and lower case spellings of every name, so that the usual ones are found without converting. */
const commandBySpelling = new Map<string, Command>();
for (const command of commands) {
  commandBySpelling.set(command.name, command);
  commandBySpelling.set(command.name.toLowerCase(), command);
}

/** The command of this name in any case, or undefined. */
export function findCommand(name: Bytes): Command | undefined {
  return commandBySpelling.get(name) ?? commandBySpelling.get(upperCase(name));
}
