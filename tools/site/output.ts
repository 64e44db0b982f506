/**
 * What a built site may not have: links that lead nowhere, and requests to another host.
 *
 * Pages may have links to other hosts, which a reader follows; nothing that a page loads by itself may be elsewhere.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** A sentence for each fault of the site in a folder. */
export function faultsOfSite(folder: string, base: string): readonly string[] {
  const pages = globSync("**/*.html", { cwd: folder }).sort();
  const texts = new Map(pages.map((page) => [page, readFileSync(join(folder, page), "utf8")]));
  const styles = globSync("**/*.css", { cwd: folder });
  return [
    ...[...texts].flatMap(([page, text]) => loadedFromElsewhere(text).map((url) => `${page} loads ${url}`)),
    ...styles.flatMap((style) =>
      elsewhereInStyle(readFileSync(join(folder, style), "utf8")).map((url) => `${style} loads ${url}`),
    ),
    ...[...texts].flatMap(([page, text]) => deadLinks(page, text, { folder, base, texts })),
  ];
}

const ELSEWHERE = /^(?:https?:)?\/\//;

/** What the elements of a page load by themselves; `a` is followed by a reader. */
export function loadedFromElsewhere(html: string): readonly string[] {
  const elements = html.matchAll(/<(?!a\s)[a-z-]+\s[^>]*?\b(?:src|href|srcset|poster|data)="([^"]*)"/g);
  const found = Array.from(elements, ([, url = ""]) => url).filter((url) => ELSEWHERE.test(url));
  return [...found, ...elsewhereInStyle(html)];
}

function elsewhereInStyle(css: string): readonly string[] {
  const urls = css.matchAll(/(?:url\(|@import\s+)\s*["']?([^"')\s;]+)/g);
  return Array.from(urls, ([, url = ""]) => url).filter((url) => ELSEWHERE.test(url));
}

interface Site {
  readonly folder: string;
  /** The path of the site on its host. */
  readonly base: string;
  /** Of its pages, by path. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Links of a page to a file or an id that does not exist. */
function deadLinks(page: string, text: string, { folder, base, texts }: Site): readonly string[] {
  const links = Array.from(text.matchAll(/<a\s[^>]*?\bhref="([^"]*)"/g), ([, url = ""]) =>
    url.replaceAll("&amp;", "&"),
  );
  return [...new Set(links)].flatMap((link) => {
    if (/^(?:[a-z]+:|\/\/)/.test(link)) return [];
    const [path = "", id] = link.split("#");
    const file = path.startsWith(base) ? path.slice(base.length) : join(dirname(page), path);
    const target = fileOf(path === "" ? page : decodeURI(file));
    if (!texts.has(target) && !existsSync(join(folder, target))) return [`${page}: ${link} has no target`];
    const isMissing = id !== undefined && id !== "" && !texts.get(target)?.includes(` id="${decodeURIComponent(id)}"`);
    return isMissing ? [`${page}: ${link}: the heading does not exist`] : [];
  });
}

/** `/reference/` is `reference/index.html`. */
function fileOf(path: string): string {
  const file = normalize(path).replace(/^\//, "");
  return file === "" || file === "." || file.endsWith("/") ? join(file, "index.html") : file;
}
