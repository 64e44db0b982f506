/**
 * A line at a terminal that is written again and again, as ECMA-48 and the VT100
 * have it.
 *
 * (1) Whoever writes to the terminal first clears the line that the cursor is
 *     in. Each text is one write, so threads that know nothing of each other
 *     never write into the same line.
 * (2) The line never takes two rows, or only the second could be cleared: what
 *     does not fit is cut off by the terminal.
 */

/** Goes back to the start of the line and clears it. */
export const WIPE = "\r\u001b[2K";

/** Takes a text for the terminal as it is. */
export type Terminal = (text: string) => void;

/** A writer of whole lines to the same terminal. */
export function beside(terminal: Terminal): Terminal {
  return (line) => terminal(`${WIPE}${line}`);
}

/** Puts `text` in place of what the line held; it stays open, and the next writer clears it. */
export function rewrite(text: string): string {
  return `${WIPE}\u001b[?7l${text}\u001b[?7h`;
}
