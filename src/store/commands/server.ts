import { family } from "../command.ts";

export const serverCommands = family("server", []);
