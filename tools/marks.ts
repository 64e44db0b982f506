/**
 * Fills the marked parts of a page. People write the page; the tools only write
 * the text between two marks:
 *
 *     <!-- table: settings -->                lines, each mark on a line of its own
 *     <!-- end -->
 *     idle for <!-- value: silent -->60<!-- end --> s
 *
 * (1) Text outside the marks is kept byte for byte.
 * (2) The names of the marks and the names of the parts are the same set: a
 *     mark without a part, and a part without a mark, is an error.
 */

/** The generated parts of one page, by the names of its marks. */
export interface Parts {
  readonly tables: Readonly<Record<string, () => readonly string[]>>;
  readonly values?: Readonly<Record<string, string>>;
}

const MARK = /<!-- (?:(table|value): ([\w-]+)|end) -->/g;

interface Mark {
  readonly text: string;
  /** Absent for an end. */
  readonly kind: string | undefined;
  readonly name: string;
  readonly index: number;
}

/** The page with all its marks filled. Throws with the page and the mark if (2) is violated. */
export function fillMarks(page: string, text: string, parts: Parts): string {
  const missing = new Set([...Object.keys(parts.tables), ...Object.keys(parts.values ?? {})]);
  let filled = "";
  let keptTo = 0;
  for (const [start, end] of pairsOf(page, text)) {
    missing.delete(start.name);
    const content = contentOf(start, parts);
    if (content === undefined) throw new Error(`${page}: unknown mark ${start.text}`);
    filled += text.slice(keptTo, start.index + start.text.length) + content;
    keptTo = end.index;
  }
  const [name] = missing;
  if (name !== undefined) throw new Error(`${page}: the mark of "${name}" is missing`);
  return filled + text.slice(keptTo); // keeps (1)
}

function pairsOf(page: string, text: string): readonly (readonly [Mark, Mark])[] {
  const pairs: (readonly [Mark, Mark])[] = [];
  let open: Mark | undefined;
  for (const match of text.matchAll(MARK)) {
    const [whole, kind, name = ""] = match;
    const mark = { text: whole, kind, name, index: match.index };
    if ((kind === undefined) === (open === undefined)) {
      throw new Error(`${page}: ${open === undefined ? "<!-- end --> without a mark before it" : withoutEnd(open)}`);
    }
    if (open !== undefined) pairs.push([open, mark]);
    open = open === undefined ? mark : undefined;
  }
  if (open !== undefined) throw new Error(`${page}: ${withoutEnd(open)}`);
  return pairs;
}

function withoutEnd({ text }: Mark): string {
  return `${text} has no <!-- end -->`;
}

function contentOf({ kind, name }: Mark, { tables, values = {} }: Parts): string | undefined {
  if (kind === "value") return Object.hasOwn(values, name) ? values[name] : undefined;
  if (!Object.hasOwn(tables, name)) return undefined;
  return `\n\n${(tables[name]?.() ?? []).join("\n").trim()}\n\n`;
}
