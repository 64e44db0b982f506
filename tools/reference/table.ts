/** How the tables of the pages are written. */

/** One row of a table. */
export function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}

export function header(...cells: readonly string[]): readonly string[] {
  return [row(...cells), `|${cells.map(() => "---").join("|")}|`];
}

export function code(text: string): string {
  if (text === "") return "";
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}
