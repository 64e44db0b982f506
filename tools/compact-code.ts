/**
 * Leaves out the spaces of bundled code that nobody needs: the indentation, those around operators, and line breaks
 * next to brackets and commas. Names, literals and the line of each statement stay, so a stack trace still names
 * functions and lines, and the sources have the readable form.
 */
import type { Plugin } from "rolldown";
import { minifySync, parseSync, Visitor } from "rolldown/utils";
import { assert } from "../src/kernel/assert.ts";

/** The first character of a part of the code, and the first one after it. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Makes all files of a bundle compact, after Rolldown has printed them. */
export const compacted: Plugin = {
  name: "compacted",
  generateBundle: (_, bundle) => {
    for (const file of Object.values(bundle)) {
      if (file.type !== "chunk") continue;
      const compact = compactCode(file.code);
      assert(printed(compact) === printed(file.code), `${file.fileName} is the same program without the spaces`);
      file.code = compact;
    }
  },
};

/** The code of a module with fewer spaces, which the parser reads as the same program. */
export function compactCode(code: string): string {
  let compact = "";
  let at = 0;
  for (const { start, end } of literalsOf(code)) {
    compact = `${compact}${withoutSpaces(code, { start: at, end: start })}${code.slice(start, end)}`;
    at = end;
  }
  return compact + withoutSpaces(code, { start: at, end: code.length });
}

/** A program as Rolldown prints it: two that differ only in spaces are equal. */
function printed(code: string): string {
  return minifySync("code.js", code, { module: true, compress: false, mangle: false }).code;
}

/** What must stay as it is, in the order of the code: strings, regular expressions, texts of templates, comments. */
function literalsOf(code: string): readonly Range[] {
  const { program, comments, errors } = parseSync("code.js", code, { sourceType: "module" });
  assert(errors.length === 0, `the code is valid: ${errors[0]?.message ?? ""}`);
  // A comment to the end of its line ends with the line break.
  const found: Range[] = comments.map(({ type, start, end }) => ({ start, end: type === "Line" ? end + 1 : end }));
  const visitor = new Visitor({
    Literal: (literal) => void found.push(literal),
    TemplateElement: (element) => void found.push(element),
  });
  visitor.visit(program);
  return found.sort((a, b) => a.start - b.start);
}

/** Code without literals: spaces and line breaks stay only where they may matter, or begin a statement. */
function withoutSpaces(code: string, { start, end }: Range): string {
  let text = "";
  for (let at = start; at < end; at += 1) {
    if (!isSpace(code[at])) {
      text += code[at];
      continue;
    }
    const first = at;
    while (at + 1 < end && isSpace(code[at + 1])) at += 1;
    text += spaceFor(code.slice(first, at + 1), code[first - 1] ?? "\n", code[at + 1] ?? "\n");
  }
  return text;
}

function isSpace(character: string | undefined): boolean {
  return character === " " || character === "\t" || character === "\n";
}

/** What is left of the spaces between two characters. */
function spaceFor(spaces: string, before: string, after: string): string {
  if (spaces.includes("\n")) return "{([,".includes(before) || "})]".includes(after) ? "" : "\n";
  return separates(before, after) ? " " : "";
}

/** Whether a space between two characters may matter. */
function separates(before: string, after: string): boolean {
  if (before === "\n" || after === "\n") return false;
  if (isOfName(before) && isOfName(after)) return true;
  if ("+-".includes(before) && "+-".includes(after)) return true;
  // A comment, a regular expression, the digits after a point, and the comments of HTML.
  return before === "/" || after === "/" || after === "." || (before === "<" && after === "!");
}

function isOfName(character: string): boolean {
  return /[\w$#\\]/.test(character) || character > "\u007f";
}
