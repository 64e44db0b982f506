import { family } from "../command.ts";

export const stringCommands = family("string", []);
