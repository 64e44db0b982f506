/** Tables of text for people. Control sequences in texts of users must not reach the terminal. */
import { printable } from "../../../kernel/log.ts";

const GAP = "  ";

/** Lines of a table: a heading, if there is one, and a line for each row. Columns are as wide as their longest cell. */
export function tableLines(rows: readonly (readonly string[])[], heading?: readonly string[]): readonly string[] {
  const all = [...(heading === undefined ? [] : [heading]), ...rows].map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of all) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** A cell of any value: an empty one is a hyphen. */
export function cellOf(value: unknown): string {
  if (value === undefined || value === null || value === "") return "-";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
