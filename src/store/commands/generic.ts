import { family } from "../command.ts";

export const genericCommands = family("generic", []);
