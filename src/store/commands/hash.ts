import { family } from "../command.ts";

export const hashCommands = family("hash", []);
