/**
 * The code in pages of Markdown, which tests run as a reader does: blocks between fences, and indented blocks of commands.
 *
 *     <!-- not run: needs a bucket -->
 *
 * before a block says that no test runs it, and why. Before the title of a page it counts for the whole page.
 * The reasons are a table, so that nobody gets used to the mark.
 */
import { globSync, readFileSync } from "node:fs";
import { assert } from "../../src/kernel/assert.ts";

/** Why a block is not run. */
export const reasons = [
  "needs a bucket",
  "needs a hosted service",
  "needs a registry",
  "needs a running example",
  "needs another machine",
  "needs containers",
  "needs PostgreSQL",
  "needs systemd",
  "needs the Python clients",
  "here, but by npm run examples",
  "here, but by npm run package",
  "shortened from examples, whose tests run them",
  "not a program",
] as const;

export interface Snippet {
  readonly page: string;
  /** That of its first line, from 1. */
  readonly line: number;
  /** Of the section that it is in. */
  readonly heading: string;
  /** The word after the fence; empty for an indented block. */
  readonly language: string;
  readonly text: string;
  /** Absent: a test runs it. */
  readonly notRun?: string;
}

const MARK = /^<!-- not run: (.*) -->$/;
const FENCE = /^```(\w*)$/;

/** Every page that users read, except the generated ones. */
export function pagesForUsers(): readonly string[] {
  return globSync(["README.md", "docs/*.md", "examples/*/README.md"]).sort();
}

/** All blocks of a page in their order. Throws if a mark has an unknown reason or stands before no block. */
export function snippetsOf(page: string, content = readFileSync(page, "utf8")): readonly Snippet[] {
  const lines = content.split("\n");
  const snippets: Snippet[] = [];
  let heading = "";
  let ofPage: string | undefined;
  let ofBlock: string | undefined;
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    const place = `${page}:${index + 1}`;
    const [, language] = FENCE.exec(line) ?? [];
    const isIndented = line.startsWith("    ") && (lines[index - 1] ?? "") === "";
    const [, reason] = MARK.exec(line) ?? [];
    if (reason !== undefined) {
      assert(
        reasons.some((known) => known === reason),
        `${place}: the reason is one of ${reasons.join(", ")}`,
      );
      if (heading === "") ofPage = reason;
      else ofBlock = reason;
    } else if (language !== undefined || isIndented) {
      const first = language === undefined ? index : index + 1;
      const end = language === undefined ? endOfIndented(lines, first) : lines.indexOf("```", first);
      assert(end >= first, `${place}: the fence is closed`);
      const text = lines.slice(first, end).join("\n");
      const notRun = ofBlock ?? ofPage;
      snippets.push({
        ...{ page, line: first + 1, heading, language: language ?? "" },
        text: language === undefined ? text.replace(/^ {4}/gm, "") : text,
        ...(notRun !== undefined && { notRun }),
      });
      ofBlock = undefined;
      index = language === undefined ? end - 1 : end;
    } else if (line !== "") {
      assert(ofBlock === undefined, `${place}: the mark before this line stands before no block`);
      if (/^#+ /.test(line)) heading = line;
    }
  }
  return snippets;
}

/** An empty line belongs to the block if it goes on after it. */
function endOfIndented(lines: readonly string[], first: number): number {
  let end = first;
  for (let index = first; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    if (line.startsWith("    ")) end = index + 1;
    else if (line !== "") break;
  }
  return end;
}
