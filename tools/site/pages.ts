/**
 * The pages of the site, in the order of docs/README.md: it names each page or its folder, and this file lists none.
 *
 * (1) Links between pages lead to pages of the site. A link to a file that is no page becomes the name of the file,
 *     because the site has no address of the repository.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { apiPages } from "./api.ts";

export interface SitePage {
  /** In the site: `reference/settings.md`. */
  readonly path: string;
  readonly title: string;
  /** One line without links, for llms.txt. */
  readonly summary: string;
  /** Markdown, with links as (1) says. */
  readonly text: string;
}

export interface Section {
  readonly title: string;
  readonly pages: readonly SitePage[];
}

const CONTENTS = "docs/README.md";
const SUMMARY_LENGTH_MAX = 200;

/** A group of pages before they are read. */
interface Group {
  readonly title: string;
  /** From the root of the repository; a folder stands for its pages. */
  readonly targets: readonly string[];
}

/** All pages, in order. */
export function readSections(): readonly Section[] {
  const contents = readFileSync(CONTENTS, "utf8");
  const groups = groupsIn(contents);
  const sources = new Map(groups.flatMap(({ targets }) => targets).map((source) => [source, sitePathOf(source)]));
  // The start page replaces them.
  for (const replaced of [CONTENTS, "README.md"]) sources.set(replaced, "index.md");
  const lines = linesOfTable(contents);
  const sections = groups.map(({ title, targets }) => ({
    title,
    pages: targets.map((source) => readPage(source, sources, lines.get(source))),
  }));
  const api = apiPages().map((page) => ({ ...page, text: linkedText(page.text, `docs/${page.path}`, sources) }));
  return sections.toSpliced(2, 0, { title: "API", pages: api });
}

/** The files of each section. Topics are in the table; pages without a link are in the repository only. */
function groupsIn(contents: string): readonly Group[] {
  const [table, rest] = splitAfterTable(contents);
  const linked = targetsIn(rest, /\]\(([^)\s#]+)[^)]*\)/g);
  const named = Array.from(rest.matchAll(/`(docs\/[^`]+)`/g), ([, path = ""]) => path).flatMap(pagesAt);
  const isOwn = (path: string): boolean => path.startsWith("docs/");
  return [
    { title: "Topics", targets: targetsIn(table, /\]\(([^)\s#]+)[^)]*\)/g) },
    { title: "Reference", targets: linked.filter(isOwn) },
    { title: "Interface and threats", targets: named },
    { title: "The project", targets: linked.filter((path) => !isOwn(path)) },
  ];
}

function splitAfterTable(contents: string): readonly [string, string] {
  const end = contents.lastIndexOf("|\n") + 1;
  return [contents.slice(0, end), contents.slice(end)];
}

function targetsIn(text: string, link: RegExp): readonly string[] {
  const targets = Array.from(text.matchAll(link), ([, target = ""]) => join(dirname(CONTENTS), target));
  return [...new Set(targets.flatMap(pagesAt))];
}

/** A page, or the pages of a folder with its README first. */
function pagesAt(path: string): readonly string[] {
  if (path.endsWith(".md")) return [path];
  return globSync(`${path.replace(/\/$/, "")}/*.md`).sort();
}

/** `docs/interface/README.md` is `interface/index.md`; files outside docs/ are in `project/`. */
function sitePathOf(source: string): string {
  if (source.startsWith("docs/")) return source.slice("docs/".length).replace(/README\.md$/, "index.md");
  return `project/${source
    .replace(/\/README\.md$/, ".md")
    .replaceAll("/", "-")
    .toLowerCase()}`;
}

/** What the table says of each page. */
function linesOfTable(contents: string): ReadonlyMap<string, string> {
  const rows = contents.matchAll(/^\| \[[^\]]+\]\(([^)]+)\) \| (.*) \|$/gm);
  return new Map(Array.from(rows, ([, target = "", line = ""]) => [join(dirname(CONTENTS), target), line]));
}

function readPage(source: string, sources: ReadonlyMap<string, string>, line: string | undefined): SitePage {
  const text = readFileSync(source, "utf8").replace(/^<!-- .* -->\n\n?/gm, "");
  const path = sitePathOf(source);
  return {
    path,
    title: plainText(/^# (.+)$/m.exec(text)?.[1] ?? path),
    summary: line ?? firstSentence(text),
    text: linkedText(text, source, sources),
  };
}

/** The first sentence of the first paragraph. */
function firstSentence(text: string): string {
  const paragraph = text.split(/\n{2,}/).find((part) => /^[\p{L}[`][\s\S]*[^:]$/u.test(part.trim())) ?? "";
  const [sentence = ""] = plainText(paragraph.replaceAll("\n", " ")).split(/(?<=[^.]\.)\s/);
  return sentence.length <= SUMMARY_LENGTH_MAX ? sentence : `${sentence.slice(0, SUMMARY_LENGTH_MAX - 1)}…`;
}

/** Without links, emphasis and code marks. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[`*]/g, "")
    .trim();
}

/** A code block, a link or a picture with its text and target, or code in a line. */
const LINKS = /^```[\s\S]*?^```$|(!?)\[((?:[^\]`]|`[^`]*`)*)\]\(([^)\s]+)\)|`(?:(?!\n\n)[^`])*`/gm;

/** keeps (1). Code keeps its text. */
function linkedText(text: string, source: string, sources: ReadonlyMap<string, string>): string {
  const from = dirname(sources.get(source) ?? sitePathOf(source));
  return text.replace(LINKS, (whole, mark: string, label: string | undefined, target: string | undefined) => {
    if (label === undefined || target === undefined || /^(?:[a-z]+:|#)/.test(target)) return whole;
    const [path = "", heading] = target.split("#");
    const file = join(dirname(source), path);
    if (mark === "!") return `![${label}](./${relative(from, sitePathOf(file))})`;
    const page = sources.get(file) ?? sources.get(join(file, "README.md"));
    if (page === undefined) return label.includes(file) ? label : `${label} (\`${file}\`)`;
    return `[${label}](./${relative(from, page)}${heading === undefined ? "" : `#${heading}`})`;
  });
}

const PICTURES = /!\[[^\]]*\]\(([^)\s]+)\)/g;

/** The pictures of a page by their paths on the site; they are files below docs/. */
export function picturesOf({ path, text }: SitePage): readonly string[] {
  return Array.from(text.matchAll(PICTURES), ([, target = ""]) => join(dirname(path), target));
}
