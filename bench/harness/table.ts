/** Tables and figures as Markdown, which is also readable at a terminal. */
import type { Spread } from "./statistics.ts";

/** The first column is text, the others are figures. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(" | ")} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

/** 1234567 as 1.23 M, 45678 as 45.7 k, 12.34 as 12.3; `unknown` for values that could not be measured. */
export function figure(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "unknown";
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** Median [min to max]. */
export function spreadText({ median, min, max }: Spread): string {
  return min === max ? figure(median) : `${figure(median)} [${figure(min)} to ${figure(max)}]`;
}

export function percentText(share: number | undefined): string {
  return share === undefined ? "unknown" : `${Math.round(share * 100)} %`;
}
