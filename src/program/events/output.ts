/** Decides whether and how the events of a server are printed. */
import { isColourWanted } from "../cli/help/colour.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { isErrorTerminal } from "../stderr.ts";
import type { EventOutput } from "./reporter.ts";

interface OutputWishes {
  /** No events. */
  readonly isQuiet?: boolean;
  /** False: no colour, on a terminal either. */
  readonly mayColour?: boolean;
}

/** `larder dev` prints events for people; other servers log them at the level debug. */
export function eventOutput(
  { command, settings }: RunSettings,
  { isQuiet = false, mayColour = true }: OutputWishes,
): EventOutput | undefined {
  const isDebug = command !== "dev";
  if (isQuiet || (isDebug && settings.logLevel !== "debug")) return undefined;
  return {
    isDebug,
    isColoured: mayColour && isColourWanted([], { isTTY: isErrorTerminal(), environment: process.env }),
  };
}
