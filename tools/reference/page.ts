/** A page of the reference: what it says, and how its tables are written. */

export interface Page {
  /** Below `docs/reference/`. */
  readonly file: string;
  readonly title: string;
  /** What it holds, for the list of pages: a phrase. */
  readonly about: string;
  readonly lines: () => readonly string[];
}

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

export function pageText({ title, lines }: Page): string {
  const all = [`# ${title}`, "", "Written by `node tools/manual.ts` from the tables of the program.", "", ...lines()];
  return `${all.join("\n").trimEnd()}\n`;
}
