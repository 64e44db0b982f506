/** States as texts of many lines, compared line by line. */

/** The lines that only one of the two states has, for the text of a failure. */
export function differenceOf(expected: string, found: string): string {
  const [before, after] = [expected, found].map((state) => new Set(state.split("\n")));
  const only = (some: Set<string> | undefined, others: Set<string> | undefined, sign: string): string[] =>
    [...(some ?? [])].filter((line) => !others?.has(line)).map((line) => `${sign} ${shown(line)}`);
  return [...only(before, after, "-"), ...only(after, before, "+")].slice(0, LINES_MAX).join("\n");
}

const LINES_MAX = 20;
const LINE_LENGTH_MAX = 120;

function shown(line: string): string {
  const text = JSON.stringify(line);
  return text.length > LINE_LENGTH_MAX ? `${text.slice(0, LINE_LENGTH_MAX)}… (${line.length} bytes)` : text;
}
