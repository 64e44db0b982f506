/**
 * A terminal line that is rewritten, with the control sequences of ECMA-48 and
 * the VT100.
 *
 * (1) Every writer to the terminal first clears the line of the cursor. Each
 *     text is one write, so independent threads never write into the same line.
 * (2) The line never takes two rows, because only the second could be cleared:
 *     the terminal cuts off the rest.
 */

/** Moves the cursor to the start of the line and clears the line. */
export const WIPE = "\r\u001b[2K";

/** Writes a text to the terminal unchanged. */
export type Terminal = (text: string) => void;

/** A writer of full lines to a terminal that also has a rewritten line. */
export function lineWriter(terminal: Terminal): Terminal {
  return (line) => terminal(`${WIPE}${line}`);
}

/** Replaces the line with `text`; the line stays open, and the next writer clears it. */
export function rewrite(text: string): string {
  return `${WIPE}\u001b[?7l${text}\u001b[?7h`;
}
